"""Columns as people name them: one by one, as a range, or by a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loadstone.files.errors import ColumnError
from loadstone.files.table import Table, listed

#: What makes a name a pattern.
_WILD = frozenset("*?[")


def chosen(
    table: Table,
    columns: Sequence[str] | str | None,
    drop: Sequence[str] | str | None,
    *,
    labels_name: str | None = None,
) -> Table:
    """The table with the features that were asked for, without those that were left out."""
    if columns is None and drop is None:
        return table
    names = names_of(table)
    others = [*table.columns, *([] if labels_name is None else [labels_name])]
    keep = np.ones(len(names), dtype=bool)
    words = [name for name in table.columns if name != labels_name]
    if columns is not None:
        asked_for = matching([*names, *others], columns, "columns")
        keep = asked_for[: len(names)]
        wanted = {name for name, asked in zip([*names, *others], asked_for, strict=True) if asked}
        words = [name for name in words if name in wanted]
    if drop is not None:
        left_out = matching([*names, *others], drop, "drop")
        keep &= ~left_out[: len(names)]
        gone = {name for name, out in zip([*names, *others], left_out, strict=True) if out}
        rest = {name: values for name, values in table.columns.items() if name not in gone}
        table = replace(table, columns=rest)
    if not keep.any():
        asked = "" if columns is None else f" of columns={columns!r}"
        without = "" if drop is None else f" without drop={drop!r}"
        msg = f"no feature{asked}{without} is left of {listed(names)}; name a column of numbers"
        raise ColumnError(msg + _words_in(table, words))
    return table if keep.all() else table.with_features(keep)


def _words_in(table: Table, words: list[str]) -> str:
    """What columns hold that are no features for want of numbers."""
    words = [name for name in words if name in table.columns]
    if not words:
        return ""
    verb = "hold" if len(words) > 1 else "holds"
    example = next((cell for cell in table.columns[words[0]] if isinstance(cell, str) and cell), "")
    such = f" such as {example!r}" if example else ""
    return f"; {listed(words)} {verb} words{such}, which are features once they are numbers"


def names_of(table: Table) -> list[str]:
    """The features as the results call them: ``x0``, ``x1``, ... where the file has no names."""
    return _or_numbered(table.feature_names, table.X.shape[1])


def _or_numbered(names: Any, n: int) -> list[str]:
    return [f"x{i}" for i in range(n)] if names is None else [str(name) for name in names]


def matching(names: Sequence[str], asked: Sequence[str] | str, option: str) -> NDArray[np.bool_]:
    """Which of ``names`` are asked for; what matches nothing is refused.

    Parameters
    ----------
    names : sequence of str
        All columns.
    asked : str or sequence of str
        Each a name, a range ``first:last`` with both ends, a pattern with ``*``, ``?`` or
        ``[...]``, or several of these with commas between.
    option : str
        The parameter, for errors.

    Returns
    -------
    ndarray of bool
    """
    place = _places(names)
    found = np.zeros(len(names), dtype=bool)
    for part in _parts(asked, names, place):
        fitting = _fitting(part, names, place)
        if not fitting:
            raise ColumnError(_no_match(part, names, option))
        found[fitting] = True
    return found


def without_own_columns(
    table: Table, drop: Sequence[str] | str | None
) -> tuple[Table, list[str] | None]:
    """A table that will be turned round without columns of the file, and the features to drop.

    Features are its rows. What fits none of them may be a column that is no sample, such as the
    length of genes.
    """
    if drop is None:
        return table, None
    rows = _or_numbered(table.sample_names, table.X.shape[0])
    # Columns that are called x0, x1, ... for want of names are not what anybody means.
    samples = [] if table.feature_names is None else names_of(table)
    columns = [*samples, *table.columns]
    of_rows, of_columns, of_both = _places(rows), _places(columns), _places([*rows, *columns])
    features: list[str] = []
    gone: list[str] = []
    for part in _parts(drop, [*rows, *columns], of_both):
        if _fitting(part, rows, of_rows):
            features.append(part)
            continue
        fitting = _fitting(part, columns, of_columns)
        if not fitting:
            raise ColumnError(_no_match(part, [*rows, *columns], "drop"))
        if part not in of_columns and not _WILD & set(part):
            # Numbers and text are kept apart, so that nobody knows any more what lay between.
            msg = (
                f"drop={part!r} is a range of columns, which a table that is turned round does not "
                "have; name them one by one, with commas between"
            )
            raise ColumnError(msg)
        gone += [columns[i] for i in fitting]
    return _without(table, gone) if gone else table, features or None


def _without(table: Table, gone: list[str]) -> Table:
    """The table without these columns, be they numbers or text."""
    keep = np.array([name not in gone for name in names_of(table)], dtype=bool)
    if not keep.any():
        msg = f"drop={','.join(gone)!r} leaves no column to be a sample; name fewer columns"
        raise ColumnError(msg)
    rest = {name: values for name, values in table.columns.items() if name not in gone}
    table = replace(table.with_features(keep), columns=rest)
    return table.noting(f"left out, no samples: {listed(gone)}")


def _places(names: Sequence[str]) -> dict[str, int]:
    return {name: i for i, name in enumerate(names)}


def _parts(asked: Sequence[str] | str, names: Sequence[str], place: dict[str, int]) -> list[str]:
    """Names, ranges and patterns one by one."""
    parts: list[str] = []
    for word in [asked] if isinstance(asked, str) else asked:
        # A name may hold commas and colons itself, so that it is looked for as a whole first.
        whole = bool(_fitting(word, names, place))
        pieces = [word] if whole else [piece.strip() for piece in word.split(",")]
        parts += [piece for piece in pieces if piece]
    return parts


def _fitting(word: str, names: Sequence[str], place: dict[str, int]) -> list[int]:
    """The columns of a name, a range or a pattern; none where it is neither."""
    if word in place:
        return [place[word]]
    first, colon, last = word.partition(":")
    if colon and (first in place or not first) and (last in place or not last):
        begin, end = place.get(first, 0), place.get(last, len(names) - 1)
        return list(range(min(begin, end), max(begin, end) + 1))
    if _WILD & set(word):
        return [i for i, name in enumerate(names) if fnmatchcase(name, word)]
    return []


def _no_match(part: str, names: Sequence[str], option: str) -> str:
    first, colon, last = part.partition(":")
    absent = part
    if colon:
        absent = first if first and first not in names else last
    return no_column(absent, names, f"{option}={part!r}")


def no_column(wanted: str, names: Sequence[str], asked: str) -> str:
    """A sentence on a name that no column has, with the nearest that one has."""
    near = nearest(wanted, names)
    hint = f"did you mean {near!r}?" if near else f"there are {listed(names)}"
    what = "pattern that fits no column" if _WILD & set(wanted) else "name that no column has"
    return f"{asked}: {wanted!r} is a {what}; {hint}"


def nearest(wanted: str, names: Sequence[str]) -> str | None:
    """The name that is most like ``wanted``, in any case of letters; ``None`` where none is."""
    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(str(name).casefold(), str(name))
    close = get_close_matches(wanted.casefold(), folded, n=1)
    return folded[close[0]] if close else None
