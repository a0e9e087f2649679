"""What every spannogram search returns."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.covariance.protocol import Array


@dataclass(frozen=True)
class Direction:
    """The best direction found, with what is proven about it.

    Attributes
    ----------
    c : ndarray of shape (rank,)
        Unit direction; its loading is the rank-one solution at ``V c``.
    value : float
        ``g(c)^2``, the variance of that loading under ``V V'``.
    upper_bound : float
        No allowed loading has more variance under ``V V'``.
    deterministic : bool
        False where the bound only holds with probability ``1 - 1/n_features``.
    n_candidates : int
        Candidate supports (exact) or directions (net, cones) looked at.
    complete : bool
        False where the search stopped early, with the bound it had by then.
    others : ndarray of shape (rank, n_others), optional
        Further good directions the search happened to visit, best first.
    """

    c: Array
    value: float
    upper_bound: float
    deterministic: bool
    n_candidates: int
    complete: bool = True
    others: Array | None = None
