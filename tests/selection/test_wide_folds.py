"""Cross-validation of few samples of very many features: as in memory, in a few passes."""

import dask
import dask.array as da
import numpy as np
import pytest
from sklearn.model_selection import KFold

from loadstone import SparsePCACV
from loadstone.covariance import route, working_set
from passes.counting import Counted, planted

pytestmark = pytest.mark.filterwarnings("ignore")
SIZES = [2, 5, 9, 14]


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch):
    """Small data takes the ways of large data."""
    monkeypatch.setattr(route, "READ_BYTES", 0)
    monkeypatch.setattr(working_set, "FIRST_SIZE", 64)
    with dask.config.set(scheduler="synchronous"):
        yield


def assert_same(found, expected, tolerance=1e-12):
    for name, values in expected.cv_results_.items():
        np.testing.assert_allclose(found.cv_results_[name], values, atol=tolerance, err_msg=name)
    assert found.n_nonzero_ == expected.n_nonzero_
    for name in ("cv_recovered_ratio_", "cv_pca_recovered_ratio_"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=tolerance)
    np.testing.assert_allclose(np.abs(found.components_), np.abs(expected.components_), atol=1e-7)


@pytest.mark.parametrize("n_columns", [1, 5])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_components": 2},
        {"n_components": 2, "orthogonality": "disjoint"},
        {"nonnegative": True, "forbidden": [3, 1500]},
    ],
    ids=str,
)
def test_folds_on_a_working_set_are_those_of_all_features(options, n_columns):
    X = planted(60, 1700)
    counted = Counted(X, n_rows=2, n_columns=n_columns)
    found = SparsePCACV(n_nonzeros=SIZES, cv=3, **options).fit(counted.array)
    assert found.looked_at_["n_features"] < 1000
    assert counted.passes <= 6
    assert_same(found, SparsePCACV(n_nonzeros=SIZES, cv=3, **options).fit(X))


def test_weights_count_in_both_parts_of_a_fold():
    X = planted(60, 1700)
    w = np.random.default_rng(0).integers(0, 3, 60).astype(float)
    lazy = da.from_array(X, chunks=(60, 400))
    found = SparsePCACV(n_nonzeros=SIZES, cv=3).fit(lazy, sample_weight=w)
    assert_same(found, SparsePCACV(n_nonzeros=SIZES, cv=3).fit(X, sample_weight=w))
    folds = [(np.repeat(a, w[a].astype(int)), b) for a, b in KFold(3).split(X)]
    again = np.repeat(np.arange(60), w.astype(int))
    place = [np.flatnonzero(np.isin(again, b)) for _, b in folds]
    repeated = [(np.setdiff1d(np.arange(again.size), b), b) for b in place]
    counted = SparsePCACV(n_nonzeros=SIZES, cv=repeated).fit(da.from_array(X[again], chunks=-1))
    assert_same(found, counted, 1e-9)


def test_standardized_features_are_scaled_by_all_samples():
    X = planted(60, 1700)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    lazy = da.from_array(X, chunks=(60, 400))
    # Of two features a fold finds a pair in the noise, and not everybody the same.
    found = SparsePCACV(n_nonzeros=SIZES[1:], cv=3, standardize=True).fit(lazy)
    assert_same(found, SparsePCACV(n_nonzeros=SIZES[1:], cv=3).fit(Z))


def test_automatic_sizes_end_where_the_working_set_does_and_cost_no_more_passes():
    counted = Counted(planted(60, 1700), n_columns=5)
    model = SparsePCACV(cv=3).fit(counted.array)
    assert counted.passes <= 6
    assert model.cv_results_["n_nonzero"].size > 20


def test_what_is_small_is_read_into_memory(monkeypatch):
    monkeypatch.setattr(route, "READ_BYTES", 1 << 20)
    X = planted(60, 300)
    counted = Counted(X, n_columns=5)
    found = SparsePCACV(n_nonzeros=SIZES, cv=3).fit(counted.array)
    assert counted.passes == 1
    assert_same(found, SparsePCACV(n_nonzeros=SIZES, cv=3).fit(X))


def test_a_size_without_room_is_refused(monkeypatch):
    from loadstone.covariance import sample_gram

    monkeypatch.setattr(sample_gram, "MAX_COLUMN_BYTES", 60 * 8 * 800)
    lazy = da.from_array(planted(60, 1700), chunks=(60, 400))
    with pytest.raises(ValueError, match="a size of 500 needs more columns"):
        SparsePCACV(n_nonzeros=[5, 500], cv=3).fit(lazy)
