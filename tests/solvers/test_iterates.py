"""Which iterate a power iteration returns, what starts it, and what a proof hands back."""

import numpy as np
import pytest

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance
from loadstone.loadings import Stop
from loadstone.solvers.em import EM
from loadstone.solvers.exact import ExactSearch
from loadstone.solvers.portfolio import Portfolio
from loadstone.solvers.power_iteration import iterate
from loadstone.solvers.starts import random_nonnegative_starts, random_starts

VARIANCES = np.array([1.0, 5.0, 3.0, 2.0])
S = ExplicitCovariance(np.diag(VARIANCES))


def script(*columns):
    """A step that ignores the product and walks through the given features, one per call.

    Each argument lists the features one column visits; a negative one is the flipped vector.
    """
    state = {"step": -1, "active": None}

    def step(product):
        state["step"] += 1
        moved = np.zeros((4, len(columns)))
        for j, visits in enumerate(columns):
            feature = visits[min(state["step"], len(visits) - 1)]
            moved[abs(feature), j] = -1.0 if feature < 0 else 1.0
        # Columns that have settled left the block; those that go on keep their order.
        return moved[:, -product.shape[1] :]

    return step


def test_out_of_iterations_gives_the_best_iterate_not_the_first_or_last():
    # Variances on the way: 3, 5, 2.
    found = iterate(S, script([2, 1, 3, 0, 2, 0]), np.eye(4)[:, :1], 3, 1e-9)
    np.testing.assert_array_equal(found.matrix[:, 0], np.eye(4)[1])
    np.testing.assert_array_equal(found.objective, [3.0, 5.0, 2.0])
    assert found.stop is Stop.MAX_ITER
    assert found.n_iter == 3


def test_a_settled_column_is_returned_where_it_settled():
    # It passed the feature of variance 5, and came to rest at the one of variance 2.
    found = iterate(S, script([1, 3, 3]), np.eye(4)[:, :1], 10, 1e-9)
    np.testing.assert_array_equal(found.matrix[:, 0], np.eye(4)[3])
    assert found.stop is Stop.CONVERGED
    assert found.n_iter == 2
    kept = iterate(S, script([1, 3, 3]), np.eye(4)[:, :1], 10, 1e-9, keep_best=True)
    np.testing.assert_array_equal(kept.matrix[:, 0], np.eye(4)[1])
    np.testing.assert_array_equal(kept.matrix[:, 1], np.eye(4)[3])


def test_a_vector_that_only_changes_its_sign_has_settled():
    found = iterate(S, script([3, -3, 3, -3, 3, -3, 3]), np.eye(4)[:, :1], 6, 1e-9)
    assert found.stop is Stop.CONVERGED
    assert found.n_iter == 1


def test_columns_come_in_the_order_of_their_variance():
    found = iterate(S, script([0], [2], [1]), np.eye(4)[:, :3], 5, 1e-9)
    np.testing.assert_array_equal(np.abs(found.matrix).argmax(axis=0), [1, 2, 0])
    np.testing.assert_array_equal(found.objective, [5.0])


def test_random_starts_are_unit_vectors_of_their_orthant():
    rng = np.random.default_rng(0)
    inside = random_nonnegative_starts(6, 50, rng)
    np.testing.assert_allclose((inside**2).sum(axis=0), 1)
    assert inside.min() >= 0
    anywhere = random_starts(6, 50, rng)
    np.testing.assert_allclose((anywhere**2).sum(axis=0), 1)
    assert anywhere.min() < 0


def test_em_tries_both_signs_of_the_eigenvector_where_signs_matter():
    # The leading eigenvector up to sign is (a, a, -b): only one sign has two positive entries.
    matrix = np.array([[4.0, 3.0, -1.0], [3.0, 4.0, -1.0], [-1.0, -1.0, 1.0]])
    rng = np.random.default_rng(0)
    starts = EM().starts(ExplicitCovariance(matrix), LoadingConstraint(3, 2, nonnegative=True), rng)
    v = np.linalg.eigh(matrix)[1][:, -1]
    assert starts.shape == (3, 2)
    np.testing.assert_allclose(np.abs(v @ starts), 1, atol=1e-9)
    np.testing.assert_allclose(starts[:, 0], -starts[:, 1], atol=1e-12)


class _Poor(Portfolio):
    """A search that finds nothing better than the first feature."""

    def __call__(self, S, constraint, rng, starts=None):
        found = super().__call__(S, constraint, rng, starts)
        return type(found)(np.eye(S.n_features)[:, :1], found.objective, 1, found.stop)


def best_of_all(matrix, size):
    from itertools import combinations

    supports = [list(chosen) for chosen in combinations(range(len(matrix)), size)]
    return max(np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1] for s in supports)


def test_an_exact_search_returns_the_component_its_proof_met():
    matrix = np.cov(np.random.default_rng(3).standard_normal((20, 9)).T)
    search = ExactSearch(search=_Poor())
    found = search(ExplicitCovariance(matrix), LoadingConstraint(9, 3), np.random.default_rng(0))
    w = found.matrix[:, 0]
    assert w @ matrix @ w == pytest.approx(best_of_all(matrix, 3), rel=1e-6)
    assert found.stop is Stop.EXACT


def test_an_exact_search_that_was_cut_off_says_so():
    # Too many supports to be listed at the first node.
    matrix = np.cov(np.random.default_rng(0).standard_normal((60, 50)).T)
    cut = ExactSearch(max_nodes=1)
    found = cut(ExplicitCovariance(matrix), LoadingConstraint(50, 15), np.random.default_rng(0))
    certificate = found.details["certificate"]
    assert certificate.upper_bound > certificate.best_value * (1 + 1e-4)
    assert found.stop is Stop.TIME_LIMIT
