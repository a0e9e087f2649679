"""SparseNoisyPCA: the l0-penalised likelihood of Ulfarsson and Solo, sized by a criterion."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from loadstone._sklearn_compat import Interval, StrOptions
from loadstone.covariance import Array, Covariance
from loadstone.estimators.base import field
from loadstone.estimators.found import Found, Task
from loadstone.estimators.gaussian import GaussianComponents
from loadstone.estimators.parameters import COUNT, NOT_NEGATIVE
from loadstone.loadings import Loadings
from loadstone.registry import About
from loadstone.solvers.criterion_surface import (
    CRITERIA,
    CriterionSurface,
    SurfaceSearch,
    model_variance,
)
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.fitted_model import FittedModel
from loadstone.solvers.l0_noise_model import PENALIZE, L0NoiseModel, NoiseModel, SecondMoment
from loadstone.solvers.l0_noise_start import INITS, NoisyPCA
from loadstone.solvers.variational_bayes.missing import IncompleteObservations

#: Most components ``n_components="auto"`` tries.
MAX_AUTO = 20


class SparseNoisyPCA(GaussianComponents):
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
    random_state : int, RandomState instance or None, default=0
        Seed of the random rotations.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Unit-norm loadings, ordered by ``model_variance_``.
    model_variance_ : ndarray of shape (n_components_,)
        The paper's explained variance: diagonal of ``Q'SQ`` with
        ``Q = G (G'G + noise_variance_ I)^(-1/2)`` and divisor ``n_samples``.
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
    n_components_ : int
        Components found; 0 where noise alone describes the data best.
    n_iter_ : int
        Products with the covariance for the chosen model.
    stop_reason_ : list of str
        Why the search of the chosen model ended.
    objective_ : list of ndarray
        The penalised likelihood ``J`` along the search of the chosen model.

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
    >>> from loadstone import SparseNoisyPCA
    >>> X, loadings = make_disjoint_factors(random_state=0)
    >>> model = SparseNoisyPCA().fit(X)
    >>> model.n_components_, model.cardinality_
    (2, array([4, 4]))
    """

    about: ClassVar[About] = About(
        method="noisy",
        choose=("sparsity and number of components from an information criterion",),
        paper="Ulfarsson & Solo",
    )

    n_components: Any = field(default="auto", kw_only=False)
    penalize: str = "entries"
    penalty: str | float = "ebic"
    ebic_gamma: float = 1.0
    n_penalties: int = 50
    penalty_range: Any = "auto"
    init: str = "varimax"
    n_init: int = 1
    max_iter: int = 1000
    tol: float = 1e-7

    model_variance_: ClassVar[Array]
    penalty_: ClassVar[float]
    deviance_: ClassVar[float]
    criterion_: ClassVar[dict[str, Array]]
    best_: ClassVar[dict[str, Any]]
    best_index_: ClassVar[int]
    path_: ClassVar[tuple[NoiseModel, ...]]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [StrOptions({"auto"}), COUNT, range, "array-like"],
        "penalize": [StrOptions(set(PENALIZE))],
        "penalty": [StrOptions(set(CRITERIA)), NOT_NEGATIVE],
        "ebic_gamma": [NOT_NEGATIVE],
        "n_penalties": [Interval(Integral, 2, None, closed="left")],
        "penalty_range": [StrOptions({"auto"}), "array-like"],
        "init": [StrOptions(set(INITS))],
    }
    #: The likelihood is searched on complete data; new data may have holes.
    _allows_missing: ClassVar[bool] = False

    def _fit_model(
        self, S: Covariance, holes: IncompleteObservations | None, task: Task
    ) -> FittedModel:
        if isinstance(self.penalty, str) and not np.isfinite(S.n_samples):
            msg = (
                f"penalty={self.penalty!r} needs to know how many samples are behind the "
                "covariance; give n_samples to fit_covariance, or a number as penalty"
            )
            raise ValueError(msg)
        moment = SecondMoment.of(S)
        spectrum, candidates = self._candidates(moment)
        order = int(self.n_components) if isinstance(self.n_components, Integral) else None
        surface = self._surface_search()(
            moment,
            spectrum,
            candidates,
            task.rng,
            exactly=order,
            give_up=isinstance(self.n_components, str),
            progress=_reporting(task),
        )
        return _fitted(moment, surface, self._shortfall(surface.models[surface.best]))

    def _search(self, task: Task) -> Found:
        found = super()._search(task)
        varying = np.flatnonzero(~task.data.moments.constant)
        varying = varying if found.fitted_on is None else found.fitted_on
        whole = [_on_all(m, varying, task.data.n_features) for m in found.values["path_"]]
        return replace(found, values={**found.values, "path_": tuple(whole)})

    def _surface_search(self) -> SurfaceSearch:
        return SurfaceSearch(
            solver=L0NoiseModel(self.penalize, self.max_iter, self.tol),
            criterion=self.penalty,
            gamma=self.ebic_gamma,
            n_penalties=self.n_penalties,
            limits=self._limits(),
            init=self.init,
            n_init=self.n_init,
        )

    def _candidates(self, moment: SecondMoment) -> tuple[NoisyPCA, list[int]]:
        """Numbers of components to try, with the eigenpairs to start all of them from."""
        if isinstance(self.n_components, str):
            return NoisyPCA.all_candidates(moment, MAX_AUTO)
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


def _fitted(moment: SecondMoment, surface: CriterionSurface, shortfall: str | None) -> FittedModel:
    """The chosen model with its components by decreasing ``model_variance_``."""
    chosen = surface.models[surface.best]
    variance = model_variance(moment, chosen)
    order = np.argsort(-variance, kind="stable")
    G = chosen.loadings[:, order]
    names = surface.table.dtype.names or ()
    return FittedModel(
        model=FactorModel(G, chosen.noise_variance),
        searches=(Loadings(G, chosen.objective, chosen.n_iter, chosen.stop),),
        shortfall=shortfall,
        attributes={
            "model_variance_": variance[order],
            "penalty_": chosen.penalty,
            "deviance_": chosen.deviance,
            "criterion_": {name: surface.table[name].copy() for name in names},
            "best_": {name: surface.table[name][surface.best].item() for name in names},
            "best_index_": surface.best,
            "path_": surface.models,
        },
    )


def _on_all(model: NoiseModel, varying: Array, n_features: int) -> NoiseModel:
    """A model of the varying features, its places counted among all of them."""
    r = max(1, model.n_components)
    rows, columns = np.divmod(model.places, r)
    return replace(
        model, shape=(n_features, model.n_components), places=varying[rows] * r + columns
    )


def _reporting(task: Task) -> Any:
    """Tell of each model on the surface."""

    def progress(n_components: int, model: NoiseModel) -> bool:
        return task.report(
            f"{n_components} component(s), penalty {model.penalty:.3g}",
            n_components=n_components,
            penalty=model.penalty,
            objective=model.objective,
            n_iter=model.n_iter,
        )

    return progress
