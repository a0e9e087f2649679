"""EMPCA: the algorithm of Sigg and Buhmann with its own knobs."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from loadstone._sklearn_compat import Interval, StrOptions
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance
from loadstone.estimators.extendable import ExtendableComponents
from loadstone.estimators.sequential import RELATED_CONSTRAINTS
from loadstone.solvers.em import EM


class EMPCA(ExtendableComponents):
    """Expectation-maximisation for sparse and non-negative PCA.

    One product with the covariance and one soft threshold per iteration, from the first
    principal component or from random directions. The fastest way to a good component;
    :class:`SparsePCA` searches on for better ones.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    n_nonzero : int, float, array-like or None, default=None
        Features per component: a number, a fraction in (0, 1], or one of these per
        component. ``None`` uses all features.
    nonnegative : bool, default=False
        Allow only loadings >= 0.
    init : {"pca", "random"} or None, default=None
        Where to start. ``None`` is the paper's choice: the first principal component for
        signed loadings, random directions of the non-negative orthant otherwise.
    n_init : int, default=10
        Number of random starts; they travel as one block of columns.
    renormalize : bool, default=True
        Re-optimise the loadings on the support found. Without it a tenth of the variance
        or more is lost to the soft threshold.
    warm_start : bool, default=False
        Keep the first principal component for the next fit, so that a sequence of fits
        over ``n_nonzero`` on the same data computes it once.
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
        How a component is removed before the next one is sought.
    standardize : bool, default=False
        Scale each feature to unit variance.
    route : {"auto", "gram", "data"}, default="auto"
        Form the covariance matrix, or work on the data.
    forced : array-like of int or str, optional
        Features that hold a place in every component.
    forbidden : array-like of int or str, optional
        Features that are never used.
    max_iter : int, default=200
        Largest number of iterations.
    tol : float, default=1e-6
        The paper's epsilon: stop when ``|w'w_old| > 1 - tol``.
    random_state : int, RandomState instance or None, default=0
        Seed of the random starts.

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
        Largest number of iterations of a component.
    stop_reason_ : list of str
        Why each search ended.
    objective_ : list of ndarray
        Variance along the search of each component, before renormalising.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` has them.

    See Also
    --------
    SparsePCA : Many starts and exchanges on top of this idea.

    Notes
    -----
    The published iteration is not monotone (Proposition 3.2 holds for a fixed l1 bound,
    Algorithm 2 chooses it anew each time). From the first principal component a search is
    returned where it settled, as published; among random restarts the best iterate of each
    competes with its last one. Ties between features cannot change the cardinality.

    References
    ----------
    Sigg, C. D., & Buhmann, J. M. (2008). Expectation-maximization for sparse and
    non-negative PCA. Proceedings of the 25th International Conference on Machine
    Learning, 960-967. https://doi.org/10.1145/1390156.1390277

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import EMPCA
    >>> model = EMPCA(n_components=1, n_nonzero=3, standardize=True).fit(load_wine().data)
    >>> model.cardinality_
    array([3])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RELATED_CONSTRAINTS,
        "init": [StrOptions({"pca", "random"}), None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "renormalize": ["boolean"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_nonzero: Any = None,
        nonnegative: bool = False,
        init: str | None = None,
        n_init: int = 10,
        renormalize: bool = True,
        warm_start: bool = False,
        orthogonality: str = "none",
        min_angle: float = 85.0,
        refine: bool = False,
        deflation: str = "projection",
        standardize: bool = False,
        route: str = "auto",
        forced: Any = None,
        forbidden: Any = None,
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.nonnegative = nonnegative
        self.init = init
        self.n_init = n_init
        self.renormalize = renormalize
        self.warm_start = warm_start
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
        self.random_state = random_state

    @property
    def _n_products(self) -> int:
        # About thirty iterations, and as many products again for the first component.
        columns = self.n_init if self._start() == "random" else 2
        return 30 * columns * self.n_components

    def _start(self) -> str:
        return self.init or ("random" if self.nonnegative else "pca")

    def _solver(self, S: Covariance) -> EM:
        return EM(self._start(), self.n_init, self.max_iter, self.tol)

    def _starts(self, S: Covariance) -> Array | None:
        if not self.warm_start or self._start() != "pca":
            return None
        start = getattr(self, "_first_component", None)
        if start is None or not _is_eigenvector(S, start[:, 0]):
            start = self._solver(S).starts(S, self._sign_only(S), np.random.default_rng(0))
            self._first_component = start
        return start.astype(S.dtype, copy=False)

    def _sign_only(self, S: Covariance) -> Any:
        return LoadingConstraint(S.n_features, S.n_features, self.nonnegative)


def _is_eigenvector(S: Covariance, v: Array) -> bool:
    """Whether ``v`` is still a principal component: the data may have changed since."""
    if v.shape[0] != S.n_features:
        return False
    v = v.astype(S.dtype, copy=False)
    Sv = S @ v
    value = float(v @ Sv)
    tol = 1e-6 if S.dtype == np.float64 else 1e-3
    return bool(np.linalg.norm(Sv - value * v) <= tol * value)
