"""What every solver returns: loadings with their evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: In sample, features in components that are more than this share of the samples fit anything.
FITS_ANYTHING = 0.25
#: Why there are fewer components than asked for.
NOTHING_LEFT = "no direction with any variance is left"


class Stop(Enum):
    """Why a search ended; the value is the message a person reads."""

    CONVERGED = "converged: the loadings no longer change"
    EXACT = "solved exactly: nothing is iterated"
    MAX_ITER = (
        "the maximum number of iterations was reached before the loadings settled; "
        "raise max_iter, or raise tol if fewer digits will do"
    )
    TIME_LIMIT = "the time limit was reached; the best result so far is returned"
    ACCURATE = "the asked accuracy was reached"
    WORK_LIMIT = (
        "the limit of work was reached; the result and its bound are the best so far, "
        "and a coarser accuracy or a smaller problem would finish"
    )
    CALLBACK = "a callback asked to stop; the result so far is returned"
    EMPTY = "nothing is left: no remaining direction has any variance"
    NOISE_ALONE = "noise alone describes the data best: no component pays for its loadings"


@dataclass(frozen=True)
class Loadings:
    """Unit-norm loadings as columns, and how they were found.

    Attributes
    ----------
    matrix : ndarray of shape (n_features, n_columns)
        One column per component or candidate.
    objective : ndarray
        Values of what was maximised, one per iteration where the solver iterates.
    n_iter : int
        Iterations used.
    stop : Stop
        Why the search ended.
    details : mapping
        What only one solver has to tell.
    """

    matrix: NDArray[Any]
    objective: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    n_iter: int = 0
    stop: Stop = Stop.CONVERGED
    details: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def distinct_supports(W: NDArray[Any]) -> NDArray[Any]:
    """The first column of every support, in order."""
    return W[:, first_of_each_support(W)]


def first_of_each_support(W: NDArray[Any]) -> list[int]:
    """Where each support appears first among the columns."""
    seen: dict[bytes, int] = {}
    for j in range(W.shape[1]):
        seen.setdefault(np.packbits(W[:, j] != 0).tobytes(), j)
    return list(seen.values())


def named_loadings(components: NDArray[Any], names: NDArray[Any], groups: Any = None) -> Any:
    """The non-zero loadings as a data frame: component from 1, feature, loading, largest first."""
    try:
        import pandas as pd
    except ImportError as error:
        msg = "loadings_table needs pandas; install it with: pip install pandas"
        raise ImportError(msg) from error
    places = [
        (j, i)
        for j, w in enumerate(components)
        for i in sorted(np.flatnonzero(w), key=lambda i, w=w: -abs(w[i]))  # type: ignore[misc]
    ]
    rows = [(j + 1, names[i], float(components[j, i])) for j, i in places]
    table = pd.DataFrame(rows, columns=["component", "feature", "loading"])
    if groups is not None:
        table["group"] = [groups[i] for _, i in places]
    return table
