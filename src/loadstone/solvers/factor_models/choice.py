"""Which numbers of components a search may return: those asked for, or what held-out rows say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.factor_models.held_out import (
    N_FOLDS,
    Fold,
    Walk,
    held_out_likelihood,
    incomplete_folds,
    row_folds,
)
from loadstone.solvers.factor_models.sizes import HELD_OUT, asked_sizes, ordered_size
from loadstone.solvers.fitted_model import FittedModel
from loadstone.solvers.variational_bayes.missing import IncompleteObservations

#: How often little data is split anew, and how many values that is: of few rows the split into folds
#: decides as much as the rows.
N_SPLITS, FEW_VALUES = 2, 10_000


@dataclass(frozen=True)
class SizeChoice:
    """Numbers of components to choose from.

    Attributes
    ----------
    sizes : set of int or None
        Candidates; ``None`` where any will do.
    held_out : int or None
        The number that held-out rows have chosen.
    table : structured ndarray or None
        Their log-likelihoods.
    """

    sizes: set[int] | None
    held_out: int | None = None
    table: Array | None = None

    def described(self, fitted: FittedModel) -> FittedModel:
        """``fitted`` with the table of held-out likelihoods, empty where no rows were held out."""
        table = self.table
        names = () if table is None else table.dtype.names or ()
        columns = {name: table[name].copy() for name in names if table is not None}
        return replace(fitted, attributes={**fitted.attributes, "held_out_": columns})


#: What a search says that knows no held-out rows.
NOTHING_HELD_OUT = SizeChoice(None)


@dataclass(frozen=True, kw_only=True)
class SampleRows:
    """Samples that can be held out: complete rows, or rows with holes."""

    rows: Any
    weights: Array | None
    holes: IncompleteObservations | None
    standardize: bool

    def folds(self, rng: np.random.Generator) -> list[Fold]:
        """Disjoint parts of the rows, each left out once; of little data in two ways.

        What two splits say of a row counts half each, so that rows count once.
        """
        self._refuse()
        n_splits = N_SPLITS if self._n_values() <= FEW_VALUES else 1
        folds = [fold for _ in range(n_splits) for fold in self._split(rng)]
        if not folds:
            msg = (
                "n_components='cv' leaves rows out, and in the others no feature has two different "
                "values; use 'auto' or a number"
            )
            raise ValueError(msg)
        return [replace(fold, weights=fold.weights / n_splits) for fold in folds]

    def _split(self, rng: np.random.Generator) -> list[Fold]:
        if self.holes is not None:
            return incomplete_folds(self.holes, N_FOLDS, rng)
        return row_folds(self.rows, N_FOLDS, rng, self.weights, standardize=self.standardize)

    def _n_values(self) -> int:
        n_rows, n_features = (self.rows if self.holes is None else self.holes.values).shape
        return int(n_rows * n_features)

    def _refuse(self) -> None:
        """Say why there are no rows, or too few, to hold out."""
        if self.rows is None and self.holes is None:
            msg = (
                "n_components='cv' holds rows out, and a covariance has none; fit on the data, or "
                "use 'auto' or a number"
            )
            raise ValueError(msg)
        weights = self.weights if self.holes is None else self.holes.weights
        used = self.rows.shape[0] if weights is None else int(np.count_nonzero(weights))
        if used < N_FOLDS:
            msg = (
                f"n_components='cv' leaves one row in {N_FOLDS} out, and there are {used} (with a "
                f"weight); it needs at least {N_FOLDS}. Use 'auto' or a number"
            )
            raise ValueError(msg)


def choose_sizes(
    n_components: Any,
    samples: SampleRows,
    walk: Walk,
    rng: np.random.Generator,
    on_size: Callable[[int, float], bool] | None = None,
) -> SizeChoice:
    """Candidates behind ``n_components``; several are compared with noise alone as well."""
    if isinstance(n_components, str) and n_components == HELD_OUT:
        found = held_out_likelihood(samples.folds(rng), walk, on_size=on_size)
        return SizeChoice(None, found.best, found.table)
    sizes = asked_sizes(n_components)
    if sizes is None or ordered_size(n_components) is not None:
        return SizeChoice(sizes)
    return SizeChoice(sizes | {0})
