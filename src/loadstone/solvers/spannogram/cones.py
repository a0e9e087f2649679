"""Conical branch and bound: the epsilon of the net, without its probability.

``g`` is convex and positively homogeneous, so on a cone with unit vertices w_j
it lies below the linear function h with ``h.w_j = g(w_j)``. The largest h.c over
unit c in the cone is the longest projection of h onto a face in whose interior
it falls. Cones whose bound is within epsilon of the best value are closed, the
others bisected at their longest edge. Where all vertices select one and the same
support, convexity makes it the support of the whole cone, and the bound drops to
the largest eigenvalue on that support: generic searches end with a proof of optimality.

Notation: ``W`` (m, d, d) holds cones as rows of vertices, ``G`` (m, d) their g.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.spannogram.direction import Direction
from loadstone.solvers.spannogram.rank_one import climb, first_incumbent

MAX_RANK = 5
MAX_DIRECTIONS = 200_000
# Seconds per curve height and per face of a cone, on one slow core.
SECONDS_PER_HEIGHT = 2.5e-8
SECONDS_PER_FACE = 2e-5
# Curve heights evaluated together.
_BLOCK = 1 << 21
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Cones:
    """A batch of simplicial cones; ``mark`` tells which support each vertex selects."""

    W: Array
    G: Array
    mark: Array
    bound: Array

    def take(self, which: Array) -> Cones:
        """Some of the cones."""
        return Cones(self.W[which], self.G[which], self.mark[which], self.bound[which])

    def join(self, other: Cones) -> Cones:
        """Both batches as one."""
        return Cones(
            np.concatenate([self.W, other.W]),
            np.concatenate([self.G, other.G]),
            np.concatenate([self.mark, other.mark]),
            np.concatenate([self.bound, other.bound]),
        )


class _Curves:
    """Evaluates g and the selected support of many directions."""

    def __init__(self, V: Array, n_nonzero: int, *, nonnegative: bool) -> None:
        self.V, self.n_nonzero, self.nonnegative = V, n_nonzero, nonnegative
        rng = np.random.default_rng(0)
        self.keys = np.asarray(rng.integers(1, 2**62, size=V.shape[0]))
        self.n_seen = 0
        self._peaks: dict[int, float] = {}

    def __call__(self, C: Array) -> tuple[Array, Array]:
        """``g`` and the mark of the support for every row of C."""
        g, mark = np.empty(len(C)), np.empty(len(C), dtype=np.int64)
        width = max(1, _BLOCK // len(self.V))
        for begin in range(0, len(C), width):
            heights = C[begin : begin + width] @ self.V.T
            rows = np.arange(len(heights))[:, None]
            top = self._top(heights)
            kept = heights[rows, top]
            if self.nonnegative:
                np.maximum(kept, 0.0, out=kept)
            g[begin : begin + width] = np.sqrt(np.sum(kept**2, axis=1))
            # Opposite signs get opposite keys: one support with one sign pattern is convex.
            keys = np.sign(kept).astype(np.int64) * self.keys[top]
            mark[begin : begin + width] = keys.sum(axis=1)
        self.n_seen += len(C)
        return g, mark

    def _top(self, heights: Array) -> Array:
        n, k = len(self.V), self.n_nonzero
        if k >= n:
            return np.broadcast_to(np.arange(n), heights.shape)
        size = heights if self.nonnegative else np.abs(heights)
        return np.argpartition(size, n - k, axis=1)[:, n - k :]

    def peak(self, c: Array, mark: int) -> float:
        """``sqrt(lambda_max)`` of the support selected at c: no direction does better with it."""
        if mark not in self._peaks:
            heights = (self.V @ c)[None, :]
            top = self._top(heights)[0]
            kept = top[heights[0, top] > 0.0] if self.nonnegative else top
            norm = np.linalg.norm(self.V[kept], ord=2) if kept.size else 0.0
            self._peaks[mark] = float(norm) * (1.0 + 1e-13)
        return self._peaks[mark]


def cones(
    V: Array,
    n_nonzero: int,
    *,
    nonnegative: bool,
    epsilon: float,
    max_directions: int = MAX_DIRECTIONS,
) -> Direction:
    """Best direction, proven to be within ``epsilon`` of the best possible value.

    Once that is reached the search goes on for a moment, mostly to a proof of optimality.
    Where ``max_directions`` ends it early the bound proven so far is returned.
    """
    curves = _Curves(V, n_nonzero, nonnegative=nonnegative)
    c, value = first_incumbent(V, n_nonzero, nonnegative=nonnegative)
    todo = _orthants(curves)
    closed = 0.0
    batch = max(8, min(256, _BLOCK // len(V)))
    bonus = extra_directions(*V.shape)
    while True:
        open_ = todo.bound > np.sqrt(value * (1.0 + 1e-12))
        closed = max(closed, float(todo.bound[~open_].max(initial=0.0)))
        todo = todo.take(open_)
        n_beyond = int(np.count_nonzero(todo.bound > np.sqrt(value / (1.0 - epsilon))))
        if not len(todo.bound) or curves.n_seen >= max_directions:
            break
        if not n_beyond:
            if bonus <= 0:
                break
            n_beyond = min(batch, bonus)
        chosen, todo, rounded = _take_worst(todo, min(batch, n_beyond))
        closed = max(closed, rounded)
        if not len(chosen.bound):
            continue
        before = curves.n_seen
        children, middle, g = _bisect(chosen, curves)
        todo = todo.join(children)
        bonus -= curves.n_seen - before
        best = int(np.argmax(g))
        if g[best] ** 2 > value * (1.0 + 1e-12):
            c, value = climb(V, middle[best], n_nonzero, nonnegative=nonnegative)
    proven = max(closed, float(todo.bound.max(initial=0.0)), np.sqrt(value))
    return Direction(
        c=c,
        value=value,
        upper_bound=proven**2,
        deterministic=True,
        n_candidates=curves.n_seen,
        complete=not n_beyond,
    )


def _take_worst(todo: Cones, size: int) -> tuple[Cones, Cones, float]:
    """Split off the cones with the largest bounds, and close those too small to split.

    Within a millionth of a radian only rounding is left to bound. Returns the cones to
    split, the rest, and the largest bound that was closed.
    """
    worst = np.argsort(-todo.bound, kind="stable")
    chosen, rest = todo.take(worst[:size]), todo.take(worst[size:])
    edges = chosen.W[:, :, None, :] - chosen.W[:, None, :, :]
    point = np.linalg.norm(edges, axis=-1).max(axis=(1, 2)) < 1e-6
    return chosen.take(~point), rest, float(chosen.bound[point].max(initial=0.0))


def extra_directions(n_features: int, rank: int) -> int:
    """Directions worth a quarter of a second."""
    return int(0.25 / (n_features * SECONDS_PER_HEIGHT + 2**rank * SECONDS_PER_FACE))


def _orthants(curves: _Curves) -> Cones:
    """The first cones: orthants, half of them where opposite directions are equal."""
    d = curves.V.shape[1]
    signs = np.stack(np.meshgrid(*[(1.0, -1.0)] * d, indexing="ij"), axis=-1).reshape(-1, d)
    if not curves.nonnegative:
        signs = signs[: max(1, len(signs) // 2)]
    W = signs[:, :, None] * np.eye(d)
    g, mark = curves(W.reshape(-1, d))
    G, mark = g.reshape(-1, d), mark.reshape(-1, d)
    return Cones(W, G, mark, _bounds(W, G, mark, curves))


def _bisect(parents: Cones, curves: _Curves) -> tuple[Cones, Array, Array]:
    """Split every cone at its longest edge; also the new vertices and their g."""
    m, d, _ = parents.W.shape
    pairs = np.array(list(combinations(range(d), 2)))
    cosines = np.einsum("mpi,mpi->mp", parents.W[:, pairs[:, 0]], parents.W[:, pairs[:, 1]])
    edge = pairs[np.argmin(cosines, axis=1)]
    rows = np.arange(m)
    middle = parents.W[rows, edge[:, 0]] + parents.W[rows, edge[:, 1]]
    middle /= np.linalg.norm(middle, axis=1, keepdims=True)
    # Neighbours share edges: each new vertex is evaluated once.
    fresh, back = np.unique(middle, axis=0, return_inverse=True)
    g, mark = curves(fresh)
    back = back.ravel()
    halves = []
    for side in (0, 1):
        W, G, marks = parents.W.copy(), parents.G.copy(), parents.mark.copy()
        W[rows, edge[:, side]] = middle
        G[rows, edge[:, side]] = g[back]
        marks[rows, edge[:, side]] = mark[back]
        bound = np.minimum(_bounds(W, G, marks, curves), parents.bound)
        halves.append(Cones(W, G, marks, bound))
    return halves[0].join(halves[1]), fresh, g


def _bounds(W: Array, G: Array, mark: Array, curves: _Curves) -> Array:
    """Upper bounds of g on unit directions of each cone."""
    bound = np.zeros(len(W))
    d = W.shape[1]
    for size in range(1, d + 1):
        for face in combinations(range(d), size):
            bound = np.maximum(bound, _face_bound(W[:, face], G[:, face]))
    for i in np.flatnonzero(np.all(mark == mark[:, :1], axis=1)):
        bound[i] = min(bound[i], curves.peak(W[i, 0], int(mark[i, 0])))
    return bound


def _face_bound(W: Array, G: Array) -> Array:
    """Length of the projection of h onto each face, 0 where it falls outside the face."""
    if W.shape[1] == 1:
        return G[:, 0]
    R = np.linalg.qr(W.transpose(0, 2, 1)).R
    along = np.linalg.solve(R.transpose(0, 2, 1), G[:, :, None])
    weights = np.linalg.solve(R, along)[:, :, 0]
    length = np.linalg.norm(along[:, :, 0], axis=1)
    # Thin cones lose digits in the solves; the bound must not.
    thinness = np.abs(np.diagonal(R, axis1=1, axis2=2)).min(axis=1)
    inside = np.all(weights >= -1e-9 * np.abs(weights).max(axis=1, keepdims=True), axis=1)
    return np.where(inside, length * (1.0 + 16.0 * _EPS / np.maximum(thinness, _EPS)), 0.0)
