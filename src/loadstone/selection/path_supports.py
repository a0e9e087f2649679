"""The supports of a path, a bit per feature."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from loadstone.covariance import Array


class Supports(Sequence[Array]):
    """The support of each size, unpacked when it is looked at."""

    def __init__(self, packed: Array, n_features: int) -> None:
        self._packed, self._n_features = packed, n_features

    def __len__(self) -> int:
        return len(self._packed)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Supports(self._packed[index], self._n_features)
        return np.flatnonzero(self.mask(index))

    def mask(self, index: int) -> Array:
        """The support of a size as a mask over the features."""
        return np.unpackbits(self._packed[index], count=self._n_features).view(bool)

    def masks(self) -> Iterator[Array]:
        """All masks in order of size, one at a time."""
        return (self.mask(index) for index in range(len(self)))
