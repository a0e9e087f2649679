"""The path of the lasso, knot by knot, from a Gram matrix.

For a positive definite G the path of

    argmin_b  b'Gb - 2 t'b + 2 level |b|_1

is piecewise linear in the level. Features enter where their correlation with what is left,
``t - G b``, reaches the level, and leave where their coefficient passes zero. The elastic
net is the same with ``G = S + ridge I``.

References
----------
Efron, B., Hastie, T., Johnstone, I., & Tibshirani, R. (2004). Least angle regression. The
Annals of Statistics, 32(2), 407-499. https://doi.org/10.1214/009053604000000067
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from loadstone.covariance import Array

#: Share of a variance that a feature must have of its own to enter beside those already in.
INDEPENDENT = 1e-12


def least_angle(gram: Array, target: Array, size: int, end: float = 0.0) -> Array:
    """Coefficients where ``size`` features are in and the next one is about to enter.

    Fewer are returned where the level reaches its ``end`` before, where no more features
    correlate with the target, or where those left are combinations of those already in.
    """
    b = np.zeros_like(target)
    left = target.copy()
    #: Features that may not enter: they are in already, or cannot add anything.
    closed = np.diag(gram) <= 0
    first = int(np.argmax(np.where(closed, 0, np.abs(left))))
    inside = _Inside.of(gram, size)
    inside.enter(first, left)
    closed[first] = True
    for _ in range(8 * size + 8):
        members = inside.members
        level = float(np.abs(left[members]).max(initial=0))
        if level <= end:
            return b
        # The level falls at rate 1 on these features, and each correlation at ``fall``.
        step, fall = inside.step()
        enters, entering = _first_entry(left, fall, level, closed)
        leaves, leaving = _first_exit(b[members], step)
        length = min(enters, leaves, level - end)
        b[members] += length * step
        left -= length * fall
        if leaves <= min(enters, level - end):
            b[members[leaving]] = 0
            closed[members[leaving]] = False
            inside.leave(leaving, left)
        elif enters >= level - end or len(members) == size:
            return b
        else:
            # Closed either way: it is in, or a combination of those that are.
            closed[entering] = True
            inside.enter(entering, left)
    return b


@dataclass
class _Inside:
    """The features that are in, with the Cholesky factor of their Gram matrix.

    A feature keeps its sign while it is in, so ``L^-1 sign`` grows by one entry with each.
    """

    gram: Array
    members: list[int]
    #: Rows of the Gram matrix, one for each member.
    rows: Array
    factor: Array
    #: ``L^-1`` times the signs of the correlations.
    signs: Array

    @classmethod
    def of(cls, gram: Array, size: int) -> _Inside:
        most = min(size + 1, gram.shape[0])
        return cls(gram, [], np.empty((most, len(gram))), np.zeros((most, most)), np.empty(most))

    def enter(self, feature: int, left: Array) -> None:
        """Add a feature, unless it is a combination of those already in."""
        n = len(self.members)
        row = self.gram[feature]
        across = row[self.members]
        z = _solved(self.factor[:n, :n], across) if n else across
        own = row[feature] - z @ z
        if own <= INDEPENDENT * row[feature]:
            return
        self.members.append(feature)
        self.rows[n] = row
        self.factor[n, :n] = z
        self.factor[n, n] = np.sqrt(own)
        self.signs[n] = (np.sign(left[feature]) - z @ self.signs[:n]) / self.factor[n, n]

    def leave(self, place: int, left: Array) -> None:
        """Take a feature out; those after it enter again."""
        after = self.members[place + 1 :]
        del self.members[place:]
        for feature in after:
            self.enter(feature, left)

    def step(self) -> tuple[Array, Array]:
        """Direction of the coefficients, and at what rate each correlation falls."""
        n = len(self.members)
        direction = _solved(self.factor[:n, :n], self.signs[:n], transposed=True)
        return direction, direction @ self.rows[:n]


def _solved(factor: Array, right: Array, *, transposed: bool = False) -> Array:
    """``L^-1 right`` or ``L'^-1 right`` for a lower triangle."""
    result: Array = solve_triangular(
        factor, right, lower=True, trans=int(transposed), check_finite=False
    )
    return result


def _first_entry(left: Array, fall: Array, level: float, closed: Array) -> tuple[float, int]:
    """How far the level falls until another correlation equals it, and whose it is."""
    wait = np.full(left.shape, np.inf)
    for sign in (1, -1):
        closing = 1 - sign * fall
        # Where the correlation falls as fast as the level they never meet.
        meets = ~closed & (closing > INDEPENDENT)
        gap = np.maximum(level - sign * left[meets], 0) / closing[meets]
        wait[meets] = np.minimum(wait[meets], gap)
    first = int(np.argmin(wait))
    return float(wait[first]), first


def _first_exit(b: Array, step: Array) -> tuple[float, int]:
    """How far the level falls until a coefficient passes zero, and which."""
    wait = np.full(b.shape, np.inf)
    shrinks = b * step < 0
    wait[shrinks] = -b[shrinks] / step[shrinks]
    first = int(np.argmin(wait))
    return float(wait[first]), first
