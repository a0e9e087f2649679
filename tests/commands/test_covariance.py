"""loadstone covariance, and loadstone fit of what it wrote."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from loadstone import SampleCovariance, load_model


@pytest.fixture
def halves(tmp_path, wine_csv):
    """The wines in two files."""
    frame = pd.read_csv(wine_csv, index_col=0).drop(columns="cultivar")
    frame[:80].to_csv(tmp_path / "first.csv", index=False)
    frame[80:].to_csv(tmp_path / "second.csv", index=False)
    return frame


def test_files_add_up(run, halves, tmp_path):
    result = run("covariance", "first.csv", "second.csv", "-o", "cov.npz", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["n_samples"] == 178
    C = SampleCovariance.load("cov.npz")
    assert C.names.tolist() == halves.columns.tolist()
    np.testing.assert_allclose(C.covariance().matrix, np.cov(halves.to_numpy().T), rtol=1e-10)
    assert run("covariance", "first.csv", "-o", "cov.npz").exit_code == 6
    # A covariance joins like a file.
    assert run("covariance", "first.csv", "-o", "one.npz").exit_code == 0
    assert run("covariance", "one.npz", "second.csv", "-o", "both.npz").exit_code == 0
    np.testing.assert_array_equal(SampleCovariance.load("both.npz").scatter, C.scatter)


def test_sparse_files_keep_their_names(run, tmp_path):
    X = sparse.random_array((30, 4), density=0.5, rng=np.random.default_rng(0), format="csr")
    names = np.array(["a", "b", "c", "d"])
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    np.savez(tmp_path / "x.npz", **parts, format=np.array("csr"), feature_names=names)
    assert run("covariance", "x.npz", "-o", "c.npz").exit_code == 0
    assert SampleCovariance.load("c.npz").names.tolist() == names.tolist()


def test_files_that_do_not_go_together_are_refused(run, halves, tmp_path):
    halves.iloc[:, ::-1].to_csv(tmp_path / "turned.csv", index=False)
    result = run("covariance", "first.csv", "turned.csv", "-o", "cov.npz")
    assert result.exit_code == 4
    assert "turned.csv does not go with the files before it" in " ".join(result.output.split())
    assert not (tmp_path / "cov.npz").exists()
    assert run("covariance", "first.csv", "none.csv", "-o", "cov.npz").exit_code == 3


def test_fit_of_a_covariance_writes_all_but_scores(run, halves, tmp_path):
    run("covariance", "first.csv", "second.csv", "-o", "cov.npz")
    options = ("--components", 2, "--nonzero", 3, "--standardize", "--path")
    result = run("fit", "cov.npz", *options, "-o", "out")
    assert result.exit_code == 0, result.output
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "loadings.csv",
        "model.npz",
        "report.html",
    }
    halves.to_csv(tmp_path / "all.csv", index=False)
    assert run("fit", "all.csv", *options, "-o", "rows").exit_code == 0
    kept, rows = (load_model(tmp_path / folder / "model.npz") for folder in ("out", "rows"))
    np.testing.assert_allclose(kept.components_, rows.components_, atol=1e-9)
    np.testing.assert_allclose(kept.mean_, rows.mean_)
    assert run("transform", "out/model.npz", "all.csv", "-o", "scores.csv").exit_code == 0
    scores = pd.read_csv(tmp_path / "scores.csv")
    assert abs(scores["component 1"].mean()) < 1e-10
    assert run("fit", "cov.npz", "-o", "out").exit_code == 6


def test_options_about_rows_and_damaged_files_are_refused(run, halves, tmp_path):
    run("covariance", "first.csv", "-o", "cov.npz")
    for option in (("--labels", "x"), ("--transpose",), ("--missing", "rows")):
        result = run("fit", "cov.npz", *option)
        assert result.exit_code == 2
        assert f"{option[0]} is about rows" in " ".join(result.output.split())
    with np.load("cov.npz") as archive:
        parts = dict(archive)
    parts["scatter"] = parts["scatter"] * np.nan
    np.savez("cov.npz", **parts)
    result = run("fit", "cov.npz")
    assert result.exit_code == 4
    assert "is damaged" in " ".join(result.output.split())


def test_signs_are_asked_for_by_name(run, halves, tmp_path):
    run("covariance", "first.csv", "second.csv", "-o", "cov.npz")
    (tmp_path / "signs.csv").write_text("feature,sign\nalcohol,+\nhue,-\n")
    result = run("fit", "cov.npz", "--signs", "signs.csv", "--standardize", "-o", "out")
    assert result.exit_code == 0, result.output
    loadings = pd.read_csv(tmp_path / "out" / "loadings.csv").set_index("feature")["loading"]
    assert (loadings[loadings.index == "alcohol"] >= 0).all()
    assert (loadings[loadings.index == "hue"] <= 0).all()
