"""ElasticNetPCA: sparse components as penalised regressions."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from loadstone._sklearn_compat import Interval, StrOptions
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ROUTES, Array, Covariance, Moments, deflate
from loadstone.estimators.base import BaseComponents
from loadstone.estimators.checks import check_sizes
from loadstone.extraction import Extraction
from loadstone.loadings import Loadings
from loadstone.metrics import adjusted_variance, total_variance
from loadstone.solvers.elastic_net import NEGLIGIBLE, ElasticNet
from loadstone.solvers.renormalise import renormalise

#: Ridge for data with at least as many samples as features: only to make the answer unique.
SMALL_RIDGE = 1e-6


class ElasticNetPCA(BaseComponents):
    """Sparse PCA of Zou, Hastie and Tibshirani: the elastic net on principal components.

    All components are found jointly: an elastic net predicts each principal component
    from the features, then the components are rotated to fit, and so on. The size of a
    component follows from a penalty, or is asked for exactly and found on the path of the
    least-angle regression.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    n_nonzero : int, float, array-like or None, default=None
        Features per component: a number, a fraction in (0, 1], or one of these per
        component. ``None`` leaves the size to ``penalty``. Fewer are used where no others
        correlate with the component.
    penalty : float or array-like of float, default=0.0
        Weight of the l1 norm, in the units of the covariance; one number or one per
        component. Used where ``n_nonzero`` is ``None``.
    ridge : float or "auto", default="auto"
        Weight of the squared norm. ``inf`` replaces the regressions by soft thresholds,
        works on the data and is the authors' choice for many features. ``"auto"``: that
        for fewer samples than features, 1e-6 otherwise.
    renormalize : bool, default=False
        Re-optimise the loadings on the support found, in the order of the components.
        The penalty shrinks loadings; compare variances only after this.
    standardize : bool, default=False
        Scale each feature to unit variance.
    route : {"auto", "gram", "data"}, default="auto"
        Form the covariance matrix, or work on the data.
    max_iter : int, default=500
        Largest number of alternations.
    tol : float, default=1e-6
        Largest change of a loading at which the alternation has settled.
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
        Components found; fewer than asked for where a penalty leaves none of the loadings,
        no variance is left, or a component repeats those before it.
    n_samples_ : float
        Sum of the sample weights.
    n_iter_ : int
        Alternations used.
    stop_reason_ : list of str
        Why the search ended.
    objective_ : list of ndarray
        Sum of the marginal variances along the search.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` has them.

    See Also
    --------
    SparsePCA : Maximises the variance under an exact size.

    References
    ----------
    Zou, H., Hastie, T., & Tibshirani, R. (2006). Sparse principal component analysis.
    Journal of Computational and Graphical Statistics, 15(2), 265-286.
    https://doi.org/10.1198/106186006X113430

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import ElasticNetPCA
    >>> model = ElasticNetPCA(2, n_nonzero=[4, 3], standardize=True).fit(load_wine().data)
    >>> model.cardinality_
    array([4, 3])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_nonzero": [None, Real, "array-like"],
        "penalty": [Interval(Real, 0, None, closed="left"), "array-like"],
        "ridge": [StrOptions({"auto"}), Interval(Real, 0, None, closed="both")],
        "renormalize": ["boolean"],
        "standardize": ["boolean"],
        "route": [StrOptions(set(ROUTES))],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_nonzero: Any = None,
        penalty: Any = 0.0,
        ridge: Any = "auto",
        renormalize: bool = False,
        standardize: bool = False,
        route: str = "auto",
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.penalty = penalty
        self.ridge = ridge
        self.renormalize = renormalize
        self.standardize = standardize
        self.route = route
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _extract(
        self, S: Covariance, moments: Moments, rng: np.random.Generator, report: Any
    ) -> Extraction:
        n_components, exhausted = self.n_components, None
        if n_components > S.n_features:
            n_components = S.n_features
            exhausted = f"there are only {S.n_features} features"
        sizes = None
        if self.n_nonzero is not None:
            n_available = int(S.n_features - moments.constant.sum())
            sizes = check_sizes(self.n_nonzero, self.n_components, S.n_features)[:n_components]
            sizes = [min(size, n_available) for size in sizes]
        solver = ElasticNet(
            sizes,
            None if sizes is not None else self._penalties()[:n_components],
            self._ridge(S),
            np.flatnonzero(moments.constant),
            self.max_iter,
            self.tol,
        )
        found = solver.solve(S)
        report(0, found)
        alive = found.matrix.any(axis=0)
        if not alive.any():
            msg = (
                f"penalty={self.penalty!r} leaves no loading of any component; lower it, or ask for "
                "sizes with n_nonzero"
            )
            raise ValueError(msg)
        matrix = found.matrix[:, alive]
        if self.renormalize:
            matrix = _renormalised(S, matrix)
        new = _explains_more(S, matrix)
        matrix = matrix[:, new]
        killed = int((~alive & ~found.details["empty"]).sum())
        if killed:
            exhausted = f"the penalty leaves no loading of {killed} component(s)"
        elif not alive.all():
            exhausted = "no direction with any variance is left"
        elif not new.all():
            exhausted = f"{int((~new).sum())} explain(s) nothing beyond those before"
        return Extraction(
            matrix, (Loadings(matrix, found.objective, found.n_iter, found.stop),), exhausted
        )

    def _penalties(self) -> list[float]:
        penalties = np.atleast_1d(np.asarray(self.penalty, dtype=float))
        if penalties.size == 1:
            penalties = np.repeat(penalties, self.n_components)
        if penalties.shape != (self.n_components,) or not (penalties >= 0).all():
            msg = (
                f"penalty={self.penalty!r} must be one number >= 0, or one for each of the "
                f"{self.n_components} components"
            )
            raise ValueError(msg)
        return penalties.tolist()

    def _ridge(self, S: Covariance) -> float:
        if self.ridge != "auto":
            return float(self.ridge)
        return float("inf") if S.n_features > S.n_samples else SMALL_RIDGE


def _renormalised(S: Covariance, loadings: Array) -> Array:
    """The best loadings on each support, each component removed before the next."""
    result = np.empty_like(loadings)
    remaining = S
    for j, w in enumerate(loadings.T):
        constraint = LoadingConstraint(S.n_features, int(np.count_nonzero(w)))
        result[:, j] = renormalise(remaining, w, constraint)[0]
        remaining = deflate(remaining, result[:, j], "projection")
    return result


def _explains_more(S: Covariance, loadings: Array) -> Array:
    """Which components explain anything beyond those before them."""
    least = max(NEGLIGIBLE, 8 * float(np.finfo(S.dtype).eps)) * total_variance(S)
    return adjusted_variance(S, loadings) > least
