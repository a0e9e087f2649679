"""Certificates of every constraint: never below the optimum, recomputed, stored, in words."""

from dataclasses import replace

import numpy as np
import pytest

from loadstone.certificates import Certificate, CertificateError, prove
from loadstone.certificates.bound_any_constraint import (
    as_cardinality,
    constraint_bound,
    constraint_bounds,
    counted_entries,
    dual_bound,
)
from loadstone.certificates.bound_dual import Dual
from loadstone.constraints import Groups, L1Budget, LoadingConstraint, Signs
from loadstone.covariance import DeflatedCovariance, ExplicitCovariance, covariance_of
from loadstone.covariance.flipped import FlippedCovariance
from loadstone.solvers.climb import Climb
from registry import constraints

P = 9
CONSTRAINTS = constraints(P)
OTHERS = [c for c in CONSTRAINTS if not isinstance(c, LoadingConstraint)]


def data(seed=0, n=30, p=P):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) * np.linspace(2, 0.7, p) + rng.standard_normal((n, 1))


def found(S, constraint):
    return Climb()(S, constraint, np.random.default_rng(0)).matrix[:, 0]


def random_allowed(constraint, n=3000, seed=0):
    """Allowed vectors that no bound has seen."""
    D = np.random.default_rng(seed).standard_normal((constraint.n_features, n))
    return constraint.best_loading(D)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
@pytest.mark.parametrize("indefinite", [False, True])
def test_every_single_bound_holds(constraint, indefinite):
    A = np.cov(data().T)
    if indefinite:
        A = A - 1.5 * np.eye(P)
    if isinstance(constraint, LoadingConstraint) and constraint.forced.size:
        constraint = replace(constraint, forced=constraint.forced[:0])
    W = random_allowed(constraint)
    W = np.column_stack([W, found(ExplicitCovariance(np.cov(data().T)), constraint)])
    reached = np.einsum("ij,ij->j", W, A @ W).max()
    kept = np.setdiff1d(np.arange(P), constraint.forbidden)
    bounds = constraint_bounds(A[np.ix_(kept, kept)], constraint.on(kept))
    assert len({bound.name for bound in bounds}) >= 5
    for bound in bounds:
        assert bound.value >= reached, bound.name


def soft(A, t):
    return np.sign(A) * np.maximum(np.abs(A) - t, 0)


def test_the_bound_of_an_l1_budget_is_its_formula():
    A = np.cov(np.random.default_rng(4).standard_normal((12, P)).T)
    budget = 1.7
    # Signs that no change of signs makes positive.
    assert np.linalg.eigvalsh(np.abs(A))[-1] > 1.2 * np.linalg.eigvalsh(A)[-1]
    bound = {b.name: b.value for b in constraint_bounds(A, L1Budget(P, budget))}["soft threshold"]
    grid = [
        np.linalg.eigvalsh(soft(A, t))[-1] + t * budget**2
        for t in np.linspace(0, np.abs(A).max(), 400)
    ]
    assert min(grid) * (1 - 1e-9) <= bound <= min(grid) * 1.01


def test_the_soft_threshold_takes_the_better_of_all_entries_and_those_the_signs_allow():
    A = np.cov(data().T)
    A[0] *= -1
    A[:, 0] *= -1
    allowed = np.maximum(A, 0)
    rule = LoadingConstraint(P, 3, nonnegative=True)
    bound = {b.name: b.value for b in constraint_bounds(A, rule)}["soft threshold"]
    best = min(
        min(np.linalg.eigvalsh(soft(B, t))[-1] for B in (A, allowed)) + 3 * t
        for t in np.linspace(0, np.abs(A).max(), 400)
    )
    assert best * (1 - 1e-9) <= bound <= best * 1.01


def test_bounds_of_groups_are_their_formulas():
    A = np.cov(data().T)
    labels = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])
    found_bounds = {b.name: b.value for b in constraint_bounds(A, Groups(labels, 1, per_group=2))}
    best_two = lambda v: max(np.sort(v[labels == g])[-2:].sum() for g in range(3))  # noqa: E731
    assert found_bounds["trace"] == pytest.approx(best_two(A.diagonal()))
    rows = np.array([best_two(np.abs(row)) for row in A])
    assert found_bounds["largest row sum"] == pytest.approx(rows.max())
    squares = np.array([best_two(row**2) for row in A])
    assert found_bounds["Frobenius norm"] == pytest.approx(np.sqrt(best_two(squares)))


def test_entries_count_as_the_signs_allow():
    A = np.array([[1.0, -2.0, 3.0], [-2.0, 4.0, -5.0], [3.0, -5.0, 6.0]])
    signs = np.array([1, -1, 0])
    np.testing.assert_array_equal(
        counted_entries(A, signs, signs), [[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]]
    )
    np.testing.assert_array_equal(counted_entries(A, -signs, signs)[0], [0.0, 0.0, 3.0])
    np.testing.assert_array_equal(counted_entries(A, None, None), np.abs(A))


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
@pytest.mark.parametrize("route", ["gram", "data"])
def test_certificates_are_recomputed_and_survive_the_disk(constraint, route, tmp_path):
    S, _ = covariance_of(data(1), route=route)
    certificate = prove(S, constraint, found(S, constraint))
    W = random_allowed(constraint)
    assert certificate.upper_bound >= np.einsum("ij,ij->j", W, S @ W).max()
    certificate.save(tmp_path / "c.npz")
    again = Certificate.load(tmp_path / "c.npz")
    assert str(again) == str(certificate)
    assert again.verify(S) == pytest.approx(certificate.upper_bound, rel=1e-9)
    assert repr(again.constraint) == repr(constraint)
    assert constraint.describe() in str(certificate)


@pytest.mark.parametrize("constraint", OTHERS, ids=repr)
@pytest.mark.parametrize("field", ["value", "upper_bound", "best_value"])
def test_verification_notices_a_changed_number(constraint, field):
    S = ExplicitCovariance(np.cov(data().T))
    worst = constraint.best_loading(np.linspace(-1, 1, P))
    certificate = prove(S, constraint, worst, effort="instant")
    factor = {"value": 1.001, "upper_bound": 0.999, "best_value": 1.001}[field]
    changed = replace(certificate, **{field: vars(certificate)[field] * factor})
    with pytest.raises(CertificateError):
        changed.verify(S)
    with pytest.raises(CertificateError):
        certificate.verify(1.1 * S.matrix)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_a_component_that_breaks_a_rule_is_not_certified(constraint):
    S = ExplicitCovariance(np.cov(data().T))
    with pytest.raises(ValueError, match="cannot be certified: its norm"):
        prove(S, constraint, np.full(P, 2.0))


def test_a_sign_for_every_feature_gets_the_full_proof():
    rng = np.random.default_rng(3)
    X = data(3)
    X[:, ::2] *= -1
    S, _ = covariance_of(X)
    pattern = {i: -1 if i % 2 == 0 else 1 for i in range(P)}
    constraint = Signs(pattern, 3, P)
    certificate = prove(S, constraint, found(S, constraint), effort="full")
    assert certificate.is_optimal
    assert "proven optimal among components of 3 features with 9 given signs" in str(certificate)
    flips = constraint.signs
    turned = ExplicitCovariance(flips[:, None] * S.matrix * flips)
    same = LoadingConstraint(P, 3, nonnegative=True)
    expected = prove(turned, same, found(turned, same), effort="full")
    assert certificate.value == pytest.approx(expected.value)
    weak = constraint.best_loading(rng.standard_normal(P))
    better = prove(S, constraint, weak, effort="full")
    assert constraint.allows(better.best_loading)
    assert better.best_value == pytest.approx(certificate.value)
    assert better.verify(S) == pytest.approx(better.upper_bound)
    np.testing.assert_array_equal(certificate.fixed_in, np.flatnonzero(certificate.loading))


def test_what_is_a_cardinality_in_disguise():
    assert as_cardinality(Groups(np.arange(P), 2)) is None
    assert as_cardinality(L1Budget(P, 2.0)) is None
    assert as_cardinality(Signs({0: 1}, 3, P)) is None
    rule, flips = as_cardinality(Signs({0: 1}, 3, P).without(np.array([0])))
    assert not rule.nonnegative
    assert rule.forbidden.tolist() == [0]
    assert (flips == 1).all()
    rule, flips = as_cardinality(Signs(dict.fromkeys(range(1, P), -1), 3, P).without(np.array([0])))
    assert rule.nonnegative
    assert flips.tolist() == [1] + [-1] * (P - 1)


@pytest.mark.parametrize("constraint", OTHERS, ids=repr)
def test_all_features_of_a_wide_covariance_have_a_bound(constraint, monkeypatch):
    monkeypatch.setattr("loadstone.certificates.bound_any_constraint.SPECTRAL_LIMIT", 4)
    data_route, _ = covariance_of(data(2), route="data")
    stored, _ = covariance_of(data(2), route="gram")
    nothing = np.zeros((P, 1))
    W = random_allowed(constraint)
    reached = np.einsum("ij,ij->j", W, stored @ W).max()
    for S in (data_route, stored, DeflatedCovariance(data_route, nothing, np.zeros((1, 1)))):
        assert constraint_bound(S, constraint).value >= reached


def test_flipped_features_give_the_flipped_matrix():
    S, _ = covariance_of(data(4), route="data")
    dense = S @ np.eye(P)
    flips = np.array([1, -1, 1, 1, -1, -1, 1, 1, 1], dtype=np.int8)
    expected = np.diag(flips) @ dense @ np.diag(flips)
    few, some = np.array([1, 2, 5]), np.array([0, 4])
    for base in (S, ExplicitCovariance(dense)):
        turned = FlippedCovariance.of(base, flips)
        np.testing.assert_allclose(turned @ np.eye(P), expected)
        np.testing.assert_allclose(turned @ np.ones(P), expected.sum(axis=1))
        np.testing.assert_allclose(turned.diagonal(), dense.diagonal())
        np.testing.assert_allclose(turned.block(few, some), expected[np.ix_(few, some)])
        np.testing.assert_allclose(
            turned.restrict(few) @ np.eye(3), expected[np.ix_(few, few)], atol=1e-12
        )
        assert turned.dtype == base.dtype
        assert turned.n_features == P
        assert FlippedCovariance.of(base, np.ones(P)) is base
    assert FlippedCovariance.of(S, flips).n_samples == S.n_samples


@pytest.mark.parametrize("constraint", [L1Budget(40, 1.0), Groups(np.arange(40), 1)], ids=repr)
def test_a_tight_bound_survives_single_precision(constraint):
    for seed in range(10):
        X = data(seed, n=200, p=40).astype(np.float32)
        S, _ = covariance_of(X, route="data")
        certificate = prove(S, constraint, found(S, constraint))
        assert certificate.is_optimal or certificate.ratio > 0.9999
        certificate.verify(S)


@pytest.mark.parametrize("features", [[0, 1, 2, 3], [1, 2, 3], [0, 2, 3, 4]])
def test_a_dual_about_other_features_bounds_nothing(features):
    """Numbers of one feature that stand for another would be a bound of another matrix."""
    constraint = L1Budget(5, 1.5, forbidden=np.array([0]))
    S = ExplicitCovariance(np.diag([1.0, 2.0, 3.0, 4.0, 5.0]))

    def about(at):
        m = len(at)
        return Dual(np.array(at), np.zeros((m, m)), np.zeros(m), np.zeros((m, 1)))

    assert dual_bound(S, constraint, about([1, 2, 3, 4])) >= 5.0
    with pytest.raises(ValueError, match="features that the constraint leaves open"):
        dual_bound(S, constraint, about(features))
