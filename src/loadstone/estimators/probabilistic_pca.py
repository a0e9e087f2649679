"""ProbabilisticPCA: principal components with a likelihood, and with missing values."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from loadstone._sklearn_compat import StrOptions
from loadstone.covariance import Array, Covariance, leading_eigenpairs
from loadstone.estimators.base import field
from loadstone.estimators.checks import check_n_samples_known
from loadstone.estimators.found import Task
from loadstone.estimators.gaussian import GaussianComponents
from loadstone.estimators.parameters import COUNT
from loadstone.loadings import Loadings
from loadstone.registry import About
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.fitted_model import FittedModel
from loadstone.solvers.probabilistic_em import ProbabilisticEM, principal_axes
from loadstone.solvers.variational_bayes.missing import IncompleteObservations
from loadstone.solvers.variational_bayes.start import probabilistic_start


class ProbabilisticPCA(GaussianComponents):
    """Probabilistic PCA by expectation maximisation.

    Principal components with isotropic noise: a likelihood for new data, and missing values
    (NaN) integrated out. On complete data the model is the one scikit-learn's ``PCA`` scores
    with.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components; fewer than the rank of the data, so that noise is left (of data of
        rank one, one with hardly any noise). ``None`` is as many as there may be.
    init : {"pca", "random"}, default="pca"
        Start from principal components (of mean-imputed data), which leaves nothing to do
        on complete data, or from random directions.
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-10
        Stop when the log-likelihood rises by less than this share of its size.
    random_state : int, RandomState instance or None, default=0
        Seed of the random start.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Unit-norm loadings on the principal axes of the model, by decreasing strength.
    mean_ : ndarray of shape (n_features,)
        Mean of the model.
    log_likelihoods_ : ndarray of shape (n_iter_,)
        Log-likelihood of the training data before every iteration; it never falls.
    n_iter_ : int
        Iterations.
    stop_reason_ : list of str
        Why the search ended.
    explained_variance_ : ndarray of shape (n_components_,)
        Adjusted variance of the components; of the imputed data where values are missing.
    objective_ : list of ndarray
        Log-likelihoods of the search.

    See Also
    --------
    SparseProbabilisticPCA : The same model with sparse loadings.

    References
    ----------
    Tipping, M. E., & Bishop, C. M. (1999). Probabilistic principal component analysis.
    Journal of the Royal Statistical Society B, 61(3), 611-622.
    https://doi.org/10.1111/1467-9868.00196

    Sigg, C. D., & Buhmann, J. M. (2008). Expectation-maximization for sparse and
    non-negative PCA. Proceedings of the 25th International Conference on Machine
    Learning, 960-967. https://doi.org/10.1145/1390156.1390277

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from loadstone import ProbabilisticPCA
    >>> X = load_iris().data.copy()
    >>> X[::7, 2] = np.nan
    >>> ProbabilisticPCA(n_components=2).fit(X).transform(X).shape
    (150, 2)
    """

    about: ClassVar[About] = About(
        choose=("missing values, without sparsity",),
        paper="Tipping & Bishop (1999)",
    )

    n_components: int | None = field(default=None, kw_only=False)
    init: str = "pca"
    max_iter: int = 1000
    tol: float = 1e-10

    log_likelihoods_: ClassVar[Array]

    _fits_few: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [COUNT, None],
        "init": [StrOptions({"pca", "random"})],
    }

    def _fit_model(
        self, S: Covariance, holes: IncompleteObservations | None, task: Task
    ) -> FittedModel:
        check_n_samples_known(S, "ProbabilisticPCA")
        values, vectors, total = self._eigenpairs(S)
        W, noise = probabilistic_start(values, vectors, total, S.n_features)
        if self.init == "random":
            W = task.rng.normal(size=W.shape) * np.sqrt(total / S.n_features)
        solver = ProbabilisticEM(self.max_iter, self.tol)
        unit = 1.0 if holes is None else holes.unit
        start = FactorModel(W / unit, noise / unit**2)
        if holes is None:
            fit = solver(S, start, task.iteration)
        else:
            fit = solver.fit_incomplete(holes, start, task.iteration)
        axes = principal_axes(fit.model.loadings) * unit
        # A direction without variance beyond the noise has no loadings to show.
        axes = axes[:, np.linalg.norm(axes, axis=0) > 0]
        return FittedModel(
            model=FactorModel(axes, fit.model.noise_variance * unit**2),
            location=fit.location * unit,
            searches=(Loadings(axes, fit.log_likelihoods, fit.n_iter, fit.stop),),
            attributes={"log_likelihoods_": fit.log_likelihoods},
        )

    def _eigenpairs(self, S: Covariance) -> tuple[Array, Array, float]:
        """Leading eigenpairs and the trace; as many as the rank leaves room for noise."""
        limit = int(min(S.n_features, np.ceil(S.n_samples) - 1))
        wanted = limit if self.n_components is None else min(self.n_components + 1, limit)
        values, vectors = leading_eigenpairs(S, wanted)
        values = np.asarray(values, dtype=np.float64)
        rank = int(np.count_nonzero(values > values[0] * S.n_features * np.finfo(S.dtype).eps))
        q = max(rank - 1, 1) if self.n_components is None else self.n_components
        if q > max(rank - 1, 1):
            msg = (
                f"n_components={q} leaves no noise: the data (n_samples={S.n_samples:g}, "
                f"n_features={S.n_features} that vary) has rank {rank}, so that at most "
                f"{max(rank - 1, 1)} component(s) can be told from noise; lower n_components"
            )
            raise ValueError(msg)
        total = float(np.asarray(S.diagonal(), dtype=np.float64).sum())
        return values[:q], np.asarray(vectors[:, :q], dtype=np.float64), total
