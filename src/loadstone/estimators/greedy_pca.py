"""GreedyPCA: one feature at a time, the whole path at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from loadstone._sklearn_compat import StrOptions
from loadstone.covariance import Covariance, Moments
from loadstone.estimators.extendable import ExtendableComponents
from loadstone.estimators.sequential import SEQUENTIAL_CONSTRAINTS
from loadstone.extraction import Extraction
from loadstone.solvers.greedy import DIRECTIONS, RULES, Greedy


class GreedyPCA(ExtendableComponents):
    """Grow (or shrink) the support of each component one feature at a time.

    The forward search starts at the feature of largest variance and adds, at each step,
    the one that raises the largest eigenvalue most. One run passes through every size
    up to ``n_nonzero``. A feature once taken is never given back, which costs little on
    some data and half of the variance on other; :class:`SparsePCA` looks further.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    n_nonzero : int, float, array-like or None, default=None
        Features per component: a number, a fraction in (0, 1], or one of these per
        component. ``None`` uses all features.
    nonnegative : bool, default=False
        Allow only loadings >= 0. Candidates are then ranked by what they add together
        with the loadings so far.
    direction : {"forward", "backward", "forward-backward"}, default="forward"
        Grow, shrink from all features by dropping the smallest loading, or grow with
        exchanges of two features after each step.
    rule : {"exact", "approximate"}, default="exact"
        How a growing support chooses: the largest eigenvalue after the step, or the
        largest ``|S w|_i`` before it, which is the rule of PathSPCA. The exact rule solves
        only candidates that bounds cannot exclude.
    orthogonality : {"none", "disjoint"}, default="none"
        ``"disjoint"``: no feature serves two components.
    deflation : str, default="projection"
        How a component is removed before the next one is sought.
    standardize : bool, default=False
        Scale each feature to unit variance.
    route : {"auto", "gram", "data"}, default="auto"
        Form the covariance matrix, or work on the data.
    forced : array-like of int or str, optional
        Features that hold a place in every component.
    forbidden : array-like of int or str, optional
        Features that are never used.
    random_state : int, RandomState instance or None, default=0
        Accepted for symmetry with the other estimators; nothing here is random.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Unit-norm loadings.
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
        Steps of the longest search.
    stop_reason_ : list of str
        Why each search ended.
    objective_ : list of ndarray
        Variance of each component at every size on the way.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` has them.
    path_order_ : ndarray of int
        Features of the first component in the order in which they were taken; for
        ``"backward"`` its support.
    path_variance_ : ndarray of float
        Variance of the first component at each size on the way, smallest size first.
        For the whole path ask for ``n_nonzero=n_features``; ``None`` is plain PCA.

    See Also
    --------
    cardinality_path : The best component of every size, not only a nested one.

    Notes
    -----
    A step costs O(n_features^2): one eigenpair on the support, one row of the
    covariance, and a few candidates. On data with fewer samples than features the
    covariance is never formed.

    References
    ----------
    d'Aspremont, A., Bach, F., & El Ghaoui, L. (2008). Optimal solutions for sparse
    principal component analysis. Journal of Machine Learning Research, 9, 1269-1294.
    https://jmlr.org/papers/v9/aspremont08a.html

    Moghaddam, B., Weiss, Y., & Avidan, S. (2006). Spectral bounds for sparse PCA: exact
    and greedy algorithms. Advances in Neural Information Processing Systems 18.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import GreedyPCA
    >>> model = GreedyPCA(n_nonzero=3, standardize=True).fit(load_wine().data)
    >>> model.path_variance_.round(3)
    array([1.   , 1.644, 2.016])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: rule
        for name, rule in SEQUENTIAL_CONSTRAINTS.items()
        if name not in {"max_iter", "tol"}
    } | {"direction": [StrOptions(set(DIRECTIONS))], "rule": [StrOptions(set(RULES))]}

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_nonzero: Any = None,
        nonnegative: bool = False,
        direction: str = "forward",
        rule: str = "exact",
        orthogonality: str = "none",
        deflation: str = "projection",
        standardize: bool = False,
        route: str = "auto",
        forced: Any = None,
        forbidden: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.nonnegative = nonnegative
        self.direction = direction
        self.rule = rule
        self.orthogonality = orthogonality
        self.deflation = deflation
        self.standardize = standardize
        self.route = route
        self.forced = forced
        self.forbidden = forbidden
        self.random_state = random_state

    def _solver(self, S: Covariance) -> Greedy:
        return Greedy(self.direction, self.rule)

    def _extract(
        self, S: Covariance, moments: Moments, rng: np.random.Generator, report: Any
    ) -> Extraction:
        extraction = super()._extract(S, moments, rng, report)
        constraint = self._constraints(S, moments)[0]
        if self.n_nonzero is None or not constraint.is_free:
            return extraction
        # All features were asked for by number: the answer is PCA, but the path is wanted.
        grown = self._solver(S)(S, constraint, rng)
        return replace(extraction, searches=(grown, *extraction.searches[1:]))

    def _store(self, S: Covariance, moments: Moments, extraction: Extraction) -> None:
        super()._store(S, moments, extraction)
        if len(extraction.searches) < self.n_components_:
            # More components were added: the path is still that of the first one.
            return
        first = extraction.searches[0]
        # Without a number of features the answer is PCA and nothing was grown.
        self.path_order_ = first.details.get("order", np.flatnonzero(self.components_[0]))
        self.path_variance_ = first.objective
