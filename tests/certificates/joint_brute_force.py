"""Joint bounds against brute force: oracles that share nothing with the code under test.

``python -m certificates.joint_brute_force 1000`` in the folder ``tests`` tries 1 000 random problems
for each theorem (some minutes) and prints how many bounds were below what components reach. The
tests beside this file run a short version of it.

Oracles: the best disjoint sum and the largest recovered variance by trying all supports;
orthonormal components and adjusted variances by block-coordinate ascent over all supports,
which is a lower limit of the optimum: a bound below it is wrong.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations
from operator import mul

import numpy as np

from loadstone.certificates.bound_dual import Dual
from loadstone.certificates.joint_bound import JointProof, dual_matrix, joint_bound, terms_of
from loadstone.certificates.joint_problem import JointProblem, local
from loadstone.certificates.joint_recovery import recovery_bound, recovery_form
from loadstone.certificates.joint_search import propose_joint_dual
from loadstone.certificates.joint_search_recovery import propose_theta
from loadstone.certificates.joint_search_supports import propose_matrix
from loadstone.certificates.problem import SupportProblem
from loadstone.certificates.search_dual import propose_dual

from .small_problems import KINDS, best_nonnegative, random_matrix


def best_on(matrix, support, *, nonnegative):
    """The largest x'Ax on a support, and x."""
    block = matrix[np.ix_(support, support)]
    values, vectors = np.linalg.eigh(block)
    if not nonnegative:
        return float(values[-1]), vectors[:, -1]
    best, winner = -np.inf, None
    for size in range(1, len(support) + 1):
        for face in combinations(range(len(support)), size):
            values, vectors = np.linalg.eigh(block[np.ix_(face, face)])
            top = vectors[:, -1] * (1 if vectors[:, -1].sum() >= 0 else -1)
            if (top >= -1e-12).all() and values[-1] > best:
                best, winner = float(values[-1]), np.zeros(len(support))
                winner[list(face)] = np.maximum(top, 0)
    return best, winner


def supports(n, size, forced=(), forbidden=()):
    """All largest supports."""
    free = [i for i in range(n) if i not in forced and i not in forbidden]
    count = min(size - len(forced), len(free))
    return [tuple(sorted((*forced, *chosen))) for chosen in combinations(free, count)]


def best_disjoint(matrix, sizes, *, nonnegative=False, forbidden=()):
    """The largest sum of variances of disjoint components, by trying everything."""
    allowed = [i for i in range(len(matrix)) if i not in forbidden]
    known = {}

    def value(support):
        if support not in known:
            block = matrix[np.ix_(support, support)]
            top = best_nonnegative(block) if nonnegative else np.linalg.eigvalsh(block)[-1]
            known[support] = float(top)
        return known[support]

    def search(t, left):
        if t == len(sizes):
            return 0.0
        best = -np.inf
        for size in range(1, min(sizes[t], len(left)) + 1):
            for chosen in combinations(left, size):
                rest = tuple(i for i in left if i not in chosen)
                best = max(best, value(chosen) + search(t + 1, rest))
        return best

    return search(0, tuple(allowed))


def orthonormal_sum(matrix, sizes, rng, forced=(), forbidden=()):
    """A sum of variances that orthonormal components of these sizes reach."""
    n, r = len(matrix), len(sizes)
    best = -np.inf
    for _ in range(3):
        W = np.zeros((n, r))
        start = rng.permutation([i for i in range(n) if i not in forbidden])
        if len(start) < r or forced:
            return best
        W[start[:r], np.arange(r)] = 1.0
        for step in range(3 * r):
            j = step % r
            others = np.delete(W, j, axis=1)
            before = W[:, j] @ matrix @ W[:, j]
            for T in supports(n, sizes[j], forced, forbidden):
                T = list(T)
                _, s, Vt = np.linalg.svd(others[T].T)
                null = Vt[int((s > 1e-10).sum()) :].T
                if null.shape[1] == 0:
                    continue
                values, vectors = np.linalg.eigh(null.T @ matrix[np.ix_(T, T)] @ null)
                if values[-1] > before + 1e-12:
                    before = values[-1]
                    W[:, j] = 0.0
                    W[T, j] = null @ vectors[:, -1]
        assert np.abs(W.T @ W - np.eye(r)).max() < 1e-8
        best = max(best, float(np.trace(W.T @ matrix @ W)))
    return best


def adjusted(matrix, W):
    """The largest total adjusted variance over the orders of the columns: ratios of determinants.

    In rational numbers: what one of two near copies adds is lost in rounding otherwise.
    """
    S, columns = exact(matrix), exact(W.T)
    product = [[sum(map(mul, row, w)) for row in S] for w in columns]
    gram = [[sum(map(mul, w, Sv)) for Sv in product] for w in columns]
    best = Fraction(0)
    for order in permutations(range(len(columns))):
        parts = [
            [[gram[i][j] for j in order[:t]] for i in order[:t]] for t in range(W.shape[1] + 1)
        ]
        dets = [determinant(part) for part in parts]
        steps = zip(order, dets, dets[1:], strict=False)
        lengths = [sum(map(mul, w, w)) for w in columns]
        best = max(best, sum(high / low / lengths[j] for j, low, high in steps if low))
    return float(best)


def exact(array):
    """The same numbers as fractions."""
    return [[Fraction(float(x)) for x in row] for row in array]


def determinant(matrix):
    """Of a small matrix, by its first row."""
    if not matrix:
        return Fraction(1)
    rest = [[row[:j] + row[j + 1 :] for row in matrix[1:]] for j in range(len(matrix))]
    return sum((-1) ** j * matrix[0][j] * determinant(rest[j]) for j in range(len(matrix)))


def left_by(matrix, W):
    """The Schur complement of the components W."""
    if W.shape[1] == 0:
        return matrix
    U = matrix @ W
    return matrix - U @ np.linalg.pinv(W.T @ U, rcond=1e-9, hermitian=True) @ U.T


def adjusted_ascent(matrix, sizes, rng, *, nonnegative=False, forced=(), forbidden=()):
    """An adjusted variance that components of these sizes reach."""
    n, r = len(matrix), len(sizes)
    tables = [supports(n, size, forced, forbidden) for size in sizes]
    best = 0.0
    for _ in range(3):
        W = np.zeros((n, r))
        for j, table in enumerate(tables):
            T = list(table[rng.integers(len(table))])
            W[T, j] = np.abs(rng.standard_normal(len(T)))
        W /= np.linalg.norm(W, axis=0)
        for step in range(3 * r):
            j = step % r
            left = left_by(matrix, np.delete(W, j, axis=1))
            found = [best_on(left, T, nonnegative=nonnegative) for T in tables[j]]
            top = int(np.argmax([value for value, _ in found]))
            W[:, j] = 0.0
            W[list(tables[j][top]), j] = found[top][1]
        best = max(best, adjusted(matrix, W))
    return best


def largest_recovery(matrix, size, forbidden=()):
    """max w'S^2w / w'Sw over signed w of a size, by trying all supports."""
    square, best = matrix @ matrix, 0.0
    floor = 1e-6 * matrix.diagonal().max()
    for T in supports(len(matrix), size, (), forbidden):
        values, vectors = np.linalg.eigh(matrix[np.ix_(T, T)])
        kept = vectors[:, values > floor] / np.sqrt(values[values > floor])
        if kept.shape[1]:
            top = np.linalg.eigvalsh(kept.T @ square[np.ix_(T, T)] @ kept)[-1]
            best = max(best, float(top))
    return best


def random_joint(rng, *, definite):
    """A matrix of a troublesome kind, sizes, and sometimes features that are closed."""
    kinds = [kind for kind in KINDS if kind != "indefinite" or not definite]
    n, r = int(rng.integers(5, 8)), int(rng.integers(2, 4))
    matrix = random_matrix(rng, n, kinds[rng.integers(len(kinds))])
    matrix = (matrix + matrix.T) / 2.0
    matrix += np.eye(n) * 1e-9 * np.trace(np.abs(matrix))
    equal = rng.random() < 0.7
    sizes = [int(rng.integers(1, 4))] * r if equal else rng.integers(1, 4, r).tolist()
    forbidden = tuple(rng.permutation(n)[: int(rng.integers(0, 2))].tolist())
    return matrix, sizes, forbidden


def reached(rng, theorem, matrix, sizes, forbidden, *, nonnegative):
    """What components reach, by the oracle of a theorem."""
    if theorem == "A":
        return best_disjoint(matrix, sizes, nonnegative=nonnegative, forbidden=forbidden)
    if theorem == "B":
        return orthonormal_sum(matrix, sizes, rng, forbidden=forbidden)
    if theorem == "D":
        return adjusted_ascent(matrix, sizes, rng, nonnegative=nonnegative, forbidden=forbidden)
    return largest_recovery(matrix, sizes[0], forbidden)


RELATION = {"A": "disjoint", "B": "strict", "D": "none", "E": "none"}
QUANTITY = {
    "A": "sum of variances",
    "B": "sum of variances",
    "D": "adjusted variance",
    "E": "recovered variance",
}
SHORT = {"levels": (1e-2,), "n_steps": 25}


def problem_of(n, sizes, forbidden, theorem, *, nonnegative):
    """Who competes, as the evaluator wants it."""
    problems = tuple(
        SupportProblem.of(n, size, nonnegative=nonnegative, forbidden=forbidden) for size in sizes
    )
    return JointProblem(problems, RELATION[theorem])


def random_dual(rng, matrix, features):
    """Numbers nobody has optimised; they prove something all the same."""
    m, scale = features.size, np.abs(matrix).max()
    pairing = rng.standard_normal((m, m)) * scale * rng.random()
    if rng.random() < 0.5:
        pairing = matrix * rng.random()
    factor = rng.standard_normal((m, 2)) * np.sqrt(scale) * 0.3
    return Dual(features, pairing, rng.standard_normal(m) * scale, factor)


def bounds(rng, theorem, matrix, sizes, forbidden, *, nonnegative):
    """What numbers of different origin prove, by the kind of proof."""
    problem = problem_of(len(matrix), sizes, forbidden, theorem, nonnegative=nonnegative)
    at = problem.features
    inner = matrix[np.ix_(at, at)]
    place = local(problem.largest, at)
    if theorem == "E":
        yield from _recovery_bounds(rng, matrix, problem.problems[0])
        return

    def bound(**numbers):
        proof = JointProof(theorem=theorem, **numbers)
        return joint_bound(inner, problem, QUANTITY[theorem], proof)

    guess = random_dual(rng, inner, at)
    more = {"prices": np.abs(rng.standard_normal(len(sizes)))} if theorem == "A" else {}
    shift = abs(float(np.linalg.eigvalsh(-dual_matrix(guess)[0])[-1])) * 1.1
    more |= {"level": shift} if theorem == "D" else {}
    yield "random numbers", bound(dual=guess, **more)
    yield (
        "principal components",
        joint_bound(inner, problem, QUANTITY[theorem], JointProof(theorem="KF")),
    )
    if inner.diagonal().max() <= 0:
        return
    first = propose_joint_dual(inner, place, at, len(sizes), "B", **SHORT)
    found = propose_joint_dual(inner, place, at, len(sizes), theorem, start=first.point, **SHORT)
    if theorem == "A":
        terms = terms_of(found.dual, place)
        price = np.sort(terms)[::-1][min(sum(sizes), terms.size) - 1]
        more = {"prices": np.full(len(sizes), price)}
        yield (
            "dynamic programme",
            joint_bound(inner, problem, QUANTITY[theorem], JointProof(theorem="DP")),
        )
    more |= {"level": found.level} if theorem == "D" else {}
    yield "dual", bound(dual=found.dual, **more)
    if theorem in "BD":
        start = dual_matrix(found.dual, found.level)[0]
        best = propose_matrix(
            inner, place, len(sizes), theorem, start, levels=(1e-2, 1e-3), n_rounds=1, n_steps=25
        )
        yield "all supports", bound(matrix=best)


def _recovery_bounds(rng, matrix, problem):
    none = np.zeros((len(matrix), 0))
    theta, _ = propose_theta(matrix, none, problem, 0.0)
    yield "all supports", recovery_bound(matrix, none, problem, theta, None)
    place = local(problem, problem.features)
    form = recovery_form(matrix, 0.0, theta * 1.01)[0][np.ix_(problem.features, problem.features)]
    dual = propose_dual(form, place, levels=(1e-2, 1e-3), n_steps=40).dual
    dual = replace(dual, features=problem.features)
    yield "dual", recovery_bound(matrix, none, problem, theta * 1.01, dual)
    guess = random_dual(rng, form, problem.features)
    yield "random numbers", recovery_bound(matrix, none, problem, theta, guess)


def violations(seed, theorem, n_problems):
    """How many bounds fell below what components reach, by kind of proof, and the ratios."""
    rng = np.random.default_rng(seed)
    wrong, ratios = [], {}
    for index in range(n_problems):
        matrix, sizes, forbidden = random_joint(rng, definite=theorem in "DE")
        nonnegative = theorem in "AD" and rng.random() < 0.5
        if theorem == "A" and sum(sizes) > len(matrix) - len(forbidden):
            sizes = [1] * len(sizes)
        value = reached(rng, theorem, matrix, sizes, forbidden, nonnegative=nonnegative)
        found = bounds(rng, theorem, matrix, sizes, forbidden, nonnegative=nonnegative)
        for kind, bound in found:
            if not bound >= value - 1e-9 * abs(value):
                wrong.append((theorem, kind, index, bound, value))
            ratios.setdefault(kind, []).append(value / bound if bound > 0 else 1.0)
    return wrong, ratios


def main(n_problems):
    for theorem in "ABDE":
        begun = time.process_time()
        wrong, ratios = violations(1, theorem, n_problems)
        took = time.process_time() - begun
        print(f"theorem {theorem}: {n_problems} problems, {len(wrong)} violations, {took:.0f} s")
        for kind, values in ratios.items():
            low, middle = np.quantile(values, [0.1, 0.5])
            print(f"  {kind:22s} ratio median {middle:.4f}, p10 {low:.4f}, min {min(values):.4f}")
        for line in wrong[:10]:
            print("  ", line)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
