"""Every way components can relate keeps its promise, whatever the data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone import SparsePCA
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance, covariance_of
from loadstone.extraction.linear_constraints import Candidate
from loadstone.extraction.orthogonality import (
    ORTHOGONALITIES,
    Orthogonality,
    orthogonality_violation,
)
from loadstone.extraction.quasi_orthogonal import climb_within_angle
from loadstone.extraction.quasi_orthogonal_kernels import climb_in_cone
from loadstone.extraction.refine import refine
from loadstone.extraction.schur import without_components
from loadstone.metrics import adjusted_variance, marginal_variance
from loadstone.solvers.renormalise import renormalise
from loadstone.solvers.truncated_power import TruncatedPower


def simple_search(seed=0):
    rng = np.random.default_rng(seed)

    def search(S, constraint):
        if not S.diagonal().max() > 1e-12:
            return None
        found = TruncatedPower()(S, constraint, rng)
        return max(
            (Candidate(*renormalise(S, w, constraint)) for w in found.matrix.T[:3]),
            key=lambda candidate: candidate.value,
        )

    return search


def one_after_another(S, n_components, constraint, rule, search):
    W = np.zeros((S.n_features, 0))
    for _ in range(n_components):
        found = rule.find(S, without_components(S, W), W, constraint, search)
        if found is None:
            break
        W = np.column_stack([W, found.w])
    return W


@st.composite
def awkward_data(draw):
    """Random data with duplicated features, missing rank, or constant features."""
    seed = draw(st.integers(0, 10_000))
    n, d = draw(st.sampled_from([(25, 7), (5, 9), (12, 12)]))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.2, 3.0, d)
    X += draw(st.sampled_from([0.0, 2.0])) * rng.normal(size=(n, 1))
    flaw = draw(st.sampled_from(["none", "twins", "rank", "constant"]))
    if flaw == "twins":
        X[:, 1] = X[:, 0]
        X[:, 2] = -X[:, 0]
    elif flaw == "rank":
        X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d))
    elif flaw == "constant":
        X[:, 0] = 4.0
    return X


@settings(max_examples=40, deadline=None)
@given(
    X=awkward_data(),
    kind=st.sampled_from(ORTHOGONALITIES),
    nonnegative=st.booleans(),
    n_nonzero=st.integers(1, 5),
    n_components=st.integers(2, 5),
    angle=st.sampled_from([60.0, 85.0, 90.0]),
    route=st.sampled_from(["gram", "data"]),
)
def test_every_choice_keeps_its_promise(
    X, kind, nonnegative, n_nonzero, n_components, angle, route
):
    S, _ = covariance_of(X, route=route)
    rule = Orthogonality(kind, angle)
    constraint = LoadingConstraint(X.shape[1], n_nonzero, nonnegative=nonnegative)
    if rule.refuses(constraint):
        return
    search = simple_search()
    W = one_after_another(S, n_components, constraint, rule, search)
    assert W.shape[1] >= 1
    assert all(constraint.allows(w) for w in W.T)
    assert rule.broken_promise(S, W) == 0.0
    better = refine(
        S, W, [constraint] * W.shape[1], rule, search, np.random.default_rng(0), n_rounds=1
    )
    assert all(constraint.allows(w) for w in better.T)
    assert rule.broken_promise(S, better) == 0.0
    before = adjusted_variance(S, W).sum()
    assert adjusted_variance(S, better).sum() >= before * (1 - 1e-12)


def test_promises_can_be_broken():
    S = ExplicitCovariance(np.array([[1.0, 0.5], [0.5, 1.0]]))
    close = np.column_stack([[1.0, 0.0], [np.cos(0.2), np.sin(0.2)]])
    for kind in ORTHOGONALITIES[1:]:
        assert Orthogonality(kind).broken_promise(S, close) > 0
    assert Orthogonality("none").broken_promise(S, close) == 0
    assert Orthogonality("uncorrelated").broken_promise(S, np.eye(2)) > 0
    assert Orthogonality("strict").broken_promise(S, np.eye(2)) == 0


def test_violation_is_the_cosine():
    W = np.column_stack([[1.0, 0.0], [np.cos(1.2), np.sin(1.2)]])
    np.testing.assert_allclose(orthogonality_violation(W), [[0.0, np.cos(1.2)], [np.cos(1.2), 0.0]])


@pytest.mark.parametrize("kind", ["strict", "uncorrelated", "none"])
def test_without_a_cardinality_this_is_pca(kind):
    X = np.random.default_rng(1).normal(size=(40, 6)) @ np.random.default_rng(2).normal(size=(6, 6))
    S, _ = covariance_of(X)
    constraint = LoadingConstraint(6, 6)
    W = one_after_another(S, 3, constraint, Orthogonality(kind), simple_search())
    leading = np.linalg.eigh(S.matrix)[1][:, ::-1][:, :3]
    np.testing.assert_allclose(np.abs(leading.T @ W), np.eye(3), atol=1e-6)


def test_disjoint_components_run_out_of_features():
    S = ExplicitCovariance(np.diag([3.0, 2.0, 1.0]) + 0.1)
    W = one_after_another(S, 5, LoadingConstraint(3, 2), Orthogonality("disjoint"), simple_search())
    assert W.shape[1] == 2
    assert np.count_nonzero(W) == 3


def test_uncorrelated_and_nonnegative_is_refused_with_a_way_out():
    reason = Orthogonality("uncorrelated").refuses(LoadingConstraint(4, 2, nonnegative=True))
    assert "disjoint" in reason
    assert Orthogonality("uncorrelated").refuses(LoadingConstraint(4, 2)) is None


def test_components_removed_from_the_covariance_leave_nothing_correlated():
    X = np.random.default_rng(3).normal(size=(30, 6))
    S, _ = covariance_of(X)
    W = np.linalg.qr(np.random.default_rng(4).normal(size=(6, 2)))[0]
    remaining = without_components(S, W)
    np.testing.assert_allclose(remaining @ W, 0.0, atol=1e-12)
    v = np.random.default_rng(5).normal(size=6)
    residual = adjusted_variance(S, np.column_stack([W, v]))[-1]
    assert v @ (remaining @ v) == pytest.approx(residual)


def feasible_grid(limit, V, nonnegative):
    """Unit vectors of the plane and 3-space fine enough to find the constrained maximum."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(3, 200_000))
    W = np.abs(W) if nonnegative else W
    W /= np.linalg.norm(W, axis=0)
    return W[:, (np.abs(V.T @ W) <= limit).all(axis=0)]


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_angle_costs_no_more_variance_than_it_must(nonnegative, seed):
    rng = np.random.default_rng(seed)
    A = rng.uniform(size=(3, 3))
    S = ExplicitCovariance(A @ A.T)
    V = np.array([[0.8, 0.6, 0.0]]).T
    limit = 0.3
    constraint = LoadingConstraint(3, 3, nonnegative=nonnegative)
    found = climb_within_angle(S, V, limit, constraint, np.ones(3) / np.sqrt(3))
    assert constraint.allows(found.w)
    assert abs(V[:, 0] @ found.w) <= limit
    grid = feasible_grid(limit, V, nonnegative)
    assert found.value >= 0.98 * np.einsum("ij,ij->j", grid, S.matrix @ grid).max()


def climb_twin(B, w, shift, steps):
    for _ in range(steps):
        w = np.maximum(B @ w + shift * w, 0)
        w /= np.linalg.norm(w)
    return w


def test_power_steps_equal_their_twin():
    A = np.random.default_rng(0).normal(size=(6, 6))
    B = A @ A.T - 2.0
    start = np.array([1.0, 0.5, 0.0, 0.0, 2.0, -1.0])
    shift = 6.0 * 2.0
    unit = np.maximum(start, 0) / np.linalg.norm(np.maximum(start, 0))
    for steps in (1, 7):
        np.testing.assert_allclose(
            climb_in_cone(B, np.ones(6), start, shift, steps, 0.0),
            climb_twin(B, unit, shift, steps),
        )
    settled = climb_in_cone(B, np.ones(6), start, shift, 5000, 1e-12)
    gradient = B @ settled
    value = settled @ gradient
    np.testing.assert_allclose(gradient[settled > 0], value * settled[settled > 0], atol=1e-8)
    assert (gradient[settled == 0] <= 1e-8).all()
    np.testing.assert_array_equal(
        climb_in_cone(np.diag([1.0, 3.0]), np.ones(2), -np.ones(2), 0.0, 5, 0.0), [0.0, 1.0]
    )


def test_an_angle_no_support_can_keep_gives_nothing():
    S = ExplicitCovariance(np.eye(2) + 0.5)
    constraint = LoadingConstraint(2, 2, nonnegative=True)
    V = np.array([[1.0, 1.0]]).T / np.sqrt(2)
    assert climb_within_angle(S, V, 0.1, constraint, np.array([1.0, 0.0])) is None
    alone = climb_within_angle(S, V, 0.71, constraint, np.array([1.0, 0.0]))
    assert np.count_nonzero(alone.w) == 1


def test_refinement_improves_where_one_pass_is_not_enough():
    blocks = np.array(
        [[1.0, 0.9, 0.0, 0.0], [0.9, 1.0, 0.6, 0.0], [0.0, 0.6, 1.0, 0.9], [0, 0, 0.9, 1.0]]
    )
    S = ExplicitCovariance(blocks + 1.2 * np.eye(4))
    constraint = LoadingConstraint(4, 2)
    rule = Orthogonality("disjoint")
    bad = np.zeros((4, 2))
    bad[[1, 2], 0] = bad[[0, 3], 1] = np.sqrt(0.5)
    good = refine(S, bad, [constraint] * 2, rule, simple_search(), np.random.default_rng(0))
    assert adjusted_variance(S, good).sum() > adjusted_variance(S, bad).sum() + 0.1
    assert rule.broken_promise(S, good) == 0.0


def test_refinement_of_strict_components_raises_the_sum_of_variances():
    A = np.random.default_rng(6).normal(size=(9, 9))
    S = ExplicitCovariance(A @ A.T)
    constraint = LoadingConstraint(9, 3)
    rule = Orthogonality("strict")
    search = simple_search()
    W = one_after_another(S, 4, constraint, rule, search)
    better = refine(S, W, [constraint] * 4, rule, search, np.random.default_rng(0), n_rounds=40)
    assert marginal_variance(S, better).sum() > marginal_variance(S, W).sum()
    assert orthogonality_violation(better).max() <= 1e-8


def test_a_single_component_is_left_alone():
    S = ExplicitCovariance(np.eye(3))
    w = np.array([[1.0], [0.0], [0.0]])
    rule = Orthogonality("strict")
    kept = refine(S, w, [LoadingConstraint(3, 1)], rule, simple_search(), np.random.default_rng(0))
    assert kept is w


@pytest.mark.parametrize("kind", ORTHOGONALITIES)
def test_one_more_component_is_allowed_where_all_of_them_keep_the_promise(kind):
    rule = Orthogonality(kind, 70.0)
    answers = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((30, 8))
        S = ExplicitCovariance(Z.T @ Z)
        W = np.zeros((8, 3))
        for j, w in enumerate(W.T):
            # Apart, or by chance at some features in common.
            places = np.arange(2 * j, 2 * j + 2) if seed % 3 == 0 else rng.choice(8, 3, False)
            w[places] = rng.standard_normal(places.size)
        W /= np.linalg.norm(W, axis=0)
        if kind == "uncorrelated" and seed % 2:
            W = np.linalg.eigh(S.matrix)[1][:, :3]
        if rule.broken_promise(S, W[:, :2]) > 0:
            continue
        expected = rule.broken_promise(S, W) == 0
        assert rule.allows_beside(S, W[:, :2], W[:, 2]) == expected
        answers.add(expected)
    assert True in answers


def test_what_few_features_leave_is_a_matrix():
    rng = np.random.default_rng(0)
    Z, W = rng.standard_normal((20, 6)), np.eye(6)[:, :2]
    S = ExplicitCovariance(Z.T @ Z)
    left = without_components(S, W)
    assert isinstance(left, ExplicitCovariance)
    # Regress the first two features out of the others.
    rest = Z - Z[:, :2] @ np.linalg.lstsq(Z[:, :2], Z, rcond=None)[0]
    np.testing.assert_allclose(left.matrix, rest.T @ rest, atol=1e-10)


def test_places_that_loadings_leave_empty_are_not_filled_in_the_order_of_the_features():
    for seed in (2, 5, 15, 29, 52, 56):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(25, 10)) + rng.normal(size=(25, 1)) * (rng.random(10) < 0.4)
        asked = {"n_nonzero": 4, "nonnegative": True, "orthogonality": "quasi", "refine": False}
        here, moved = (
            SparsePCA(4, **asked).fit(Y).explained_variance_.sum()
            for Y in (X, X[:, rng.permutation(10)])
        )
        assert moved == pytest.approx(here, rel=1e-9)


def test_equations_have_unit_length_and_say_nothing_where_nothing_varies():
    matrix = np.diag([4.0, 0.25, 0.0]) + np.diag([0.1, 0.0], 1) + np.diag([0.1, 0.0], -1)
    others = np.array([[0.6, 0.0, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    C = Orthogonality("uncorrelated").equation_columns(ExplicitCovariance(matrix), others)
    images = matrix @ others[:, :2]
    np.testing.assert_allclose(C[:, :2], images / np.sqrt((images**2).sum(axis=0)), rtol=1e-12)
    assert C[:, 2].tolist() == [0, 0, 0]
