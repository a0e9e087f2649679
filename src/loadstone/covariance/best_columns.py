"""The columns that rank highest under each of several criteria, found strip by strip.

Strips send the columns themselves along, so that finding and fetching them is one pass; the
tree keeps no more of them than the quotas allow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.covariance.protocol import Array, Support


@dataclass(frozen=True)
class BestColumns:
    """Columns of the data and what each of them is worth.

    Attributes
    ----------
    features : ndarray of int
        Which columns, ascending.
    values : ndarray of shape (n_rows, n_columns)
        The columns as they are in the data.
    worth : ndarray of shape (n_criteria, n_columns)
        Their rank is by these; minus infinity where a criterion does not want them.
    asked : ndarray of bool
        Columns that were asked for by name, and stay whatever they are worth.
    quotas : ndarray of int
        How many columns each criterion keeps.
    wanting : int
        Features that beat what they were compared with, those dropped on the way included.
    """

    features: Support
    values: Array
    worth: Array
    asked: Array
    quotas: Array
    wanting: int = 0

    @classmethod
    def of(
        cls, strip: Array, start: int, worth: Array, asked: Array, quotas: Array, wanting: int = 0
    ) -> BestColumns:
        """The best columns of a strip that begins at feature ``start``."""
        kept = _kept(worth, asked, quotas)
        return cls(
            start + kept,
            np.ascontiguousarray(strip[:, kept]),
            np.ascontiguousarray(worth[:, kept]),
            asked[kept],
            quotas,
            wanting,
        )

    def merged(self, other: BestColumns) -> BestColumns:
        """The best of both; ``other`` covers features further on."""
        worth = np.hstack([self.worth, other.worth])
        asked = np.concatenate([self.asked, other.asked])
        kept = _kept(worth, asked, self.quotas)
        return BestColumns(
            np.concatenate([self.features, other.features])[kept],
            np.hstack([self.values, other.values])[:, kept],
            worth[:, kept],
            asked[kept],
            self.quotas,
            self.wanting + other.wanting,
        )


def merge_best(left: BestColumns, right: BestColumns) -> BestColumns:
    """``left`` and ``right`` as one; a function, so that a cluster can ship it."""
    return left.merged(right)


def _kept(worth: Array, asked: Array, quotas: Array) -> Support:
    """Columns that some criterion ranks within its quota, or that were asked for."""
    chosen = asked.copy()
    n = worth.shape[1]
    for row, quota in zip(worth, quotas, strict=True):
        wanted = np.isfinite(row)
        if quota < n:
            # Ties go to the feature that comes first, however the strips were cut.
            wanted[np.argsort(-row, kind="stable")[quota:]] = False
        chosen |= wanted
    return np.flatnonzero(chosen)
