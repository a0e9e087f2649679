"""Logarithms of counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.files.column_names import names_of
from loadstone.files.errors import TableError
from loadstone.files.table import Table, listed


def with_logarithms(table: Table) -> Table:
    """``log(1 + x)`` of every number; sparse matrices stay sparse."""
    X = table.X
    values = X.data if sparse.issparse(X) else X
    smallest = np.nanmin(values, initial=0.0)
    if smallest < 0:
        names = np.array(names_of(table), dtype=object)
        negative = names[_smallest_of_columns(X) < 0]
        msg = (
            f"log1p=True takes counts and other values of at least 0, and {smallest:g} is the smallest; "
            f"leave out log1p, or the columns with negative values: {listed(negative)}"
        )
        raise TableError(msg)
    return replace(table, X=X.log1p() if sparse.issparse(X) else np.log1p(X)).noting(
        "log(1 + x) was taken of every feature"
    )


def _smallest_of_columns(X: Any) -> Any:
    if sparse.issparse(X):
        return X.min(axis=0).toarray().ravel()
    return np.nanmin(np.where(np.isnan(X), 0.0, X), axis=0)
