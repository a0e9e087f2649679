"""ExactSparsePCA: the best component and the proof that it is the best."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from loadstone._sklearn_compat import Interval
from loadstone.certificates import Certificate, prove
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, Moments
from loadstone.estimators.certified import competitions, store_certificates
from loadstone.estimators.sequential import SEQUENTIAL_CONSTRAINTS, SequentialComponents
from loadstone.extraction import Extraction
from loadstone.solvers.exact import ExactSearch
from loadstone.solvers.portfolio import Portfolio


class ExactSparsePCA(SequentialComponents):
    """Sparse or non-negative components with a proof of optimality, or a proven gap.

    A thorough search finds each component; a convex dual bound, screening and
    branch and bound prove that nothing better exists, or find it. When the time
    limit ends the proof, the best component is returned with its proven gap.

    Parameters
    ----------
    n_components : int, default=1
        Number of components. Later ones are optimal in what earlier ones left.
    n_nonzero : int, float, array-like or None, default=None
        Features per component: a number, a fraction in (0, 1], or one of these per
        component. ``None`` uses all features.
    nonnegative : bool, default=False
        Allow only loadings >= 0.
    time_limit : float or None, default=60
        Seconds for the proof of each component. Reaching it is not an error.
    gap_tol : float, default=1e-6
        Relative gap at which a component counts as optimal.
    orthogonality : {"none", "disjoint"}, default="none"
        ``"disjoint"``: no feature serves two components.
    deflation : str, default="projection"
        How a component is removed before the next one is sought, as in SparsePCA.
    standardize : bool, default=False
        Scale each feature to unit variance, without copying the data.
    route : {"auto", "gram", "data"}, default="auto"
        Form the covariance matrix, or work on the data.
    forced : array-like of int or str, optional
        Features that hold a place in every component.
    forbidden : array-like of int or str, optional
        Features that are never used.
    max_iter : int, default=300
        Largest number of power steps of the search before the proof.
    tol : float, default=1e-6
        Change of direction at which that search has settled.
    random_state : int, RandomState instance or None, default=0
        Seed of the random starts.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Unit-norm loadings, one row per component.
    certificates_ : list of Certificate
        The proof of each component, to inspect, verify and save.
    upper_bound_ : ndarray of shape (n_components_,)
        Proven limits of the variance of each component.
    gap_ : ndarray of shape (n_components_,)
        Variance each component might still be missing.
    explained_variance_ : ndarray of shape (n_components_,)
        Adjusted variance: what each component explains beyond those before it.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        The same as a share of the total variance.
    marginal_variance_ : ndarray of shape (n_components_,)
        Variance of the scores of each component alone.
    orthogonality_violation_ : ndarray of shape (n_components_, n_components_)
        ``|w_i'w_j|`` for every pair of components, zero on the diagonal.
    score_correlation_ : ndarray of shape (n_components_, n_components_)
        Correlation of the scores.
    total_variance_ : float
        Trace of the covariance.
    mean_ : ndarray of shape (n_features,)
        Mean of the data.
    scale_ : ndarray of shape (n_features,) or None
        Standard deviations the data is divided by.
    support_ : ndarray of bool of shape (n_components_, n_features)
        Which features each component uses.
    cardinality_ : ndarray of int of shape (n_components_,)
        How many features each component uses.
    n_components_ : int
        Components found.
    n_samples_ : float
        Sum of the sample weights.
    n_iter_ : int
        Largest number of cases a proof distinguishes.
    stop_reason_ : list of str
        Why each search ended.
    objective_ : list of ndarray
        Variance along the search of each component.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` has them.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SEQUENTIAL_CONSTRAINTS,
        "time_limit": [None, Interval(Real, 0, None, closed="neither")],
        "gap_tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_nonzero: Any = None,
        nonnegative: bool = False,
        time_limit: float | None = 60.0,
        gap_tol: float = 1e-6,
        orthogonality: str = "none",
        deflation: str = "projection",
        standardize: bool = False,
        route: str = "auto",
        forced: Any = None,
        forbidden: Any = None,
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.nonnegative = nonnegative
        self.time_limit = time_limit
        self.gap_tol = gap_tol
        self.orthogonality = orthogonality
        self.deflation = deflation
        self.standardize = standardize
        self.route = route
        self.forced = forced
        self.forbidden = forbidden
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _solver(self, S: Covariance) -> ExactSearch:
        search = Portfolio(greedy=True, max_iter=self.max_iter, tol=self.tol)
        return ExactSearch(search, self.time_limit, self.gap_tol)

    def _n_tasks(self) -> None:
        # Proofs report their progress as tasks too, and nobody knows how many.
        return None

    def _plan(self, S: Covariance) -> Any:
        plan = super()._plan(S)
        progress = getattr(self, "_progress", None)
        return (
            plan
            if progress is None
            else replace(plan, solver=replace(plan.solver, progress=progress))
        )

    def _extract(
        self, S: Covariance, moments: Moments, rng: np.random.Generator, report: Any
    ) -> Extraction:
        self._progress = _ProofReporter(self, report.context)
        try:
            extraction = super()._extract(S, moments, rng, report)
            compete = competitions(
                S, extraction.matrix, self._constraints(S, moments), self._plan(S)
            )
            certificates = []
            for w, search, (rest, constraint, sentence) in zip(
                extraction.matrix.T, extraction.searches, compete, strict=True
            ):
                certificates.append(
                    replace(
                        self._certificate(search.details.get("certificate"), rest, constraint, w),
                        relative_to=sentence,
                    )
                )
        finally:
            del self._progress
        store_certificates(self, certificates)
        return extraction

    def _certificate(
        self, found: Certificate | None, S: Covariance, constraint: LoadingConstraint, w: Array
    ) -> Certificate:
        """The certificate of the search, unless it speaks about another component."""
        if found is not None and np.array_equal(found.loading != 0, w != 0):
            return found
        return prove(
            S, constraint, w, effort="full", time_limit=self.time_limit, gap_tol=self.gap_tol
        )


class _ProofReporter:
    """Tells scikit-learn's callbacks how a proof is going."""

    def __init__(self, estimator: Any, context: Any) -> None:
        self.estimator, self.context = estimator, context

    def __call__(self, status: dict[str, float]) -> bool:
        task = self.context.subcontext(task_name="proof")
        task.call_on_fit_task_begin(estimator=self.estimator)
        return task.call_on_fit_task_end(estimator=self.estimator, metadata=dict(status))
