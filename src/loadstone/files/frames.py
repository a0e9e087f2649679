"""Data frames: which columns are numbers, and what the others are good for."""

from __future__ import annotations

from typing import Any

import numpy as np

from loadstone.files.errors import TableError
from loadstone.files.table import Table

#: Share of cells that must be numbers for a column of text to count as one.
MOSTLY = 0.8


def table_of_frame(frame: Any, place: str, *, named: bool = True) -> Table:
    """Numbers from the numeric columns; the others are kept for labels."""
    import pandas as pd

    if frame.shape[0] == 0 or frame.shape[1] == 0:
        msg = f"{place} holds no rows" if frame.shape[0] == 0 else f"{place} holds no columns"
        raise TableError(msg)
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        msg = f"{place} has two columns called {str(repeated[0])!r}; give each a name of its own"
        raise TableError(msg)
    kinds = [dtype.kind for dtype in frame.dtypes]
    if "c" in kinds:
        name = str(frame.columns[kinds.index("c")])
        msg = f"{place} holds complex numbers in {name!r}; only real ones are analysed"
        raise TableError(msg)
    numeric, columns, notes, repaired = [], {}, [], {}
    for position, name in enumerate(frame.columns):
        if kinds[position] in "biuf":
            numeric.append(name)
            continue
        column = frame.iloc[:, position]
        numbers = None if kinds[position] in "Mm" else pd.to_numeric(column, errors="coerce")
        if numbers is not None and mostly_numbers(column):
            numbers = _with_overflow(numbers, column)
            strays = int((numbers.isna() & column.notna()).sum())
            if strays:
                notes.append(
                    f"column {str(name)!r}: {strays} cell(s) are no numbers, taken as missing"
                )
            repaired[name] = numbers
            numeric.append(name)
        else:
            columns[str(name)] = column.astype(str).to_numpy(dtype=object)
    if not numeric:
        msg = f"{place} has no column of numbers; its columns are {list(columns)[:6]}"
        raise TableError(msg)
    chosen = frame if len(numeric) == frame.shape[1] else frame[numeric]
    X = (
        chosen.assign(**{str(k): v for k, v in repaired.items()}) if repaired else chosen
    ).to_numpy(dtype=np.float64, na_value=np.nan)
    names = np.array([str(name) for name in numeric], dtype=object) if named else None
    return Table(X, names, _row_names(frame.index), columns, notes=tuple(notes))


def _with_overflow(numbers: Any, column: Any) -> Any:
    """Cells such as 1e999 are infinite, as inf is; pandas takes them for text."""
    numbers = numbers.astype(np.float64)
    for place in np.flatnonzero((numbers.isna() & column.notna()).to_numpy()):
        try:
            value = float(column.iloc[place])
        except (TypeError, ValueError):
            continue
        numbers.iloc[place] = value
    return numbers


def mostly_numbers(column: Any) -> bool:
    """Whether nearly all cells of a column of text are numbers."""
    import pandas as pd

    filled = int(column.notna().sum())
    return filled > 0 and pd.to_numeric(column, errors="coerce").notna().sum() >= MOSTLY * filled


def _row_names(index: Any) -> Any:
    import pandas as pd

    if isinstance(index, pd.RangeIndex):
        return None
    return np.array([str(name) for name in index], dtype=object)
