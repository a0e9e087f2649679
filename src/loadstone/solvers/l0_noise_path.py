"""The l0 noise model along a path of penalties, warm started in both directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from loadstone.covariance import Array
from loadstone.solvers.l0_noise_model import L0NoiseModel, NoiseModel, SecondMoment

#: Smallest penalty of an automatic path, as a share of the one its criterion stands for.
SMALLEST_SHARE = 0.1
#: The way back ends after this many penalties in a row without a notably better model,
PATIENCE = 6
#: that is, one whose gain over the model without components is larger by this share.
NOTABLE = 1e-5


def penalty_range(
    moment: SecondMoment, noise_variance: float, reference: float
) -> tuple[float, float]:
    """From a tenth of ``reference`` to where even the strongest feature is thresholded.

    ``reference`` is the penalty a criterion stands for; far below it models are dense
    and costly and no criterion takes them. An entry survives while its squared signal to
    noise ratio ``g^2 / noise`` exceeds the penalty; ``g^2`` is at most the variance of its
    feature, and the noise at least ``noise_variance``, that of the model without penalty.
    """
    highest = float(moment.diagonal.max()) / noise_variance
    return min(SMALLEST_SHARE * reference, highest / 10), highest


def penalty_path(
    solver: L0NoiseModel,
    moment: SecondMoment,
    penalties: Array,
    starts: Sequence[tuple[Array, float]],
    progress: Callable[[NoiseModel], None] | None = None,
) -> list[NoiseModel]:
    """The best model found at each of ``penalties``, which increase.

    From each start the path runs from dense to sparse, and back from the sparsest model
    with all components alive. The two meet different local minima: on the way out a
    component that died cannot return and supports stay too large, on the way back they
    stay small. At each penalty the model with the smaller ``J`` is kept, and the way
    back ends once it has stopped finding any.
    """
    best: list[NoiseModel | None] = [None] * len(penalties)

    def visit(i: int, G: Array, noise: float) -> tuple[NoiseModel, float]:
        model = solver(moment, float(penalties[i]), G, noise)
        rival = best[i]
        gained = 1 + max(moment.empty_deviance - model.penalised_deviance, 0.0)
        lead = np.inf if rival is None else rival.penalised_deviance - model.penalised_deviance
        if lead > 0:
            best[i] = model
        if progress is not None:
            progress(model)
        return model, lead / gained

    for G, noise in starts:
        sparsest = _outward(visit, len(penalties), G, noise)
        if len(penalties) > 1:
            _back(visit, len(penalties), *sparsest)
    return [model for model in best if model is not None]


#: Solves at a penalty from a state; returns the model and its relative lead over the best.
Visit = Callable[[int, Array, float], tuple[NoiseModel, float]]


def _outward(visit: Visit, n: int, G: Array, noise: float) -> tuple[Array, float]:
    """Dense to sparse; returns the last state in which no component had died."""
    sparsest = (G, noise)
    for i in range(n):
        model, _ = visit(i, G, noise)
        G, noise = model.loadings, model.noise_variance
        if model.n_components == sparsest[0].shape[1]:
            sparsest = (G, noise)
    return sparsest


def _back(visit: Visit, n: int, G: Array, noise: float) -> None:
    """Sparse to dense, always from a state with all components alive."""
    in_vain = 0
    for i in range(n - 1, -1, -1):
        model, lead = visit(i, G, noise)
        if model.n_components == G.shape[1]:
            G, noise = model.loadings, model.noise_variance
            in_vain = 0 if lead > NOTABLE else in_vain + 1
        if in_vain == PATIENCE:
            return
