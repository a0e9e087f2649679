"""From a covariance to ``V``, and from a result on ``V V'`` back to the covariance.

Notation: eigenvalues ``l_1 >= l_2 >= ...`` of ``A``; ``V V'`` is the best
approximation of ``A - shift I`` of the asked rank; ``gap`` is the largest
variance it can hide, ``l_{d+1} - shift``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.covariance import leading_eigenpairs
from loadstone.covariance.protocol import Array, Covariance
from loadstone.covariance.spectrum import upright
from loadstone.solvers.spannogram.direction import Direction


@dataclass(frozen=True)
class LowRank:
    """``A = shift I + V V' + rest`` with ``0 <= rest <= gap`` on unit vectors.

    Attributes
    ----------
    V : ndarray of shape (n_features, rank)
        Eigenvectors times the roots of their (shifted) eigenvalues, in double
        precision; columns without variance are left out.
    shift : float
        Variance that every direction has, where A is ``sigma I`` plus low rank.
    gap : float
        Largest variance outside V V' and the shift.
    largest : float
        Largest eigenvalue of A.
    diagonal : ndarray of shape (n_features,)
        Variances of the features.
    rounding : float
        Share of the largest eigenvalue that the precision of A leaves open.
    """

    V: Array
    shift: float
    gap: float
    largest: float
    diagonal: Array
    rounding: float = 0.0


def low_rank_of(S: Covariance, rank: int) -> LowRank:
    """The leading eigenpairs of S, with ``sigma I + low rank`` recognised.

    The trailing eigenvalues are never computed: they all equal ``l_{d+1}``, the
    largest of them, exactly if their mean does, and their mean is left of the trace.
    """
    n = S.n_features
    values, U = leading_eigenpairs(S, rank + 1)
    values = np.maximum(np.asarray(values, dtype=np.float64), 0.0)
    # Directions are drawn and halved in the axes of U.
    U = upright(np.asarray(U, dtype=np.float64))
    diagonal = np.asarray(S.diagonal(), dtype=np.float64)
    tolerance = 1e3 * float(np.finfo(S.dtype).eps) * values[0]
    shift = 0.0
    if n > rank:
        rest = (diagonal.sum() - values[:rank].sum()) / (n - rank)
        # A false alarm would cost nothing: what the shift misses is counted in the gap.
        if rest > tolerance and values[rank] - rest <= max(tolerance, 1e-9 * values[0]):
            shift = float(rest)
    solid = values[:rank] - shift > tolerance
    count = int(solid.sum())
    V = U[:, :count] * np.sqrt(values[:count] - shift)
    gap = float(values[count] - shift) if count < values.size else 0.0
    rounding = (8 + n) * float(np.finfo(S.dtype).eps)
    return LowRank(V, shift, max(gap, 0.0), float(values[0]), diagonal, rounding)


@dataclass(frozen=True)
class Guarantee:
    """What is known about a component before and after its search.

    Attributes
    ----------
    guarantee : float
        A-priori factor: the component has at least this share of the best variance.
    guarantee_is_deterministic : bool
        False where the factor holds with probability ``1 - 1/n_features``.
    upper_bound : float
        No allowed component has more variance.
    upper_bound_is_deterministic : bool
        The same for the bound.
    low_rank_gap : float
        Largest variance the approximation of low rank can hide.
    """

    guarantee: float
    guarantee_is_deterministic: bool
    upper_bound: float
    upper_bound_is_deterministic: bool
    low_rank_gap: float


def guarantee_of(
    A: LowRank, found: Direction, n_nonzero: int, *, nonnegative: bool, accuracy: float
) -> Guarantee:
    """Theorems 1 and 2 and the data-dependent bound.

    ``rho_d = max(s, 1 / (1 + gap / (s l_1)))`` with ``s = k / (2 n)``: the larger half
    of the leading eigenvector has that share of ``l_1``. Without non-negativity no half
    is lost and ``s = k / n``. ``accuracy`` is the share of the best value under ``V V'``
    that the search promises.
    """
    n = A.V.shape[0]
    share = min(n_nonzero, n) / (2 * n if nonnegative else n)
    signal = A.largest - A.shift
    factor = max(share, 1.0 / (1.0 + A.gap / (share * signal)))
    through_search = found.upper_bound + A.gap + A.shift
    largest_variances = np.partition(A.diagonal, n - n_nonzero)[n - n_nonzero :].sum()
    for_free = min(A.largest, float(largest_variances))
    return Guarantee(
        guarantee=accuracy * factor,
        guarantee_is_deterministic=found.deterministic,
        upper_bound=min(through_search, for_free) + A.rounding * A.largest,
        upper_bound_is_deterministic=found.deterministic or for_free <= through_search,
        low_rank_gap=A.gap,
    )
