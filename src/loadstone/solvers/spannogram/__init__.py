"""Spannogram: sparse non-negative components, exact on low rank and within epsilon beyond.

Read in this order: ``rank_one`` (the identity behind it all), ``exact``, ``net``,
``cones`` (three searches over directions), ``low_rank`` (from a covariance to a
direction problem, and the guarantees back), ``cost`` (which search), ``solver``.
"""

from loadstone.solvers.spannogram.cost import METHODS
from loadstone.solvers.spannogram.exact import candidate_supports
from loadstone.solvers.spannogram.solver import Spannogram

__all__ = ["METHODS", "Spannogram", "candidate_supports"]
