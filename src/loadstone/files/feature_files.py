"""Files that say one thing of each feature: the group it belongs to, or the sign it may have."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from loadstone.files.cells import NO_VALUE
from loadstone.files.errors import MissingFileError, TableError
from loadstone.files.reachable import is_at_hand
from loadstone.files.table import listed
from loadstone.files.text_tables import delimiter_of, lines_of, rows_of

#: How a sign may be written, in small letters.
SIGNS = {
    **dict.fromkeys(("+", "1", "+1", "1.0", "+1.0", "positive"), 1),
    **dict.fromkeys(("-", "-1", "-1.0", "negative"), -1),
}
#: What spreadsheets make of a minus.
_LONG_MINUS = str.maketrans("\N{MINUS SIGN}\N{EN DASH}", "--")
Word = TypeVar("Word", str, int)


def read_groups(path: Path | str, names: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """The group of each feature, from a file with the columns feature and group.

    Parameters
    ----------
    path : path-like
        CSV or TSV, with or without a header.
    names : sequence of str
        The features of the data.

    Returns
    -------
    groups : list of str
        One for each name.
    unknown : tuple of str
        Features of the file that the data lacks.
    """
    path = Path(path)
    rows = _rows(path, "group")
    known = set(names)
    (feature, group), rest = rows[0], rows[1:]
    # A heading is no feature, and what it calls the groups is none of them.
    if feature not in known and all(other != group for _, other in rest):
        rows = rest
    said = _said_once(rows, path, "group")
    unknown = tuple(name for name in said if name not in known)
    groups = [said.get(name, "") for name in names]
    return complete_groups(groups, names, path.name), unknown


def complete_groups(groups: Sequence[str], names: Sequence[str], source: str) -> list[str]:
    """The groups, refused where a feature has none."""
    lacking = [name for name, group in zip(names, groups, strict=True) if group.lower() in NO_VALUE]
    if lacking:
        msg = (
            f"{source} gives no group to {len(lacking)} of {len(names)} feature(s): "
            f"{listed(lacking)}; write one beside each of them ('other' is one too), or leave "
            "these features out of the data"
        )
        raise TableError(msg)
    return list(groups)


def read_signs(path: Path | str, names: Sequence[str]) -> dict[str, int]:
    """+1 or -1 for some features, from a file with the columns feature and sign.

    Parameters
    ----------
    path : path-like
        CSV or TSV, with or without a header.
    names : sequence of str
        The features of the data.

    Returns
    -------
    dict of str to int
        The features of the file with their signs.
    """
    path = Path(path)
    rows = _rows(path, "sign")
    known = set(names)
    feature, word = rows[0]
    if feature not in known and _spelled_sign(word) not in SIGNS:
        rows = rows[1:]
    if not rows:
        msg = f"{path.name} gives no sign; write a feature and + or - in each row"
        raise TableError(msg)
    return _said_once([_signed(row, known, path) for row in rows], path, "sign")


def _signed(row: tuple[str, str], known: set[str], path: Path) -> tuple[str, int]:
    feature, word = row
    if feature not in known:
        nearest = get_close_matches(feature, known, n=1)
        hint = f"did you mean {nearest[0]!r}?" if nearest else "remove it from the file"
        msg = f"{path.name} gives a sign to {feature!r}, which the data does not have; {hint}"
        raise TableError(msg)
    if _spelled_sign(word) not in SIGNS:
        msg = (
            f"{path.name} gives {feature!r} the sign {word!r}; write + or -, or leave the "
            "feature out where both are allowed"
        )
        raise TableError(msg)
    return feature, SIGNS[_spelled_sign(word)]


def _spelled_sign(word: str) -> str:
    return word.lower().translate(_LONG_MINUS)


def _rows(path: Path, what: str) -> list[tuple[str, str]]:
    """The two cells of every row."""
    if not is_at_hand(path):
        msg = f"there is no file {path} with the columns feature and {what}"
        raise MissingFileError(msg)
    lines = lines_of(path)
    cells = [[cell.strip() for cell in row] for row in rows_of(lines, delimiter_of(path, lines))]
    for row in cells:
        if len(row) != 2:
            shown = [cell if len(cell) <= 40 else f"{cell[:40]}..." for cell in row]
            msg = (
                f"{path.name} has a row of {len(row)} cell(s) ({listed(shown)}); "
                f"give two columns, feature and {what}"
            )
            raise TableError(msg)
    if not cells:
        msg = f"{path} is empty; give two columns, feature and {what}"
        raise TableError(msg)
    return [(feature, word) for feature, word in cells]


def _said_once(rows: list[tuple[str, Word]], path: Path, what: str) -> dict[str, Word]:
    """By feature; saying the same twice is no harm."""
    said: dict[str, Word] = {}
    for feature, word in rows:
        if said.setdefault(feature, word) != word:
            msg = (
                f"{path.name} gives {feature!r} two {what}s, {said[feature]!r} and {word!r}; "
                "give each feature one"
            )
            raise TableError(msg)
    return said
