"""What a search for a noise model hands to its estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loadstone.covariance import Array
from loadstone.loadings import Loadings
from loadstone.solvers.factor_model import FactorModel


@dataclass(frozen=True)
class FittedModel:
    """What a search returns, in units of the (scaled) varying features.

    Attributes
    ----------
    model : FactorModel
        Loadings, columns by decreasing strength, and noise.
    location : ndarray of shape (n_varying,)
        Mean relative to the column means.
    searches : tuple of Loadings
        Traces and stop reasons.
    attributes : dict
        Further fitted attributes; arrays under ``per_loading`` are (n_varying, n_components).
    per_loading : dict
        Fitted attributes of single loadings, to be spread over all features.
    """

    model: FactorModel
    location: Array
    searches: tuple[Loadings, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    per_loading: dict[str, Array] = field(default_factory=dict)


def spread(values: Array, varying: Array, n_features: int) -> Array:
    """Rows of the varying features among zeros for the others."""
    full = np.zeros((n_features, values.shape[1]))
    full[varying] = values
    return full
