"""Proofs put together from cases: every case counts, and the disk loses nothing."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from loadstone.certificates import (
    Certificate,
    CertificateError,
    proof_tree,
    prove,
    search_case,
)
from loadstone.certificates.bound_dual import Dual, evaluate
from loadstone.certificates.problem import SupportProblem
from loadstone.certificates.proof_cases import ProofCase, ProofNode, as_list, cases
from loadstone.certificates.proof_screening import screen
from loadstone.certificates.proof_tree import Standing, apply_dual, replay
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance

from .small_problems import KINDS, brute_force, random_matrix, random_problem


def test_the_case_without_a_feature_counts_as_much_as_the_case_with_it():
    S = ExplicitCovariance(np.diag([1.0, 2.0, 3.0]))
    for feature in range(3):
        tree = ProofNode()
        tree.branch(feature)
        assert replay(S, SupportProblem.of(3, 1), 0.5, as_list(tree)).bound >= 3.0


def test_features_that_a_dual_decides_stay_decided():
    A = np.diag([10.0, 9.0, 0.1, 0.05])
    dual = Dual(np.arange(4), np.zeros((4, 4)), np.zeros(4), np.sqrt(A))
    before = Standing(np.inf, "", SupportProblem.of(4, 1))
    after = apply_dual(ExplicitCovariance(A), before, dual, 8.9)
    assert after.problem.features.tolist() == [0, 1]


def test_each_case_of_a_list_stands_before_its_children_and_the_one_with_the_feature_first():
    def dual(number):
        return Dual(np.arange(1), np.zeros((1, 1)), np.full(1, number), np.zeros((1, 0)))

    tree = ProofNode([dual(0.0)])
    for number, node in zip((1.0, 4.0), tree.branch(3), strict=True):
        node.duals.append(dual(number))
    for number, node in zip((2.0, 3.0), tree.children[0].branch(5), strict=True):
        node.duals.append(dual(number))
    listed = as_list(tree)
    assert [case.feature for case in listed] == [3, 5, None, None, None]
    assert [float(case.duals[0].shift[0]) for case in listed] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_no_tree_proves_less_than_the_optimum(seed, nonnegative):
    rng = np.random.default_rng([seed, nonnegative])
    for _ in range(40):
        n = int(rng.integers(3, 7))
        A = random_matrix(rng, n, KINDS[rng.integers(len(KINDS))])
        problem = random_problem(rng, n, nonnegative=nonnegative)
        optimum = brute_force(A, problem)
        tree, open_nodes = ProofNode(), []
        open_nodes.append(tree)
        for feature in rng.permutation(n)[: int(rng.integers(1, n))]:
            node = open_nodes.pop(int(rng.integers(len(open_nodes))))
            open_nodes += node.branch(int(feature))
        rounding = 1e-12 * np.abs(A).max() * n
        below = optimum - 0.3 * abs(optimum) - rounding
        bound = replay(ExplicitCovariance(A), problem, below, as_list(tree)).bound
        assert bound >= optimum - rounding


@pytest.mark.parametrize("gap_tol", [0.2, 0.05, 1e-3])
@pytest.mark.parametrize("seed", range(4))
def test_a_coarse_gap_leaves_a_bound_that_its_proof_gives(seed, gap_tol):
    A = np.cov(np.random.default_rng(seed).standard_normal((24, 14)).T)
    S, constraint = ExplicitCovariance(A), LoadingConstraint(14, 5)
    found = prove(S, constraint, np.eye(14)[0], effort="full", gap_tol=gap_tol)
    optimum = brute_force(A, SupportProblem.of(14, 5))
    assert found.upper_bound >= optimum * (1 - 1e-12)
    assert found.verify(S) == pytest.approx(found.upper_bound, rel=1e-9)
    assert found.upper_bound <= found.best_value * (1 + gap_tol) * (1 + 1e-9)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_screening_by_a_poor_dual_keeps_every_better_component(seed, nonnegative):
    """Duals far from optimal: only what their bound really excludes may be excluded."""
    rng = np.random.default_rng([9, seed, nonnegative])
    decided = 0
    for _ in range(60):
        n = int(rng.integers(5, 9))
        # Variances that fall off, so that even a loose bound excludes something.
        spread = rng.permutation(np.geomspace(1, 0.05, n))
        A = random_matrix(rng, n, "gaussian") * np.outer(spread, spread)
        problem = random_problem(rng, n, nonnegative=nonnegative)
        optimum = brute_force(A, problem)
        m = problem.features.size
        scale = float(np.abs(A).max())
        block = A[np.ix_(problem.features, problem.features)]
        shift = rng.uniform(0.3, 0.9) * optimum - block.diagonal()
        pairing = block + 0.02 * scale * rng.standard_normal((m, m))
        dual = Dual(problem.features, pairing, shift, np.zeros((m, 1)))
        found = evaluate(ExplicitCovariance(A), problem, dual)
        rounding = 1e-12 * scale * n
        left = screen(problem, found, optimum - rounding)
        assert left is not None
        decided += left is not problem
        assert brute_force(A, left) >= optimum - 10 * rounding
    assert decided > 5


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_found_and_proven_though_no_component_is_offered(seed, monkeypatch):
    """Without the search for components only single supports raise the value, late."""
    monkeypatch.setattr(search_case, "improve", lambda matrix, *_: (-np.inf, np.zeros(len(matrix))))
    rng = np.random.default_rng(seed)
    A = np.cov(rng.standard_normal((22, 11)).T)
    S, constraint = ExplicitCovariance(A), LoadingConstraint(11, 4)
    found = prove(S, constraint, np.eye(11)[int(np.argmin(A.diagonal()))], effort="full")
    optimum = brute_force(A, SupportProblem.of(11, 4))
    assert found.best_value == pytest.approx(optimum, rel=1e-6)
    assert found.upper_bound == pytest.approx(optimum, rel=2e-6)
    assert found.upper_bound >= optimum * (1 - 1e-12)


def test_a_case_that_lacks_a_child_proves_nothing_by_it():
    S = ExplicitCovariance(np.diag([1.0, 2.0, 3.0]))
    tree = ProofNode()
    tree.branch(2)
    tree.children.pop(0)
    assert len(as_list(tree)) == 1
    assert replay(S, SupportProblem.of(3, 1), 0.5, as_list(tree)).bound >= 3.0


@pytest.mark.parametrize("proof", [(), (ProofCase((), 2), ProofCase()), (ProofCase(), ProofCase())])
def test_a_list_that_is_no_tree_is_refused(proof):
    S = ExplicitCovariance(np.diag([1.0, 2.0, 3.0]))
    with pytest.raises(CertificateError, match="cases"):
        replay(S, SupportProblem.of(3, 1), 0.5, proof)


def test_a_proof_may_be_very_deep():
    n = 3000
    S = ExplicitCovariance(np.diag(np.linspace(1.0, 2.0, 8)))
    proof = tuple(ProofCase((), i % 8) for i in range(n)) + (ProofCase(),) * (n + 1)
    assert replay(S, SupportProblem.of(8, 1), 0.5, proof).bound == pytest.approx(2.0)


def test_every_number_of_a_proof_survives_the_disk(tmp_path):
    rng = np.random.default_rng(0)
    A = np.cov(rng.standard_normal((20, 8)).T)
    constraint = LoadingConstraint(8, 3, forced=np.array([2]), forbidden=np.array([7]))
    loading = np.eye(8)[2]
    plain = prove(ExplicitCovariance(A), constraint, loading, effort="instant")

    def dual(features, *, limited):
        m = len(features)
        limits = rng.random(m) if limited else None
        factor = rng.standard_normal((m, 1 + limited))
        shift = rng.standard_normal(m)
        return Dual(np.array(features), rng.standard_normal((m, m)), shift, factor, limits)

    tree = ProofNode([dual([0, 1, 2], limited=True), dual([2, 5], limited=False)])
    left, right = tree.branch(5)
    left.duals.append(dual([1, 2, 3, 4], limited=True))
    deeper, _ = right.branch(1)
    deeper.duals.append(dual([2, 6], limited=False))
    written = replace(plain, cases=as_list(tree))
    written.save(tmp_path / "proof.npz")
    read = Certificate.load(tmp_path / "proof.npz")
    assert written.n_nodes == 5
    for one, other in zip(read.cases, written.cases, strict=True):
        assert one.feature == other.feature
        assert len(one.duals) == len(other.duals)
        for a, b in zip(one.duals, other.duals, strict=True):
            for name in ("features", "pairing", "shift", "factor"):
                np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
            assert (a.limits is None) == (b.limits is None)
            if b.limits is not None:
                np.testing.assert_array_equal(a.limits, b.limits)
    for name in (
        "value",
        "upper_bound",
        "proof",
        "relative_to",
        "seconds",
        "best_value",
        "n_nodes",
    ):
        assert getattr(read, name) == getattr(written, name), name
    for name in ("loading", "best_loading", "fixed_in", "fixed_out"):
        np.testing.assert_array_equal(getattr(read, name), getattr(written, name))
    assert read.constraint.forced.tolist() == [2]
    assert read.constraint.forbidden.tolist() == [7]
    assert (read.constraint.n_nonzero, read.constraint.nonnegative) == (3, False)


def grown(problem, rng):
    """A tree without duals that ends where a single largest support is left, and not before."""
    root = ProofNode()
    waiting = [(root, problem)]
    while waiting:
        node, left = waiting.pop()
        if left is None or left.is_leaf:
            continue
        feature = int(rng.choice(left.features[~left.forced]))
        waiting += zip(node.branch(feature), cases(left, feature), strict=True)
    return as_list(root)


@pytest.mark.parametrize("n_parts", [1, 4, 10**6])
@pytest.mark.parametrize("seed", range(3))
def test_a_tree_down_to_single_supports_proves_the_optimum(seed, n_parts, monkeypatch):
    """Whether replayed at once, in parts, or case by case; better vectors are all left open."""
    monkeypatch.setattr(proof_tree, "PARTS", n_parts)
    rng = np.random.default_rng(seed)
    A, problem = np.cov(rng.standard_normal((20, 8)).T), SupportProblem.of(8, 3)
    proof = grown(problem, rng)
    assert len(proof) > 64
    values = {
        support: np.linalg.eigvalsh(A[np.ix_(support, support)])[-1]
        for support in combinations(range(8), 3)
    }
    optimum = max(values.values())
    for value in (0.9 * optimum, 0.99 * optimum):
        replayed = replay(ExplicitCovariance(A), problem, value, proof)
        assert replayed.bound == pytest.approx(optimum, rel=1e-9)
        left = [
            part.features[part.forced] if part.n_free == 0 else part.features
            for part in replayed.left
        ]
        assert sorted(tuple(support.tolist()) for support in left) == sorted(
            support for support in values if values[support] > value
        )
    replayed = replay(ExplicitCovariance(A), problem, optimum * (1 + 1e-9), proof)
    assert replayed.bound == optimum * (1 + 1e-9)
    assert not replayed.left


def test_more_supports_than_can_be_listed_are_no_proof():
    """All 2573000 sets of three features: a file that asks for them is refused in a sentence."""
    n = 250
    dual = Dual(np.arange(n), np.zeros((n, n)), np.zeros(n), np.zeros((n, 1)))
    case = ProofCase((dual,), listed=True)
    with pytest.raises(CertificateError, match="too many supports to be listed"):
        replay(ExplicitCovariance(np.eye(n)), SupportProblem.of(n, 3), 0.5, [case])
