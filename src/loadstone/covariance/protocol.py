"""What every algorithm may ask of the data: products with its covariance, and little else.

Notation: ``S`` is the sample covariance, n_features x n_features, with the one
divisor of the whole package (n_samples - 1). ``W`` is a block of columns.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Support = NDArray[np.intp]


@runtime_checkable
class Covariance(Protocol):
    """The waist of the package: data below, algorithms above.

    Attributes
    ----------
    n_samples : float
        Number of samples behind the matrix (the sum of the sample weights);
        NaN where nobody knows, as for a matrix given without its data.
    n_features : int
        Number of rows and columns.
    dtype : numpy.dtype
        Precision of all products, float32 or float64.
    """

    @property
    def n_samples(self) -> float:
        """Sum of the sample weights."""
        ...

    @property
    def n_features(self) -> int:
        """Number of features."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of all products."""
        ...

    def __matmul__(self, W: Array) -> Array:
        """``S @ W`` for a vector or a block of columns; one pass over the data."""
        ...

    def diagonal(self) -> Array:
        """Variances of the features."""
        ...

    def block(self, rows: Support, cols: Support) -> Array:
        """``S[rows][:, cols]`` as a dense array."""
        ...

    def restrict(self, support: Support) -> Covariance:
        """The covariance of the features in ``support`` alone."""
        ...
