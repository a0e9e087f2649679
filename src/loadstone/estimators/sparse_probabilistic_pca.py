"""SparseProbabilisticPCA: learns how sparse each component is and how many are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, ClassVar, Self

from loadstone._sklearn_compat import StrOptions, check_is_fitted
from loadstone.covariance import Array, Covariance
from loadstone.estimators.base import field
from loadstone.estimators.checks import check_n_samples_known, refuse_changed
from loadstone.estimators.found import Task
from loadstone.estimators.gaussian import GaussianComponents
from loadstone.estimators.parameters import COUNT, NOT_NEGATIVE, SHARE
from loadstone.registry import About
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.factor_models.choice import NOTHING_HELD_OUT
from loadstone.solvers.factor_models.fitted import fitted_factors
from loadstone.solvers.factor_models.noise import NOISES
from loadstone.solvers.factor_models.sparse_factors import (
    LOADING_PRIORS,
    POINT_NORMAL,
    SparseFactors,
)
from loadstone.solvers.fitted_model import FittedModel
from loadstone.solvers.variational_bayes.hyperparameters import check_hyperparameters
from loadstone.solvers.variational_bayes.missing import IncompleteObservations

#: Parameters of the published search, with the values that leave it out.
OF_THE_PAPER = {
    "init": "varimax",
    "rotation_steps": True,
    "component_threshold": "auto",
    "n_init": 1,
}


class SparseProbabilisticPCA(GaussianComponents):
    """Sparse factors by variational Bayes: size, sparsity and noise are learned.

    The model is ``x = mean + W z + noise``, with a noise variance for every feature. A loading
    is zero, or normal with a scale of its component; the probability of either is learned and
    comes with every loading. The model grows as long as the data pays for a component, and
    none is an answer. New data has a likelihood, and missing values (NaN) are integrated out.

    Parameters
    ----------
    n_components : "auto", "cv", int or array-like of int, default="auto"
        ``"auto"`` takes the number with the highest lower bound, up to 20. ``"cv"`` leaves a
        fifth of the rows out at a time (of little data in two ways) and takes the number that
        predicts them best; the bound decides whether there is any. It is the more careful choice on real data
        and where signals are weak. A number is an order. Several numbers, as in
        ``range(1, 6)``, are compared by the bound, noise alone among them; one that shrinks to fewer counts
        as what it shrank to.
    prior : {"point_normal", "inverse_gaussian", "laplace", "jeffreys"}, default="point_normal"
        Law of the loadings. The first has exact zeros, calibrated ``inclusion_`` and bounds
        that compare between numbers of components; the others, the paper's, start from its
        solution and need a rule for zeros.
    noise : {"pooled", "shared", "free"}, default="pooled"
        Noise variances drawn from one law, which is learned (but for scaled features, whose
        noise has no unit in common, holds little); one for all features; or each on its own.
        With ``"free"`` the units of the features do not matter. ``"shared"`` and one of the
        paper's priors is the published model, see :meth:`as_published`.
    inclusion_threshold : float, default=0.9
        A loading is kept that is not zero with more than this probability.
    zero_threshold : float, default=3.0
        With the paper's priors a loading is kept beyond this many standard deviations.
    refit : bool, default=True
        Fit again on the supports found, so that noise and loadings belong together.
    hyperparameters : dict or None, default=None
        Hyperparameters of the paper's priors to fix: ``lam`` for Laplace, ``a`` and ``b`` for
        the inverse Gaussian; in noise variances, in the published model in squared units of
        the (scaled) data. Others are learned by type-II maximum likelihood.
    component_threshold : "auto" or float, default="auto"
        Published model: a component is dropped unless its squared length exceeds this many
        noise variances; ``"auto"`` is what the largest of pure noise directions reaches.
    init : {"varimax", "pca"}, default="varimax"
        Published model: start from the principal components, rotated to simple structure or not.
    rotation_steps : bool, default=True
        Published model: also maximise the lower bound over rotations, shears and scales of the
        scores. Without it factors of similar variance stay mixed.
    n_init : int, default=1
        Published model: starts; those after the first are random rotations.
    max_iter : int, default=1000
        Largest number of iterations of one run, and of the refit.
    tol : float, default=1e-7
        Stop when the lower bound rises by less than this per observed value; in the published
        model, by less than this share of its size.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds of ``"cv"``, and of random rotations.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Unit-norm loadings by decreasing strength over the noise; ``W`` is ``components_.T *
        component_strength_``.
    components_std_ : ndarray of shape (n_components_, n_features)
        Posterior standard deviations of the loadings, in units of ``components_``.
    inclusion_ : ndarray of shape (n_components_, n_features)
        Probability that a loading is not zero, before the zero rule, which goes by it; the share
        of loadings that are there is not taken for known. With the paper's priors: what the
        zero rule kept, or in the published model a probability at even odds that is
        far too high for small loadings.
    predictive_loadings_ : ndarray of shape (n_expected, n_features)
        Expected loadings ``W'`` of the posterior, none of them set to zero, of the number of
        components with the highest evidence. Where the search found models of more components,
        those of all of them, each over the root of how many models there are: the mean of their
        covariances is that of one model with the components of all.
    predictive_noise_ : float or ndarray of shape (n_features,)
        Noise around them. Densities, imputed values and draws are those of this model.
    mean_ : ndarray of shape (n_features,)
        Posterior mean of the data's mean.
    lower_bound_ : float
        Lower bound on the log evidence, before zeros are set and the refit: what chose the
        number of components. With the point-normal prior it compares between models of the
        same data with other numbers of components or other noise. In the published model, the
        bound of the refit, which does not compare.
    criterion_ : dict of ndarray
        ``n_components`` and the highest ``lower_bound`` (point-normal prior) found with them;
        not in the published model.
    held_out_ : dict of ndarray
        With ``n_components="cv"``: ``n_components``, mean ``held_out`` log density of a row,
        and its ``standard_error``; empty otherwise.
    lower_bounds_ : ndarray
        The bound after every iteration of the last run of the search; it never falls.
    refit_lower_bounds_ : ndarray
        The same of the refit, empty without one; its model has fewer loadings.
    hyperparameters_ : dict
        Hyperparameters of the prior from the search: ``share`` and ``scale`` of each component
        (point-normal), ``noise_shape`` and ``noise_scale`` of the law of the noise, and with
        pooled noise ``noise_apart``, the share of the features that stand apart from it.
    n_components_ : int
        Components found; 0 where noise alone describes the data best.
    n_iter_ : int
        Iterations of the search.
    stop_reason_ : list of str
        Why the search ended.
    explained_variance_ : ndarray of shape (n_components_,)
        Adjusted variance: what each component explains beyond those before it; of the
        imputed data where values are missing.
    score_correlation_ : ndarray of shape (n_components_, n_components_)
        Correlation of the projections on the components. Factors of the model are independent:
        it does not describe data where these values are large (oblique factors).
    objective_ : list of ndarray
        Lower bounds of the search.

    See Also
    --------
    ProbabilisticPCA : The model without a sparsity prior.
    SparsePCA : Exact numbers of non-zeros, and certificates.

    Notes
    -----
    The mean has a flat prior and loadings are in units of the noise, so that shifting the data
    and changing its unit changes nothing else. Complete data enters through products with its
    covariance alone, and no compiled code is needed.

    A new sample has the expected loadings of the posterior and, as noise, that of its feature and
    what is not known of loadings and mean: the covariance of the posterior predictive law.
    ``components_`` and ``transform`` go by the loadings that are certain. In the published model
    both are the same.

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
    >>> model = SparseProbabilisticPCA().fit(X)
    >>> model.n_components_, model.cardinality_
    (2, array([4, 4]))
    """

    about: ClassVar[About] = About(
        method="bayes",
        choose=(
            "sparsity and number of components learned from the data",
            "missing values",
        ),
        paper="Guan & Dy (2009)",
    )

    n_components: Any = field(default="auto", kw_only=False)
    prior: str = POINT_NORMAL
    noise: str = "pooled"
    inclusion_threshold: float = 0.9
    zero_threshold: float = 3.0
    refit: bool = True
    hyperparameters: Mapping[str, float] | None = None
    component_threshold: Any = "auto"
    init: str = "varimax"
    rotation_steps: bool = True
    n_init: int = 1
    max_iter: int = 1000
    tol: float = 1e-7

    predictive_loadings_: ClassVar[Array]
    predictive_noise_: ClassVar[Any]
    components_std_: ClassVar[Array]
    inclusion_: ClassVar[Array]
    lower_bound_: ClassVar[float]
    lower_bounds_: ClassVar[Array]
    refit_lower_bounds_: ClassVar[Array]
    hyperparameters_: ClassVar[dict[str, Any]]
    criterion_: ClassVar[dict[str, Array]]
    held_out_: ClassVar[dict[str, Array]]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [StrOptions({"auto", "cv"}), COUNT, range, "array-like"],
        "prior": [StrOptions(set(LOADING_PRIORS))],
        "noise": [StrOptions(set(NOISES))],
        "inclusion_threshold": [SHARE],
        "zero_threshold": [NOT_NEGATIVE],
        "refit": ["boolean"],
        "hyperparameters": [dict, None],
        "component_threshold": [StrOptions({"auto"}), NOT_NEGATIVE],
        "init": [StrOptions({"varimax", "pca"})],
        "rotation_steps": ["boolean"],
    }

    @classmethod
    def as_published(
        cls, n_components: Any = "auto", prior: str = "inverse_gaussian", **options: Any
    ) -> Self:
        """The model of the paper: one noise variance, one of three priors, all components at once.

        What the printed stopping rule misses is added: rotation steps and a zero rule.
        ``init="pca", rotation_steps=False`` leaves the first out.

        Parameters
        ----------
        n_components : "auto" or int, default="auto"
            Components to start from; those that do not stand out of the noise are dropped.
        prior : {"inverse_gaussian", "laplace", "jeffreys"}, default="inverse_gaussian"
            Law of the variances of single loadings.
        **options
            Further parameters.

        Returns
        -------
        SparseProbabilisticPCA
            Not fitted.
        """
        published: dict[str, Any] = {"noise": "shared", "max_iter": 500, "tol": 1e-6}
        return cls(n_components, prior=prior, **(published | options))

    def _predictive(self) -> FactorModel:
        check_is_fitted(self)
        return FactorModel(self.predictive_loadings_.T, self.predictive_noise_)

    def _units_matter(self) -> bool:
        return self.noise == "shared"

    def _fit_model(
        self, S: Covariance, holes: IncompleteObservations | None, task: Task
    ) -> FittedModel:
        check_n_samples_known(S, "SparseProbabilisticPCA")
        if self.prior == POINT_NORMAL:
            refuse_changed(self, {"zero_threshold": 3.0}, "the other priors")
            if self.hyperparameters:
                refuse_changed(self, {"hyperparameters": None}, "the other priors")
        else:
            refuse_changed(self, {"inclusion_threshold": 0.9}, "prior='point_normal'")
            check_hyperparameters(self.prior, self.hyperparameters)
        if self.noise == "shared" and self.prior != POINT_NORMAL:
            return self._fit_published(S, holes, task)
        where = "the published model, noise='shared' and one of its priors"
        refuse_changed(self, OF_THE_PAPER, where)
        solver = SparseFactors(**self._fields_of(SparseFactors))
        choice = self._sizes(holes, task, solver.growth().models)
        data = S if holes is None else holes
        fit = solver(data, choice.sizes, task.iteration, choice.held_out)
        return choice.described(fitted_factors(fit, self.n_components))

    def _fit_published(
        self, S: Covariance, holes: IncompleteObservations | None, task: Task
    ) -> FittedModel:
        """The model of the paper; its compiled code is loaded here and nowhere else."""
        from loadstone.solvers.variational_bayes.published import PublishedSearch

        search = PublishedSearch(**self._fields_of(PublishedSearch))
        fitted = search(S, holes, self.n_components, task.rng, task.iteration)
        return NOTHING_HELD_OUT.described(replace(fitted, predictive=fitted.model))

    def _fields_of(self, solver: type) -> dict[str, Any]:
        """The parameters that a solver has by the same names."""
        return {f.name: getattr(self, f.name) for f in fields(solver)}
