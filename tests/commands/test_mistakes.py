"""Forty mistakes people make at the shell: one sentence with the value, the rule and the way out."""

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
    "a_number_that_is_learned": (
        [*FIT, "-c", "cv"],
        2,
        ["--components cv", "give an int", "--method bayes and --method noisy take"],
    ),
    "no_proof_in_words": ([*FIT, "--certify", "yes"], 2, ["--certify yes", "give 'full', 'i"]),
    "false_in_words": (
        [*FIT, "--certify", "False"],
        2,
        ["--certify False", "leave the option out"],
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
    "an_address": (
        ["fit", "https://example.org/wine.csv"],
        3,
        ["example.org/wine.csv", "download it first"],
    ),
    "standard_input": (["fit", "-"], 3, ["no file -", "once it is in a file"]),
    "an_empty_file": (["fit", "empty.csv"], 4, ["empty.csv is empty", "name another file"]),
    "a_single_row": (["fit", "one.csv"], 4, ["1 row(s)", "at least two", "--transpose"]),
    "no_ending": (["fit", "noending"], 4, ["noending", "not known", "give it the ending"]),
    "bytes_under_a_name_of_text": (["fit", "bytes.csv"], 4, ["not text", "ending of its kind"]),
    "words_alone": (["fit", "words.csv"], 4, ["no column of numbers", "'y'", "units"]),
    "sizes_for_some_components": (
        [*FIT, "-k", "3,4"],
        2,
        ["2 sizes", "--components 3", "one for each component"],
    ),
    "a_negative_size": ([*FIT, "-k", "-3"], 2, ["--nonzero -3", "between 1 and 13", "all for all"]),
    "a_negative_seed": ([*FIT, "--seed", "-1"], 2, ["--seed -1", "give an int in the range [0,"]),
    "everything_dropped": ([*FIT, "--drop", "*"], 2, ["--drop *", "no feature", "name a column"]),
    "groups_without_groups": ([*FIT, "--n-groups", "2"], 2, ["--n-groups 2", "add --groups"]),
    "a_sign_in_words": (
        [*FIT, "--signs", "signs.csv", "-k", "3"],
        4,
        ["'ash'", "'plus'", "write + or -"],
    ),
    "a_group_for_one_of_all": (
        [*FIT, "--groups", "groups.csv"],
        4,
        ["12 of 13", "alcohol", "leave these features out"],
    ),
    "another_table_for_a_model": (
        ["transform", "model.npz", "signed.csv"],
        4,
        ["lacks features", "alcohol", "columns the model was fitted to"],
    ),
    "model_and_data_in_the_wrong_order": (
        ["transform", "wine.csv", "model.npz"],
        5,
        ["wine.csv is no loadstone model", "save_model wrote"],
    ),
    "an_unknown_effort": (
        ["certify", "model.npz", "wine.csv", "--effort", "hard"],
        2,
        ["--effort hard", "'instant', 'standard', 'full'"],
    ),
    "a_certificate_that_is_none": (
        ["verify", "wine.csv", "wine.csv"],
        1,
        ["wine.csv is no certificate", "its own save wrote"],
    ),
    "files_that_do_not_go_together": (
        ["covariance", "wine.csv", "signed.csv", "-o", "both.npz"],
        4,
        ["signed.csv", "13 and 2 features", "same features"],
    ),
    "a_word_too_few": (["datasets", "show"], 2, ["Missing", "loadstone datasets show --help"]),
    "an_image_without_a_report": (
        [*FIT, "--image-shape", "1x13", "--no-report"],
        2,
        ["--image-shape 1x13", "pictures in the report", "leave out one of the two"],
    ),
    "an_axis_without_a_report": (
        [*FIT, "--feature-axis", "names", "--no-report"],
        2,
        ["--feature-axis names", "pictures in the report", "leave out one of the two"],
    ),
    "a_path_over_one_feature": (
        ["path", "wine.csv", "--columns", "ash"],
        4,
        ["wine.csv has 1 feature, ash", "numbers of features", "--columns, with at least 2"],
    ),
    "a_number_that_is_none": ([*FIT, "--seed", "one"], 2, ["--seed one", "integer", "--help"]),
}


@pytest.fixture
def folder(tmp_path, wine_csv, wine_model):
    (tmp_path / "wine.csv").write_bytes(wine_csv.read_bytes())
    (tmp_path / "model.npz").write_bytes(wine_model.read_bytes())
    (tmp_path / "old.xls").write_bytes(b"x")
    (tmp_path / "bytes.csv").write_bytes(bytes(range(256)))
    texts = {
        "empty.csv": "",
        "one.csv": "a,b\n1,2\n",
        "noending": "a,b\n1,2\n",
        "words.csv": "a,b\nx,y\nu,v\n",
        "signs.csv": "feature,sign\nash,plus\n",
        "groups.csv": "feature,group\nash,a\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
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
