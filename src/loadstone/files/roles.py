"""Columns with a role: they name the rows, give them a class, or say how much they count."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.files.classes import classes_of
from loadstone.files.column_names import names_of, no_column
from loadstone.files.errors import ColumnError, TableError
from loadstone.files.looks import are_dates
from loadstone.files.table import Table, listed

#: A column with more distinct values than this says who a row is, not what kind.
MAX_CLASSES = 30
_MIDNIGHT = re.compile(r"(\d{4}-\d{2}-\d{2})[ T]00:00(?::00(?:\.0+)?)?")
#: How people say that there is no such column.
NONE = "none"


def refuse_two_roles(roles: Mapping[str, str | None]) -> None:
    """One column cannot do two things."""
    said: dict[str, str] = {}
    for role, name in roles.items():
        if name is None or name.lower() == NONE:
            continue
        if name in said:
            msg = f"{said[name]}={name!r} and {role}={name!r} name one column; give each its own"
            raise ColumnError(msg)
        said[name] = role


def with_left_out(
    roles: Mapping[str, str | None], drop: Sequence[str] | str | None
) -> dict[str, str | None]:
    """The roles, and that of columns that are left out by name: they are not for names of rows."""
    words = [drop] if isinstance(drop, str) else drop or ()
    parts = {part.strip() for word in words for part in (word, *word.split(","))} - {""}
    return {**roles, **{f"drop {part}": part for part in parts}}


def named_by(roles: Mapping[str, str | None], which: Sequence[str]) -> list[str]:
    """The columns that somebody has named for these roles."""
    return [name for role in which if (name := roles.get(role)) is not None]


def with_index(table: Table, wanted: str | None) -> Table:
    """The rows named by the column asked for."""
    if wanted is None or (wanted.lower() == NONE and wanted not in _all_names(table)):
        return table
    table, values = _taken(table, wanted, "index")
    return replace(table, sample_names=_spelled(values))


def with_days(table: Table) -> Table:
    """Names of rows that are days without the midnight that a file of dates and times adds."""
    names = table.sample_names
    days = [_MIDNIGHT.fullmatch(str(name)) for name in ([] if names is None else names)]
    if not days or not all(days):
        return table
    return replace(table, sample_names=np.array([d[1] for d in days if d], dtype=object))


def with_weights(table: Table, wanted: str | None) -> Table:
    """The weights from the column asked for."""
    if wanted is None:
        return table
    table, values = _taken(table, wanted, "weights")
    if values.dtype.kind not in "biuf":
        msg = f"weights={wanted!r} is no column of numbers; its first cell is {values[0]!r}"
        raise ColumnError(msg)
    weights = values.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        msg = (
            f"weights={wanted!r} holds {weights[bad[0]]:g} in row {bad[0] + 1}; a weight says how "
            "many samples a row stands for, so give a number of at least 0 in every row"
        )
        raise TableError(msg)
    return replace(table, weights=weights).noting(f"column {wanted!r} holds the weights")


def with_labels(table: Table, wanted: str | None) -> Table:
    """The labels from the column asked for."""
    if wanted is None or (wanted.lower() == NONE and wanted not in _all_names(table)):
        return table
    if wanted in table.columns:
        return _labelled(table, table.columns[wanted], wanted)
    table, values = _taken(table, wanted, "labels")
    return _labelled(table, values, wanted)


def _labelled(table: Table, values: Any, name: str) -> Table:
    """The table with these labels, and a note where some are missing."""
    labels = _spelled(values)
    n_without = int((labels == "").sum())
    if n_without:
        table = table.noting(f"column {name!r} gives no class to {n_without} sample(s)")
    return replace(table, labels=labels, labels_name=name)


def with_others_noted(table: Table, wanted: str | None) -> Table:
    """What became of columns that are not numbers, noted.

    Where nobody has named ``wanted``, the only one that looks like classes becomes the labels.
    """
    others = {name: of for name, of in table.columns.items() if name != table.labels_name}
    dates = [name for name, values in others.items() if are_dates(values)]
    kinds = [n for n, values in others.items() if n not in dates and _are_classes(values)]
    kinds = kinds if wanted is None else []
    rest = [name for name in others if name not in [*kinds, *dates]]
    if rest:
        table = table.noting(f"left out, not numbers: {listed(rest)}")
    if dates:
        table = table.noting(f"left out, dates: {listed(dates)}")
    if len(kinds) == 1:
        table = table.noting(f"column {kinds[0]!r} is used as labels")
        return _labelled(table, table.columns[kinds[0]], kinds[0])
    if kinds:
        table = table.noting(
            "left out, not numbers, though they could serve as labels with labels='NAME': "
            f"{listed(kinds)}"
        )
    return table


def _are_classes(values: Any) -> bool:
    return 2 <= len(set(values)) <= min(MAX_CLASSES, max(2, len(values) // 2))


def _all_names(table: Table) -> list[str]:
    return [*table.columns, *names_of(table)]


def _taken(table: Table, wanted: str, role: str) -> tuple[Table, Any]:
    """The values of a column, and the table without it."""
    if wanted in table.columns:
        rest = {name: values for name, values in table.columns.items() if name != wanted}
        return replace(table, columns=rest), table.columns[wanted]
    names = names_of(table)
    if wanted not in names:
        raise ColumnError(no_column(wanted, _all_names(table), f"{role}={wanted!r}"))
    place = names.index(wanted)
    column = table.X[:, [place]]
    column = column.toarray() if sparse.issparse(column) else np.asarray(column)
    return table.with_features(np.arange(len(names)) != place), column.ravel()


def _spelled(values: Any) -> Any:
    """Values as text, empty where there is none; whole numbers without decimals."""
    if values.dtype.kind != "f":
        return classes_of(values)
    whole = np.isfinite(values) & (values == np.trunc(values))
    # All digits of those that are not whole, also of narrow ones.
    spelled = classes_of(values.astype(np.float64))
    spelled[whole] = [str(int(value)) for value in values[whole]]
    return spelled
