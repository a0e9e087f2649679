"""Non-negative sparse PCA, all components at once (Zass & Shashua, NIPS 2006).

Maximises ``1/2 ||U'X||^2 - (alpha/4) ||I - U'U||^2 - beta 1'U1`` over ``U >= 0``
(Eq. 3) one entry at a time; in a single entry the objective is a quartic whose
maximiser is found exactly (Eq. 4 and 5). The l0 problem before it is relaxed, with
``beta ||U||_0`` in place of the sum, has the same quartic and a price on leaving zero.

Notation: ``U`` (n_features x n_components); ``A = X X'`` is divided by its largest
eigenvalue and ``alpha`` and ``beta`` are in the same unit, so that nothing here
depends on the scale of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from loadstone.covariance import Array, Covariance, leading_eigenpairs
from loadstone.loadings import Loadings, Stop
from loadstone.solvers.column_moves import move_columns
from loadstone.solvers.coordinate_ascent_caches import (
    Penalties,
    Products,
    carried_with,
    products_of,
)
from loadstone.solvers.starts import random_nonnegative_starts, refuse_beyond_memory

__all__ = [
    "CoordinateAscent",
    "departure",
    "given_start",
    "largest_price",
    "largest_sparsity_penalty",
    "scaled_penalties",
]

# The carried products drift by rounding; over this many sweeps no digit is lost.
_REFRESH_EVERY = 20
# New starts for vanished columns before they are given up.
_MAX_RESEEDS = 10
# Blocks of all components at a time: eigenvectors, both of their signs, products, starts cut short.
BLOCKS_HELD = 8
#: Overlap penalty, in units of the largest eigenvalue, up to which single entries move well.
STRONG = 4.0
# Factor between the overlap penalties of two stages.
_STAGE = 4.0
#: Entries below this many units of rounding of the largest in their column are zero.
DUST = 64.0
# Power steps that lead a new start away from the columns there are.
_RESEED_STEPS = 50


def largest_sparsity_penalty(eigenvalue: float, alpha: float) -> float:
    """beta_max: along unit v with v'Av = eigenvalue a component lives iff beta 1'v < beta_max."""
    total = eigenvalue + alpha
    return (total / 3.0) * float(np.sqrt(2.0 * total / (3.0 * alpha)))


def largest_price(eigenvalue: float, alpha: float) -> float:
    """The same for l0: a component of k entries lives iff k times its price is below this."""
    return (eigenvalue + alpha) ** 2 / (4.0 * alpha)


def scaled_penalties(
    alpha: float, beta: float, eigenvalue: float, n_features: int
) -> tuple[float, float]:
    """The paper's alpha and beta as ``(overlap_penalty, sparsity_penalty)``.

    ``eigenvalue`` is the largest one of the paper's ``A = XX'``, a sum over the
    centred samples that is not divided by their number.
    """
    return alpha / eigenvalue, float(beta * np.sqrt(n_features) / eigenvalue)


class Ascent(NamedTuple):
    """One run: the components, the objective after every sweep, and how it ended."""

    U: Array
    trace: Array
    converged: bool


@dataclass(frozen=True)
class CoordinateAscent:
    """Joint coordinate ascent for non-negative, sparse, nearly orthogonal components.

    Parameters
    ----------
    overlap_penalty : float
        alpha in units of the largest eigenvalue of the covariance.
    sparsity_penalty : float
        beta in units of the largest eigenvalue over ``sqrt(n_features)`` (l1), or over
        ``n_features`` (l0).
    n_init : int
        Starts; all after the first are random.
    max_iter : int
        Sweeps over all entries, per start.
    tol : float
        Stop when a sweep raises the objective by less than this share of it.
    sparsity_norm : {"l1", "l0"}
        What beta is paid for: the sum of the entries, or every entry that is not zero.
    """

    overlap_penalty: float = 1.0
    sparsity_penalty: float = 0.0
    n_init: int = 1
    max_iter: int = 1000
    tol: float = 1e-7
    sparsity_norm: str = "l1"

    def __call__(
        self,
        S: Covariance,
        n_components: int,
        rng: np.random.Generator,
        init: str | Array = "pca",
    ) -> Loadings:
        """The best ascent over ``n_init`` starts.

        The first is that of ``init``: the leading eigenvectors (``"pca"``), at random, or given
        components in columns. The matrix of the result holds the components scaled to unit norm,
        without those that vanished; ``details["raw"]`` holds them as they were found.
        """
        refuse_beyond_memory(S, BLOCKS_HELD * int(n_components), f"n_components={n_components}")
        values, vectors = leading_eigenpairs(S, min(n_components, S.n_features))
        order = _order(vectors[:, 0])
        products = products_of(S, _positive(float(values[0])), order)
        solid = values > values[0] * S.n_features * np.finfo(S.dtype).eps
        vectors = vectors[:, solid]
        best: Ascent | None = None
        for number in range(self.n_init):
            start = _start("random" if number else init, vectors, n_components, order, rng)
            run = self._ascend(products, start.astype(S.dtype), vectors)
            if best is None or run.trace[-1] > best.trace[-1]:
                best = run
        assert best is not None
        return self._result(best, float(values[0]))

    def penalties(self, n_features: int) -> tuple[float, float]:
        """The values alpha and beta for a covariance of largest eigenvalue 1."""
        beta = self.sparsity_penalty / np.sqrt(n_features) if self.sparsity_norm == "l1" else 0.0
        return float(self.overlap_penalty), float(beta)

    def price(self, n_features: int) -> float:
        """What an entry that is not zero costs, for a covariance of largest eigenvalue 1."""
        return self.sparsity_penalty / n_features if self.sparsity_norm == "l0" else 0.0

    def _ascend(self, products: Products, start: Array, vectors: Array) -> Ascent:
        """Ascend; where columns vanished, re-seed them and go on as long as that pays."""
        (alpha, beta), price = self.penalties(len(start)), self.price(len(start))
        run = self._from_small_penalties(products, start)
        for _ in range(_MAX_RESEEDS):
            left = self.max_iter - (len(run.trace) - 1)
            U = reseed_dead(products, run.U, vectors, alpha, beta, price) if left > 0 else None
            if U is None:
                break
            more = ascend(products, U, alpha, beta, left, self.tol, price)
            run = Ascent(more.U, np.concatenate([run.trace, more.trace[1:]]), more.converged)
        return run

    def _from_small_penalties(self, products: Products, U: Array) -> Ascent:
        """Ascend with growing penalties on overlap: at a large one a start keeps its supports."""
        (alpha, beta), price = self.penalties(len(U)), self.price(len(U))
        stage = min(alpha, STRONG)
        while stage < alpha:
            U = ascend(products, U, stage, beta, self.max_iter, self.tol, price).U
            stage *= _STAGE
        return ascend(products, U, alpha, beta, self.max_iter, self.tol, price)

    def _result(self, run: Ascent, eigenvalue: float) -> Loadings:
        alive = run.U.any(axis=0)
        raw = _without_dust(run.U[:, alive])
        alpha, beta = self.penalties(len(raw))
        details = {"raw": raw, "eigenvalue": eigenvalue, "alpha": alpha}
        details |= {"beta": beta + self.price(len(raw)), "sparsity_penalty": self.sparsity_penalty}
        return Loadings(
            matrix=raw / np.linalg.norm(raw, axis=0),
            objective=run.trace,
            n_iter=len(run.trace) - 1,
            stop=Stop.CONVERGED if run.converged else Stop.MAX_ITER,
            details=MappingProxyType(details),
        )


def _without_dust(U: Array) -> Array:
    """Rounding that a sweep left in the place of a zero is no loading, and takes no place."""
    least = DUST * float(np.finfo(U.dtype).eps)
    return np.where(np.max(U, axis=0, initial=0.0) * least < U, U, 0)


def _positive(eigenvalue: float) -> float:
    if not eigenvalue > 0.0:
        msg = (
            "the covariance is zero: every feature is constant, so there is no variance to "
            "explain; check that the rows of the data differ"
        )
        raise ValueError(msg)
    return eigenvalue


def _objective(
    captured: float, U: Array, M: Array, alpha: float, beta: float, price: float
) -> float:
    """Eq. 3 in units of the largest eigenvalue, of what is carried along."""
    departed = float(np.sum((np.eye(len(M)) - M) ** 2, dtype=np.float64))
    paid = beta * float(U.sum(dtype=np.float64)) + price * np.count_nonzero(U)
    return 0.5 * captured - 0.25 * alpha * departed - paid


def departure(U: Array) -> float:
    """``||I - U'U||``."""
    return float(np.linalg.norm(np.eye(U.shape[1]) - U.T @ U))


def ascend(
    products: Products,
    start: Array,
    alpha: float,
    beta: float,
    max_iter: int,
    tol: float,
    price: float = 0.0,
) -> Ascent:
    """Sweep over all entries until the objective stops rising."""
    U, penalties = np.array(start, order="C"), Penalties(alpha, beta, price)
    trace: list[float] = []
    for iteration in range(max_iter + 1):
        if iteration % _REFRESH_EVERY == 0:
            carried = carried_with(products, U)
        trace.append(_objective(products.captured(U, carried.cache), U, carried.M, *penalties))
        if iteration and trace[-1] - trace[-2] <= tol * abs(trace[-1]):
            return Ascent(U, np.array(trace), converged=True)
        if iteration < max_iter:
            products.sweep(carried, penalties)
        if alpha > STRONG and iteration % 2:
            U = move_columns(products, U, alpha, beta, price)
            carried = carried_with(products, U)
    return Ascent(U, np.array(trace), converged=False)


def reseed_dead(
    products: Products, U: Array, vectors: Array, alpha: float, beta: float, price: float = 0.0
) -> Array | None:
    """``U`` with one empty column restarted, or ``None`` where no restart raises the objective.

    Along a unit vector v an empty column sees the same quartic as a single entry,
    with ``c2 = v'Av + alpha (1 - ||U'v||^2)`` and ``c1 = -beta 1'v``. After a sweep an
    empty column has no single coordinate left to leave zero by, so v runs over the
    positive and negative parts of ``vectors``, before and after power steps on
    ``A - alpha UU'``, cut to their largest entries.
    """
    from loadstone.solvers.coordinate_ascent_kernels import quartic_maximiser

    dead = np.flatnonzero(~U.any(axis=0))
    if dead.size == 0:
        return None
    parts = np.hstack([vectors, -vectors])
    V = _cut_starts(np.hstack([parts, _away_from(products, U, parts, alpha)]))
    c2 = np.sum(V * products.times(V), axis=0) + alpha * (1.0 - np.sum((U.T @ V) ** 2, axis=0))
    c1 = -beta * V.sum(axis=0)
    lengths = [quartic_maximiser(float(a), float(b), alpha) for a, b in zip(c2, c1, strict=True)]
    length = np.array(lengths)
    gain = -0.25 * alpha * length**4 + 0.5 * c2 * length**2 + c1 * length
    gain -= price * np.count_nonzero(V, axis=0)
    best = int(np.argmax(gain))
    if gain[best] <= 0.0:
        return None
    seeded = U.copy()
    seeded[:, dead[0]] = length[best] * V[:, best]
    return seeded


def _away_from(products: Products, U: Array, V: Array, alpha: float) -> Array:
    """Non-negative power steps from ``V`` on ``A - alpha UU'``, shifted to stay monotone."""
    shift = alpha * float(np.linalg.norm(U.T @ U, 2))
    for _ in range(_RESEED_STEPS):
        V = np.maximum(V, 0.0)
        V = products.times(V) - alpha * (U @ (U.T @ V)) + shift * V
        V = V / np.maximum(np.linalg.norm(V, axis=0), np.finfo(V.dtype).tiny)
    return V


def _cut_starts(V: Array) -> Array:
    """Unit vectors: positive parts of the columns, cut to 1, 2, 4, ... and to all entries."""
    V = np.maximum(V, 0.0)
    V = V[:, V.any(axis=0)]
    rank = np.argsort(np.argsort(-V, axis=0, kind="stable"), axis=0, kind="stable")
    sizes = [*(2**i for i in range(int(np.log2(V.shape[0])) + 1)), V.shape[0]]
    cut = np.hstack([np.where(rank < size, V, 0.0) for size in sizes])
    result: Array = (cut / np.linalg.norm(cut, axis=0)).astype(V.dtype, copy=False)
    return result


def _order(vector: Array) -> Array:
    """Features by their part in the first eigenvector: the same, in whatever order they come."""
    digits = np.finfo(vector.dtype).precision - 3
    return np.argsort(-np.abs(vector).round(digits), kind="stable")


def given_start(init: Any, n_components: int, n_features: int) -> Array:
    """Components given in rows, checked, as columns."""
    given = np.asarray(init, dtype=np.float64)
    if given.shape != (n_components, n_features):
        msg = (
            f"init has shape {given.shape}; expected one row per component, "
            f"({n_components}, {n_features})"
        )
        raise ValueError(msg)
    if not np.isfinite(given).all() or given.min() < 0:
        msg = "init holds negative or missing values; components of NSPCA are at least 0"
        raise ValueError(msg)
    return given.T


def _start(
    init: str | Array, vectors: Array, n_components: int, order: Array, rng: np.random.Generator
) -> Array:
    """Unit vectors to begin at; random ones are drawn in the order of the sweeps."""
    if not isinstance(init, str):
        return init
    start = np.empty((vectors.shape[0], 0))
    if init == "pca":
        # The heavier sign of each eigenvector, cut at zero; random beyond their number.
        positive, negative = np.maximum(vectors, 0.0), np.maximum(-vectors, 0.0)
        heavier = np.linalg.norm(positive, axis=0) >= np.linalg.norm(negative, axis=0)
        start = np.where(heavier, positive, negative)
        start /= np.linalg.norm(start, axis=0)
    drawn = np.empty((order.size, n_components - start.shape[1]))
    drawn[order] = random_nonnegative_starts(*drawn.shape, rng)
    return np.hstack([start, drawn])
