"""Limits of recovered variance against brute force and PCA."""

from itertools import combinations

import numpy as np
import pytest

from loadstone import SparsePCA
from loadstone.certificates.bound_recovery import certify_recovery, enumerated_bound, pca_bound
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance, covariance_of
from loadstone.metrics import recovered_variance


def data(seed, n=25, p=7):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) @ rng.standard_normal((p, p))


def least_squares(Z, T):
    """What all columns gain from the best single combination of some of them."""
    Q = np.linalg.qr(Z[:, list(T)])[0]
    return np.linalg.svd(Q.T @ Z, compute_uv=False)[0] ** 2 / (len(Z) - 1)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_for_one_component_enumeration_is_the_optimum(k):
    for seed in range(5):
        X = data(seed)
        Z = X - X.mean(axis=0)
        best = max(least_squares(Z, T) for T in combinations(range(7), k))
        bound = enumerated_bound(ExplicitCovariance(np.cov(X.T)), [LoadingConstraint(7, k)], 1e9)
        assert best <= bound <= best * (1 + 1e-7)


@pytest.mark.parametrize("wide", [False, True])
def test_nothing_recovers_more_than_the_bounds(wide):
    rng = np.random.default_rng(1)
    for seed in range(20):
        X = data(seed, *((8, 12) if wide else (30, 6)))
        S, _ = covariance_of(X, route="data")
        r, k = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        constraints = [LoadingConstraint(S.n_features, k)] * r
        W = np.zeros((S.n_features, r))
        for j in range(r):
            W[rng.permutation(S.n_features)[:k], j] = rng.standard_normal(k)
        value = recovered_variance(S, W)[-1]
        plain = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:r] ** 2 / (len(X) - 1)
        assert value <= pca_bound(S, r)[0]
        assert pca_bound(S, r)[0] == pytest.approx(plain.sum(), rel=1e-9)
        certificate = certify_recovery(S, constraints, value, by_enumeration=True)
        assert certificate.value <= certificate.upper_bound
        assert 0 <= certificate.ratio <= 1


def test_the_estimator_says_how_far_it_is_from_the_best():
    X = data(3)
    asked = {"n_nonzero": 2, "objective": "recovery"}
    plain = SparsePCA(1, **asked).fit(X).recovery_certificate_
    assert "PCA" in str(plain)
    assert plain.value <= plain.upper_bound
    proven = SparsePCA(1, certify="standard", **asked).fit(X).recovery_certificate_
    assert proven.is_optimal
    assert str(proven).startswith("proven to recover as much as any can")
    two = SparsePCA(2, certify="full", **asked).fit(X)
    assert two.recovery_certificate_.value == pytest.approx(two.recovered_variance_ratio_[-1])
    assert (
        two.recovery_certificate_.upper_bound
        < SparsePCA(2, **asked).fit(X).recovery_certificate_.upper_bound
    )
