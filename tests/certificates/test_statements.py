"""What a certificate says in words and numbers follows from its value and its bound."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from loadstone.certificates import CertificateError, prove
from loadstone.certificates.problem_after import Earlier
from loadstone.constraints import Groups, L1Budget, LoadingConstraint
from loadstone.covariance import ExplicitCovariance

MATRIX = np.cov(np.random.default_rng(0).standard_normal((30, 16)).T)


@pytest.fixture(scope="module")
def certificate():
    loading = np.eye(16)[0]
    return prove(ExplicitCovariance(MATRIX), LoadingConstraint(16, 5), loading, effort="instant")


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e9])
@pytest.mark.parametrize(
    ("gap", "optimal"),
    [(0.0, True), (5e-7, True), (2e-6, False), (1e-5, False), (1e-3, False), (0.5, False)],
)
def test_optimal_means_a_gap_below_one_millionth_of_the_value(certificate, gap, optimal, scale):
    stated = replace(certificate, value=scale, upper_bound=scale * (1 + gap))
    assert stated.is_optimal is optimal
    assert str(stated).startswith("proven optimal" if optimal else "at least")
    assert stated.gap == pytest.approx(scale * gap, abs=1e-12 * scale)
    assert stated.ratio == pytest.approx(1 / (1 + gap))


@pytest.mark.parametrize(
    ("bound", "share"),
    [(1 / 0.98436, "98.43 %"), (1 / 0.98439999, "98.43 %"), (1 / 0.999999, "99.99 %")],
)
def test_the_share_is_rounded_down_never_up(certificate, bound, share):
    stated = replace(certificate, value=1.0, upper_bound=bound)
    assert not stated.is_optimal or bound < 1 + 2e-6
    if not stated.is_optimal:
        assert f"at least {share} " in str(stated)


def test_searches_stop_at_one_millionth_unless_told_otherwise():
    import inspect

    assert inspect.signature(prove).parameters["gap_tol"].default == 1e-6


@pytest.mark.parametrize(
    ("field", "loading"),
    [
        ("loading", np.full(16, 0.25)),
        ("best_loading", np.full(16, 0.25)),
        ("loading", -np.eye(16)[2]),
    ],
)
def test_a_component_outside_its_constraint_proves_nothing(field, loading):
    S = ExplicitCovariance(MATRIX)
    constraint = LoadingConstraint(16, 5, nonnegative=True)
    honest = prove(S, constraint, np.eye(16)[0], effort="instant")
    assert honest.verify(S) >= honest.value
    value = {"loading": "value", "best_loading": "best_value"}[field]
    forged = replace(honest, **{field: loading, value: float(loading @ MATRIX @ loading)})
    with pytest.raises(CertificateError, match="breaks its constraint"):
        forged.verify(S)


@pytest.mark.parametrize(
    ("constraint", "argument"),
    [
        (LoadingConstraint(16, 16), "single support"),
        (LoadingConstraint(16, 2, forced=[0, 3]), "single support"),
        (LoadingConstraint(16, 5), "instant bound"),
        (Groups(np.arange(16) // 4, 1), "instant bound"),
        (L1Budget(16, 1.5), "instant bound"),
    ],
    ids=repr,
)
def test_the_argument_is_named(constraint, argument):
    S = ExplicitCovariance(MATRIX)
    stated = prove(S, constraint, np.eye(16)[0], effort="instant")
    assert stated.proof == argument
    assert argument in str(stated)


def supports_better_than(value, size):
    """Every support of this size whose leading eigenvalue exceeds ``value``."""
    for chosen in combinations(range(16), size):
        if np.linalg.eigvalsh(MATRIX[np.ix_(chosen, chosen)])[-1] > value:
            yield set(chosen)


@pytest.mark.parametrize("size", [3, 5])
def test_fixed_features_are_in_every_and_in_no_better_component(size):
    best = max(
        combinations(range(16), size),
        key=lambda s: np.linalg.eigvalsh(MATRIX[np.ix_(s, s)])[-1],
    )
    loading = np.zeros(16)
    values, vectors = np.linalg.eigh(MATRIX[np.ix_(best, best)])
    loading[list(best)] = vectors[:, -1]
    found = prove(
        ExplicitCovariance(MATRIX), LoadingConstraint(16, size), loading, effort="standard"
    )
    assert found.fixed_out.size > 0
    # Slightly below the optimum, the optimum itself is one of the better ones.
    better = list(supports_better_than(values[-1] * (1 - 1e-9), size))
    assert better
    for support in better:
        assert set(found.fixed_in.tolist()) <= support
        assert not set(found.fixed_out.tolist()) & support


def test_a_feature_that_outweighs_all_others_is_fixed_in():
    stretch = np.where(np.arange(16) == 6, 4.0, 1.0)
    A = MATRIX * np.outer(stretch, stretch)
    found = prove(ExplicitCovariance(A), LoadingConstraint(16, 3), np.eye(16)[6], effort="standard")
    # Without it no component of three features reaches its variance alone.
    others = np.delete(np.delete(A, 6, axis=0), 6, axis=1)
    assert np.linalg.eigvalsh(others)[-1] < A[6, 6]
    assert 6 in found.fixed_in


@pytest.mark.parametrize("relation", ["strict", "uncorrelated"])
@pytest.mark.parametrize("other", [0, 1, 2])
def test_what_is_left_of_a_relation_is_the_largest_angle(relation, other):
    B = np.eye(16) if relation == "strict" else MATRIX
    # Four directions without angles, of which the last leans towards one of those before.
    Q = np.linalg.solve(np.linalg.cholesky(B).T, np.eye(16))[:, :4]
    earlier = Earlier(loadings=3 * Q[:, :3], relation=relation)
    leaning = 2 * Q[:, 3] + 0.1 * Q[:, other]
    found = earlier.residual(ExplicitCovariance(MATRIX), leaning)
    assert found == pytest.approx(0.1 / np.hypot(2, 0.1))


def test_a_dual_points_at_better_components_before_any_case_is_distinguished():
    optimum = max(np.linalg.eigvalsh(MATRIX[np.ix_(s, s)])[-1] for s in combinations(range(16), 5))
    poor = np.eye(16)[int(np.argmin(MATRIX.diagonal()))]
    found = prove(ExplicitCovariance(MATRIX), LoadingConstraint(16, 5), poor, effort="standard")
    assert found.value == pytest.approx(MATRIX.diagonal().min())
    assert found.best_value >= 0.97 * optimum
    assert found.best_value == pytest.approx(found.best_loading @ MATRIX @ found.best_loading)
    assert np.count_nonzero(found.best_loading) <= 5
