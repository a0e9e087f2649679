"""SpannogramPCA: exact on low rank, with guarantees everywhere else."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from loadstone._sklearn_compat import Interval, StrOptions
from loadstone.covariance import Covariance, Moments
from loadstone.estimators.sequential import SEQUENTIAL_CONSTRAINTS, SequentialComponents
from loadstone.extraction import Extraction
from loadstone.loadings import Loadings, Stop
from loadstone.solvers.spannogram import METHODS, Spannogram


class SpannogramPCA(SequentialComponents):
    """Non-negative sparse components with provable guarantees, through low rank.

    The problem is solved on the best approximation of rank ``rank``: exactly, within
    ``epsilon`` for certain, or within ``epsilon`` with high probability in time
    near-linear in the number of features. On data of that rank (or ``sigma I`` plus that
    rank) the answer is optimal; elsewhere it comes with a factor known in advance and an
    upper bound computed from the data.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    n_nonzero : int, float, array-like or None, default=None
        Features per component: a number, a fraction in (0, 1], or one of these per
        component. ``None`` uses all features.
    nonnegative : bool, default=True
        Allow only loadings >= 0. ``False`` gives the signed variant of Papailiopoulos et
        al. (2013).
    rank : int, default=3
        Rank of the approximation. A higher rank narrows the gap between bound and value
        and costs more; see Notes.
    method : {"auto", "exact", "net", "cones"}, default="auto"
        ``"exact"`` enumerates all candidate supports (rank up to 3). ``"cones"`` is a
        branch and bound over directions (rank up to 5), certain to within ``epsilon`` and
        usually much closer. ``"net"`` samples directions, within ``epsilon`` with
        probability ``1 - 1/n_features``. ``"auto"`` takes the cheaper of the two with a
        proof, or the net where either would take long; ``method_`` says which. Beyond rank
        5 there is only the net, which ``"auto"`` refuses where it would take long too.
    epsilon : float, default=0.1
        Relative accuracy of ``"net"`` and ``"cones"`` on the approximation.
    polish : bool, default=False
        Continue on the full covariance, alternating between the best loadings on a
        support and the best support for them; the variance never falls.
    orthogonality : {"none", "disjoint"}, default="none"
        ``"disjoint"``: features used by a component are removed before the next is
        sought, as in the paper.
    deflation : str, default="projection"
        How a component is removed before the next one is sought, with
        ``orthogonality="none"``.
    standardize : bool, default=False
        Scale each feature to unit variance.
    route : {"auto", "gram", "data"}, default="auto"
        Form the covariance matrix, or work on the data.
    forbidden : array-like of int or str, optional
        Features that are never used.
    random_state : int, RandomState instance or None, default=0
        Seed of the sampled directions.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Unit-norm loadings.
    guarantee_ : ndarray of shape (n_components_,)
        A-priori factor: each component has at least this share of the largest variance
        any allowed component has, in the covariance left at its turn.
    guarantee_is_deterministic_ : ndarray of bool of shape (n_components_,)
        ``False`` where it holds with probability ``1 - 1/n_features``.
    upper_bound_ : ndarray of shape (n_components_,)
        Largest variance any allowed component can have, in the covariance left at its
        turn; compare with the last entry of ``objective_``.
    upper_bound_is_deterministic_ : ndarray of bool of shape (n_components_,)
        ``False`` where it holds with probability ``1 - 1/n_features``.
    low_rank_gap_ : ndarray of shape (n_components_,)
        Largest variance the approximation of low rank can hide from a component.
    shift_ : ndarray of shape (n_components_,)
        The ``sigma`` of ``sigma I`` plus low rank where that was recognised, else 0.
    method_ : list of str
        The search that ran for each component.
    predicted_costs_ : list of dict
        Seconds every search was predicted to take, which decide ``method="auto"``.
    n_candidates_ : ndarray of int of shape (n_components_,)
        Candidate supports (exact) or directions (net, cones) looked at.
    n_nonzero_ : ndarray of int of shape (n_components_,)
        Places each component had; ``cardinality_`` is how many it used.
    low_rank_factors_ : list of ndarray of shape (n_features, rank)
        ``V`` with ``V V'`` the approximation at each component's turn; rows of features
        that may not be used are zero.
    directions_ : list of ndarray of shape (rank,)
        The direction of ``V`` each component came from.
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
        Largest number of candidates looked at for a component.
    stop_reason_ : list of str
        Why each search ended.
    objective_ : list of ndarray
        Variance of each component in the covariance left at its turn.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` has them.

    See Also
    --------
    SparsePCA : Searches the full covariance, without a-priori guarantees.
    EMPCA : The algorithm the paper compares with.

    Notes
    -----
    With eigenvalues ``l_1 >= l_2 >= ...``, ``n`` features and ``k`` of them in a component,
    ``guarantee_ = max(s, 1 / (1 + l_{rank+1} / (s l_1)))`` with ``s = k / (2 n)`` (``k / n``
    for signed loadings), times ``1 - epsilon`` where the search is not exact, and
    ``upper_bound_ = min(l_1, best / (1 - epsilon) + l_{rank+1}, sum of the k largest
    variances)``.

    The directions of low rank only propose: a component is the best of several of their
    supports under the full covariance, with its loadings re-optimised there. This can only
    add to the guarantee.

    References
    ----------
    Asteris, M., Papailiopoulos, D. S., & Dimakis, A. G. (2014). Nonnegative sparse PCA
    with provable guarantees. Proceedings of the 31st International Conference on Machine
    Learning, PMLR 32(2), 1728-1736. https://proceedings.mlr.press/v32/asteris14.html

    Papailiopoulos, D. S., Dimakis, A. G., & Korokythakis, S. (2013). Sparse PCA through
    low-rank approximations. Proceedings of the 30th International Conference on Machine
    Learning, PMLR 28(3), 747-755. https://proceedings.mlr.press/v28/papailiopoulos13.html

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import SpannogramPCA
    >>> model = SpannogramPCA(n_nonzero=3, standardize=True).fit(load_wine().data)
    >>> model.cardinality_, model.method_
    (array([3]), ['cones'])
    >>> bool(model.marginal_variance_[0] <= model.upper_bound_[0])
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: rule
        for name, rule in SEQUENTIAL_CONSTRAINTS.items()
        if name not in {"max_iter", "tol", "forced"}
    } | {
        "rank": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions(set(METHODS))],
        "epsilon": [Interval(Real, 0, 1, closed="neither")],
        "polish": ["boolean"],
    }

    # A support from low rank cannot be made to contain a feature, so nothing is forced.
    forced = None

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_nonzero: Any = None,
        nonnegative: bool = True,
        rank: int = 3,
        method: str = "auto",
        epsilon: float = 0.1,
        polish: bool = False,
        orthogonality: str = "none",
        deflation: str = "projection",
        standardize: bool = False,
        route: str = "auto",
        forbidden: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.nonnegative = nonnegative
        self.rank = rank
        self.method = method
        self.epsilon = epsilon
        self.polish = polish
        self.orthogonality = orthogonality
        self.deflation = deflation
        self.standardize = standardize
        self.route = route
        self.forbidden = forbidden
        self.random_state = random_state

    @property
    def _n_products(self) -> int:
        # Eigenvectors, then two blocks of candidates, for each component.
        return (20 * (self.rank + 1) + 130) * self.n_components

    def _solver(self, S: Covariance) -> Spannogram:
        return Spannogram(self.rank, self.method, self.epsilon, self.polish)

    def _warn(self, extraction: Extraction) -> None:
        super()._warn(extraction)
        if any(search.stop is Stop.WORK_LIMIT for search in extraction.searches):
            warnings.warn(Stop.WORK_LIMIT.value, ConvergenceWarning, stacklevel=5)

    def _store(self, S: Covariance, moments: Moments, extraction: Extraction) -> None:
        super()._store(S, moments, extraction)
        told = [search.details or _plain_component(search) for search in extraction.searches]
        for name in _NUMBERS:
            setattr(self, f"{name}_", np.array([details[name] for details in told]))
        self.method_ = [details["method"] for details in told]
        self.predicted_costs_ = [
            {name: cost.seconds for name, cost in details["predicted_costs"].items()}
            for details in told
        ]
        self.low_rank_factors_ = [details["V"] for details in told]
        self.directions_ = [details["direction"] for details in told]


_NUMBERS = (
    "guarantee",
    "guarantee_is_deterministic",
    "upper_bound",
    "upper_bound_is_deterministic",
    "low_rank_gap",
    "shift",
    "n_candidates",
    "n_nonzero",
)


def _plain_component(search: Loadings) -> dict[str, Any]:
    """Without any constraint the component is an eigenvector, and nothing is left to prove."""
    variance = float(search.objective[0])
    return {
        "guarantee": 1.0,
        "guarantee_is_deterministic": True,
        "upper_bound": variance,
        "upper_bound_is_deterministic": True,
        "low_rank_gap": 0.0,
        "shift": 0.0,
        "n_candidates": 1,
        "n_nonzero": search.matrix.shape[0],
        "method": "exact",
        "predicted_costs": {},
        "V": search.matrix * np.sqrt(max(variance, 0.0)),
        "direction": np.ones(1),
    }
