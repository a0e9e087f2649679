"""Where paths begin: many starts at a few small sizes.

A single continuation from the principal component misses small groups of features that
correlate strongly among themselves but not with the rest; they show as columns of the
covariance with a few large entries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, Support
from loadstone.loadings import distinct_supports
from loadstone.selection.path_sweep import settle
from loadstone.solvers.exchange import improve_by_exchange
from loadstone.solvers.polish import polish
from loadstone.solvers.power_iteration import iterate
from loadstone.solvers.starts import both_signs, column_starts, eigenvector_starts
from loadstone.solvers.support_spectrum import SupportSpectrum

#: Squarings of the entries before they are summed: the more, the smaller the groups found.
N_SQUARINGS = 4
#: Number of sizes up to which every one has starts of its own: neighbours are too far to help.
FEW_SIZES = 32
#: Number of features below which starts are tried at twice as many sizes.
FEW_FEATURES = 2048
#: Starts that are climbed by power steps under non-negativity, and the steps.
N_CLIMBED, N_CLIMBS = 16, 25
#: Bytes of a block of columns while they are looked at: what a cache holds.
BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class StartEffort:
    """How much is tried at the sizes where a path begins.

    Attributes
    ----------
    n_eigenvectors : int
        Leading eigenvectors to start from.
    n_columns : int
        Columns of the covariance for each way to rank them.
    n_settled : int
        Starts followed to the end at each size.
    per_octave : int
        Sizes to start at for each doubling of the size; twice as many where there are few
        features and a start costs little.
    max_size : int
        Largest size with its own starts; larger ones follow by continuation.
    n_exchanges : int
        Largest number of exchanges of two features at each size.
    """

    n_eigenvectors: int = 8
    n_columns: int = 48
    n_settled: int = 12
    per_octave: int = 2
    max_size: int = 256
    n_exchanges: int = 4

    def sizes(self, n_nonzeros: Array, n_features: int, *, nonnegative: bool) -> list[int]:
        """Positions in ``n_nonzeros`` of the sizes that get starts of their own."""
        if n_nonzeros.size <= FEW_SIZES and n_nonzeros[-1] <= self.max_size:
            return list(range(n_nonzeros.size))
        small = n_nonzeros[n_nonzeros <= self.max_size]
        if small.size == 0:
            return [n_nonzeros.size - 1]
        n_octaves = np.log2(max(2.0, small[-1] / small[0]))
        density = self.per_octave * (2 if n_features <= FEW_FEATURES else 1)
        wanted = np.geomspace(small[0], small[-1], 1 + int(np.ceil(density * n_octaves)))
        found = np.searchsorted(small, np.floor(wanted + 1e-9))
        if not nonnegative:
            return [int(place) for place in np.union1d(found, n_nonzeros.size - 1)]
        # Signed components of many features follow the first principal component;
        # non-negative ones have no such guide at any size.
        n_more = 1 + int(np.ceil(density * np.log2(n_nonzeros[-1] / small[-1]) / 2))
        large = np.geomspace(small[-1], n_nonzeros[-1], n_more + 1)
        places = np.union1d(found, np.searchsorted(n_nonzeros, np.floor(large + 1e-9)))
        return [int(place) for place in places]


def start_directions(
    S: Covariance, spectrum: SupportSpectrum, effort: StartEffort, constraint: LoadingConstraint
) -> Array:
    """Eigenvectors and concentrated columns, as a block of directions."""
    allowed = np.setdiff1d(np.flatnonzero(S.diagonal() > 0), constraint.forbidden)
    V = eigenvector_starts(S, min(effort.n_eigenvectors, allowed.size))
    features = concentrated_columns(S, spectrum, effort.n_columns, allowed)
    # A column of S has its own sign: its diagonal entry is positive.
    return np.hstack([both_signs(V) if constraint.nonnegative else V, column_starts(S, features)])


def concentrated_columns(
    S: Covariance, spectrum: SupportSpectrum, n: int, features: Support
) -> Support:
    """Features whose covariances with others are large and few.

    For p = 4, 8, 16, ... the ``n`` columns with the largest ``sum_i S_ij^p`` are taken:
    small p finds those that belong to large groups, large p those in very small ones.
    Only one block of columns is held at a time.
    """
    if features.size <= n:
        return features
    width = max(16, BLOCK_BYTES // (4 * S.n_features))
    sums = np.zeros((N_SQUARINGS, features.size))
    scale = 1.0 / max(float(S.diagonal().max()), float(np.finfo(S.dtype).tiny))
    rows = spectrum.image_rows
    for start in range(0, features.size, width):
        at = features[start : start + width]
        C = column_starts(S, at).T * S.dtype.type(scale) if rows is None else rows[at] @ rows.T
        C = C.astype(np.float32, copy=False)
        for row in sums:
            np.multiply(C, C, out=C)
            row[start : start + width] = np.einsum("ij,ij->i", C, C)
    best = np.argpartition(-sums, n, axis=1)[:, :n]
    return features[np.unique(best)]


def search_size(
    S: Covariance,
    spectrum: SupportSpectrum,
    constraint: LoadingConstraint,
    starts: Array,
    effort: StartEffort,
) -> tuple[Array, float]:
    """The best support from a block of start directions, as a mask, and its variance."""
    W = constraint.best_loading(starts)
    scores = _variances(S, spectrum, W)
    seen: dict[bytes, int] = {}
    order = np.argsort(-scores, kind="stable")
    for j in order:
        seen.setdefault(np.packbits(W[:, j] != 0).tobytes(), int(j))
        if len(seen) == effort.n_settled:
            break
    settled = [settle(spectrum, W[:, j] != 0, constraint, W[:, j]) for j in seen.values()]
    support, value, image = max(settled, key=lambda found: found.value)
    w = np.where(support, image, 0).astype(S.dtype)
    w /= np.linalg.norm(w)
    if constraint.nonnegative:
        w, value = _best_climb(S, constraint, starts[:, order[:N_CLIMBED]], w, value)
    w, value = improve_by_exchange(S, w, value, constraint, effort.n_exchanges)
    return w != 0, value


def _best_climb(
    S: Covariance, constraint: LoadingConstraint, starts: Array, w: Array, value: float
) -> tuple[Array, float]:
    """The better of ``w`` and what projected power steps reach from the best starts.

    Under non-negativity an eigenpair on a support is not its optimum; power steps keep
    features that dropping all negative ones at once would lose.
    """
    # In no unit: columns of S times S leave the range of numbers long before S does.
    unitless = starts / np.abs(starts).max()
    climbed = iterate(S, constraint.best_loading, unitless, N_CLIMBS, 1e-5).matrix
    found = [polish(S, start, constraint) for start in distinct_supports(climbed)[:, :4].T]
    found.append((w, value))
    return max(found, key=lambda pair: pair[1])


def _variances(S: Covariance, spectrum: SupportSpectrum, W: Array) -> Array:
    """``w'Sw`` of each column of a block of sparse loadings."""
    if spectrum.rows is None:
        return np.asarray(np.einsum("ij,ij->j", W, S @ W))
    used = np.flatnonzero(W.any(axis=1))
    return np.asarray(np.square(W[used].T @ spectrum.rows[used]).sum(axis=1))
