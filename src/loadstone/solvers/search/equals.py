"""Which of several supports with the same variance is taken, whatever the order of the features.

Standardised features all vary alike. Once two of them with loadings of the same size are removed,
what is left of the one is what is left of the other, so that they tie wherever a next component
asks for either of them. The feature that says more of all features, before anything was removed,
is then taken; where they say the same, the first.
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance import Array, Covariance, DeflatedCovariance, ExplicitCovariance
from loadstone.solvers.search.restricted import in_memory

#: Share of what one feature says below which another says the same, for each precision.
SAYS_THE_SAME = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}
#: Rows squared at a time, so that no large matrix is copied.
N_ROWS = 256
_WHOLE, _SAID = "whole", "said"


def remember_whole(left: ExplicitCovariance, S: Covariance) -> ExplicitCovariance:
    """``left``, which keeps in mind that it is what was left of ``S``."""
    if isinstance(S, ExplicitCovariance):
        left.derived[_WHOLE] = _whole_of(S)
    return left


def _whole_of(S: ExplicitCovariance) -> ExplicitCovariance:
    """The covariance before anything was removed from it."""
    whole: ExplicitCovariance = S.derived.get(_WHOLE, S)
    return whole


def said_by_features(S: Covariance) -> Array | None:
    """What each feature says of all of them, before anything was removed; nothing out of memory.

    Squared covariances of a matrix, summed; of data their sum alone, which takes one product.
    """
    if isinstance(S, DeflatedCovariance):
        return said_by_features(S.base)
    if not isinstance(S, ExplicitCovariance):
        if not in_memory(S):
            return None
        variance = S.diagonal()
        return np.abs(S @ (variance / max(float(variance.max()), _tiniest(S))))
    whole = _whole_of(S)
    if _SAID not in whole.derived:
        # Squares of what is far from one may leave the range of numbers.
        scale = max(float(whole.matrix.diagonal().max()), _tiniest(whole))
        parts = (
            whole.matrix[at : at + N_ROWS] / scale for at in range(0, whole.n_features, N_ROWS)
        )
        whole.derived[_SAID] = np.concatenate([np.einsum("ij,ij->i", p, p) for p in parts])
    said: Array = whole.derived[_SAID]
    return said


def _tiniest(S: Covariance) -> float:
    return float(np.finfo(S.dtype).tiny)


def first_that_says_most(tied: Array, said: Array) -> int:
    """The place among those that tie with the largest number, the first where numbers are equal."""
    places = np.flatnonzero(tied)
    numbers = said[places]
    largest = numbers.max()
    enough = largest - SAYS_THE_SAME[said.dtype] * abs(largest)
    return int(places[np.argmax(numbers >= enough)])
