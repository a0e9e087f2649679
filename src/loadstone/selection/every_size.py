"""Components of many sizes on one small matrix: what is found at a size is a start at the next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from loadstone.covariance import Array, ExplicitCovariance, Support
from loadstone.extraction.every_size_kernels import chain, refine
from loadstone.extraction.together import LARGE_SHARE, TURNED
from loadstone.extraction.warm import GAIN, MAX_ROUNDS, WITHIN_REACH
from loadstone.metrics import total_variance
from loadstone.metrics.explained_variance import negligible_share
from loadstone.selection.path_starts import StartEffort, concentrated_columns
from loadstone.solvers.search.tiny import TINY
from loadstone.solvers.support_spectrum import SupportSpectrum
from loadstone.solvers.varimax import varimax

#: Steps that every start takes, and exchanges of two features in one climb.
N_STEPS, N_EXCHANGES = 3, 20
#: Eigenvectors and climbs that are never too many where a step costs so little.
N_EIGENVECTORS, N_CLIMBED = 16, 8


@dataclass(frozen=True, kw_only=True)
class EverySize:
    """Components of some features, whatever their size.

    Attributes
    ----------
    A : ndarray of shape (n_features, n_features)
        The covariance of these features.
    n_components : int
        Components of every size, no more than there are directions with variance.
    negligible : float
        Variance below which a direction counts as empty.
    starts : ndarray
        Directions for all components, as rows: leading eigenvectors.
    columns : ndarray of int
        Features whose covariances are directions as well.
    together : tuple of ndarray
        Principal components, rotated and not, as rows: components that are found together.
    n_climbed : int
        Starts of each component that are followed to the end.
    refined : bool
        Whether components are improved in turn.
    positive : bool
        Whether loadings are at least zero.
    """

    A: Array
    n_components: int
    negligible: float
    starts: Array
    columns: Support
    together: tuple[Array, ...]
    n_climbed: int
    refined: bool
    positive: bool

    @classmethod
    def on(
        cls,
        whole: ExplicitCovariance,
        allowed: Support,
        n_components: int,
        effort: StartEffort,
        *,
        refined: bool,
        positive: bool,
    ) -> EverySize:
        """What all sizes share; little is what is little beside the variance of all features."""
        S = whole if allowed.size == whole.n_features else whole.restrict(allowed)
        A = np.ascontiguousarray(S.matrix, dtype=np.float64)
        values, vectors = np.linalg.eigh(A)
        V, lengths = vectors.T[::-1], np.sqrt(np.maximum(values[::-1], 0))
        columns = np.arange(A.shape[0])
        if A.shape[0] > TINY:
            spectrum = SupportSpectrum(S, coarse=True)
            columns = concentrated_columns(S, spectrum, effort.n_columns, columns)
        negligible = negligible_share(S.dtype) * total_variance(whole)
        n = min(n_components, int(np.sum(values > negligible)))
        turned = varimax(V[:n].T * lengths[:n], tol=TURNED).T
        turned = turned[np.argsort(-np.linalg.norm(turned, axis=1), kind="stable")]
        n_starts = max(n_components, N_EIGENVECTORS, effort.n_eigenvectors)
        starts = np.vstack([V[:n_starts], -V[:n_starts]]) if positive else V[:n_starts]
        return cls(
            A=A,
            n_components=n,
            negligible=negligible,
            starts=np.ascontiguousarray(starts),
            columns=columns,
            together=(np.ascontiguousarray(V[:n]), np.ascontiguousarray(turned)),
            n_climbed=max(N_CLIMBED, effort.n_settled),
            refined=refined and n > 1,
            positive=positive,
        )

    def of_sizes(self, sizes: Array) -> list[Array]:
        """Components as rows, of ascending sizes; each is offered what its neighbours found."""
        found: list[tuple[Array, float]] = []
        for size in sizes:
            before = found[-1][0] if found else np.empty((0, self.A.shape[0]))
            found.append(self._of_size(int(size), before))
        for place in range(len(found) - 2, -1, -1):
            found[place] = self._or_larger(int(sizes[place]), *found[place], found[place + 1][0])
        return [W for W, _ in found]

    def _of_size(self, size: int, before: Array) -> tuple[Array, float]:
        if size >= self.A.shape[0] and not self.positive:
            return self.together[0], np.inf
        W = chain(
            self.A,
            self.starts,
            self.columns,
            before,
            min(size, self.A.shape[0]),
            self.n_components,
            self.negligible,
            N_STEPS,
            self.n_climbed,
            N_EXCHANGES,
            self.positive or None,
        )
        W = W[W.any(axis=1)]
        if not self.refined and self.n_components > 1:
            return W, np.inf
        W, total = self._refined(W, size, 0.0)
        for start in self._others(size, before, len(W)):
            W, total = self._better(W, total, start, size)
        return W, total

    def _or_larger(self, size: int, W: Array, total: float, larger: Array) -> tuple[Array, float]:
        """Components, or what a climb from those of a larger size ends with."""
        if len(larger) != len(W) or not np.isfinite(total):
            return W, total
        return self._better(W, total, _cut(larger, size, positive=self.positive), size)

    def _better(self, W: Array, total: float, start: Array, size: int) -> tuple[Array, float]:
        """Components with what they explain, or what a climb from another start ends with."""
        tried, reached = self._refined(start, size, total)
        return (tried, reached) if reached > total * (1 + GAIN) else (W, total)

    def _others(self, size: int, before: Array, n: int) -> Iterator[Array]:
        """Other places to climb from: principal components cut to size, and a smaller size."""
        if n < 2:
            return
        large = size >= LARGE_SHARE * self.A.shape[0]
        for directions in self.together if large else self.together[1:]:
            yield _cut(directions[:n], size, positive=self.positive)
        if len(before) == n:
            yield before

    def _refined(self, W: Array, size: int, rival: float) -> tuple[Array, float]:
        W = W.copy()
        total = refine(
            self.A,
            W,
            W @ self.A,
            min(size, self.A.shape[0]),
            rival,
            N_EXCHANGES,
            GAIN,
            WITHIN_REACH,
            MAX_ROUNDS,
            self.positive or None,
        )
        return W, total


def loadings_of_every_size(
    S: ExplicitCovariance,
    n_components: int,
    sizes: Array,
    effort: StartEffort,
    *,
    forbidden: Support,
    refined: bool,
    nonnegative: bool,
) -> Iterator[Array]:
    """Components of ascending sizes that may share features.

    Parameters
    ----------
    S : ExplicitCovariance
        Of at most :data:`FEW_FEATURES` features.
    n_components : int
        Components of every size.
    sizes : ndarray of int
        Ascending and distinct.
    effort : StartEffort
        How much is tried.
    forbidden : ndarray of int
        Features that stay out.
    refined : bool
        Whether components are improved in turn.
    nonnegative : bool
        Whether loadings are at least zero.

    Yields
    ------
    ndarray of shape (n_features, n_found)
        Fewer than ``n_components`` where nothing is left.
    """
    allowed = np.setdiff1d(np.arange(S.n_features), forbidden)
    search = EverySize.on(S, allowed, n_components, effort, refined=refined, positive=nonnegative)
    for found in search.of_sizes(sizes):
        W = np.zeros((S.n_features, len(found)), dtype=S.dtype)
        W[allowed] = found.T
        yield W


def _cut(directions: Array, size: int, *, positive: bool) -> Array:
    """The largest entries of each row, at unit length; its larger entries count as positive."""
    if positive:
        upright = directions * np.where(np.sum(directions**3, axis=1) < 0, -1, 1)[:, None]
        directions = np.maximum(upright, 0)
    W = np.zeros_like(directions)
    top = np.argsort(-np.abs(directions), axis=1, kind="stable")[:, :size]
    np.put_along_axis(W, top, np.take_along_axis(directions, top, axis=1), axis=1)
    result: Array = W / np.linalg.norm(W, axis=1, keepdims=True)
    return result
