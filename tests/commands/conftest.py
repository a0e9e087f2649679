"""A shell in an empty folder, with files to work on."""

import errno

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from typer.testing import CliRunner

from loadstone.commands.app import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Call the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        assert "Traceback" not in result.output
        return result

    return call


@pytest.fixture(scope="session")
def wine_csv(tmp_path_factory):
    wine = load_wine(as_frame=True)
    frame = wine.data.copy()
    frame.insert(0, "cultivar", wine.target_names[wine.target])
    path = tmp_path_factory.mktemp("wine") / "wine.csv"
    frame.to_csv(path, index_label="")
    return path


@pytest.fixture(scope="session")
def wine_model(tmp_path_factory):
    from loadstone import SparsePCA, save_model

    X = load_wine(as_frame=True).data
    model = SparsePCA(2, n_nonzero=4, standardize=True).fit(X)
    return save_model(model, tmp_path_factory.mktemp("model") / "model.npz")


@pytest.fixture
def full_disk(monkeypatch):
    """Nothing of more than a few bytes can be written: the quota of the process is spent."""
    resource = pytest.importorskip("resource", reason="this system has no file size limits")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
    yield errno.EFBIG
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def interrupted(monkeypatch):
    """Ctrl-C at the moment the first file is complete but not yet in its place."""

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("loadstone.files.atomic._store_durably", stop)


def left_behind(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture
def nothing_left(tmp_path):
    return lambda: left_behind(tmp_path) == []


@pytest.fixture(scope="session")
def same_numbers():
    def compare(path, expected, columns):
        np.testing.assert_allclose(pd.read_csv(path)[columns].to_numpy(), expected)

    return compare
