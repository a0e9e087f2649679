"""What a search for a noise model hands to its estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loadstone.covariance import Array
from loadstone.loadings import Loadings
from loadstone.solvers.factor_model import FactorModel

#: Why a search that was free to choose came back with nothing: where a number that is ordered is
#: found all the same, and where it may come to nothing as well.
NOISE_ALONE = (
    "noise alone describes the data best; give a number of components to look for them all the same"
)
NOTHING_STANDS_OUT = (
    "noise alone describes the data best; SparsePCA finds as many components as it is told to, "
    "whatever they are worth"
)
#: Why it could not look for any.
NO_ROOM = (
    "up to rounding, the features that vary are multiples of one another (or samples are two), "
    "and one component would leave no noise to model. A single row far from all others can do "
    "that: look for one. SparsePCA needs no noise"
)
#: Why it came back with fewer than it was asked for, and with none of them.
NO_MORE = "further ones come to nothing; ask for fewer, or let the search choose"
NONE_AT_ALL = (
    "all of them come to nothing, and noise alone is left; SparsePCA finds as many components as it "
    "is told to, whatever they are worth"
)


@dataclass(frozen=True, kw_only=True)
class FittedModel:
    """What a search returns, in units of the (scaled) varying features.

    Attributes
    ----------
    model : FactorModel
        Loadings in the order of the components, and noise.
    predictive : FactorModel or None
        Model of new samples; ``None`` where it is ``model``.
    location : ndarray of shape (n_varying,) or None
        Mean relative to the column means; ``None`` where they are the mean.
    searches : tuple of Loadings
        Traces and stop reasons.
    attributes : dict
        Further fitted attributes.
    per_loading : dict
        Fitted attributes of single loadings, (n_varying, n_components), to be spread over
        all features.
    shortfall : str or None
        Why there are fewer components than asked for.
    told : tuple of str
        What else a person should hear.
    """

    model: FactorModel
    searches: tuple[Loadings, ...]
    predictive: FactorModel | None = None
    location: Array | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    per_loading: dict[str, Array] = field(default_factory=dict)
    shortfall: str | None = None
    told: tuple[str, ...] = ()


def spread(values: Array, varying: Array, n_features: int) -> Array:
    """Rows of the varying features among zeros for the others."""
    full = np.zeros((n_features, *values.shape[1:]), dtype=values.dtype)
    full[varying] = values
    return full


def shortfall(found: int, asked: int | None, most: int = 1, none: str = NOISE_ALONE) -> str | None:
    """Why there are no components, or fewer than the one number that was asked for.

    ``most`` is how many the data can have, ``none`` why none were chosen.
    """
    if found >= (1 if asked is None else asked):
        return None
    if not most:
        return NO_ROOM
    if asked is None:
        return none
    return NO_MORE if found else NONE_AT_ALL
