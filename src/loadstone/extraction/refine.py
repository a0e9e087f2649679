"""Improve components together after they were found one after another.

Block-coordinate passes: each component in turn is replaced by the best one that
relates to all the others as asked. Passes stop at a local optimum, so some
components are then taken out and found again in another order and with some of
their features banned, and the passes repeated. A result is kept only where every
constraint holds and neither the criterion nor the adjusted variance falls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance
from loadstone.extraction.linear_constraints import Candidate
from loadstone.extraction.orthogonality import Orthogonality, Search, without_components
from loadstone.metrics import adjusted_variance, marginal_variance

__all__ = ["refine"]

_MAX_PASSES = 20
# Gains below this share of the criterion are rounding.
_GAIN = 1e-10


def refine():
    pass
