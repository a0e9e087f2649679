"""Random small problems against brute force: no bound, no "optimal", no fixed feature is wrong.

As a script it tries many, by seed:

    cd tests && python -m certificates.random_proofs 10000
"""

import sys
from itertools import combinations, product

import numpy as np

from loadstone.certificates import Earlier, prove
from loadstone.certificates.bound_dual import Dual
from loadstone.certificates.proof_cases import ProofNode, as_list, cases, slices
from loadstone.certificates.proof_tree import replay
from loadstone.certificates.search_dual import propose_dual
from loadstone.constraints import Groups, LoadingConstraint, Signs
from loadstone.covariance import ExplicitCovariance, covariance_of

from .small_problems import KINDS, best_nonnegative, brute_force, random_matrix, random_problem


def problem(seed):
    """A covariance, a constraint, earlier components, and a component to certify."""
    rng = np.random.default_rng([11, seed])
    n = int(rng.integers(3, 8))
    kind = seed % 6
    A = random_matrix(rng, n, KINDS[rng.integers(len(KINDS))])
    S = ExplicitCovariance((A + A.T) / 2)
    if kind == 1 or rng.random() < 0.1:
        X = rng.standard_normal((int(rng.integers(4, 30)), n)).astype(np.float32)
        S, _ = covariance_of(X + X[:, :1], route=str(rng.choice(["gram", "data"])))
    nonnegative = bool(rng.random() < 0.5)
    k = int(rng.integers(1, n + 1))
    constraint = LoadingConstraint(n, k, nonnegative)
    if kind == 2:
        shuffled = rng.permutation(n)
        n_forced, n_shut = int(rng.integers(0, k + 1)), int(rng.integers(0, n - k + 1))
        constraint = LoadingConstraint(
            n, k, nonnegative, np.sort(shuffled[:n_forced]), np.sort(shuffled[n - n_shut :])
        )
    if kind == 3:
        constraint = Groups(rng.integers(0, 3, n), int(rng.integers(1, 3)), nonnegative=nonnegative)
        if rng.random() < 0.5:
            constraint = Groups(constraint.labels, 2, 1, nonnegative=nonnegative)
    if kind == 4:
        signs = {
            int(i): int(rng.choice([-1, 1])) for i in rng.permutation(n)[: rng.integers(1, n + 1)]
        }
        constraint = Signs(signs, k, n)
    earlier = Earlier()
    if kind == 5 and n > 3:
        w = np.linalg.qr(rng.standard_normal((n, 1)))[0]
        rule = str(rng.choice(["projection", "hotelling", "orthogonalized_projection"]))
        earlier = Earlier(loadings=w, deflation=rule)
    w = constraint.best_loading(rng.standard_normal(n).astype(S.dtype))
    for _ in range(int(rng.integers(0, 6))):
        w = constraint.best_loading(np.asarray(earlier.measured_in(S) @ w) + 1e-3 * w)
    if constraint.broken_rule(w) is not None:
        w = np.zeros(n, dtype=S.dtype)
        w[constraint.forced[0]] = 1.0
    effort = str(rng.choice(["instant", "standard", "full"], p=[0.1, 0.5, 0.4]))
    options = {"gap_tol": float(rng.choice([1e-6, 1e-2, 0.3]))} if effort == "full" else {}
    return S, constraint, earlier, w, {"effort": effort, **options}


def supports_of(constraint, n):
    """Largest supports that are allowed."""
    everything = np.setdiff1d(np.arange(n), constraint.forbidden)
    if isinstance(constraint, Groups):
        for used in combinations(
            np.unique(constraint.labels),
            min(constraint.n_groups, np.unique(constraint.labels).size),
        ):
            inside = everything[np.isin(constraint.labels[everything], used)]
            if constraint.per_group is None:
                yield inside
                continue
            parts = [inside[constraint.labels[inside] == g] for g in used]
            picks = [combinations(p, min(constraint.per_group, p.size)) for p in parts]
            yield from _products(picks)
        return
    forced = constraint.forced if isinstance(constraint, LoadingConstraint) else np.array([], int)
    free = np.setdiff1d(everything, forced)
    size = min(constraint.n_nonzero - forced.size, free.size)
    for chosen in combinations(free, size):
        yield np.sort(np.concatenate([forced, np.asarray(chosen, dtype=np.intp)]))


def _products(picks):
    for chosen in product(*[list(p) for p in picks]):
        yield np.sort(np.concatenate([np.asarray(c, dtype=np.intp) for c in chosen]))


def best_on(A, support, signs):
    """The largest variance on a support, and the features it needs; signs 0 are free."""
    block = A[np.ix_(support, support)]
    if signs is None:
        return float(np.linalg.eigvalsh(block)[-1])
    given = signs[support]
    free = np.flatnonzero(given == 0)
    best = -np.inf
    for bits in range(2**free.size):
        turn = np.where(given == 0, 1, given).astype(float)
        turn[free] = [1.0 if bits >> i & 1 else -1.0 for i in range(free.size)]
        best = max(best, best_nonnegative(turn[:, None] * block * turn))
    return best


def fault(seed):
    """What is wrong with the certificate of a random problem; ``None`` if nothing is."""
    S, constraint, earlier, w, options = problem(seed)
    n = S.n_features
    measured = earlier.measured_in(S)
    A = np.asarray(measured.block(np.arange(n), np.arange(n)), dtype=np.float64)
    A = (A + A.T) / 2
    found = prove(S, constraint, w, earlier=earlier, **options)
    signs = constraint.signs
    values = {tuple(T.tolist()): best_on(A, T, signs) for T in supports_of(constraint, n) if T.size}
    optimum = max(values.values())
    rounding = (1e-12 if S.dtype == np.float64 else 1e-5) * np.abs(A).max() * n
    if found.upper_bound < optimum - rounding:
        return f"bound {found.upper_bound!r} below the optimum {optimum!r}"
    if found.is_optimal and optimum > found.value + 1.01e-6 * abs(found.value) + rounding:
        return f"{found.value!r} is called optimal, {optimum!r} is"
    better = found.best_value + max(rounding, 1e-10 * abs(found.best_value))
    for T, value in values.items():
        if value <= better:
            continue
        # Every part of this support that still holds a better vector has to keep the claims.
        for size in range(1, len(T) + 1):
            for part in combinations(T, size):
                if best_on(A, np.array(part), signs) <= better:
                    continue
                if not set(found.fixed_in.tolist()) <= set(part):
                    return f"fixed_in {found.fixed_in} but {part} is better"
                if set(found.fixed_out.tolist()) & needed(A, part, signs, better):
                    return f"fixed_out {found.fixed_out} but {part} is better"
    found.verify(S)
    return None


def slice_fault(seed):
    """What is wrong with a proof of random slices, features and duals; ``None`` if nothing is.

    Half of the duals are random, the others optimised a little; all have multipliers.
    """
    rng = np.random.default_rng([13, seed])
    n = int(rng.integers(3, 8))
    A = random_matrix(rng, n, KINDS[rng.integers(len(KINDS))])
    A = (A + A.T) / 2
    rivals = random_problem(rng, n, nonnegative=bool(rng.random() < 0.5))
    optimum = brute_force(A, rivals)
    rounding = 1e-12 * np.abs(A).max() * n
    value = optimum - rng.choice([0.0, 1e-3, 0.3]) * abs(optimum) - rounding
    tree = random_tree(rng, A, rivals)
    found = replay(ExplicitCovariance(A), rivals, value, as_list(tree))
    if found.bound < optimum - rounding:
        return f"slices give {found.bound!r}, below the optimum {optimum!r}"
    used, better = found.fixed(n), optimum > value + 2 * rounding
    signs = np.ones(n) if rivals.nonnegative else None
    forced = rivals.features[rivals.forced]
    constraint = LoadingConstraint(n, rivals.n_nonzero, False, forced, _but(rivals.features, n))
    for T in supports_of(constraint, n) if better else ():
        if best_on(A, T, signs) <= value + rounding:
            continue
        if not any(set(needed(A, T, signs, value)) <= set(left.features) for left in found.left):
            return f"no case is left for {T}"
        if set(used[1].tolist()) & needed(A, T, signs, value + rounding):
            return f"fixed_out {used[1]} but {T} is better"
    return None


def _but(features, n):
    return np.setdiff1d(np.arange(n), features)


def random_tree(rng, A, rivals):
    """Slices of slices and features, each case with a dual that may know some features only."""
    tree = ProofNode()
    work = [(tree, rivals, 0)]
    while work:
        node, part, depth = work.pop()
        node.duals = [random_dual(rng, A, part) for _ in range(int(rng.integers(0, 3)))]
        if depth == 2 or rng.random() < 0.2:
            known = bool(node.duals) and node.duals[-1].features.size == part.features.size
            node.listed = known and rng.random() < 0.3
            continue
        if rng.random() < 0.3:
            node.branch(int(rng.integers(len(A))))
            pairs = zip(node.children, cases(part, node.feature), strict=True)
        else:
            lines = rng.standard_normal((len(A), int(rng.integers(2, 5))))
            lines *= rng.random((len(A), 1)) < rng.choice([0.3, 1.0])
            pairs = zip(node.cut(lines), slices(part, lines), strict=True)
        work += [(child, inner, depth + 1) for child, inner in pairs if inner is not None]
    return tree


def random_dual(rng, A, part):
    """Numbers that prove something, whatever they are."""
    whole = rng.random() < 0.7
    known = part.features if whole else part.features[rng.random(part.features.size) < 0.7]
    known = known if known.size else part.features
    m, scale = known.size, np.abs(A).max() + 1e-300
    if whole and rng.random() < 0.5 and np.abs(A).max() > 0:
        block = A[np.ix_(known, known)]
        return propose_dual(block, part, levels=(1e-2,), n_steps=8).dual
    pairing = A[np.ix_(known, known)] * rng.random() + 0.1 * scale * rng.standard_normal((m, m))
    return Dual(
        known,
        pairing,
        scale * rng.standard_normal(m),
        np.sqrt(scale) * 0.3 * rng.standard_normal((m, 2)),
        scale * rng.random(m),
        scale * rng.random(len(part.slices)) * 10.0 ** rng.integers(-2, 2),
    )


def needed(A, part, signs, value):
    """Features of a support without which it holds nothing better."""
    rest = {i: [j for j in part if j != i] for i in part}
    return {i for i, T in rest.items() if not T or best_on(A, np.array(T), signs) <= value}


def main(first, last):
    bad = 0
    for seed in range(first, last):
        try:
            wrong = fault(seed) or slice_fault(seed)
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        if wrong is not None:
            bad += 1
            print(f"seed {seed}: {wrong}", flush=True)
        if seed % 500 == 499:
            print(f"{seed + 1 - first} problems, {bad} faults", flush=True)
    print(f"{last - first} problems, {bad} faults")
    return bad


if __name__ == "__main__":
    ends = [int(word) for word in sys.argv[1:]] or [10_000]
    sys.exit(bool(main(*([0, *ends] if len(ends) == 1 else ends))))
