"""ThresholdedPCA: the classic baseline."""

from __future__ import annotations

from typing import Any, ClassVar

from loadstone.covariance import Covariance
from loadstone.estimators.extendable import ExtendableComponents
from loadstone.estimators.sequential import SEQUENTIAL_CONSTRAINTS
from loadstone.solvers.thresholding import Thresholding


class ThresholdedPCA(ExtendableComponents):
    """Keep the largest loadings of each principal component, and drop the rest.

    What many people do by hand. It is the baseline every better method must beat at
    equal size: dropping small loadings keeps correlated features together and can miss
    the best set by a wide margin.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    n_nonzero : int, float, array-like or None, default=None
        Features per component: a number, a fraction in (0, 1], or one of these per
        component. ``None`` uses all features.
    nonnegative : bool, default=False
        Allow only loadings >= 0; the better of the two signs is taken.
    renormalize : bool, default=True
        Re-optimise the loadings on the support kept.
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
        Always 1.
    stop_reason_ : list of str
        Why each search ended.
    objective_ : list of ndarray
        Variance of each component before renormalising.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` has them.

    See Also
    --------
    SparsePCA : Searches the best set instead of cutting off the tail.

    References
    ----------
    Cadima, J., & Jolliffe, I. T. (1995). Loadings and correlations in the interpretation
    of principal components. Journal of Applied Statistics, 22(2), 203-214.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import ThresholdedPCA
    >>> model = ThresholdedPCA(n_nonzero=3, standardize=True).fit(load_wine().data)
    >>> model.cardinality_
    array([3])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: rule
        for name, rule in SEQUENTIAL_CONSTRAINTS.items()
        if name not in {"max_iter", "tol"}
    } | {"renormalize": ["boolean"]}

    _n_products = 30

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_nonzero: Any = None,
        nonnegative: bool = False,
        renormalize: bool = True,
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
        self.renormalize = renormalize
        self.orthogonality = orthogonality
        self.deflation = deflation
        self.standardize = standardize
        self.route = route
        self.forced = forced
        self.forbidden = forbidden
        self.random_state = random_state

    def _solver(self, S: Covariance) -> Thresholding:
        return Thresholding()
