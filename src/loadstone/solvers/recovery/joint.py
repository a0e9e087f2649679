"""All components together on the features looked at: passes of one component at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from loadstone.constraints import LoadingConstraint, Signs
from loadstone.covariance import Array, Support
from loadstone.metrics.recovered_variance import recovered_from_scores
from loadstone.solvers.recovery.cone import ROUNDED
from loadstone.solvers.recovery.pencil import GAIN, Pencil, Sized, forced_of

#: Principal components whose features are starts.
N_GUIDES = 4
#: Single features from which a forward search starts.
N_SINGLES = 2
#: Random answers to begin from, among at most so many features; fewer where they are disjoint,
#: which leaves each component less to choose from.
N_RANDOM, N_RANDOM_DISJOINT, FEW_FEATURES = 24, 8, 64
#: Gain at which a trial is not followed further.
ROUGH = 1e-4
#: Differences of values that mean nothing.
ROUNDING = 1e-12
#: Steps that long, in square roots of the rounding, that gain nothing are between equals.
FAR, TINIEST = 100.0, float(np.finfo(np.float64).tiny)
#: Passes over all components.
MAX_PASSES = 20


@dataclass(frozen=True)
class JointProblem:
    """``S^2`` and ``S`` on some features, a constraint for each component, and their relation.

    ``eps`` is the rounding of the data.
    """

    A: Array
    B: Array
    constraints: tuple[Sized, ...]
    disjoint: bool = False
    eps: float = float(np.finfo(np.float64).eps)

    def recovered(self, W: Array) -> float:
        """``tr[(W'BW)^+ W'AW]``, less what of it may be rounding of the data."""
        if not W.shape[1]:
            return 0.0
        return float(recovered_from_scores(W.T @ self.B @ W, W.T @ self.A @ W, self.eps)[-1])

    def greedy(self, guides: Array, given: Sequence[Array] = ()) -> Array:
        """One component after another, each from fresh starts and from those given for it."""
        W = np.zeros((len(self.A), 0))
        for j in range(len(self.constraints)):
            pencil = self._beside(W, j)
            supports = self.starts(pencil, guides) + _column(given, j, pencil.constraint)
            W = np.column_stack([W, self._best_end(pencil, supports)])
        return W

    def _beside(self, others: Array, j: int) -> Pencil:
        """What component j can add to the others, on the features that are open to it."""
        constraint = self.constraints[j]
        if self.disjoint:
            constraint = constraint.without(np.flatnonzero(others.any(axis=1)))
        return Pencil.beside(self.A, self.B, others, constraint, self.eps)

    def random(self) -> list[Array]:
        """Random supports for all components at once, where features are few.

        Components that only together recover much are not met by adding one at a time.
        """
        if len(self.A) > FEW_FEATURES or len(self.constraints) < 2:
            return []
        rng = np.random.default_rng(0)
        answers = []
        for _ in range(N_RANDOM_DISJOINT if self.disjoint else N_RANDOM):
            W = np.zeros((len(self.A), len(self.constraints)))
            for j, constraint in enumerate(self.constraints):
                worth = np.where(
                    Pencil(self.A, self.B, constraint, self.eps).singles() > 0, 1.0, 0.0
                )
                worth *= rng.random(len(worth))
                if self.disjoint:
                    worth[W.any(axis=1)] = 0
                support = _with_forced(worth, constraint.size, forced_of(constraint))
                # Of unit length: where nothing recovers more, this is the answer.
                W[support, j] = _allowed(support, constraint) / np.sqrt(max(1, support.size))
            answers.append(W)
        return answers

    def starts(self, pencil: Pencil, guides: Array) -> list[Support]:
        """Features that correlate most with the guides, that load most on them, and the best alone."""
        k, forced = pencil.constraint.size, forced_of(pencil.constraint)
        deviation = np.sqrt(np.maximum(pencil.B.diagonal(), pencil.floor or 1.0))
        alone = pencil.singles()
        usable = alone > 0
        usable[forced] = True
        supports = []
        sides = _sides(pencil.B @ guides, pencil.constraint), _sides(guides, pencil.constraint)
        for worth in (sides[0] / deviation[:, None], sides[1]):
            columns = np.where(usable[:, None], worth, -1.0).T
            supports += [_with_forced(column, k, forced) for column in columns]
        ranked = np.argsort(-alone, kind="stable")[:N_SINGLES]
        for feature in ranked[alone[ranked] >= 0]:
            lone = np.zeros(len(alone))
            lone[feature] = 1
            supports.append(_with_forced(lone, max(1, forced.size), forced))
        return [support for support in supports if support.size]

    def passes(self, W: Array, guides: Array, *, fresh: bool = False, gain: float = GAIN) -> Array:
        """Replace one component after the other until none recovers more by a share ``gain``.

        Each is sought from where it is, and ``fresh`` ones from everywhere else too.
        """
        W, value = W.copy(), self.recovered(W)
        refused = 0
        r = W.shape[1]
        for step in range(MAX_PASSES * r):
            j = step % r
            pencil = self._beside(np.delete(W, j, axis=1), j)
            supports = self.starts(pencil, guides) if fresh else []
            if W[:, j].any():
                supports.append(np.flatnonzero(W[:, j]))
            trial = W.copy()
            trial[:, j] = self._best_end(pencil, supports, W[:, j])
            reached = self.recovered(trial)
            refused += 1
            if reached > value * (1 + gain):
                W, value, refused = trial, reached, 1
            if refused >= r:
                break
        return W

    def kicked(self, W: Array, guides: Array) -> Array:
        """Take each component out, let the others settle without it, and find it anew.

        Passes move one component at a time and end where two would have to move together.
        """
        best = W
        for j in range(W.shape[1] if W.shape[1] > 1 else 0):
            others = replace(self, constraints=_without(self.constraints, j))
            rest = others.passes(np.delete(best, j, axis=1), guides, gain=ROUGH)
            pencil = self._beside(rest, j)
            w = self._best_end(pencil, self.starts(pencil, guides))
            tried = self.passes(np.insert(rest, j, w, axis=1), guides, gain=ROUGH)
            if self.recovered(tried) > self.recovered(best) * (1 + GAIN):
                best = tried
        return self.passes(best, guides)

    def _best_end(
        self, pencil: Pencil, supports: list[Support], near: Array | None = None
    ) -> Array:
        """The best end of climbs from several supports, as a unit vector."""
        k, forced = pencil.constraint.size, forced_of(pencil.constraint)
        # A forced feature takes its place also where its loading was zero.
        filled = [np.concatenate([forced, np.setdiff1d(s, forced)])[:k] for s in supports]
        ends = [pencil.climb(support, near) for support in _distinct(filled)]
        w = np.zeros(len(self.A))
        if not ends:
            # Beside the others no feature has variance left.
            return w
        support, loadings, _ = max(ends, key=lambda end: end[2])
        w[support] = loadings
        length = np.linalg.norm(w)
        return w / length if length > 0 else w

    def settled(self, W: Array, max_iter: int, tol: float) -> tuple[Array, bool]:
        """The best loadings on the supports of ``W``, and whether they stand still.

        Passes over the components end where the value hardly rises, which leaves half the
        digits of the loadings open. On fixed supports a pass costs next to nothing.
        """
        used = np.flatnonzero(W.any(axis=1))
        A, B = self.A[np.ix_(used, used)], self.B[np.ix_(used, used)]
        inside, among = W[used], replace(self, A=A, B=B)
        rounding = max(ROUNDING, 4 * self.eps)
        supports = [np.flatnonzero(w) for w in inside.T]
        signs = [_only_signs(constraint, used) for constraint in self.constraints]
        tol = max(tol, ROUNDED * self.eps)
        for _ in range(max_iter):
            before = inside.copy()
            for j, support in enumerate(supports):
                if support.size:
                    others = np.delete(inside, j, axis=1)
                    pencil = Pencil.beside(A, B, others, signs[j], self.eps)
                    inside[:, j] = _best_near(pencil, support, inside[:, j])
            moved = float(np.abs(inside - before).max(initial=0.0))
            if moved <= tol:
                break
            # A long way for nothing: there are many best answers, as where all is recovered.
            rise = among.recovered(inside) / max(among.recovered(before), TINIEST) - 1
            if moved > FAR * np.sqrt(rounding) and rise <= rounding:
                inside = before
                break
        else:
            return self._better(W, used, inside), False
        return self._better(W, used, inside), True

    def _better(self, W: Array, used: Support, inside: Array) -> Array:
        """``W`` with other loadings on the features in use, unless they recover less."""
        found = W.copy()
        found[used] = inside
        return found if self.recovered(found) >= self.recovered(W) * (1 - ROUNDING) else W

    def ordered(self, W: Array) -> Array:
        """Components in the order in which they recover most; sizes stay with their places."""
        if len({constraint.size for constraint in self.constraints}) > 1:
            return W
        order: list[int] = []
        for _ in range(W.shape[1]):
            left = [j for j in range(W.shape[1]) if j not in order]
            totals = [self.recovered(W[:, np.array([*order, j])]) for j in left]
            order.append(left[int(np.argmax(totals))])
        return W[:, np.array(order, dtype=np.intp)]


def _best_near(pencil: Pencil, support: Support, w: Array) -> Array:
    """The best unit vector on a support, with the sign of ``w`` where either is allowed."""
    values, loadings = pencil.best_on(support[None], w)
    length = np.linalg.norm(loadings[0])
    if not values[0] > 0 or not length > 0:
        return w
    found = np.zeros(len(w))
    found[support] = loadings[0] / length
    return -found if pencil.constraint.signs is None and found @ w < 0 else found


def _only_signs(constraint: Sized, features: Support) -> Sized:
    """The signs of some features, any number of which may be used."""
    if constraint.signs is None:
        return LoadingConstraint(features.size, features.size)
    signs = enumerate(constraint.signs[features].tolist())
    return Signs({i: sign for i, sign in signs if sign}, n_features=features.size)


def _allowed(support: Support, constraint: Sized) -> Array:
    """One for each feature of a support, or minus one where that is its sign."""
    ones = np.ones(support.size)
    return ones if constraint.signs is None else np.where(constraint.signs[support] < 0, -1.0, 1.0)


def _sides(directions: Array, constraint: Sized) -> Array:
    """What each entry is worth: its size, or both sides apart where signs are given."""
    signs = constraint.signs
    if signs is None:
        return np.abs(directions)
    both = np.hstack([directions, -directions])
    given = signs[:, None]
    return np.asarray(np.where(given == 0, np.abs(both), np.maximum(given * both, 0.0)))


def _with_forced(worth: Array, k: int, forced: Support) -> Support:
    """The ``k`` largest entries above zero, forced features first."""
    worth = worth.copy()
    worth[forced] = np.inf
    order = np.argsort(-worth, kind="stable")[:k]
    return np.sort(order[worth[order] > 0])


def _column(given: Sequence[Array], j: int, constraint: Sized) -> list[Support]:
    """Supports of component j in complete answers, as far as they are open to it."""
    used = [np.setdiff1d(np.flatnonzero(W[:, j]), constraint.forbidden) for W in given]
    return [support for support in used if support.size]


def _distinct(supports: list[Support]) -> list[Support]:
    return list({np.sort(support).tobytes(): support for support in supports}.values())


def _without(constraints: tuple[Sized, ...], j: int) -> tuple[Sized, ...]:
    return constraints[:j] + constraints[j + 1 :]
