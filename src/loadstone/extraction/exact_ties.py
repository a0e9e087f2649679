"""Features that tie exactly, as categories of equal counts do, tie to the last digit.

Where two features could change places and nothing would change, rounding alone tells them apart,
and what it decides for one component is locked in for the next ones. It depends on the order of
the rows, on how they lie in memory and on units. A matrix with such features is therefore taken
in the unit of its largest variance, and rounded to fewer digits than sums of products leave: all
that follows is then the same arithmetic on the same numbers. Others are left as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from loadstone.covariance import Array, Covariance, ExplicitCovariance
from loadstone.extraction.chain import Report
from loadstone.extraction.plan import Extraction, Plan
from loadstone.loadings import Loadings
from loadstone.solvers.portfolio import Portfolio
from loadstone.solvers.search.equals import said_by_features

#: Features up to which a matrix is looked at; two always say the same of each other.
FEWEST, MOST = 3, 512
#: Share of a variance, and of what a feature says, below which two are equal.
EQUAL = 1e-12
#: Steps to which a correlation is rounded. The coarser, the rarer do sums of the same products end on
#: two sides of a step; what rounding adds must stay below what counts as a direction.
STEPS = 2.0**34
#: Where powers of two for the features change: at no ratio of whole numbers.
OFFSET = 0.1371


@dataclass(frozen=True)
class Evened:
    """The matrix in which ties are exact, and the unit it is in."""

    S: ExplicitCovariance
    unit: float

    def plan(self, plan: Plan) -> Plan:
        """The same plan, which tells of variances in the unit of the data."""
        solver = plan.solver
        assert isinstance(solver, Portfolio)
        if solver.progress is None:
            return plan
        tell = solver.progress
        within = solver.limited(solver.max_iter, solver.tol, lambda s, v: tell(s, v * self.unit))
        return replace(plan, solver=within)

    def report(self, report: Report | None) -> Report | None:
        """Who is told of components hears of them in the unit of the data."""
        if report is None:
            return None
        tell = report
        return lambda index, search: tell(index, self._in_units(search))

    def in_units(self, found: Extraction) -> Extraction:
        """What was found, in the unit of the data; nobody deflated that."""
        searches = tuple(map(self._in_units, found.searches))
        return replace(found, searches=searches, left=())

    def _in_units(self, search: Loadings) -> Loadings:
        return replace(search, objective=search.objective * self.unit)


def evened(S: Covariance, plan: Plan) -> Evened | None:
    """``S`` with exact ties; ``None`` where no two features tie, or nobody could tell.

    Only for the portfolio: others tell of bounds as well, which belong to ``S`` as it is.
    """
    if not isinstance(S, ExplicitCovariance) or not FEWEST <= S.n_features <= MOST:
        return None
    if not isinstance(plan.solver, Portfolio):
        return None
    if S.dtype != np.float64 or not _tie(S):
        return None
    unit = float(S.matrix.diagonal().max())
    return Evened(ExplicitCovariance(_rounded(S.matrix / unit), S.n_samples), unit)


def _rounded(matrix: Array) -> Array:
    """The matrix to as many digits as correlations have; scaling by powers of two loses none."""
    variance = matrix.diagonal()
    half = np.log2(np.where(variance > 0, variance, 1)) / 2
    scale = np.exp2(np.rint(half + OFFSET))
    scales = scale[:, None] * scale
    rounded: Array = np.rint(matrix / scales * STEPS) / STEPS * scales
    return rounded


def _tie(S: ExplicitCovariance) -> bool:
    """Whether two features vary alike and say the same of all features."""
    variance, said = S.matrix.diagonal(), said_by_features(S)
    if said is None:
        return False
    open_: Array = variance > 0
    variance, said = variance[open_], said[open_]
    order = np.lexsort((variance, said))
    alike = np.abs(np.diff(variance[order])) <= EQUAL * variance[order][1:]
    return bool(np.any(alike & (np.abs(np.diff(said[order])) <= EQUAL * said[order][1:])))
