"""Table 3 of Guan & Dy, as it is printed."""

from __future__ import annotations

import numpy as np

#: SPPCA with Jeffreys' prior; rows t1 to t9, columns PC1 to PC7 (PC8 is empty).
SPPCA = np.array(
    [
        [-0.144, -0.047, 0, -0.014, 0, -0.008, 0],
        [0.060, 0.050, 0.055, -0.049, 0, 0.030, 0],
        [0, -0.129, 0, -0.032, 0, -0.010, 0],
        [0.097, 0.067, -0.044, 0, 0, 0, 0.034],
        [0.054, -0.020, 0.046, 0.070, 0, 0, -0.009],
        [0.055, -0.018, -0.092, 0, 0.010, 0, -0.024],
        [-0.140, -0.065, 0, 0.028, 0, 0.005, 0],
        [0.052, 0.099, 0, -0.018, -0.008, -0.037, 0],
        [-0.036, 0, -0.027, 0.011, -0.078, 0, 0],
    ]
)
SPCA = np.array(
    [
        [-0.700, -0.149, 0, -0.093, -0.005, 0, 0],
        [0.218, 0.256, 0.407, -0.514, 0, 0.544, 0],
        [-0.064, -0.748, 0, -0.490, -0.001, -0.344, 0],
        [0.105, 0.088, -0.339, 0, 0, 0.0001, 0.902],
        [0.143, -0.161, 0.403, 0.676, 0, 0, 0],
        [0.141, 0, -0.746, 0.081, 0, 0.306, -0.402],
        [-0.589, 0.159, 0, 0.048, 0, 0, 0],
        [0.247, 0.542, -0.010, -0.146, 0, -0.701, -0.155],
        [0, -0.020, 0, 0, -1.00, 0, 0],
    ]
)
SPPCA_AV = (0.277, 0.228, 0.155, 0.129, 0.102, 0.059, 0.042)
SPCA_AV = (0.245, 0.204, 0.153, 0.120, 0.111, 0.070, 0.060)
#: Entries whose printed sign contradicts the printed variances: (row, column), counted from 0.
SPPCA_SIGNS = ((0, 1), (6, 1))
SPCA_SIGNS = ((0, 1),)


def with_signs(W: np.ndarray, turned: tuple[tuple[int, int], ...]) -> np.ndarray:
    """``W`` with the sign of some entries turned."""
    changed = W.copy()
    for place in turned:
        changed[place] *= -1
    return changed
