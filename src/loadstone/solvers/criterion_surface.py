"""Number of components and sparsity together: the criterion over (r, h) of the noise model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from loadstone.covariance import Array
from loadstone.loadings import Stop
from loadstone.metrics.information_criteria import bic, ebic
from loadstone.solvers.l0_noise_model import L0NoiseModel, NoiseModel, SecondMoment
from loadstone.solvers.l0_noise_path import penalty_path, penalty_range
from loadstone.solvers.l0_noise_start import NoisyPCA

CRITERIA = ("ebic", "bic")
#: Numbers of components in a row that may fail to improve before the search ends.
PATIENCE = 2
#: Criteria closer than this share are ties, and go to the smaller model.
TIE = 1e-9

ROW = np.dtype(
    [
        ("n_components_asked", np.intp),
        ("penalty", np.float64),
        ("n_components", np.intp),
        ("n_nonzero", np.intp),
        ("n_features_used", np.intp),
        ("noise_variance", np.float64),
        ("deviance", np.float64),
        ("bic", np.float64),
        ("ebic", np.float64),
        ("criterion", np.float64),
    ]
)


@dataclass(frozen=True)
class CriterionSurface:
    """All models that were fitted, what they score, and which one is chosen.

    Attributes
    ----------
    models : tuple of NoiseModel
        One per row of ``table``.
    table : structured ndarray
        ``n_components_asked`` and ``penalty`` span the surface; the other columns say
        what came out. The model without components, where it is a candidate, has
        ``n_components_asked = 0``.
    best : int
        Row of the chosen model: smallest criterion, ties to the smaller model.
    """

    models: tuple[NoiseModel, ...]
    table: Array
    best: int


@dataclass(frozen=True)
class SurfaceSearch:
    """How the surface is walked over.

    Parameters
    ----------
    solver : L0NoiseModel
    criterion : {"ebic", "bic"} or float
        What is minimised; a number is a fixed penalty ``h``, and then models are
        compared by the penalised likelihood ``2 J`` itself.
    gamma : float
        Weight of the price for choosing among many places in ``"ebic"``.
    n_penalties, limits : int, tuple or None
        Penalties per number of components, evenly spaced in the logarithm between
        ``limits``; ``None`` lets :func:`~loadstone.solvers.l0_noise_path.penalty_range`
        decide.
    init, n_init : str, int
        First start, and how many starts; those after the first are random rotations.
    n_candidates : int or None
        Features there are to choose from, where a working set leaves some out.
    """

    solver: L0NoiseModel = field(default_factory=L0NoiseModel)
    criterion: str | float = "ebic"
    gamma: float = 1.0
    n_penalties: int = 50
    limits: tuple[float, float] | None = None
    init: str = "varimax"
    n_init: int = 1
    n_candidates: int | None = None

    def __call__(
        self,
        moment: SecondMoment,
        spectrum: NoisyPCA,
        candidates: Iterable[int],
        rng: np.random.Generator,
        *,
        exactly: int | None = None,
        give_up: bool = False,
        progress: Callable[[int, NoiseModel], bool] | None = None,
    ) -> CriterionSurface:
        """Fit every candidate number of components along its path.

        With ``exactly`` a number of components is an order: a model that has them all
        alive is chosen if there is one. Otherwise the model without components is a
        candidate too. ``give_up`` ends the search once more components stop to pay.
        ``progress`` hears of every model and ends the search after the path under way by
        returning true.
        """
        models: list[NoiseModel] = []
        asked: list[int] = []
        stop: list[bool] = []
        if exactly is None:
            models.append(empty_model(moment))
            asked.append(0)
        lowest, in_vain = self._lowest(moment, models), 0
        for r in candidates:
            found = self._path(moment, spectrum, r, rng, _told(progress, r, stop))
            models.extend(found)
            asked.extend([r] * len(found))
            value = self._lowest(moment, found)
            in_vain = 0 if value < lowest else in_vain + 1
            lowest = min(lowest, value)
            if any(stop) or (give_up and in_vain == PATIENCE):
                break
        table = self._table(moment, models, asked)
        return CriterionSurface(tuple(models), table, _choose(table, exactly))

    def _path(
        self,
        moment: SecondMoment,
        spectrum: NoisyPCA,
        r: int,
        rng: np.random.Generator,
        progress: Callable[[NoiseModel], None] | None,
    ) -> list[NoiseModel]:
        starts = [spectrum.start(r, self.init, rng)]
        starts += [spectrum.start(r, "random", rng) for _ in range(self.n_init - 1)]
        penalties = self._penalties(moment, starts[0])
        return penalty_path(self.solver, moment, penalties, starts, progress)

    def _penalties(self, moment: SecondMoment, start: tuple[Array, float]) -> Array:
        if not isinstance(self.criterion, str):
            return np.array([float(self.criterion)])
        G, noise = start
        limits = self.limits or penalty_range(moment, noise, self._reference(moment, G.shape[1]))
        return np.geomspace(*limits, self.n_penalties)

    def _reference(self, moment: SecondMoment, r: int) -> float:
        """What the criterion charges for one more entry."""
        n = moment.S.n_samples
        places = self._n_places(moment, r)
        extra = 2 * self.gamma * np.log(places) if self.criterion == "ebic" else 0.0
        return float(np.log(n) + extra) / n

    def _n_places(self, moment: SecondMoment, r: int) -> int:
        """Entries of ``G``, or rows of it, that could be chosen."""
        n_features = self.n_candidates or moment.n_features
        return n_features * (r if self.solver.penalize == "entries" else 1)

    def _lowest(self, moment: SecondMoment, models: list[NoiseModel]) -> float:
        return min((self._row(moment, model, 0)[-1] for model in models), default=np.inf)

    def _row(self, moment: SecondMoment, model: NoiseModel, asked: int) -> tuple[float, ...]:
        n = moment.S.n_samples
        nonzero, used = model.n_nonzero, model.n_features_used
        by_entry = self.solver.penalize == "entries"
        plain = bic(model.deviance, model.n_parameters, n)
        extended = ebic(
            model.deviance,
            model.n_parameters,
            n,
            n_chosen=nonzero if by_entry else used,
            n_candidates=self._n_places(moment, model.n_components),
            gamma=self.gamma,
        )
        named = {"bic": plain, "ebic": extended}
        value = (
            named[self.criterion] if isinstance(self.criterion, str) else model.penalised_deviance
        )
        shape = (asked, model.penalty, model.n_components, nonzero, used)
        return (*shape, model.noise_variance, model.deviance, plain, extended, value)

    def _table(self, moment: SecondMoment, models: list[NoiseModel], asked: list[int]) -> Array:
        rows = [self._row(moment, m, r) for m, r in zip(models, asked, strict=True)]
        return np.array(rows, dtype=ROW)


def empty_model(moment: SecondMoment) -> NoiseModel:
    """Noise alone: no component, variance ``mean(Y^2)``."""
    deviance = moment.empty_deviance
    return NoiseModel(
        shape=(moment.n_features, 0),
        places=np.empty(0, dtype=np.intp),
        values=np.empty(0),
        noise_variance=moment.mean_variance,
        penalty=0.0,
        deviance=deviance,
        n_parameters=0,
        objective=np.array([deviance / 2]),
        stop=Stop.NOISE_ALONE,
    )


def _told(
    progress: Callable[[int, NoiseModel], bool] | None, r: int, stop: list[bool]
) -> Callable[[NoiseModel], None] | None:
    """Tell ``progress`` of each model of the path with ``r``; answers gather in ``stop``."""
    if progress is None:
        return None
    return lambda model: stop.append(bool(progress(r, model)))


def _choose(table: Array, exactly: int | None = None) -> int:
    rows = np.arange(table.size)
    if exactly is not None and np.any(table["n_components"] == exactly):
        rows = np.flatnonzero(table["n_components"] == exactly)
    values = table["criterion"][rows]
    rows = rows[values <= values.min() + TIE * (1 + abs(values.min()))]
    tied = table[rows]
    smaller = ("n_nonzero", "n_components", "n_components_asked")
    order = np.lexsort((-tied["penalty"], *(tied[name] for name in reversed(smaller))))
    return int(rows[order[0]])
