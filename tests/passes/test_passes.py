"""Every public function reads data out of core as often as ``tools/pass_table.py`` says."""

import importlib.util
from pathlib import Path

import dask
import numpy as np
import pytest

import loadstone
import registry
from loadstone import SampleCovariance, SparsePCA, cardinality_path, certify
from loadstone.covariance import route, sample_gram, working_set
from passes.counting import Counted, planted

pytestmark = pytest.mark.filterwarnings("ignore")

_PATH = Path(__file__).resolve().parents[2] / "tools" / "pass_table.py"
_SPEC = importlib.util.spec_from_file_location("pass_table", _PATH)
pass_table = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(pass_table)

#: A look at the first block, for a first guess of the mean, is no pass.
A_LOOK = 0.26
N_COMPONENTS = 2


def of_estimator(cls):
    small = {"n_components": N_COMPONENTS, "n_nonzero": 5, "n_features_to_select": 5}
    small |= {"max_iter": 50, "cv": 3, "n_nonzeros": (2, 4)}
    parameters = registry.inspect.signature(cls).parameters
    chosen = {name: value for name, value in small.items() if name in parameters}
    return lambda X: cls(**chosen).fit(X)


def model_of(X):
    return SparsePCA(2, n_nonzero=5).fit(np.random.default_rng(0).standard_normal((30, X.shape[1])))


CALLS = {cls.__name__: of_estimator(cls) for cls in registry.estimators()} | {
    "SparsePCA, certify='instant'": lambda X: SparsePCA(2, n_nonzero=5, certify="instant").fit(X),
    "SparsePCA, certify='standard'": lambda X: SparsePCA(2, n_nonzero=5, certify="standard").fit(X),
    "cardinality_path": lambda X: cardinality_path(X, np.arange(1, 21)),
    "cardinality_path, certified": lambda X: cardinality_path(
        X, np.arange(1, 21), certify="instant"
    ),
    "certify": lambda X: certify(X, n_nonzero=5),
    "certify, effort='instant'": lambda X: certify(X, n_nonzero=5, effort="instant"),
    "stability_selection": lambda X: loadstone.stability_selection(
        SparsePCA(1, n_nonzero=5), X, n_subsamples=4
    ),
    "cross_validated_recovery": lambda X: loadstone.cross_validated_recovery(model_of(X), X),
    "SampleCovariance.of": SampleCovariance.of,
    "transform": lambda X: model_of(X).transform(X),
    "score": lambda X: model_of(X).score(X),
}


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch):
    """Small data takes the ways of large data."""
    monkeypatch.setattr(route, "READ_BYTES", 0)
    monkeypatch.setattr(working_set, "FIRST_SIZE", 64)
    monkeypatch.setattr(sample_gram, "MAX_GATHERED", 64)
    with dask.config.set(scheduler="synchronous"):
        yield


def test_everything_public_is_stated_and_counted():
    assert not pass_table.unstated()
    assert set(CALLS) == set(pass_table.STATED)


@pytest.mark.parametrize("name", CALLS)
def test_tall_data(name):
    counted = Counted(planted(120, 40), n_rows=4)
    assert_as_stated(name, counted, pass_table.STATED[name].tall)


@pytest.mark.parametrize("name", CALLS)
def test_wide_data_in_chunks_of_columns(name):
    stated = pass_table.STATED[name]
    n = None if stated.wide is None else stated.wide + stated.per_component * N_COMPONENTS
    assert_as_stated(name, Counted(planted(30, 1700), n_columns=5), n)


@pytest.mark.parametrize("name", ["SparsePCA", "cardinality_path", "SparseNoisyPCA"])
def test_wide_data_in_chunks_of_rows_and_columns(name):
    counted = Counted(planted(30, 1700), n_rows=3, n_columns=4)
    assert_as_stated(name, counted, pass_table.STATED[name].wide)


def assert_as_stated(name, counted, n):
    if n is None:
        with pytest.raises((TypeError, ValueError, MemoryError)):
            CALLS[name](counted.array)
        return
    CALLS[name](counted.array)
    assert counted.passes <= n + A_LOOK


def test_the_page_has_the_table():
    text = pass_table.PAGE.read_text(encoding="utf-8")
    assert pass_table.page(text) == text, "run: python tools/pass_table.py"


@pytest.mark.parametrize("name", ["NSPCA", "ElasticNetPCA", "ExactSparsePCA"])
def test_what_looks_at_all_features_says_the_size_where_it_refuses(name, monkeypatch):
    monkeypatch.setattr(sample_gram, "MAX_COLUMN_BYTES", 30 * 8 * 1000)
    counted = Counted(planted(30, 1700), n_columns=5)
    with pytest.raises(MemoryError, match="1700 features of 30 samples"):
        CALLS[name](counted.array)
    assert counted.passes == 0
