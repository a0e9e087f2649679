"""What columns look like: dates, years, identifiers. Nothing is changed, people are told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from loadstone.files.table import Table, listed

#: Samples that are looked at before a whole column is.
_LOOK_AT = 200
#: Rows from which on counting upwards is no coincidence.
_MANY = 10
_ID_NAME = re.compile(
    r"(?:.*[\W_])?(?:id|ids|uuid|guid|key|code|no|nr|num|number|index|idx|row|zip|plz|postcode|"
    r"zipcode|phone|ssn|isbn|barcode|serial)(?:[\W_]*)|.*[a-z](?:ID|Id)|ID.*",
)
_YEAR_NAME = re.compile(r".*(?:year|jahr|année|annee|año|anno).*", flags=re.IGNORECASE)
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}(?:[T ].*)?|"
    r"\d{1,2}[ -][A-Za-z]{3,9}\.?[ -,]+\d{2,4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}|"
    r"\d{4}-\d{2}(?:-W\d+)?|\d{4}-?[QW]\d{1,2}"
)
#: What is said of genes beside their counts, without what separates words.
_OF_GENES = re.compile(
    r"(?:gene|exon|transcript|effective|tx)?(?:length|width|start|end|stop|strand)|chr|chrom|"
    r"chromosome|seqnames?|pos|position|(?:percent|pct)?gc(?:content)?|(?:n|num)?exons?(?:count)?|"
    r"(?:ncbi|entrez)?gene(?:id)?|entrez(?:id)?",
    flags=re.IGNORECASE,
)
_NO_DATE = frozenset({"", "nan", "nat", "none", "<na>", "null"})


def are_dates(values: Sequence[Any]) -> bool:
    """Whether the cells of a column of text are dates."""
    seen = [str(v).strip() for v in values[:_LOOK_AT]]
    filled = [v for v in seen if v.lower() not in _NO_DATE]
    return bool(filled) and all(_DATE.fullmatch(v) for v in filled)


def with_looks_noted(table: Table) -> Table:
    """Name the features that count, date or identify rather than measure, with the way out."""
    if table.feature_names is None or not isinstance(table.X, np.ndarray):
        return table
    names = [str(name) for name in table.feature_names]
    head = table.X[:_LOOK_AT]
    whole = (np.isfinite(head) & (head == np.rint(head))).all(axis=0)
    whole &= (head != head[:1]).any(axis=0) if head.shape[0] else False
    found: dict[str, list[str]] = {"identifiers": [], "years": [], "dates": []}
    for i in np.flatnonzero(whole):
        kind = _kind(names[i], np.asarray(table.X[:, i]))
        if kind is not None:
            found[kind].append(names[i])
    for kind, which in found.items():
        if which:
            way_out = f"drop={','.join(which[:6])!r} leaves them out"
            table = table.noting(f"features that look like {kind}: {listed(which)}; {way_out}")
    return table


def with_annotations_noted(table: Table) -> Table:
    """Name columns of a table that will be turned round which describe genes, with the way out."""
    names = [] if table.feature_names is None else [str(name) for name in table.feature_names]
    which = [name for name in names if _OF_GENES.fullmatch(re.sub(r"[\W_]+", "", name))]
    if not which:
        return table
    way_out = f"drop={','.join(which[:6])!r} leaves them out"
    return table.noting(
        f"samples that look like descriptions of features: {listed(which)}; {way_out}"
    )


def _kind(name: str, column: Any) -> str | None:
    counts = column.size >= _MANY and _goes_up_by_one(column)
    if not counts and not _in_range(column[:_LOOK_AT], name):
        return None
    if not (np.isfinite(column) & (column == np.rint(column))).all():
        return None
    if _are_years(column, name):
        return "years"
    if _are_written_dates(column):
        return "dates"
    return "identifiers" if counts or _ID_NAME.fullmatch(name) else None


def _in_range(head: Any, name: str) -> bool:
    """Whether the first values leave anything possible."""
    return bool(_ID_NAME.fullmatch(name)) or _are_years(head, name) or _are_written_dates(head)


def _goes_up_by_one(column: Any) -> bool:
    return bool((np.diff(column[:_LOOK_AT]) == 1).all() and (np.diff(column) == 1).all())


def _are_years(column: Any, name: str) -> bool:
    low, high = (1500, 2200) if _YEAR_NAME.fullmatch(name) else (1900, 2100)
    return bool(column.min() >= low and column.max() <= high)


def _are_written_dates(column: Any) -> bool:
    """Whether whole numbers are dates such as 20240131."""
    if column.min() < 19000101 or column.max() > 21001231:
        return False
    month, day = column // 100 % 100, column % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())
