"""The wide route: few samples, very many features, and no pass over the data to spare.

Notation: ``S = Z'Z`` with one column ``z_i`` of ``Z`` per feature (see ``centring.py``), and the
sample Gram matrix ``K = Z Z'``, n_samples x n_samples. One pass over strips of columns gives
``K`` and the moments. What is then asked of sparse loadings needs the columns they use and ``K``
alone: scores ``Y = Z w``, ``w'Sw = Y'Y`` and ``w'S^2w = Y'KY``, the last over *all* features.
Columns that were read are remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np

from loadstone.covariance.centring import Centring, as_weights, column_pieces
from loadstone.covariance.containers import InMemoryRows
from loadstone.covariance.explicit import ExplicitCovariance, nonzero_rows
from loadstone.covariance.from_data import DataCovariance
from loadstone.covariance.moments import Moments
from loadstone.covariance.near_zero import data_covariance
from loadstone.covariance.protocol import Array, Covariance, Support
from loadstone.covariance.strips import SelectedStrips, Strips, strips_of
from loadstone.covariance.twins import N_BITS, codes_of, near_twins

T = TypeVar("T")

#: Columns that are remembered, and the largest block of them that is put together, in bytes.
MAX_COLUMN_BYTES = 128 << 20
#: Columns that are fetched for scores; with more of them scores are added up where they are.
MAX_GATHERED = 4096
#: Products and reductions that are remembered, and how many columns a product may have.
N_REMEMBERED = 4
#: Features with near twins that are remembered.
N_TWINS = 1024
#: Columns drawn evenly from all features, for directions that no principal component shows.
N_PILOTS = 64


class KnownColumns:
    """Columns of the data that were read, by feature, and the last products that took a pass."""

    def __init__(self, n_rows: int, dtype: np.dtype[Any]) -> None:
        self.products: list[tuple[str, Array, Array]] = []
        self.reductions: dict[bytes, Any] = {}
        self.features: Support = np.empty(0, dtype=np.intp)
        self.values: Array = np.empty((n_rows, 0), dtype=dtype)

    def missing(self, features: Support) -> Support:
        """Those of ``features`` that were not read yet."""
        return np.setdiff1d(features, self.features)

    def add(self, features: Support, values: Array) -> None:
        """Remember more columns, none of them known yet."""
        both = np.concatenate([self.features, features])
        order = np.argsort(both)
        self.features = both[order]
        self.values = np.hstack([self.values, values])[:, order]

    def keep(self, features: Support) -> None:
        """Forget all other columns."""
        kept = np.isin(self.features, features)
        self.features, self.values = self.features[kept], self.values[:, kept]

    def product(self, kind: str, W: Array, compute: Callable[[], Array]) -> Array:
        """The same product again costs no pass, while it is among the last ones."""
        for known, V, found in self.products:
            if known == kind and np.array_equal(V, W):
                return found.copy()
        result = compute()
        if W.size <= N_REMEMBERED * W.shape[0]:
            self.products = [*self.products[1 - N_REMEMBERED :], (kind, W.copy(), result.copy())]
        return result

    def reduction(self, asked: Sequence[Array], compute: Callable[[], T]) -> T:
        """What was asked of all features before is not asked again, while it is among the last."""
        key = sha256(b"|".join(part.tobytes() for part in asked)).digest()
        if key not in self.reductions:
            found = compute()
            kept = list(self.reductions.items())[1 - N_REMEMBERED :]
            self.reductions = dict([*kept, (key, found)])
        result: T = self.reductions[key]
        return result

    def __getitem__(self, features: Support) -> Array:
        at = np.searchsorted(self.features, features)
        result: Array = self.values[:, at]
        return result


@dataclass(frozen=True)
class SampleGram:
    """``Z'Z`` through strips of columns, with ``Z Z'`` in memory.

    Attributes
    ----------
    strips : Strips
        The data; one pass for everything that is asked of all features.
    moments : Moments
        Means, variances and scales of all features.
    gram : ndarray of shape (n_rows, n_rows)
        ``K``, in double precision.
    centring : Centring
        Weights, and whether features are standardized.
    twins, pilots : ndarray
        Features that look alike, and columns of ``Z`` drawn evenly: where to look first.
    known : KnownColumns
        Columns that were read before.
    """

    strips: Strips
    moments: Moments
    gram: Array = field(repr=False)
    centring: Centring
    twins: Support = field(repr=False)
    pilots: Array = field(repr=False)
    known: KnownColumns = field(repr=False, compare=False)

    @classmethod
    def of(
        cls,
        X: Any,
        sample_weight: Array | None,
        finish: Callable[[float, Array, Array, np.dtype[Any]], Moments],
        *,
        standardize: bool,
    ) -> SampleGram:
        """One pass over the columns of ``X``; ``finish`` makes moments of means and variances."""
        strips = strips_of(X)
        n_rows, n_features = strips.shape
        weights = as_weights(sample_weight, strips.dtype)
        n = float(n_rows) if weights is None else float(weights.sum(dtype=np.float64))
        centring = Centring(n, weights, standardize)
        projections = np.random.default_rng(0).standard_normal((n_rows, N_BITS))
        every = max(1, n_features // N_PILOTS)
        gram, mean, variance, codes, pilots = strips.fold(
            _first_pass, _merge_first, centring, projections.astype(strips.dtype), every
        )
        moments = finish(n, mean, variance, strips.dtype)
        known = KnownColumns(n_rows, strips.dtype)
        varying = np.flatnonzero(~moments.constant)
        twins = varying[near_twins(codes[varying], N_TWINS)]
        return cls(strips, moments, (gram + gram.T) / 2, centring, twins, pilots, known)

    @classmethod
    def of_rows(cls, S: DataCovariance) -> SampleGram:
        """The same covariance by the Gram matrix of its samples, for rows in memory."""
        assert isinstance(S.rows, InMemoryRows)
        standardize = S.moments.scale is not None
        return cls.of(S.rows.X, S.weights, lambda *_: S.moments, standardize=standardize)

    @property
    def n_samples(self) -> float:
        """Sum of the sample weights."""
        return self.moments.n_samples

    @property
    def n_rows(self) -> int:
        """Rows of the data, whatever they weigh."""
        return self.strips.shape[0]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.strips.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of all products."""
        return self.strips.dtype

    def __matmul__(self, W: Array) -> Array:
        return self.known.product("products", W, lambda: self.back_project(self.scores(W)))

    def diagonal(self) -> Array:
        """Variances of the (scaled) features."""
        variance = np.where(self.moments.constant, 0.0, self.moments.variance)
        if self.moments.scale is not None:
            variance = variance / self.moments.scale**2
        return variance.astype(self.dtype, copy=False)

    def scores(self, W: Array) -> Array:
        """``Z W``: no pass where the columns that ``W`` uses are known."""
        used = nonzero_rows(W)
        if used.size <= min(self.room, MAX_GATHERED) or not self.known.missing(used).size:
            result: Array = self.centred_columns(used) @ W[used].astype(self.dtype, copy=False)
            return result
        return self.known.product(
            "scores", W, lambda: self.strips.fold(_scores_part, np.add, self.centring, W)
        )

    def back_project(self, Y: Array) -> Array:
        """``Z'Y`` for scores ``Y``, one pass: as long as there are features."""
        return self.strips.fold(_covariances_part, _stack, self.centring, Y.astype(self.dtype))

    def columns(self, features: Support) -> Array:
        """Columns of the data, ascending; one pass for those not read before."""
        refuse_many_columns(features.size, self.n_rows, self.dtype)
        missing = self.known.missing(features)
        if missing.size:
            self.remember(
                missing, self.strips.fold(_columns_part, _side_by_side, missing), features
            )
        return self.known[features]

    def remember(self, features: Support, values: Array, needed: Support) -> None:
        """Keep columns that were read; where there is no room, only ``needed`` ones stay."""
        new = np.isin(features, self.known.features, invert=True)
        if self.known.features.size + int(new.sum()) > self.room:
            self.known.keep(needed)
        self.known.add(features[new], values[:, new])

    @property
    def room(self) -> int:
        """Columns that may be held at once."""
        return MAX_COLUMN_BYTES // (self.n_rows * self.dtype.itemsize)

    def centred_columns(self, features: Support) -> Array:
        """Columns of ``Z``."""
        return self.centring.columns(self.columns(features))

    def block(self, rows: Support, cols: Support) -> Array:
        """``S[rows][:, cols]``."""
        self.columns(np.union1d(rows, cols))
        left = self._unsorted(rows)
        right = left if rows is cols else self._unsorted(cols)
        result: Array = left.T @ right
        return result

    def _unsorted(self, features: Support) -> Array:
        distinct, at = np.unique(features, return_inverse=True)
        return self.centred_columns(distinct)[:, at]

    def restrict(self, support: Support) -> Covariance:
        """The covariance of the features in ``support``: in memory, unless few are left out."""
        if support.size <= self.n_rows:
            return ExplicitCovariance(self.block(support, support), self.n_samples)
        distinct, at = np.unique(support, return_inverse=True)
        m = self.moments
        scale = None if m.scale is None else m.scale[support]
        moments = Moments(
            m.n_samples, m.mean[support], m.variance[support], m.constant[support], scale
        )
        if support.size > self.room and distinct.size == support.size == at[-1] + 1:
            return self._without_the_rest(support, moments)
        X = np.ascontiguousarray(self.columns(distinct)[:, at])
        return data_covariance(InMemoryRows(X), moments, self.centring.weights)

    def _without_the_rest(self, support: Support, moments: Moments) -> SampleGram:
        """The same on most of the features: what the others add is taken out of ``K``."""
        Z = self.centred_columns(np.setdiff1d(np.arange(self.n_features), support))
        gram = self.gram - np.asarray(Z @ Z.T, dtype=np.float64)
        kept = np.isin(self.known.features, support)
        known = KnownColumns(self.n_rows, self.dtype)
        known.add(np.searchsorted(support, self.known.features[kept]), self.known.values[:, kept])
        return replace(
            self,
            strips=SelectedStrips(self.strips, support),
            moments=moments,
            gram=gram,
            twins=np.searchsorted(support, np.intersect1d(self.twins, support)),
            known=known,
        )


def refuse_many_columns(n_features: int, n_rows: int, dtype: np.dtype[Any]) -> None:
    """Refuse more columns than are held at once."""
    size = n_features * n_rows * dtype.itemsize
    if n_features > MAX_COLUMN_BYTES // (n_rows * dtype.itemsize):
        msg = (
            f"{n_features} features of {n_rows} samples take {size / 2**20:.0f} MB, and the wide "
            f"route holds at most {MAX_COLUMN_BYTES >> 20} MB of columns; ask for fewer features, or "
            "use route='data', which reads the data again and again"
        )
        raise MemoryError(msg)


def _first_pass(
    strip: Array, features: slice, centring: Centring, projections: Array, every: int
) -> tuple[Array, Array, Array, Array, Array]:
    gram = np.zeros((strip.shape[0], strip.shape[0]))
    codes = []
    with np.errstate(over="ignore", invalid="ignore"):
        for piece in column_pieces(strip):
            Z = centring.columns(strip[:, piece])
            gram += Z @ Z.T
            codes.append(codes_of(Z, projections))
        drawn = centring.columns(strip[:, -features.start % every :: every])
    return gram, *centring.moments(strip), np.concatenate(codes), drawn


def _merge_first(left: tuple[Array, ...], right: tuple[Array, ...]) -> Any:
    gram, mean, variance, codes, pilots = zip(left, right, strict=True)
    return (
        gram[0] + gram[1],
        *(np.concatenate(pair) for pair in (mean, variance, codes)),
        np.hstack(pilots),
    )


def _scores_part(strip: Array, features: slice, centring: Centring, W: Array) -> Array:
    part = W[features].astype(strip.dtype, copy=False)
    total = np.zeros((strip.shape[0], *W.shape[1:]), dtype=strip.dtype)
    for piece in column_pieces(strip):
        total += centring.columns(strip[:, piece]) @ part[piece]
    return total


def _covariances_part(strip: Array, features: slice, centring: Centring, Y: Array) -> Array:
    return centring.covariances(strip, Y)


def _columns_part(strip: Array, features: slice, wanted: Support) -> Array:
    inside = wanted[(wanted >= features.start) & (wanted < features.stop)]
    result: Array = strip[:, inside - features.start]
    return result


def _stack(left: Array, right: Array) -> Array:
    return np.concatenate([left, right])


def _side_by_side(left: Array, right: Array) -> Array:
    return np.hstack([left, right])
