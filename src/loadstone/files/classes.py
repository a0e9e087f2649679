"""Classes of samples as text, which is empty for samples without one."""

from __future__ import annotations

from typing import Any

import numpy as np

#: What pandas writes for nothing, besides NaN.
_NOTHING = frozenset({"NAType", "NaTType", "NoneType"})


def classes_of(values: Any) -> Any:
    """Text of each value, empty where it is ``None``, NaN or one of pandas' words for nothing.

    Parameters
    ----------
    values : array-like
        Of any shape, which stays as it is.

    Returns
    -------
    ndarray of str
    """
    # Of a list, numpy would make one kind: NaN beside words became a word.
    given = np.asarray(values, dtype=None if hasattr(values, "dtype") else object)
    if given.dtype.kind == "O":
        return np.asarray(np.frompyfunc(_class, 1, 1)(given), dtype=object)
    spelled = given.astype(str).astype(object)
    spelled[given != given] = ""
    return spelled


def texts_of(column: Any) -> Any:
    """The cells of a column of a frame as text, empty where a cell is."""
    spelled = np.array(column.astype(str), dtype=object)
    spelled[np.asarray(column.isna(), dtype=bool)] = ""
    return spelled


def _class(value: Any) -> str:
    nothing = type(value).__name__ in _NOTHING or (isinstance(value, float) and value != value)
    return "" if nothing else str(value)
