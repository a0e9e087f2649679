"""The data of Section 6.2 of Guan & Dy and what loadings explain on it, by both measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import data
from experiments.quietly import fitted, timed
from experiments.run import Run
from loadstone import ElasticNetPCA, SparsePCA, SparseProbabilisticPCA, datasets
from loadstone.covariance import Covariance, covariance_of
from loadstone.metrics import adjusted_variance, marginal_variance

Array = NDArray[np.float64]
#: The priors as they are called here, and as figures call them.
PRIORS = {"jeffreys": "Jeffreys", "inverse_gaussian": "inverse Gaussian", "laplace": "Laplace"}
#: Components at the start.
SETS = {"glass": 8, "charts": 20, "faces": 12}
#: What the paper's own loop does: principal components first, no rotations.
AS_RUN = {"init": "pca", "rotation_steps": False}


def matrix(name: str) -> Array:
    """Glass standardised, charts and CMU faces as they are."""
    if name == "glass":
        return data.glass_standardised()
    fetched = datasets.fetch_synthetic_control() if name == "charts" else datasets.fetch_cmu_faces()
    return np.asarray(fetched.data, dtype=np.float64)


def ranked(S: Covariance, W: Array) -> Array:
    """Columns by variance, largest first, as the paper ranks them."""
    return np.asarray(W[:, np.argsort(-marginal_variance(S, W), kind="stable")])


def cumulative(S: Covariance, W: Array, method: str) -> Array:
    """Cumulative share of the variance, by GS (``"loadings"``) or QR (``"scores"``)."""
    return np.asarray(np.cumsum(adjusted_variance(S, W, method=method)) / S.diagonal().sum())


@dataclass(frozen=True)
class Curve:
    """What a set of loadings explains, component by component."""

    gs: Array
    qr: Array
    sizes: Array

    @classmethod
    def of(cls, S: Covariance, W: Array) -> Curve:
        """Both measures of the ranked columns."""
        W = ranked(S, W)
        nonzero = np.cumsum((W != 0).sum(axis=0))
        return cls(cumulative(S, W, "loadings"), cumulative(S, W, "scores"), nonzero)


@dataclass(frozen=True)
class Rival:
    """How the elastic net got where it is."""

    rounds: int
    settled: bool
    seconds: float


def elastic_net(name: str, X: Array, sizes: Any) -> tuple[Array, Rival]:
    """SPCA with given sizes: its loadings, and how they were found."""
    # The authors' own form for many features.
    many = name == "faces"
    model = ElasticNetPCA(len(sizes), n_nonzero=sizes, ridge=np.inf if many else "auto")
    # Where supports take turns their last digits take thousands of rounds on faces.
    model, seconds = timed(model.set_params(tol=1e-4 if many else 1e-6), X)
    settled = "maximum number" not in model.stop_reason_[0]
    return model.components_.T, Rival(int(model.n_iter_), settled, seconds)


def curves(run: Run, name: str) -> dict[str, Curve]:
    """SPPCA with three priors, and SPCA and SparsePCA with the same sizes."""
    return run.once(f"curves {name}", lambda: _curves(run, name))


def rivals(run: Run, name: str) -> list[Rival]:
    """The fits of the elastic net behind :func:`curves`."""
    return run.once(f"rivals {name}", list)


def by_prior(run: Run, name: str) -> dict[str, Array]:
    """Loadings of the model with each prior."""

    def measure() -> dict[str, Array]:
        X = matrix(name)
        models = {p: SparseProbabilisticPCA.as_published(SETS[name], p) for p in PRIORS}
        return {p: np.asarray(fitted(model, X).components_.T) for p, model in models.items()}

    return run.once(f"models {name}", measure)


def _curves(run: Run, name: str) -> dict[str, Curve]:
    X = matrix(name)
    S, _ = covariance_of(X)
    found: dict[str, Curve] = {}
    for prior, loadings in by_prior(run, name).items():
        run.tell(f"{name}: sizes of {prior}")
        sizes = (loadings != 0).sum(axis=0)
        found[prior] = Curve.of(S, loadings)
        W, rival = elastic_net(name, X, sizes)
        rivals(run, name).append(rival)
        found[f"SPCA, sizes of {prior}"] = Curve.of(S, W)
        ours = SparsePCA(len(sizes), n_nonzero=sizes)
        if name == "faces":
            # Hundreds of loadings in each of twelve components: found one by one, not refined.
            ours.set_params(effort="fast", refine=False)
        found[f"SparsePCA, sizes of {prior}"] = Curve.of(S, fitted(ours, X).components_.T)
    if name == "faces":
        return found
    options = {"max_iter": 500 if name == "glass" else 100, "tol": 0.0, **AS_RUN}
    model = fitted(SparseProbabilisticPCA.as_published(SETS[name], "jeffreys", **options), X)
    found["published run, jeffreys"] = Curve.of(S, model.components_.T)
    W, _ = elastic_net(name, X, model.cardinality_)
    found["SPCA, sizes of the published run"] = Curve.of(S, W)
    return found
