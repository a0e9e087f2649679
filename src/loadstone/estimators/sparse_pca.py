"""SparsePCA: the front door."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from loadstone._sklearn_compat import Options, StrOptions
from loadstone.certificates import EFFORTS as CERTIFICATE_EFFORTS
from loadstone.covariance import Covariance, Moments
from loadstone.estimators.certified import (
    certify_components,
    forget_certificates,
    store_certificates,
)
from loadstone.estimators.extendable import ExtendableComponents
from loadstone.estimators.sequential import RELATED_CONSTRAINTS
from loadstone.extraction import Extraction
from loadstone.solvers.portfolio import Portfolio

#: What each effort means; every number is a trade of time for the last per mille.
EFFORTS: dict[str, Portfolio] = {
    "fast": Portfolio(
        n_eigenvectors=6,
        n_columns=24,
        n_combinations=16,
        survivors=(24, 8, 4),
        n_polished=2,
        n_exchanged=1,
        n_exchanges=3,
    ),
    "balanced": Portfolio(),
    "thorough": Portfolio(
        n_eigenvectors=32,
        n_combinations=512,
        survivors=(384, 192, 96),
        n_polished=32,
        n_exchanged=12,
        n_exchanges=100,
        n_screened=16384,
        greedy=True,
        max_iter=300,
    ),
}


class SparsePCA(ExtendableComponents):
    """Principal components of an exact size: sparse, non-negative, or both.

    Each component maximises the variance ``w'Sw`` over unit vectors with at most
    ``n_nonzero`` non-zero loadings, and with no negative ones where asked. Hundreds of
    starts are searched as one block, the best are polished until no exchange of two
    features improves them.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    n_nonzero : int, float, array-like or None, default=None
        Features per component: a number, a fraction in (0, 1], or one of these per
        component. ``None`` uses all features.
    nonnegative : bool, default=False
        Allow only loadings >= 0: a component then adds features up.
    effort : {"fast", "balanced", "thorough"}, default="balanced"
        How many starts are searched and how long they are polished.
    orthogonality : {"none", "disjoint", "quasi", "strict", "uncorrelated"}, default="none"
        How components relate. ``"none"``: by deflation alone. ``"disjoint"``: no feature
        serves two of them. ``"quasi"``: any two are at least ``min_angle`` degrees apart.
        ``"strict"``: loadings are orthogonal, which for non-negative ones means disjoint.
        ``"uncorrelated"``: scores are uncorrelated; component j then needs ``n_nonzero``
        of at least j. Where no further component can keep this, fewer are returned,
        with a warning.
    min_angle : float, default=85.0
        Smallest angle between two components in degrees, for ``"quasi"``.
    refine : bool, default=False
        Improve the components together once all are found: every constraint is kept and
        the adjusted variance is never lower.
    deflation : str, default="projection"
        How a component is removed before the next one is sought: ``"projection"``,
        ``"hotelling"``, ``"schur"``, ``"orthogonalized_projection"`` or
        ``"orthogonalized_hotelling"``.
    standardize : bool, default=False
        Scale each feature to unit variance, without copying the data.
    route : {"auto", "gram", "data"}, default="auto"
        Form the covariance matrix, or work on the data. Both give the same answer.
    forced : array-like of int or str, optional
        Features that hold a place in every component.
    forbidden : array-like of int or str, optional
        Features that are never used.
    max_iter : int, default=100
        Largest number of power steps after the starts have been sifted.
    tol : float, default=1e-6
        Change of direction at which a search has settled.
    certify : {False, "instant", "standard", "full"}, default=False
        Prove how close each component is to the best possible one: by bounds read off
        the matrix, by the dual bound (seconds for hundreds of features), or by branch
        and bound as well (up to a proven optimum, without a time limit).
    random_state : int, RandomState instance or None, default=0
        Seed of the random starts.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Unit-norm loadings, one row per component. The largest absolute loading of a
        row is positive.
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
        Components found; fewer than asked for where nothing is left to explain.
    n_samples_ : float
        Sum of the sample weights.
    n_iter_ : int
        Largest number of iterations of a component.
    stop_reason_ : list of str
        Why each search ended.
    objective_ : list of ndarray
        Variance along the search of each component.
    certificates_ : list of Certificate
        One per component, with ``certify`` only. Each says what it is relative to: the
        data, what earlier components left, or the features they did not use.
    upper_bound_ : ndarray of shape (n_components_,)
        Proven limits of the variance of each component, with ``certify`` only.
    gap_ : ndarray of shape (n_components_,)
        Variance each component might still be missing, with ``certify`` only.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` has them.

    See Also
    --------
    ExactSparsePCA : Searches until the optimum is proven.
    EMPCA : The algorithm of Sigg and Buhmann alone.
    ThresholdedPCA : The classic baseline.

    Notes
    -----
    With ``n_nonzero=None`` and ``nonnegative=False`` this is PCA.

    References
    ----------
    Sigg, C. D., & Buhmann, J. M. (2008). Expectation-maximization for sparse and
    non-negative PCA. Proceedings of the 25th International Conference on Machine
    Learning, 960-967. https://doi.org/10.1145/1390156.1390277

    Yuan, X.-T., & Zhang, T. (2013). Truncated power method for sparse eigenvalue
    problems. Journal of Machine Learning Research, 14, 899-925.

    Mackey, L. (2009). Deflation methods for sparse PCA. Advances in Neural Information
    Processing Systems 21, 1017-1024.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import SparsePCA
    >>> X = load_wine().data
    >>> model = SparsePCA(n_components=2, n_nonzero=4, standardize=True).fit(X)
    >>> model.cardinality_
    array([4, 4])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RELATED_CONSTRAINTS,
        "effort": [StrOptions(set(EFFORTS))],
        "certify": [Options(bool, {False}), StrOptions(set(CERTIFICATE_EFFORTS))],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_nonzero: Any = None,
        nonnegative: bool = False,
        effort: str = "balanced",
        orthogonality: str = "none",
        min_angle: float = 85.0,
        refine: bool = False,
        deflation: str = "projection",
        standardize: bool = False,
        route: str = "auto",
        forced: Any = None,
        forbidden: Any = None,
        max_iter: int = 100,
        tol: float = 1e-6,
        certify: Any = False,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.nonnegative = nonnegative
        self.effort = effort
        self.orthogonality = orthogonality
        self.min_angle = min_angle
        self.refine = refine
        self.deflation = deflation
        self.standardize = standardize
        self.route = route
        self.forced = forced
        self.forbidden = forbidden
        self.max_iter = max_iter
        self.tol = tol
        self.certify = certify
        self.random_state = random_state

    def _solver(self, S: Covariance) -> Portfolio:
        return replace(EFFORTS[self.effort], max_iter=self.max_iter, tol=self.tol)

    def _extract(
        self, S: Covariance, moments: Moments, rng: np.random.Generator, report: Any
    ) -> Extraction:
        extraction = super()._extract(S, moments, rng, report)
        self._prove(S, extraction, self._constraints(S, moments))
        return extraction

    def _prove(self, S: Covariance, extraction: Extraction, constraints: list[Any]) -> None:
        if not self.certify:
            forget_certificates(self)
            return
        plan = self._plan(S)
        proven = certify_components(S, extraction, constraints, plan, effort=self.certify)
        store_certificates(self, proven)
