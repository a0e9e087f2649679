"""Starts of the l0 noise model: noisy PCA in closed form, and rotations of it.

Notation: ``G = P (L - noise I)^{1/2} R'`` with the leading eigenpairs ``P, L`` of the
second moment and any rotation ``R`` (Sec. 2 of Ulfarsson & Solo). All rotations have
the same likelihood; they differ in how close to sparse they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.covariance import Array, leading_eigenpairs
from loadstone.solvers.l0_noise_model import SecondMoment
from loadstone.solvers.varimax import varimax

INITS = ("varimax", "pca", "random")


@dataclass(frozen=True)
class NoisyPCA:
    """Leading eigenpairs of the second moment: the model without penalty for every r."""

    moment: SecondMoment
    eigenvalues: Array
    vectors: Array

    @classmethod
    def of(cls, moment: SecondMoment, max_components: int) -> NoisyPCA:
        """Eigenpairs for up to ``max_components`` components, computed once."""
        rank = min(max_components, moment.n_features)
        values, vectors = leading_eigenpairs(moment.S, rank)
        values = moment.shrink * np.maximum(values.astype(np.float64), 0.0)
        return cls(moment, values, vectors.astype(np.float64))

    def objection(self, n_components: int) -> str | None:
        """Why ``n_components`` cannot be fitted; ``None`` where they can.

        With as many components as the data has dimensions no noise is left, and the
        likelihood grows without limit.
        """
        explained = float(self.eigenvalues[:n_components].sum())
        left = self.moment.total - explained
        digits = self.moment.n_features * float(np.finfo(self.moment.S.dtype).eps)
        if n_components < self.limit(self.moment) and left > 10 * digits * self.moment.total:
            return None
        return (
            f"n_components={n_components} reaches the rank of the data "
            f"(n_features={self.moment.n_features}, n_samples={self.moment.S.n_samples:g}): no noise "
            "would be left and the likelihood has no maximum; ask for fewer components"
        )

    @classmethod
    def all_candidates(cls, moment: SecondMoment, most: int) -> tuple[NoisyPCA, list[int]]:
        """Every number of components up to ``most`` that leaves noise to model."""
        spectrum = cls.of(moment, max(1, min(most, cls.limit(moment))))
        wanted = range(1, spectrum.eigenvalues.size + 1)
        candidates = [r for r in wanted if spectrum.objection(r) is None]
        if not candidates:
            msg = (
                f"n_features={moment.n_features} and n_samples={moment.S.n_samples:g} leave no room "
                "for a component beside the noise: the data has rank 1 or less. Give more features "
                "or samples"
            )
            raise ValueError(msg)
        return spectrum, candidates

    @staticmethod
    def limit(moment: SecondMoment) -> int:
        """Upper limit of the rank: features, or samples less one for the mean."""
        n = moment.S.n_samples
        samples = int(np.ceil(n)) - 1 if np.isfinite(n) else moment.n_features
        return min(moment.n_features, samples)

    def closed_form(self, n_components: int) -> tuple[Array, float]:
        """Loadings and noise variance that maximise the likelihood."""
        values = self.eigenvalues[:n_components]
        features = self.moment.n_features
        noise = (self.moment.total - float(values.sum())) / (features - n_components)
        return self.vectors[:, :n_components] * np.sqrt(np.maximum(values - noise, 0.0)), noise

    def start(self, n_components: int, init: str, rng: np.random.Generator) -> tuple[Array, float]:
        """Closed form, turned as ``init`` says."""
        G, noise = self.closed_form(n_components)
        if init == "varimax":
            return varimax(G), noise
        if init == "random":
            return G @ _random_rotation(n_components, rng), noise
        return G, noise


def _random_rotation(r: int, rng: np.random.Generator) -> Array:
    Q, triangle = np.linalg.qr(rng.standard_normal((r, r)))
    result: Array = Q * np.sign(triangle.diagonal())
    return result
