"""Number of components, sparsity and kind of noise of the l0 model, by one criterion.

Notation: ``EBIC = J`` at ``h = (ln N + 2 gamma ln(d r))/N``, so that no path of penalties is
walked: for each number of components ``r`` the descent runs at that penalty, from varimax of the
principal axes and from the variational model of the same size, with maps in between.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from loadstone.covariance.explicit import ExplicitCovariance, materialise
from loadstone.covariance.protocol import Array, Covariance
from loadstone.loadings import Stop
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.factor_models.growth import Growth, is_small_with_holes
from loadstone.solvers.factor_models.rounds import State
from loadstone.solvers.factor_models.samples import Samples, samples_of
from loadstone.solvers.factor_models.size_search import newest_is_null
from loadstone.solvers.factor_models.sizes import (
    MAX_COMPONENTS,
    PATIENCE,
    most_components,
    refuse_sizes,
)
from loadstone.solvers.factor_models.sparse_factors import SparseFactors
from loadstone.solvers.factor_models.starts import joint_start
from loadstone.solvers.l0_noise_descent import Descent, L0Descent, floor_term
from loadstone.solvers.l0_noise_fit import L0Fit
from loadstone.solvers.l0_noise_maps import on_canonical_axes, with_maps
from loadstone.solvers.l0_noise_prune import without_doubtful
from loadstone.solvers.variational_bayes.missing import IncompleteObservations

NOISES = ("auto", "free", "shared")
#: Criteria closer than this share are ties.
TIE = 1e-6
#: Steps of one descent at most before a model is chosen.
SEARCH_STEPS = 300
#: How much closer the chosen model is settled than its rivals, and up to how many values: a
#: nearly noiseless feature has digits in its loadings that the criterion hardly feels.
SETTLED, MANY_VALUES = 1e-7, 1e5
#: A kind of noise is given up that is behind another, whose search has ended, by this many
#: gains of its last component.
HOPELESS = 5.0
#: Probability from which on a loading of the variational model is part of a start.
START_INCLUSION = 0.2
#: How close a start of many values is settled.
START_TOL = 1e-6
#: What a matrix stands for whose number of samples nobody knows.
MANY = 1e6

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
class L0Search:
    """Search for the l0 model with the lowest criterion.

    Attributes
    ----------
    noise : {"auto", "free", "shared"}
        ``"auto"`` takes the lower of both, free noise paying for ``d - 1`` more parameters.
    gamma : float
        Weight of the price for choosing among many places; 0 is BIC.
    penalty : float or None
        A fixed ``h`` in place of that of the criterion, also for every noise variance.
    max_iter, tol : int, float
        See `L0Descent`.
    n_candidates : int or None
        Features there are to choose from, where a working set leaves some out.
    """

    noise: str = "auto"
    gamma: float = 1.0
    penalty: float | None = None
    max_iter: int = 1000
    tol: float = 1e-7
    n_candidates: int | None = None

    def __call__(
        self,
        data: Covariance | IncompleteObservations,
        n_components: int | Collection[int] | None = None,
        on_descent: OnDescent | None = None,
        held_out: int | None = None,
    ) -> L0Fit:
        """Fit a number of components, the best of several numbers, or (``None``) any.

        ``held_out`` is the number that rows left out have chosen, unless noise alone is better; 0
        where they had no room for one, which leaves the choice to the criterion.
        """
        samples = self._samples(data)
        if held_out:
            n_components = range(held_out + 1)
        if n_components is None:
            wanted, last = None, min(MAX_COMPONENTS, most_components(samples))
        else:
            wanted = {n_components} if isinstance(n_components, int) else set(n_components)
            refuse_sizes(samples, wanted)
            last = max(wanted)
        walks = [_Walk(self, samples, kind) for kind in self.kinds]
        smallest = min((q for q in wanted or () if q), default=0)
        for r, state in zip(range(last + 1), self._starts(data, samples, smallest), strict=False):
            lowest = min(walk.lowest for walk in walks)
            for walk in walks:
                others_done = all(other.done for other in walks if other is not walk)
                if others_done and walk.lowest - lowest > HOPELESS * walk.gain:
                    walk.done = True
                if r in wanted if wanted is not None else not walk.done:
                    walk.visit(r, state, on_descent)
            if any(w.stopped for w in walks) or (wanted is None and all(w.done for w in walks)):
                break
        if wanted is None and last < MAX_COMPONENTS and is_small_with_holes(samples):
            self._visit_from_above(samples, walks, last, on_descent)
        return self._chosen(walks, wanted, held_out)

    def _visit_from_above(
        self, samples: Samples, walks: list[_Walk], last: int, on_descent: OnDescent | None
    ) -> None:
        """Start from models that had all components at once, until two in a row do not pay.

        Parts of a whole have next to no noise once enough components are there, and little to
        gain before.
        """
        if any(walk.stopped for walk in walks):
            return
        in_vain, best = 0, min(walks, key=lambda walk: walk.lowest)
        smallest = min(best.best, key=lambda r: self.criterion(samples, best.kind, best.best[r]))
        for state in islice(self._growth(samples).from_above(samples, last), last - smallest):
            before = min(walk.lowest for walk in walks)
            for walk in walks:
                walk.visit(state.n_components, state, on_descent)
            pays = min(walk.lowest for walk in walks) < before - TIE * (1.0 + abs(before))
            in_vain = 0 if pays else in_vain + 1
            if in_vain == PATIENCE or any(walk.stopped for walk in walks):
                return

    def _growth(self, samples: Samples) -> Growth:
        """The variational search that starts come from."""
        # Pooled noise suits both kinds; free noise alone must not depend on units.
        noise = "free" if self.noise == "free" else "pooled"
        tol = START_TOL if samples.counts.sum() > MANY_VALUES else SparseFactors.tol
        return SparseFactors(noise=noise, tol=tol).growth()

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of noise that are tried."""
        return ("shared", "free") if self.noise == "auto" else (self.noise,)

    def _samples(self, data: Covariance | IncompleteObservations) -> Samples:
        """Samples; a matrix whose number of samples is not known counts as one of very many."""
        if _is_counted(data) or self.penalty is None:
            return samples_of(data)
        assert not isinstance(data, IncompleteObservations)
        return samples_of(ExplicitCovariance(materialise(data).matrix, MANY))

    def _starts(
        self,
        data: Covariance | IncompleteObservations | Samples,
        samples: Samples,
        smallest: int = 0,
    ) -> Iterator[State | None]:
        """Variational models of 0, 1, 2, ... components, as long as there are any."""
        state: State | None = None
        if _is_counted(data):
            for state in self._growth(samples).sequence(samples, smallest=smallest):
                yield state
                # Once the variational search finds nothing more, it has no start to offer.
                if newest_is_null(state):
                    break
        while True:
            yield None

    def models(self, samples: Samples) -> Iterator[tuple[FactorModel, Array]]:
        """The best models of 0, 1, 2, ... components with their locations."""
        for r, state in enumerate(self._starts(samples, samples)):
            kind, found = min(
                ((kind, self.best_descent(samples, kind, r, state)) for kind in self.kinds),
                key=lambda pair: self.criterion(samples, *pair),
            )
            yield found.point.model(kind), found.point.location

    def price(self, samples: Samples, n_components: int) -> float:
        """``h``: what the criterion charges for one entry."""
        if self.penalty is not None:
            return self.penalty
        n = samples.n_samples
        places = np.log((self.n_candidates or samples.n_features) * max(n_components, 1))
        return float(np.log(n) + 2.0 * self.gamma * places) / n

    def criterion(self, samples: Samples, kind: str, descent: Descent) -> float:
        """Penalised deviance at the price of the components that are alive."""
        point = descent.point
        value = point.deviance + self.price(samples, point.n_components) * point.n_nonzero
        if kind == "free" and self.noise == "auto":
            n = samples.n_samples
            own = float(np.log(n)) / n if self.penalty is None else self.penalty
            value += (samples.n_features - 1) * own
        return value

    def best_descent(self, samples: Samples, kind: str, r: int, state: State | None) -> Descent:
        """The lowest of the descents to ``r`` components from both starts."""
        solver = L0Descent(kind, min(self.max_iter, SEARCH_STEPS), self.tol)
        if r == 0:
            point = solver.empty(samples)
            return Descent(point, np.array([point.deviance]), Stop.NOISE_ALONE)
        starts: list[tuple[Array, Array, Array | None]] = [(*joint_start(samples, r), None)]
        if state is not None:
            law, location = state.law, state.location[0]
            W = np.where(law.inclusion[0] > START_INCLUSION, law.mean[0], 0.0)
            starts.append((W, 1.0 / state.noise.precision[0], location))
        penalty = self.price(samples, r)
        found = [
            with_maps(solver, samples, penalty, solver(samples, penalty, *start))
            for start in starts
        ]
        return min(found, key=lambda d: self.criterion(samples, kind, d))

    def _chosen(self, walks: list[_Walk], wanted: set[int] | None, held_out: int | None) -> L0Fit:
        found = [(w, r, d) for w in walks for r, d in sorted(w.best.items())]
        table = np.array([self._row(*one) for one in found], dtype=ROW)
        sizes, value = table["n_components"], table["criterion"]
        eligible = np.ones(table.size, dtype=bool)
        if held_out:
            # Rows can hardly tell noise from a component; the criterion can.
            some = value[sizes > 0].min(initial=np.inf) < value[sizes == 0].min()
            eligible = sizes == (sizes.max() if some else 0)
        elif wanted is not None and len(wanted) == 1:
            # Of several numbers all that was found counts: what a number shrank to as well.
            eligible = np.isin(sizes, list(wanted))
            if not eligible.any():
                # An order is for components: noise alone goes last, the criterion decides.
                eligible = (sizes > 0) | (sizes.max() == 0)
        best = int(np.argmin(np.where(eligible, value, np.inf)))
        walk, r, descent = found[best]
        descent = self._settled(walk, descent)
        table[best] = self._row(walk, r, descent)
        return L0Fit(
            model=descent.point.model(walk.kind),
            location=descent.point.location,
            noise=walk.kind,
            penalty=float(table["penalty"][best]),
            deviance=float(table["deviance"][best]),
            criterion=float(table["criterion"][best]),
            table=table,
            best=best,
            objective=descent.objective,
            stop=Stop.CALLBACK if any(w.stopped for w in walks) else descent.stop,
            most=most_components(walk.samples),
        )

    def _row(self, walk: _Walk, r: int, descent: Descent) -> tuple[object, ...]:
        point = descent.point
        h = self.price(walk.samples, point.n_components)
        deviance = point.deviance - floor_term(walk.samples, point.noise)
        value = self.criterion(walk.samples, walk.kind, descent)
        return (walk.kind, r, point.n_nonzero, h, deviance, value)

    def _settled(self, walk: _Walk, descent: Descent) -> Descent:
        """The same supports, to more digits than a comparison of models needs.

        Of few values, entries that are not worth their price are left out.
        """
        point = descent.point
        if not point.n_components:
            return descent
        closer = SETTLED if walk.samples.counts.sum() <= MANY_VALUES else 1.0
        solver = L0Descent(walk.kind, self.max_iter, closer * self.tol)
        price = self.price(walk.samples, point.n_components)
        found = solver.settled(walk.samples, price, point, self.tol)
        if closer < 1.0:
            rough = L0Descent(walk.kind, min(self.max_iter, SEARCH_STEPS), self.tol)
            found = without_doubtful(solver, rough, walk.samples, price, found)
        if not price:
            found = on_canonical_axes(walk.samples, found)
        # Digits beyond ``tol`` that take too long do not count; a support that was not looked for
        # to the end does.
        cut_short = descent.stop is Stop.MAX_ITER and self.max_iter <= SEARCH_STEPS
        told = found.stop is Stop.CONVERGED and not cut_short
        return found if told else replace(found, stop=descent.stop)


def _is_counted(data: Covariance | IncompleteObservations | Samples) -> bool:
    return bool(np.isfinite(data.n_samples))


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
