"""From a file to an answer, as a person at a shell would ask for it."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import io as scipy_io
from scipy import sparse
from sklearn.datasets import load_wine

from loadstone import SparseNoisyPCA, SparsePCA, load_model
from loadstone.registry import methods

RESULTS = ["loadings.csv", "model.npz", "report.html", "scores.csv"]


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_csv_becomes_loadings_scores_a_model_and_a_report(run, wine_csv, tmp_path, same_numbers):
    result = run("fit", wine_csv, "-c", 2, "-k", 4, "--standardize", "--output", "out")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("2 components, 8 of 13 features used, recover ")
    assert "flavanoids" in result.stdout
    assert "'cultivar' is used as labels" in result.stderr
    out = tmp_path / "out"
    assert files_in(out) == RESULTS
    X = load_wine(as_frame=True).data
    model = SparsePCA(2, n_nonzero=4, standardize=True).fit(X)
    expected = model.loadings_table()
    assert pd.read_csv(out / "loadings.csv")["feature"].tolist() == expected["feature"].tolist()
    same_numbers(out / "scores.csv", model.transform(X), ["component 1", "component 2"])
    scores = pd.read_csv(out / "scores.csv")
    assert scores["label"].nunique() == 3
    assert scores["sample"].tolist() == list(range(178))
    np.testing.assert_allclose(load_model(out / "model.npz").components_, model.components_)
    page = (out / "report.html").read_text()
    assert "wine.csv" in page
    assert "flavanoids" in page


def test_objective_and_effort_are_those_of_the_estimator(run, wine_csv, tmp_path):
    asked = ["--objective", "recovery", "--effort", "thorough"]
    result = run("fit", wine_csv, "-c", 2, "-k", 3, "--standardize", *asked, "--output", "out")
    assert result.exit_code == 0, result.output
    model = load_model(tmp_path / "out" / "model.npz")
    assert (model.objective, model.effort) == ("recovery", "thorough")
    X = load_wine().data
    expected = SparsePCA(2, n_nonzero=3, standardize=True, objective="recovery").fit(X)
    share = model.recovered_variance_ratio_
    np.testing.assert_allclose(share, expected.recovered_variance_ratio_, rtol=1e-9)


def test_json_is_the_summary_and_nothing_else(run, wine_csv):
    result = run("fit", wine_csv, "-c", 1, "-k", "0.2", "--json", "--nonnegative", "--no-report")
    summary = json.loads(result.stdout)
    assert summary["components"][0]["n_nonzero"] == 3
    assert min(entry["loading"] for entry in summary["components"][0]["loadings"]) > 0
    assert [name.rsplit("/")[-1] for name in summary["files"]] == [
        "loadings.csv", "scores.csv", "model.npz",
    ]  # fmt: skip


def test_quiet_prints_nothing_and_the_folder_is_named_after_the_file(run, wine_csv, tmp_path):
    result = run("fit", wine_csv, "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert files_in(tmp_path / "wine-loadstone") == RESULTS
    model = load_model(tmp_path / "wine-loadstone" / "model.npz")
    assert model.n_nonzero == "auto"
    assert (model.cardinality_ == model.n_nonzero_).all()


def write_all_kinds(folder):
    X = load_wine().data[:60, :6]
    names = [f"f{i}" for i in range(6)]
    frame = pd.DataFrame(X, columns=names)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.tsv", index=False, sep="\t")
    frame.to_parquet(folder / "t.parquet")
    np.save(folder / "t.npy", X)
    np.savez(folder / "t.npz", X=X, feature_names=np.array(names))
    scipy_io.mmwrite(folder / "t.mtx", sparse.coo_array(X))
    return X


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "npy", "npz", "mtx"])
def test_every_kind_of_file_gives_the_same_components(kind, run, tmp_path):
    X = write_all_kinds(tmp_path)
    result = run("fit", f"t.{kind}", "-c", 1, "-k", 2, "-o", "out", "--quiet")
    assert result.exit_code == 0, result.output
    expected = SparsePCA(1, n_nonzero=2).fit(X).components_
    np.testing.assert_allclose(
        load_model(tmp_path / "out/model.npz").components_, expected, atol=1e-9
    )


@pytest.mark.parametrize("method", methods())
def test_every_method_writes_its_results(method, run, wine_csv, tmp_path):
    result = run("fit", wine_csv, "--method", method, "-c", 2, "-o", "out", "--standardize")
    assert result.exit_code == 0, result.output
    assert files_in(tmp_path / "out") == RESULTS
    assert load_model(tmp_path / "out/model.npz").components_.shape[1] == 13


def test_an_option_the_method_does_not_take_is_refused(run, wine_csv, nothing_left):
    result = run("fit", wine_csv, "--method", "bayes", "--nonzero", 3)
    assert result.exit_code == 2
    assert "--nonzero is no option of method 'bayes'" in result.stderr
    assert nothing_left()


def test_h5ad_files_keep_their_names(run, tmp_path):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    X = load_wine().data[:60, :6]
    genes = pd.DataFrame(index=pd.Index([f"gene{i}" for i in range(6)], dtype=object))
    cells = pd.DataFrame(index=pd.Index([f"cell{i}" for i in range(60)], dtype=object))
    anndata.AnnData(sparse.csr_matrix(X), obs=cells, var=genes).write_h5ad(tmp_path / "t.h5ad")
    assert run("fit", "t.h5ad", "-c", 1, "-k", 2, "-o", "out").exit_code == 0
    assert pd.read_csv(tmp_path / "out/loadings.csv")["feature"].str.startswith("gene").all()
    assert pd.read_csv(tmp_path / "out/scores.csv")["sample"].iloc[0] == "cell0"
    assert "valid feature names" not in run("transform", "out/model.npz", "t.h5ad").output
    shuffled = pd.DataFrame(X[:, ::-1], columns=[f"gene{i}" for i in range(5, -1, -1)])
    shuffled.to_csv(tmp_path / "shuffled.csv", index=False)
    assert run("transform", "out/model.npz", "shuffled.csv", "-o", "z.csv").exit_code == 0
    np.testing.assert_allclose(
        pd.read_csv(tmp_path / "z.csv")["component 1"],
        pd.read_csv(tmp_path / "out/scores.csv")["component 1"],
    )


def test_uneven_variances_bring_advice(run, wine_csv):
    said = run("fit", wine_csv, "-o", "a").stderr
    assert said.count("differ by a factor of") == said.count("add --standardize") == 1
    assert run("path", wine_csv).stderr.count("differ by a factor of") == 1
    assert "add --standardize" not in run("fit", wine_csv, "-o", "b", "--standardize").stderr


def test_a_file_that_exists_is_kept_unless_forced(run, wine_csv, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/scores.csv").write_text("mine")
    refused = run("fit", wine_csv, "-o", "out")
    assert refused.exit_code == 6
    assert "--force" in refused.stderr
    assert files_in(tmp_path / "out") == ["scores.csv"]
    assert (tmp_path / "out/scores.csv").read_text() == "mine"
    assert run("fit", wine_csv, "-o", "out", "--force", "-q").exit_code == 0
    assert files_in(tmp_path / "out") == RESULTS


def test_a_missing_file_is_named(run):
    result = run("fit", "nothing.csv")
    assert result.exit_code == 3
    assert (
        result.stderr
        == "error: there is no file nothing.csv; check its name and the folder you are in\n"
    )


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["-k", "0"], 2, "--nonzero 0 must be between 1 and 13"),
        (["-k", "99"], 2, "--nonzero 99 must be between 1 and 13"),
        (["-k", "many"], 2, "is no number of features"),
        (["-k", "3,4"], 2, "names 2 sizes for --components 3"),
        (["--method", "magic"], 2, "--method magic: there is no such method; choose one of sparse"),
        (["--orthogonality", "unkorrelated"], 2, "did you mean 'uncorrelated'?"),
        (["--objective", "recover"], 2, "did you mean 'recovery'?"),
        (["--objective", "recovery", "--orthogonality", "strict"], 2, 'use "none" or "disjoint"'),
        (
            ["--method", "em", "--objective", "recovery"],
            2,
            "--objective is no option of method 'em'",
        ),
        (["--effort", "slow"], 2, "--effort slow"),
        (["--labels", "colour_intensity"], 2, "did you mean 'color_intensity'?"),
        (["--components", "0"], 2, "--components"),
        (["--missing", "pray"], 2, "is none of"),
        (["--layer", "counts"], 2, "--layer counts is for .h5ad"),
    ],
)
def test_bad_options_are_explained_in_one_sentence(
    options, code, words, run, wine_csv, nothing_left
):
    result = run("fit", wine_csv, *options)
    assert result.exit_code == code
    assert words in " ".join(result.stderr.replace("│", " ").split())
    assert nothing_left()


def test_bad_data_is_explained(run, tmp_path):
    (tmp_path / "bad.csv").write_text("a,b\nx,y\nz,w\n")
    result = run("fit", "bad.csv")
    assert result.exit_code == 4
    assert "no column of numbers" in result.stderr
    (tmp_path / "flat.csv").write_text("a,b\n1,2\n1,2\n1,2\n")
    assert "no variance to explain" in run("fit", "flat.csv").stderr


def test_json_errors_are_json_too(run):
    result = run("fit", "nothing.csv", "--json")
    assert json.loads(result.stdout) == {
        "schema": 1,
        "command": "fit",
        "error": "there is no file nothing.csv; check its name and the folder you are in",
        "exit_code": 3,
    }


def test_debug_shows_where_it_happened(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from loadstone.commands.app import app

    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["fit", "nothing.csv", "--debug"])
    assert "Traceback" in result.stderr
    assert result.exit_code == 3


def test_a_full_disk_leaves_nothing(run, wine_csv, full_disk, nothing_left):
    result = run("fit", wine_csv, "-o", "out")
    assert result.exit_code == 7
    assert "nothing was left behind" in result.stderr
    assert nothing_left()


def test_an_interruption_leaves_nothing(run, wine_csv, interrupted, nothing_left):
    result = run("fit", wine_csv, "-o", "out")
    assert result.exit_code == 130
    assert "interrupted" in result.stderr
    assert nothing_left()


def test_an_interrupted_search_leaves_nothing(run, wine_csv, monkeypatch, nothing_left):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("loadstone.estimators.sequential.extract", stop)
    assert run("fit", wine_csv).exit_code == 130
    assert nothing_left()


def test_missing_values_are_reported_with_what_was_done(run, tmp_path):
    X = load_wine(as_frame=True).data.iloc[:, :5].copy()
    X.iloc[3, 2] = np.nan
    X.to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", "t.csv", "-o", "out", "-c", 1)
    assert "1 missing value(s) in 1 column(s) were filled with the mean" in result.stderr
    assert "filled with the mean" in (tmp_path / "out/report.html").read_text()


def test_a_name_that_looks_like_markup_stays_text(run, tmp_path):
    X = pd.DataFrame(
        load_wine().data[:, :3], columns=["[red]a[/red]", "<script>alert(1)</script>", "c"]
    )
    X.to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", "t.csv", "-o", "out", "-c", 1, "-k", 3, "--standardize")
    assert "[red]a[/red]" in result.stdout
    assert "<script>alert(1)" not in (tmp_path / "out/report.html").read_text()


def test_components_may_be_a_share_to_recover(run, wine_csv):
    result = run("fit", wine_csv, "-c", "0.5", "-k", "4", "--standardize", "--json", "-o", "out")
    components = json.loads(result.stdout)["components"]
    assert components[-1]["recovered_ratio"] >= 0.5 > components[-2]["recovered_ratio"]
    refused = run("fit", wine_csv, "-c", "1.5")
    assert refused.exit_code == 2
    assert "a share between 0 and 1" in refused.stderr


@pytest.mark.parametrize("word", ["auto", "cv"])
def test_the_number_of_components_may_be_left_to_a_method_that_learns_it(run, wine_csv, word):
    learned = ["fit", wine_csv, "-c", word, "--method", "noisy", "--standardize", "--json"]
    result = run(*learned, "-o", "out")
    assert result.exit_code == 0, result.stderr
    model = SparseNoisyPCA(word, standardize=True).fit(load_wine().data)
    assert len(json.loads(result.stdout)["components"]) == model.n_components_ != 3
    refused = run("fit", wine_csv, "-c", word)
    assert refused.exit_code == 2
    assert f"--components {word}" in refused.stderr


def test_too_many_components_of_a_model_are_refused_in_words_of_the_shell(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c,d\n1,2,3,9\n4,6,9,9\n7,1,2,9\n3,3,8,9\n")
    said = " ".join(run("fit", "t.csv", "--method", "bayes").stderr.split())
    assert "--components 3 must be from 1 to 2: in 4 samples of 3 feature(s) that vary" in said
    assert said.endswith("ask for fewer")


def test_a_time_limit_without_a_proof_is_not_ignored(run, wine_csv):
    refused = run("fit", wine_csv, "--time-limit", 5)
    assert refused.exit_code == 2
    assert "--time-limit 5 says nothing without a proof; add --certify" in refused.stderr
    # The method of proofs alone needs no other option.
    asked = ("--method", "exact", "-c", 1, "-k", 2, "--no-report", "--time-limit", 5)
    assert run("fit", wine_csv, *asked).exit_code == 0


def test_missing_values_that_a_method_refuses_lead_to_options(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,\n5,1\n4,4\n")
    refused = run("fit", "t.csv", "--missing", "keep")
    assert refused.exit_code == 4
    said = " ".join(refused.stderr.split())
    assert (
        "X contains NaN, 1 time(s), in feature(s) 'b'; --missing mean fills missing values" in said
    )
    assert "--method bayes models them" in said
    assert "sklearn" not in said
