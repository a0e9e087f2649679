"""Number of components, sparsity and kind of noise of the l0 model, by one criterion.

Notation: ``EBIC = J`` at ``h = (ln N + 2 gamma ln(d r))/N``, so that no path of penalties is
walked: for each number of components ``r`` the descent runs at that penalty, from varimax of the
principal axes and from the variational model of the same size, with maps in between.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from loadstone.covariance.protocol import Array, Covariance
from loadstone.loadings import Stop
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.factor_models.rounds import State
from loadstone.solvers.factor_models.samples import Samples, samples_of
from loadstone.solvers.factor_models.sparse_factors import (
    MAX_COMPONENTS,
    PATIENCE,
    SparseFactors,
    most_components,
    newest_is_null,
    refuse_sizes,
)
from loadstone.solvers.factor_models.starts import joint_start
from loadstone.solvers.l0_noise_descent import Descent, L0Descent
from loadstone.solvers.l0_noise_maps import mapped
from loadstone.solvers.variational_bayes.missing import IncompleteObservations

NOISES = ("auto", "free", "shared")
#: Criteria closer than this share are ties.
TIE = 1e-6
#: Steps of one descent at most before a model is chosen.
SEARCH_STEPS = 300
#: How much closer the chosen model is settled than its rivals.
SETTLED = 1e-3
#: A kind of noise is given up that is behind another, whose search has ended, by this many
#: gains of its last component.
HOPELESS = 5.0
#: Rounds of maps and descents at most.
MAX_MAPS = 4
#: Probability from which on a loading of the variational model is part of a start.
START_INCLUSION = 0.2

ROW = np.dtype(
    [
        ("noise", "U6"),
        ("n_components", np.intp),
        ("n_nonzero", np.intp),
        ("penalty", np.float64),
        ("deviance", np.float64),
        ("criterion", np.float64),
    ]
)
#: Told of every descent (noise, components asked for, descent); returns whether to stop.
OnDescent = Callable[[str, int, Descent], bool]


@dataclass(frozen=True, kw_only=True)
class L0Fit:
    """A fitted l0 model, components by decreasing strength.

    Attributes
    ----------
    model : FactorModel
    location : ndarray of shape (n_features,)
        Mean relative to the column means.
    noise : {"free", "shared"}
    penalty : float
        ``h`` of one entry.
    deviance, criterion : float
        Minus twice the log-likelihood per sample (without constant), and what was minimised.
    table : structured ndarray
        The best model of every size and kind of noise.
    objective : ndarray
        ``J`` along the descent to the chosen model; never rises.
    stop : Stop
    """

    model: FactorModel
    location: Array
    noise: str
    penalty: float
    deviance: float
    criterion: float
    table: Array
    objective: Array
    stop: Stop


@dataclass(frozen=True, kw_only=True)
class L0Search:
    """Search for the l0 model with the lowest criterion.

    Attributes
    ----------
    noise : {"auto", "free", "shared"}
        ``"auto"`` takes the lower of both, free noise paying for ``d - 1`` more parameters.
    gamma : float
        Weight of the price for choosing among many places; 0 is BIC.
    penalty : float or None
        A fixed ``h`` in place of that of the criterion.
    max_iter, tol : int, float
        See `L0Descent`.
    """

    noise: str = "auto"
    gamma: float = 1.0
    penalty: float | None = None
    max_iter: int = 1000
    tol: float = 1e-7

    def __call__(
        self,
        data: Covariance | IncompleteObservations,
        n_components: int | Collection[int] | None = None,
        on_descent: OnDescent | None = None,
    ) -> L0Fit:
        """Fit a number of components, the best of several numbers, or (``None``) any."""
        samples = samples_of(data)
        if n_components is None:
            wanted, last = None, min(MAX_COMPONENTS, most_components(samples))
        else:
            wanted = {n_components} if isinstance(n_components, int) else set(n_components)
            refuse_sizes(samples, wanted)
            last = max(wanted)
        kinds = ("shared", "free") if self.noise == "auto" else (self.noise,)
        walks = [_Walk(self, samples, kind) for kind in kinds]
        # Pooled noise suits both kinds; free noise alone must not depend on units.
        search = SparseFactors(noise="free" if self.noise == "free" else "pooled").growth()
        growth = search.sequence(samples, smallest=0 if wanted is None else min(wanted))
        state: State | None = None
        for r in range(last + 1):
            # Once the variational search finds nothing more, it has no start to offer either.
            goes_on = r == 0 or (state is not None and not newest_is_null(state))
            state = next(growth) if goes_on else None
            lowest = min(walk.lowest for walk in walks)
            for walk in walks:
                others_done = all(other.done for other in walks if other is not walk)
                if others_done and walk.lowest - lowest > HOPELESS * walk.gain:
                    walk.done = True
                if r in wanted if wanted is not None else not walk.done:
                    walk.visit(r, state, on_descent)
            if any(w.stopped for w in walks) or (wanted is None and all(w.done for w in walks)):
                break
        return self._chosen(walks, wanted)

    def price(self, samples: Samples, n_components: int) -> float:
        """``h``: what the criterion charges for one entry."""
        if self.penalty is not None:
            return self.penalty
        n = samples.n_samples
        places = np.log(samples.n_features * max(n_components, 1))
        return float(np.log(n) + 2.0 * self.gamma * places) / n

    def criterion(self, samples: Samples, kind: str, descent: Descent) -> float:
        """Penalised deviance at the price of the components that are alive."""
        point = descent.point
        value = point.deviance + self.price(samples, point.n_components) * point.n_nonzero
        if kind == "free" and self.noise == "auto":
            value += (samples.n_features - 1) * float(np.log(samples.n_samples)) / samples.n_samples
        return value

    def best_descent(self, samples: Samples, kind: str, r: int, state: State | None) -> Descent:
        """The lowest of the descents to ``r`` components from both starts."""
        solver = L0Descent(kind, min(self.max_iter, SEARCH_STEPS), self.tol)
        if r == 0:
            point = solver.empty(samples)
            return Descent(point, np.array([point.deviance]), Stop.EMPTY)
        starts: list[tuple[Array, Array, Array | None]] = [(*joint_start(samples, r), None)]
        if state is not None:
            law, location = state.law, state.location[0]
            W = np.where(law.inclusion[0] > START_INCLUSION, law.mean[0], 0.0)
            starts.append((W, 1.0 / state.noise.precision[0], location))
        penalty = self.price(samples, r)
        found = [
            _with_maps(solver, samples, penalty, solver(samples, penalty, *start))
            for start in starts
        ]
        return min(found, key=lambda d: self.criterion(samples, kind, d))

    def _chosen(self, walks: list[_Walk], wanted: set[int] | None) -> L0Fit:
        rows, fits = [], []
        for walk in walks:
            for r, descent in sorted(walk.best.items()):
                value = self.criterion(walk.samples, walk.kind, descent)
                point = descent.point
                h = self.price(walk.samples, point.n_components)
                rows.append((walk.kind, r, point.n_nonzero, h, point.deviance, value))
                fits.append((walk, descent))
        table = np.array(rows, dtype=ROW)
        eligible = np.ones(table.size, dtype=bool)
        if wanted is not None:
            eligible = np.isin(table["n_components"], list(wanted))
            if not eligible.any():
                eligible = table["n_components"] == table["n_components"].max()
        best = int(np.argmin(np.where(eligible, table["criterion"], np.inf)))
        walk, descent = fits[best]
        descent = self._settled(walk, descent)
        point = descent.point
        order = np.argsort(-(np.square(point.G) / point.noise).sum(axis=1), kind="stable")
        noise = point.noise if walk.kind == "free" else float(point.noise[0])
        return L0Fit(
            model=FactorModel(point.G[order].T, noise),
            location=point.location,
            noise=walk.kind,
            penalty=float(table["penalty"][best]),
            deviance=point.deviance,
            criterion=self.criterion(walk.samples, walk.kind, descent),
            table=table,
            objective=descent.objective,
            stop=descent.stop,
        )

    def _settled(self, walk: _Walk, descent: Descent) -> Descent:
        """The same supports, to more digits than a comparison of models needs."""
        point = descent.point
        if not point.n_components:
            return descent
        solver = L0Descent(walk.kind, self.max_iter, SETTLED * self.tol)
        penalty = self.price(walk.samples, point.n_components)
        start = (point.G, point.noise, point.location)
        return solver(walk.samples, penalty, *start, keep=point.G != 0)


class _Walk:
    """The sizes 0, 1, 2, ... of one kind of noise, until two in a row do not pay."""

    def __init__(self, search: L0Search, samples: Samples, kind: str) -> None:
        self.search, self.samples, self.kind = search, samples, kind
        self.best: dict[int, Descent] = {}
        self.lowest, self.in_vain, self.gain = np.inf, 0, np.inf
        self.done = self.stopped = False

    def visit(self, r: int, state: State | None, on_descent: OnDescent | None) -> None:
        """Descend to ``r`` components."""
        descent = self.search.best_descent(self.samples, self.kind, r, state)
        value = self.search.criterion(self.samples, self.kind, descent)
        alive = descent.point.n_components
        rival = self.best.get(alive)
        if rival is None or value < self.search.criterion(self.samples, self.kind, rival):
            self.best[alive] = descent
        pays = alive == r and value < self.lowest - TIE * (1.0 + abs(self.lowest))
        self.in_vain = 0 if pays else self.in_vain + 1
        if self.best and np.isfinite(self.lowest):
            self.gain = max(self.lowest - value, 0.0)
        self.lowest = min(self.lowest, value)
        self.done = self.in_vain >= PATIENCE
        if on_descent is not None:
            self.stopped = bool(on_descent(self.kind, r, descent))


def _with_maps(solver: L0Descent, samples: Samples, penalty: float, descent: Descent) -> Descent:
    """``descent`` continued from maps of its end as long as ``J`` falls."""
    for _ in range(MAX_MAPS):
        point = descent.point
        if point.n_components < 2:
            return descent
        rival = solver(
            samples, penalty, mapped(samples, point, penalty), point.noise, point.location
        )
        if rival.value >= descent.value - solver.tol * (1.0 + abs(descent.value)):
            return descent
        descent = rival
    return descent
