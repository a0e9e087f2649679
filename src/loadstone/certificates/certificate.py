"""A certificate: a component's variance, a proven limit for all rivals, and the proof."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from loadstone.certificates.bound_any_constraint import as_cardinality
from loadstone.certificates.certificate_about import About, covariance_for
from loadstone.certificates.certificate_checks import (
    refuse_constraint,
    refuse_earlier,
    refuse_indices,
    refuse_loading,
    refuse_number,
    refuse_proof,
    remade,
)
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.certificate_file import load_fields, save_fields
from loadstone.certificates.certificate_value import (
    lower_value,
    problem_of,
    recomputed,
    rounding_of,
    stated_value,
    variance_on_support,
)
from loadstone.certificates.problem import Array, Indices
from loadstone.certificates.problem_after import FIRST, Earlier, broken_relation
from loadstone.certificates.proof_cases import ProofCase

if TYPE_CHECKING:
    from loadstone.constraints import Constraint
    from loadstone.covariance.protocol import Covariance

#: Relative gap below which a component counts as optimal.
OPTIMAL_GAP = 1e-6


@dataclass(frozen=True, eq=False)
class Certificate:
    """How close a component is to the best one its constraints allow.

    Attributes
    ----------
    value : float
        Variance of the certified component.
    upper_bound : float
        No component under the same constraints has a larger variance.
    loading : ndarray of shape (n_features,)
        The certified component.
    constraint : Constraint
        What it competes under.
    fixed_in, fixed_out : ndarray of int
        Features that every, and no, component of more variance than ``best_value`` uses.
    seconds : float
        Time the proof took to find.
    best_loading : ndarray of shape (n_features,)
        The best component met on the way; the certified one unless a better one was found.
    best_value : float
        Its variance.
    cases : tuple of ProofCase
        The stored proof.
    about : About
        Fingerprint of the covariance of the data.
    earlier : Earlier
        Components that came before, and how rivals relate to them.
    """

    value: float
    upper_bound: float
    loading: Array
    constraint: Constraint
    fixed_in: Indices
    fixed_out: Indices
    seconds: float
    best_loading: Array
    best_value: float
    cases: tuple[ProofCase, ...]
    about: About
    earlier: Earlier = FIRST

    def __post_init__(self) -> None:
        refuse_impossible(self.value, self.upper_bound)

    @property
    def ratio(self) -> float:
        """Share of the best possible variance that is certainly reached.

        NaN where no component has any: a share of nothing, or of less, says nothing.
        """
        if self.upper_bound <= self.value:
            return 1.0
        return self.value / self.upper_bound if self.upper_bound > 0 else np.nan

    @property
    def gap(self) -> float:
        """Variance that might still be missing."""
        return max(0.0, self.upper_bound - self.value)

    @property
    def is_optimal(self) -> bool:
        """Whether nothing is missing, up to a relative gap of one millionth."""
        return bool(self.gap <= OPTIMAL_GAP * abs(self.value))

    @property
    def n_nodes(self) -> int:
        """Cases the proof distinguishes."""
        return len(self.cases)

    @property
    def proof(self) -> str:
        """The kind of argument that is stored."""
        view = as_cardinality(self.constraint)
        if any(case.feature is not None for case in self.cases):
            return "branch and bound"
        if len(self.cases) > 1:
            return "dual bound by slices"
        if any(case.duals for case in self.cases):
            return "dual bound"
        if self.cases[0].listed:
            return "every support tried"
        decided = view is not None and problem_of(view[0]).is_leaf
        return "single support" if decided else "instant bound"

    @property
    def relative_to(self) -> str:
        """What the component competes for."""
        return self.earlier.describe()

    def __str__(self) -> str:
        """One line a person can quote."""
        rivals = self.constraint.describe()
        why = f"({self.proof}, {self.relative_to})"
        if self.about.precision != "float64":
            why = f"{why[:-1]}; single-precision data, to {self.about.tolerance:g})"
        if self.is_optimal:
            return (
                f"proven optimal among {rivals}: none has more variance than {self.value:.6g} {why}"
            )
        if not self.upper_bound > 0:
            return f"{self.value:.6g} of at most {self.upper_bound:.6g} among {rivals} {why}"
        share = np.floor(1e4 * self.ratio) / 1e2
        return (
            f"at least {share:.2f} % of what {rivals} could explain: "
            f"{self.value:.6g} of at most {self.upper_bound:.6g} {why}"
        )

    def verify(self, data: Any) -> float:
        """Recompute everything that is claimed from the stored proof; no optimiser is involved.

        Parameters
        ----------
        data : array-like, sparse matrix, Dask array, frame, SampleCovariance or Covariance
            The data the certificate is about, or its covariance (a symmetric matrix). Data is
            standardised where the certificate is about its correlations. For a later component
            too this is the data: what earlier ones left is rebuilt from them.

        Returns
        -------
        float
            The recomputed upper bound.

        Raises
        ------
        CertificateError
            When the certificate was made for another covariance, is malformed, or claims a
            value, a bound or fixed features that its proof does not give.
        """
        with _one_error():
            self._refuse_malformed()
            stated = replace(self, constraint=remade(self.constraint))
            return stated._recompute(covariance_for(data, self.about))

    def _refuse_malformed(self) -> None:
        n_features = refuse_constraint(self.constraint)
        for name in ("value", "upper_bound", "best_value", "seconds"):
            refuse_number(vars(self)[name], name)
        for name in ("loading", "best_loading"):
            refuse_loading(vars(self)[name], name, n_features)
        for name in ("fixed_in", "fixed_out"):
            refuse_indices(vars(self)[name], name, n_features)
        refuse_earlier(self.earlier, n_features)
        refuse_proof(self.cases, n_features)
        if type(self.about) is not About:
            msg = "the certificate is malformed: it does not say what it is about"
            raise CertificateError(msg)

    def _recompute(self, S: Covariance) -> float:
        measured = self.earlier.measured_in(S)
        self._verify_component(S, measured, self.loading, self.value)
        self._verify_component(S, measured, self.best_loading, self.best_value)
        tolerance = self.about.tolerance
        known = lower_value(measured, self.best_loading)
        proven = recomputed(
            S, self.constraint, self.earlier, known, self.cases, claimed=self.upper_bound
        )
        bound = max(proven.bound, self.best_value)
        if not bound <= self.upper_bound + tolerance * abs(self.upper_bound):
            msg = (
                f"the stored proof gives {bound:.12g}, the certificate claims "
                f"{self.upper_bound:.12g}: it was changed"
            )
            raise CertificateError(msg)
        fixed = proven.fixed(S.n_features)
        for name, found in zip(("fixed_in", "fixed_out"), fixed, strict=True):
            beyond = np.setdiff1d(vars(self)[name], found)
            if beyond.size:
                msg = f"the stored proof does not show that feature(s) {beyond[:5]} are {name}"
                raise CertificateError(msg)
        return bound

    def _verify_component(
        self, S: Covariance, measured: Covariance, loading: Array, value: float
    ) -> None:
        # Rules that hold to rounding hold to the rounding of the data.
        rounded = loading.astype(self.about.precision)
        broken = self.constraint.broken_rule(rounded) or broken_relation(
            self.earlier, S, loading, self.constraint.forbidden
        )
        if broken is not None:
            msg = f"the component of the certificate breaks its constraint: {broken}"
            raise CertificateError(msg)
        found = variance_on_support(measured, loading)
        room = self.about.tolerance * max(abs(value), abs(found))
        if self.earlier.count:
            # What is left of S is a difference of larger numbers.
            room += 1e-3 * self.about.tolerance * abs(self.about.trace)
        if not abs(found - value) <= room + rounding_of(measured, loading):
            msg = (
                f"the component has variance {found:.12g}, the certificate claims {value:.12g}: "
                "it was changed"
            )
            raise CertificateError(msg)

    def restated(self, S: Covariance, earlier: Earlier, loading: Array) -> Certificate:
        """The same proof for ``loading``, told as a statement about ``S`` and ``earlier``."""
        loading = np.asarray(loading, dtype=np.float64)
        loading = loading / np.linalg.norm(loading)
        measured = earlier.measured_in(S)
        value = variance_on_support(measured, loading)
        best, best_value = self.best_loading, variance_on_support(measured, self.best_loading)
        if value >= best_value:
            best, best_value = loading, value
        proven = recomputed(S, self.constraint, earlier, stated_value(measured, best), self.cases)
        fixed_in, fixed_out = proven.fixed(S.n_features)
        return replace(
            self,
            value=value,
            upper_bound=max(proven.bound, best_value),
            loading=loading,
            best_loading=best,
            best_value=best_value,
            fixed_in=fixed_in,
            fixed_out=fixed_out,
            about=About.of(S),
            earlier=earlier,
        )

    def save(self, path: str | Path) -> None:
        """Write the certificate and its proof to this path; by custom it ends in ``.npz``.

        An existing file is replaced once the new one is complete.
        """
        self._refuse_malformed()
        save_fields(vars(self), path)

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate written by :meth:`save`.

        Raises
        ------
        CertificateError
            If the file is damaged, is no certificate, or claims what is impossible.
        """
        with _one_error():
            certificate = cls(**load_fields(path))
            certificate._refuse_malformed()
            return certificate


@contextmanager
def _one_error() -> Iterator[None]:
    """Whatever a forged certificate provokes, as one sentence of one type."""
    try:
        yield
    except (CertificateError, FileNotFoundError, MemoryError):
        raise
    except Exception as error:
        first = (str(error) or type(error).__name__).splitlines()[0]
        msg = f"the certificate cannot be checked: {first}"
        raise CertificateError(msg) from error


def refuse_impossible(value: float, bound: float) -> None:
    """Raise where a bound lies below a value that was reached."""
    if not bound >= value - 1e-9 * abs(value):
        msg = (
            f"an upper bound of {bound!r} below the variance {value!r} of an admissible component: "
            "this must be impossible. Please report it with the data (or its covariance), the "
            "component and the constraint"
        )
        raise CertificateError(msg)
