"""Cells that a spreadsheet would execute, neutralised so that it can be undone."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

#: Text that begins like a formula, behind any number of apostrophes.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def neutral(text: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would take it for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def original(text: str) -> str:
    """What :func:`neutral` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def write_csv(frame: Any, path: Path) -> None:
    """Write a data frame; numbers stay as they are, text is neutralised."""
    texts = [str(name) for name in frame.columns]
    safe = frame.rename(columns=lambda name: neutral(str(name)))
    for position, dtype in enumerate(frame.dtypes):
        if dtype.kind not in "biuf":
            cells = [neutral(c) if isinstance(c, str) else c for c in frame.iloc[:, position]]
            texts += [cell for cell in cells if isinstance(cell, str)]
            safe = safe.assign(**{safe.columns[position]: cells})
    # The csv module leaves a carriage return bare, where every reader takes it for a new line.
    quoting = csv.QUOTE_NONNUMERIC if any("\r" in text for text in texts) else csv.QUOTE_MINIMAL
    safe.to_csv(path, index=False, quoting=quoting)
