"""Check a certificate without loadstone: ``python verify_certificate.py CERTIFICATE DATA``.

One file, NumPy alone, no code in common with the package that wrote the certificate. DATA is an
NPY or CSV file with samples in rows, or a covariance: a symmetric matrix. Proofs, names and
formats are those of the pages ``docs/certificates.md`` (one component) and
``docs/joint_certificates.md`` (several together).

Read from the top to ``prove``, then ``verify_one``: that is the whole proof of a component. What
comes between are special cases (bounds without a stored dual, single supports, several components
together) and the reading of files.

What is assumed: numbers are IEEE doubles, and a matrix product is a sum of products in any order.
No eigensolver and no factorisation is trusted: what they return is checked (``top``). With
``--exact`` and python-flint these checks are done in intervals of 160 bits.
"""

import json
import sys
from dataclasses import dataclass, replace
from itertools import chain, combinations, pairwise, product

import numpy as np

U = 2.0**-53
TOLERANCE = {"float64": 1e-9, "float32": 1e-5}  # of stated numbers, by precision of the data
KEPT_TO = {"float64": 1e-6, "float32": 1e-4}  # largest cosine between what is called orthogonal
WIDE = 1500  # features from which on matrices are not decomposed as a whole
MANY = 60_000  # supports that may all be tried
LISTED = 4_000_000  # supports that a dual may leave to be listed
RANGE, LARGEST = 1e120, 1e150  # of covariances, and of stored numbers: they are multiplied
FLINT = None  # the module, with --exact


class Refused(Exception):
    """The certificate does not hold; the message says why."""


def need(condition, why):
    """Go on only if the condition is plainly true; NaN makes comparisons false."""
    if not bool(condition):
        raise Refused(why)


# ------------------------------------------------------------------- arithmetic, from above


def gamma(n):
    return n * U / (1 - n * U)


def up(x, n=16):
    """A number after n roundings of non-negative terms, made larger than the exact one."""
    need(not np.isnan(x).any(), "numbers leave their range")
    return x + 4 * n * U * np.abs(x) + 1e-300


def value_of(part):
    X, Y = part if isinstance(part, tuple) else (part, None)
    return X if Y is None else X @ np.swapaxes(Y, -1, -2)


def off(M, *parts):
    """|M - sum of parts| entry by entry, from above; a pair (X, Y) stands for XY'."""
    if FLINT:
        return exactly_off(M, *parts)
    sizes = [value_of(tuple(map(np.abs, p)) if isinstance(p, tuple) else np.abs(p)) for p in parts]
    n = sum(p[0].shape[-1] if isinstance(p, tuple) else 1 for p in parts)
    return np.abs(M - sum(map(value_of, parts))) + gamma(n + 3) * (np.abs(M) + sum(sizes))


def exactly_off(M, *parts):
    exact = lambda X: FLINT.arb_mat(*X.shape, X.ravel().tolist())
    rest = exact(M)
    for p in parts:
        rest = rest - (exact(p[0]) * exact(p[1].T) if isinstance(p, tuple) else exact(p))
    return up(np.array([float(abs(x).upper()) for x in rest.entries()]).reshape(M.shape))


def minus(A, *parts):
    """A less the parts, and how far rounding may have put each entry off."""
    D = A - sum(map(value_of, parts))
    return D, off(A, D, *parts)


def top(M, error=0.0):
    """A bound of lambda_max for every symmetric matrix within ``error`` of M, or of each of a stack.

    If tI - M = GG' + R then lambda_max(M) <= t + |R|, |R| the largest absolute row sum, for any G.
    """
    if FLINT and M.ndim == 3:
        return np.array([top(part) for part in M])
    n, rows = M.shape[-1], np.abs(M).sum(-1).max(-1)
    t, shift = np.linalg.eigvalsh(M)[..., -1], 4 * n * U * rows + 1e-300
    for _ in range(60):
        tI = (t + shift)[..., None, None] * np.eye(n)
        try:
            G = np.linalg.cholesky(tI - M)
        except np.linalg.LinAlgError:
            shift = shift * 4
            continue
        R = off(tI, M, (G, G)) + error
        return up(t + shift + up(R.sum(-1).max(-1), n))
    return up(rows + np.broadcast_to(error, M.shape).sum(-1).max(-1), n + 4)


def ky_fan(S, error, r, K=None, K_error=0.0):
    """The r largest eigenvalues of S g = t K g, summed; without K those of S.

    K >= kI and S <= tK + FF' + dI with F = KH give KF_r(S, K) <= rt + tr H'KH + rd/k, for any H.
    """
    K, r = np.eye(len(S)) if K is None else K, min(r, len(S))
    kappa = -top(-K, K_error)
    if not kappa > 0:
        return np.inf
    root = np.linalg.inv(np.linalg.cholesky(K))
    values, V = np.linalg.eigh(root @ S @ root.T)
    t = values[-r]
    H = (root.T @ V[:, -r:]) * np.sqrt(np.maximum(values[-r:] - t, 0))
    F, tK = K @ H, t * K
    D, doubt = minus(S, tK, (F, F))
    d = max(0.0, top(D, doubt + error + abs(t) * K_error + 2 * U * np.abs(tK)))
    delta = off(F, (K, H.T)) + up(np.broadcast_to(K_error, K.shape) @ np.abs(H), len(S))
    trace = np.sum(H * F) + np.sum(np.abs(H) * (delta + gamma(H.size + 2) * np.abs(F)))
    root = np.sqrt(max(trace, 0)) * (1 + 8 * U) + np.linalg.norm(delta) * 1.001 / np.sqrt(kappa)
    return up(r * t + root**2 + r * d / kappa) + 16 * U * (abs(r * t) + root**2)


# ------------------------------------------------------------------- the matrix of a statement


@dataclass
class Matrix:
    """A covariance, stored or as centred samples Z'Z, less ``thin C thin'``."""

    stored: np.ndarray | None
    Z: np.ndarray | None
    thin: np.ndarray
    C: np.ndarray

    def block(self, rows, cols):
        stored, Z = self.stored, self.Z
        part = Z[:, rows].T @ Z[:, cols] if stored is None else stored[np.ix_(rows, cols)]
        return part - self.thin[rows] @ self.C @ self.thin[cols].T if len(self.C) else part

    @property
    def is_samples(self):
        """Whether it is Z'Z, so that A_ij^2 <= A_ii A_jj."""
        return self.Z is not None and not len(self.C)

    def on(self, features):
        part = self.block(features, features)
        return (part + part.T) / 2

    def diagonal(self):
        d = (self.Z**2).sum(0) if self.stored is None else np.diag(self.stored)
        return d - np.einsum("ij,jk,ik->i", self.thin, self.C, self.thin)

    def times(self, w):
        plain = self.Z.T @ (self.Z @ w) if self.stored is None else self.stored @ w
        return plain - self.thin @ (self.C @ (self.thin.T @ w))

    def less(self, thin, C):
        blank = np.zeros((len(self.C), len(C)))
        joined = np.block([[self.C, blank], [blank.T, np.atleast_2d(C)]])
        return replace(self, thin=np.column_stack([self.thin, thin]), C=joined)


def without_earlier(S, W, relation, deflation):
    """The matrix in which variances are measured, the one that bounds them, and a margin."""
    m = W.shape[1]
    if m and relation in ("strict", "uncorrelated"):
        # S - QY' - YQ' has the same w'Sw wherever Q'w = 0, for any Y.
        Q, doubt = W, 0.0
        if relation == "uncorrelated":
            Q, spread = S.times(W), np.sqrt(np.maximum(S.diagonal(), 0))
            terms = len(W) if S.Z is None else len(S.Z) + len(W)
            doubt = 2 * U * (terms + 8) * np.linalg.norm(spread) * (spread @ np.abs(W))
        inverse = np.linalg.pinv(Q)
        T = S.times(inverse.T)
        Y = T - Q @ (inverse @ T) / 2
        margin = 2 * doubt + 16 * (m + 2) * U * np.linalg.norm(Q, axis=0)
        swap = np.kron([[0, 1], [1, 0]], np.eye(m))
        bounding = S.less(np.hstack([Q, Y]), swap)
        return S, bounding, float(np.sum(margin * np.linalg.norm(Y, axis=0)))
    for j in range(m if deflation else 0):
        w, rule = W[:, j], deflation.removeprefix("orthogonalized_")
        if rule != deflation:
            basis = np.linalg.qr(W[:, :j])[0]
            q = w - basis @ (basis.T @ w)
            q = q - basis @ (basis.T @ q)
            w = q / np.linalg.norm(q) if np.linalg.norm(q) > 1.5e-8 else w
        Sw = S.times(w)
        if rule == "schur":
            S = S.less(Sw, [[1 / (w @ Sw)]])
        elif rule == "hotelling":
            S = S.less(w, [[w @ Sw]])
        else:
            S = S.less(np.column_stack([w, Sw]), [[-(w @ Sw), 1.0], [1.0, 0.0]])
    return S, S, 0.0


# ------------------------------------------------------------------- who competes


@dataclass
class Case:
    """Vectors on at most ``size`` of ``features`` (of groups, where there are labels)."""

    features: np.ndarray
    forced: np.ndarray  # these hold a place
    nonzero: np.ndarray  # forced by a proof, so that these loadings are not zero
    size: int
    signs: np.ndarray | None = None  # +1, -1, or 0 for either
    labels: np.ndarray | None = None
    per_group: int | None = None
    budget: float | None = None  # of the sum of absolute loadings, where the size says less
    slices: tuple = ()  # pairs (g, h): only vectors with (g'x)(h'x) <= 0

    @property
    def room(self):
        return self.size - int(self.forced.sum())

    @property
    def signed(self):
        """Whether every loading has a given sign, and only the size counts otherwise."""
        return self.signs is not None and self.signs.all() and self.labels is self.budget is None

    @property
    def plain(self):
        """Whether only the size counts, and no or every sign is given."""
        return self.signed or (self.signs is self.labels is self.budget is None)

    @property
    def solvable(self):
        """Whether a single support is left whose faces can be gone through."""
        one = self.single()
        n, undecided = len(one.features), int((~one.nonzero).sum())
        if not self.plain or n > min(self.size, WIDE):
            return False
        return self.signs is None or undecided == 0 or 2.0 ** (undecided + 1) * n**3 <= 3e6

    def keep(self, mask):
        part = lambda x: None if x is None else x[mask]
        names = ("features", "forced", "nonzero", "signs", "labels")
        return replace(self, **{n: part(getattr(self, n)) for n in names}).sized(self.size)

    def sized(self, size):
        return replace(self, size=min(size, len(self.features)))

    def force(self, mask):
        return replace(self, forced=self.forced | mask, nonzero=self.nonzero | mask)

    def single(self):
        return self.keep(self.forced) if self.room == 0 else self


def best_of(Q, count):
    """The sum of the ``count`` largest entries of each row."""
    return -np.sort(-Q, axis=1)[:, :count].sum(1)


def largest(terms, case):
    """The largest sum of non-negative terms over one support."""
    if case.labels is not None:
        groups = [terms[None, case.labels == g] for g in np.unique(case.labels)]
        terms = np.array([best_of(part, case.per_group)[0] for part in groups])
        return up(float(best_of(terms[None], case.size)[0]), len(terms))
    free = best_of(terms[None, ~case.forced], case.room)[0]
    return up(float(terms[case.forced].sum() + free), len(terms))


def reaches(Q, case, rows=None, limits=None, columns=slice(None)):
    """Row by row the largest sum over a support with the row's own feature, its own entry zero.

    Also the smallest entry that is counted: up to it further ones may join the row at no cost.
    With ``limits``, as if any number of entries of that size had joined. Q may have some columns
    only, if there are no groups.
    """
    rows, forced = np.arange(len(Q)) if rows is None else rows, case.forced[columns]
    if case.labels is not None:
        names, mine = np.unique(case.labels, return_inverse=True)
        sums = [best_of(Q[:, mine == g], case.per_group) for g in range(len(names))]
        others = np.where(mine[rows, None] == np.arange(len(names)), 0, np.column_stack(sums))
        own = np.where(mine[rows, None] == mine, Q, 0)
        return best_of(own, case.per_group - 1) + best_of(others, case.size - 1), None
    free, room = Q[:, ~forced], case.room - ~case.forced[rows]
    if limits is None:
        limits = np.zeros(len(Q))
    else:
        free = np.maximum(free, limits[:, None])
    at, width, most = np.arange(len(Q)), free.shape[1], int(np.clip(room.max(), 0, free.shape[1]))
    free = np.partition(free, width - most, axis=1)[:, width - most :] if most else free[:, :0]
    free, count = -np.sort(-free, axis=1), np.clip(room, 0, width)
    sums = np.cumsum(np.pad(free, ((0, 0), (1, 0))), axis=1)[at, count]
    reach = Q[:, forced].sum(1) + sums + np.maximum(room - width, 0) * limits
    edge = limits if not most else np.where(room >= width, limits, free[at, count - 1])
    return reach, np.where(room > 0, edge, np.inf)


def allowed(P, signs, row_signs=None):
    """What entries can contribute: |P_ij|, or the part that two given signs leave."""
    if signs is None:
        return np.abs(P)
    if (signs > 0).all() and (row_signs is None or (row_signs > 0).all()):
        return np.maximum(P, 0)
    pair = np.outer(signs if row_signs is None else row_signs, signs)
    return np.where(pair == 0, np.abs(P), np.maximum(pair * P, 0))


# ------------------------------------------------------------------- the bound of a dual


def bracket(reach, tau):
    """(sqrt(phi^2 + tau^2) - tau)/2, without cancellation."""
    root, divided = np.hypot(np.sqrt(reach), tau), (tau > 0) & np.isfinite(reach)
    return np.where(divided, reach / (2 * np.where(divided, root + tau, 1)), (root - tau) / 2)


def terms_of(case, P, tau, L, limits=None):
    """w_i, rounded upwards, and the largest entries that may join the rows of P."""
    Q = np.square(allowed(P, case.signs))
    np.fill_diagonal(Q, 0)
    reach, edge = reaches(Q, case, limits=limits)
    return up(bracket(reach, tau) + (L**2).sum(1), len(Q) + L.shape[1] + 8), edge


def eigen_of(A, P, tau, L, tilts=()):
    """lambda_max(A - LL' - (P + P')/2 + diag tau); the diagonal of P counts as zero.

    A tilt (rho, g, h) adds -rho (gh' + hg')/2, which is no loss where (g'x)(h'x) <= 0.
    """
    P = P - np.diag(np.diag(P))
    pairs = [np.column_stack([rho * g / 2, h]) for rho, g, h in tilts]
    bent = [(X, X[:, ::-1]) for X in pairs]
    M, doubt = minus(A, (L, L), P / 2, P.T / 2, -np.diag(tau), *bent)
    # The product rho g was rounded as well.
    return float(top(M, doubt + sum(8 * U * value_of(tuple(map(np.abs, b))) for b in bent)))


def tilts_of(case, known, dual):
    """Slices that count: those about features that the dual knows, so that other rows are A's."""
    rho, beyond, at = dual["rho"], case.features[~known], case.features[known]
    need(len(rho) <= len(case.slices), "more multipliers than slices")
    counted = [not (g[beyond].any() or h[beyond].any()) for g, h in case.slices]
    given = zip(rho, case.slices, counted, strict=False)
    return [(r, g[at], h[at]) for r, (g, h), counts in given if counts]


def evaluate(S, case, dual):
    """What a dual proves: (bound, eigenvalue part, terms w_i)."""
    known = np.isin(case.features, dual["features"])
    at = np.searchsorted(dual["features"], case.features[known])
    P, tau, L = dual["P"][np.ix_(at, at)], dual["tau"][at], dual["L"][at]
    inside = replace(case.keep(known), size=case.size)
    eigen = eigen_of(S.on(inside.features), P, tau, L, tilts_of(case, known, dual))
    limits = None if known.all() or dual["limits"] is None else dual["limits"][at] ** 2
    terms = np.empty(len(known))
    terms[known], edge = terms_of(inside, P, tau, L, limits)
    if not known.all():
        need(case.labels is None, "a dual must know every feature of groups")
        counted = -np.sort(-terms[known])[: case.size].min() if known.sum() >= case.size else 0.0
        terms[~known] = terms_outside(S, case, known, np.sqrt(edge), eigen, counted)
    return eigen + largest(terms, case) + last_bits(S, case), eigen, terms


def terms_outside(S, case, known, edge, eigen, counted):
    """w_i of features the dual does not know: p_ij takes what row j cannot bear of 2 A_ij.

    A covariance of samples obeys A_ij^2 <= A_ii A_jj. Where that keeps w_i far below what is
    ``counted`` (for all j, then for those the dual does not know), the row is not formed.
    """
    outside, own = np.flatnonzero(~known), up(S.diagonal()[case.features], len(case.features))
    terms, stages = np.full(len(outside), np.inf), [(np.ones(len(known), bool), 0.0)]
    if S.is_samples:
        terms = bracket(4 * own[outside] * largest(own, case), eigen - own[outside])
        stages = [(known, largest(own[~known], case.keep(~known))), *stages]
    for columns, beyond in stages:
        near = np.flatnonzero((terms >= counted / 4) | case.forced[outside])
        for part in np.array_split(near, len(near) // 128 + 1) if len(near) else ():
            rows = outside[part]
            reach = row_reach(S, case, known, columns, rows, edge) + own[rows] * beyond
            terms[part] = bracket(reach, eigen - own[rows])
    return up(terms, len(known) + 8)


def row_reach(S, case, known, columns, rows, edge):
    """phi_i^2 of rows the dual does not know, as far as some columns go."""
    at, known, row_signs = case.features[columns], known[columns], None
    row, signs = S.block(case.features[rows], at), case.signs
    if signs is not None:
        row_signs, signs = signs[rows], signs[columns]
    # What two signs forbid costs nothing; a forced feature counts in every row that takes more.
    twice = 2 * row[:, known]
    costly = allowed(twice, None if signs is None else signs[known], row_signs) > 0
    given = np.where(case.forced[rows, None], 0, np.clip(twice, -edge, edge))
    row[:, known] = np.where(costly, twice - given, 0)
    row[case.features[rows, None] == at] = 0
    return reaches(np.square(allowed(row, signs, row_signs)), case, rows, columns=columns)[0]


def last_bits(S, case):
    """Room for differences between two computations of the same block of S."""
    size = largest(np.ones(len(case.features)), case)
    return 16 * size * U * np.abs(S.diagonal()[case.features]).max(initial=0)


def screened(case, bound, terms, value):
    """The case without features that no vector above ``value`` uses, those it must use forced."""
    free, room = np.flatnonzero(~case.forced), case.room
    if not case.plain or room == 0 or len(free) <= room or not np.isfinite(bound):
        return case
    order = free[np.argsort(-terms[free], kind="stable")]
    last, following = terms[order[room - 1]], terms[order[room]]
    slack = 1e-13 * (abs(bound) + abs(value))
    must, keep = np.zeros(len(terms), bool), np.ones(len(terms), bool)
    must[order[:room]] = bound + slack < value + terms[order[:room]] - following
    keep[order[room:]] = ~(bound + slack < value + last - terms[order[room:]])
    return case.force(must).keep(keep)


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
    # A feature the user forced keeps its place even where its loading is zero.
    without = case.keep(~at).sized(case.size - int(case.forced[at].all()))
    return case.force(at), without if without.size else None


def sliced(case, lines):
    """The case between each line and the next; f_s = d_s'x goes from f_0 to f_m = -f_0.

    So f_s f_{s+1} <= 0 for some s, whatever the lines are.
    """
    ends = [*lines.T, -lines[:, 0]]
    return [replace(case, slices=(*case.slices, pair)) for pair in pairwise(ends)]


def prove(S, case, value, proof, claimed=-np.inf):
    """(bound for every rival, cases that hold all vectors above ``value``).

    Nothing better than ``claimed`` is looked for.
    """
    waiting, bounds, parents, left = [(case, -1)], [], [], []
    need(case.plain or len(proof) == 1, "cases of an unknown kind")
    for number, node in enumerate(proof):
        need(waiting, "the proof has more cases than its tree")
        here, parent = waiting.pop()
        bound, here, ends = one_case(S, here, value, node, claimed)
        bounds.append(bound)
        parents.append(parent)
        if not node["children"]:
            left += ends
            continue
        parts = [None] * node["children"]
        if here is not None:
            by_line = node["lines"].size
            parts = sliced(here, node["lines"]) if by_line else split(here, node["feature"])
        waiting += [(part, number) for part in parts[::-1]]
    need(not waiting and bounds, "the proof lacks some of its cases")
    below = [-np.inf] * len(bounds)
    for i in range(len(bounds) - 1, -1, -1):
        if below[i] > -np.inf:
            bounds[i] = min(bounds[i], max(below[i], value))
        if parents[i] >= 0:
            below[parents[i]] = max(below[parents[i]], bounds[i])
    return max(bounds[0], value), left


def one_case(S, case, value, node, claimed):
    """(bound of one case, what its duals leave of it, what stays open at its end)."""
    bound = np.inf
    for dual in node["duals"] if case is not None else ():
        if not np.isin(dual["features"], case.features).any():
            continue
        found, _, terms = evaluate(S, case, dual)
        bound = min(bound, max(found, value))
        case = None if found <= value else screened(case, found, terms, value)
        if case is None:
            break
    if case is None:
        return value, None, []
    if node["children"] and np.isfinite(bound):
        return bound, case, []
    if case.solvable:
        one = case.single()
        room = last_bits(S, case)
        found = max(value, solved(S.on(one.features), one, value - room) + room)
    elif node["listed"] and not case.plain:
        found = max(min(instant(S, case), all_listed(S, case, value)), value)
    elif node["listed"] and node["duals"]:
        found, left = listed(S, case, node["duals"][-1], value)
        return min(bound, found), case, left
    else:
        found = bound if bound <= claimed else max(instant(S, case), value)
    return min(bound, found), case if found > value else None, [case] if found > value else []


def fixed_features(S, left, n, value):
    """Features of every, and of no, vector above ``value``."""
    used, certain = np.zeros(n, bool), np.full(n, bool(left))
    for case in left:
        used[case.features] = True
        sure, one = case.features[case.nonzero], case.single()
        if case.solvable and case.size <= 60:
            rest = [one.features[one.features != i] for i in one.features]
            needed = [not len(r) or top(S.on(r)) <= value for r in rest]
            sure = np.union1d(sure, one.features[needed])
        certain &= np.isin(np.arange(n), sure)
    return np.flatnonzero(certain), np.flatnonzero(~used & bool(left))


# ------------------------------------------------------------------- bounds without a stored dual


def row_limits(part, case, rows):
    """The largest sum, and sum of squares, of rows over a support with the row's own feature."""
    part = allowed(part, case.signs, None if case.signs is None else case.signs[rows])
    at = np.arange(len(rows))
    own = part[at, rows]
    part[at, rows] = 0
    return [up(reaches(part**p, case, rows)[0] + own**p, part.shape[1]) for p in (1, 2)]


def instant(S, case):
    """The smallest limit that can be read off the matrix; most are duals one need not store."""
    found = small_matrix(S, case) if len(case.features) <= WIDE else wide_matrix(S, case)
    return float(min(found)) + last_bits(S, case)


def rows_and_norm(sums, squares, case):
    """Row sums bound eigenvalues, and so does the root of all squares, over one support."""
    in_all = case.room == 0 and case.labels is None
    return [sums[case.forced].max() if in_all else sums.max(), up(np.sqrt(largest(squares, case)))]


def factors(values, V):
    """L with a share of the leading directions, so that A - LL' has equal eigenvalues there."""
    positive = int((values > 0).sum())
    for c in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89):
        if c <= positive and c < len(values):
            yield V[:, -c:], np.maximum(values[-c:] - max(values[-c - 1], 0), 0)


def small_matrix(S, case):
    A, n = S.on(case.features), len(case.features)
    zero, rows, (values, V) = np.zeros(n), np.arange(n), np.linalg.eigh(A)
    nothing = np.zeros((n, n)), zero, np.zeros((n, 1))
    found = [eigen_of(A, *nothing), *rows_and_norm(*row_limits(A, case, rows), case)]
    if case.signs is not None:
        found.append(top(allowed(A, case.signs)))
    for vectors, parts in [(V, values - min(values[0], 0)), *factors(values, V)]:
        L = vectors * np.sqrt(parts)
        rest, squares = eigen_of(A, *nothing[:2], L), np.square(L).sum(1)
        found.append(rest + largest(up(squares, n), case))
        norm = rows_and_norm(*row_limits(L @ L.T, case, rows), case)[1]
        found.append(rest + norm + gamma(n + 2) * squares.sum())
    return found if case.plain else found + soft_thresholds(A, case)


def soft_thresholds(A, case):
    """lambda_max(soft(A, t)) + t |w|_1^2: A differs from soft(A, t) by at most t in every entry."""
    limit = case.budget**2 if case.budget else largest(np.ones(len(A)), case)
    sources = [A] if case.signs is None else [A, allowed(A, case.signs)]

    def soft(t):
        parts = [np.sign(B) * np.maximum(np.abs(B) - t, 0) for B in sources]
        return min(float(top(B, U * np.abs(B))) for B in parts) + up(t * limit)

    steps = 4 if len(A) > 400 else 12
    grid = np.abs(A).max() * np.linspace(0, 1, steps + 1) ** 2
    found = [soft(t) for t in grid]
    at = int(np.argmin(found))
    between = np.linspace(grid[max(at - 1, 0)], grid[min(at + 1, steps)], steps)
    return found + [soft(t) for t in between]


def wide_matrix(S, case):
    """The same for thousands of features: a few rows at a time, or in the space of samples."""
    n, own = len(case.features), up(np.maximum(S.diagonal()[case.features], 0))
    squares, sums, order = np.full(n, np.inf), np.full(n, np.inf), np.arange(n)
    if S.is_samples:
        # Samples obey A_ij^2 <= A_ii A_jj; rows are formed while that leaves them in question.
        squares = up(own * largest(own, case), n)
        sums = up(np.sqrt(own) * largest(np.sqrt(own), case), n)
        order = np.argsort(-own)
    for rows in np.array_split(order, n // 128 + 1):
        ahead = np.sort(squares)[-min(case.size, n)] if np.isfinite(squares).all() else -np.inf
        if ahead > squares[rows].max() and sums.max() > sums[rows].max():
            break
        part = S.block(case.features[rows], case.features)
        sums[rows], squares[rows] = row_limits(part, case, rows)
    found = rows_and_norm(sums, squares, case)
    if not S.is_samples or len(S.Z) > WIDE:
        return found
    # X'X = X'(I - FF')X + LL' with L = X'F, for any F; I - FF' = HH' with H = I - Vdiag(h)V'.
    X = S.Z[:, case.features]
    values, V = np.linalg.eigh(X @ X.T)
    doubt = 64 * (sum(X.shape) + 8) * U * np.linalg.norm(X) ** 2
    for vectors, parts in [(V[:, -1:], np.zeros(1)), *factors(values, V)]:
        share = np.sqrt(parts / values[-len(parts) :])
        Y = X - (vectors * (1 - np.sqrt(1 - share**2))) @ (vectors.T @ X)
        L = up(np.square((vectors * share).T @ X).sum(0), len(X))
        found.append(top(Y @ Y.T) + doubt + largest(L, case))
    return [*found, largest(own, case)]


# ------------------------------------------------------------------- single supports


def multiplied(A):
    """(a bound of x'Ax over unit x >= 0, what some x reaches): x'Ax <= x'(A + Z)x for any Z >= 0.

    At an x whose gradient is positive at none of its zeros, Z takes it away.
    """
    x, at = np.zeros(len(A)), np.arange(len(A))
    while not x.any():
        v = np.linalg.eigh(A[np.ix_(at, at)])[1][:, -1]
        v = v * (np.sign(v.sum()) or 1)
        if (v > 0).all() or len(at) == 1:
            x[at] = np.abs(v)
        at = at[v > 0] if (v > 0).any() else at[:1]
    g = A @ x
    if (g[x == 0] > 0).any():
        return np.inf, -np.inf
    Z = np.where((x == 0)[:, None], np.maximum(-g[:, None] * x, 0), 0)
    return float(top(*minus(A, -(Z + Z.T)))), float(x @ g)


def solved(A, case, value):
    """The largest x'Ax over unit x on all features of a case, from above; or ``value``."""
    if case.signs is None:
        return max(value, float(top(A)))
    given, turn = case.signs != 0, np.where(case.signs < 0, -1.0, 1.0)
    A = A * np.outer(turn, turn)
    if given.all():
        limit, found = multiplied(A)
        if limit <= max(value, found + 1e-12 * abs(found)) or not case.solvable:
            return max(value, min(limit, float(top(A)), float(top(np.maximum(A, 0)))))
    best, work = value, [(np.ones(len(A), bool), case.nonzero)]
    while work:
        inside, nonzero = work.pop()
        at = np.flatnonzero(inside)
        B, signed = A[np.ix_(at, at)], given[at]
        clipped = np.where(np.outer(signed, signed), np.maximum(B, 0), np.abs(B))
        limit = float(min(top(B), top(clipped)))
        if limit <= best:
            continue
        values, V = np.linalg.eigh(B)
        v = V[:, -1] * (np.sign(V[signed, -1].sum()) or 1)
        # A maximum without zeros is a leading eigenvector: where that has wrong signs for certain,
        # some loading with a sign is zero. Zeros of ``nonzero`` loadings are treated elsewhere.
        gap = values[-1] - values[-2] if len(at) > 1 else np.inf
        error = 1e-9 + 64 * len(at) * U * np.abs(B).sum(1).max() / max(gap, 1e-300)
        undecided, lowest = signed & ~nonzero[at], v[signed].min(initial=0)
        if lowest >= -1e-9 or (not undecided.any() and lowest >= -error):
            best = max(best, limit)
        elif undecided.any():
            mask = np.arange(len(A)) == at[np.argmin(np.where(undecided, v, np.inf))]
            work += [(inside, nonzero | mask)] + [(inside & ~mask, nonzero)] * (len(at) > 1)
    return best


def limits_on(A, T, case, value):
    """A limit of x'Ax for unit x on each support of T (places of the case), at least ``value``."""
    B = A if case.signs is None else allowed(A, case.signs)
    found = np.full(len(T), float(value))
    step = max(1, (1 << 22) // max(1, T.shape[1]) ** 2)
    for start in range(0, len(T), step):
        blocks = B[T[start : start + step, :, None], T[start : start + step, None, :]]
        norms = np.sqrt(np.square(blocks).sum((1, 2))) * (1 + 1e-9)
        at = np.flatnonzero(norms > value)
        rough = np.linalg.eigvalsh(blocks[at])[:, -1] if len(at) else np.zeros(0)
        at = at[rough + 1e-9 * norms[at] > value]
        if case.signs is None and len(at):
            found[start + at] = np.maximum(top(blocks[at]), value)
            continue
        for i in start + at:
            mask = np.zeros(len(A), bool)
            mask[T[i]] = True
            found[i] = solved(A[np.ix_(mask, mask)], case.keep(mask), value)
    return found


def every_support(case):
    """The largest supports, as places, by size: forced features and some of the other groups."""
    forced, free = np.flatnonzero(case.forced).tolist(), np.flatnonzero(~case.forced)
    names = free if case.labels is None else case.labels
    groups = [free[names == name].tolist() for name in np.unique(names)]
    found, count = {}, 0
    for used in combinations(groups, min(case.room, len(groups))):
        for chosen in product(*(combinations(g, min(case.per_group or 1, len(g))) for g in used)):
            support = sorted(chain(forced, *chosen))
            found.setdefault(len(support), []).append(support)
            count += 1
            need(count <= MANY, "too many supports to try all of them")
    return [np.array(supports, dtype=int) for supports in found.values()]


def all_listed(S, case, value):
    """Every support of groups, or of some signs, solved."""
    need(case.budget is None, "a budget has no supports")
    room = last_bits(S, case)
    return largest_form(S.on(case.features), case, value - room) + room


def largest_form(A, case, value=-np.inf):
    """The largest x'Ax of the vectors of a case, all supports tried."""
    return up(max(limits_on(A, T, case, value).max() for T in every_support(case)))


def listed(S, case, dual, value):
    """Every support that a dual leaves open, solved; (bound, supports that are not below value)."""
    bound, eigen, terms = evaluate(S, case, dual)
    forced, free = np.flatnonzero(case.forced), np.flatnonzero(~case.forced)
    order = free[np.argsort(-terms[free], kind="stable")]
    sums = np.concatenate([[0], np.cumsum(terms[order])])
    need(np.isfinite(bound), "numbers leave their range")
    slack = 1e-12 * (abs(bound) + abs(value)) + 8 * len(sums) * U * sums[-1]
    lack = value - eigen - terms[forced].sum() - slack
    chosen, reached, last = np.empty((1, 0), int), np.zeros(1), np.full(1, -1)
    for missing in range(min(case.room, len(free)), 0, -1):
        # Best completion if number i comes next; it falls with i.
        ahead = sums[missing:] - sums[: len(sums) - missing]
        n_next = np.maximum(np.searchsorted(-ahead, -(lack - reached)) - last - 1, 0)
        need(n_next.sum() <= LISTED, "the proof leaves too many supports to be listed")
        parent = np.repeat(np.arange(len(n_next)), n_next)
        step = np.arange(len(parent)) - (np.cumsum(n_next) - n_next)[parent]
        last = last[parent] + 1 + step
        chosen = np.column_stack([chosen[parent], last])
        reached = reached[parent] + terms[order[last]]
    T = np.sort(np.column_stack([np.tile(forced, (len(chosen), 1)), order[chosen]]), axis=1)
    room = last_bits(S, case)
    found = limits_on(S.on(case.features), T, case, value - room) + room
    masks = [np.isin(np.arange(len(case.features)), support) for support in T[found > value]]
    return max(value, found.max(initial=value)), [case.keep(mask) for mask in masks]


# ------------------------------------------------------------------- several components together


def dual_matrix(dual, level):
    """CI + LL' + (P + P')/2 - diag tau, and how far its entries may be off."""
    P, L, D = dual["P"] - np.diag(np.diag(dual["P"])), dual["L"], np.diag(level - dual["tau"])
    N = L @ L.T + (P + P.T) / 2 + D
    return N, off(N, (L, L), P / 2, P.T / 2, D) + U * np.abs(D)


def dual_terms(dual, case):
    """w_i on all features of a dual; zero for those that the case may not use."""
    at = case.features
    w = np.zeros(len(dual["tau"]))
    w[at] = terms_of(case, dual["P"][np.ix_(at, at)], dual["tau"][at], dual["L"][at])[0]
    return w


def together(S, cases, relation, quantity, proof):
    """The bound of a claim about all components, S on the features that any may use."""
    theorem, r, level = proof["theorem"], len(cases), proof["level"]
    sums = {"disjoint": ("KF", "A", "B", "DP"), "strict": ("KF", "B"), "uncorrelated": ("KF", "D")}
    adjusted = quantity == "adjusted variance"
    says = (*sums.get(relation, ()), *(("KF", "D") if adjusted else ()))
    need(theorem in says, f"theorem {theorem!r} says nothing about this")
    if theorem == "DP":
        return disjoint_optimum(S, cases)
    # S >= -dI; a covariance has no d but rounding, and S + dI has no smaller adjusted variances.
    below = max(0.0, float(top(-S))) if adjusted or relation == "uncorrelated" else 0.0
    need(below <= 1e-6 * max(float(top(S)), 0) + 1e-290, "the matrix is no covariance")
    if theorem == "KF":
        return up(ky_fan(S, 0.0, r) + r * below)
    dual, level = proof["dual"], level if theorem == "D" else 0.0
    need((dual is None) != (proof["matrix"] is None), "either a dual or a matrix")
    need(theorem != "A" or dual is not None, "theorem A needs a dual")
    if dual is None:
        N, error, W = (proof["matrix"] + proof["matrix"].T) / 2, np.zeros_like(S), None
        each = [largest_form(N[np.ix_(c.features, c.features)], c) for c in cases]
    else:
        N, error = dual_matrix(dual, level)
        W = np.array([dual_terms(dual, case) for case in cases])
        each = [up(largest(w[c.features], c) + level) for w, c in zip(W, cases, strict=True)]
    if theorem == "D":
        return theorem_d(S, below, N, error, each, W, cases, relation, level)
    added = up(sum(each))
    if theorem == "A":
        p = np.maximum(proof["prices"], 0)
        over = np.maximum(W - p[:, None], 0).max(0).sum()
        added = up(sum(c.size * price for c, price in zip(cases, p, strict=True)) + over, W.size)
    M, doubt = minus(S, N)
    return up(ky_fan(M, doubt + error, r) + added + r * below)


def theorem_d(S, below, K, error, each, W, cases, relation, level):
    """sum_t mu_t lambda_t(S, K), by parts; disjoint components share no place."""
    r = len(cases)
    totals = np.cumsum(-np.sort(-np.array(each)))
    if relation == "disjoint" and W is not None:
        w, sizes = -np.sort(-W.max(0)), np.cumsum(-np.sort([-c.size for c in cases]))
        shared = [w[:m].sum() + (t + 1) * level for t, m in enumerate(sizes)]
        totals = np.minimum(totals, shared)
    # Any sequence above the totals will do whose steps descend.
    steps = np.diff([0.0, *(totals * (1 + 64 * r * U))])
    steps = np.array([steps[t:].max() for t in range(r)] + [0.0])
    if not steps[0] > 0:
        return np.inf
    S, doubt = minus(S, -below * np.eye(len(S)))
    whole = ky_fan(S, doubt, r, K, error)
    total = steps[r - 1] * whole
    for t in range(r - 1):
        drop = steps[t] - steps[t + 1]
        total += drop * (whole if drop <= 1e-13 * steps[0] else ky_fan(S, doubt, t + 1, K, error))
    return up(float(total), 16 * r)


def disjoint_optimum(S, cases):
    """The best sum over disjoint supports: dynamic programming over sets of features."""
    n = len(S)
    need(n <= 20 and not any(c.forced.any() for c in cases), "too many sets of features")
    best = np.where(np.arange(1 << n) == 0, 0.0, -np.inf)
    roomy = sum(c.size for c in cases) <= n and all(len(c.features) == n for c in cases)
    for case in cases:
        masks, values = np.zeros(0, int), np.zeros(0)
        for size in range(case.size if roomy else 1, case.size + 1):
            (T,) = every_support(case.sized(size))
            masks = np.append(masks, (1 << case.features[T]).sum(1))
            own = S[np.ix_(case.features, case.features)]
            values = np.append(values, limits_on(own, T, case, -np.inf))
        known = np.flatnonzero(np.isfinite(best))
        need(len(known) * len(masks) <= 1e9, "too many sets of features")
        after = np.full(1 << n, -np.inf)
        for mask, value in zip(masks, values, strict=True):
            free = known[(known & mask) == 0]
            after[free | mask] = np.maximum(after[free | mask], best[free] + value)
        best = after
    return up(float(best.max()))


def left_after(S, W):
    """S - SW(W'SW)^-1W'S, and a limit of the norm of its error."""
    if W.shape[1] == 0:
        return S, 0.0
    SW = S @ W
    G = (W.T @ SW + SW.T @ W) / 2
    values = np.linalg.eigvalsh(G)
    need(values[0] > 1e-10 * values[-1], "earlier components repeat each other")
    solution = np.linalg.solve(G, SW.T)
    left = S - SW @ solution
    size = (np.abs(S) + np.abs(SW) @ np.abs(solution)).sum(1).max()
    return (left + left.T) / 2, 16 * (sum(W.shape) + 8) * values[-1] / values[0] * U * size


def recovered(S, W, case, proof):
    """Theorem E for the component after W: theta, if w'(S_t^2 - theta S_t)w <= 0 for all rivals."""
    theta, dual, at = proof["level"], proof["dual"], case.features
    need(proof["theorem"] == "E" and theta >= 0, "theorem E is needed")
    size = np.abs(S).max()
    need(size == 0 or RANGE**-0.5 <= size <= RANGE**0.5, "rescale the data: squares are squared")
    left, error = left_after(S, W)
    size = np.abs(left)
    form = left @ left - theta * left
    norm = (gamma(len(S) + 4) * (size @ size + theta * size)).sum(1).max()
    norm = up(norm + error * (2 * size.sum(1).max() + error + theta), len(S))
    form = ((form + form.T) / 2)[np.ix_(at, at)]
    case = replace(case, features=np.arange(len(at)))
    if dual is None:
        over = up(largest_form(form, case) + norm)
    else:
        terms, _ = terms_of(case, dual["P"], dual["tau"], dual["L"])
        over = up(eigen_of(form, dual["P"], dual["tau"], dual["L"]) + norm + largest(terms, case))
    floor = 1e-6 * max(np.diag(left).max(), 0)
    return theta if over <= 0 else up(theta + over / floor) if floor > 0 else np.inf


def reached(S, W, quantity, component, G):
    """What the components have of a quantity; G = W'SW."""
    if quantity == "recovered variance":
        left, _ = left_after(S, W[:, :component])
        w = W[:, component]
        variance = w @ left @ w
        enough = variance > 1e-6 * max(np.diag(left).max(), 0)
        return float((left @ w) @ (left @ w) / variance) if enough else 0.0
    total = 0.0
    if quantity == "sum of variances":
        return float(np.trace(G))
    need(quantity == "adjusted variance", f"unknown quantity {quantity!r}")
    negligible = 1e-12 * np.diag(G).max()
    for j in range(len(G)):
        total += max(G[j, j], 0.0)
        if G[j, j] > negligible:
            G = G - np.outer(G[:, j], G[j]) / G[j, j]
    return float(total)


# ------------------------------------------------------------------- files and data


def read_json(arrays, name):
    """JSON as it was written: dictionaries, lists, numbers and the arrays it names."""

    def plain(told):
        if not isinstance(told, dict):
            return [plain(item) for item in told] if isinstance(told, list) else told
        if told["is"] in ("array", "float"):
            is_array = told["is"] == "array"
            return arrays[f"{name}_{told['name']}"] if is_array else float(told["text"])
        inner = told["fields"] if told["is"] == "dataclass" else told["items"]
        if not isinstance(inner, dict):
            return plain(inner)
        kind = {"class": told["class"].rpartition(":")[2]} if "class" in told else {}
        return {key: plain(value) for key, value in inner.items()} | kind

    return plain(json.loads(str(arrays[name])))


def features_of(indices, n, name, ascending=True):
    indices = np.asarray(indices)
    need(indices.ndim == 1 and (indices.dtype.kind in "iu" or not len(indices)), f"{name}: indices")
    indices = indices.astype(np.int64)
    need(((indices >= 0) & (indices < n)).all(), f"{name} lie beyond {n} features")
    need(not ascending or (np.diff(indices) > 0).all(), f"{name} do not ascend")
    return indices


def case_of(told, n):
    """The rule that rivals keep."""
    kind = told["class"]
    need(kind in ("LoadingConstraint", "Signs", "Groups", "L1Budget"), f"unknown constraint {kind}")
    need(told.get("nonnegative", False) in (True, False), "nonnegative is neither true nor false")
    at = np.setdiff1d(np.arange(n), features_of(told["forbidden"], n, "forbidden"))
    forced = features_of(told.get("forced", []), n, "forced")
    need(np.isin(forced, at).all(), "forced features are forbidden")
    size, signs = told.get("n_nonzero"), np.ones(n) if told.get("nonnegative") else None
    if kind == "Groups":
        need(len(told["labels"]) == n, f"a constraint is not about {n} features")
        size = told["n_groups"]
    else:
        need(told["n_features"] == n, f"a constraint is not about {n} features")
    if kind == "Signs":
        signs = np.zeros(n)
        for feature, sign in told["pattern"]:
            need(type(feature) is int and 0 <= feature < n and sign in (1, -1), "a malformed sign")
            signs[feature] = sign
    signs = None if signs is None or not signs[at].any() else signs[at]
    size = len(at) if size is None else size
    per_group = told.get("per_group")
    need(type(size) is int and size >= max(1, len(forced)), f"a component of {size!r} features")
    need(per_group is None or (type(per_group) is int and per_group >= 1), "features of a group")
    case = Case(at, np.isin(at, forced), np.zeros(len(at), bool), size, signs).sized(size)
    if kind == "Groups":
        return replace(case, labels=np.asarray(told["labels"])[at], per_group=per_group or n)
    return replace(case, budget=float(told["budget"]) if kind == "L1Budget" else None)


def keeps(case, w, rounding):
    """Whether a vector is one of the rivals of a case."""
    beyond, w = np.delete(w, case.features), w[case.features]
    right = not beyond.any() and abs(np.linalg.norm(w) - 1) <= rounding
    right &= case.signs is None or bool((case.signs * w >= 0).all())
    right &= case.budget is None or np.abs(w).sum() <= case.budget * (1 + rounding)
    if case.labels is None:
        return right and ((w != 0) | case.forced).sum() <= case.size
    counts = np.unique(case.labels[w != 0], return_counts=True)[1]
    return right and len(counts) <= case.size and counts.max() <= case.per_group


def relaxed(case):
    """Joint bounds know sizes, and signs of all features; groups become their largest support."""
    need(case.budget is None, "budgets are not known here")
    if case.labels is None:
        return replace(case, signs=np.abs(case.signs) if case.signed else None)
    size = int(largest(np.ones(len(case.features)), case) + 0.5)
    return replace(case, size=size, signs=None, labels=None)


def proof_of(stored, n):
    """The cases in order: duals, a feature (or -1) or lines, and whether supports are listed."""
    numbers, features, duals = stored["dual_numbers"], stored["dual_features"], []
    counts, branch, ends = (stored["node_" + name] for name in ("duals", "features", "listed"))
    features_of(branch + 1, n + 1, "features to branch on", ascending=False)
    features_of(counts, len(stored["dual_sizes"]) + 1, "numbers of duals", ascending=False)
    for m, r, limited in stored["dual_sizes"].tolist():
        own, features = features_of(features[:m], n, "features of a dual"), features[m:]
        cut = np.cumsum([m * m, m, m * r, m * (limited > 0)])
        P, tau, L, limits, numbers = np.split(numbers, cut)
        need((limits >= 0).all(), "a negative limit")
        dual = {"features": own, "P": P.reshape(m, m), "tau": tau, "L": L.reshape(m, r)}
        duals.append(dual | {"limits": limits if limited else None})
    need(counts.sum() == len(duals) and not len(numbers) + len(features), "a wrong number of duals")
    own = [duals[end - count : end] for count, end in zip(counts, np.cumsum(counts), strict=True)]
    lines = lines_of(stored, n, duals, len(counts))
    nodes = zip(own, branch.tolist(), ends.tolist(), lines, strict=True)
    proof = [{"duals": d, "feature": f, "listed": e is True, "lines": c} for d, f, e, c in nodes]
    for node in proof:
        node["children"] = node["lines"].shape[1] or 2 * (node["feature"] >= 0)
        need(not node["lines"].size or node["feature"] < 0, "a case is split in two ways")
    return proof


def lines_of(stored, n, duals, n_cases):
    """The lines of each case; the multipliers of slices are put into the duals."""
    counts, lines = np.zeros(n_cases, int), np.zeros((n, 0))
    given, rho = np.zeros(len(duals), int), np.zeros(0)
    if int(stored["format"]) == 4:
        names = ("node_lines", "lines", "dual_multipliers", "multipliers")
        counts, lines, given, rho = (stored[name] for name in names)
    features_of(counts, lines.shape[1] + 1, "numbers of lines", ascending=False)
    features_of(given, len(rho) + 1, "numbers of multipliers", ascending=False)
    right = len(counts) == n_cases and len(given) == len(duals) and rho.shape == (given.sum(),)
    need(right and lines.shape == (n, counts.sum()), "a wrong number of lines")
    need((rho >= 0).all() and (counts != 1).all(), "a negative multiplier, or a single line")
    for dual, count, end in zip(duals, given, np.cumsum(given), strict=True):
        dual["rho"] = rho[end - count : end]
    return np.split(lines, np.cumsum(counts)[:-1], axis=1)


def read_data(path):
    if str(path).endswith(".npy"):
        return np.load(path, allow_pickle=False)
    with open(path) as file:
        header = not file.readline().split(",")[0].strip().lstrip("+-")[:1].isdigit()
    return np.loadtxt(path, delimiter=",", skiprows=int(header))


def covariances(data):
    """The covariance of the data, then its correlation; a symmetric matrix is taken as it is."""
    need(data.ndim == 2 and data.dtype.kind in "fiu", "the data is no table of numbers")
    X = data.astype(float)
    need(np.isfinite(X).all(), "the data holds NaN or infinity")
    n = X.shape[1]
    if X.shape == (n, n) and np.abs(X - X.T).max() <= 1e-12 * np.abs(X).max():
        yield Matrix((X + X.T) / 2, None, np.zeros((n, 0)), np.zeros((0, 0))), 0
        return
    X = X - X.mean(0)
    X -= X.mean(0)
    for scale in (1.0, X.std(0, ddof=1)):
        Z = X / np.where(scale > 1e-12 * np.abs(X).max(), scale, 1.0) / np.sqrt(len(X) - 1)
        stored = Z.T @ Z if n <= max(WIDE, len(X)) else None
        yield Matrix(stored, Z, np.zeros((n, 0)), np.zeros((0, 0))), len(X)


def matrix_about(data, about, precision):
    """The covariance that a certificate is about, told by its fingerprint."""
    need(precision in TOLERANCE, f"precision {precision!r} is not known")
    for S, n_samples in covariances(data):
        d = S.diagonal()
        z = np.cos(np.square(np.arange(1.0, len(d) + 1.0)))
        here = np.array([len(d), n_samples, d.sum(), d @ d, z @ S.times(z)])
        room = np.array([0, 1e-9, here[2], here[3], here[2] + abs(here[4])])
        same = np.abs(here - about) <= 10 * TOLERANCE[precision] * np.abs(room) + 1e-300
        same[1] |= not (n_samples and about[1])
        if same.all():
            size = np.abs(d if S.stored is None else S.stored).max(initial=0)
            need(size == 0 or 1 / RANGE <= size <= RANGE, "squares leave the range: rescale")
            return S
    why = f"made for other data: features, samples, variances, covariances agree: {same.tolist()}"
    raise Refused(why)


def check_relation(S, W, relation, precision):
    """The last component relates to the others as it says."""
    need(relation in ("none", "disjoint", "quasi", "strict", "uncorrelated"), "unknown relation")
    if relation == "disjoint":
        need((W[:, :-1][W[:, -1] != 0] == 0).all(), "components share features")
    if relation in ("strict", "uncorrelated") and W.shape[1] > 1:
        G = W.T @ (W if relation == "strict" else S.times(W))
        spread = np.sqrt(np.maximum(np.diag(G), 1e-300))
        cosine = np.abs(G[-1, :-1] / (spread[-1] * spread[:-1])).max()
        need(cosine <= KEPT_TO[precision], f"it misses {relation!r} by {cosine:.3g}")


# ------------------------------------------------------------------- the statements


def earlier_ones(stored, n, case):
    """Loadings, relation and deflation of earlier components, all of them well-formed."""
    W, (_, _, relation, deflation) = stored["earlier"], stored["texts"].tolist()
    need(W.ndim == 2 and (W.shape[1] == 0 or len(W) == n), "earlier components of another length")
    unit = np.abs(np.linalg.norm(W, axis=0) - 1) <= 1e-5
    need(unit.all(), "an earlier vector is not of norm 1")
    rules = ("schur", "projection", "hotelling")
    need(not deflation or deflation.removeprefix("orthogonalized_") in rules, "unknown deflation")
    missing = W.shape[1] and relation in ("none", "quasi") and not deflation
    need(not missing, "the rule of deflation is missing")
    used = np.flatnonzero(W.any(1)) if relation == "disjoint" else []
    need(not np.isin(used, case.features).any(), "features of earlier components are not forbidden")
    return W.reshape(n, -1), relation, deflation


def turned(S, case):
    """Proofs are about features counted so that all loadings are positive, if all have signs."""
    flips = np.ones(len(S.thin))
    if case.signed:
        flips[case.features] = case.signs
        case = replace(case, signs=np.abs(case.signs))
        stored = None if S.stored is None else S.stored * np.outer(flips, flips)
        S = replace(S, stored=stored, Z=None if S.Z is None else S.Z * flips)
    return S, case, flips


def verify_one(stored, data):
    """Check a certificate of one component: (what is proven in words, the bound, the rule)."""
    known = "format" in stored and int(stored["format"]) in (3, 4)
    need(known, "this is no certificate of format 3 or 4")
    value, claimed, _, best_value = stored["numbers"].tolist()
    told, precision = read_json(stored, "constraint"), str(stored["texts"][0])
    about = stored["about"]
    need(about.shape == (5,) and 0 < about[0] == int(about[0]), "the fingerprint is malformed")
    n = int(about[0])
    case, proof = case_of(told, n), proof_of(stored, n)
    W, relation, deflation = earlier_ones(stored, n, case)
    S, case, flips = turned(matrix_about(data, about, precision), case)
    W, tolerance = W * flips[:, None], TOLERANCE[precision]
    measured, bounding, margin = without_earlier(S, W, relation, deflation)
    for name, claim in (("loading", value), ("best_loading", best_value)):
        need(stored[name].shape == (n,), f"{name} is of another length")
        w = stored[name] * flips
        need(keeps(case, w, 10 * tolerance), f"{name} is no rival")
        check_relation(S, np.column_stack([W, w]), relation, precision)
        at = np.flatnonzero(w)
        block, w = measured.on(at), w[at] / np.linalg.norm(w)
        found = float(w @ block @ w)
        room = max(abs(found), abs(claim)) + (1e-3 * abs(about[2]) if W.shape[1] else 0)
        need(abs(found - claim) <= tolerance * room, f"{name} has {found:.12g}, not {claim:.12g}")
    # The last one is the best component known, rounded down.
    known = found - 16 * len(at) * U * (np.abs(w) @ np.abs(block) @ np.abs(w))
    bound, left = prove(bounding, case, known - margin, proof, claimed - margin)
    bound, room = max(bound + margin, best_value), tolerance * abs(claimed)
    need(bound <= claimed + room, f"the proof gives {bound:.12g}, not {claimed:.12g}")
    need(value <= claimed + room, "the bound lies below the value")
    fixed = fixed_features(bounding, left, n, known - margin)
    for name, shown in zip(("fixed_in", "fixed_out"), fixed, strict=True):
        beyond = np.setdiff1d(features_of(stored[name], n, name), shown)
        need(len(beyond) == 0, f"{name} names feature(s) {beyond[:5]} without proof")
    after = f", {relation} after {W.shape[1]} earlier component(s) {deflation}".rstrip()
    line = (
        f"proven: variance {value:.10g}, no rival above {bound:.13g} (claimed {claimed:.13g}) among "
        f"{told['class']}{after if W.shape[1] else ''}; "
        f"{len(proof)} case(s), {len(stored['dual_sizes'])} dual(s)"
    )
    return line, max(bound, claimed), told if not W.shape[1] else {}


def joint_proof(stored, i, claim, n, r):
    """The numbers of a claim, each of the right shape."""
    shapes = {"pairing": (n, n), "shift": (n,), "matrix": (n, n), "prices": (r,)}
    given = {name: stored.get(f"proof_{i}_{name}") for name in (*shapes, "factor")}
    for name, array in given.items():
        shape = shapes.get(name, (n, 0 if array is None else array.shape[-1]))
        right = array is None or (array.shape == shape and array.dtype == float)
        need(right, f"a malformed {name}")
    level = claim["level"]
    need(type(level) is float and abs(level) <= LARGEST, "the level is no number")
    parts = {"P": given["pairing"], "tau": given["shift"], "L": given["factor"]}
    held = [part is not None for part in parts.values()]
    need(all(held) or not any(held), "the dual is not complete")
    return {**given, **claim, "dual": parts if all(held) else None}


def within(inner, outer):
    """Whether a rule leaves no more vectors than another, as both are told."""
    names = set(inner) | set(outer)
    if inner["class"] == outer.get("class") == "LoadingConstraint":
        names -= {"n_nonzero", "nonnegative", "forbidden", "forced"}
        wider = inner["n_nonzero"] <= outer["n_nonzero"]
        wider &= inner["nonnegative"] or not outer["nonnegative"]
        wider &= np.isin(outer["forbidden"], inner["forbidden"]).all()
        wider &= np.array_equal(inner["forced"], outer["forced"]) or not len(outer["forced"])
        need(wider, "a rule is wider than that of the one component")
    return all(np.array_equal(inner.get(name), outer.get(name)) for name in names)


def each_alone(stored, i, data, S, rules, quantity, relation):
    """Theorem C: a component is credited with its own variance at most, and none alone has more."""
    prefix = f"proof_{i}_alone_"
    part = {n.removeprefix(prefix): array for n, array in stored.items() if n.startswith(prefix)}
    _, bound, rule = verify_one(part, data)
    need(all(within(told, rule) for told in rules), "the one component has another rule")
    if quantity == "sum of variances":
        need(relation in ("disjoint", "strict", "uncorrelated"), "variances are counted twice")
        return up(len(rules) * max(bound, 0.0))
    need(quantity == "adjusted variance", "theorem C says nothing about this")
    if len(S.thin) > WIDE:  # samples, whose covariance has no negative eigenvalue
        return up(len(rules) * max(bound, 0.0))
    below = max(0.0, float(top(-S.stored)))
    need(below <= 1e-6 * max(float(top(S.stored)), 0) + 1e-290, "the matrix is no covariance")
    return up(len(rules) * (max(bound, 0.0) + below))


def verify_together(stored, data):
    """Check a joint certificate; a line for each of its claims."""
    need(int(stored["joint_format"]) == 1, "this is no joint certificate of format 1")
    stated, W, relation = read_json(stored, "stated"), stored["loadings"], str(stored["relation"])
    about, r = stated["about"], len(stated["constraints"])
    n, precision = about["n_features"], about["precision"]
    need(type(n) is int and W.shape == (n, r) and W.dtype == float and r > 0, "loadings: shape")
    mark = [n, np.nan_to_num(about["n_samples"]), about["trace"], about["squares"], about["probe"]]
    matrix = S = matrix_about(data, np.array(mark, dtype=float), precision)
    need(n <= WIDE or S.Z is not None, "of so many features the samples are needed")
    cases = [case_of(told, n) for told in stated["constraints"]]
    for t, (case, w) in enumerate(zip(cases, W.T, strict=True)):
        need(keeps(case, w, 1e-9), f"component {t + 1} is no rival")
        check_relation(S, W[:, : t + 1], relation, precision)
    cases, room = [relaxed(case) for case in cases], TOLERANCE[precision]
    S = S.on(np.arange(n)) if n <= WIDE else None
    at, lines = np.unique(np.concatenate([case.features for case in cases])), []
    local = [replace(case, features=np.searchsorted(at, case.features)) for case in cases]
    for i, claim in enumerate(json.loads(str(stored["claims"]))):
        value, bound, j = claim["value"], claim["upper_bound"], claim["component"]
        need(type(value) is float and type(bound) is float and bound < np.inf, "no finite claim")
        alone = claim["quantity"] == "recovered variance"
        need(alone == (type(j) is int and 0 <= j < r), "the component is not named")
        proof = joint_proof(stored, i, claim, len(cases[j].features) if alone else len(at), r)
        need(n <= WIDE or claim["theorem"] == "C", "too many features for this theorem")
        found = reached(S, W, claim["quantity"], j, W.T @ matrix.times(W))
        need(abs(found - value) <= room * max(abs(found), abs(value)), f"they reach {found:.12g}")
        if claim["theorem"] == "C":
            about_all = (stated["constraints"], claim["quantity"], relation)
            limit = each_alone(stored, i, data, matrix, *about_all)
        elif alone:
            limit = recovered(S, W[:, :j], cases[j], proof)
        else:
            limit = together(S[np.ix_(at, at)], local, relation, claim["quantity"], proof)
        need(limit <= bound + room * abs(bound), f"the proof gives {limit:.12g}, not {bound:.12g}")
        who = f"component {j + 1}" if alone else f"{r} components together"
        lines.append(f"proven: {claim['quantity']} of {who} {value:.9g} of at most {bound:.13g}")
    return "\n".join(lines or ["nothing is claimed"]), None, None


def check(path, data):
    """(whether the certificate holds, what to say of it); data is a table or the path of one."""
    try:
        data = data if isinstance(data, np.ndarray) else read_data(data)
        with np.load(path, allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        for name, array in stored.items():
            kind = array.dtype.kind
            need(kind in "iubU" or array.dtype == np.float64, f"{name} is {array.dtype}")
            need(kind != "f" or np.isfinite(array).all(), f"{name} holds NaN or infinity")
            small = kind != "f" or name == "about" or np.abs(array).max(initial=0) <= LARGEST
            need(small, f"{name} holds numbers beyond range")
        verify = verify_together if "joint_format" in stored else verify_one
        arithmetic = "interval arithmetic" if FLINT else "rounding errors bounded"
        return True, f"{verify(stored, data)[0]}; double precision, {arithmetic}"
    except Refused as refusal:
        return False, f"NOT PROVEN: {refusal}"
    except Exception as error:
        # Whatever else a forged file provokes is a refusal too.
        return False, f"NOT PROVEN: it cannot be checked ({type(error).__name__}: {error})"


def main():
    given = [word for word in sys.argv[1:] if word != "--exact"]
    if len(given) != 2:
        sys.exit(__doc__)
    if len(given) < len(sys.argv) - 1:
        use_flint()
    holds, line = check(*given)
    print(line)
    return 0 if holds else 1


def use_flint():
    global FLINT
    import flint

    flint.ctx.prec = 160
    FLINT = flint


if __name__ == "__main__":
    sys.exit(main())
