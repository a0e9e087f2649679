"""Components that begin together, and answers that do not depend on the route."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from loadstone import SparsePCA
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance
from loadstone.extraction.together import together_starts


def two_stories(n=60, p=12, seed=0):
    """Two groups of features, and components of PCA that mix them."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n, 2))
    scores[:, 1] += 0.3 * scores[:, 0]
    X = 0.1 * rng.standard_normal((n, p))
    X[:, : p // 2] += scores[:, [0]]
    X[:, p // 2 :] += scores[:, [1]]
    return X


@pytest.mark.parametrize("nonnegative", [False, True])
def test_rotated_components_keep_their_constraints_and_part_the_groups(nonnegative):
    S = ExplicitCovariance(np.cov(two_stories().T), 60.0)
    constraints = [LoadingConstraint(12, size, nonnegative) for size in (5, 3)]
    W = next(together_starts(S, constraints))
    assert W.shape == (12, 2)
    sides = []
    for constraint, w in zip(constraints, W.T, strict=True):
        assert constraint.allows(w)
        used = np.flatnonzero(w)
        sides.append(set((used >= 6).tolist()))
    assert sorted(map(sorted, sides)) == [[False], [True]]


def test_large_components_also_begin_at_principal_ones():
    S = ExplicitCovariance(np.cov(two_stories().T), 60.0)
    assert len(list(together_starts(S, [LoadingConstraint(12, 2)] * 2))) == 1
    _, W = together_starts(S, [LoadingConstraint(12, 6)] * 2)
    V = np.linalg.eigh(S.matrix)[1][:, :-3:-1]
    for w, v in zip(W.T, V.T, strict=True):
        assert set(np.flatnonzero(w)) == set(np.argsort(-np.abs(v))[:6])
        assert abs(w @ v) == pytest.approx(np.sqrt(np.sum(np.sort(v**2)[-6:])))


def adjusted(X, **asked):
    """The adjusted variance, computed here by regressing the scores."""
    W = SparsePCA(standardize=True, **asked).fit(X).components_.T
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    return float(np.sum(np.diagonal(np.linalg.qr(Z @ W)[1]) ** 2)) / (len(X) - 1)


def test_components_that_begin_together_explain_more_than_a_chain():
    X = load_breast_cancer().data
    asked = {"n_components": 3, "n_nonzero": 10}
    assert adjusted(X, **asked) > 1.03 * adjusted(X, refine=False, **asked)


@pytest.mark.parametrize("p", [20, 90])
def test_the_route_does_not_change_components_of_few_features(p):
    rng = np.random.default_rng(p)
    X = rng.standard_normal((50, p)) + rng.standard_normal((50, 1)) * (rng.random(p) < 0.4)
    answers = [
        SparsePCA(3, n_nonzero=6, standardize=True, route=route, effort="fast").fit(X).components_
        for route in ("gram", "data")
    ]
    np.testing.assert_allclose(*answers, atol=1e-7)
