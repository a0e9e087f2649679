"""How alike two sets of features are."""

from __future__ import annotations

from typing import Any

import numpy as np


def jaccard(first: Any, second: Any) -> float:
    """Features in both sets over features in either: 1 for equal sets, 0 for disjoint ones.

    Parameters
    ----------
    first, second : array-like
        Loadings or masks over the same features, one-dimensional: what is not zero is in.

    Returns
    -------
    float
        1 where both sets are empty.

    Examples
    --------
    >>> from loadstone.metrics import jaccard
    >>> jaccard([0.8, 0.6, 0, 0], [0, 1, 1, 0])
    0.3333333333333333
    """
    a, b = (np.asarray(w) != 0 for w in (first, second))
    if a.shape != b.shape or a.ndim != 1:
        msg = (
            f"the sets have shapes {a.shape} and {b.shape}; expected two vectors over the same "
            "features"
        )
        raise ValueError(msg)
    either = int((a | b).sum())
    return float((a & b).sum() / either) if either else 1.0
