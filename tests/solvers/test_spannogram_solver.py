"""The solver face of the spannogram: constraints, starts, costs, honest stops."""

import numpy as np
import pytest

from loadstone.constraints import L1Budget, LoadingConstraint
from loadstone.covariance import ExplicitCovariance
from loadstone.loadings import Stop
from loadstone.solvers.renormalise import variance_of
from loadstone.solvers.spannogram import Spannogram
from loadstone.solvers.spannogram.cost import choose_method, impatience, predicted_costs, refusal
from loadstone.solvers.spannogram.low_rank import low_rank_of


def covariance(n=20, n_samples=40, seed=0):
    X = np.random.default_rng(seed).standard_normal((n_samples, n))
    return ExplicitCovariance(np.cov(X, rowvar=False), n_samples)


def run(solver, S, constraint, **kwargs):
    return solver(S, constraint, np.random.default_rng(0), **kwargs)


@pytest.mark.parametrize("method", ["exact", "cones", "net"])
@pytest.mark.parametrize("nonnegative", [True, False])
def test_candidates_are_allowed_and_best_first(nonnegative, method):
    S = covariance()
    constraint = LoadingConstraint(20, 5, nonnegative, forbidden=np.array([3, 7]))
    result = run(Spannogram(method=method), S, constraint)
    assert all(constraint.allows(w) for w in result.matrix.T)
    values = [variance_of(S, w) for w in result.matrix.T]
    assert values[0] == pytest.approx(result.objective[0])
    assert np.all(np.diff(values) <= 1e-12)
    assert result.stop is (Stop.EXACT if method == "exact" else Stop.ACCURATE)


@pytest.mark.parametrize("method", ["cones", "net"])
def test_directions_do_not_hang_on_the_order_of_features(method):
    # Eigenvectors came with signs that did, and other directions were drawn in their axes.
    for seed in range(20):
        S = covariance(16, seed=seed)
        order = np.random.default_rng(seed).permutation(16)
        moved = ExplicitCovariance(S.matrix[np.ix_(order, order)], 40)
        solver = Spannogram(rank=2, method=method, epsilon=0.5)
        constraint = LoadingConstraint(16, 6, nonnegative=True)
        first, second = (run(solver, C, constraint).matrix[:, 0] for C in (S, moved))
        np.testing.assert_allclose(first[order], second, atol=1e-9)


def test_starts_join_the_candidates():
    S = covariance(seed=3)
    constraint = LoadingConstraint(20, 4, nonnegative=True)
    alone = run(Spannogram(method="net", epsilon=0.9, rank=5), S, constraint)
    start = run(Spannogram(method="cones", epsilon=0.01, rank=5), S, constraint).matrix[:, :1]
    joined = run(Spannogram(method="net", epsilon=0.9, rank=5), S, constraint, starts=start)
    V, c = joined.details["V"], joined.details["direction"]
    heights = np.sort(np.maximum(V @ c, 0))[::-1][:4]
    reached = np.linalg.norm(V.T @ start[:, 0]) ** 2
    assert np.sum(heights**2) >= reached * (1 - 1e-12)
    assert joined.objective[0] >= alone.objective[0] * (1 - 1e-12)


def test_work_limit_is_told(monkeypatch):
    from loadstone.solvers.spannogram import solver

    limited = lambda *args, **kwargs: solver_cones(*args, max_directions=20, **kwargs)  # noqa: E731
    solver_cones = solver.cones
    monkeypatch.setattr(solver, "cones", limited)
    result = run(
        Spannogram(rank=5, method="cones", epsilon=1e-9),
        covariance(),
        LoadingConstraint(20, 5, True),
    )
    assert result.stop is Stop.WORK_LIMIT
    assert result.objective[0] < result.details["upper_bound"]


@pytest.mark.parametrize(
    ("constraint", "reason"),
    [
        (L1Budget(20, 2.0), "selects supports by cardinality"),
        (LoadingConstraint(20, 3, forced=np.array([1])), "cannot force features"),
    ],
)
def test_refuses_what_it_cannot_serve(constraint, reason):
    assert reason in Spannogram().refuses(constraint)
    with pytest.raises(ValueError, match=reason):
        run(Spannogram(), covariance(), constraint)


def test_low_rank_splits_the_covariance():
    S = covariance()
    A = low_rank_of(S, 4)
    values = np.linalg.eigvalsh(S.matrix)[::-1]
    rest = S.matrix - A.V @ A.V.T
    assert A.shift == 0.0
    assert A.gap == pytest.approx(values[4])
    assert np.linalg.eigvalsh(rest)[-1] == pytest.approx(A.gap)
    assert np.linalg.eigvalsh(rest)[0] >= -1e-12


def test_all_ranks_up_to_everything():
    S = covariance(n=4)
    A = low_rank_of(S, 4)
    assert A.gap == 0.0
    assert np.allclose(A.V @ A.V.T, S.matrix)


def _chosen(n):
    return [
        choose_method("auto", predicted_costs(n, rank, 0.1, nonnegative=True))
        for rank in range(1, 7)
    ]


def test_costs_grow_and_the_choice_follows_them():
    costs = [predicted_costs(n, 3, 0.1, nonnegative=True) for n in (50, 500, 10_000)]
    for name in ("exact", "cones", "net"):
        assert np.all(np.diff([cost[name].seconds for cost in costs]) > 0)
    assert _chosen(50) == ["exact", "cones", "cones", "cones", "cones", "net"]
    assert _chosen(10_000_000) == ["exact", "cones", "net", "net", "net", "net"]
    assert choose_method("net", costs[0]) == "net"
    assert costs[0]["exact"].n_candidates == 51 * 50 * 49 // 6


@pytest.mark.parametrize(
    ("n", "unit"), [(600, "seconds"), (2000, "minutes"), (6000, "hours"), (12582, "days")]
)
def test_refusal_names_the_estimate_in_readable_units(n, unit):
    costs = predicted_costs(n, 3, 0.1, nonnegative=True)
    sentence = refusal("exact", 3, n, costs)
    assert unit in sentence
    assert f"{n} features" in sentence
    assert refusal("exact", 3, 100, predicted_costs(100, 3, 0.1, nonnegative=True)) is None


@pytest.mark.parametrize(("n", "rank"), [(20_000, 8), (100, 13), (13, 13)])
def test_auto_does_not_run_a_long_net_unasked(n, rank):
    costs = predicted_costs(n, rank, 0.1, nonnegative=True)
    sentence = impatience(rank, n, costs)
    assert f"rank={rank} and {n} features" in sentence
    assert "rank <= 5" in sentence
    assert impatience(rank, n, predicted_costs(n, rank, 0.5, nonnegative=True)) is None
    assert impatience(5, n, predicted_costs(n, 5, 0.1, nonnegative=True)) is None
