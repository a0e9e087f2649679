"""What a search for an l0 model returns."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.covariance.protocol import Array
from loadstone.loadings import Stop
from loadstone.solvers.factor_model import FactorModel


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
        Minus twice the log-likelihood per sample (without constant), and what was minimised:
        that plus the price of the entries, and the floor of the noise.
    table : structured ndarray
        The best model of every size and kind of noise.
    best : int
        Its row of the chosen model.
    objective : ndarray
        ``J`` along the descent to the chosen model; never rises.
    stop : Stop
    most : int
        How many components the data can have.
    """

    model: FactorModel
    location: Array
    noise: str
    penalty: float
    deviance: float
    criterion: float
    table: Array
    best: int
    objective: Array
    stop: Stop
    most: int
