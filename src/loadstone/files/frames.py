"""Data frames: which columns are numbers, and what the others are good for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from loadstone.files.cells import Written, numbers_in
from loadstone.files.classes import texts_of
from loadstone.files.errors import TableError
from loadstone.files.table import Table, listed

#: Columns of which a note of one kind is given.
_NAMED = 6


def table_of_frame(
    frame: Any, place: str, *, named: bool = True, decimal: str = ".", as_text: Sequence[str] = ()
) -> Table:
    """Numbers from the numeric columns, also in writing; the others are kept for labels."""
    _refuse_frame(frame, place)
    kinds = [dtype.kind for dtype in frame.dtypes]
    plain = [position for position, kind in enumerate(kinds) if kind in "biuf"]
    repaired, columns = {}, {}
    notes = ColumnNotes()
    for position in sorted(set(range(len(kinds))) - set(plain)):
        name, column = str(frame.columns[position]), frame.iloc[:, position]
        stays = kinds[position] in "Mm" or name in as_text
        written = None if stays else numbers_in(column.tolist(), decimal)
        if isinstance(written, Written):
            repaired[position] = written.values
        else:
            columns[name] = texts_of(column)
        notes.add(name, written)
    numeric = sorted([*plain, *repaired])
    if not numeric:
        cells = {name[:40]: str(values[0])[:40] for name, values in list(columns.items())[:6]}
        msg = (
            f"{place} has no column of numbers; the first cells of its columns are {cells}; write "
            "units into the names of the columns, and numbers alone into the cells"
        )
        raise TableError(msg)
    names = np.array([str(frame.columns[i]) for i in numeric], dtype=object) if named else None
    X = _numbers(frame, plain, repaired)
    return Table(X, names, _row_names(frame.index), columns, notes=notes.told())


def _numbers(frame: Any, plain: list[int], repaired: dict[int, Any]) -> Any:
    """Columns of numbers and columns that were read as such, in the order of the frame."""
    whole = frame if len(plain) == frame.shape[1] else frame.iloc[:, plain]
    X = whole.to_numpy(dtype=np.float64, na_value=np.nan)
    if not repaired:
        return X
    together = np.column_stack([X, *repaired.values()])
    return together[:, np.argsort([*plain, *repaired])]


def without_remarks(frame: Any) -> tuple[Any, list[str]]:
    """Without rows that fill the first column alone: remarks below a table, headings within it."""
    if frame.shape[1] < 3 or frame.shape[0] < 3:
        return frame, []
    remarks = frame.iloc[:, 1:].isna().all(axis=1).to_numpy()
    if not remarks.any() or remarks.all():
        return frame, []
    first = [str(cell)[:60] for cell in frame.iloc[:, 0][remarks] if cell == cell]
    kept = frame[~remarks].reset_index(drop=True)
    return kept, [f"left out, rows that fill the first column alone: {listed(first)}"]


def _refuse_frame(frame: Any, place: str) -> None:
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        msg = f"{place} holds no rows" if frame.shape[0] == 0 else f"{place} holds no columns"
        raise TableError(msg)
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        msg = f"{place} has two columns called {str(repeated[0])!r}; give each a name of its own"
        raise TableError(msg)
    for name, dtype in frame.dtypes.items():
        if dtype.kind == "c":
            msg = f"{place} holds complex numbers in {str(name)!r}; only real ones are analysed"
            raise TableError(msg)


class ColumnNotes:
    """What is told of columns of text; of hundreds that are written alike, of the first few."""

    def __init__(self) -> None:
        self._of_kind: dict[str, list[str]] = {}

    def add(self, name: str, written: Written | str | None) -> None:
        """Note what was read of a column: its numbers, or why they are none."""
        if isinstance(written, str):
            self._note("left out", f"column {name!r} {written}, left out")
        if not isinstance(written, Written):
            return
        if written.note is not None:
            self._note("read alike", f"column {name!r}: {written.note}")
        if written.strays:
            such = f"{len(written.strays)} cell(s) such as {written.strays[0]!r}"
            self._note(
                "with such cells", f"column {name!r}: {such} are no numbers, taken as missing"
            )

    def _note(self, kind: str, sentence: str) -> None:
        self._of_kind.setdefault(kind, []).append(sentence)

    def told(self) -> tuple[str, ...]:
        """The sentences, and how many columns they do not name."""
        notes: list[str] = []
        for kind, sentences in self._of_kind.items():
            notes += sentences[:_NAMED]
            n_more = len(sentences) - _NAMED
            notes += [f"{n_more} more column(s) {kind}"] if n_more > 0 else []
        return tuple(notes)


def _row_names(index: Any) -> Any:
    import pandas as pd

    if isinstance(index, pd.RangeIndex):
        return None
    return np.array([str(name) for name in index], dtype=object)
