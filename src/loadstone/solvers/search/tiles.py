"""The entries of a covariance in float32 tiles, of all features or of as many as pay.

Wide products cost ``D^2 N``. Where that is too much, many samples are first folded into a
few by a count sketch (each sample goes to one row, with a random sign), and if that does
not do, only the features with the largest variances are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.covariance import (
    Array,
    Covariance,
    DataCovariance,
    DeflatedCovariance,
    ExplicitCovariance,
    LowRankCovariance,
    Support,
)
from loadstone.covariance.containers import PerFeature, PerRow, narrowed, per_row

#: Samples up to which nothing is folded.
FEW_SAMPLES = 256
#: Rows of the count sketch.
SKETCH_ROWS = 128
#: What an entry of a stored matrix costs, in multiplications.
ENTRY_COST = 8
#: The same for a covariance of which only products are known; a few hundred features are read.
UNKNOWN_COST = 60_000
#: Features centred at once.
CENTRED = 4096


@dataclass(frozen=True)
class Tiles:
    """``S[features][:, features]`` over the largest variance, a tile at a time.

    Attributes
    ----------
    features : ndarray of intp
        Those looked at, in ascending order.
    variance : ndarray
        Their variances, over the largest one.
    factor : ndarray of shape (n_features, n) or None
        Rows whose inner products are the entries, before deflation.
    matrix : ndarray or None
        A stored matrix in place of the factor.
    places : ndarray of intp or None
        Where the features stand in the matrix.
    unit : float
        The largest variance.
    U, UC : ndarray or None
        What deflation removed: ``UC @ U'``.
    """

    features: Support
    variance: Array
    unit: float
    factor: Array | None = None
    matrix: Array | None = None
    places: Support | None = None
    U: Array | None = None
    UC: Array | None = None

    @property
    def n_features(self) -> int:
        """Number of features looked at."""
        return self.features.size

    def tile(self, rows: slice, cols: slice) -> Array:
        """Entries of some rows and columns, free to be overwritten."""
        if self.factor is not None:
            entries = self.factor[rows] @ self.factor[cols].T
        else:
            assert self.matrix is not None
            assert self.places is not None
            chosen = np.ix_(self.places[rows], self.places[cols])
            entries = (self.matrix[chosen] / self.unit).astype(np.float32)
        if self.U is not None and self.UC is not None:
            entries -= self.UC[rows] @ self.U[cols].T
        return entries

    def correlations(self, feature: int) -> Array:
        """Correlations of one feature with all, up to the accuracy of the tiles."""
        everything = slice(0, self.n_features)
        entries = self.tile(everything, slice(feature, feature + 1))[:, 0]
        result: Array = entries / np.sqrt(self.variance * self.variance[feature])
        return result


def tiles_of(S: Covariance, candidates: Support, budget: float, limit: int = 0) -> Tiles:
    """Tiles of those ``candidates`` that ``budget`` multiplications and ``limit`` allow."""
    base = S.base if isinstance(S, DeflatedCovariance) else S
    depth = _depth(base)
    folded = depth > FEW_SAMPLES and candidates.size**2 * depth > budget / 2
    most = int(np.sqrt(budget / (SKETCH_ROWS if folded else depth)))
    most = min(most, limit) if limit else most
    variance = S.diagonal().astype(np.float64)
    features = candidates if candidates.size <= most else _largest(candidates, variance, most)
    unit = float(variance[features].max())
    scaled = (variance[features] / unit).astype(np.float32)
    factor = matrix = places = U = UC = None
    if isinstance(base, DataCovariance):
        factor = _factor(base, features, unit, folded=folded)
    elif isinstance(base, LowRankCovariance):
        factor = base.V[features] * np.sqrt(np.maximum(base.eigenvalues, 0) / unit)
        factor = factor.astype(np.float32)
    elif isinstance(base, ExplicitCovariance):
        matrix, places = base.matrix, features
    else:
        matrix, places = base.block(features, features), np.arange(features.size)
    if isinstance(S, DeflatedCovariance):
        chosen = S.U[features].astype(np.float64) / np.sqrt(unit)
        U, UC = chosen.astype(np.float32), (chosen @ S.C.astype(np.float64)).astype(np.float32)
    return Tiles(features, scaled, unit, factor, matrix, places, U, UC)


def _depth(base: Covariance) -> int:
    """Multiplications for an entry."""
    if isinstance(base, DataCovariance):
        return base.rows.shape[0]
    if isinstance(base, LowRankCovariance):
        return int(base.V.shape[1])
    return ENTRY_COST if isinstance(base, ExplicitCovariance) else UNKNOWN_COST


def _largest(candidates: Support, variance: Array, n: int) -> Support:
    """The ``n`` largest variances; those within two per cent in a fixed random order."""
    position = np.random.default_rng(0).permutation(variance.size)[candidates]
    rounded = np.round(np.log(variance[candidates]) / 0.02)
    order = np.lexsort((position, -rounded))
    return np.sort(candidates[order[:n]])


def _factor(base: DataCovariance, features: Support, unit: float, *, folded: bool) -> Array:
    """``Z`` or its sketch over the root of ``unit``, one float32 row per feature."""
    root = np.sqrt(unit * (base.n_samples - 1.0))
    if folded:
        sketch = count_sketch(base.rows.shape[0])
        rows, chosen = narrowed(base.rows, features)
        means = PerFeature(base.mean[features])
        (Z,) = rows.sum_over_blocks(_fold, PerRow(sketch), chosen, means, per_row(base.weights))
        if base.moments.scale is not None:
            Z /= base.moments.scale[features]
        # A sketch keeps lengths on average only; the true ones are known.
        true = np.sqrt(base.diagonal()[features].astype(np.float64) / unit)
        length = np.linalg.norm(Z, axis=0)
        Z *= np.divide(true, length, out=np.zeros_like(true), where=length > 0)
        return np.ascontiguousarray(Z.T, dtype=np.float32)
    factor = np.empty((features.size, base.rows.shape[0]), dtype=np.float32)
    step = CENTRED if base.rows.in_memory else features.size
    for start in range(0, features.size, step):
        part = slice(start, start + step)
        factor[part] = (base.centred_columns(features[part]) / root).T
    return factor


def count_sketch(n_rows: int) -> Any:
    """A sparse matrix that adds each of ``n_rows`` rows to one of a few, with a random sign."""
    rng = np.random.default_rng(0)
    target = rng.integers(SKETCH_ROWS, size=n_rows)
    sign = rng.choice([-1.0, 1.0], size=n_rows)
    return sparse.csr_array((sign, target, np.arange(n_rows + 1)), shape=(n_rows, SKETCH_ROWS))


def _fold(
    block: Any,
    rows: slice,
    sketch: Any,
    features: Support | None,
    mean: Array,
    weights: Array | None,
) -> tuple[Array]:
    """The centred rows of a block, folded; ``mean`` is that of the features."""
    part = sketch.T if weights is None else sketch.T * np.sqrt(weights)
    part = part.tocsr()
    features = np.arange(block.shape[1]) if features is None else features
    if sparse.issparse(block):
        total = np.asarray(part.sum(axis=1)).ravel()
        return ((part @ block[:, features]).toarray() - np.outer(total, mean),)
    folded = np.empty((SKETCH_ROWS, features.size))
    for start in range(0, features.size, CENTRED):
        here = slice(start, start + CENTRED)
        folded[:, here] = part @ (block[:, features[here]] - mean[here])
    return (folded,)
