"""Numbers as people write them: thousands, currencies, percent, and minus signs of all kinds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Words that stand for no value.
NO_VALUE = frozenset(
    {
        "", "na", "n/a", "nan", "null", "none", "?", "-", ".", "missing", "#n/a", "#div/0!",
        "#value!", "#ref!", "#name?", "#num!", "#null!", "#nv", "#wert!", "#bezug!", "..", "...",
        ":", "\N{HORIZONTAL ELLIPSIS}", "\N{EN DASH}", "\N{EM DASH}",
    }
)  # fmt: skip
#: Share of cells that must be numbers for a column of text to count as one.
MOSTLY = 0.8
#: Cells that are looked at before a column of text is read as a whole.
_LOOK_AT = 100
_SPACES = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
_APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"
_MINUS = "-\N{MINUS SIGN}\N{EN DASH}"
#: Marks that lead to a footnote.
_MARKS = "*\N{DAGGER}\N{DOUBLE DAGGER}\N{SECTION SIGN}"
_CURRENCY = (
    r"(?:[A-Z]{0,3}[$€£¥₹₩₽₺₪฿₫₴₦]|USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|"
    r"kr\.?|Fr\.|SFr\.?|zł|Kč)"
)
_CELL = re.compile(
    rf"(?P<bracket>\()?(?P<sign>[{_MINUS}+])?(?P<before>{_CURRENCY})?[{_SPACES}]*(?P<inner>[{_MINUS}])?"
    rf"(?P<body>[0-9.,'{_APOSTROPHE}{_SPACES}]*[0-9][.,]?)(?P<power>[eE][+-]?[0-9]+)?"
    rf"[{_SPACES}]*(?P<unit>[%‰])?[{_SPACES}]*(?P<after>{_CURRENCY})?(?P<behind>[{_MINUS}])?(?(bracket)\)|)"
    rf"[{_SPACES}]*[{_MARKS}]*"
)
_UNITS = {None: 1.0, "%": 100.0, "‰": 1000.0}
#: What separates thousands, and what decimals; the first that fits most cells is taken.
_STYLES = {
    ".": ((",", "."), (" ", "."), ("'", "."), (".", ","), (" ", ","), ("'", ",")),
    ",": ((".", ","), (" ", ","), ("'", ","), (",", "."), (" ", "."), ("'", ".")),
}


@dataclass(frozen=True, kw_only=True)
class Written:
    """What a column of text says in numbers.

    Attributes
    ----------
    values : ndarray of float
        NaN where a cell is empty or no number.
    strays : tuple of str
        Cells that are neither, as they are written.
    note : str or None
        How cells were read that a program would not take for numbers.
    """

    values: NDArray[np.float64]
    strays: tuple[str, ...]
    note: str | None


def numbers_in(cells: Sequence[Any], decimal: str = ".") -> Written | str | None:
    """The numbers in a column; a sentence where they mix units, ``None`` where it is text.

    Parameters
    ----------
    cells : sequence
        Text, numbers, and whatever stands for no value.
    decimal : {".", ","}
        What separates decimals in the rest of the file, where cells leave that open.

    Returns
    -------
    Written, str or None
    """
    filled = [cell for cell in cells if not _is_empty(cell)]
    if _share(filled[:_LOOK_AT]) < MOSTLY / 2 or _share(filled) < MOSTLY:
        return None
    parsed = [None if _is_empty(cell) else _parts(cell) for cell in cells]
    found = [parts for parts in parsed if isinstance(parts, re.Match)]
    units = {parts["unit"] for parts in found}
    if len(units) > 1 or ({"%", "‰"} & units and any(isinstance(p, float) for p in parsed)):
        return "mixes percentages with plain numbers"
    currencies = {parts["before"] or parts["after"] for parts in found} - {None}
    if len(currencies) > 1:
        return f"mixes currencies ({', '.join(sorted(currencies))})"
    style = _style([parts["body"] for parts in found], decimal)
    values = np.array([_value(parts, style) for parts in parsed])
    unread = zip(cells, np.isnan(values), strict=True)
    strays = tuple(str(cell) for cell, lost in unread if lost and not _is_empty(cell))
    if len(filled) - len(strays) < MOSTLY * len(filled):
        return None
    return Written(values=values, strays=strays, note=_note(parsed, values))


def is_written_number(cell: Any) -> bool:
    """Whether a cell is a number as people write it."""
    return not _is_empty(cell) and _parts(cell) is not None


def _share(filled: Sequence[Any]) -> float:
    """Share of cells that may be numbers."""
    return sum(_parts(cell) is not None for cell in filled) / max(1, len(filled))


def _is_empty(cell: Any) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in NO_VALUE
    return cell is None or cell != cell


def _parts(cell: Any) -> re.Match[str] | float | None:
    """A number as it is, the parts of one in writing, or ``None``."""
    if not isinstance(cell, str):
        return float(cell) if isinstance(cell, int | float | np.number) else None
    found = _CELL.fullmatch(cell.strip())
    if found is not None:
        return found
    try:
        return float(cell)  # inf
    except ValueError:
        return None


def _style(bodies: Sequence[str], decimal: str) -> tuple[str, str]:
    counts = {
        style: sum(_digits(body, style) is not None for body in bodies)
        for style in _STYLES[decimal]
    }
    return max(counts, key=lambda style: counts[style])


_SHAPES: dict[tuple[str, str], re.Pattern[str]] = {
    (thousands, point): re.compile(
        rf"(?:[0-9]{{1,3}}(?:{re.escape(thousands)}[0-9]{{3}})+|"
        rf"[0-9]{{1,2}}(?:{re.escape(thousands)}[0-9]{{2}})+{re.escape(thousands)}[0-9]{{3}}|[0-9]+|)"
        rf"(?:{re.escape(point)}[0-9]*)?"
    )
    for thousands, point in _STYLES["."]
}


def _digits(body: str, style: tuple[str, str]) -> str | None:
    """The number as programs write it; ``None`` where it is not written in this style."""
    thousands, point = style
    for other in _SPACES:
        body = body.replace(other, " ")
    body = body.replace(_APOSTROPHE, "'").strip()
    if not _SHAPES[style].fullmatch(body):
        return None
    return body.replace(thousands, "").replace(point, ".")


def _value(parts: re.Match[str] | float | None, style: tuple[str, str]) -> float:
    if not isinstance(parts, re.Match):
        return float("nan") if parts is None else parts
    digits = _digits(parts["body"], style)
    if digits is None:
        return float("nan")
    value = float(digits + (parts["power"] or "")) / _UNITS[parts["unit"]]
    minus = [parts["bracket"], parts["inner"], parts["behind"]]
    negative = any(minus) or (parts["sign"] or "+") in _MINUS
    return -value if negative else value


def _note(
    parsed: Sequence[re.Match[str] | float | None], values: NDArray[np.float64]
) -> str | None:
    """An example of what was read otherwise than a program would."""
    odd = (i for i, parts in enumerate(parsed) if isinstance(parts, re.Match) and _is_odd(parts))
    for place in islice((i for i in odd if np.isfinite(values[i])), 1):
        parts = parsed[place]
        assert isinstance(parts, re.Match)
        return f"cells such as {parts[0]!r} were read as {values[place]:.15g}"
    return None


def _is_odd(parts: re.Match[str]) -> bool:
    try:
        float(parts[0])
    except ValueError:
        return True
    return False
