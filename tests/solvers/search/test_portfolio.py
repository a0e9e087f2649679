"""The portfolio as a whole: optimal, the same everywhere, nested, and small in memory."""

import subprocess
import sys
import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import DeflatedCovariance, ExplicitCovariance, covariance_of
from loadstone.solvers.em import EM
from loadstone.solvers.portfolio import PORTFOLIOS, Portfolio
from loadstone.solvers.renormalise import renormalise
from loadstone.solvers.search.tiny import TINY, tiny_search
from solvers.search.covariances import deflated

RNG = np.random.default_rng
EFFORTS = ("fast", "balanced", "thorough")


def groups(seed=0, n=40, p=700, size=12, n_groups=3, dtype=float):
    """Noise with a few tight groups of features at random places, the first the tightest."""
    rng = RNG(seed)
    X = rng.standard_normal((n, p))
    places = rng.permutation(p)[: n_groups * size].reshape(n_groups, size)
    for rank, place in enumerate(places):
        X[:, place] += (3 - 0.5 * rank) * rng.standard_normal((n, 1))
    return X.astype(dtype), np.sort(places[0])


def solve(effort, S, constraint, seed=0):
    found = PORTFOLIOS[effort](S, constraint, RNG(seed))
    w = found.matrix[:, 0]
    assert constraint.allows(w)
    assert w @ (S @ w) == pytest.approx(
        found.objective[-1], rel=1e-4 if S.dtype == np.float32 else 1e-9
    )
    return np.flatnonzero(w).tolist(), float(found.objective[-1])


def brute_force(A, k):
    return max(np.linalg.eigvalsh(A[np.ix_(T, T)])[-1] for T in combinations(range(len(A)), k))


@pytest.mark.parametrize("k", [2, 3, 5])
def test_a_few_features_are_searched_to_the_optimum(k):
    for seed in range(25):
        p = 9 + seed % 4
        X = RNG(seed).standard_normal((p + seed % 7, p)) @ RNG(seed + 1).standard_normal((p, p))
        S = ExplicitCovariance(np.corrcoef(X.T))
        best = brute_force(S.matrix, k)
        assert tiny_search(S, LoadingConstraint(p, k)).value == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_tightest_group_is_found_wherever_it_lies(effort, nonnegative):
    for seed in range(3):
        X, place = groups(seed)
        S, _ = covariance_of(X, standardize=True)
        support, _ = solve(effort, S, LoadingConstraint(700, 12, nonnegative))
        assert support == place.tolist()


def containers(X):
    return {
        "C": (np.ascontiguousarray(X), "data"),
        "F": (np.asfortranarray(X), "data"),
        "csr": (sparse.csr_array(X), "data"),
        "csc": (sparse.csc_array(X), "data"),
        "gram": (X, "gram"),
    }


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("p", [40, 200, 700])
def test_container_route_and_seed_do_not_change_the_answer(p, nonnegative, standardize):
    X, _ = groups(7, p=p, size=8)
    X[np.abs(X) < 0.5] = 0
    constraint = LoadingConstraint(p, 6, nonnegative)
    answers = set()
    for seed, (Y, route) in enumerate(containers(X).values()):
        S, _ = covariance_of(Y, route=route, standardize=standardize)
        answers.add(tuple(solve("balanced", S, constraint, seed)[0]))
        answers.add(tuple(solve("balanced", with_nothing_removed(S), constraint, seed)[0]))
    assert len(answers) == 1


def with_nothing_removed(S):
    """``S`` after a deflation by a zero matrix."""
    return DeflatedCovariance(S, np.ones((S.n_features, 1), S.dtype), np.zeros((1, 1), S.dtype))


@pytest.mark.parametrize("rule", ["schur", "projection"])
def test_containers_agree_after_deflation(rule):
    X, _ = groups(3, p=600)
    constraint = LoadingConstraint(600, 10)
    answers = set()
    for Y, route in containers(X).values():
        S = deflated(covariance_of(Y, route=route, standardize=True)[0], rule)
        answers.add(tuple(solve("balanced", S, constraint)[0]))
    assert len(answers) == 1


@pytest.mark.parametrize("p", [13, 100, 700])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_more_effort_never_finds_less_and_em_never_finds_more(p, nonnegative):
    for seed in range(4):
        X = RNG(seed).standard_normal((30, p)) @ np.diag(np.linspace(1, 2, p))
        X += 0.7 * RNG(seed + 50).standard_normal((30, 1))
        S, _ = covariance_of(X, standardize=seed % 2 == 0)
        constraint = LoadingConstraint(p, 2 + 3 * seed, nonnegative)
        values = [solve(effort, S, constraint)[1] for effort in EFFORTS]
        assert values[0] <= values[1] * (1 + 1e-9)
        assert values[1] <= values[2] * (1 + 1e-9)
        em = EM(init="pca")(S, constraint, RNG(0)).matrix
        reached = max(renormalise(S, w, constraint)[1] for w in em.T)
        assert values[0] >= reached * (1 - 1e-9)


def test_among_many_hills_the_least_effort_is_not_behind_em_from_random_starts():
    X = RNG(1068).standard_normal((217, 709))
    S, _ = covariance_of(X, standardize=True)
    constraint = LoadingConstraint(709, 27, nonnegative=True)
    _, value = solve("fast", S, constraint)
    for seed in range(2):
        ends = EM(init="random")(S, constraint, RNG(seed)).matrix
        assert value >= max(renormalise(S, w, constraint)[1] for w in ends.T) * (1 - 1e-9)


@pytest.mark.parametrize("p", [30, 300, 700])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("container", ["C", "csr"])
def test_forced_and_forbidden_features(p, nonnegative, container):
    X, place = groups(2, p=p, size=8)
    forced, forbidden = np.sort([place[0], (place[0] + 1) % p]), np.array([place[3]])
    forced = np.setdiff1d(forced, forbidden)
    S, _ = covariance_of(containers(X)[container][0], standardize=True, route="data")
    constraint = LoadingConstraint(p, 8, nonnegative, forced, forbidden)
    found = Portfolio()(S, constraint, RNG(0)).matrix[:, 0]
    assert constraint.allows(found)
    assert found[place[3]] == 0
    if not nonnegative:
        assert set(forced) <= set(np.flatnonzero(found))
    assert len(set(place) & set(np.flatnonzero(found))) >= 6


def test_single_precision_finds_the_same():
    X, place = groups(1, p=900)
    S, _ = covariance_of(X.astype(np.float32), standardize=True)
    assert S.dtype == np.float32
    found = Portfolio()(S, LoadingConstraint(900, 12), RNG(0))
    assert found.matrix.dtype == np.float32
    assert np.flatnonzero(found.matrix[:, 0]).tolist() == place.tolist()


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_units_do_not_matter(scale):
    X, _ = groups(4, p=600)
    S, _ = covariance_of(X * scale)
    expected = solve("balanced", covariance_of(X)[0], LoadingConstraint(600, 12))[0]
    assert solve("balanced", S, LoadingConstraint(600, 12))[0] == expected


@pytest.mark.parametrize("p", [20, 300, 700])
def test_data_without_variance_gives_a_single_unit_loading(p):
    S = ExplicitCovariance(np.zeros((p, p)))
    for nonnegative in (False, True):
        constraint = LoadingConstraint(p, 4, nonnegative, forbidden=np.array([0]))
        w = Portfolio()(S, constraint, RNG(0)).matrix[:, 0]
        assert np.isfinite(w).all()
        assert constraint.allows(w)


@pytest.mark.parametrize("p", [TINY, 700])
def test_one_feature_is_the_one_with_the_largest_variance_everywhere(p):
    X = RNG(0).standard_normal((20, p))
    S, _ = covariance_of(X)
    assert solve("fast", S, LoadingConstraint(p, 1))[0] == [int(np.argmax(S.diagonal()))]


def test_duplicated_features_are_taken_in_order():
    X = np.tile(RNG(0).standard_normal((30, 5)), 3)
    S, _ = covariance_of(X, standardize=True, route="gram")
    support, _ = solve("balanced", S, LoadingConstraint(15, 3))
    assert support == [support[0], support[0] + 5, support[0] + 10]


def test_given_starts_are_followed():
    X, place = groups(0, n=40, p=2000, size=4, n_groups=40)
    S, _ = covariance_of(X, standardize=True)
    start = np.zeros((2000, 1))
    start[place] = 0.5
    constraint = LoadingConstraint(2000, 4)
    lean = Portfolio(n_eigenvectors=1, n_columns=4, n_combinations=1, start_budget=0, n_climbed=2)
    value = lean(S, constraint, RNG(0), start).objective[-1]
    assert value >= np.linalg.eigvalsh(S.block(place, place))[-1] * (1 - 1e-9)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_memory_stays_below_that_of_the_data(kind):
    rng = RNG(0)
    if kind == "dense":
        X = rng.standard_normal((60, 300_000), dtype=np.float32)
        size = X.nbytes
    else:
        X = sparse.random_array((20_000, 20_000), density=0.002, format="csr", rng=rng)
        size = X.data.nbytes + X.indices.nbytes
    S, _ = covariance_of(X, standardize=True, route="data")
    tracemalloc.start()
    PORTFOLIOS["fast"](S, LoadingConstraint(X.shape[1], 20), rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (2 if kind == "dense" else 10) * size


def test_nothing_is_compiled():
    code = (
        "import sys, numpy as np\n"
        "from loadstone.covariance import covariance_of\n"
        "from loadstone.constraints import LoadingConstraint\n"
        "from loadstone.solvers.portfolio import PORTFOLIOS\n"
        "for p in (13, 600):\n"
        "    S, _ = covariance_of(np.random.default_rng(0).standard_normal((30, p)))\n"
        "    PORTFOLIOS['balanced'](S, LoadingConstraint(p, 3), np.random.default_rng(0))\n"
        "print('numba' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


def test_an_uneven_number_of_places_among_copies_is_filled_well():
    # 300 features, each of them four times. Some component has this variance; exchanges of one
    # feature at a time ended .07 % below it.
    X = np.tile(np.random.default_rng(1).standard_normal((60, 300)), 4)
    S, _ = covariance_of(X, standardize=True)
    found = PORTFOLIOS["balanced"](S, LoadingConstraint(1200, 150, True), np.random.default_rng(0))
    assert found.objective[-1] > 0.9999 * 20.691929
