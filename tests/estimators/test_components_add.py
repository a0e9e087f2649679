"""Every component returned explains something that those before it do not."""

import warnings

import numpy as np
import pytest

from loadstone import EMPCA, ExactSparsePCA, GreedyPCA, SpannogramPCA, SparsePCA, ThresholdedPCA


def added(X, components):
    """Share of the variance that each component adds, by QR of the scores."""
    Y = X - X.mean(axis=0, dtype=float)
    return np.diag(np.linalg.qr(Y @ components.T)[1]) ** 2 / (Y**2).sum()


@pytest.mark.parametrize("deflation", ["projection", "schur"])
@pytest.mark.parametrize(
    "estimator", [EMPCA, ExactSparsePCA, GreedyPCA, SpannogramPCA, SparsePCA, ThresholdedPCA]
)
def test_copies_of_what_is_explained_are_passed_over(estimator, deflation):
    # Projection removes a feature and leaves its copy, whose scores are the same.
    A = np.random.default_rng(0).normal(size=(50, 6)) * [5, 4, 3, 2, 1, 1]
    X = np.hstack([A, A])
    model = estimator(6, n_nonzero=1, deflation=deflation).fit(X)
    assert sorted(np.flatnonzero(model.components_.any(axis=0)) % 6) == list(range(6))
    assert (added(X, model.components_) > 1e-3).all()


@pytest.mark.parametrize("relation", ["none", "quasi"])
def test_several_copies_are_passed_over(relation):
    A = np.random.default_rng(1).normal(size=(50, 5)) * [5, 4, 3, 2, 1]
    X = np.hstack([A, A, A])
    asked = {"deflation": "projection", "orthogonality": relation, "refine": False}
    model = SparsePCA(5, n_nonzero=1, **asked).fit(X)
    assert (added(X, model.components_) > 1e-3).all()


@pytest.mark.parametrize(
    "asked",
    [
        {"orthogonality": "disjoint", "objective": "sum"},
        {"orthogonality": "disjoint", "deflation": "projection", "refine": False},
        {"orthogonality": "strict", "deflation": "projection", "refine": False},
    ],
)
def test_sums_of_variances_count_copies(asked):
    A = np.random.default_rng(2).normal(size=(50, 3)) * [5, 2, 1]
    X = np.hstack([A, A])
    model = SparsePCA(2, n_nonzero=1, **asked).fit(X)
    assert sorted(np.flatnonzero(model.components_.any(axis=0))) == [0, 3]


def test_added_components_pass_over_copies_too():
    A = np.random.default_rng(3).normal(size=(50, 4)) * [4, 3, 2, 1]
    X = np.hstack([A, A])
    at_once = EMPCA(4, n_nonzero=1).fit(X).components_
    later = EMPCA(2, n_nonzero=1).fit(X).add_components(X, 2).components_
    np.testing.assert_array_equal(later, at_once)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", [21, 52, 53, 84])
def test_rounding_of_nearly_dependent_scores_is_no_component(seed, dtype):
    rng = np.random.default_rng(seed)
    n, d, q = int(rng.integers(5, 9)), int(rng.integers(10, 60)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, q)) @ rng.normal(size=(q, d)) + 0.1 * rng.normal(size=(n, d))
    X = X.astype(dtype)
    negligible = max(1e-10, 100 * np.finfo(dtype).eps)
    asked = [
        EMPCA(n + 1, n_nonzero=0.5),
        SparsePCA(n + 1, n_nonzero=0.3, deflation="projection", effort="fast"),
        SpannogramPCA(n + 1, n_nonzero=0.5, rank=2, deflation="hotelling"),
        SpannogramPCA(n + 1, n_nonzero=0.5, rank=1, polish=False),
        ThresholdedPCA(n + 1, n_nonzero=0.3),
    ]
    for estimator in asked:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = estimator.fit(X)
        assert len(model.components_) < n
        assert (added(X, model.components_) > negligible / 2).all(), estimator


def test_rounding_of_nonnegative_loadings_uses_no_feature():
    # The first component has both copies; rounding left one of them to the second.
    rng = np.random.default_rng(29)
    X = rng.normal(size=(int(rng.integers(4, 30)), 2)) @ np.array([[1.0, 0, 1], [0, 1, 0]])
    for seed in range(3):
        turned = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(X), len(X))))[0] @ X
        model = ExactSparsePCA(2, n_nonzero=2, nonnegative=True).fit(turned)
        sizes = np.abs(model.components_[model.components_ != 0])
        assert sizes.min() > 1e-14
