"""Check a certificate without loadstone: ``python verify_certificate.py CERTIFICATE DATA``.

One file, NumPy alone, to be read in ten minutes. It shares no code with the package that wrote
the certificate. DATA is an NPY, NPZ or CSV file with samples in rows, or a covariance: a
symmetric matrix. The format of a certificate and the proofs behind each step are on the page
``docs/certificates.md``; names here are those of that page.

What is assumed: numbers are IEEE doubles, and a matrix product is a sum of products in any
order. No eigensolver and no factorisation is trusted: their results are checked (``top``).
With python-flint installed, ``--exact`` bounds the eigenvalues by interval arithmetic instead.
"""

import argparse
import json
import sys
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

U = 2.0**-53
TOLERANCE = {"float64": 1e-9, "float32": 1e-5}
WIDE = 1500  # features from which on matrices are not decomposed as a whole
EXACT = False


class Refused(Exception):
    """The certificate does not hold; the message says why."""


def need(condition, why):
    """Go on only if the condition is plainly true; NaN makes comparisons false."""
    if not bool(condition):
        raise Refused(why)


def gamma(n):
    return n * U / (1 - n * U)


# ------------------------------------------------------------------- eigenvalues from above


def top(M, error=0.0):
    """An upper bound of lambda_max of every symmetric matrix within ``error`` of M.

    If tI - M = GG' + R then lambda_max(M) <= t + |R|, |R| the largest absolute row sum, for any G.
    """
    n = len(M)
    if EXACT:
        return exact_top(M) + float((np.zeros_like(M) + error).sum(1).max())
    t = np.linalg.eigvalsh(M)[-1]
    shift = 4 * n * U * max(np.abs(t - np.diag(M)).max(), abs(t), 1e-300)
    for _ in range(60):
        C = (t + shift) * np.eye(n) - M
        try:
            G = np.linalg.cholesky(C)
        except np.linalg.LinAlgError:
            shift *= 4
            continue
        R = np.abs(C - G @ G.T) + gamma(n + 3) * (np.abs(C) + np.abs(G) @ np.abs(G).T) + error
        return float((t + shift + R.sum(1).max() * (1 + 2 * gamma(n))) + 4 * U * abs(t + shift))
    return float((np.abs(M) + error).sum(1).max() * (1 + 2 * gamma(n)))


def exact_top(M):
    """The same with python-flint: Cholesky in interval arithmetic of 160 bits proves tI - M > 0."""
    import flint

    flint.ctx.prec = 160
    t, n = float(np.linalg.eigvalsh(M)[-1]), len(M)
    step = 1e-15 * max(1e-300, float(np.abs(M).sum(1).max()))
    while True:
        t += step
        C = [
            [flint.arb(float(t * (i == j))) - flint.arb(float(M[i, j])) for j in range(n)]
            for i in range(n)
        ]
        G = [[flint.arb(0)] * n for _ in range(n)]
        for j in range(n):
            pivot = C[j][j] - sum((G[j][k] * G[j][k] for k in range(j)), flint.arb(0))
            if not pivot > 0:
                break
            G[j][j] = pivot.sqrt()
            for i in range(j + 1, n):
                G[i][j] = (C[i][j] - sum((G[i][k] * G[j][k] for k in range(j)), flint.arb(0))) / G[
                    j
                ][j]
        else:
            return t
        step *= 4


# ------------------------------------------------------------------- the matrix of a statement


@dataclass
class Matrix:
    """A covariance, given as a matrix or by centred samples, less ``thin C thin'``, with signs."""

    stored: np.ndarray | None  # the matrix, or None
    samples: np.ndarray | None  # centred samples, divided by sqrt(n - 1)
    thin: np.ndarray
    C: np.ndarray
    flips: np.ndarray

    def block(self, rows, cols):
        if self.stored is not None:
            part = self.stored[np.ix_(rows, cols)]
        else:
            part = self.samples[:, rows].T @ self.samples[:, cols]
        if self.thin.shape[1]:
            part = part - self.thin[rows] @ self.C @ self.thin[cols].T
        return self.flips[rows, None] * part * self.flips[cols]

    def on(self, features):
        part = self.block(features, features)
        return (part + part.T) / 2

    def diagonal(self):
        d = (self.samples**2).sum(0) if self.stored is None else np.diag(self.stored)
        return d - np.einsum("ij,jk,ik->i", self.thin, self.C, self.thin)

    def times(self, w):
        plain = self.stored @ w if self.stored is not None else self.samples.T @ (self.samples @ w)
        return plain - self.thin @ (self.C @ (self.thin.T @ w))

    def less(self, thin, C):
        joined = np.block(
            [[self.C, np.zeros((len(self.C), len(C)))], [np.zeros((len(C), len(self.C))), C]]
        )
        return replace(self, thin=np.hstack([self.thin, thin]), C=joined)


def without_earlier(S, W, relation, deflation):
    """The matrix in which variances are measured, the one that bounds them, and a margin."""
    m = W.shape[1]
    if m == 0:
        return S, S, 0.0
    if relation in ("strict", "uncorrelated"):
        # S - QY' - YQ' has the same w'Sw wherever Q'w = 0, for any Y.
        Q, doubt = W, 0.0
        if relation == "uncorrelated":
            Q, spread = S.times(W), np.sqrt(np.maximum(S.diagonal(), 0))
            terms = len(S.samples) if S.stored is None else len(W)
            doubt = 2 * U * (terms + 8) * np.linalg.norm(spread) * (spread @ np.abs(W))
        inverse = np.linalg.pinv(Q)
        T = S.times(inverse.T)
        Y = T - Q @ (inverse @ T) / 2
        zero, one = np.zeros((m, m)), np.eye(m)
        lengths = np.linalg.norm(Y, axis=0)
        margin = 2 * np.sum(doubt * lengths) + 16 * (m + 2) * U * (
            np.linalg.norm(Q, axis=0) @ lengths
        )
        return S, S.less(np.hstack([Q, Y]), np.block([[zero, one], [one, zero]])), float(margin)
    left = S
    for j in range(m if deflation else 0):
        w, rule = W[:, j], deflation
        if rule.startswith("orthogonalized_"):
            rule = rule.removeprefix("orthogonalized_")
            basis = np.linalg.qr(W[:, :j])[0] if j else W[:, :0]
            q = w - basis @ (basis.T @ w)
            q = q - basis @ (basis.T @ q)
            w = q / np.linalg.norm(q) if np.linalg.norm(q) > 1.5e-8 else w
        Sw = left.times(w)
        if rule == "schur":
            left = left.less(Sw[:, None], np.array([[1 / (w @ Sw)]]))
        elif rule == "hotelling":
            left = left.less(w[:, None], np.array([[w @ Sw]]))
        else:
            left = left.less(np.column_stack([w, Sw]), np.array([[-(w @ Sw), 1.0], [1.0, 0.0]]))
    return left, left, 0.0


# ------------------------------------------------------------------- who competes


@dataclass
class Case:
    """Supports inside ``features`` that contain all ``forced``, of at most ``size`` features."""

    features: np.ndarray
    forced: np.ndarray
    nonzero: np.ndarray  # forced by a proof, so that these loadings are not zero
    size: int
    nonnegative: bool

    @property
    def room(self):
        return self.size - int(self.forced.sum())

    @property
    def decided(self):
        return self.room == 0 or len(self.features) <= self.size

    def keep(self, mask):
        size = min(self.size, int(mask.sum()))
        return Case(
            self.features[mask], self.forced[mask], self.nonzero[mask], size, self.nonnegative
        )

    def force(self, mask):
        return replace(self, forced=self.forced | mask, nonzero=self.nonzero | mask)

    def single(self):
        return self.keep(self.forced) if self.room == 0 else self


def best_sum(terms, case):
    """The largest sum of non-negative terms over one support."""
    free = np.sort(terms[~case.forced])
    return float(terms[case.forced].sum() + free[len(free) - min(case.room, len(free)) :].sum())


def reaches(squares, forced, room, limits=None):
    """For each row: forced entries and the ``room[i]`` largest others; and the smallest of those.

    With ``limits``, as if any number of further entries of that size joined the row.
    """
    limits = np.zeros(len(squares)) if limits is None else limits
    free = -np.sort(-np.maximum(squares[:, ~forced], limits[:, None]), axis=1)
    rows, width = np.arange(len(squares)), free.shape[1]
    count = np.clip(room, 0, width)
    sums = np.cumsum(np.pad(free, ((0, 0), (1, 0))), axis=1)
    reach = squares[:, forced].sum(1) + sums[rows, count] + np.maximum(room - width, 0) * limits
    edge = free[rows, np.maximum(count - 1, 0)] if width else limits
    edge = np.where(room >= width, limits, edge)
    return reach, np.where(room > 0, edge, np.inf)


def rooms(case):
    return case.room - (~case.forced).astype(int)


def counted(P, nonnegative):
    return np.square(np.maximum(P, 0) if nonnegative else P)


def bracket(reach, tau):
    """(sqrt(phi^2 + tau^2) - tau)/2, without cancellation."""
    root = np.hypot(np.sqrt(reach), tau)
    return np.where(tau > 0, reach / (2 * np.where(tau > 0, root + tau, 1)), (root - tau) / 2)


# ------------------------------------------------------------------- the bound of a dual


def evaluate(S, case, dual):
    """What a dual proves: (bound, eigenvalue part, terms w_i)."""
    known = np.isin(case.features, dual["features"])
    at = np.searchsorted(dual["features"], case.features[known])
    P, tau, L = dual["P"][np.ix_(at, at)].copy(), dual["tau"][at], dual["L"][at]
    np.fill_diagonal(P, 0)
    A = S.on(case.features[known])
    M = A - L @ L.T - (P + P.T) / 2 + np.diag(tau)
    sizes = np.abs(A) + np.abs(P) + np.abs(P.T) + np.abs(L) @ np.abs(L).T + np.diag(np.abs(tau))
    eigen = top(M, gamma(L.shape[1] + 6) * sizes)
    squares = counted(P, case.nonnegative)
    limits = None if known.all() or dual["limits"] is None else np.square(dual["limits"][at])
    reach, edge = reaches(squares, case.forced[known], rooms(case)[known], limits)
    terms = np.empty(len(case.features))
    terms[known] = bracket(reach, tau) + (L**2).sum(1)
    if not known.all():
        terms[~known] = terms_outside(S, case, known, np.sqrt(edge), eigen)
    terms *= 1 + 8 * (len(terms) + 8) * U
    rounding = 16 * case.size * U * np.abs(S.diagonal()[case.features]).max()
    return eigen + best_sum(terms, case) + rounding, eigen, terms


def terms_outside(S, case, known, edge, eigen):
    """w_i of features the dual does not know: p_ij takes what row j cannot bear of 2 A_ij."""
    outside, terms = np.flatnonzero(~known), []
    for start in range(0, len(outside), 128):
        rows = outside[start : start + 128]
        part = S.block(case.features[rows], case.features)
        own = part[np.arange(len(rows)), rows].copy()
        twice = 2 * part[:, known]
        given = np.clip(twice, -np.inf if case.nonnegative else -edge, edge)
        must = case.forced[rows]
        given[must] = np.minimum(given[must], 0) if case.nonnegative else 0
        part[:, known] = twice - given
        part[np.arange(len(rows)), rows] = 0
        reach = reaches(counted(part, case.nonnegative), case.forced, rooms(case)[rows])[0]
        terms.append(bracket(reach, eigen - own))
    return np.concatenate(terms)


def screened(case, bound, terms, value):
    """The case without features that no vector above ``value`` uses, those it must use forced."""
    free = np.flatnonzero(~case.forced)
    room = case.room
    if room == 0 or len(free) <= room:
        return case
    order = free[np.argsort(-terms[free], kind="stable")]
    last, following = terms[order[room - 1]], terms[order[room]]
    slack = 1e-13 * (abs(bound) + abs(value))
    must, keep = np.zeros(len(terms), bool), np.ones(len(terms), bool)
    must[order[:room]] = bound + slack < value + terms[order[:room]] - following
    keep[order[room:]] = ~(bound + slack < value + last - terms[order[room:]])
    return case.force(must).keep(keep)


# ------------------------------------------------------------------- bounds without a dual


def cuts(values):
    positive = int((values > 0).sum())
    return [c for c in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89) if c <= positive and c < len(values)]


def instant(S, case):
    """The smallest limit that can be read off the matrix."""
    if len(case.features) > WIDE:
        return instant_wide(S, case)
    A = S.on(case.features)
    room = rooms(case)

    def reach(B):
        own = np.diag(B).copy()
        rest = B - np.diag(own)
        return reaches(rest, case.forced, room)[0] + own

    def frobenius(B):
        squares = counted(B, case.nonnegative)
        return np.sqrt(best_sum(reach(squares), case)) * (1 + 8 * len(B) * U)

    clipped = np.maximum(A, 0) if case.nonnegative else np.abs(A)
    sums = reach(clipped)
    row_sum = sums[case.forced].max() if case.room == 0 else sums.max()
    below = max(0.0, top(-A)) * (case.size - 1)
    found = [top(A), row_sum * (1 + 8 * len(A) * U), frobenius(A)]
    found.append(best_sum(np.maximum(np.diag(A), 0), case) * (1 + 8 * len(A) * U) + below)
    if case.nonnegative:
        found.append(top(clipped))
    values, V = np.linalg.eigh(A)
    for count in cuts(values):
        excess = values[-count:] - max(values[-count - 1], 0)
        L = V[:, -count:] * np.sqrt(excess)
        part = L @ L.T
        error = gamma(count + 3) * (np.abs(A) + np.abs(L) @ np.abs(L).T)
        rest = top(A - part, error)
        found.append(rest + best_sum((L**2).sum(1), case) * (1 + 8 * len(A) * U))
        found.append(rest + frobenius(part) + float(error.sum(1).max()))
    return float(min(found))


def instant_wide(S, case):
    """The same for thousands of features, a few rows at a time."""
    squares, sums, room = [], [], rooms(case)
    for start in range(0, len(case.features), 128):
        at = np.arange(start, min(start + 128, len(case.features)))
        part = S.block(case.features[at], case.features)
        part = np.maximum(part, 0) if case.nonnegative else np.abs(part)
        own = part[np.arange(len(at)), at].copy()
        part[np.arange(len(at)), at] = 0
        sums.append(reaches(part, case.forced, room[at])[0] + own)
        squares.append(reaches(part**2, case.forced, room[at])[0] + own**2)
    sums, more = np.concatenate(sums), 1 + 16 * len(case.features) * U
    row_sum = sums[case.forced].max() if case.room == 0 else sums.max()
    found = [np.sqrt(best_sum(np.concatenate(squares), case)) * more, row_sum * more]
    if S.stored is None and not S.thin.shape[1] and len(S.samples) <= WIDE:
        X = S.samples[:, case.features]
        error = gamma(X.shape[1] + 2) * (np.abs(X) @ np.abs(X).T)
        found.append(top(X @ X.T, error))
    return float(min(found))


def single_support(S, case, value):
    """An upper bound for the one support that is left, or ``value`` where nothing exceeds it."""
    one = case.single()
    room = 16 * case.size * U * np.abs(S.diagonal()[case.features]).max()
    A = S.on(one.features)
    if not case.nonnegative:
        return max(value, top(A) + room)
    return max(value, faces(A, one.nonzero, value - room) + room)


def faces(A, nonzero, value):
    """The largest x'Ax over unit x >= 0, or ``value``: faces are split until eigenvalues settle them."""
    best, work = value, [(np.ones(len(A), bool), nonzero)]
    while work:
        allowed, positive = work.pop()
        at = np.flatnonzero(allowed)
        B = A[np.ix_(at, at)]
        limit = min(top(B), top(np.maximum(B, 0)))
        if limit <= best:
            continue
        values, V = np.linalg.eigh(B)
        v = V[:, -1] * np.sign(V[:, -1].sum() or 1)
        if v.min() >= -1e-9:
            best = max(best, limit)
        elif positive[at].all():
            # A maximum inside this face is an eigenvector without negative entries.
            best = max(best, stationary(B, values, V))
        else:
            undecided = at[~positive[at]]
            i = undecided[np.argmin(v[~positive[at]])]
            inside, smaller = positive.copy(), allowed.copy()
            inside[i], smaller[i] = True, False
            work.append((allowed, inside))
            if smaller.any():
                work.append((smaller, positive))
    return best


def stationary(B, values, V):
    """The largest eigenvalue that may have an eigenvector without negative entries."""
    size = np.abs(B).sum(1).max()
    for j in range(len(values) - 1, -1, -1):
        gap = np.abs(np.delete(values, j) - values[j]).min() if len(values) > 1 else np.inf
        residual = np.linalg.norm(B @ V[:, j] - values[j] * V[:, j]) + 8 * len(B) * U * size
        error = 4 * residual / max(gap - residual, 1e-300)
        mixed = V[:, j].min() < -error and V[:, j].max() > error
        if not mixed:
            return values[j] + residual
    return -np.inf


def listed(S, case, dual, value):
    """Every support that a dual leaves open, solved; (bound, supports that are not below value)."""
    bound, eigen, terms = evaluate(S, case, dual)
    forced, free = np.flatnonzero(case.forced), np.flatnonzero(~case.forced)
    order = free[np.argsort(-terms[free], kind="stable")]
    sums = np.concatenate([[0], np.cumsum(terms[order])])
    lack = value - eigen - terms[forced].sum() - 1e-12 * (abs(bound) + abs(value))
    chosen, reached, last = np.empty((1, 0), int), np.zeros(1), np.full(1, -1)
    for missing in range(min(case.room, len(free)), 0, -1):
        # Best completion if number i comes next; it falls with i.
        ahead = sums[missing:] - sums[: len(sums) - missing]
        n_next = np.maximum(np.searchsorted(-ahead, -(lack - reached)) - last - 1, 0)
        need(n_next.sum() <= 4_000_000, "the proof leaves too many supports to be listed")
        parent = np.repeat(np.arange(len(n_next)), n_next)
        step = np.arange(len(parent)) - (np.cumsum(n_next) - n_next)[parent]
        last = last[parent] + 1 + step
        chosen = np.column_stack([chosen[parent], last])
        reached = reached[parent] + terms[order[last]]
    A = S.on(case.features)
    B = np.maximum(A, 0) if case.nonnegative else A
    found, left = value, []
    supports = np.sort(np.column_stack([np.tile(forced, (len(chosen), 1)), order[chosen]]), axis=1)
    step = max(1, (1 << 22) // max(1, supports.shape[1]) ** 2)
    for start in range(0, len(supports), step):
        part = supports[start : start + step]
        blocks = B[part[:, :, None], part[:, None, :]]
        norms = np.sqrt(np.square(blocks).sum((1, 2)))
        # The Frobenius norm bounds the eigenvalue; so does eigvalsh with room for its error.
        for T in part[norms * (1 + 1e-9) > value - 1e-9 * abs(value)]:
            mask = np.zeros(len(case.features), bool)
            mask[T] = True
            own = B[np.ix_(T, T)]
            if np.linalg.eigvalsh(own)[-1] * (1 + 1e-9) + 1e-12 * np.abs(own).max() <= value:
                continue
            one = case.keep(mask)
            limit = single_support(S, one, value)
            if limit > value:
                found = max(found, limit)
                left.append(one)
    return found, left


# ------------------------------------------------------------------- the proof as a whole


def split(case, feature):
    """The case with and without a feature; None where it cannot be."""
    at = case.features == feature
    if not at.any():
        return None, case
    if case.room == 0 and not case.forced[at].any():
        return None, case.keep(~at)
    if case.nonzero[at].all():
        return case, None
    without = case.keep(~at)
    if case.forced[at].all():
        # A feature the user forced keeps its place even where its loading is zero.
        without = replace(without, size=min(case.size - 1, len(without.features)))
    return case.force(at), without if len(without.features) and without.size else None


def prove(S, case, value, proof):
    """(bound for every rival, cases that hold all vectors above ``value``)."""
    waiting, bounds, parents, left = [(case, -1)], [], [], []
    for number, node in enumerate(proof):
        need(waiting, "the proof has more cases than its tree")
        here, parent = waiting.pop()
        bound, here, ends = one_case(S, here, value, node)
        bounds.append(bound)
        parents.append(parent)
        if node["feature"] >= 0:
            with_it, without_it = (None, None) if here is None else split(here, node["feature"])
            waiting += [(without_it, number), (with_it, number)]
        else:
            left += ends
    need(not waiting and bounds, "the proof lacks some of its cases")
    below = [-np.inf] * len(bounds)
    for i in range(len(bounds) - 1, -1, -1):
        if below[i] > -np.inf:
            bounds[i] = min(bounds[i], max(below[i], value))
        if parents[i] >= 0:
            below[parents[i]] = max(below[parents[i]], bounds[i])
    return max(bounds[0], value), left


def one_case(S, case, value, node):
    """(bound of one case, what its duals leave of it, what stays open at its end)."""
    if case is None:
        return value, None, []
    bound = np.inf
    for dual in node["duals"]:
        if not np.isin(dual["features"], case.features).any():
            continue
        found, _, terms = evaluate(S, case, dual)
        bound = min(bound, max(found, value))
        if found <= value:
            return value, None, []
        case = screened(case, found, terms, value)
    if node["feature"] >= 0 and np.isfinite(bound):
        return bound, case, []
    if case.decided and affordable(case):
        found = single_support(S, case, value)
    elif node["listed"] and node["duals"]:
        found, left = listed(S, case, node["duals"][-1], value)
        return min(bound, found), case, left
    else:
        found = max(instant(S, case), value)
    still = case if found > value else None
    return min(bound, found), still, [] if still is None else [still]


def affordable(case):
    """Whether the faces of a single support can be gone through, as the package does."""
    one = case.single()
    if not case.nonnegative or one.nonzero.all():
        return len(one.features) <= WIDE
    n, undecided = len(one.features), int((~one.nonzero).sum())
    return n <= WIDE and 2.0 ** (undecided + 1) * n**3 <= 3e6


def fixed_features(S, left, n, value):
    """Features of every, and of no, vector above ``value``."""
    used, certain = np.zeros(n, bool), np.full(n, bool(left))
    for case in left:
        used[case.features] = True
        sure = set(case.features[case.nonzero].tolist())
        one = case.single()
        if case.decided and affordable(case) and case.size <= 60:
            for i in one.features:
                rest = one.features[one.features != i]
                if not len(rest) or top(S.on(rest)) <= value:
                    sure.add(int(i))
        certain &= np.isin(np.arange(n), list(sure))
    return np.flatnonzero(certain), np.flatnonzero(~used & bool(left))


# ------------------------------------------------------------------- groups, some signs, l1 budgets


def largest_sum(rule, terms):
    """The largest sum of non-negative terms (columns) over the features of an allowed vector."""
    terms = np.array(terms, dtype=float)
    if rule["kind"] == "L1Budget":
        return terms.sum(0)
    if rule["kind"] == "Signs":
        return -np.sort(-terms, axis=0)[: rule["size"]].sum(0)
    sums = []
    for label in np.unique(rule["labels"]):
        part = -np.sort(-terms[rule["labels"] == label], axis=0)
        sums.append(part[: rule["per_group"]].sum(0))
    return -np.sort(-np.array(sums), axis=0)[: rule["n_groups"]].sum(0)


def allowed_entries(A, signs):
    """What entries can contribute: |A_ij|, or the part that two given signs leave."""
    if signs is None:
        return np.abs(A)
    product = np.outer(signs, signs)
    return np.where(product == 0, np.abs(A), np.maximum(product * A, 0))


def general_bound(S, rule, duals, features):
    """The smallest bound from sums over allowed vectors; see ``bound_any_constraint``."""
    A = S.on(features)
    n, signs, L = len(A), rule["signs"], lambda terms: largest_sum(rule, terms)
    need(n <= WIDE, "constraints of this kind are checked up to 1500 features")
    B, more = allowed_entries(A, signs), 1 + 16 * n * U
    places = float(L(np.ones(n)))
    frobenius = lambda C: float(np.sqrt(L(L(np.square(C)))))
    found = [top(A), float(L(B).max()) * more, frobenius(B) * more]
    found.append(float(L(np.maximum(np.diag(A), 0))) * more + max(0, top(-A)) * (places - 1))
    if signs is not None:
        found.append(top(B))

    def soft(t):
        parts = [
            np.sign(C) * np.maximum(np.abs(C) - t, 0) for C in ((A,) if signs is None else (A, B))
        ]
        return min(top(part) for part in parts) + t * rule["l1"] ** 2 * more

    steps = 4 if n > 400 else 12
    grid = np.abs(A).max() * np.linspace(0, 1, steps + 1) ** 2
    at = int(np.argmin([soft(t) for t in grid]))
    found += [soft(t) for t in np.linspace(grid[max(at - 1, 0)], grid[min(at + 1, steps)], steps)]
    found.append(soft(grid[at]))
    values, V = np.linalg.eigh(A)
    for count in cuts(values):
        G = V[:, -count:] * np.sqrt(values[-count:] - max(values[-count - 1], 0))
        error = gamma(count + 3) * (np.abs(A) + np.abs(G) @ np.abs(G).T)
        rest = top(A - G @ G.T, error)
        found.append(rest + float(L((G**2).sum(1))) * more)
        found.append(rest + frobenius(allowed_entries(G @ G.T, signs)) * more + error.sum(1).max())
    for dual in duals:
        need(np.array_equal(dual["features"], features), "a dual about other features")
        P, tau, F = dual["P"].copy(), dual["tau"], dual["L"]
        np.fill_diagonal(P, 0)
        sizes = np.abs(A) + np.abs(P) + np.abs(P.T) + np.abs(F) @ np.abs(F).T + np.diag(np.abs(tau))
        eigen = top(A - F @ F.T - (P + P.T) / 2 + np.diag(tau), gamma(F.shape[1] + 6) * sizes)
        squares = np.square(allowed_entries(P, signs)).T
        # A feature that must be used is one whose term outweighs all others.
        heavy = 2 * squares.sum(0) + 1e-300
        reach = (L(squares + np.diag(heavy)) - heavy) + 16 * n * U * heavy
        terms = bracket(np.maximum(reach, 0), tau) + (F**2).sum(1)
        found.append(eigen + float(L(terms)) * more)
    return min(found) + 16 * places * U * np.abs(np.diag(A)).max()


# ------------------------------------------------------------------- files


def read_certificate(path):
    """The arrays of a certificate, each of the right kind; nothing is executed."""
    with np.load(path, allow_pickle=False) as file:
        stored = {name: file[name] for name in file.files}
    for name, array in stored.items():
        kind = array.dtype.kind
        need(kind in "iubU" or array.dtype == np.float64, f"{name} is {array.dtype}")
        need(kind != "f" or np.isfinite(array).all(), f"{name} holds NaN or infinity")
    return stored


def constraint_of(stored):
    """The rule rivals keep, as plain values."""
    told = json.loads(str(stored["constraint"]))
    rule = {"kind": told["class"].rpartition(":")[2]}
    for name, value in told["fields"].items():
        if isinstance(value, dict):
            inner = value.get("items")
            value = (
                stored["constraint_" + value["name"]]
                if value["is"] == "array"
                else [v["items"] for v in inner]
            )
        rule[name] = value
    if rule["kind"] == "Groups":
        rule["n_features"] = len(rule["labels"])
    for name in ("n_features", "n_nonzero", "n_groups", "per_group"):
        if rule.get(name) is not None:
            need(type(rule[name]) is int and rule[name] >= 1, f"{name} is {rule[name]!r}")
    return rule


def check_features(indices, n, name, ascending=True):
    need(indices.dtype.kind in "iu" and indices.ndim == 1, f"{name} are no whole numbers")
    need(((indices >= 0) & (indices < n)).all(), f"{name} lie beyond {n} features")
    need(
        not ascending or all(a < b for a, b in pairwise(indices.tolist())), f"{name} do not ascend"
    )


def proof_of(stored, n):
    """The cases in order; each has its duals, a feature (or -1) and whether supports are listed."""
    sizes, numbers, features = stored["dual_sizes"], stored["dual_numbers"], stored["dual_features"]
    counts, branch, ends = (stored["node_" + name] for name in ("duals", "features", "listed"))
    need(sizes.ndim == 2 and sizes.dtype.kind in "iu" and (sizes >= 0).all(), "sizes of duals")
    need(len(counts) == len(branch) == len(ends) and ends.dtype == bool, "lists of cases differ")
    need((counts >= 0).all() and counts.sum() == len(sizes), "duals and cases do not match")
    check_features(branch + 1, n + 1, "features to branch on", ascending=False)
    shapes = [(int(m), int(r), int(limited)) for m, r, limited in sizes.tolist()]
    need(sum(m for m, _, _ in shapes) == len(features), "features of duals")
    need(sum(m * (m + 1 + r + (q > 0)) for m, r, q in shapes) == len(numbers), "numbers of duals")
    duals = []
    for m, r, limited in shapes:
        own, features = features[:m], features[m:]
        check_features(own, n, "features of a dual")
        P, tau, L, limits, numbers = np.split(
            numbers, np.cumsum([m * m, m, m * r, m * (limited > 0)])
        )
        need((limits >= 0).all(), "a negative limit")
        dual = {"features": own, "P": P.reshape(m, m), "tau": tau, "L": L.reshape(m, r)}
        duals.append(dual | {"limits": limits if limited else None})
    start = np.concatenate([[0], np.cumsum(counts)])
    return [
        {
            "duals": duals[start[i] : start[i + 1]],
            "feature": int(branch[i]),
            "listed": bool(ends[i]),
        }
        for i in range(len(counts))
    ]


def read_data(path):
    if str(path).endswith(".npy"):
        return np.load(path, allow_pickle=False)
    if str(path).endswith(".npz"):
        with np.load(path, allow_pickle=False) as file:
            tables = [file[name] for name in file.files if file[name].ndim == 2]
        need(len(tables) == 1, f"{path} holds {len(tables)} tables, not one")
        return tables[0]
    with open(path) as file:
        first = file.readline().split(",")[0].strip()
    header = 0 if first.lstrip("+-").replace(".", "", 1).replace("e", "", 1).isdigit() else 1
    return np.loadtxt(path, delimiter=",", skiprows=header)


def covariances(data):
    """The covariance of the data, then its correlation; a symmetric matrix is taken as it is."""
    need(
        data.ndim == 2 and data.dtype.kind in "fiu",
        f"data of {data.dtype} and {data.ndim} dimensions",
    )
    X = data.astype(float)
    need(np.isfinite(X).all(), "the data holds NaN or infinity")
    n = X.shape[1]
    rest = {"thin": np.zeros((n, 0)), "C": np.zeros((0, 0)), "flips": np.ones(n)}
    if X.shape == (n, n) and np.abs(X - X.T).max() <= 1e-12 * np.abs(X).max():
        yield Matrix((X + X.T) / 2, None, **rest), np.nan
        return
    X = X - X.mean(0)
    X -= X.mean(0)
    for scale in (1.0, X.std(0, ddof=1)):
        Z = X / np.where(scale > 1e-12 * np.abs(X).max(), scale, 1.0) / np.sqrt(len(X) - 1)
        yield Matrix(Z.T @ Z if n <= max(WIDE, len(X)) else None, Z, **rest), len(X)


def matrix_about(data, about, precision):
    """The covariance a certificate is about, or a refusal that says how it differs."""
    reasons = []
    for S, n_samples in covariances(data):
        d = S.diagonal()
        z = np.cos(np.square(np.arange(1.0, len(d) + 1.0)))
        here = [len(d), n_samples, d.sum(), d @ d, z @ S.times(z)]
        room = (
            10
            * TOLERANCE[precision]
            * np.array([0, 1e-9, here[2], here[3], here[2] + abs(here[4])])
        )
        known = np.array([True, about[1] > 0 and np.isfinite(n_samples), True, True, True])
        wrong = known & ~(np.abs(np.array(here) - about) <= np.abs(room) + 1e-300)
        if not wrong.any():
            return S
        names = (
            "number of features",
            "number of samples",
            "total variance",
            "variances",
            "covariances",
        )
        reasons.append(names[int(np.argmax(wrong))])
    why = f"made for other data: another {reasons[0]}"
    raise Refused(why)


# ------------------------------------------------------------------- the statement


def variance(S, w):
    at = np.flatnonzero(w)
    return float(w[at] @ S.on(at) @ w[at] / (w[at] @ w[at]))


def check_component(rule, signs, w, name, rounding):
    """The vector is finite, of unit length, and keeps the rule."""
    n = rule["n_features"]
    need(w.dtype == np.float64 and w.shape == (n,) and np.isfinite(w).all(), f"{name} is malformed")
    need(abs(np.linalg.norm(w) - 1) <= rounding, f"{name} has norm {np.linalg.norm(w)}")
    need(not w[rule["forbidden"]].any(), f"{name} uses a forbidden feature")
    need(signs is None or (signs * w >= 0).all(), f"{name} has a loading of the wrong sign")
    if rule["kind"] == "Groups":
        labels, counts = np.unique(rule["labels"][w != 0], return_counts=True)
        need(len(labels) <= rule["n_groups"], f"{name} uses too many groups")
        need(counts.max() <= (rule["per_group"] or n), f"{name} uses too many of a group")
    elif rule["kind"] == "L1Budget":
        need(np.abs(w).sum() <= rule["budget"] * (1 + rounding), f"{name} exceeds its budget")
    else:
        used = np.union1d(np.flatnonzero(w), rule.get("forced", []))
        need(len(used) <= (rule["n_nonzero"] or n), f"{name} uses {len(used)} features")


def signs_of(rule):
    """+1, -1 or 0 (either) for each feature; None where all are free."""
    n = rule["n_features"]
    if rule["kind"] != "Signs":
        return np.ones(n) if rule["nonnegative"] else None
    signs = np.zeros(n)
    for feature, sign in rule["pattern"]:
        need(type(feature) is int and 0 <= feature < n and sign in (1, -1), "a sign is malformed")
        signs[feature] = sign
    return signs if np.delete(signs, rule["forbidden"]).any() else None


def verify(path, data):
    """Check a certificate of one component; returns a line that says what is proven."""
    stored = read_certificate(path)
    need("format" in stored and int(stored["format"]) == 3, "this is no certificate of format 3")
    value, claimed, _, best_value = stored["numbers"].tolist()
    precision, _, relation, deflation = stored["texts"].tolist()
    need(precision in TOLERANCE, f"precision {precision!r} is not known")
    tolerance = TOLERANCE[precision]
    rule = constraint_of(stored)
    n = rule["n_features"]
    need(rule["kind"] in ("LoadingConstraint", "Signs", "Groups", "L1Budget"), "unknown constraint")
    need(type(rule.get("nonnegative", False)) is bool, "nonnegative is neither true nor false")
    for name in ("forced", "forbidden"):
        if name in rule:
            check_features(rule[name], n, name)
    for name in ("fixed_in", "fixed_out"):
        check_features(stored[name], n, name)
    signs = signs_of(rule)
    proof = proof_of(stored, n)
    need(len(stored["about"]) == 5 and stored["about"][0] == n, "features and fingerprint differ")
    S = matrix_about(data, stored["about"], precision)
    W = stored["earlier"]
    need(W.shape[1] == 0 or len(W) == n, "earlier components have another length")
    need(relation in ("none", "disjoint", "quasi", "strict", "uncorrelated"), "unknown relation")
    rules = ("schur", "projection", "hotelling")
    need(not deflation or deflation.removeprefix("orthogonalized_") in rules, "unknown deflation")
    need(
        (np.abs(np.linalg.norm(W, axis=0) - 1) <= 1e-5).all(),
        "an earlier component is no unit vector",
    )
    if W.shape[1] and relation in ("none", "quasi"):
        need(deflation, "the rule of deflation is missing")
    measured, bounding, margin = without_earlier(S, W, relation, deflation)
    for w, claim, name in (
        (stored["loading"], value, "loading"),
        (stored["best_loading"], best_value, "best_loading"),
    ):
        check_component(rule, signs, w, name, 10 * tolerance)
        check_relation(S, W, relation, w, rule, precision)
        found = variance(measured, w)
        room = tolerance * (
            max(abs(found), abs(claim)) + (1e-3 * abs(stored["about"][2]) if W.shape[1] else 0)
        )
        need(abs(found - claim) <= room, f"{name} has variance {found:.12g}, not {claim:.12g}")
    w = stored["best_loading"]
    at = np.flatnonzero(w)
    doubt = 16 * len(at) * U * (np.abs(w[at]) @ np.abs(measured.on(at)) @ np.abs(w[at]))
    known = variance(measured, w) - doubt
    bound, left, S_left = recompute(bounding, rule, signs, proof, known - margin)
    bound = max(bound + margin, best_value)
    need(
        bound <= claimed + tolerance * abs(claimed),
        f"the proof gives {bound:.12g}, not {claimed:.12g}",
    )
    need(value <= claimed + tolerance * abs(claimed), "the bound lies below the value")
    for name, shown in zip(
        ("fixed_in", "fixed_out"), fixed_features(S_left, left, n, known - margin), strict=True
    ):
        beyond = np.setdiff1d(stored[name], shown)
        need(len(beyond) == 0, f"{name} names feature(s) {beyond[:5]} without proof")
    arithmetic = "interval arithmetic" if EXACT else "rounding errors bounded"
    after = (
        f", {relation} after {W.shape[1]} earlier component(s) {deflation}".rstrip()
        if W.shape[1]
        else ""
    )
    return (
        f"proven: variance {value:.10g}, no rival above {bound:.13g} (claimed {claimed:.13g}) "
        f"among {rule['kind']}{after}; {len(proof)} case(s), "
        f"{sum(len(c['duals']) for c in proof)} dual(s); double precision, {arithmetic}"
    )


def check_relation(S, W, relation, w, rule, precision):
    """The certified component relates to the earlier ones as it says."""
    if not W.shape[1]:
        return
    if relation == "disjoint":
        used = np.flatnonzero(W.any(1))
        need(
            np.isin(used, rule["forbidden"]).all(),
            "features of earlier components are not forbidden",
        )
    if relation in ("strict", "uncorrelated"):
        V = np.column_stack([W, w])
        G = V.T @ (V if relation == "strict" else S.times(V))
        spread = np.sqrt(np.maximum(np.diag(G), 1e-300))
        cosine = np.abs(G[-1, :-1] / (spread[-1] * spread[:-1])).max()
        need(
            cosine <= (1e-6 if precision == "float64" else 1e-4),
            f"it misses {relation!r} by {cosine:.3g}",
        )


def recompute(S, rule, signs, proof, known):
    """(bound, cases that hold all better vectors, the matrix they are about) by the stored proof."""
    n = rule["n_features"]
    open_ones = np.setdiff1d(np.arange(n), rule["forbidden"])
    every = rule["kind"] == "Signs" and signs is not None and signs[open_ones].all()
    if rule["kind"] == "LoadingConstraint" or (
        rule["kind"] == "Signs" and (every or signs is None)
    ):
        if every:
            S = replace(S, flips=np.where(signs == 0, 1.0, signs))
        forced = np.isin(open_ones, rule.get("forced", []))
        size = min(rule["n_nonzero"] or n, len(open_ones))
        case = Case(open_ones, forced, np.zeros(len(open_ones), bool), size, signs is not None)
        need(forced.sum() <= size, "more features are forced than fit")
        return (*prove(S, case, known, proof), S)
    need(len(proof) == 1 and proof[0]["feature"] < 0, "cases are not known for this constraint")
    inner = rule | {"signs": None if signs is None else signs[open_ones]}
    if rule["kind"] == "Groups":
        inner |= {"labels": rule["labels"][open_ones], "per_group": rule["per_group"] or n}
    inner["size"] = min(rule.get("n_nonzero") or n, len(open_ones))
    places = float(largest_sum(inner, np.ones(len(open_ones))))
    inner["l1"] = rule["budget"] if rule["kind"] == "L1Budget" else np.sqrt(places)
    bound = general_bound(S, inner, proof[0]["duals"], open_ones)
    blank = np.zeros(len(open_ones), bool)
    return (
        bound,
        [Case(open_ones, blank, blank, len(open_ones), False)] if len(open_ones) else [],
        S,
    )


def check(path, data):
    """(whether the certificate holds, a line about it); data is a table or the path of one."""
    try:
        return True, verify(path, data if isinstance(data, np.ndarray) else read_data(data))
    except Refused as refusal:
        return False, f"NOT PROVEN: {refusal}"
    except Exception as error:
        # Whatever else a forged file provokes is a refusal too.
        return False, f"NOT PROVEN: it cannot be checked ({type(error).__name__}: {error})"


def main():
    global EXACT
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("certificate")
    parser.add_argument("data", help="NPY, NPZ or CSV: samples in rows, or a covariance")
    parser.add_argument("--exact", action="store_true", help="use python-flint")
    given = parser.parse_args()
    EXACT = given.exact
    holds, line = check(given.certificate, given.data)
    print(line)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
