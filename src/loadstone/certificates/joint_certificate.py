"""A joint certificate: what all components reach together, proven limits, and the proofs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from loadstone.certificates.certificate import OPTIMAL_GAP, refuse_impossible
from loadstone.certificates.certificate_about import About, covariance_for
from loadstone.certificates.certificate_checks import refuse_constraint, remade
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.joint_bound import JointProof
from loadstone.certificates.joint_problem import ADJUSTED, RECOVERED, RELATIONS, SUM
from loadstone.certificates.joint_statement import LARGEST, Statement
from loadstone.certificates.problem import Array

if TYPE_CHECKING:
    from loadstone.constraints import Constraint

#: Largest cosine or correlation of components that should have none.
KEPT_TO = {"float64": 1e-6, "float32": 1e-4}
_WORDS = {"disjoint": "disjoint ", "strict": "orthogonal ", "uncorrelated": "uncorrelated "}


@dataclass(frozen=True, eq=False, kw_only=True)
class JointClaim:
    """One statement about several components, with its proof.

    Attributes
    ----------
    quantity : str
        ``"adjusted variance"``, ``"sum of variances"`` or ``"recovered variance"``.
    value : float
        What the components reach.
    upper_bound : float
        No components under the same constraints and relation reach more.
    proof : JointProof
        The numbers that prove it.
    component : int or None
        For the recovered variance: the component that is added to those before it.
    """

    quantity: str
    value: float
    upper_bound: float
    proof: JointProof
    component: int | None = None

    def __post_init__(self) -> None:
        for number in (self.value, self.upper_bound):
            if not isinstance(number, float | int) or not np.isfinite(number):
                msg = f"{number!r} in the place of a finite value or bound"
                raise CertificateError(msg)
        refuse_impossible(self.value, self.upper_bound)

    @property
    def ratio(self) -> float:
        """Share of what is possible that is certainly reached."""
        if not 0.0 < self.upper_bound < np.inf:
            return 0.0
        return min(1.0, self.value / self.upper_bound)

    @property
    def is_optimal(self) -> bool:
        """Whether nothing is missing, up to a relative gap of one millionth."""
        return bool(self.upper_bound - self.value <= OPTIMAL_GAP * abs(self.value))


@dataclass(frozen=True, eq=False, kw_only=True)
class JointCertificate:
    """How close several components together are to the best that their constraints allow.

    Attributes
    ----------
    loadings : ndarray of shape (n_features, n_components)
        The components, unit norm, in their order.
    constraints : tuple of Constraint
        What each of them competes under.
    relation : {"none", "quasi", "disjoint", "strict", "uncorrelated"}
        How they, and their rivals, relate to one another.
    claims : tuple of JointClaim
        What is proven; the first is the one to quote. Empty where nothing is.
    about : About
        The data it is about.
    seconds : float
        Time the proofs took to find.
    """

    loadings: Array
    constraints: tuple[Constraint, ...]
    relation: str
    claims: tuple[JointClaim, ...]
    about: About
    seconds: float = 0.0

    @property
    def n_components(self) -> int:
        """How many components the statement is about."""
        return len(self.constraints)

    @property
    def value(self) -> float:
        """What the components reach, in the quantity that is quoted; zero without a claim."""
        return self.claims[0].value if self.claims else 0.0

    @property
    def upper_bound(self) -> float:
        """The proven limit of the same; infinite without a claim."""
        return self.claims[0].upper_bound if self.claims else np.inf

    @property
    def ratio(self) -> float:
        """Share of what is possible that is certainly reached; zero without a claim."""
        return self.claims[0].ratio if self.claims else 0.0

    @property
    def is_optimal(self) -> bool:
        """Whether nothing is missing, up to a relative gap of one millionth."""
        return bool(self.claims) and self.claims[0].is_optimal

    def claim(self, quantity: str, component: int | None = None) -> JointClaim | None:
        """The claim about a quantity, ``None`` where there is none.

        Parameters
        ----------
        quantity : {"adjusted variance", "sum of variances", "recovered variance"}
            What it is about.
        component : int, optional
            For the recovered variance: which component.
        """
        found = [c for c in self.claims if (c.quantity, c.component) == (quantity, component)]
        return found[0] if found else None

    def __str__(self) -> str:
        """One line a person can quote."""
        return self.sentences()[0]

    def sentences(self) -> list[str]:
        """Each claim in one line, the one to quote first."""
        if not self.claims:
            return [f"no joint statement: {self._why_none()}"]
        return [self._sentence(claim) for claim in self.claims]

    def _sentence(self, claim: JointClaim) -> str:
        share = f"at least {np.floor(1e3 * claim.ratio) / 10:.1f} % of"
        if claim.is_optimal:
            share = "all of"
        numbers = f"{claim.value:.6g} of at most {claim.upper_bound:.6g}"
        if claim.quantity == RECOVERED:
            j = claim.component or 0
            rivals = self.constraints[j].describe().replace("components", "component", 1)
            before = f" to the {j} before it" if j else ""
            how = "theorem E, " + (
                "all supports tried" if claim.proof.dual is None else "dual bound"
            )
            return (
                f"component {j + 1} recovers {share} the variance any {rivals} could add{before}: "
                f"{numbers} ({how})"
            )
        return (
            f"together {share} the {claim.quantity} any {self._rivals()} could explain: "
            f"{numbers} ({claim.proof.describe()})"
        )

    def _rivals(self) -> str:
        """Who competes, in words."""
        word = _WORDS.get(self.relation, "")
        kinds = [constraint.describe() for constraint in self.constraints]
        if len(set(kinds)) == 1:
            return f"{self.n_components} {word}{kinds[0]}"
        return f"{self.n_components} {word}components (" + "; ".join(kinds) + ")"

    def _why_none(self) -> str:
        if self.n_components == 1:
            return "one component alone, whose own certificate says how good it is"
        if self.about.n_features > LARGEST:
            return (
                f"of more than {LARGEST} features it needs the samples, and one rule that contains "
                "those of all components"
            )
        return "the matrix is no covariance, and there is no adjusted variance in it"

    def verify(self, data: Any) -> float:
        """Recompute every value and every bound from the stored proofs; nothing is searched.

        Parameters
        ----------
        data : array-like, frame, Covariance, SampleCovariance or symmetric matrix
            What the certificate is about: the data, or its covariance.

        Returns
        -------
        float
            The recomputed bound of the first claim; infinite where there is none.

        Raises
        ------
        CertificateError
            When a component breaks its constraint or its relation, a value is not the one
            claimed, or a proof does not give the bound claimed.
        """
        try:
            refuse_malformed(self)
            stated = replace(self, constraints=tuple(map(remade, self.constraints)))
            return stated._verified(data)
        except CertificateError:
            raise
        except Exception as error:
            msg = f"the joint certificate cannot be checked ({type(error).__name__}: {error})"
            raise CertificateError(msg) from error

    def _verified(self, data: Any) -> float:
        S = covariance_for(data, self.about)
        if not self.claims:
            return np.inf
        statement = Statement.of(S, self.constraints, self.relation)
        statement.refuse_broken(self.loadings, KEPT_TO[self.about.precision])
        bounds = [self._verified_claim(statement, claim) for claim in self.claims]
        return bounds[0]

    def _verified_claim(self, statement: Statement, claim: JointClaim) -> float:
        """The recomputed bound of one claim."""
        tolerance = self.about.tolerance
        value = statement.value(self.loadings, claim.quantity, claim.component)
        if not abs(value - claim.value) <= tolerance * max(abs(value), abs(claim.value)):
            msg = (
                f"the components reach {value:.12g} in {claim.quantity}, the certificate claims "
                f"{claim.value:.12g}; it was changed"
            )
            raise CertificateError(msg)
        bound = statement.bound(self.loadings, claim.quantity, claim.proof, claim.component)
        if not bound <= claim.upper_bound + tolerance * abs(claim.upper_bound):
            msg = (
                f"the stored proof gives {bound:.12g} for the {claim.quantity}, the certificate "
                f"claims {claim.upper_bound:.12g}; it was changed"
            )
            raise CertificateError(msg)
        return max(bound, value)

    def save(self, path: str | Path) -> None:
        """Write the certificate and its proofs to this path; by custom it ends in ``.npz``.

        An existing file is replaced once the new one is complete.
        """
        from loadstone.certificates.joint_file import save_joint

        save_joint(self, path)

    @classmethod
    def load(cls, path: str | Path) -> JointCertificate:
        """Read a certificate written by :meth:`save`.

        Raises
        ------
        CertificateError
            If the file is damaged, is no joint certificate, or claims what is impossible.
        """
        from loadstone.certificates.joint_file import load_joint

        return load_joint(path)


def refuse_malformed(certificate: JointCertificate) -> None:
    """Raise unless the parts of a certificate have the kinds and shapes they should."""
    W, r, n = certificate.loadings, len(certificate.constraints), certificate.about.n_features
    if certificate.relation not in RELATIONS:
        msg = f"the relation {certificate.relation!r} is none of {RELATIONS}"
        raise CertificateError(msg)
    if not isinstance(W, np.ndarray) or W.dtype != np.float64 or W.shape != (n, r) or r < 1:
        msg = f"{r} components of {n} features need a matrix of that shape in double precision"
        raise CertificateError(msg)
    if not (np.abs(np.linalg.norm(W, axis=0) - 1.0) <= 1e-9).all():
        msg = "the loadings are not finite or do not have unit norm"
        raise CertificateError(msg)
    if any(refuse_constraint(constraint) != n for constraint in certificate.constraints):
        msg = f"a constraint is not about {n} features"
        raise CertificateError(msg)
    for claim in certificate.claims:
        if not isinstance(claim, JointClaim) or not isinstance(claim.proof, JointProof):
            msg = f"{type(claim).__name__} in the place of a claim with its proof"
            raise CertificateError(msg)
        single = claim.quantity == RECOVERED
        placed = type(claim.component) is int and 0 <= claim.component < r
        if claim.quantity not in (ADJUSTED, SUM, RECOVERED) or single != placed:
            msg = f"there is no claim about {claim.quantity!r}, component {claim.component!r}"
            raise CertificateError(msg)
