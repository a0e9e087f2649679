"""How a file is to be read: the options of every command that takes data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadstone.commands.options import (
    Columns,
    DataFile,
    Drop,
    Index,
    Labels,
    Layer,
    Log1p,
    Missing,
    Sheet,
    Turned,
    Weights,
)

if TYPE_CHECKING:
    from loadstone.files.table import Table


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A file, and what was said about it; each annotated field is an option."""

    file: DataFile
    columns: Columns = None
    drop: Drop = None
    index: Index = None
    labels: Labels = None
    weights: Weights = None
    log1p: Log1p = False
    missing: Missing = "mean"
    turned: Turned = False
    layer: Layer = None
    sheet: Sheet = None
    described: bool = False

    def table(self) -> Table:
        """Read it."""
        from loadstone.files.tables import read_table

        return read_table(self.file, **self._asked())

    def new_rows(self) -> Table:
        """Read it as samples for a model; missing values stay."""
        from loadstone.files.tables import read_new_rows

        return read_new_rows(self.file, **self._asked())

    def _asked(self) -> dict[str, Any]:
        return {
            "columns": self.columns,
            "drop": self.drop,
            "index": self.index,
            "labels": self.labels,
            "weights": self.weights,
            "log1p": self.log1p,
            "missing": self.missing,
            "transpose": self.turned,
            "layer": self.layer,
            "sheet": self.sheet,
            "described": self.described,
        }

    def folder(self, what: str) -> Path:
        """Where results go that nobody gave a place."""
        return Path(f"{self.file.name.partition('.')[0]}-{what}")


def named(table: Table) -> Any:
    """The numbers as the estimator wants them: with names where they are cheap to carry."""
    import numpy as np
    import pandas as pd

    if table.feature_names is None or not isinstance(table.X, np.ndarray):
        return table.X

    return pd.DataFrame(table.X, columns=table.feature_names, copy=False)
