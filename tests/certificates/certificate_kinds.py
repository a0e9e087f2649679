"""Certificates of every kind with the data they are about, by seed."""

from dataclasses import replace

import numpy as np

from loadstone.certificates import Earlier, prove
from loadstone.certificates.certificate_value import problem_of, recomputed, stated_value
from loadstone.certificates.proof_cases import ProofNode, as_list, slices
from loadstone.certificates.search_dual import propose_dual
from loadstone.certificates.search_slices import turning_lines
from loadstone.constraints import Groups, L1Budget, LoadingConstraint, Signs
from loadstone.covariance import ExplicitCovariance, covariance_of

RELATIONS = ("none", "disjoint", "strict", "uncorrelated", "quasi")
DEFLATIONS = ("schur", "projection", "hotelling", "orthogonalized_projection")
SHAPES = ("cardinality", "nonnegative", "forced", "signs", "some_signs", "groups", "budget")


def constraint_for(kind, rng, n):
    k = int(rng.integers(2, 5))
    if kind == "forced":
        chosen = rng.permutation(n)
        return LoadingConstraint(
            n, k, rng.random() < 0.5, forced=np.sort(chosen[:1]), forbidden=np.sort(chosen[1:3])
        )
    if kind == "signs":
        return Signs({i: int(rng.choice([-1, 1])) for i in range(n)}, k, n)
    if kind == "some_signs":
        return Signs({int(i): int(rng.choice([-1, 1])) for i in rng.permutation(n)[: n // 2]}, k, n)
    if kind == "groups":
        labels = rng.integers(0, max(3, n // 3), n)
        return Groups(labels, 2, per_group=int(rng.integers(1, 3)), nonnegative=rng.random() < 0.3)
    if kind == "budget":
        return L1Budget(n, float(rng.uniform(1.2, 2.0)), nonnegative=rng.random() < 0.3)
    return LoadingConstraint(n, k, kind == "nonnegative")


def table(rng, n):
    """Samples of factors and noise, in single precision now and then."""
    X = rng.standard_normal((int(rng.integers(n + 3, 60)), n)) * rng.uniform(0.5, 1.5, n)
    if rng.random() < 0.5:
        X += rng.standard_normal((len(X), 2)) @ rng.standard_normal((2, n))
    return X.astype(np.float32) if rng.random() < 0.2 else X


def good_loading(S, constraint, rng):
    """A vector the constraint allows, from a few power steps."""
    w = constraint.best_loading(S @ rng.standard_normal(S.n_features).astype(S.dtype))
    for _ in range(10):
        w = constraint.best_loading(np.asarray(S @ w))
    return w


#: Seeds from here on give proofs by slices.
FIRST_SLICED = 210


def made(seed):
    """A certificate and the data it is about."""
    rng = np.random.default_rng(seed)
    if seed >= FIRST_SLICED:
        return sliced(rng)
    n = int(rng.integers(5, 13))
    X = table(rng, n)
    kind = SHAPES[seed % len(SHAPES)]
    S, _ = covariance_of(X, standardize=bool(rng.random() < 0.3))
    constraint = constraint_for(kind, rng, n)
    effort = ("instant", "standard", "full")[seed // len(SHAPES) % 3]
    earlier, loading = Earlier(), None
    if kind in {"cardinality", "nonnegative"} and rng.random() < 0.7:
        earlier, constraint, loading = later_component(S, constraint, rng)
    if loading is None:
        loading = good_loading(earlier.measured_in(S), constraint, rng)
    return prove(S, constraint, loading, effort=effort, earlier=earlier), X


def sliced(rng):
    """A proof by slices, one of them branched on a feature, from a search that stops early."""
    n = int(rng.integers(7, 13))
    X = table(rng, n)
    S, _ = covariance_of(X)
    rule = LoadingConstraint(n, int(rng.integers(2, 5)), bool(rng.random() < 0.5))
    plain = prove(S, rule, good_loading(S, rule, rng), effort="instant")
    problem, matrix = problem_of(rule), S.block(np.arange(n), np.arange(n)).astype(float)
    few = {"levels": (1e-2,), "n_steps": 12}
    root = propose_dual(matrix, problem, **few).dual
    lines = turning_lines(S, problem, root)
    tree = ProofNode([root])
    for child, part in zip(tree.cut(lines), slices(problem, lines), strict=True):
        child.duals.append(propose_dual(matrix, part, start=root, **few).dual)
    tree.children[0].branch(int(rng.integers(n)))
    proof, known = as_list(tree), stated_value(S, plain.best_loading)
    proven = recomputed(S, rule, Earlier(), known, proof)
    bound, fixed = max(proven.bound, plain.best_value), proven.fixed(n)
    stated = {"upper_bound": bound, "fixed_in": fixed[0], "fixed_out": fixed[1]}
    return replace(plain, cases=proof, **stated), X


def later_component(S, constraint, rng):
    """Earlier components, and one that relates to them as asked."""
    n = S.n_features
    first = good_loading(S, LoadingConstraint(n, 2), rng)
    second = good_loading(S, LoadingConstraint(n, 2, forbidden=np.flatnonzero(first)[:1]), rng)
    W = np.column_stack([first, second])
    W = W.astype(np.float64) / np.linalg.norm(W.astype(np.float64), axis=0)
    relation = str(rng.choice(RELATIONS))
    if constraint.nonnegative and relation in {"strict", "uncorrelated"}:
        relation = "none"
    deflation = "" if relation in {"strict", "uncorrelated"} else str(rng.choice(DEFLATIONS))
    if relation == "disjoint":
        W = np.eye(n)[:, :3] @ np.array([[0.8, 0.0], [0.6, 0.0], [0.0, 1.0]])
        constraint = constraint.without(np.arange(3))
        deflation = "schur" if rng.random() < 0.5 else ""
    earlier = Earlier(loadings=W, relation=relation, deflation=deflation)
    if relation not in {"strict", "uncorrelated"}:
        return earlier, constraint, None
    # Three features and two equations leave one direction.
    support = rng.permutation(n)[:3]
    Q = W if relation == "strict" else np.asarray(S @ W.astype(S.dtype), dtype=np.float64)
    loading = np.zeros(n)
    loading[support] = np.linalg.svd(Q[support].T)[2][-1]
    return earlier, LoadingConstraint(n, int(rng.integers(3, 5))), loading


def as_matrix(X):
    return ExplicitCovariance(np.cov(np.asarray(X, dtype=np.float64).T))
