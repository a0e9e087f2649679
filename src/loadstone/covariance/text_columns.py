"""Columns of data frames that hold no numbers."""

from __future__ import annotations

from typing import Any

from loadstone.covariance.opened import package_of

#: How the names of types begin that hold no numbers, in pandas, polars and Arrow.
_NO_NUMBERS = (
    *("str", "utf8", "large_string", "binary", "large_binary", "bytes", "fixed_size"),
    *("category", "categorical", "enum", "dictionary<values=string"),
    *("date", "time", "duration", "period", "interval", "month_day"),
    *("list", "large_list", "array(", "struct", "map"),
)


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
    return name.startswith(_NO_NUMBERS)


def _holds_text(column: Any) -> bool:
    """Whether an object column has an entry that is no number, not even in writing."""
    for value in column:
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                return True
    return False


def without_filled(X: Any) -> Any:
    """A frame of pandas whose columns are sparse matrices of zeros or dense, all of them alike.

    scikit-learn makes a matrix of columns that are filled with zeros, and of all columns or none.
    """
    if package_of(X) != "pandas" or getattr(X, "ndim", 0) != 2:
        return X
    held = {i: dtype for i, dtype in enumerate(X.dtypes) if hasattr(dtype, "fill_value")}
    if not held or (len(held) == X.shape[1] and all(d.fill_value == 0 for d in held.values())):
        return X
    return X.astype({X.columns[i]: dtype.subtype for i, dtype in held.items()})
