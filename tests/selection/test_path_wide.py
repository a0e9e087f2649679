"""Paths of wide data out of core: nearly the values of data in memory, and it says how far it looked."""

import dask.array as da
import numpy as np
import pytest

from loadstone import SparsePCA, cardinality_path
from loadstone.covariance import route, sample_gram, working_set
from passes.counting import Counted, planted

SIZES = np.unique(np.geomspace(1, 60, 20).round().astype(int))


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch):
    monkeypatch.setattr(route, "READ_BYTES", 0)
    monkeypatch.setattr(working_set, "FIRST_SIZE", 256)


def twins(seed=0, n_samples=60, n_features=4000):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    alike = rng.permutation(n_features)[:6]
    X[:, alike] = rng.standard_normal((n_samples, 1)) + 0.3 * rng.standard_normal((n_samples, 6))
    return X


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_planted_factors_keep_their_values(standardize, nonnegative):
    X = planted(60, 3000, sizes=(40, 25, 15), strength=1.2)
    counted = Counted(X, n_columns=6)
    how = {"standardize": standardize, "nonnegative": nonnegative}
    path = cardinality_path(counted.array, SIZES, **how)
    assert counted.passes <= 6
    reference = cardinality_path(X, SIZES, **how)
    assert (path.values >= 0.9995 * reference.values).all()
    assert path.looked.n_features < 3000
    np.testing.assert_allclose(path.ratio, path.values * reference.ratio / reference.values)


@pytest.mark.filterwarnings("ignore:the search looked at")
def test_near_twins_in_standardised_noise_are_found():
    X = twins()
    counted = Counted(X, n_columns=6)
    path = cardinality_path(counted.array, SIZES, standardize=True)
    assert counted.passes <= 6
    reference = cardinality_path(X, SIZES, standardize=True)
    assert (path.values >= 0.97 * reference.values).all()
    small = SIZES <= 6
    np.testing.assert_allclose(path.values[small], reference.values[small], rtol=1e-6)


def test_who_still_wants_in_is_said(monkeypatch):
    X = twins(seed=1)
    # No room for anybody who wants in: the search has to say so.
    monkeypatch.setattr(sample_gram, "MAX_COLUMN_BYTES", 60 * 8 * 1300)
    monkeypatch.setattr(working_set, "MOST_BROUGHT_IN", 8)
    with pytest.warns(UserWarning, match=r"the search looked at \d+ of 4000 features"):
        path = cardinality_path(da.from_array(X, chunks=(60, 900)), [10, 40], standardize=True)
    assert path.looked.n_wanting > 0


def test_a_size_beyond_the_working_set_is_refused_and_automatic_sizes_stop_before(monkeypatch):
    X = da.from_array(planted(30, 2000), chunks=(30, 500))
    monkeypatch.setattr(sample_gram, "MAX_COLUMN_BYTES", 30 * 8 * 1200)
    with pytest.raises(ValueError, match="sizes up to 100"):
        cardinality_path(X, [5, 101])
    path = cardinality_path(X, effort="fast")
    assert path.n_nonzeros[-1] == 100


def test_an_estimator_of_the_path_is_as_its_own_fit():
    X = planted(40, 1500, strength=2.0)
    counted = Counted(X, n_columns=4)
    path = cardinality_path(counted.array, [4, 8])
    before = counted.passes
    model = path.estimator(8)
    assert counted.passes == before
    reference = SparsePCA(1, n_nonzero=8).fit(X)
    for name in ("explained_variance_ratio_", "recovered_variance_ratio_", "mean_"):
        np.testing.assert_allclose(getattr(model, name), getattr(reference, name), rtol=1e-8)
