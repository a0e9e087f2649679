"""Columns of data frames that hold no numbers."""

from __future__ import annotations

from typing import Any

from loadstone.covariance.opened import package_of


def refuse_text_columns(X: Any, *, unseen: bool = False) -> None:
    """Name the columns of a data frame that hold no numbers; what is unseen may be anything."""
    if package_of(X) == "pyarrow" and hasattr(X, "schema"):
        columns, dtypes = X.schema.names, X.schema.types
    else:
        columns, dtypes = getattr(X, "columns", None), getattr(X, "dtypes", None)
    if columns is None or dtypes is None or callable(dtypes):
        return
    bad = [
        str(c)
        for i, (c, dtype) in enumerate(zip(columns, list(dtypes), strict=False))
        if _is_text(dtype) or (str(dtype) == "object" and (unseen or _holds_text(X.iloc[:, i])))
    ]
    if bad:
        msg = (
            f"column(s) {bad} hold no numbers; drop them, encode them, or select the numeric "
            "columns first, for example X.select_dtypes('number')"
        )
        raise ValueError(msg)


def _is_text(dtype: Any) -> bool:
    name = str(dtype).lower()
    return name.startswith(
        ("str", "string", "category", "date", "time", "categorical", "utf8", "enum", "large_string")
    )


def _holds_text(column: Any) -> bool:
    """Whether an object column has an entry that is no number, not even in writing."""
    for value in column:
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                return True
    return False
