"""What earlier components leave to a later one: the rivals, and the matrix that bounds them.

Notation: ``S`` is the covariance of the data, ``W`` the earlier loadings.

==============  =======================  ============================================
relation        rivals                   variance is measured in, and bounded by
==============  =======================  ============================================
``none``        all                      ``S`` deflated by ``W`` under the named rule
``quasi``       all (more than it asks)  the same
``disjoint``    off the support of W     ``S``, or deflated as well (Schur)
``strict``      w'W = 0                  ``S``; bounded by ``(I-Q)S(I-Q)``, Q on span W
``uncorrelated``  w'SW = 0               ``S``; bounded by ``(I-Q)S(I-Q)``, Q on span SW
==============  =======================  ============================================

For the two linear relations let q_j be the columns of W or SW and y_j *any* vectors:
``x'(S - sum q_j y_j' - sum y_j q_j')x = x'Sx`` wherever ``q_j'x = 0``. The projection is one
choice of y, so nothing has to be trusted but the sums that form the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from loadstone.certificates.problem import Array
from loadstone.covariance.deflated import DEFLATION_NAMES, DeflatedCovariance, deflate
from loadstone.covariance.from_data import DataCovariance
from loadstone.covariance.protocol import Covariance

RELATIONS = ("none", "disjoint", "quasi", "strict", "uncorrelated")
#: Relations that are equations ``q_j'w = 0``.
LINEAR = ("strict", "uncorrelated")
#: How far from its relation a certified component may be, in double and in single precision.
KEPT_TO = 1e-6
KEPT_TO_SINGLE = 1e-4


def _no_loadings() -> Array:
    return np.zeros((0, 0))


@dataclass(frozen=True, eq=False, kw_only=True)
class Earlier:
    """Components that came before the certified one, and how rivals relate to them.

    Attributes
    ----------
    loadings : ndarray of shape (n_features, n_earlier)
        W, in double precision; empty for a first component.
    relation : {"none", "disjoint", "quasi", "strict", "uncorrelated"}
        What rivals have to keep.
    deflation : str
        The rule by which W is removed from S; empty where S stays as it is.
    """

    loadings: Array = field(default_factory=_no_loadings)
    relation: str = "none"
    deflation: str = ""

    @property
    def count(self) -> int:
        """How many components came before."""
        return int(self.loadings.shape[1])

    @property
    def is_linear(self) -> bool:
        """Whether rivals keep equations."""
        return self.count > 0 and self.relation in LINEAR

    def describe(self) -> str:
        """What the statement is relative to, in words."""
        if self.count == 0:
            return "in the covariance of the data"
        before = f"{self.count} earlier component(s)"
        if self.relation == "strict":
            return f"among loadings orthogonal to those of {before}"
        if self.relation == "uncorrelated":
            return f"among scores uncorrelated with those of {before}"
        left = f"in the covariance left after {self.count} component(s), {self.deflation} deflation"
        if self.relation == "disjoint":
            free = f"among the features free after {before}"
            return f"{free}, {left}" if self.deflation else free
        quasi = ", rivals free of orthogonality='quasi'" if self.relation == "quasi" else ""
        return left + quasi

    def measured_in(self, S: Covariance) -> Covariance:
        """The covariance that the variance of a rival is measured in."""
        if self.count == 0 or self.is_linear or not self.deflation:
            return S
        left = S
        W = self.loadings.astype(S.dtype, copy=False)
        for j in range(self.count):
            if self.deflation == "schur":
                _refuse_nothing_left(left, S, W[:, j], j)
            left = deflate(left, W[:, j], self.deflation, W[:, :j])
        return left

    def bounded_by(self, S: Covariance) -> tuple[Covariance, float]:
        """A matrix in which no rival has less variance, up to the margin that comes with it."""
        if not self.is_linear:
            return self.measured_in(S), 0.0
        Q, doubt = self.equations(S)
        inverse = np.linalg.pinv(Q)
        T = np.asarray(S @ inverse.T.astype(S.dtype), dtype=np.float64)
        Y = T - Q @ (inverse @ T) / 2.0
        zero, one = np.zeros((self.count, self.count)), np.eye(self.count)
        swap = np.block([[zero, one], [one, zero]])
        lengths = np.linalg.norm(Y, axis=0)
        unit = float(np.finfo(S.dtype).eps)
        margin = 2.0 * float(doubt @ lengths)
        margin += 8.0 * (self.count + 2) * unit * float(np.linalg.norm(Q, axis=0) @ lengths)
        return DeflatedCovariance(S, np.hstack([Q, Y]), swap), margin

    def equations(self, S: Covariance) -> tuple[Array, Array]:
        """The columns q_j, and how far each may be from the true one."""
        if self.relation == "strict":
            return self.loadings, np.zeros(self.count)
        Q = np.asarray(S @ self.loadings.astype(S.dtype), dtype=np.float64)
        spread = np.sqrt(np.maximum(np.asarray(S.diagonal(), dtype=np.float64), 0.0))
        n_terms = S.n_samples if isinstance(S, DataCovariance) else S.n_features
        unit = float(np.finfo(S.dtype).eps) * (n_terms + 8.0)
        return Q, unit * float(np.linalg.norm(spread)) * (spread @ np.abs(self.loadings))

    def residual(self, S: Covariance, loading: Array) -> float:
        """How far ``loading`` is from its equations: the largest cosine or correlation."""
        if not self.is_linear:
            return 0.0
        W = np.column_stack([self.loadings, loading])
        SW = W if self.relation == "strict" else np.asarray(S @ W.astype(S.dtype))
        products = W.T @ SW.astype(np.float64)
        spread = np.sqrt(np.maximum(products.diagonal(), np.finfo(np.float64).tiny))
        return float(np.abs(products[-1, :-1] / (spread[-1] * spread[:-1])).max())


def _refuse_nothing_left(left: Covariance, S: Covariance, w: Array, j: int) -> None:
    """Raise where earlier components explain an earlier one, so that nothing can be divided by."""
    before, now = float(w @ (S @ w)), float(w @ (left @ w))
    if not now > 100.0 * float(np.finfo(S.dtype).eps) * before:
        msg = f"earlier component {j + 1} adds nothing to those before it; leave it out"
        raise ValueError(msg)


FIRST = Earlier()


def broken_relation(
    earlier: Earlier, S: Covariance, loading: Array, forbidden: Array
) -> str | None:
    """How a component fails to relate to the earlier ones; ``None`` where it keeps its word."""
    if earlier.count == 0:
        return None
    if earlier.relation == "disjoint":
        used = np.flatnonzero(earlier.loadings.any(axis=1))
        open_ones = np.setdiff1d(used, forbidden)
        if open_ones.size:
            return f"feature(s) {open_ones[:5].tolist()} of earlier components are not forbidden"
    residual = earlier.residual(S, loading)
    limit = KEPT_TO if S.dtype == np.float64 else KEPT_TO_SINGLE
    if not residual <= limit:
        return f"it misses orthogonality={earlier.relation!r} by {residual:.3g}"
    return None


def broken_earlier(earlier: Earlier, n_features: int) -> str | None:
    """What is wrong with the earlier components as they are stored."""
    W = earlier.loadings
    if earlier.relation not in RELATIONS:
        return f"the relation {earlier.relation!r} is none of {RELATIONS}"
    if earlier.deflation and earlier.deflation not in DEFLATION_NAMES:
        return f"the deflation {earlier.deflation!r} is not known"
    if not isinstance(W, np.ndarray) or W.dtype != np.float64 or W.ndim != 2:
        return "the earlier loadings are no matrix in double precision"
    if W.shape[1] == 0:
        return None
    if W.shape[0] != n_features:
        return f"the earlier loadings are about {W.shape[0]} features, not {n_features}"
    lengths = np.linalg.norm(W, axis=0)
    if not (np.abs(lengths - 1.0) <= 1e-5).all():
        return "an earlier component does not have unit norm"
    if earlier.relation in ("none", "quasi") and not earlier.deflation:
        return f"the relation {earlier.relation!r} needs a deflation"
    return None
