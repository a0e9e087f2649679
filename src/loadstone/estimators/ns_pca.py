"""NSPCA: all non-negative components at once, after Zass and Shashua."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from loadstone._sklearn_compat import Interval, StrOptions
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import (
    ROUTES,
    Array,
    Covariance,
    Moments,
    covariance_of,
    leading_eigenpairs,
)
from loadstone.estimators.base import BaseComponents
from loadstone.estimators.checks import check_data, check_sizes
from loadstone.extraction import Extraction
from loadstone.extraction.orthogonality import orthogonality_violation
from loadstone.loadings import Loadings
from loadstone.metrics import marginal_variance, score_correlation
from loadstone.solvers.coordinate_ascent import CoordinateAscent, scaled_penalties
from loadstone.solvers.renormalise import renormalise


class NSPCA(BaseComponents):
    """Non-negative sparse PCA: parts that are found together and share few features.

    Maximises ``1/2 tr(U'SU) - (alpha/4) ||I - U'U||^2 - beta sum(U)`` over all
    ``n_components`` columns of ``U >= 0`` at once. A large ``overlap_penalty`` divides the
    features among the components, a large ``sparsity_penalty`` drops the less
    informative ones. One entry of ``U`` is maximised exactly at a time, so the
    objective rises until it settles.

    Parameters
    ----------
    n_components : int, default=2
        Number of components.
    overlap_penalty : float, default=1.0
        alpha in units of the largest eigenvalue of the covariance: what it costs to
        depart from orthogonal unit vectors. The result does not depend on the scale of
        the data.
    sparsity_penalty : float, default=0.0
        beta in units of ``beta_max / sqrt(n_features)``, where ``beta_max`` is the
        penalty at which the leading direction vanishes. Cardinalities cannot be steered
        finely by it; use ``n_nonzero`` for an exact size.
    n_nonzero : int, float, array-like or None, default=None
        Cut each component to its largest loadings afterwards and re-optimise them on
        their support: a number, a fraction in (0, 1], or one of these per component.
    init : {"pca", "random"} or array-like of shape (n_components, n_features), default="pca"
        Where to start: the leading eigenvectors cut at zero, random non-negative
        directions, or given components.
    n_init : int, default=1
        Number of starts; all but the first are random. The best objective wins.
    standardize : bool, default=False
        Scale each feature to unit variance.
    route : {"auto", "gram", "data"}, default="auto"
        Form the covariance matrix, or work on the data. With more features than samples
        the matrix is never formed unless asked for.
    max_iter : int, default=1000
        Largest number of sweeps over all entries, for each start.
    tol : float, default=1e-7
        Stop when a sweep raises the objective by less than this share of it.
    random_state : int, RandomState instance or None, default=0
        Seed of the random starts.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Unit-norm loadings, in the order of their variance.
    raw_components_ : ndarray of shape (n_components_, n_features)
        The columns of ``U`` as they were found, before scaling and cutting.
    overlap_ : float
        ``||I - U'U||`` of the raw components (Frobenius norm).
    explained_variance_ : ndarray of shape (n_components_,)
        Adjusted variance: what each component explains beyond those before it.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        The same as a share of the total variance.
    marginal_variance_ : ndarray of shape (n_components_,)
        Variance of the scores of each component alone.
    orthogonality_violation_ : ndarray of shape (n_components_, n_components_)
        ``|w_i'w_j|`` of the unit-norm components.
    score_correlation_ : ndarray of shape (n_components_, n_components_)
        Correlation of the scores.
    penalties_ : tuple of float
        alpha and beta in units of the covariance (divisor n - 1).
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
        Components found; fewer than asked for where a penalty left some empty.
    n_samples_ : float
        Sum of the sample weights.
    n_iter_ : int
        Sweeps of the best start.
    stop_reason_ : list of str
        Why the search ended.
    objective_ : list of ndarray
        The objective after each sweep, in units of the largest eigenvalue; one array,
        since the components are found together.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` has them.

    See Also
    --------
    SparsePCA : One component after another, each of an exact size.

    Notes
    -----
    The paper's alpha and beta refer to the sum ``XX'`` over the centred samples;
    :meth:`from_paper_units` converts them.

    References
    ----------
    Zass, R., & Shashua, A. (2006). Nonnegative sparse PCA. Advances in Neural
    Information Processing Systems 19, 1561-1568.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import NSPCA
    >>> model = NSPCA(n_components=3, overlap_penalty=5.0, standardize=True)
    >>> model.fit(load_wine().data).components_.min() >= 0
    np.True_
    """

    nonnegative = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "overlap_penalty": [Interval(Real, 0, None, closed="neither")],
        "sparsity_penalty": [Interval(Real, 0, None, closed="left")],
        "n_nonzero": [None, Real, "array-like"],
        "init": [StrOptions({"pca", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "standardize": ["boolean"],
        "route": [StrOptions(set(ROUTES))],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        overlap_penalty: float = 1.0,
        sparsity_penalty: float = 0.0,
        n_nonzero: Any = None,
        init: Any = "pca",
        n_init: int = 1,
        standardize: bool = False,
        route: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-7,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.overlap_penalty = overlap_penalty
        self.sparsity_penalty = sparsity_penalty
        self.n_nonzero = n_nonzero
        self.init = init
        self.n_init = n_init
        self.standardize = standardize
        self.route = route
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @classmethod
    def from_paper_units(
        cls, X: Any, alpha: float, beta: float = 0.0, n_components: int = 2, **parameters: Any
    ) -> NSPCA:
        """An estimator with the paper's alpha and beta, converted for the data ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data the estimator will be fitted on; the paper's penalties depend on
            its scale and on the number of its samples.
        alpha : float
            Weight of ``||I - U'U||^2 / 4`` beside ``||U'X||^2 / 2``.
        beta : float
            Weight of the sum of all entries of ``U``.
        n_components : int
            Number of components.
        **parameters
            Other parameters of the estimator.

        Returns
        -------
        NSPCA
            Not yet fitted.
        """
        if not alpha > 0 or beta < 0:
            msg = f"alpha={alpha} must be positive and beta={beta} at least 0, as in the paper"
            raise ValueError(msg)
        model = cls(n_components, **parameters)
        checked = check_data(cls(), X, reset=True)
        S, _ = covariance_of(checked, route=model.route, standardize=model.standardize)
        eigenvalue = float(leading_eigenpairs(S, 1)[0][0]) * (S.n_samples - 1.0)
        overlap, sparsity = scaled_penalties(alpha, beta, eigenvalue, S.n_features)
        return model.set_params(overlap_penalty=overlap, sparsity_penalty=sparsity)

    def _n_tasks(self) -> int:
        return 1

    def _extract(
        self, S: Covariance, moments: Moments, rng: np.random.Generator, report: Any
    ) -> Extraction:
        sizes = check_sizes(self.n_nonzero, self.n_components, S.n_features)
        varying = np.flatnonzero(~moments.constant)
        local = S if varying.size == S.n_features else S.restrict(varying)
        solver = CoordinateAscent(
            self.overlap_penalty, self.sparsity_penalty, self.n_init, self.max_iter, self.tol
        )
        found = solver(local, self.n_components, rng, self._starts(varying, S.n_features, rng))
        if found.matrix.shape[1] == 0:
            msg = f"sparsity_penalty={self.sparsity_penalty} leaves every component empty; lower it"
            raise ValueError(msg)
        report(0, found)
        order = np.argsort(-marginal_variance(local, found.matrix), kind="stable")
        raw = _spread(found.details["raw"][:, order], varying, S.n_features)
        matrix = _spread(found.matrix[:, order], varying, S.n_features)
        if self.n_nonzero is not None:
            matrix = _cut(S, matrix, sizes)
        whole = replace(found, matrix=matrix, details={**found.details, "raw": raw})
        return Extraction(matrix, (whole,), self._missing(found))

    def _starts(self, varying: Array, n_features: int, rng: np.random.Generator) -> list[Array]:
        """Starts that replace the solver's own; none for ``init="pca"``."""
        shape = (varying.size, self.n_components)
        drawn = [np.abs(rng.standard_normal(shape)) for _ in range(self.n_init)]
        if isinstance(self.init, str):
            return [U / np.linalg.norm(U, axis=0) for U in drawn] if self.init == "random" else []
        given = np.asarray(self.init, dtype=np.float64)
        if given.shape != (self.n_components, n_features):
            msg = (
                f"init has shape {given.shape}; expected one row per component, "
                f"({self.n_components}, {n_features})"
            )
            raise ValueError(msg)
        if not np.isfinite(given).all() or given.min() < 0:
            msg = "init holds negative or missing values; components of NSPCA are at least 0"
            raise ValueError(msg)
        return [given.T[varying], *(U / np.linalg.norm(U, axis=0) for U in drawn[1:])]

    def _missing(self, found: Loadings) -> str | None:
        if found.matrix.shape[1] == self.n_components:
            return None
        return (
            f"the others are empty at sparsity_penalty={self.sparsity_penalty} and "
            f"overlap_penalty={self.overlap_penalty}; lower the former or ask for fewer"
        )

    def _store(self, S: Covariance, moments: Moments, extraction: Extraction) -> None:
        super()._store(S, moments, extraction)
        details = extraction.searches[0].details
        raw, eigenvalue = details["raw"], details["eigenvalue"]
        self.raw_components_ = np.ascontiguousarray(raw.T)
        self.overlap_ = float(np.linalg.norm(np.eye(raw.shape[1]) - raw.T @ raw))
        self.penalties_ = (details["alpha"] * eigenvalue, details["beta"] * eigenvalue)
        self.orthogonality_violation_ = orthogonality_violation(extraction.matrix)
        self.score_correlation_ = score_correlation(S, extraction.matrix)


def _spread(U: Array, rows: Array, n_features: int) -> Array:
    """``U`` with zero rows for the features that were left out."""
    whole = np.zeros((n_features, U.shape[1]), dtype=U.dtype)
    whole[rows] = U
    return whole


def _cut(S: Covariance, loadings: Array, sizes: list[int]) -> Array:
    """The largest loadings of each component, re-optimised on their support."""
    cut = []
    for w, size in zip(loadings.T, sizes, strict=False):
        constraint = LoadingConstraint(S.n_features, size, nonnegative=True)
        cut.append(renormalise(S, constraint.best_loading(w), constraint)[0])
    return np.column_stack(cut)
