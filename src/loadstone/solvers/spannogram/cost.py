"""What each search would cost, so that ``method="auto"`` can choose and "exact" can refuse."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loadstone.solvers.spannogram.cones import (
    MAX_RANK,
    SECONDS_PER_FACE,
    SECONDS_PER_HEIGHT,
)
from loadstone.solvers.spannogram.exact import EXACT_RANKS
from loadstone.solvers.spannogram.net import n_directions

METHODS = ("auto", "exact", "net", "cones")
#: Crossings beyond which an exact run is refused.
MAX_CROSSINGS = 20_000_000
#: Seconds that ``method="auto"`` spends on a proof; beyond, it takes the net.
PATIENCE = 10.0
#: Seconds to load the compiled sweeps of ranks 2 and 3 (several times that to compile them).
START_UP = 2.0

# Seconds per unit of work on one slow core; only their ratios decide anything.
_PER_PLANE_CROSSING = 3.5e-7
_PER_CIRCLE_CROSSING = 1.5e-7
_PER_DIRECTION = 1e-6
# Directions a flat spectrum needed at epsilon = 0.1, by rank.
_CONE_DIRECTIONS = {1: 2, 2: 20, 3: 80, 4: 400, 5: 4000}


@dataclass(frozen=True)
class Cost:
    """Predicted work of one search.

    Attributes
    ----------
    n_candidates : int
        Crossings (exact) or directions (net, cones) to visit.
    seconds : float
        Predicted time on one core.
    """

    n_candidates: int
    seconds: float


def predicted_costs(
    n_features: int, rank: int, epsilon: float, *, nonnegative: bool
) -> dict[str, Cost]:
    """Cost of every search that exists at this rank, those with a proof first."""
    costs = {}
    sides = 1 if nonnegative else 2
    if rank in EXACT_RANKS:
        crossings = sides * math.comb(n_features + 1, rank)
        # Rank 3 walks along each of the circles, which meets every triple point three times.
        each = {1: 1e-8, 2: _PER_PLANE_CROSSING, 3: 6 * _PER_CIRCLE_CROSSING}[rank]
        start_up = 0.0 if rank == 1 else START_UP
        costs["exact"] = Cost(crossings, start_up + crossings * each)
    if rank <= MAX_RANK:
        depth = 1.0 + max(0.0, math.log10(0.1 / max(epsilon, 1e-12)))
        count = math.ceil(_CONE_DIRECTIONS[rank] * depth)
        each = n_features * SECONDS_PER_HEIGHT + 2**rank * SECONDS_PER_FACE
        costs["cones"] = Cost(count, count * each)
    count = n_directions(n_features, rank, epsilon) * (2 if nonnegative else 1)
    costs["net"] = Cost(count, count * (_PER_DIRECTION + n_features * SECONDS_PER_HEIGHT))
    return costs


def choose_method(method: str, costs: dict[str, Cost]) -> str:
    """The search to run: as asked, or the cheapest one with a proof, or the net."""
    if method != "auto":
        return method
    proofs = [name for name in ("exact", "cones") if name in costs]
    cheapest = min(proofs, key=lambda name: costs[name].seconds, default="net")
    return cheapest if costs[cheapest].seconds <= PATIENCE else "net"


def refusal(method: str, rank: int, n_features: int, costs: dict[str, Cost]) -> str | None:
    """Why the search cannot run, with the way out; ``None`` where it can."""
    if method == "exact" and rank not in EXACT_RANKS:
        return (
            f"method='exact' enumerates supports for rank 1, 2 or 3, not rank={rank}; "
            "use method='cones' (up to rank 5, deterministic) or method='net'"
        )
    if method == "cones" and rank > MAX_RANK:
        return (
            f"method='cones' is meant for rank <= {MAX_RANK}, not rank={rank}; "
            "use method='net', or a smaller rank"
        )
    if method == "exact" and costs["exact"].n_candidates > MAX_CROSSINGS:
        cost = costs["exact"]
        return (
            f"method='exact' with rank={rank} and {n_features} features would visit about "
            f"{cost.n_candidates:.2g} crossings ({_duration(cost.seconds)}), more than the limit "
            f"of {MAX_CROSSINGS:.2g}; use method='cones', which proves epsilon in about "
            f"{_duration(costs['cones'].seconds)}, or method='net', or a smaller rank"
        )
    return None


def impatience(rank: int, n_features: int, costs: dict[str, Cost]) -> str | None:
    """Why ``method="auto"`` runs nothing at this rank, with the way out; ``None`` where it does.

    Up to the rank of the cones the net is small; beyond, it grows with a power of the rank
    and would run for minutes or days unasked.
    """
    cost = costs["net"]
    if rank <= MAX_RANK or cost.seconds <= PATIENCE:
        return None
    return (
        f"method='auto' with rank={rank} and {n_features} features leaves only the net, which would "
        f"visit about {cost.n_candidates:.2g} directions ({_duration(cost.seconds)}); use "
        f"rank <= {MAX_RANK}, where cones prove epsilon, or a larger epsilon, or method='net' to "
        "run it all the same"
    )


def _duration(seconds: float) -> str:
    for limit, unit, size in ((120.0, "seconds", 1.0), (7200.0, "minutes", 60.0)):
        if seconds < limit:
            return f"{seconds / size:.2g} {unit}"
    hours = seconds / 3600.0
    return f"{hours:.2g} hours" if hours < 48.0 else f"{hours / 24.0:.3g} days"
