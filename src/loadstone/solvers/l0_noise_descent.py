"""Descent of the l0-penalised likelihood with noise per feature, complete or with holes.

Notation: ``t = G u + e``, ``u ~ N(0, I_r)``, ``e_i ~ N(0, psi_i)``, ``S = T'T/N``, ``v = diag S``;
``W = I + G'Psi^-1 G``. Minimised is ``J = deviance + h |G|_0`` with ``deviance = sum ln psi_i +
ln|W| + sum (1 + ETA) v_i/psi_i - tr(W^-1 G'Psi^-1 S Psi^-1 G)``, minus twice the log-likelihood
per sample; ETA keeps duplicates of a feature from a likelihood without limit. ``A = <uu'>`` and
``B = <tu'>`` are the moments of the E-step. ``G`` is stored as (r, d). With one noise variance
for all features this is the model of Ulfarsson & Solo.

The M-step is exact in every entry: with free noise the noise is profiled out, and an entry stays
where ``ln(residual without / residual with) > h``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.loadings import Stop
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.factor_models.noise import ETA
from loadstone.solvers.factor_models.samples import Samples, Scores, known_moments
from loadstone.solvers.l0_noise_newton import ROUNDING as DEVIANCE_ROUNDING
from loadstone.solvers.l0_noise_newton import newton

#: Sweeps over the columns in one M-step.
N_SWEEPS = 2
#: Longest extrapolation of a pair of steps.
MAX_LEAP = 100.0
#: Difference of deviances that is rounding.
ROUNDING = 1e-14
#: Parameters up to which the last digits come from Newton's method.
NEWTON_PARAMETERS = 400
#: Movement of the noise in one step at rest, in roots of the tolerance.
STILL = 0.1


@dataclass(frozen=True)
class L0Point:
    """A point of the descent, and everything one E-step tells about it.

    Attributes
    ----------
    G : ndarray of shape (r, d)
    noise : ndarray of shape (d,)
    location : ndarray of shape (d,)
    deviance : float
    scores : Scores
    """

    G: Array
    noise: Array
    location: Array
    deviance: float
    scores: Scores

    @property
    def n_nonzero(self) -> int:
        """Non-zero entries of ``G``."""
        return int(np.count_nonzero(self.G))

    @property
    def n_components(self) -> int:
        """Components that are alive."""
        return int(self.G.shape[0])

    def model(self, kind: str) -> FactorModel:
        """Components by decreasing strength over the noise, which is ``"free"`` or ``"shared"``."""
        order = np.argsort(-(np.square(self.G) / self.noise).sum(axis=1), kind="stable")
        return FactorModel(self.G[order].T, self.noise if kind == "free" else float(self.noise[0]))


@dataclass(frozen=True)
class Descent:
    """Where a descent ended, ``J`` at every point on the way, and why it ended."""

    point: L0Point
    objective: Array
    stop: Stop

    @property
    def value(self) -> float:
        """``J`` at the end."""
        return float(self.objective[-1])


def evaluated(samples: Samples, G: Array, noise: Array, location: Array | None = None) -> L0Point:
    """E-step and deviance; columns that died are dropped first."""
    G = G[G.any(axis=1)]
    location = np.zeros(samples.n_features) if location is None else location
    precision = (1.0 / noise)[None]
    moments = known_moments(G[None], precision, per_feature=samples.per_feature)
    scores = samples.scores(G[None], moments, precision, location[None])
    deviance = samples.counts @ np.log(noise) + (samples.squares(location) / noise).sum()
    deviance -= float(scores.log_determinant[0] + scores.explained[0])
    floored = float(deviance / samples.n_samples) + floor_term(samples, noise)
    return L0Point(G, noise, location, floored, scores)


def floor_term(samples: Samples, noise: Array) -> float:
    """What the floor of the noise adds to the deviance."""
    return float((ETA * samples.counts * samples.variance / noise).sum() / samples.n_samples)


@dataclass(frozen=True)
class L0Descent:
    """Generalised EM at one penalty.

    Attributes
    ----------
    noise : {"free", "shared"}
        One noise variance per feature, or one for all.
    max_iter : int
        E-steps at most.
    tol : float
        Stop once a step lowers ``J`` by less than this share of what the model has gained
        over noise alone (plus one, for models that gain little).
    """

    noise: str = "free"
    max_iter: int = 1000
    tol: float = 1e-7

    def empty(self, samples: Samples) -> L0Point:
        """Noise alone."""
        noise = (1.0 + ETA) * samples.variance
        if self.noise == "shared":
            noise = np.full_like(noise, float(samples.counts @ noise / samples.counts.sum()))
        return evaluated(samples, np.zeros((0, samples.n_features)), noise)

    def is_lower(self, samples: Samples, rival: Descent, descent: Descent) -> bool:
        """Whether ``rival`` ends lower by more than the tolerance, which is in no unit."""
        gained = max(self.empty(samples).deviance - descent.value, 0.0)
        return rival.value < descent.value - self.tol * (1.0 + gained)

    def __call__(
        self,
        samples: Samples,
        penalty: float,
        G: Array,
        noise: Array,
        location: Array | None = None,
        keep: Array | None = None,
    ) -> Descent:
        """Descend from ``G`` (r, d); with ``keep`` its support stays as it is."""
        if self.noise == "shared":
            noise = np.full(samples.n_features, float(np.mean(noise)))
        if keep is not None:
            keep = keep[G.any(axis=1)]
        empty = self.empty(samples).deviance
        objective: list[float] = []
        point = evaluated(samples, G, noise, location)
        while True:
            objective.append(point.deviance + penalty * point.n_nonzero)
            if not point.n_components:
                return Descent(point, np.array(objective), Stop.NOISE_ALONE)
            if len(objective) == self.max_iter:
                break
            gained = max(empty - objective[-1], 0.0)
            if len(objective) > 1 and objective[-2] - objective[-1] <= self.tol * (1 + gained):
                alone = np.count_nonzero(point.G, axis=1) < 2
                if keep is not None or not alone.any():
                    return Descent(point, np.array(objective), Stop.CONVERGED)
                point = self._without(samples, point, alone)
                continue
            G, noise = self._step(samples, penalty, point, keep)
            if keep is not None:
                keep = keep[G.any(axis=1)]
            point = evaluated(samples, G, noise, point.scores.location[0])
        alone = np.count_nonzero(point.G, axis=1) < 2
        # With one noise for all that would cost likelihood, and a descent that has not ended falls.
        if keep is None and alone.any() and self.noise == "free":
            point = self._without(samples, point, alone)
            objective.append(point.deviance + penalty * point.n_nonzero)
        return Descent(point, np.array(objective), Stop.MAX_ITER)

    def _without(self, samples: Samples, point: L0Point, alone: Array) -> L0Point:
        """``point`` without columns of one feature: noise of that feature, which has no price."""
        freed = point.noise + np.square(point.G[alone]).sum(axis=0)
        noise = freed if self.noise == "free" else point.noise
        return evaluated(samples, point.G[~alone], noise, point.location)

    def settled(self, samples: Samples, penalty: float, start: L0Point, enough: float) -> Descent:
        """The maximum of the likelihood on the support of ``start``, to many digits.

        Where ``tol`` takes too long, steps that lower ``J`` by less than ``enough`` will do.
        """
        descent = self._crept(samples, penalty, start, enough)
        point = descent.point
        if samples.per_feature or point.n_nonzero + samples.n_features > NEWTON_PARAMETERS:
            return descent
        best, reached = self._by_newton(samples, point)
        if not reached or best.deviance > point.deviance + DEVIANCE_ROUNDING * (
            1.0 + abs(point.deviance)
        ):
            return descent
        last = min(best.deviance + penalty * best.n_nonzero, descent.value)
        return Descent(best, np.append(descent.objective, last), Stop.CONVERGED)

    def _by_newton(self, samples: Samples, start: L0Point) -> tuple[L0Point, bool]:
        """The bottom of the valley of ``start``, and whether it was reached."""
        keep, n = start.G != 0, start.n_nonzero
        noise = start.noise if self.noise == "free" else start.noise[:1]

        def at(x: Array) -> L0Point:
            G = np.zeros_like(start.G)
            G[keep] = x[:n]
            variance = np.exp(np.clip(x[n:], -700.0, 700.0))
            return evaluated(samples, G, np.broadcast_to(variance, start.noise.shape))

        def function(x: Array) -> tuple[float, Array]:
            point = at(x)
            A, B = point.scores.second[0] / samples.n_samples, point.scores.cross[0]
            B, product = B / samples.n_samples, _products(A, point.G)
            left = (1.0 + ETA) * samples.variance + (point.G * (product - 2.0 * B)).sum(axis=0)
            slope = 1.0 - left / point.noise
            own = slope if self.noise == "free" else slope.sum(keepdims=True)
            return point.deviance, np.concatenate([(2.0 * (product - B) / point.noise)[keep], own])

        scale = np.concatenate(
            [np.tile(np.sqrt(start.noise), (len(keep), 1))[keep], 0.0 * noise + 1]
        )
        x, reached = newton(function, np.concatenate([start.G[keep], np.log(noise)]), scale)
        return at(x), reached

    def _crept(self, samples: Samples, penalty: float, start: L0Point, enough: float) -> Descent:
        """Squared extrapolation of pairs of steps (SQUAREM, Varadhan & Roland 2008).

        Where a feature is nearly free of noise, plain steps creep. A point is kept only where it
        is lower than the second step.
        """
        keep = start.G != 0
        empty = self.empty(samples).deviance
        objective = [start.deviance + penalty * start.n_nonzero]
        point, step, gained = start, np.inf, 0.0
        for _ in range(self.max_iter // 3):
            one = self._stepped(samples, penalty, point, keep)
            two = self._stepped(samples, penalty, one, keep)
            best = self._extrapolated(samples, penalty, (point, one, two), keep)
            objective.append(best.deviance + penalty * best.n_nonzero)
            moved = float(np.abs(np.log(one.noise / point.noise)).max())
            step = point.deviance - one.deviance
            point, fall = best, objective[-2] - objective[-1]
            gained = max(empty - objective[-1], 0.0)
            # Small noise moves on where the likelihood no longer feels it.
            if fall <= self.tol * (1.0 + gained) and moved <= np.sqrt(self.tol) * STILL:
                return Descent(point, np.array(objective), Stop.CONVERGED)
        stop = Stop.CONVERGED if step <= enough * (1.0 + gained) else Stop.MAX_ITER
        return Descent(point, np.array(objective), stop)

    def _stepped(self, samples: Samples, penalty: float, point: L0Point, keep: Array) -> L0Point:
        G, noise = self._step(samples, penalty, point, keep)
        return evaluated(samples, G, noise, point.scores.location[0])

    def _extrapolated(
        self,
        samples: Samples,
        penalty: float,
        points: tuple[L0Point, L0Point, L0Point],
        keep: Array,
    ) -> L0Point:
        """The lower of the last point and a step beyond the three."""
        # Loadings in noise units: next to logarithms, their length must not depend on the unit.
        sd = np.broadcast_to(np.sqrt(points[0].noise), keep.shape)[keep]
        x0, x1, x2 = (np.concatenate([p.G[keep] / sd, np.log(p.noise)]) for p in points)
        first, second = x1 - x0, (x2 - x1) - (x1 - x0)
        length = float(np.linalg.norm(first)) / max(float(np.linalg.norm(second)), 1e-300)
        length = float(np.clip(length, 1.0, MAX_LEAP))
        beyond = x0 + 2.0 * length * first + length**2 * second
        G = np.zeros_like(points[2].G)
        G[keep] = beyond[: sd.size] * sd
        noise = np.exp(np.clip(beyond[sd.size :], -700.0, 700.0))
        if not np.isfinite(G).all() or not G.any(axis=1).all():
            return points[2]
        rival = evaluated(samples, G, noise, points[2].location)
        rival = self._stepped(samples, penalty, rival, keep)
        slack = ROUNDING * (1.0 + abs(points[2].deviance))
        return rival if rival.deviance < points[2].deviance + slack else points[2]

    def _step(
        self, samples: Samples, penalty: float, point: L0Point, keep: Array | None
    ) -> tuple[Array, Array]:
        """Thresholded M-step, noise update and parameter expansion."""
        scores, counts = point.scores, samples.counts
        weight = counts / samples.n_samples
        # Moments per observed value; one matrix for all features where none is missing.
        A = scores.second[0] / (counts if samples.per_feature else counts[:1])
        B = scores.cross[0] / counts
        floor = ETA * samples.variance
        G = point.G.copy()
        residual = scores.square[0] / counts + (G * (_products(A, G) - 2.0 * B)).sum(axis=0)
        for _ in range(N_SWEEPS):
            for j in range(G.shape[0]):
                own = A[j, j]
                slope = B[j] - _products(A, G, j) + G[j] * own
                gain = np.square(slope) / own
                best = np.maximum(residual - np.square(slope - G[j] * own) / own, 0.0)
                if keep is not None:
                    stays = keep[j]
                elif self.noise == "free":
                    stays = weight * np.log1p(gain / (best + floor)) > penalty
                else:
                    stays = weight * gain > penalty * point.noise
                G[j] = np.where(stays, slope / own, 0.0)
                residual = np.where(stays, best, best + gain)
        noise = residual + floor
        if self.noise == "shared":
            noise = np.full_like(noise, float(counts @ noise / counts.sum()))
        # Parameter expansion: the scores may have any variance; undoing it keeps the zeros.
        spread = np.sqrt(np.diagonal(scores.total[0]) / samples.n_samples)
        return G * spread[:, None], noise


def _products(A: Array, G: Array, j: int | slice = slice(None)) -> Array:
    """``A_i g_i`` of every feature, or its entry ``j``; ``A`` is (r, r, 1) or (r, r, d)."""
    if A.shape[-1] == 1:
        return A[j, :, 0] @ G
    result: Array = np.einsum("...kd,kd->...d", A[j], G)
    return result
