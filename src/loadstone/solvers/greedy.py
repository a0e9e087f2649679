"""Greedy paths: supports that grow, shrink or exchange one feature at a time.

Notation: I is the support, ``w`` the leading eigenvector of ``S_II`` with eigenvalue
``lambda_1``, ``lambda_2`` the next one. A candidate i borders ``S_II`` by ``S_Ii`` and
``S_ii``; with ``c = w'S_Ii`` and ``r^2 = |S_Ii|^2 - c^2`` its largest eigenvalue lies
between those of ``[[lambda_1, c], [c, S_ii]]`` and of
``[[lambda_1, 0, c], [0, lambda_2, r], [c, r, S_ii]]``. All of these cost O(n) a step
once the row of the last feature is known, so the exact best candidate is found by
solving only those few whose upper limit exceeds the best lower one.

References
----------
d'Aspremont, A., Bach, F., & El Ghaoui, L. (2008). Optimal solutions for sparse principal
component analysis. Journal of Machine Learning Research, 9, 1269-1294.

Moghaddam, B., Weiss, Y., & Avidan, S. (2006). Spectral bounds for sparse PCA: exact and
greedy algorithms. Advances in Neural Information Processing Systems 18.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance, Support
from loadstone.loadings import Loadings, Stop
from loadstone.solvers.renormalise import renormalise
from loadstone.solvers.support_spectrum import SupportSpectrum

#: Relative difference below which two candidates tie; the first feature then wins.
TIE = 1e-12
DIRECTIONS = ("forward", "backward", "forward-backward")
RULES = ("exact", "approximate")


@dataclass(frozen=True)
class GreedyPath:
    """Features in the order a greedy search takes them, and the variance at each size."""

    order: Support
    values: Array


@dataclass(frozen=True)
class Greedy:
    """One feature at a time, never looking back (or forth).

    Attributes
    ----------
    direction : {"forward", "backward", "forward-backward"}
        Grow from the feature of largest variance, shrink from all features, or grow
        and exchange features after each step while that gains.
    rule : {"exact", "approximate"}
        Take the feature with the largest eigenvalue, or the one with the largest
        ``|S w|_i`` (the rule of PathSPCA). Shrinking always drops the smallest loading.
    """

    direction: str = "forward"
    rule: str = "exact"

    def refuses(self, constraint: Constraint) -> str | None:
        """Needs a cardinality to stop at."""
        if not isinstance(constraint, LoadingConstraint):
            return (
                f"a greedy path stops at a number of features; {type(constraint).__name__} "
                "has none, use SparsePCA"
            )
        return None

    def __call__(
        self,
        S: Covariance,
        constraint: LoadingConstraint,
        rng: np.random.Generator,
        starts: Array | None = None,
    ) -> Loadings:
        """See :class:`loadstone.solvers.protocol.Solver`.

        The first feature is the one of largest variance among the peaks of ``starts``.
        """
        first = None
        if starts is not None:
            peaks = np.unique(np.argmax(np.abs(starts), axis=0))
            first = int(peaks[np.argmax(S.diagonal()[peaks])])
        if self.direction == "backward":
            w, values = _shrink(S, constraint)
            details: dict[str, Array] = {}
        else:
            growth = Growth(S, constraint, self.rule, first)
            w, values = growth.run(exchanges=self.direction == "forward-backward")
            details = {"order": np.array(growth.order), "values": values}
        return Loadings(w[:, None], values, values.size, Stop.EXACT, details)


def greedy_path(
    S: Covariance, n_nonzero: int, *, nonnegative: bool = False, rule: str = "exact"
) -> GreedyPath:
    """The whole forward path up to a size: one run, every size on the way."""
    growth = Growth(S, LoadingConstraint(S.n_features, n_nonzero, nonnegative), rule, None)
    _, values = growth.run(exchanges=False)
    return GreedyPath(np.array(growth.order), values)


class Growth:
    """A support that grows by the best feature."""

    def __init__(
        self, S: Covariance, constraint: LoadingConstraint, rule: str, first: int | None
    ) -> None:
        self.S, self.constraint, self.rule = S, constraint, rule
        self.spectrum = SupportSpectrum(S)
        self.variance = S.diagonal().astype(np.float64)
        self.closed = np.zeros(S.n_features, dtype=bool)
        self.closed[constraint.forbidden] = True
        self.inside = np.zeros(S.n_features, dtype=bool)
        self.order: list[int] = []
        self.lengths = np.zeros(S.n_features)
        for feature in constraint.forced if constraint.forced.size else [self._first(first)]:
            self._join(int(feature))

    def _first(self, first: int | None) -> int:
        if first is not None and not self.closed[first]:
            return first
        return _first_of_best(np.where(self.closed, -np.inf, self.variance))

    def run(self, *, exchanges: bool) -> tuple[Array, Array]:
        """Grow to the size of the constraint; the loadings and the variance of each size."""
        state = self._leading()
        values = [state.value]
        while len(self.order) < self.constraint.size and not (self.inside | self.closed).all():
            self._join(self._best_candidate(state))
            state = self._leading(state)
            if exchanges:
                state = self._exchange(state)
            values.append(state.value)
        w = _unit(np.where(self.inside, state.image, 0), self.inside)
        return renormalise(self.S, w, self.constraint)[0], np.array(values)

    @property
    def _is_exact(self) -> bool:
        # Non-negative candidates are ranked by their lower limit: the upper one is loose.
        return self.rule == "exact" and not self.constraint.nonnegative

    def _join(self, feature: int) -> None:
        if self._is_exact:
            self.lengths += self.spectrum.row(feature).astype(np.float64) ** 2
        self.order.append(feature)
        self.inside[feature] = True

    def _leave(self, feature: int) -> None:
        if self._is_exact:
            self.lengths -= self.spectrum.row(feature).astype(np.float64) ** 2
        self.order.remove(feature)
        self.inside[feature] = False

    def _leading(self, before: _State | None = None) -> _State:
        """The best loadings on the support, or good ones if they may not be negative.

        A step of EM from the loadings of a smaller support keeps what these explained.
        """
        values, image = self.spectrum.leading_pairs(self.inside, 2)
        second = float(values[1]) if values.size > 1 else 0.0
        if not self.constraint.nonnegative:
            return _State(float(values[0]), second, image.astype(np.float64))
        v = image * np.sign(image[np.argmax(np.abs(np.where(self.inside, image, 0)))])
        images = [v] if before is None else [v, before.image.astype(v.dtype)]
        w, value = max((self._nonnegative(image) for image in images), key=lambda found: found[1])
        return _State(value, second, (self.S @ w).astype(np.float64))

    def _nonnegative(self, image: Array) -> tuple[Array, float]:
        w = np.where(self.inside, np.maximum(image, 0), 0)
        return renormalise(self.S, _unit(w, self.inside), self.constraint)

    def _best_candidate(self, state: _State) -> int:
        """The feature that raises the variance most, by the rule."""
        taken = self.inside | self.closed
        # A feature that does not correlate with non-negative scores could only stay at zero.
        cross = np.maximum(state.image, 0) if self.constraint.nonnegative else state.image
        if self.rule == "approximate":
            return _first_of_best(np.where(taken, -np.inf, np.abs(cross)))
        lower = np.where(taken, -np.inf, _two_by_two(state.value, self.variance, cross))
        return self._exact_best(state, lower) if self._is_exact else _first_of_best(lower)

    def _exact_best(self, state: _State, lower: Array) -> int:
        tie = max(TIE, 64 * float(np.finfo(self.S.dtype).eps))
        bar = _just_below(float(lower.max()), tie)
        lengths = np.maximum(self.lengths, state.image**2)
        # The crude limit is one formula for all features; only those above the bar get
        # the sharp one, and only those above the bar after that are solved.
        crude = _two_by_two(state.value, self.variance, np.sqrt(lengths))
        near = np.flatnonzero(np.isfinite(lower) & (crude >= bar))
        upper = _three_by_three(
            state.value,
            state.second,
            self.variance[near],
            state.image[near],
            np.sqrt(lengths[near] - state.image[near] ** 2),
        )
        solved: dict[int, float] = {}
        best = -np.inf
        for position in np.argsort(-upper, kind="stable"):
            if solved and upper[position] < max(_just_below(best, tie), bar):
                break
            feature = int(near[position])
            solved[feature] = self.spectrum.value_with(self.inside, feature)
            best = max(best, solved[feature])
        return min(f for f, reached in solved.items() if reached >= _just_below(best, tie))

    def _exchange(self, state: _State) -> _State:
        """Drop the feature with the smallest loading and add the best one, while that gains."""
        for _ in range(self.constraint.size):
            movable = np.setdiff1d(self.order, self.constraint.forced)
            if len(self.order) < 2 or movable.size == 0:
                break
            dropped = int(movable[np.argmin(np.abs(state.image[movable]))])
            self._leave(dropped)
            entering = self._best_candidate(self._leading())
            self._join(entering)
            moved = self._leading(state)
            if not moved.value > state.value * (1 + TIE):
                self._leave(entering)
                self._join(dropped)
                break
            state = moved
        return state


class _State(NamedTuple):
    """Two largest eigenvalues on a support, and ``S w`` of the best loadings."""

    value: float
    second: float
    image: Array


def _shrink(S: Covariance, constraint: LoadingConstraint) -> tuple[Array, Array]:
    """Drop the feature with the smallest loading until the size is reached."""
    w = np.zeros(S.n_features, dtype=S.dtype)
    w[np.setdiff1d(np.arange(S.n_features), constraint.forbidden)] = 1
    w, value = renormalise(S, w / np.linalg.norm(w), constraint)
    values = [value]
    held = np.zeros(S.n_features, dtype=bool)
    held[constraint.forced] = True
    # A forced feature holds its place even where its best loading is zero.
    while np.count_nonzero((w != 0) | held) > constraint.size:
        inside = np.flatnonzero((w != 0) & ~held)
        w[inside[np.argmin(np.abs(w[inside]))]] = 0
        w, value = renormalise(S, _unit(w, held), constraint)
        values.append(value)
    return w, np.array(values[::-1])


def _unit(w: Array, support: Array) -> Array:
    """``w`` at length one; where no variance is left, equal loadings on the support."""
    largest = np.abs(w).max(initial=0.0)
    # The squares of tiny numbers vanish where the numbers do not.
    w = w / largest if largest >= np.finfo(w.dtype).tiny else support.astype(w.dtype)
    result: Array = w / np.linalg.norm(w)
    return result


def _just_below(value: float, share: float) -> float:
    """What counts as the same; where nothing but rounding is left, values may be negative."""
    return value - share * abs(value)


def _first_of_best(worth: Array) -> int:
    best = float(worth.max())
    tie = TIE * abs(best) if np.isfinite(best) else 0.0
    return int(np.flatnonzero(worth >= best - tie)[0])


def _two_by_two(a: float, b: Array, c: Array) -> Array:
    """Largest eigenvalue of [[a, c], [c, b]]."""
    return (a + b) / 2 + np.hypot((a - b) / 2, c)


def _three_by_three(first: float, second: float, b: Array, c: Array, r: Array) -> Array:
    """Largest eigenvalue of [[first, 0, c], [0, second, r], [c, r, b]] for each candidate."""
    matrix = np.zeros((b.size, 3, 3))
    matrix[:, 0, 0], matrix[:, 1, 1], matrix[:, 2, 2] = first, second, b
    matrix[:, 0, 2] = matrix[:, 2, 0] = c
    matrix[:, 1, 2] = matrix[:, 2, 1] = r
    return np.linalg.eigvalsh(matrix)[:, -1]
