"""Every rule of deflation, written out from its formula by name."""

import numpy as np
import pytest

from loadstone.covariance import (
    DEFLATION_NAMES,
    ExplicitCovariance,
    covariance_of,
    deflate,
    variances_of,
)


def covariance(seed=0, p=8):
    X = np.random.default_rng(seed).standard_normal((3 * p, p))
    return np.cov(X.T)


def unit(v):
    return v / np.sqrt(v @ v)


def apart(w, earlier):
    """The part of w orthogonal to the earlier ones, by least squares, at unit length."""
    if not earlier:
        return w
    V = np.column_stack(earlier)
    return unit(w - V @ np.linalg.lstsq(V, w, rcond=None)[0])


def projection(S, w, earlier):
    P = np.eye(w.size) - np.outer(w, w)
    return P @ S @ P


def hotelling(S, w, earlier):
    return S - (w @ S @ w) * np.outer(w, w)


def schur(S, w, earlier):
    return S - np.outer(S @ w, w @ S) / (w @ S @ w)


def orthogonalized_projection(S, w, earlier):
    return projection(S, apart(w, earlier), [])


def orthogonalized_hotelling(S, w, earlier):
    q = apart(w, earlier)
    return S - (q @ S @ q) * np.outer(q, q)


FORMULAS = {
    "projection": projection,
    "hotelling": hotelling,
    "schur": schur,
    "orthogonalized_projection": orthogonalized_projection,
    "orthogonalized_hotelling": orthogonalized_hotelling,
}


def test_every_rule_has_a_formula_here():
    assert set(DEFLATION_NAMES) == set(FORMULAS)


@pytest.mark.parametrize("route", ["explicit", "data"])
@pytest.mark.parametrize("rule", FORMULAS)
def test_three_components_are_removed_as_the_formula_says(rule, route):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((24, 8))
    expected = np.cov(X.T)
    S = covariance_of(X, route="data")[0] if route == "data" else ExplicitCovariance(expected)
    earlier = []
    for _ in range(3):
        w = unit(rng.standard_normal(8))
        expected = FORMULAS[rule](expected, w, earlier)
        S = deflate(S, w, rule, np.column_stack(earlier) if earlier else None)
        earlier.append(w)
        everything = np.arange(8)
        np.testing.assert_allclose(S.block(everything, everything), expected, atol=1e-12)
        np.testing.assert_allclose(S @ np.eye(8), expected, atol=1e-12)
        np.testing.assert_allclose(S.diagonal(), np.maximum(expected.diagonal(), 0), atol=1e-12)
        W = rng.standard_normal((8, 3))
        by_hand = np.diag(W.T @ expected @ W)
        np.testing.assert_allclose(variances_of(S, W), by_hand, atol=1e-11)
        cols = np.array([1, 4, 6])
        part = S.restrict(cols)
        np.testing.assert_allclose(part @ np.eye(3), expected[np.ix_(cols, cols)], atol=1e-12)


def test_rules_differ_where_components_overlap():
    S = covariance(2)
    rng = np.random.default_rng(3)
    w, v = unit(rng.standard_normal(8)), unit(rng.standard_normal(8))
    left = {rule: formula(formula(S, w, []), v, [w]) for rule, formula in FORMULAS.items()}
    names = list(left)
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            assert np.abs(left[one] - left[other]).max() > 1e-3, (one, other)


@pytest.mark.parametrize("rule", ["orthogonalized_projection", "orthogonalized_hotelling"])
def test_a_component_close_to_the_earlier_ones_is_removed_along_its_own_part(rule):
    S = covariance(4)
    basis = np.linalg.qr(np.random.default_rng(5).standard_normal((8, 3)))[0]
    earlier = np.column_stack([basis[:, 0], unit(basis[:, 0] + basis[:, 1])])
    for small in (1e-3, 1e-5, 1e-7):
        # One subtraction leaves rounding of size 1e-16, which dividing by ``small`` blows up.
        w = unit(basis[:, 0] - 0.4 * basis[:, 1] + small * basis[:, 2])
        q = deflate(ExplicitCovariance(S), w, rule, earlier).U[:, 0]
        assert abs(q @ q - 1) < 1e-12
        assert np.abs(earlier.T @ q).max() < 1e-14
        assert abs(q @ basis[:, 2]) == pytest.approx(1, abs=1e-6)


def test_a_component_that_repeats_earlier_ones_is_taken_as_it_is():
    # What is left after subtracting its projection is rounding, and no direction at all.
    S = covariance(6)
    rng = np.random.default_rng(7)
    earlier = np.column_stack([unit(rng.standard_normal(8)) for _ in range(2)])
    w = unit(earlier @ [0.3, 0.7])
    found = deflate(ExplicitCovariance(S), w, "orthogonalized_hotelling", earlier)
    np.testing.assert_allclose(found @ np.eye(8), hotelling(S, w, []), atol=1e-12)
