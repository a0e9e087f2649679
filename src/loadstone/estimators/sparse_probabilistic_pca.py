"""SparseProbabilisticPCA: learns how sparse each component is and how many are needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from loadstone._sklearn_compat import StrOptions
from loadstone.covariance import Array, Covariance, leading_eigenpairs
from loadstone.estimators.base import field
from loadstone.estimators.checks import check_n_samples_known
from loadstone.estimators.found import Task
from loadstone.estimators.gaussian import GaussianComponents
from loadstone.estimators.parameters import COUNT, NOT_NEGATIVE
from loadstone.registry import About
from loadstone.solvers.factor_models.fitted import fitted_factors
from loadstone.solvers.factor_models.sparse_factors import (
    LOADING_PRIORS,
    POINT_NORMAL,
    SparseFactors,
)
from loadstone.solvers.fitted_model import FittedModel
from loadstone.solvers.variational_bayes.description import (
    ALL_NEEDED,
    MOST_COMPONENTS,
    check_n_components,
    check_rank,
    described,
    first_principal_component,
)
from loadstone.solvers.variational_bayes.hyperparameters import check_hyperparameters
from loadstone.solvers.variational_bayes.latent import Observations, complete_observations
from loadstone.solvers.variational_bayes.missing import IncompleteObservations
from loadstone.solvers.variational_bayes.model import Posterior, VariationalBayes
from loadstone.solvers.variational_bayes.start import probabilistic_start
from loadstone.solvers.varimax import varimax


class SparseProbabilisticPCA(GaussianComponents):
    """Sparse probabilistic PCA by variational Bayes, with three sparsity priors.

    The model is ``x = mean + W z + noise``. A prior on every single loading makes ``W``
    sparse; its strength is learned from the data, and components that the data does not
    support vanish. Every loading comes with a standard deviation, new data with a
    likelihood, and missing values (NaN) are integrated out.

    Parameters
    ----------
    n_components : int or None, default=None
        Components to start from; those that do not stand out of the noise are dropped.
        ``None`` starts from one less than features or samples allow, at most 20.
    prior : {"inverse_gaussian", "laplace", "jeffreys", "point_normal"}, default="inverse_gaussian"
        Law of the loadings. Of the published ones the inverse-Gaussian prior finds true
        supports best, Jeffreys gives the sparsest loadings for the variance explained.
        ``"point_normal"`` has exact zeros and calibrated ``inclusion_``.
    noise : {"shared", "pooled", "free"}, default="shared"
        One noise variance for all features, as published; one for each, drawn from a law that
        is learned; or one for each on its own. All but ``"shared"``, and the point-normal
        prior, find the number of components by growing the model: zero is an answer.
        Standardised data has noise of its own in every feature: use ``"pooled"`` there.
    init : {"varimax", "pca"}, default="varimax"
        Start from the principal components, rotated to simple structure or not.
    rotation_steps : bool, default=True
        Maximise the lower bound over rotations, shears and scales of the scores every few
        iterations. Without it factors of similar variance stay mixed.
    zero_threshold : float, default=3.0
        A loading is set to zero unless it exceeds this many of its standard deviations.
    component_threshold : "auto" or float, default="auto"
        A component is dropped unless its squared length exceeds this many noise variances;
        ``"auto"`` is what the largest of pure noise directions reaches.
    refit : bool, default=True
        Fit again on the supports found, so that noise, loadings and bound belong together.
    hyperparameters : dict or None, default=None
        Hyperparameters to fix, in squared units of the (scaled) data: ``lam`` for Laplace,
        ``a`` and ``b`` for the inverse Gaussian. Others are learned by type-II maximum
        likelihood.
    max_iter : int, default=500
        Largest number of iterations of the search, and of the refit.
    tol : float, default=1e-6
        Stop when the lower bound rises by less than this share of its size.
    n_init : int, default=1
        Starts; from the second on the principal components are rotated at random, and the
        search with the highest lower bound is kept.
    random_state : int, RandomState instance or None, default=0
        Seed of the random rotations.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Unit-norm loadings by decreasing strength; ``W`` is ``components_.T *
        component_strength_``.
    components_std_ : ndarray of shape (n_components_, n_features)
        Posterior standard deviations of the loadings, in units of ``components_``.
    inclusion_ : ndarray of shape (n_components_, n_features)
        Probability at even odds that a loading is not zero, before the zero rule.
    mean_ : ndarray of shape (n_features,)
        Posterior mean of the data's mean.
    lower_bound_ : float
        Lower bound on the log evidence of the final model.
    lower_bounds_ : ndarray of shape (n_iter_,)
        The bound after every iteration of the search; it never falls.
    refit_lower_bounds_ : ndarray
        The bound after every iteration of the refit, empty without one. Its model has fewer
        loadings, so that it does not continue ``lower_bounds_``.
    hyperparameters_ : dict
        Hyperparameters of the prior, learned or fixed, from the search.
    n_components_ : int
        Components found.
    n_iter_ : int
        Iterations of the search.
    stop_reason_ : list of str
        Why the search, and the refit, ended.
    explained_variance_ : ndarray of shape (n_components_,)
        Adjusted variance: what each component explains beyond those before it; of the
        imputed data where values are missing.
    objective_ : list of ndarray
        Lower bounds of search and refit.

    See Also
    --------
    ProbabilisticPCA : The model without a sparsity prior.
    SparsePCA : Exact numbers of non-zeros, and certificates.

    Notes
    -----
    Priors of noise and mean are broad in units of the mean feature variance, and the mean is
    centred at the column means, so that scaling or shifting the data scales or shifts the
    result. The bounds of different priors cannot be compared, since Jeffreys is improper.
    Complete data enters through products with its covariance alone.

    References
    ----------
    Guan, Y., & Dy, J. (2009). Sparse probabilistic principal component analysis.
    Proceedings of the 12th International Conference on Artificial Intelligence and
    Statistics, PMLR 5, 185-192. https://proceedings.mlr.press/v5/guan09a.html

    Examples
    --------
    >>> from loadstone import SparseProbabilisticPCA
    >>> from loadstone.datasets import make_sparse_factors
    >>> X, _ = make_sparse_factors(random_state=0)
    >>> model = SparseProbabilisticPCA(n_components=9).fit(X)
    >>> model.cardinality_
    array([4, 4])
    """

    about: ClassVar[About] = About(
        method="bayes",
        choose=(
            "sparsity and number of components learned from the data",
            "missing values",
        ),
        paper="Guan & Dy (2009)",
    )

    n_components: int | None = field(default=None, kw_only=False)
    prior: str = "inverse_gaussian"
    noise: str = "shared"
    init: str = "varimax"
    rotation_steps: bool = True
    zero_threshold: float = 3.0
    component_threshold: Any = "auto"
    refit: bool = True
    hyperparameters: Mapping[str, float] | None = None
    max_iter: int = 500
    tol: float = 1e-6
    n_init: int = 1

    components_std_: ClassVar[Array]
    inclusion_: ClassVar[Array]
    lower_bound_: ClassVar[float]
    lower_bounds_: ClassVar[Array]
    refit_lower_bounds_: ClassVar[Array]
    hyperparameters_: ClassVar[dict[str, float]]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [COUNT, None],
        "prior": [StrOptions(set(LOADING_PRIORS))],
        "noise": [StrOptions({"shared", "pooled", "free"})],
        "init": [StrOptions({"varimax", "pca"})],
        "rotation_steps": ["boolean"],
        "zero_threshold": [NOT_NEGATIVE],
        "component_threshold": [StrOptions({"auto"}), NOT_NEGATIVE],
        "refit": ["boolean"],
        "hyperparameters": [dict, None],
    }

    def _fit_model(
        self, S: Covariance, holes: IncompleteObservations | None, task: Task
    ) -> FittedModel:
        check_n_samples_known(S, "SparseProbabilisticPCA")
        if self.noise != "shared" or self.prior == POINT_NORMAL:
            return self._fit_factors(S, holes, task)
        solver = VariationalBayes(
            self.prior,
            check_hyperparameters(self.prior, self.hyperparameters),
            self.rotation_steps,
            self.max_iter,
            self.tol,
        )
        observations: Observations = complete_observations(S) if holes is None else holes
        search = self._posterior(solver, observations, S, task)
        threshold = None if self.component_threshold == "auto" else float(self.component_threshold)
        selected, support = solver.select(
            observations, search, float(self.zero_threshold), threshold
        )
        if not support.any():
            return first_principal_component(observations, S, search)
        many = self.n_components is None and support.any(axis=0).sum() >= MOST_COMPONENTS
        final = None
        if self.refit:
            final, support = solver.settle(observations, selected, support, threshold)
        told = (ALL_NEEDED,) if many else ()
        return described(observations, search, selected, support, final, told)

    def _fit_factors(
        self, S: Covariance, holes: IncompleteObservations | None, task: Task
    ) -> FittedModel:
        """The model that grows, with noise per feature."""
        solver = SparseFactors(
            prior=self.prior,
            noise=self.noise,
            hyperparameters=self.hyperparameters,
            zero_threshold=float(self.zero_threshold),
            refit=self.refit,
        )
        fit = solver(S if holes is None else holes, self.n_components, task.iteration)
        return fitted_factors(fit)

    def _posterior(
        self, solver: VariationalBayes, observations: Observations, S: Covariance, task: Task
    ) -> Posterior:
        """The best of ``n_init`` searches."""
        q = check_n_components(self.n_components, S)
        values, vectors = leading_eigenpairs(S, q)
        q = check_rank(self.n_components, values, S)
        total = float(np.asarray(S.diagonal(), dtype=np.float64).sum()) / observations.unit**2
        values = np.asarray(values[:q], dtype=np.float64) / observations.unit**2
        W, noise = probabilistic_start(
            values, np.asarray(vectors[:, :q], dtype=np.float64), total, S.n_features
        )
        best: Posterior | None = None
        for trial in range(self.n_init):
            turn = np.eye(q) if trial == 0 else np.linalg.qr(task.rng.normal(size=(q, q)))[0]
            start = varimax(W) if trial == 0 and self.init == "varimax" else W @ turn
            posterior = solver(observations, start, noise, task.iteration)
            if best is None or posterior.bounds[-1] > best.bounds[-1]:
                best = posterior
        assert best is not None
        return best
