"""The same search among a few dozen features, where calls cost more than products.

Every eigenvector and every column is a start, all of them take a few steps as one block,
and the leading eigenpairs on the best supports are found together.
"""

from __future__ import annotations

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, ExplicitCovariance, Support
from loadstone.solvers.renormalise import renormalise
from loadstone.solvers.search.em_support import EM_STEPS, EM_TOL
from loadstone.solvers.search.few_places import best_pair
from loadstone.solvers.search.finish import Found, best_of

#: Features up to which this search is used.
TINY = 64
#: Mixtures of eigenvectors, and the eigenvectors mixed.
N_MIXTURES, N_MIXED = 16, 8
#: Steps of all starts together.
N_STEPS = 4
#: Supports polished, exchanges of two features, and pairs tried for each of these.
N_POLISHED, N_EXCHANGES, N_NEIGHBOURS = 16, 20, 8
#: Supports from which features are exchanged, the share of the best they have at least, and the
#: share of features that two of them have in common at most.
N_ENDS, NEAR_BEST, MOST_SHARED = 8, 0.95, 0.8
#: Projected power steps of non-negative loadings, and the loss at which they are finished.
N_POWER, WORTH_FINISHING = 20, 1e-3
#: Eigenvectors, steps and supports polished where many sizes are searched in a hurry.
N_HURRIED, N_HURRIED_STEPS, N_HURRIED_POLISHED = 16, 3, 8
#: Polishing rounds.
N_ROUNDS = 10
#: Largest support whose eigenpairs are found in a batch.
BATCHED = 48
_MIX = np.random.default_rng(0).standard_normal((N_MIXTURES, N_MIXED))


def is_tiny(S: Covariance) -> bool:
    """Whether all efforts but the largest are one."""
    return S.n_features <= TINY


def tiny_search(
    S: ExplicitCovariance, constraint: LoadingConstraint, starts: Array | None = None
) -> Found:
    """The best component of a small matrix."""
    if constraint.size == 2:
        return best_pair(S, constraint)
    problem = _Problem(S, constraint)
    W, values = problem.polished(problem.settled(starts))
    order = np.argsort(-values, kind="stable")
    best = values >= values[order[0]] * (1 - 1e-9)
    best[order[0]] = True
    found = [Found(W[row], float(values[row])) for row in np.flatnonzero(best)]
    ends = _different(W[order], values[order], constraint.size)
    found += problem.exchanged(W[order[ends]], values[order[ends]])
    return best_of(found)


def _different(W: Array, values: Array, size: int) -> list[int]:
    """Rows, best first, that are near the best and not too much like one before them; two at least."""
    chosen = [0]
    for row in range(1, len(W)):
        if len(chosen) == N_ENDS or values[row] < NEAR_BEST * values[0]:
            break
        shared = (W[chosen] != 0) @ (W[row] != 0)
        if shared.max() < MOST_SHARED * size:
            chosen.append(row)
    return chosen if len(chosen) > 1 else list(range(min(2, len(W))))


def tiny_start(S: ExplicitCovariance, constraint: LoadingConstraint) -> Found:
    """A good component of a small matrix, before any exchange: climbs are to follow."""
    if constraint.size == 2:
        return best_pair(S, constraint)
    problem = _Problem(S, constraint)
    W, values = problem.polished(problem.begun())
    best = int(np.argmax(values))
    return Found(W[best], float(values[best]))


def tiny_climb(
    S: ExplicitCovariance, w: Array, constraint: LoadingConstraint, *, sure: bool = False
) -> Found:
    """Where polishing and exchanges from ``w`` end; ``sure`` for those exchanges that must gain."""
    problem = _Problem(S, constraint)
    support = w.nonzero()[0]
    filled = support.size == constraint.size
    W, values = problem.polished(support[None] if filled else problem.top(w[None]))
    return problem.exchanged(W, values, sure=sure)[0]


class _Problem:
    """Directions and loadings are rows."""

    def __init__(self, S: ExplicitCovariance, constraint: LoadingConstraint) -> None:
        self.S, self.A, self.constraint = S, S.matrix, constraint
        self.k = constraint.size
        self.eps = float(np.finfo(self.A.dtype).eps)
        self.gain = 1 + 4 * self.eps

    def settled(self, starts: Array | None) -> Support:
        """Distinct supports after a few steps from everywhere, best first, and those of EM."""
        V = np.linalg.eigh(self.A)[1].T[::-1]
        V = V * np.where(np.einsum("ij,ij,ij->i", V, V, V) < 0, -1, 1)[:, None].astype(V.dtype)
        n = min(N_MIXED, V.shape[0])
        rows = [V, self.A, _MIX[:, :n].astype(V.dtype) @ V[:n]]
        if self.constraint.nonnegative:
            rows.append(-V)
        if starts is not None:
            rows.append(starts.T.astype(V.dtype, copy=False))
        top = self.steps(np.concatenate(rows), N_STEPS + 1)
        ends = self.em(V[0])
        if self.constraint.nonnegative:
            ends = [*ends, *self.em(-V[0])]
        distinct = {row.tobytes(): row for row in [*ends, *top]}
        return np.stack(list(distinct.values())[: N_POLISHED + len(ends)])

    def begun(self) -> Support:
        """The same after fewer steps from fewer places."""
        V = np.linalg.eigh(self.A)[1].T[: -N_HURRIED - 1 : -1]
        rows = [V, -V, self.A] if self.constraint.nonnegative else [V, self.A]
        top = self.steps(np.concatenate(rows), N_HURRIED_STEPS)
        distinct = {row.tobytes(): row for row in top}
        return np.stack(list(distinct.values())[:N_HURRIED_POLISHED])

    def steps(self, R: Array, n_steps: int) -> Support:
        """The places filled after some steps from each direction, best first."""
        for _ in range(n_steps):
            top = self.top(R)
            W = self.loadings(R, top)
            R = W @ self.A
        value = np.einsum("ij,ij->i", W, R)
        result: Array = top[np.argsort(-value, kind="stable")]
        return result

    def top(self, R: Array) -> Support:
        """Indices of the places filled, in order; ties go to the first feature."""
        order = np.argsort(-self.worth(R), axis=1, kind="stable")[:, : self.k]
        order.sort(axis=1)
        return order

    def worth(self, R: Array) -> Array:
        """How much each entry is worth keeping."""
        worth = np.maximum(R, 0) if self.constraint.nonnegative else np.abs(R)
        if self.constraint.forbidden.size:
            worth[:, self.constraint.forbidden] = -1
        if self.constraint.forced.size:
            worth[:, self.constraint.forced] = np.inf
        return worth

    def loadings(self, R: Array, top: Support) -> Array:
        """Unit rows on the places filled; a single feature where nothing points anywhere."""
        at = np.arange(len(R))[:, None]
        values = R[at, top]
        if self.constraint.nonnegative:
            values = np.maximum(values, 0)
        norms = np.sqrt(np.einsum("ij,ij->i", values, values))
        if not norms.all():
            lone = np.where(norms == 0, np.argmax(R[at, top], axis=1), -1)
            values[at[:, 0], lone] += norms == 0
            norms = np.where(norms == 0, 1, norms)
        W = np.zeros_like(R)
        W[at, top] = values / norms[:, None]
        return W

    def em(self, direction: Array) -> list[Support]:
        """The support at which EM ends, as :class:`loadstone.solvers.em.EM` does."""
        w = None
        for _ in range(EM_STEPS):
            order = np.argsort(-self.worth(direction[None])[0], kind="stable")
            top, values = order[: self.k], direction[order[: self.k]]
            if self.constraint.nonnegative:
                values = np.maximum(values, 0)
            out = direction[order[self.k]] if order.size > self.k else 0.0
            threshold = max(out, 0.0) if self.constraint.nonnegative else abs(out)
            shrunken = np.sign(values) * np.maximum(np.abs(values) - threshold, 0)
            values = shrunken if shrunken.any() else values
            length = np.sqrt(values @ values)
            if not length > 0:
                break
            moved = np.zeros_like(direction)
            moved[top] = values / length
            if w is not None and 1 - abs(moved @ w) < EM_TOL:
                break
            w = moved
            direction = w @ self.A
        return [np.sort(top)]

    def polished(self, supports: Support) -> tuple[Array, Array]:
        """Alternate between the best loadings on each support and the best support for them."""
        W, values = self.on_supports(supports)
        active, V = np.arange(len(W)), W
        for _ in range(N_ROUNDS):
            R = V @ self.A
            changed = self.turns(R, supports)
            if not changed.any():
                break
            active, supports = active[changed], self.top(R[changed])
            V, reached = self.on_supports(supports)
            better = reached > values[active] * self.gain
            if not better.any():
                break
            active, supports, V = active[better], supports[better], V[better]
            W[active], values[active] = V, reached[better]
        return W, values

    def turns(self, R: Array, supports: Support) -> Array:
        """Which rows would rather fill other places than those of their support."""
        worth, at = self.worth(R), np.arange(len(R))[:, None]
        least = worth[at, supports].min(axis=1)
        worth[at, supports] = -1
        # A place that is worth nothing is not filled.
        most = worth.max(axis=1)
        result: Array = (most >= least) & (most > 0)
        return result

    def exchanged(self, W: Array, values: Array, *, sure: bool = False) -> list[Found]:
        """Exchange two features of each row while that helps; promising pairs are tried together.

        ``sure``: only those that must gain.
        """
        found = [Found(w, float(value)) for w, value in zip(W, values, strict=True)]
        active = list(range(len(found)))
        for _ in range(N_EXCHANGES):
            tried = [self.neighbours(found[row], sure=sure) for row in active]
            active = [row for row, supports in zip(active, tried, strict=True) if len(supports)]
            tried = [supports for supports in tried if len(supports)]
            if not active:
                break
            W, values = self._polished_parts(tried)
            ends = np.cumsum([len(supports) for supports in tried])
            best = [
                int(np.argmax(part)) + end - part.size
                for part, end in zip(np.split(values, ends[:-1]), ends, strict=True)
            ]
            pairs = zip(active, best, strict=True)
            gained = {row: at for row, at in pairs if values[at] > found[row].value * self.gain}
            for row, at in gained.items():
                found[row] = Found(W[at], float(values[at]))
            active = list(gained)
        return found

    def _polished_parts(self, parts: list[Support]) -> tuple[Array, Array]:
        """All parts in one batch, or each alone where non-negative loadings left places empty."""
        if len({part.shape[1] for part in parts}) == 1:
            return self.polished(np.concatenate(parts))
        found = [self.polished(part) for part in parts]
        return np.concatenate([W for W, _ in found]), np.concatenate([v for _, v in found])

    def neighbours(self, found: Found, *, sure: bool) -> Support:
        """Supports after the exchanges with the largest eigenvalue on span{w without i, e_j}.

        ``sure``: only those where that is a gain.
        """
        w, value, A = found.w, found.value, self.A
        support = leaving = w.nonzero()[0]
        if self.constraint.forced.size:
            leaving = np.setdiff1d(support, self.constraint.forced)
        if not leaving.size:
            return np.empty((0, self.k), dtype=np.intp)
        variance, image, left = A.diagonal(), w @ A, w[leaving]
        # Of one feature that is nearly all of it rounding is left, and no room to divide by.
        rest = np.maximum(1 - left * left, self.eps)
        kept = (value - 2 * left * image[leaving] + left * left * variance[leaving]) / rest
        cross = image[:, None] - A[:, leaving] * left
        if self.constraint.nonnegative:
            cross = np.maximum(cross, 0)
        half = (kept - variance[:, None]) / 2
        bound = kept - half + np.sqrt(half * half + cross * cross / rest)
        bound[support] = bound[self.constraint.forbidden] = -np.inf
        bound = bound.ravel()
        # Those are all open that are above this; a sure gain is one at once.
        pairs = (bound > (value * self.gain if sure else -np.inf)).nonzero()[0]
        pairs = pairs[np.argsort(-bound[pairs], kind="stable")[:N_NEIGHBOURS]]
        joins, goes = pairs // leaving.size, leaving[pairs % leaving.size]
        supports = np.where(support == goes[:, None], joins[:, None], support)
        supports.sort(axis=1)
        result: Array = supports
        return result

    def on_supports(self, supports: Support) -> tuple[Array, Array]:
        """The best loadings on each support, and their variances."""
        W = np.zeros((len(supports), self.A.shape[0]), dtype=self.A.dtype)
        if self.k > BATCHED:
            values, alone = np.zeros(len(supports)), np.ones(len(supports), dtype=bool)
        else:
            found, vectors = np.linalg.eigh(self.A[supports[:, :, None], supports[:, None, :]])
            v = vectors[:, :, -1]
            v = np.where(v.sum(axis=1)[:, None] < 0, -v, v)
            W[np.arange(len(W))[:, None], supports] = v
            values = found[:, -1].astype(np.float64)
            if not self.constraint.nonnegative:
                return W, values
            # Without negative entries this is the best non-negative answer as well.
            alone = (v < 0).any(axis=1)
        if alone.any():
            self.climb(supports, alone, W, values)
        return W, values

    def climb(self, supports: Support, alone: Array, W: Array, values: Array) -> None:
        """Loadings where no eigenvector serves: near ones for all, the best of them exactly."""
        rows = np.flatnonzero(alone)
        if self.constraint.nonnegative:
            mask = np.zeros((rows.size, self.A.shape[0]), dtype=self.A.dtype)
            mask[np.arange(rows.size)[:, None], supports[rows]] = 1
            V, reached = self.powered(mask / np.sqrt(self.k), mask)
            # All of them together may cancel; the feature that varies most does not.
            variance = self.A.diagonal() * mask
            low = np.flatnonzero(reached < variance.max(axis=1))
            if low.size:
                V[low] = 0
                V[low, variance[low].argmax(axis=1)] = 1
                V[low], reached[low] = self.powered(V[low], mask[low])
            W[rows], values[rows] = V, reached
            rows = rows[values[rows] >= (1 - WORTH_FINISHING) * values.max()]
        else:
            W[rows[:, None], supports[rows]] = 1 / np.sqrt(self.k)
        for row in rows:
            W[row], values[row] = renormalise(self.S, W[row], self.constraint)

    def powered(self, V: Array, mask: Array) -> tuple[Array, Array]:
        """Projected power steps within ``mask``, and the variances they lead to."""
        for _ in range(N_POWER):
            step = np.maximum(V @ self.A, 0) * mask
            norms = np.sqrt(np.einsum("ij,ij->i", step, step))
            V = np.where(norms[:, None] > 0, step / np.where(norms > 0, norms, 1)[:, None], V)
        return V, np.einsum("ij,ij->i", V @ self.A, V)
