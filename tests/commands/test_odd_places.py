"""Files that are the wrong ones, cannot be opened, or would be lost."""

import os
import shutil

import numpy as np
import pytest

from loadstone import SampleCovariance, SparsePCA, certify, read_table
from loadstone.files.errors import TableError, UnwritableFileError

#: No file system takes a name of so many letters, and the system raises where it is looked for.
LONG = "x" * 300


@pytest.fixture
def data(tmp_path, wine_csv, wine_model):
    """A table, a model and a covariance in the folder of the shell."""
    shutil.copy(wine_csv, tmp_path / "wine.csv")
    shutil.copy(wine_model, tmp_path / "model.npz")
    SampleCovariance.of(read_table(wine_csv).to_frame()).save(tmp_path / "cov.npz")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ("covariance", "wine.csv", "-o", "wine.csv"),
        ("covariance", "cov.npz", "wine.csv", "-o", "./cov.npz"),
        ("report", "model.npz", "wine.csv", "--feature-axis", "axis.txt", "-o", "axis.txt"),
    ],
)
def test_what_is_read_is_never_overwritten(command, run, data):
    (data / "axis.txt").write_text("1 2 3")
    before = {path.name: path.read_bytes() for path in data.iterdir()}
    result = run(*command, "--force")
    assert result.exit_code == 6
    assert "is read and would be overwritten" in " ".join(result.output.split())
    assert {path.name: path.read_bytes() for path in data.iterdir()} == before


def test_a_covariance_is_not_swapped_away_by_its_own_fit(run, data):
    (data / "out").mkdir()
    shutil.copy(data / "cov.npz", data / "out" / "model.npz")
    assert run("fit", "out/model.npz", "-o", "out", "--force").exit_code == 6
    assert SampleCovariance.load(data / "out" / "model.npz").n_samples == 178


@pytest.mark.parametrize(
    "command",
    [("demo",), ("covariance", "wine.csv"), ("transform", "model.npz", "wine.csv")],
)
def test_what_may_not_be_read_is_told_by_whoever_opens_it(command, run, data, monkeypatch):
    """The shell's own check would speak of a wrong option."""
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    result = run(*command, "-o", "cov.npz")
    assert result.exit_code == 6
    assert "cov.npz" in result.output
    assert "--force" in result.output


def test_a_model_is_not_swapped_away_by_its_own_proofs(run, data):
    (data / "out").mkdir()
    shutil.copy(data / "model.npz", data / "out" / "joint.npz")
    before = (data / "out" / "joint.npz").read_bytes()
    result = run("certify", "out/joint.npz", "wine.csv", "-o", "out", "--force")
    assert result.exit_code == 6
    assert "is read and would be overwritten" in " ".join(result.output.split())
    assert (data / "out" / "joint.npz").read_bytes() == before


@pytest.mark.parametrize("file", ["wine.csv", "cov.npz"])
def test_a_folder_of_other_things_is_refused_before_any_work(file, run, data, monkeypatch):
    def search(*_, **__):
        pytest.fail("components were searched first")

    monkeypatch.setattr(SparsePCA, "fit", search)
    (data / "out").mkdir()
    (data / "out" / "notes.txt").write_text("mine")
    result = run("fit", file, "-o", "out")
    assert result.exit_code == 6
    assert "notes.txt" in result.output


@pytest.mark.parametrize("command", ["transform", "certify", "verify", "report"])
def test_a_covariance_is_no_table_of_samples(command, run, data):
    result = run(command, "model.npz", "cov.npz")
    assert result.exit_code == 4
    assert "cov.npz is a covariance" in " ".join(result.output.split())
    assert "holds no samples" in " ".join(result.output.split())


def test_own_files_are_no_tables(data):
    proof = certify(np.random.default_rng(0).normal(size=(9, 4)), n_nonzero=2, effort="instant")
    proof.save(data / "proof.npz")
    for file, kind in (("cov", "covariance"), ("model", "model"), ("proof", "certificate")):
        with pytest.raises(TableError, match=f"is a {kind}.*holds no samples; give the data"):
            read_table(data / f"{file}.npz")


@pytest.mark.parametrize(
    "command",
    [
        ("fit", f"{LONG}.csv"),
        ("covariance", f"{LONG}.csv"),
        ("path", f"{LONG}.csv"),
        ("transform", LONG, "wine.csv"),
        ("certify", "model.npz", f"{LONG}.csv"),
        ("verify", LONG, "wine.csv"),
        ("fit", "wine.csv", "--groups", LONG),
        ("fit", "wine.csv", "--signs", LONG),
        ("fit", "wine.csv", "--feature-axis", LONG),
    ],
)
def test_files_that_cannot_be_opened_are_told_with_the_reason(command, run, data):
    result = run(*command)
    assert result.exit_code == 3
    said = " ".join(result.output.split())
    assert "cannot be opened" in said
    assert "check its name, and whether you may read it" in said


def test_a_folder_is_no_certificate(run, data):
    result = run("verify", ".", "wine.csv")
    assert result.exit_code == 3
    assert "there is no certificate file" in " ".join(result.output.split())


@pytest.mark.parametrize("text", [b"1 2 nan", b"1 2 1e999", b"1 2 \xff"])
def test_an_axis_has_places(text, run, data):
    (data / "axis.txt").write_bytes(text)
    result = run("fit", "wine.csv", "--feature-axis", "axis.txt", "-o", "out")
    assert result.exit_code == 2
    assert "--feature-axis axis.txt has" in " ".join(result.output.split())


def test_a_link_to_itself_is_refused_and_stays(run, data):
    (data / "loop.csv").symlink_to("loop.csv")
    result = run("transform", "model.npz", "wine.csv", "-o", "loop.csv", "--force")
    assert result.exit_code == 7
    assert "leads to itself" in " ".join(result.output.split())
    assert (data / "loop.csv").is_symlink()
    with pytest.raises(UnwritableFileError, match="leads to itself"):
        SampleCovariance.load(data / "cov.npz").save(data / "loop.csv")


def test_files_of_others_stay_whatever_they_are_called(run, data):
    (data / "out").mkdir()
    (data / "out" / "mine.loadstone").write_text("mine")
    result = run("fit", "wine.csv", "-o", "out", "--force")
    assert result.exit_code == 6
    assert (data / "out" / "mine.loadstone").read_text() == "mine"
