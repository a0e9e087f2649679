"""Twenty mistakes people make at the shell: one sentence with the value, the rule and the way out."""

import json

import numpy as np
import pandas as pd
import pytest

FIT = ["fit", "wine.csv"]
#: What is typed, the exit code, and the words for the value, the rule and the way out.
MISTAKES = {
    "misspelt_option": ([*FIT, "--nonzeros", "3"], 2, ["--nonzeros", "--nonzero"]),
    "misspelt_command": (["fti", "wine.csv"], 2, ["fti", "fit"]),
    "misspelt_file": (["fit", "wime.csv"], 3, ["no file wime.csv", "did you mean wine.csv?"]),
    "misspelt_method": ([*FIT, "--method", "spars"], 2, ["--method spars", "did you mean sparse?"]),
    "misspelt_labels": (
        [*FIT, "--labels", "cultivr"],
        2,
        ["--labels cultivr", "did you mean 'cultivar'?"],
    ),
    "misspelt_drop": ([*FIT, "--drop", "prolin"], 2, ["--drop prolin", "did you mean 'proline'?"]),
    "misspelt_columns": (
        [*FIT, "--columns", "ash,alcohl"],
        2,
        ["--columns alcohl", "did you mean 'alcohol'?"],
    ),
    "a_pattern_without_match": (
        [*FIT, "--columns", "gene_*"],
        2,
        ["--columns gene_*", "fits no column", "there are"],
    ),
    "misspelt_index": (
        [*FIT, "--index", "cultivars"],
        2,
        ["--index cultivars", "did you mean 'cultivar'?"],
    ),
    "weights_that_are_words": (
        [*FIT, "--weights", "cultivar"],
        2,
        ["--weights cultivar", "no column of numbers"],
    ),
    "misspelt_missing": (
        [*FIT, "--missing", "means"],
        2,
        ["--missing means", "columns", "did you mean 'mean'?"],
    ),
    "misspelt_effort": (
        [*FIT, "--certify", "standart"],
        2,
        ["--certify standart", "did you mean 'standard'?"],
    ),
    "misspelt_orthogonality": (
        [*FIT, "--orthogonality", "disjunct"],
        2,
        ["--orthogonality disjunct", "did you mean 'disjoint'?"],
    ),
    "too_many_features": (
        [*FIT, "-k", "99"],
        2,
        ["--nonzero 99", "between 1 and 13", "all for all features"],
    ),
    "features_in_words": ([*FIT, "-k", "ten"], 2, ["--nonzero ten", "whole number", "'all'"]),
    "no_components": (
        [*FIT, "-c", "0"],
        2,
        ["--components 0", "at least 1", "share between 0 and 1"],
    ),
    "an_option_of_another_method": (
        [*FIT, "--method", "bayes", "-k", "3"],
        2,
        ["--nonzero", "no option of method 'bayes'"],
    ),
    "a_sheet_of_a_csv": ([*FIT, "--sheet", "2"], 2, ["--sheet 2", ".xlsx", "leave it out"]),
    "a_layer_of_a_csv": (
        [*FIT, "--layer", "counts"],
        2,
        ["--layer counts", ".h5ad", "leave it out"],
    ),
    "logarithms_of_negative_numbers": (
        ["fit", "signed.csv", "--log1p"],
        4,
        ["--log1p", "at least 0", "-1 is the smallest", "leave out"],
    ),
    "missing_values_refused": (
        ["fit", "holes.csv", "--missing", "refuse"],
        4,
        ["1 missing value", "b", "--missing mean fills"],
    ),
    "an_old_spreadsheet": (["fit", "old.xls"], 4, ["old.xls", "not read", "save it as .xlsx"]),
    "no_such_data_set": (
        ["datasets", "show", "leukaemia"],
        3,
        ["'leukaemia'", "did you mean 'leukemia'?"],
    ),
    "a_model_that_is_none": (["transform", "wine.csv", "wine.csv"], 5, ["wine.csv", "model"]),
    "a_file_in_the_way": (
        ["report", "model.npz", "wine.csv", "-o", "holes.csv"],
        6,
        ["holes.csv", "exists", "--force"],
    ),
    "groups_that_are_not_there": (
        [*FIT, "--groups", "pathways.csv"],
        3,
        ["--groups pathways.csv", "neither a file nor a column"],
    ),
    "two_roles": (
        [*FIT, "--labels", "cultivar", "--index", "cultivar"],
        2,
        ["--index cultivar and --labels cultivar", "give each its own"],
    ),
    "a_number_that_is_none": ([*FIT, "--seed", "one"], 2, ["--seed one", "integer", "--help"]),
}


@pytest.fixture
def folder(tmp_path, wine_csv):
    (tmp_path / "wine.csv").write_bytes(wine_csv.read_bytes())
    (tmp_path / "old.xls").write_bytes(b"x")
    pd.DataFrame({"a": [1.0, -1, 2, 5], "b": [3.0, 1, 2, 2]}).to_csv(tmp_path / "signed.csv")
    pd.DataFrame({"a": [1.0, 7, 2], "b": [3.0, np.nan, 2]}).to_csv(tmp_path / "holes.csv")
    return tmp_path


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_lead_on(mistake, run, folder):
    arguments, code, words = MISTAKES[mistake]
    before = sorted(folder.iterdir())
    result = run(*arguments)
    said = " ".join(result.stderr.replace("│", " ").split())
    assert result.exit_code == code, said
    for word in words:
        assert word in said, said
    for parameter in ("n_nonzero", "n_components", "random_state", "sample_weight", "turned"):
        assert parameter not in said
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_json_where_json_was_asked_for(mistake, run, folder):
    arguments, code, _ = MISTAKES[mistake]
    result = run(*arguments, "--json")
    said = json.loads(result.stdout)
    assert said["schema"] == 1
    assert said["exit_code"] == result.exit_code == code
    assert isinstance(said["error"], str)
