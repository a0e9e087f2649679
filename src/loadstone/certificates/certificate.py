"""A certificate: a component's variance, a proven limit for all rivals, and the proof."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from loadstone.certificates.bound_any_constraint import as_cardinality, constraint_bound
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.certificate_file import load_fields, save_fields
from loadstone.certificates.problem import Array, Indices, SupportProblem
from loadstone.certificates.proof_tree import ProofNode, replay
from loadstone.covariance.explicit import ExplicitCovariance
from loadstone.covariance.flipped import FlippedCovariance

if TYPE_CHECKING:
    from loadstone.constraints import Constraint, LoadingConstraint
    from loadstone.covariance.protocol import Covariance

#: Relative gap below which a component counts as optimal.
OPTIMAL_GAP = 1e-6


@dataclass(frozen=True, eq=False)
class Certificate:
    """How close a component is to the best one its constraints allow.

    Attributes
    ----------
    value : float
        Variance ``w'Sw`` of the certified component.
    upper_bound : float
        No component under the same constraints has a larger variance.
    loading : ndarray of shape (n_features,)
        The certified component.
    constraint : Constraint
        What it competes under.
    proof : str
        The argument that gave the bound.
    fixed_in, fixed_out : ndarray of int
        Features every, and no, better component would have to use. For an optimal
        component: its support, and all other features.
    seconds : float
        Time the proof took to find.
    relative_to : str
        Which covariance the statement is about.
    best_loading : ndarray of shape (n_features,)
        The best component met on the way; the certified one unless a better one was found.
    best_value : float
        Its variance.
    n_nodes : int
        Cases the proof distinguishes.
    tree : ProofNode
        The stored proof.
    """

    value: float
    upper_bound: float
    loading: Array
    constraint: Constraint
    proof: str
    fixed_in: Indices
    fixed_out: Indices
    seconds: float
    relative_to: str
    best_loading: Array
    best_value: float
    n_nodes: int
    tree: ProofNode

    def __post_init__(self) -> None:
        refuse_impossible(self.value, self.upper_bound)

    @property
    def ratio(self) -> float:
        """Share of the best possible variance that is certainly reached."""
        return 1.0 if self.upper_bound <= self.value else self.value / self.upper_bound

    @property
    def gap(self) -> float:
        """Variance that might still be missing."""
        return max(0.0, self.upper_bound - self.value)

    @property
    def is_optimal(self) -> bool:
        """Whether nothing is missing, up to a relative gap of one millionth."""
        return bool(self.gap <= OPTIMAL_GAP * abs(self.value))

    def __str__(self) -> str:
        """One line a person can quote."""
        rivals = self.constraint.describe()
        if self.is_optimal:
            return (
                f"proven optimal among {rivals}: none has more variance than "
                f"{self.value:.6g} ({self.proof}, {self.relative_to})"
            )
        share = np.floor(1e4 * self.ratio) / 1e2
        return (
            f"at least {share:.2f} % of what {rivals} could explain: "
            f"{self.value:.6g} of at most {self.upper_bound:.6g} ({self.proof}, {self.relative_to})"
        )

    def verify(self, S: Any) -> float:
        """Recompute the bound from the stored proof; no optimiser is involved.

        Parameters
        ----------
        S : Covariance or array-like of shape (n_features, n_features)
            The covariance the certificate speaks about.

        Returns
        -------
        float
            The recomputed upper bound.

        Raises
        ------
        CertificateError
            When the component breaks its constraint, does not have the variance
            claimed, or the proof does not give the bound claimed.
        """
        S = as_covariance(S)
        if S.n_features != self.constraint.n_features:
            msg = (
                f"the certificate is about {self.constraint.n_features} features, "
                f"the covariance has {S.n_features}; pass the one that was certified"
            )
            raise ValueError(msg)
        self._verify_value(S, self.loading, self.value)
        self._verify_value(S, self.best_loading, self.best_value)
        bound = max(self._recomputed(S), self.best_value)
        if bound > self.upper_bound + 1e-9 * abs(self.upper_bound):
            msg = (
                f"the stored proof gives {bound:.12g}, the certificate claims "
                f"{self.upper_bound:.12g}; it was made for another covariance or changed"
            )
            raise CertificateError(msg)
        return bound

    def _recomputed(self, S: Covariance) -> float:
        """The bound of the stored proof, or of the constraint alone where none is needed."""
        view = as_cardinality(self.constraint)
        if view is None:
            return constraint_bound(S, self.constraint).value
        rule, flips = view
        known = lower_value(S, self.best_loading)
        return replay(FlippedCovariance.of(S, flips), problem_of(rule), known, self.tree).bound

    def _verify_value(self, S: Covariance, loading: Array, value: float) -> None:
        broken = self.constraint.broken_rule(loading)
        if broken is not None:
            msg = f"the component of the certificate breaks its constraint: {broken}"
            raise CertificateError(msg)
        found = variance_on_support(S, loading)
        tolerance = 1e-9 if S.dtype == np.float64 else 1e-5
        if abs(found - value) > tolerance * max(abs(value), abs(found)):
            msg = (
                f"the component has variance {found:.12g}, the certificate claims {value:.12g}; "
                "it was made for another covariance or changed"
            )
            raise CertificateError(msg)

    def save(self, path: str | Path) -> None:
        """Write the certificate and its proof to this path; by custom it ends in ``.npz``.

        An existing file is replaced once the new one is complete.
        """
        save_fields(vars(self), path)

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate written by :meth:`save`.

        Raises
        ------
        CertificateError
            If the file is damaged, is no certificate, or claims what is impossible.
        """
        return cls(**load_fields(path))


def refuse_impossible(value: float, bound: float) -> None:
    """Raise where a bound lies below a value that was reached."""
    if not bound >= value - 1e-9 * abs(value):
        msg = (
            f"an upper bound of {bound!r} below the variance {value!r} of an admissible component: "
            "this must be impossible. Please report it with the data (or its covariance), the "
            "component and the constraint"
        )
        raise CertificateError(msg)


def as_covariance(S: Any) -> Covariance:
    """A covariance object as it is; a matrix wrapped as one."""
    if hasattr(S, "block") and hasattr(S, "diagonal") and hasattr(S, "n_features"):
        return cast("Covariance", S)
    return ExplicitCovariance(np.asarray(S, dtype=np.float64))


def problem_of(constraint: LoadingConstraint) -> SupportProblem:
    """The constraint as a problem over supports."""
    return SupportProblem.of(
        constraint.n_features,
        constraint.n_nonzero,
        nonnegative=constraint.nonnegative,
        forced=constraint.forced,
        forbidden=constraint.forbidden,
    )


def variance_on_support(S: Covariance, loading: Array) -> float:
    """``w'Sw`` of the exactly normalised vector, from the block on its support."""
    support = np.flatnonzero(loading)
    if support.size == 0:
        return 0.0
    w = np.asarray(loading[support], dtype=np.float64)
    block = np.asarray(S.block(support, support), dtype=np.float64)
    return float(w @ block @ w / (w @ w))


def lower_value(S: Covariance, loading: Array) -> float:
    """``w'Sw`` rounded downwards."""
    support = np.flatnonzero(loading)
    w = np.abs(np.asarray(loading[support], dtype=np.float64))
    block = np.abs(np.asarray(S.block(support, support), dtype=np.float64))
    error = 8.0 * support.size * np.finfo(np.float64).eps * float(w @ block @ w)
    return variance_on_support(S, loading) - error
