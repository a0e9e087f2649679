"""SparseNoisyPCA: the l0-penalised likelihood of Ulfarsson and Solo, sized by a criterion."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np

from loadstone._sklearn_compat import Interval, StrOptions
from loadstone.covariance import Array, Covariance
from loadstone.estimators.base import field
from loadstone.estimators.checks import check_n_samples_known, refuse_changed
from loadstone.estimators.found import Found, Task
from loadstone.estimators.gaussian import GaussianComponents
from loadstone.estimators.parameters import COUNT, NOT_NEGATIVE
from loadstone.registry import About
from loadstone.solvers.criterion_surface import CRITERIA
from loadstone.solvers.factor_models.choice import NOTHING_HELD_OUT
from loadstone.solvers.fitted_model import FittedModel
from loadstone.solvers.l0_fitted import fitted_l0, fitted_path, on_all_features
from loadstone.solvers.l0_noise_model import PENALIZE, NoiseModel
from loadstone.solvers.l0_noise_search import NOISES, L0Search
from loadstone.solvers.l0_noise_start import INITS
from loadstone.solvers.l0_published import PublishedPath, refuse_beyond_the_paper
from loadstone.solvers.model_progress import of_descents, of_models
from loadstone.solvers.variational_bayes.missing import IncompleteObservations

#: Parameters of the published search, with the values that leave it out.
OF_THE_PATH = {"penalize": "entries", "penalty_range": "auto", "init": "varimax", "n_init": 1}


class SparseNoisyPCA(GaussianComponents):
    """Sparse components of a likelihood, their number and size chosen by a criterion.

    Data is modelled as ``y = G u + e`` with few non-zero entries in ``G`` and a noise variance
    for every feature, or one for all. The likelihood is penalised by the number of non-zero
    entries, at the price an information criterion puts on them: no cardinality has to be
    guessed. Loadings need not be orthogonal, so overlapping components are told apart where
    PCA mixes them. Missing values (NaN) are integrated out.

    Parameters
    ----------
    n_components : "auto", "cv", int or array-like of int, default="auto"
        ``"auto"`` goes up until two more in a row do not lower the criterion. ``"cv"`` leaves
        a fifth of the rows out at a time (of little data in two ways) and takes the number
        that predicts them best; the criterion decides whether there is any. A number is an
        order, and only the sparsity is chosen. Several, as in ``range(1, 6)``, are candidates compared by the
        criterion, noise alone among them; one that shrinks to fewer counts as what it shrank to.
        All must leave some noise to model.
    noise : {"auto", "free", "shared"}, default="auto"
        A noise variance for each feature, or one for all. ``"auto"`` takes the lower
        criterion, free noise paying for its parameters (where one of them alone finds the number
        of components that was ordered, that one goes first); it is ``"free"`` with
        ``standardize=True``, which makes noise unequal. With ``"free"`` the units of the
        features do not matter.
    penalty : {"ebic", "bic"} or float, default="ebic"
        Criterion, or a fixed penalty ``h`` per non-zero entry. ``h`` has no units; EBIC stands
        for ``h = (ln n_samples + 2 ebic_gamma ln(n_features r)) / n_samples``.
    ebic_gamma : float, default=1.0
        Weight of the price ``"ebic"`` puts on choosing among many places; 0 is BIC.
    n_penalties : int or None, default=None
        Penalties on the path of the published search, which ``noise="shared"`` has; ``None``
        searches at the price of the criterion alone. See :meth:`as_published`.
    penalty_range : "auto" or (low, high), default="auto"
        Published search: smallest and largest penalty of the path.
    penalize : {"entries", "features"}, default="entries"
        Zero single loadings, or (published search) features out of all components at once.
    init : {"varimax", "pca", "random"}, default="varimax"
        Published search: rotation of closed-form noisy PCA to start from.
    n_init : int, default=1
        Published search: starts of each size; those after the first are random rotations.
    max_iter : int, default=1000
        Largest number of products with the covariance for one model.
    tol : float, default=1e-7
        Stop when an iteration gains less than this share of the gain over noise alone.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds of ``"cv"``, and of random rotations.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Unit-norm loadings by decreasing strength over the noise, or by ``model_variance_``
        where a path was searched.
    model_variance_ : ndarray of shape (n_components_,)
        The paper's explained variance: diagonal of ``Q'SQ`` with
        ``Q = Psi^(-1/2) G (I + G'Psi^-1 G)^(-1/2)`` and divisor ``n_samples``, where ``Psi``
        holds the noise variances.
    penalty_ : float
        Penalty of the chosen model.
    criterion_ : dict of ndarray
        One entry per model in each column: kind of noise, components, non-zero loadings,
        penalty, deviance, and the criterion; on a path also the components asked for, noise
        variance, BIC and EBIC. ``pandas.DataFrame(model.criterion_)`` shows it as a table.
    best_ : dict
        The same columns for the chosen model.
    best_index_ : int
        Where the chosen model stands in ``criterion_`` (and ``path_``).
    path_ : tuple of NoiseModel
        All models of a path, in the order of ``criterion_``; ``path_[i].loadings`` is ``G``.
        Empty without a path.
    held_out_ : dict of ndarray
        With ``n_components="cv"``: ``n_components``, mean ``held_out`` log density of a row,
        and its ``standard_error``; empty otherwise.
    deviance_ : float
        Minus twice the log-likelihood per sample, without ``n_features ln 2 pi``.
    n_components_ : int
        Components found; 0 where noise alone describes the data best.
    n_iter_ : int
        Products with the covariance for the chosen model.
    stop_reason_ : list of str
        Why the search of the chosen model ended.
    score_correlation_ : ndarray of shape (n_components_, n_components_)
        Correlation of the projections; large values mean oblique factors, not modelled here.
    objective_ : list of ndarray
        The penalised likelihood ``J`` along the search of the chosen model.

    See Also
    --------
    SparsePCA : An exact number of non-zero loadings, without a noise model.

    Notes
    -----
    ``transform`` gives the posterior mean of ``u``, not a projection. The default
    criterion is not the paper's: along the path of the paper's first simulation BIC finds
    superfluous loadings or components in more than every third data set, EBIC with
    ``ebic_gamma=1`` in about one of thirty.

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
    noise: str = "auto"
    penalty: str | float = "ebic"
    ebic_gamma: float = 1.0
    n_penalties: int | None = None
    penalty_range: Any = "auto"
    penalize: str = "entries"
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
    held_out_: ClassVar[dict[str, Array]]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [StrOptions({"auto", "cv"}), COUNT, range, "array-like"],
        "noise": [StrOptions(set(NOISES))],
        "penalty": [StrOptions(set(CRITERIA)), NOT_NEGATIVE],
        "ebic_gamma": [NOT_NEGATIVE],
        "n_penalties": [Interval(Integral, 2, 10_000, closed="both"), None],
        "penalty_range": [StrOptions({"auto"}), "array-like"],
        "penalize": [StrOptions(set(PENALIZE))],
        "init": [StrOptions(set(INITS))],
    }

    @classmethod
    def as_published(cls, n_components: Any = "auto", **options: Any) -> Self:
        """The model of the paper: one noise variance, BIC, 50 penalties for each number of components.

        Parameters
        ----------
        n_components : "auto", int or array-like of int, default="auto"
            Number of components.
        **options
            Further parameters, such as ``penalize="features"`` or ``penalty="ebic"``.

        Returns
        -------
        SparseNoisyPCA
            Not fitted.
        """
        published: dict[str, Any] = {"noise": "shared", "penalty": "bic", "n_penalties": 50}
        return cls(n_components, **(published | options))

    def _units_matter(self) -> bool:
        return self.noise == "shared"

    def _fit_model(
        self, S: Covariance, holes: IncompleteObservations | None, task: Task
    ) -> FittedModel:
        if isinstance(self.penalty, str):
            check_n_samples_known(S, f"penalty={self.penalty!r}")
        # A working set leaves features out that could have been chosen.
        n_candidates = int(np.count_nonzero(~task.data.moments.constant))
        if self.n_penalties is None:
            refuse_changed(self, OF_THE_PATH, "the published search; set n_penalties to use it")
            search = self._direct_search(n_candidates, scaled=task.data.moments.scale is not None)
            choice = self._sizes(holes, task, search.models)
            data = S if holes is None else holes
            fit = search(data, choice.sizes, of_descents(task.report), choice.held_out)
            return choice.described(fitted_l0(fit, S, holes, self.n_components))
        refuse_beyond_the_paper(self.noise, self.n_penalties, holes)
        path = PublishedPath.of(self.get_params(deep=False), n_candidates)
        surface = path(S, self.n_components, task.rng, of_models(task.report))
        return NOTHING_HELD_OUT.described(fitted_path(surface, S, self.n_components))

    def _search(self, task: Task) -> Found:
        found = super()._search(task)
        varying = np.flatnonzero(~task.data.moments.constant)
        varying = varying if found.fitted_on is None else found.fitted_on
        whole = on_all_features(found.values["path_"], varying, task.data.n_features)
        return replace(found, values={**found.values, "path_": whole})

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.n_penalties is None
        return tags

    def _direct_search(self, n_candidates: int, *, scaled: bool) -> L0Search:
        by_name = isinstance(self.penalty, str)
        # Scaling to unit variance makes the noise unequal, whatever it was.
        free = self.noise == "auto" and scaled
        return L0Search(
            noise="free" if free else self.noise,
            gamma=0.0 if self.penalty == "bic" else self.ebic_gamma,
            penalty=None if by_name else float(self.penalty),
            max_iter=self.max_iter,
            tol=self.tol,
            n_candidates=n_candidates,
        )
