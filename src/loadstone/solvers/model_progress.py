"""What searches for noise models tell on their way."""

from __future__ import annotations

from collections.abc import Callable

from loadstone.solvers.l0_noise_descent import Descent
from loadstone.solvers.l0_noise_model import NoiseModel

#: Told the name of a step and facts about it; returns whether to stop.
Report = Callable[..., bool]


def of_descents(report: Report) -> Callable[[str, int, Descent], bool]:
    """Tell of each size and kind of noise."""

    def progress(kind: str, n_components: int, descent: Descent) -> bool:
        return report(
            f"{n_components} component(s), {kind} noise",
            n_components=n_components,
            noise=kind,
            objective=descent.objective,
            n_iter=descent.objective.size,
        )

    return progress


def of_models(report: Report) -> Callable[[int, NoiseModel], bool]:
    """Tell of each model on the surface of a criterion."""

    def progress(n_components: int, model: NoiseModel) -> bool:
        return report(
            f"{n_components} component(s), penalty {model.penalty:.3g}",
            n_components=n_components,
            penalty=model.penalty,
            objective=model.objective,
            n_iter=model.n_iter,
        )

    return progress


def of_sizes(report: Report) -> Callable[[int, float], bool]:
    """Tell of each size and what rows left out say of it."""

    def progress(n_components: int, density: float) -> bool:
        return report(
            f"{n_components} component(s), held out", n_components=n_components, held_out=density
        )

    return progress
