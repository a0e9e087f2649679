"""Which of several supports with the same variance is taken, whatever the order of the features."""

from itertools import combinations

import numpy as np
import pytest

from loadstone import SparsePCA


def unequal(seed, n=40, d=9):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, : d // 2] += 0.7 * rng.normal(size=(n, 1))
    return X, rng.permutation(d)


def explained(X, **asked):
    return np.sort(SparsePCA(standardize=True, **asked).fit(X).explained_variance_)


@pytest.mark.parametrize("refine", ["warm", False])
@pytest.mark.parametrize("kind", ["none", "disjoint", "quasi"])
@pytest.mark.parametrize("k", [1, 2])
def test_equal_variances_do_not_make_the_order_of_features_matter(k, kind, refine):
    for seed in range(8):
        X, order = unequal(seed)
        asked = {"n_components": 3, "n_nonzero": k, "orthogonality": kind, "refine": refine}
        np.testing.assert_allclose(
            explained(X, **asked), explained(X[:, order], **asked), rtol=1e-7
        )


@pytest.mark.parametrize("d", [9, 700])
def test_the_feature_that_says_most_of_the_others_comes_first(d):
    X, order = unequal(3, d=d)
    X = X[:, order]
    R = np.corrcoef(X, rowvar=False)
    # Of many features their covariances are summed, of few their squares.
    said = (R * R).sum(axis=0) if d <= 512 else np.abs(R.sum(axis=0))
    model = SparsePCA(1, n_nonzero=1, standardize=True).fit(X)
    assert np.flatnonzero(model.components_[0]).tolist() == [int(np.argmax(said))]


def test_features_that_one_component_made_equal_are_told_apart():
    """Without two standardised features, loadings alike, the same is left of both."""
    X, _ = unequal(1, d=6)
    R = np.corrcoef(X, rowvar=False)
    asked = {"n_nonzero": 2, "standardize": True, "refine": False}
    a, b = np.flatnonzero(SparsePCA(1, **asked).fit(X).components_[0])
    w = np.zeros(6)
    w[[a, b]] = np.array([1, np.sign(R[a, b])]) / np.sqrt(2)
    left = R - np.outer(R @ w, R @ w) / (w @ R @ w)
    assert left[a, a] == pytest.approx(left[b, b])
    values = {
        pair: np.linalg.eigvalsh(left[np.ix_(pair, pair)])[-1] for pair in combinations(range(6), 2)
    }
    largest = max(values.values())
    tied = [pair for pair, value in values.items() if value > largest * (1 - 1e-9)]
    said = (R * R).sum(axis=0)
    expected = max(tied, key=lambda pair: said[list(pair)].sum())
    second = SparsePCA(2, **asked).fit(X).components_[1]
    assert tuple(np.flatnonzero(second)) == expected


def test_copies_of_a_feature_are_taken_from_the_first():
    X, _ = unequal(5, d=8)
    X = np.column_stack([X, X])
    for layout in (np.ascontiguousarray, np.asfortranarray):
        model = SparsePCA(1, n_nonzero=1, standardize=True).fit(layout(X))
        assert np.flatnonzero(model.components_[0])[0] < 8
