"""Where climbs among a few dozen features end, each support solved once.

Supports are polished, their best loadings found and the best support for these taken, and features
are exchanged; climbs from many places meet on the way. So what was found on a support is
remembered, and so is the end of the climb from it: a search asks for five times as many supports
as there are different ones.
"""

from __future__ import annotations

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, ExplicitCovariance, Support
from loadstone.covariance.symmetric import leading_pairs
from loadstone.solvers.renormalise import renormalise
from loadstone.solvers.search.finish import Found

#: Exchanges of two features, and pairs tried for each of these.
N_EXCHANGES, N_NEIGHBOURS = 20, 8
#: Projected power steps of non-negative loadings, and the loss at which they are finished.
N_POWER, WORTH_FINISHING = 20, 1e-3
#: Polishing rounds.
N_ROUNDS = 10
#: Largest support whose eigenpairs are found at once.
BATCHED = 48


class Ends:
    """Directions and loadings are rows; an end is the place of its loadings in ``W``.

    Attributes
    ----------
    W, values : ndarray
        Loadings found so far, each the best on its support, and their variances.
    rough : set of int
        Those that are near the best ones only.
    """

    def __init__(self, S: ExplicitCovariance, constraint: LoadingConstraint) -> None:
        self.S, self.A, self.constraint = S, S.matrix, constraint
        self.k = constraint.size
        self.eps = float(np.finfo(self.A.dtype).eps)
        self.gain = 1 + 4 * self.eps
        self.W, self.values = np.empty((0, len(self.A)), dtype=self.A.dtype), np.empty(0)
        self.rough: set[int] = set()
        self._solved: dict[bytes, int] = {}
        self._ends: dict[bytes, int] = {}
        self._exchanged: dict[int, int] = {}

    def found(self, end: int) -> Found:
        """Loadings and variance of an end."""
        return Found(self.W[end], float(self.values[end]))

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

    def polished(self, supports: Support) -> list[int]:
        """Alternate between the best loadings on each support and the best support for them."""
        keys = [row.tobytes() for row in supports]
        fresh = {key: at for at, key in enumerate(keys) if key not in self._ends}
        found = self._polished(supports[list(fresh.values())], list(fresh)) if fresh else {}
        return [found[key] if key in found else self._ends[key] for key in keys]

    def _polished(self, supports: Support, keys: list[bytes]) -> dict[bytes, int]:
        """The same where no end is known yet."""
        here = self.solved(supports, keys)
        paths = [([key], [at]) for key, at in zip(keys, here.tolist(), strict=True)]
        rows = np.arange(len(keys))
        for _ in range(N_ROUNDS):
            V = self.W[here]
            R = V @ self.A
            changed = self.turns(V, R, supports)
            if not changed.any():
                break
            rows, here, supports = rows[changed], here[changed], self.top(R[changed])
            keys = [row.tobytes() for row in supports]
            moved = self.solved(supports, keys)
            better = (self.values[moved] > self.values[here] * self.gain).nonzero()[0]
            if not better.size:
                break
            rows, here, supports = rows[better], moved[better], supports[better]
            for row, at, one in zip(rows.tolist(), here.tolist(), better.tolist(), strict=True):
                paths[row][0].append(keys[one])
                paths[row][1].append(at)
        found = {}
        for passed, places in paths:
            found.update(dict.fromkeys(passed[:1], places[-1]))
            if self.rough.isdisjoint(places):
                self._ends.update(dict.fromkeys(passed, places[-1]))
        return found

    def turns(self, V: Array, R: Array, supports: Support) -> Array:
        """Which rows of ``V``, on their supports, would rather fill other places."""
        at = np.arange(len(R))[:, None]
        if self.constraint.nonnegative:
            # Places may be empty, and are filled where that is worth something.
            top = self.top(R)
            empty: Array = ((V[at, top] == 0) & (R[at, top] > 0)).any(axis=1)
            return empty
        worth = self.worth(R)
        least = worth[at, supports].min(axis=1)
        worth[at, supports] = -1
        result: Array = worth.max(axis=1) >= least
        return result

    def exchanged(self, ends: list[int], *, sure: bool = False) -> list[int]:
        """Exchange two features of each while that helps; promising pairs are tried together.

        ``sure``: only those that must gain.
        """
        found, active = list(ends), list(range(len(ends)))
        for _ in range(N_EXCHANGES):
            here = {found[row] for row in active}
            after = self._after(sorted(here), sure=sure)
            active = [row for row in active if after[found[row]] != found[row]]
            if not active:
                break
            for row in active:
                found[row] = after[found[row]]
        return found

    def _after(self, ends: list[int], *, sure: bool) -> dict[int, int]:
        """Where the best exchange of each end leads; to itself where none gains."""
        after = {end: self._exchanged.get(end, end) for end in ends}
        tried = {
            end: supports
            for end in ends
            if end not in self._exchanged
            and len(supports := self.neighbours(self.found(end), sure=sure))
        }
        for end, reached in zip(tried, self._polished_parts(list(tried.values())), strict=True):
            best = reached[int(np.argmax(self.values[reached]))]
            if self.values[best] > self.values[end] * self.gain:
                after[end] = best
        if not self.rough:
            self._exchanged.update(after)
        return after

    def _polished_parts(self, parts: list[Support]) -> list[list[int]]:
        """All parts in one batch, or each alone where non-negative loadings left places empty."""
        if len({part.shape[1] for part in parts}) != 1:
            return [self.polished(part) for part in parts]
        reached = iter(self.polished(np.concatenate(parts)))
        return [[next(reached) for _ in part] for part in parts]

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

    def solved(self, supports: Support, keys: list[bytes]) -> Support:
        """Places of the best loadings on each support; ``keys`` are the supports as bytes."""
        new = {key: at for at, key in enumerate(keys) if key not in self._solved}
        if new:
            W, values, exact = self.on_supports(supports[list(new.values())])
            self._keep(list(new), W, values)
        places = np.array([self._solved[key] for key in keys])
        if new and not exact.all():
            # Another batch may ask for more digits.
            for key, is_exact in zip(new, exact.tolist(), strict=True):
                if not is_exact:
                    self.rough.add(self._solved.pop(key))
        return places

    def _keep(self, keys: list[bytes], W: Array, values: Array) -> None:
        """Remember the loadings on new supports."""
        first = len(self.values)
        self.W = np.concatenate([self.W, W]) if first else W
        self.values = np.concatenate([self.values, values]) if first else values
        self._solved.update(zip(keys, range(first, len(self.values)), strict=True))

    def on_supports(self, supports: Support) -> tuple[Array, Array, Array]:
        """The best loadings on each support, their variances, and which are exact."""
        W = np.zeros((len(supports), self.A.shape[0]), dtype=self.A.dtype)
        if self.k > BATCHED:
            values, alone = np.zeros(len(supports)), np.ones(len(supports), dtype=bool)
        else:
            values, v = leading_pairs(self.A[supports[:, :, None], supports[:, None, :]])
            v = np.where(v.sum(axis=1)[:, None] < 0, -v, v)
            W[np.arange(len(W))[:, None], supports] = v
            if not self.constraint.nonnegative:
                return W, values, np.ones(len(W), dtype=bool)
            # Without negative entries this is the best non-negative answer as well.
            alone = np.any(v < 0, axis=1)
        exact = ~alone
        if alone.any():
            exact[self.climb(supports, alone, W, values)] = True
        return W, values, exact

    def climb(self, supports: Support, alone: Array, W: Array, values: Array) -> Support:
        """Loadings where no eigenvector serves: near ones for all, the best exactly; which these are."""
        rows = np.flatnonzero(alone)
        if self.constraint.nonnegative:
            mask = np.zeros((rows.size, self.A.shape[0]), dtype=self.A.dtype)
            mask[np.arange(rows.size)[:, None], supports[rows]] = 1
            V, reached = self.powered(mask / np.sqrt(self.k), mask)
            # All of them together may cancel; the feature that varies most does not.
            # Where nothing is left of any, rounding may be below zero, and a feature outside above.
            variance = np.where(mask > 0, self.A.diagonal(), -np.inf)
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
        return rows

    def powered(self, V: Array, mask: Array) -> tuple[Array, Array]:
        """Projected power steps within ``mask``, and the variances they lead to."""
        for _ in range(N_POWER):
            step = np.maximum(V @ self.A, 0) * mask
            norms = np.sqrt(np.einsum("ij,ij->i", step, step))
            V = np.where(norms[:, None] > 0, step / np.where(norms > 0, norms, 1)[:, None], V)
        return V, np.einsum("ij,ij->i", V @ self.A, V)
