"""The component of every size of a path has the variance the path states for it."""

import numpy as np
import pytest

from loadstone import cardinality_path
from loadstone.datasets import load_mtcars

#: Few samples of many features: non-negative components stop growing long before the last
#: size, and the larger sizes have to keep the best of the smaller ones.
HARD = {f"random {seed}": seed for seed in (0, 2, 3)}


def data_of(name):
    if name == "cars":
        return load_mtcars().data
    return np.random.default_rng(HARD[name]).standard_normal((12, 25))


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("name", ["cars", *HARD])
def test_every_size_has_the_variance_it_states(name, nonnegative):
    X = data_of(name)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    path = cardinality_path(X, nonnegative=nonnegative, standardize=True)
    assert np.all(np.diff(path.values) >= 0)
    for size, value, support in zip(path.n_nonzeros, path.values, path.supports, strict=True):
        w = path.loadings(size)
        assert np.linalg.norm(w) == pytest.approx(1)
        assert np.count_nonzero(w) <= size
        assert set(np.flatnonzero(w)) <= set(support)
        assert not nonnegative or w.min() >= 0
        assert np.var(Z @ w, ddof=1) == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("certify", ["instant", "standard"])
def test_no_bound_lies_below_the_value_it_bounds(certify, nonnegative):
    """Rounding in single precision counts: bounds are rounded outwards, values as they are."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((40, 12)) @ rng.standard_normal((12, 12)) + rng.standard_normal(12)
    for data in (X.astype(np.float32), X):
        path = cardinality_path(data, nonnegative=nonnegative, certify=certify)
        assert (path.bounds >= path.values).all()
        assert (np.diff(path.bounds) >= 0).all()
        S = np.cov(data.astype(np.float64).T)
        for size, bound in zip(path.n_nonzeros, path.bounds, strict=True):
            w = path.loadings(size).astype(np.float64)
            assert bound >= (w @ S @ w / (w @ w)) * (1 - 1e-12)
