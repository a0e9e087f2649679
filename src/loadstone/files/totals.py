"""Rows that sum up others are no samples."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from loadstone.files.table import Table, listed

#: How such rows are called.
WORDS = frozenset(
    {
        "total", "totals", "grand total", "overall", "sum", "subtotal", "sub-total", "sub total",
        "average", "mean", "avg", "summe", "gesamt", "gesamtsumme", "gesamtergebnis", "insgesamt",
        "zwischensumme", "mittelwert", "durchschnitt", "somme", "total général", "sous-total",
        "moyenne", "suma", "total general", "media", "promedio", "totale", "somma", "totaal",
        "gemiddelde", "\N{N-ARY SUMMATION}",
    }
)  # fmt: skip
#: Words that never name a class, however many rows bear them.
ALWAYS = frozenset({"subtotal", "sub-total", "sub total", "zwischensumme", "sous-total"})
#: A word that many rows bear is a class.
_MOST = 0.1


def without_totals(table: Table) -> Table:
    """Leave out rows that are called totals, and a last row that is the sum of the others."""
    if not isinstance(table.X, np.ndarray) or table.X.shape[0] < 3:
        return table
    called = np.zeros(table.X.shape[0], dtype=bool)
    names = [] if table.sample_names is None else [table.sample_names]
    for values in [*names, *table.columns.values()]:
        called |= _called_totals(values)
    kept = np.flatnonzero(~called)
    if kept.size > 3 and _is_sum(table.X[kept[:-1]], table.X[kept[-1]]):
        called[kept[-1]] = True
    if not called.any() or called.sum() >= called.size - 1:
        return table
    which = listed([_name(table, i) for i in np.flatnonzero(called)])
    reduced = table.with_samples(~called)
    return reduced.noting(
        f"left out, because totals are no samples: {which}; give the row another name to keep it"
    )


def _called_totals(values: Any) -> Any:
    spelled = [str(value).strip().rstrip(":").casefold() for value in values]
    counts = Counter(spelled)
    few = {word for word in WORDS if 0 < counts[word] <= max(1, _MOST * len(spelled))}
    return np.array([word in few | ALWAYS for word in spelled])


def _is_sum(above: Any, last: Any) -> bool:
    """Whether the last row is the sum of the others, in at least two columns and in all it fills."""
    filled = np.isfinite(last)
    if filled.sum() < 2:
        return False
    sums, sizes = np.nansum(above[:, filled], axis=0), np.nansum(abs(above[:, filled]), axis=0)
    same = abs(sums - last[filled]) <= 1e-9 * sizes
    return bool(same.all() and np.count_nonzero(sizes) >= 2)


def _name(table: Table, i: Any) -> str:
    if table.sample_names is not None:
        return repr(str(table.sample_names[i]))
    for values in table.columns.values():
        if str(values[i]).strip().rstrip(":").casefold() in WORDS:
            return repr(str(values[i]))
    return f"row {i + 1}"
