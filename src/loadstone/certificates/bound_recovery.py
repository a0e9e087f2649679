"""How much any components of a number and a size could recover of all features.

Notation: ``rec(W) = tr[S W (W'SW)^+ W'S]``. The r scores are combinations of the features they
use, so that ``rec`` is at most the sum of the r largest roots of the pencil ``(S^2)_UU - mu
S_UU`` on the set U of these features, as many as all components have places. With all features
in U that is PCA's: the sum of the r largest eigenvalues of S (Ky Fan). Where there are few sets U,
the largest of their values is a closer limit; for one component it is the optimum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, DataCovariance, ExplicitCovariance, materialise
from loadstone.covariance.containers import InMemoryRows
from loadstone.covariance.spectrum import sample_gram

#: Side of a matrix whose eigenvalues are all computed.
LARGEST_MATRIX = 2048
#: Sets of features that are looked at one by one, and how many at once.
MAX_SETS, AT_ONCE = 20_000, 2_000
#: Relative gap at which components count as the best possible.
OPTIMAL = 1e-6
#: Shares of the largest variance: below the first a direction is empty, above the second it is not.
EMPTY, SOLID = 1e-13, 1e-8


@dataclass(frozen=True, kw_only=True)
class RecoveryCertificate:
    """What components recover, and a proven limit of what any could.

    Attributes
    ----------
    value, upper_bound : float
        Shares of the variance of all features.
    reason : str
        What the limit rests on.
    """

    value: float
    upper_bound: float
    reason: str

    @property
    def ratio(self) -> float:
        """Proven share of the best possible."""
        return min(self.value / self.upper_bound, 1.0) if self.upper_bound > 0 else 1.0

    @property
    def gap(self) -> float:
        """What might still be missing."""
        return max(self.upper_bound - self.value, 0.0)

    @property
    def is_optimal(self) -> bool:
        """Whether nothing worth mentioning is missing."""
        return self.ratio >= 1 - OPTIMAL

    def __str__(self) -> str:
        if self.is_optimal:
            return f"proven to recover as much as any can ({self.reason})"
        # Rounded down: the sentence must not promise more than is proven.
        share = np.floor(1000 * self.ratio) / 10
        return f"proven to recover at least {share:g} % of what any could ({self.reason})"


def certify_recovery(
    S: Covariance,
    constraints: Sequence[LoadingConstraint],
    value: float,
    *,
    by_enumeration: bool = False,
) -> RecoveryCertificate:
    """A proven limit of what components under these constraints recover.

    Parameters
    ----------
    S : Covariance
        The data.
    constraints : sequence of LoadingConstraint
        One for each component.
    value : float
        What the components found recover, in the units of ``S``.
    by_enumeration : bool
        Whether sets of features are looked at one by one, where they are few.
    """
    total = float(S.diagonal().sum(dtype=np.float64))
    bound, reason = pca_bound(S, len(constraints))
    if by_enumeration:
        closer = enumerated_bound(S, constraints, bound)
        if closer is not None and closer < bound:
            bound, reason = closer, "every set of as many features was looked at"
    share = 1 / total if total > 0 else 0.0
    return RecoveryCertificate(value=value * share, upper_bound=bound * share, reason=reason)


def pca_bound(S: Covariance, n_components: int) -> tuple[float, str]:
    """The sum of the largest eigenvalues, with a margin for rounding; the trace where they are many."""
    total = float(S.diagonal().sum(dtype=np.float64))
    matrix = _small_matrix(S)
    if matrix is None:
        return total, "the variance of all features"
    eigenvalues = np.linalg.eigvalsh(matrix)[::-1]
    eps = float(np.finfo(S.dtype).eps)
    margin = 8 * len(matrix) * eps * float(np.linalg.norm(matrix))
    bound = float(np.maximum(eigenvalues[:n_components] + margin, 0).sum())
    return min(bound, total * (1 + 4 * eps * S.n_features)), "no more than PCA recovers"


def _small_matrix(S: Covariance) -> Array | None:
    """A matrix with the eigenvalues of S that is small enough to have all of them computed."""
    if isinstance(S, ExplicitCovariance):
        return S.matrix.astype(np.float64) if S.n_features <= LARGEST_MATRIX else None
    if S.n_features <= LARGEST_MATRIX:
        return materialise(S).matrix.astype(np.float64)
    if not isinstance(S, DataCovariance) or not isinstance(S.rows, InMemoryRows):
        return None
    small = S.rows.shape[0] <= LARGEST_MATRIX and not S.rows.is_sparse
    return sample_gram(S).astype(np.float64) if small else None


def enumerated_bound(
    S: Covariance, constraints: Sequence[LoadingConstraint], otherwise: float
) -> float | None:
    """The most that any set of features recovers; ``None`` where there are too many sets."""
    closed = constraints[0].forbidden
    for constraint in constraints[1:]:
        closed = np.intersect1d(closed, constraint.forbidden)
    free = np.setdiff1d(np.arange(S.n_features), closed)
    size = min(sum(constraint.size for constraint in constraints), free.size)
    if comb(free.size, size) > MAX_SETS or S.n_features > LARGEST_MATRIX:
        return None
    B = materialise(S).matrix.astype(np.float64)
    A = B @ B
    sets = combinations(free.tolist(), size)
    best: float = 0.0
    while chosen := list(islice(sets, AT_ONCE)):
        best = max(best, *_most_recovered(A, B, np.array(chosen), len(constraints), otherwise))
    eps = float(np.finfo(S.dtype).eps)
    return float(best + 8 * len(B) * eps * np.linalg.norm(B) / SOLID**0.5)


def _most_recovered(
    A: Array, B: Array, sets: Array, n_components: int, otherwise: float
) -> Iterator[float]:
    """The sum of the largest roots on each set; ``otherwise`` where rounding blurs them."""
    rows, columns = sets[:, :, None], sets[:, None, :]
    lengths, Q = np.linalg.eigh(B[rows, columns])
    largest = float(B.diagonal().max())
    solid = lengths > SOLID * largest
    blurred = (lengths > EMPTY * largest) & ~solid
    root = np.where(solid, 1 / np.sqrt(np.where(solid, lengths, 1.0)), 0.0)
    white = Q * root[:, None, :]
    values = np.linalg.eigvalsh(white.transpose(0, 2, 1) @ A[rows, columns] @ white)
    sums = values[:, ::-1][:, :n_components].sum(axis=1)
    yield from np.where(blurred.any(axis=1), otherwise, sums).tolist()
