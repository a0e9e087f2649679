"""What the solver tells of each component, and what is told where nothing was searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from loadstone.loadings import Loadings

#: What the solver tells of each component as one number.
NUMBERS = (
    *("guarantee", "guarantee_is_deterministic", "upper_bound", "upper_bound_is_deterministic"),
    *("low_rank_gap", "published_ratio", "shift", "n_candidates", "n_nonzero"),
)


def told_of(search: Loadings) -> Mapping[str, Any]:
    """What a search tells; without any constraint there was none."""
    return search.details or _plain_component(search)


def attributes_of(searches: Sequence[Loadings]) -> dict[str, Any]:
    """What is told of all components, by the names of fitted attributes."""
    told = [told_of(search) for search in searches]
    return {
        **{f"{name}_": np.array([details[name] for details in told]) for name in NUMBERS},
        "method_": [details["method"] for details in told],
        "predicted_costs_": [
            {name: cost.seconds for name, cost in details["predicted_costs"].items()}
            for details in told
        ],
        "low_rank_factors_": [details["V"] for details in told],
        "directions_": [details["direction"] for details in told],
    }


def _plain_component(search: Loadings) -> dict[str, Any]:
    """Without any constraint the component is an eigenvector, and nothing is left to prove."""
    variance = float(search.objective[0])
    return {
        "guarantee": 1.0,
        "guarantee_is_deterministic": True,
        "upper_bound": variance,
        "upper_bound_is_deterministic": True,
        "low_rank_gap": 0.0,
        "published_ratio": 1.0,
        "shift": 0.0,
        "n_candidates": 1,
        "n_nonzero": search.matrix.shape[0],
        "method": "exact",
        "predicted_costs": {},
        "V": search.matrix * np.sqrt(max(variance, 0.0)),
        "direction": np.ones(1),
    }
