"""The loop over components against a loop over dense matrices that tries every support."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance, covariance_of
from loadstone.extraction.linear_constraints import Candidate
from loadstone.extraction.one_by_one import Plan, one_by_one
from loadstone.extraction.orthogonality import Orthogonality, _projected
from loadstone.extraction.refine import refine
from loadstone.loadings import Loadings, Stop

P = 7


def matrix(seed=0):
    rng = np.random.default_rng(seed)
    return np.cov((rng.standard_normal((25, P)) + rng.standard_normal((25, 1))).T)


def best_by_hand(A, size):
    """The leading eigenvector of the best support, by trying all of them."""
    support = max(
        map(list, combinations(range(len(A)), size)),
        key=lambda s: np.linalg.eigvalsh(A[np.ix_(s, s)])[-1],
    )
    w = np.zeros(len(A))
    w[support] = np.linalg.eigh(A[np.ix_(support, support)])[1][:, -1]
    return w


@dataclass(frozen=True)
class EverySupport:
    """A solver that cannot fail: what the loop makes of its answers is the loop's own."""

    def refuses(self, constraint):
        return None

    def __call__(self, S, constraint, rng, starts=None):
        allowed = np.setdiff1d(np.arange(S.n_features), constraint.forbidden)
        w = np.zeros(S.n_features)
        size = min(constraint.n_nonzero, allowed.size)
        w[allowed] = best_by_hand(S.block(allowed, allowed), size)
        return Loadings(w[:, None], np.array([w @ (S @ w)]), 1, Stop.EXACT)


def deflated_by_hand(A, w, rule, earlier):
    if rule.startswith("orthogonalized") and earlier:
        V = np.column_stack(earlier)
        w = w - V @ np.linalg.lstsq(V, w, rcond=None)[0]
        w = w / np.linalg.norm(w)
    if rule == "schur":
        return A - np.outer(A @ w, A @ w) / (w @ A @ w)
    if rule.endswith("hotelling"):
        return A - (w @ A @ w) * np.outer(w, w)
    away = np.eye(len(A)) - np.outer(w, w)
    return away @ A @ away


@pytest.mark.parametrize(
    "rule",
    ["projection", "hotelling", "schur", "orthogonalized_projection", "orthogonalized_hotelling"],
)
@pytest.mark.parametrize("seed", range(3))
def test_components_follow_each_other_as_the_rule_says(rule, seed):
    A = matrix(seed)
    S, rng = ExplicitCovariance(A, 25.0), np.random.default_rng(0)
    plan = Plan(EverySupport(), deflation=rule)
    found = one_by_one(S, [LoadingConstraint(P, 3)] * 4, plan, rng)
    remaining, earlier = A, []
    for w in found.matrix.T:
        expected = best_by_hand(remaining, 3)
        assert abs(w @ expected) == pytest.approx(1, abs=1e-8)
        remaining = deflated_by_hand(remaining, expected, rule, earlier)
        earlier.append(expected)
    assert found.matrix.shape[1] == 4
    # Two now and two later are the same four.
    later = one_by_one(S, [LoadingConstraint(P, 3)] * 4, plan, rng, earlier=found.matrix[:, :2])
    assert np.abs(np.diag(later.matrix.T @ found.matrix)).min() > 1 - 1e-8


def test_the_search_ends_when_the_scores_explain_every_feature():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 2)) @ rng.standard_normal((2, P))
    S, _ = covariance_of(X)
    found = one_by_one(
        S, [LoadingConstraint(P, 2)] * 5, Plan(EverySupport()), np.random.default_rng(0)
    )
    Xc = X - X.mean(axis=0)
    unexplained = []
    for m in range(1, found.matrix.shape[1] + 1):
        scores = Xc @ found.matrix[:, :m]
        rest = Xc - scores @ np.linalg.lstsq(scores, Xc, rcond=None)[0]
        unexplained.append((rest**2).sum() / (Xc**2).sum())
    assert unexplained[-1] < 1e-12
    assert all(share > 1e-6 for share in unexplained[:-1])
    assert found.exhausted == "no direction with any variance is left"


def test_disjoint_components_end_when_the_allowed_features_do():
    forbidden = np.array([1, 5, 6])
    constraints = [LoadingConstraint(P, 2, forbidden=forbidden)] * 3
    plan = Plan(EverySupport(), orthogonality=Orthogonality("disjoint"))
    found = one_by_one(ExplicitCovariance(matrix(6)), constraints, plan, np.random.default_rng(0))
    used = np.count_nonzero(found.matrix, axis=1)
    assert found.matrix.shape[1] == 2
    assert used[[0, 2, 3, 4]].tolist() == [1, 1, 1, 1]
    assert not used[forbidden].any()
    assert found.exhausted is not None


@dataclass(frozen=True)
class TwoCandidates:
    """Puts the better support second, behind loadings that look better before renormalising."""

    def refuses(self, constraint):
        return None

    def __call__(self, S, constraint, rng, starts=None):
        W = np.zeros((4, 2))
        W[[0, 1], 0] = np.sqrt(0.5)
        W[[2, 3], 1] = [1.0, 1e-3]
        return Loadings(W / np.linalg.norm(W, axis=0), np.array([2.0]), 1, Stop.CONVERGED)


def test_all_candidates_are_renormalised_before_the_best_is_chosen():
    A = np.array([[2.0, 0, 0, 0], [0, 2.0, 0, 0], [0, 0, 1.9, 1.5], [0, 0, 1.5, 1.9]])
    found = one_by_one(
        ExplicitCovariance(A), [LoadingConstraint(4, 2)], Plan(TwoCandidates()),
        np.random.default_rng(0),
    )  # fmt: skip
    assert np.flatnonzero(found.matrix[:, 0]).tolist() == [2, 3]
    w = found.matrix[:, 0]
    assert w @ A @ w == pytest.approx(3.4)


@dataclass(frozen=True)
class Recording:
    """Remembers the first number each component draws."""

    drawn: list

    def refuses(self, constraint):
        return None

    def __call__(self, S, constraint, rng, starts=None):
        self.drawn.append(float(rng.random()))
        return EverySupport()(S, constraint, rng)


def test_one_more_component_does_not_change_those_before_it():
    draws = []
    for count in (2, 4):
        solver = Recording([])
        constraints = [LoadingConstraint(P, 3)] * count
        one_by_one(
            ExplicitCovariance(matrix()), constraints, Plan(solver), np.random.default_rng(5)
        )
        draws.append(solver.drawn)
    assert draws[0] == draws[1][:2]
    assert len(set(draws[1])) == 4


@pytest.mark.parametrize(
    ("kind", "size", "broken"),
    [
        ("strict", 1e-10, False),
        ("strict", 1e-6, True),
        ("strict", 5e-3, True),
        ("uncorrelated", 1e-9, False),
        ("uncorrelated", 1e-4, True),
        ("uncorrelated", 5e-2, True),
    ],
)
def test_promises_are_measured_to_many_digits(kind, size, broken):
    W = np.array([[1.0, size], [0.0, np.sqrt(1 - size**2)]])
    # For unit variances cosines of loadings and correlations of scores are the same number.
    missed = Orthogonality(kind).broken_promise(ExplicitCovariance(np.eye(2)), W)
    assert (missed > 0) is broken
    assert missed <= size


@pytest.mark.parametrize(("angle", "cosine"), [(60.0, 0.5), (90.0, 0.0), (85.0, 0.0871557427)])
def test_the_angle_is_given_in_degrees(angle, cosine):
    rule = Orthogonality("quasi", angle)
    assert rule.largest_cosine == pytest.approx(cosine, abs=1e-9)
    inside = np.deg2rad(angle + 0.5)
    W = np.array([[1.0, np.cos(inside)], [0.0, np.sin(inside)]])
    assert rule.broken_promise(ExplicitCovariance(np.eye(2)), np.abs(W)) == 0.0 or angle == 90.0
    outside = np.deg2rad(angle - 0.5)
    W = np.array([[1.0, np.cos(outside)], [0.0, np.sin(outside)]])
    assert rule.broken_promise(ExplicitCovariance(np.eye(2)), W) > 0


def test_projections_are_taken_from_both_sides():
    A = matrix(2)
    Q = np.linalg.qr(np.random.default_rng(3).standard_normal((P, 2)))[0]
    away = np.eye(P) - Q @ Q.T
    found = _projected(ExplicitCovariance(A), Q)
    np.testing.assert_allclose(found @ np.eye(P), away @ A @ away, atol=1e-12)


def test_refinement_takes_nothing_that_breaks_a_constraint():
    A = matrix(4)
    S = ExplicitCovariance(A)
    constraints = [LoadingConstraint(P, 2)] * 2

    def everything(S, constraint):
        # Far more variance, with all features: never allowed.
        values, vectors = np.linalg.eigh(S @ np.eye(P))
        return Candidate(vectors[:, -1], float(values[-1]))

    first = best_by_hand(A, 2)
    second = best_by_hand(deflated_by_hand(A, first, "projection", []), 2)
    start = np.column_stack([first, second])
    refined = refine(S, start, constraints, Orthogonality(), everything, np.random.default_rng(0))
    assert (np.count_nonzero(refined, axis=0) <= 2).all()
