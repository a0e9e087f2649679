"""Where a table begins: title lines, and headings of one row or more."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Any

from loadstone.files.cells import NO_VALUE, is_written_number
from loadstone.files.table import listed

#: How pandas calls the first column where it has no name: it names the rows.
UNNAMED = "Unnamed: 0"
#: How people call the column that names the rows.
INDEX_NAMES = frozenset({"", "id", "index", "name", "names", "sample", "samples", "row", "rowname"})
#: Rows that may stand above the numbers.
_MOST = 8
#: Columns that are looked at; a wide table has more of the same.
_ENOUGH = 500
#: So many numbers of a sample go up or down by chance once in 20 000 times; how many samples below
#: must not for it to say something.
_NO_CHANCE, _SOME_ROWS = 8, 2
_WORDS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Heading:
    """Rows above the numbers.

    Attributes
    ----------
    titles : int
        Rows before the heading, which say something of the table as a whole.
    rows : int
        Rows of the heading; 0 where the first row is one of numbers.
    """

    titles: int
    rows: int

    @property
    def is_usual(self) -> bool:
        """Whether the table begins with its first row, and names are in one row at most."""
        return self.titles == 0 and self.rows <= 1


def is_number(cell: Any) -> bool:
    """Whether a cell is a number, or a word for none; an empty one is neither."""
    if not isinstance(cell, str):
        return isinstance(cell, int | float)
    try:
        float(cell)
    except ValueError:
        return cell.strip().lower() in NO_VALUE - {""}
    return True


def is_blank(cell: Any) -> bool:
    """Whether a cell is empty."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def heading_of(rows: Sequence[Sequence[Any]], counts: Callable[[Any], bool] = is_number) -> Heading:
    """Find the heading in the first rows of a table.

    A row is part of the heading where text stands above numbers in every column of numbers, or
    where it stands above such a row: groups of columns may have years for names. Below a row that
    names every column, numbers are the first sample, and words further down are cells of others.

    Parameters
    ----------
    rows : sequence of rows
        The first rows, which end below the heading.
    counts : callable
        Whether a cell is a number.

    Returns
    -------
    Heading
    """
    titles = _titles(rows)
    rows = rows[titles:]
    columns = _columns_of_numbers(rows, counts)
    last, all_named = -1, False
    for i, row in enumerate(rows[: min(_MOST, len(rows) - 1)]):
        cells = [row[j] for j in columns if j < len(row)]
        # The first row may name percentiles; below it, 1,200 and (350) are no names.
        as_number = counts if i == 0 else lambda cell: counts(cell) or is_written_number(cell)
        words = [cell for cell in cells if not is_blank(cell) and not as_number(cell)]
        numbers = [cell for cell in cells if as_number(cell)]
        if all_named and numbers:
            break
        enough = len(columns) if i == 0 else max(2, len(columns) / 2)
        if words and not numbers and (i == 0 or len(words) >= enough):
            last = i
            all_named = all_named or len(set(words)) == len(columns)
    return Heading(titles, last + 1)


def _titles(rows: Sequence[Sequence[Any]]) -> int:
    """Leading rows with a single cell above rows with more than two."""
    filled = [sum(not is_blank(cell) for cell in row) for row in rows]
    if not filled or max(filled) < 3:
        return 0
    titles = 0
    while titles < min(_MOST, len(rows) - 2) and filled[titles] <= 1:
        titles += 1
    # A lone cell above the heading of a group of columns is part of the heading.
    return titles if all(is_blank(c) for row in rows[:titles] for c in row[1:]) else 0


def _columns_of_numbers(rows: Sequence[Sequence[Any]], counts: Callable[[Any], bool]) -> list[int]:
    below = rows[len(rows) // 2 :]
    found = []
    for j in range(min(_ENOUGH, max((len(row) for row in below), default=0))):
        cells = [row[j] for row in below if j < len(row) and not is_blank(row[j])]
        if cells and sum(counts(cell) for cell in cells) > len(cells) / 2:
            found.append(j)
    return found


def names_from_numbers(rows: list[list[str]], decimal: str) -> list[str]:
    """A remark where the numbers of the first row are names of columns."""
    cells = [[cell.replace(decimal, ".") for cell in row] for row in rows]
    if len(rows) < 2 or not _numbers_are_names(cells):
        return []
    pairs = zip(rows[0], cells[0], strict=True)
    names = [name.strip() for name, cell in pairs if is_number(cell)]
    return [f"numbers of the first row were taken for names: {listed(names)}"]


def _numbers_are_names(rows: list[list[str]]) -> bool:
    """Whether the numbers of the first row are names, such as wavelengths or years.

    They are where they stand beside a word for the names of rows, or go on from column to column as
    those of no other row do.
    """
    n_words = sum(1 for _ in takewhile(lambda cell: not is_number(cell), rows[0]))
    top, *below = [_numbers_of(row[n_words:]) for row in rows]
    if not top or not all(is_number(cell) or is_blank(cell) for cell in rows[0][n_words:]):
        return False
    if n_words and any(is_number(row[0]) for row in rows[1:]):
        return False
    if n_words and _calls_rows(rows[0][0], [row[0] for row in rows[1:]]):
        return True
    if _are_years(top) and not any(_are_years(numbers) for numbers in below):
        return _goes_on(top)
    told = len(top) >= _NO_CHANCE and len(below) >= _SOME_ROWS
    return told and _goes_on(top) and not any(map(_goes_on, below))


def _calls_rows(corner: str, below: list[str]) -> bool:
    """Whether the first cell says what the cells below are, and is not called as they are.

    Above "sample 2" stands "sample" or "Sample ID"; "sample 1" is one more of them.
    """
    words = _words_of(corner)
    said = words & INDEX_NAMES
    if not said or any(sign.isdigit() for sign in corner):
        return False
    return said == words or not any(said & _words_of(cell) for cell in below)


def _words_of(cell: str) -> set[str]:
    return {word.lower() for word in _WORDS.findall(cell)}


def _numbers_of(row: list[str]) -> list[float]:
    """The numbers of a row; cells without one are left out."""
    cells = [cell for cell in row if is_number(cell)]
    return [float(cell) for cell in cells if cell.strip().lower() not in NO_VALUE]


def _goes_on(numbers: list[float]) -> bool:
    """Whether each number is above the one before it, or each below."""
    steps = [after - before for before, after in pairwise(numbers)]
    return bool(steps) and (min(steps) > 0 or max(steps) < 0)


def _are_years(numbers: list[float]) -> bool:
    return bool(numbers) and all(n.is_integer() and 1900 <= n <= 2100 for n in numbers)


def joined_names(rows: Sequence[Sequence[Any]]) -> list[str]:
    """One name per column from a heading of several rows; an upper one may span columns."""
    if not rows:
        return []
    width = max(len(row) for row in rows)
    parts: list[list[str]] = [[] for _ in range(width)]
    for i, row in enumerate(rows):
        above = ""
        for j in range(width):
            cell = row[j] if j < len(row) else None
            said = "" if is_blank(cell) else spelled(cell)
            above = said or above
            text = said if i == len(rows) - 1 else above
            if text and text not in parts[j]:
                parts[j].append(text)
    named = [" ".join(part) or f"column {j + 1}" for j, part in enumerate(parts)]
    return [named[0] if parts[0] else UNNAMED, *named[1:]]


def numbered(names: Sequence[str], from_: str = ".1") -> list[str]:
    """Names of which each is given once; later ones of a name get a number, as pandas has it.

    ``from_`` is what the second one gets: a separator and the number to begin with.
    """
    taken = set(names)
    seen: set[str] = set()
    # Thousands of columns may share one name: nobody counts from the beginning again.
    following: dict[str, int] = {}
    unique = []
    for name in names:
        fresh, number = name, following.get(name, int(from_[1:]))
        while fresh in seen or (fresh != name and fresh in taken):
            fresh, number = f"{name}{from_[0]}{number}", number + 1
        following[name] = number
        seen.add(fresh)
        unique.append(fresh)
    return unique


def spelled(cell: Any) -> str:
    """A cell as a name; years without decimals."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()
