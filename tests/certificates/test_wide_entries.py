"""Duals of wide data out of core: what is left out of a working set is bounded all the same."""

from itertools import combinations

import dask
import dask.array as da
import numpy as np
import pytest

from loadstone import certify
from loadstone.certificates import bound_instant, bound_outside, search_working_set
from loadstone.certificates.bound_dual import Dual, evaluate
from loadstone.certificates.bound_wide_entries import largest_entries
from loadstone.certificates.problem import SupportProblem
from loadstone.covariance import ExplicitCovariance, covariance_of, route, working_set
from passes.counting import Counted, planted

from .forgeries import stand_alone
from .forgery_kinds import forged

N_FEATURES = 15


def data(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((9, N_FEATURES)) * rng.uniform(0.3, 1.5, N_FEATURES)
    return X + rng.standard_normal((9, 1)) * (rng.random(N_FEATURES) < 0.4)


def covariances(X):
    S, _ = covariance_of(da.from_array(X, chunks=(9, 4)), route="wide")
    return S, ExplicitCovariance(np.cov(X.T), 9)


def S_of(X):
    return ExplicitCovariance(np.cov(X.T), len(X))


def best_value(matrix, problem):
    """The largest variance on any support, by trying all of them."""
    forced = set(problem.features[problem.forced])
    best = -np.inf
    for T in map(list, combinations(problem.features, problem.n_nonzero)):
        if not forced <= set(T):
            continue
        block = matrix[np.ix_(T, T)]
        if not problem.nonnegative:
            best = max(best, np.linalg.eigvalsh(block)[-1])
            continue
        for size in range(1, len(T) + 1):
            for face in map(list, combinations(range(len(T)), size)):
                values, vectors = np.linalg.eigh(block[np.ix_(face, face)])
                if (vectors[:, -1] >= -1e-12).all() or (vectors[:, -1] <= 1e-12).all():
                    best = max(best, values[-1])
    return best


PROBLEMS = {
    "free": {},
    "non-negative": {"nonnegative": True},
    "forced and forbidden": {"forced": [3], "forbidden": [6]},
    "all": {"nonnegative": True, "forced": [1, 8], "forbidden": [0]},
}


def some_dual(S, features, seed):
    rng = np.random.default_rng(seed)
    block = S.block(features, features)
    shift = block.diagonal().max() * rng.uniform(0.5, 2, features.size)
    noise = 0.2 * rng.standard_normal(block.shape)
    limits = rng.uniform(0, 0.5, features.size) if seed % 2 else None
    factor = 0.3 * rng.standard_normal((features.size, 2))
    return Dual(features, block * (1 + noise), shift, factor, limits)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_dual_proves_the_same_out_of_core_and_no_support_beats_it(name, seed):
    S, whole = covariances(data(seed))
    problem = SupportProblem.of(N_FEATURES, 4, **PROBLEMS[name])
    dual = some_dual(whole, np.array([1, 3, 4, 8, 12]), seed)
    found, expected = evaluate(S, problem, dual), evaluate(whole, problem, dual)
    assert found.bound == pytest.approx(expected.bound, rel=1e-10)
    assert found.bound >= best_value(whole.matrix, problem) - 1e-12


@pytest.mark.parametrize("n_rows", [0, 1, 4])
@pytest.mark.parametrize("name", PROBLEMS)
def test_rows_out_of_reach_keep_a_limit_that_holds(name, n_rows, monkeypatch):
    monkeypatch.setattr(bound_outside, "rows_in_reach", lambda S: n_rows)
    for seed in range(4):
        S, whole = covariances(data(seed))
        problem = SupportProblem.of(N_FEATURES, 4, **PROBLEMS[name])
        dual = some_dual(whole, np.array([1, 3, 4, 8, 12]), seed)
        bound = evaluate(S, problem, dual).bound
        assert bound >= best_value(whole.matrix, problem) - 1e-12
        assert bound >= evaluate(whole, problem, dual).bound - 1e-10


def test_the_largest_entries_are_those_of_the_matrix():
    S, whole = covariances(data(5))
    problem = SupportProblem.of(N_FEATURES, 3, forced=[2], forbidden=[9])
    inside = np.isin(problem.features, [0, 5])
    rows = np.array([1, 3, 10])
    found = largest_entries(S, problem, inside, rows)
    for i, feature in enumerate(problem.features[rows]):
        squares = whole.matrix[feature] ** 2
        assert found.forced[i] == pytest.approx(0 if feature == 2 else squares[2])
        others = np.delete(squares, [0, 2, 5, 9, feature])
        np.testing.assert_allclose(found.free[i], np.sort(others)[::-1][:2])


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_certificates_are_those_of_data_in_memory(nonnegative, monkeypatch, tmp_path):
    X = planted(40, 900, strength=2.0)
    options = {"n_nonzero": 6, "nonnegative": nonnegative}
    expected = certify(X, **options)
    monkeypatch.setattr(route, "READ_BYTES", 0)
    monkeypatch.setattr(working_set, "FIRST_SIZE", 128)
    monkeypatch.setattr(bound_instant, "SPECTRAL_LIMIT", 100)
    counted = Counted(X, n_columns=3)
    with dask.config.set(scheduler="synchronous"):
        found = certify(counted.array, **options)
    assert counted.passes <= 16
    assert found.ratio == pytest.approx(expected.ratio, abs=1e-3)
    S, _ = covariance_of(X)
    assert found.verify(S) <= found.upper_bound * (1 + 1e-9)
    path, tool = tmp_path / "wide.npz", stand_alone()
    # A working set was enough, so that the verifier has to bound what is left out of it.
    assert max(dual.features.size for case in found.cases for dual in case.duals) < 900
    found.save(path)
    holds, line = tool.check(path, X)
    assert holds, line
    lowered = 0.5 * (found.value + found.upper_bound) - 1e-6 * found.value
    forged(found, upper_bound=lowered, value=0.0).save(path)
    assert not tool.check(path, X)[0]


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_stranger_forms_no_row_that_variances_decide(name, monkeypatch):
    tool = stand_alone()
    X = data(7) * np.r_[np.full(6, 3.0), np.full(N_FEATURES - 6, 0.02)]
    S, _ = next(tool.covariances(X))
    problem = SupportProblem.of(N_FEATURES, 4, **PROBLEMS[name])
    told = {
        "class": "LoadingConstraint",
        "n_features": N_FEATURES,
        "n_nonzero": 4,
        "nonnegative": problem.nonnegative,
        "forced": problem.features[problem.forced],
        "forbidden": np.setdiff1d(np.arange(N_FEATURES), problem.features),
    }
    case, dual = tool.case_of(told, N_FEATURES), some_dual(S_of(X), np.arange(1, 6), 1)
    numbers = {"P": dual.pairing, "tau": dual.shift, "L": dual.factor, "limits": dual.limits}
    numbers |= {"features": dual.features, "rho": np.zeros(0)}
    asked = []
    whole = tool.terms_outside
    block = tool.Matrix.block
    monkeypatch.setattr(
        tool.Matrix, "block", lambda self, r, c: asked.append(r) or block(self, r, c)
    )
    quick = tool.evaluate(S, case, numbers)
    few = sum(map(len, asked))
    asked.clear()
    monkeypatch.setattr(tool, "terms_outside", lambda *args: whole(*args[:-1], 0.0))
    exact = tool.evaluate(S, case, numbers)
    assert few < sum(map(len, asked))
    assert quick[0] == pytest.approx(exact[0], rel=1e-12)
    assert (quick[2] >= exact[2] * (1 - 1e-12)).all()
    assert quick[0] >= best_value(np.cov(X.T), problem) - 1e-12


@pytest.mark.filterwarnings("ignore")
def test_duals_that_cannot_help_take_no_pass(monkeypatch):
    X = np.random.default_rng(0).standard_normal((30, 1700))
    monkeypatch.setattr(route, "READ_BYTES", 0)
    monkeypatch.setattr(search_working_set, "rows_in_reach", lambda S: 10)
    counted = Counted(X, n_columns=3)
    with dask.config.set(scheduler="synchronous"):
        found = certify(counted.array, n_nonzero=5)
    assert counted.passes <= 7
    assert found.upper_bound >= found.value
