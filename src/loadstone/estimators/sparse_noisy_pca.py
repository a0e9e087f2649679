"""SparseNoisyPCA: the l0-penalised likelihood of Ulfarsson and Solo, sized by a criterion."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from loadstone._sklearn_compat import Interval, StrOptions
from loadstone.covariance import ROUTES, Array, Covariance, Moments
from loadstone.estimators.base import BaseComponents
from loadstone.estimators.noise_likelihood import NoiseLikelihoodMixin, model_variance
from loadstone.extraction import Extraction
from loadstone.loadings import Loadings
from loadstone.solvers.criterion_surface import CRITERIA, CriterionSurface, SurfaceSearch
from loadstone.solvers.l0_noise_model import PENALIZE, L0NoiseModel, NoiseModel, SecondMoment
from loadstone.solvers.l0_noise_start import INITS, NoisyPCA

#: Most components ``n_components="auto"`` tries.
MAX_AUTO = 20


class SparseNoisyPCA(NoiseLikelihoodMixin, BaseComponents):
    """Sparse components of a likelihood, their number and size chosen by a criterion.

    Data is modelled as ``y = G u + e`` with few non-zero entries in ``G`` and noise of one
    variance in all features. The likelihood, penalised by the number of non-zero entries,
    is maximised along a path of penalties for each number of components, and an
    information criterion picks the model: no cardinality has to be guessed. Loadings need
    not be orthogonal, so overlapping components are told apart where PCA mixes them.

    Parameters
    ----------
    n_components : "auto", int or array-like of int, default="auto"
        Number of components. One number is an order, and only the sparsity is chosen;
        several, as in ``range(1, 6)``, are candidates compared by the criterion, noise
        alone among them. ``"auto"`` goes up from 1 until two more in a row do not pay.
        All must stay below the rank of the data, else no noise is left to model.
    penalize : {"entries", "features"}, default="entries"
        Zero single loadings, or features out of all components at once.
    penalty : {"ebic", "bic"} or float, default="ebic"
        Criterion that chooses the penalty along a path, or a fixed penalty ``h`` per
        non-zero entry. ``h`` has no units; BIC stands for ``h = ln(n_samples) / n_samples``.
    ebic_gamma : float, default=1.0
        Weight of the price ``"ebic"`` puts on choosing among many places; 0 is BIC.
    n_penalties : int, default=50
        Penalties per number of components.
    penalty_range : "auto" or (low, high), default="auto"
        Smallest and largest penalty of the path.
    init : {"varimax", "pca", "random"}, default="varimax"
        Rotation of closed-form noisy PCA to start from.
    n_init : int, default=1
        Starts per number of components; those after the first are random rotations.
    max_iter : int, default=1000
        Largest number of products with the covariance for one model.
    tol : float, default=1e-7
        Stop when an iteration gains less than this share of what the model has gained
        over noise alone.
    standardize : bool, default=False
        Scale each feature to unit variance.
    route : {"auto", "gram", "data"}, default="auto"
        Form the covariance matrix, or work on the data.
    random_state : int, RandomState instance or None, default=0
        Seed of the random rotations.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Unit-norm loadings, ordered by ``model_variance_``.
    loading_norms_ : ndarray of shape (n_components_,)
        Lengths of the columns of ``G = components_.T * loading_norms_``.
    noise_variance_ : float
        Variance of the noise in every feature (of the standardised data, if asked for).
    explained_variance_ : ndarray of shape (n_components_,)
        Adjusted variance: what each component explains beyond those before it.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        The same as a share of the total variance.
    model_variance_ : ndarray of shape (n_components_,)
        The paper's explained variance: diagonal of ``Q'SQ`` with
        ``Q = G (G'G + noise_variance_ I)^(-1/2)`` and divisor ``n_samples``.
    marginal_variance_ : ndarray of shape (n_components_,)
        Variance of the projection on each component alone.
    total_variance_ : float
        Trace of the covariance.
    penalty_ : float
        Penalty of the chosen model.
    criterion_ : dict of ndarray
        One entry per model in each column: components asked for, penalty, components and
        non-zero loadings found, noise variance, deviance, BIC, EBIC, and the criterion
        used. ``pandas.DataFrame(model.criterion_)`` shows it as a table.
    best_ : dict
        The same columns for the chosen model; ties go to the smaller one.
    best_index_ : int
        Where the chosen model stands in ``criterion_`` and ``path_``.
    path_ : tuple of NoiseModel
        All models, in the order of ``criterion_``; ``path_[i].loadings`` is ``G``.
    deviance_ : float
        Minus twice the log-likelihood per sample, without ``n_features ln 2 pi``.
    mean_ : ndarray of shape (n_features,)
        Mean of the data.
    scale_ : ndarray of shape (n_features,) or None
        Standard deviations the data is divided by.
    support_ : ndarray of bool of shape (n_components_, n_features)
        Which features each component uses.
    cardinality_ : ndarray of int of shape (n_components_,)
        How many features each component uses.
    n_components_ : int
        Components found; 0 where noise alone describes the data best.
    n_samples_ : float
        Sum of the sample weights.
    n_iter_ : int
        Products with the covariance for the chosen model.
    stop_reason_ : list of str
        Why the search of the chosen model ended.
    objective_ : list of ndarray
        The penalised likelihood ``J`` along the search of the chosen model.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` has them.

    See Also
    --------
    SparsePCA : An exact number of non-zero loadings, without a noise model.

    Notes
    -----
    ``transform`` gives the posterior mean of ``u``, not a projection. The default
    criterion is not the paper's: on its first simulation BIC finds superfluous loadings in
    about every third data set, EBIC with ``ebic_gamma=1`` in about one of thirty.

    References
    ----------
    Ulfarsson, M. O., & Solo, V. Sparse loading noisy PCA using an l0 penalty.

    Ulfarsson, M. O., & Solo, V. (2011). Vector l0 sparse variable PCA. IEEE Transactions
    on Signal Processing, 59(5), 1949-1958. https://doi.org/10.1109/TSP.2011.2112653

    Chen, J., & Chen, Z. (2008). Extended Bayesian information criteria for model selection
    with large model spaces. Biometrika, 95(3), 759-771. https://doi.org/10.1093/biomet/asn034

    Examples
    --------
    >>> from loadstone.datasets.make_noisy_factors import make_disjoint_factors
    >>> from loadstone.estimators.sparse_noisy_pca import SparseNoisyPCA
    >>> X, loadings = make_disjoint_factors(random_state=0)
    >>> model = SparseNoisyPCA().fit(X)
    >>> model.n_components_, model.cardinality_
    (2, array([4, 4]))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
            range,
            "array-like",
        ],
        "penalize": [StrOptions(set(PENALIZE))],
        "penalty": [StrOptions(set(CRITERIA)), Interval(Real, 0, None, closed="left")],
        "ebic_gamma": [Interval(Real, 0, None, closed="left")],
        "n_penalties": [Interval(Integral, 2, None, closed="left")],
        "penalty_range": [StrOptions({"auto"}), "array-like"],
        "init": [StrOptions(set(INITS))],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "standardize": ["boolean"],
        "route": [StrOptions(set(ROUTES))],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        penalize: str = "entries",
        penalty: str | float = "ebic",
        ebic_gamma: float = 1.0,
        n_penalties: int = 50,
        penalty_range: Any = "auto",
        init: str = "varimax",
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-7,
        standardize: bool = False,
        route: str = "auto",
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.penalize = penalize
        self.penalty = penalty
        self.ebic_gamma = ebic_gamma
        self.n_penalties = n_penalties
        self.penalty_range = penalty_range
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.route = route
        self.random_state = random_state

    def _extract(
        self, S: Covariance, moments: Moments, rng: np.random.Generator, report: Any
    ) -> Extraction:
        if isinstance(self.penalty, str) and not np.isfinite(S.n_samples):
            msg = (
                f"penalty={self.penalty!r} needs to know how many samples are behind the "
                "covariance; give n_samples to fit_covariance, or a number as penalty"
            )
            raise ValueError(msg)
        moment = SecondMoment.of(S)
        spectrum, candidates = self._candidates(moment)
        search = SurfaceSearch(
            solver=L0NoiseModel(self.penalize, self.max_iter, self.tol),
            criterion=self.penalty,
            gamma=self.ebic_gamma,
            n_penalties=self.n_penalties,
            limits=self._limits(),
            init=self.init,
            n_init=self.n_init,
        )
        order = int(self.n_components) if isinstance(self.n_components, Integral) else None
        surface = search(
            moment,
            spectrum,
            candidates,
            rng,
            exactly=order,
            give_up=isinstance(self.n_components, str),
            progress=_Progress(report.estimator, report.context),
        )
        return self._extraction(S, moment, surface)

    def _candidates(self, moment: SecondMoment) -> tuple[NoisyPCA, list[int]]:
        """Numbers of components to try, with the eigenpairs to start all of them from."""
        if isinstance(self.n_components, str):
            limit = NoisyPCA.limit(moment)
            spectrum = NoisyPCA.of(moment, max(1, min(MAX_AUTO, limit)))
            wanted = range(1, spectrum.eigenvalues.size + 1)
            candidates = [r for r in wanted if spectrum.objection(r) is None]
            if not candidates:
                msg = (
                    f"n_features={moment.n_features} and n_samples={moment.S.n_samples:g} leave no "
                    "room for a component beside the noise: the data has rank 1 or less. Give more "
                    "features or samples"
                )
                raise ValueError(msg)
            return spectrum, candidates
        asked = np.unique(np.atleast_1d(np.asarray(self.n_components)))
        if asked.size == 0 or asked.dtype.kind not in "iu" or asked[0] < 1:
            msg = (
                f"n_components={self.n_components!r} must be 'auto', a number of components of at "
                "least 1, or several such numbers"
            )
            raise ValueError(msg)
        spectrum = NoisyPCA.of(moment, int(asked[-1]))
        objection = spectrum.objection(int(asked[-1]))
        if objection is not None:
            raise ValueError(objection)
        return spectrum, [int(r) for r in asked]

    def _limits(self) -> tuple[float, float] | None:
        if isinstance(self.penalty_range, str):
            return None
        limits = tuple(float(h) for h in self.penalty_range)
        if len(limits) != 2 or not 0 < limits[0] < limits[1] < np.inf:
            msg = (
                f"penalty_range={self.penalty_range!r} must be two numbers, 0 < low < high; "
                "use 'auto' to leave the choice to the data"
            )
            raise ValueError(msg)
        return limits

    def _extraction(
        self, S: Covariance, moment: SecondMoment, surface: CriterionSurface
    ) -> Extraction:
        model = surface.models[surface.best]
        variance = model_variance(moment, model)
        order = np.argsort(-variance, kind="stable")
        G = model.loadings
        norms = np.linalg.norm(G, axis=0)
        loadings = (G / norms)[:, order].astype(S.dtype)
        details = {"surface": surface, "norms": norms[order], "variance": variance[order]}
        search = Loadings(loadings, model.objective, model.n_iter, model.stop, details)
        return Extraction(loadings, (search,), self._shortfall(model))

    def _shortfall(self, model: NoiseModel) -> str | None:
        """Why there are no components, or fewer than the one number that was asked for."""
        asked = self.n_components if isinstance(self.n_components, Integral) else 1
        if model.n_components >= asked:
            return None
        if isinstance(self.penalty, str):
            return (
                f"the criterion {self.penalty!r} is lower for noise alone; "
                "give a number of components to get them all the same"
            )
        return f"penalty={self.penalty:g} leaves nothing of the others; lower it to keep more"

    def _store(self, S: Covariance, moments: Moments, extraction: Extraction) -> None:
        super()._store(S, moments, extraction)
        details = extraction.searches[0].details
        surface: CriterionSurface = details["surface"]
        chosen = surface.models[surface.best]
        self.loading_norms_ = details["norms"]
        self.model_variance_ = details["variance"]
        self.noise_variance_ = chosen.noise_variance
        self.penalty_ = chosen.penalty
        self.deviance_ = chosen.deviance
        names = surface.table.dtype.names or ()
        self.criterion_ = {name: surface.table[name].copy() for name in names}
        self.best_ = {name: surface.table[name][surface.best].item() for name in names}
        self.best_index_ = surface.best
        self.path_ = surface.models

    @property
    def _scaled_loadings(self) -> Array:
        """``G``, with the signs of ``components_``."""
        return self.components_.T.astype(np.float64) * self.loading_norms_

    @property
    def _posterior(self) -> Array:
        """Turns projections on ``components_`` into the posterior mean of ``u``."""
        G = self._scaled_loadings
        W = G.T @ G + self.noise_variance_ * np.eye(G.shape[1])
        return self.loading_norms_[:, None] * np.linalg.inv(W)

    def _scores(self, X: Any) -> Any:
        projected = super()._scores(X)
        return projected @ self._posterior.astype(projected.dtype)

    def inverse_transform(self, X: Any) -> Any:
        """Closest points in the span of the components to the data behind the scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores, as ``transform`` gives them.

        Returns
        -------
        X_original : ndarray or Dask array of shape (n_samples, n_features)
            The shrinkage of the posterior mean is undone first.
        """
        check_is_fitted(self)
        fits = getattr(X, "ndim", 2) == 2 and np.shape(X)[-1] == self.n_components_
        return super().inverse_transform(X @ np.linalg.inv(self._posterior) if fits else X)


class _Progress:
    """Tells scikit-learn's callbacks of each model on the surface."""

    def __init__(self, estimator: Any, context: Any) -> None:
        self.estimator, self.context = estimator, context

    def __call__(self, n_components: int, model: NoiseModel) -> bool:
        name = f"{n_components} component(s), penalty {model.penalty:.3g}"
        task = self.context.subcontext(task_name=name)
        task.call_on_fit_task_begin(estimator=self.estimator)
        stop = task.call_on_fit_task_end(
            estimator=self.estimator,
            metadata={
                "n_components": n_components,
                "penalty": model.penalty,
                "objective": model.objective,
                "n_iter": model.n_iter,
            },
        )
        return bool(stop)
