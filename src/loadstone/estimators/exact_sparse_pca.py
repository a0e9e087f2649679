"""ExactSparsePCA: search until the optimum is proven."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from loadstone._sklearn_compat import Interval
from loadstone.certificates import Certificate, JointCertificate, prove
from loadstone.constraints import Constraint
from loadstone.covariance import Array
from loadstone.estimators.attributes import Attribute
from loadstone.estimators.base import WITH_PROOFS
from loadstone.estimators.found import Task
from loadstone.estimators.parameters import NOT_NEGATIVE
from loadstone.estimators.sequential import Rival, SequentialComponents
from loadstone.extraction import Plan, prove_jointly
from loadstone.loadings import Loadings
from loadstone.registry import About
from loadstone.solvers.exact import ExactSearch
from loadstone.solvers.portfolio import Portfolio


class ExactSparsePCA(SequentialComponents):
    """Sparse or non-negative components with a proof of optimality, or a proven gap.

    The search of :class:`SparsePCA`, from the greedy support as well, finds each component; a
    convex dual bound, screening and branch and bound prove that nothing better exists, or find
    it. When the time limit ends the proof, the best component is returned with its proven gap.

    Parameters
    ----------
    n_components : int, default=1
        Number of components. Later ones are optimal in what earlier ones left.
    time_limit : float or None, default=60
        Seconds for the proof of each component. Reaching it is not an error.
    gap_tol : float, default=1e-6
        Relative gap at which a component counts as optimal.
    n_jobs : int, default=1
        Processes that branch and bound uses; the answer is the same for every number.
    orthogonality : {"none", "disjoint"}, default="none"
        ``"disjoint"``: no feature serves two components.
    max_iter : int, default=300
        Largest number of power steps of the search before the proof.
    tol : float, default=1e-6
        Change of direction at which that search has settled.

    Attributes
    ----------
    n_iter_ : int
        Largest number of cases a proof distinguishes.

    See Also
    --------
    SparsePCA : The same search, with a certificate of any effort or none.
    certify : Certify a component found by any method.

    References
    ----------
    d'Aspremont, A., Bach, F., & El Ghaoui, L. (2008). Optimal solutions for sparse
    principal component analysis. Journal of Machine Learning Research, 9, 1269-1294.

    Berk, L., & Bertsimas, D. (2019). Certifiably optimal sparse principal component
    analysis. Mathematical Programming Computation, 11, 381-420.
    https://doi.org/10.1007/s12532-018-0153-6

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import ExactSparsePCA
    >>> model = ExactSparsePCA(n_nonzero=4, standardize=True).fit(load_wine().data)
    >>> model.certificates_[0].is_optimal
    True
    """

    about: ClassVar[About] = About(
        method="exact",
        choose=("the best possible component, proven",),
        paper="d'Aspremont, Bach & El Ghaoui (2008); Berk & Bertsimas (2019)",
    )

    time_limit: float | None = 60.0
    gap_tol: float = 1e-6
    n_jobs: int = 1
    deflation: str = "schur"
    forced: Any = None
    max_iter: int = 300
    tol: float = 1e-6

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "time_limit": [None, Interval(Real, 0, None, closed="neither")],
        "gap_tol": [NOT_NEGATIVE],
        "n_jobs": [Integral],
    }
    _attributes: ClassVar[dict[str, Attribute]] = WITH_PROOFS

    def _solver(self, task: Task) -> ExactSearch:
        search = Portfolio(greedy=True, max_iter=self.max_iter, tol=self.tol)
        return ExactSearch(
            search=search,
            time_limit=self.time_limit,
            gap_tol=self.gap_tol,
            progress=task.proof,
            n_jobs=self.n_jobs,
        )

    def _n_tasks(self) -> int | None:
        # Proofs report their progress as tasks too, and nobody knows how many.
        return None

    def _looks_at_all(self) -> bool:
        return True

    def _proofs(
        self, task: Task, rivals: Iterable[Rival], searches: Sequence[Loadings]
    ) -> list[Certificate] | None:
        certificates = []
        S = task.data.S
        for (w, constraint, earlier), search in zip(rivals, searches, strict=True):
            certificate = search.details.get("certificate")
            # The search may have spoken about another component than the one returned.
            if certificate is None or not np.array_equal(certificate.loading != 0, w != 0):
                certificate = prove(
                    S,
                    constraint,
                    w,
                    effort="full",
                    time_limit=self.time_limit,
                    gap_tol=self.gap_tol,
                    n_jobs=self.n_jobs,
                    earlier=earlier,
                )
            else:
                certificate = replace(certificate, constraint=constraint)
                certificate = certificate.restated(S, earlier, w)
            certificates.append(certificate)
        return certificates

    def _together(
        self,
        task: Task,
        loadings: Array,
        constraints: Sequence[Constraint],
        plan: Plan,
        alone: Certificate | None = None,
    ) -> JointCertificate | None:
        return prove_jointly(
            task.data.S,
            loadings,
            constraints,
            plan,
            "standard",
            time_limit=self.time_limit,
            alone=alone,
        )
