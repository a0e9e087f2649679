"""Sparse loading noisy PCA: generalised EM with hard thresholding (Ulfarsson & Solo).

Notation: ``y = G u + e`` with ``u ~ N(0, I_r)``, ``e ~ N(0, noise I_M)`` (Eq. 1);
``S`` is the second moment ``Y'Y/T`` of the centred data, ``W = G'G + noise I``.
Minimised is ``J = deviance/2 + h/2 |G|_0`` with ``deviance = -2 l`` per sample. ``A``
and ``B`` are the moments ``<uu'>`` and ``<yu'>`` of the E-step. The data enters only
through ``S @ G``, once per iteration.

References
----------
Ulfarsson, M. O., & Solo, V. Sparse loading noisy PCA using an l0 penalty.

Ulfarsson, M. O., & Solo, V. (2011). Vector l0 sparse variable PCA. IEEE Transactions
on Signal Processing, 59(5), 1949-1958.

Liu, C., Rubin, D. B., & Wu, Y. N. (1998). Parameter expansion to accelerate EM: the
PX-EM algorithm. Biometrika, 85(4), 755-770.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from loadstone.covariance import Array, Covariance, Support
from loadstone.covariance.symmetric import shifted_inverse
from loadstone.loadings import Stop
from loadstone.metrics.information_criteria import noise_model_deviance

PENALIZE = ("entries", "features")
#: Inner sweeps of Algorithm 2 per M-step; the outer iteration makes up for the rest.
MAX_SWEEPS = 3
#: Iterations on all features before those that are zero throughout are set aside.
FULL_STEPS = 6
#: Share of features in use below which setting the others aside pays.
SET_ASIDE_BELOW = 0.5
#: Smallest noise as a share of the mean variance; below, the likelihood is rounding.
SMALLEST_NOISE = 1e-14


@dataclass(frozen=True)
class SecondMoment:
    """``Y'Y/T`` of the centred data, seen through a covariance with divisor ``T - 1``.

    ``outside`` is the variance of features set aside and ``n_features`` counts them
    too: held at zero, they keep their share of the likelihood.
    """

    S: Covariance
    diagonal: Array
    outside: float
    n_features: int
    shrink: float

    @classmethod
    def of(cls, S: Covariance) -> SecondMoment:
        """Wrap ``S``; a matrix without a known number of samples is taken as it is."""
        n = S.n_samples
        shrink = (n - 1) / n if np.isfinite(n) else 1.0
        diagonal = shrink * S.diagonal().astype(np.float64)
        if not diagonal.sum() > 0:
            msg = (
                "the data has no variance: every feature is constant, so there is nothing to "
                "model; check that the right rows and columns were given"
            )
            raise ValueError(msg)
        return cls(S, diagonal, 0.0, S.n_features, shrink)

    def __matmul__(self, G: Array) -> Array:
        return self.shrink * (self.S @ G.astype(self.S.dtype, copy=False)).astype(np.float64)

    def restrict(self, rows: Support) -> SecondMoment:
        """The same model with all features outside ``rows`` held at zero."""
        aside = np.ones(self.diagonal.size, dtype=bool)
        aside[rows] = False
        outside = self.outside + float(self.diagonal[aside].sum())
        return replace(self, S=self.S.restrict(rows), diagonal=self.diagonal[rows], outside=outside)

    @cached_property
    def total(self) -> float:
        """Trace of the whole second moment."""
        return self.outside + float(self.diagonal.sum())

    @property
    def mean_variance(self) -> float:
        """Noise variance of the model without components: ``mean(Y^2)``."""
        return self.total / self.n_features

    @cached_property
    def empty_deviance(self) -> float:
        """Deviance of the model without components."""
        return self.n_features * (1.0 + float(np.log(self.mean_variance)))


@dataclass(frozen=True)
class NoiseModel:
    """A fitted model, ``covariance = G G' + noise_variance I``.

    Attributes
    ----------
    shape : tuple of (n_features, n_components)
    places, values : ndarray of shape (n_nonzero,)
        Non-zero entries of ``G``, row after row; dense copies of a whole path would fill
        the memory.
    noise_variance : float
    penalty : float
        The ``h`` it was fitted with.
    deviance : float
        Minus twice the log-likelihood per sample, without ``M ln 2 pi``.
    n_parameters : int
        What the penalty counts: non-zero entries, or features in use times components.
    objective : ndarray
        ``J`` at each product with the covariance, never increasing.
    stop : Stop
    """

    shape: tuple[int, int]
    places: Array
    values: Array
    noise_variance: float
    penalty: float
    deviance: float
    n_parameters: int
    objective: Array
    stop: Stop

    @property
    def loadings(self) -> Array:
        """``G``: not unit norm, its scale is the standard deviation along a component."""
        G = np.zeros(self.shape)
        G.ravel()[self.places] = self.values
        return G

    @property
    def n_components(self) -> int:
        """Components that are alive; those that died are dropped."""
        return self.shape[1]

    @property
    def n_nonzero(self) -> int:
        """Non-zero entries of ``G``."""
        return self.places.size

    @property
    def n_features_used(self) -> int:
        """Features with a non-zero entry in some component."""
        return np.unique(self.places // max(1, self.n_components)).size

    @property
    def n_iter(self) -> int:
        """Products with the covariance."""
        return self.objective.size

    @property
    def penalised_deviance(self) -> float:
        """``2 J``, which is BIC where ``h = ln(T) / T``."""
        return self.deviance + self.penalty * self.n_parameters


@dataclass(frozen=True)
class _Point:
    """Where a descent stands, with everything one product with the covariance tells."""

    G: Array
    noise: float
    SG: Array
    gram: Array
    projected: Array
    deviance: float
    settled: bool = False


@dataclass(frozen=True)
class L0NoiseModel:
    """Generalised EM for the l0-penalised likelihood, at one penalty.

    Parameters
    ----------
    penalize : {"entries", "features"}
        Zero single entries of ``G``, or features out of all components at once.
    max_iter : int
        Products with the covariance at most.
    tol : float
        Stop once an iteration lowers ``J`` by less than this share of what the model
        has gained over the one without components (plus one, for models that gain little).
    """

    penalize: str = "entries"
    max_iter: int = 1000
    tol: float = 1e-7

    def __call__(
        self, moment: SecondMoment, penalty: float, loadings: Array, noise_variance: float
    ) -> NoiseModel:
        """Descend from ``(loadings, noise_variance)``; see :class:`NoiseModel`."""
        objective: list[float] = []
        G = np.array(loadings, dtype=np.float64)
        point = self._descend(moment, penalty, G[:, G.any(axis=0)], noise_variance, objective)
        while point.G.size and not point.settled and len(objective) < self.max_iter:
            rows = np.flatnonzero(point.G.any(axis=1))
            part = self._descend(
                moment.restrict(rows), penalty, point.G[rows], point.noise, objective
            )
            G = np.zeros((moment.n_features, part.G.shape[1]))
            G[rows] = part.G
            # Settled among the features in use; whether others want in, only all can tell.
            point = self._descend(moment, penalty, G, part.noise, objective)
        return self._finish(moment, penalty, point, objective)

    def n_parameters(self, G: Array) -> int:
        """What the penalty counts in ``G``."""
        if self.penalize == "entries":
            return int(np.count_nonzero(G))
        return int(int(np.count_nonzero(G.any(axis=1))) * G.shape[1])

    def _descend(
        self, moment: SecondMoment, penalty: float, G: Array, noise: float, objective: list[float]
    ) -> _Point:
        """Iterate until settled, or until most features are zero and better set aside.

        ``J`` is appended to ``objective`` at every point visited.
        """
        tol = self.tol
        if moment.S.dtype == np.float32:
            tol = max(tol, 100 * float(np.finfo(np.float32).eps))
        previous = np.inf
        point = _evaluate(moment, G, noise)
        for step in range(max(1, self.max_iter - len(objective))):
            if step:
                point = _evaluate(moment, *self._em_step(moment, penalty, point))
            J = (point.deviance + penalty * self.n_parameters(point.G)) / 2
            objective.append(J)
            gained = max(moment.empty_deviance / 2 - J, 0.0)
            if not point.G.size or previous - J <= tol * (1 + gained):
                return replace(point, settled=True)
            if step + 1 == FULL_STEPS and _sets_aside(moment, point.G):
                return point
            previous = J
        return point

    def _em_step(self, moment: SecondMoment, penalty: float, point: _Point) -> tuple[Array, float]:
        """E-step, thresholded M-step, noise update and parameter expansion."""
        W_inverse = shifted_inverse(point.gram, point.noise)
        A = _symmetric(point.noise * W_inverse + W_inverse @ point.projected @ W_inverse)
        # Scores vary at least by what is not known of them, whatever rounding says.
        np.fill_diagonal(A, np.maximum(A.diagonal(), point.noise * W_inverse.diagonal()))
        B = point.SG @ W_inverse
        # Parameter expansion: the scores may have any covariance whose undoing leaves the
        # zeros of G in place: a diagonal one where entries are zero, a full one where rows
        # are. The likelihood cannot fall by it, and EM takes half the steps.
        if self.penalize == "entries":
            G = _threshold_entries(A, B, point.G, penalty * point.noise)
            return G * np.sqrt(A.diagonal()), _noise_update(moment, G, A, B)
        G = _threshold_features(A, B, penalty * point.noise)
        return G @ np.linalg.cholesky(A), _noise_update(moment, G, A, B)

    def _finish(
        self, moment: SecondMoment, penalty: float, point: _Point, objective: list[float]
    ) -> NoiseModel:
        G = point.G
        if self.penalize == "features":
            G = _principal_axes(G)
        stop = Stop.CONVERGED if point.settled else Stop.MAX_ITER
        places = np.flatnonzero(G)
        return NoiseModel(
            shape=(moment.n_features, G.shape[1]),
            places=places,
            values=G.ravel()[places],
            noise_variance=point.noise,
            penalty=penalty,
            deviance=point.deviance,
            n_parameters=self.n_parameters(G),
            objective=np.asarray(objective),
            stop=stop if G.shape[1] else Stop.NOISE_ALONE,
        )


def _evaluate(moment: SecondMoment, G: Array, noise: float) -> _Point:
    """One product with the covariance; columns that died are dropped first.

    A column of zeros can never come back: its residual is shrunk by the very
    certainty that its score is noise.
    """
    alive = G.any(axis=0)
    if not alive.all():
        G = G[:, alive]
    r = G.shape[1]
    if r == 0:
        nothing = np.zeros((0, 0))
        return _Point(G, moment.mean_variance, G, nothing, nothing, moment.empty_deviance)
    SG = moment @ G
    gram, projected = G.T @ G, _symmetric(G.T @ SG)
    deviance = noise_model_deviance(moment.total, moment.n_features, gram, projected, noise)
    return _Point(G, noise, SG, gram, projected, deviance)


def _sets_aside(moment: SecondMoment, G: Array) -> bool:
    """Whether enough features are zero throughout for iterating without them."""
    whole = G.shape[0] == moment.n_features
    return bool(whole and np.count_nonzero(G.any(axis=1)) < SET_ASIDE_BELOW * G.shape[0])


def _threshold_entries(A: Array, B: Array, G: Array, level: float) -> Array:
    from loadstone.solvers.l0_noise_kernels import threshold_entries

    G = np.array(G, order="C")
    threshold_entries(A, np.ascontiguousarray(B), G, level, MAX_SWEEPS)
    return G


def _threshold_features(A: Array, B: Array, level: float) -> Array:
    """Exact minimiser row by row: the least-squares row where its gain pays for r entries."""
    G = np.linalg.solve(A, B.T).T
    gain = np.einsum("ij,ij->i", G, B)
    return np.where((gain > level * B.shape[1])[:, None], G, 0.0)


def _noise_update(moment: SecondMoment, G: Array, A: Array, B: Array) -> float:
    """Expected squared residual per feature: a sum of terms none of which is negative."""
    residual = moment.diagonal + np.einsum("ij,ij->i", G, G @ A - 2 * B)
    noise = (moment.outside + float(np.maximum(residual, 0.0).sum())) / moment.n_features
    return max(noise, SMALLEST_NOISE * moment.mean_variance)


def _principal_axes(G: Array) -> Array:
    """``G`` turned so that its columns are orthogonal; the model stays the same.

    Fewer features in use than components leave columns of zeros, which are dropped.
    """
    if not G.size:
        return G
    rows = G.any(axis=1)
    U, singular, _ = np.linalg.svd(G[rows], full_matrices=False)
    kept = singular > singular[0] * G.shape[1] * np.finfo(np.float64).eps
    turned = np.zeros((G.shape[0], int(kept.sum())))
    turned[rows] = U[:, kept] * singular[kept]
    return turned


def _symmetric(matrix: Array) -> Array:
    return (matrix + matrix.T) / 2
