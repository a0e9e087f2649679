"""Features that are nearly copies of each other, from 64 bits of each.

Bit b of a feature is the sign of its centred column along random direction b. Two columns at
correlation r differ in a share arccos(|r|) / pi of the bits, up to a flip of all of them, so
that near twins stand out among any number of features, without comparing every pair.
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance.protocol import Array, Support

N_BITS = 64
#: Bits that are compared at once: equal ones make two features candidates.
BAND_BITS = 16
#: Bits in which near twins may differ: a correlation of about 0.8.
MAX_DIFFERENT = 14
#: Features with equal bits in one band beyond which it says nothing.
MAX_BUCKET = 64


def codes_of(Z: Array, projections: Array) -> Array:
    """One code per column: the signs of its projections, the first one made positive."""
    signs = Z.T @ projections > 0
    signs ^= signs[:, :1]
    return np.packbits(signs, axis=1).view(np.uint64).ravel()


def near_twins(codes: Array) -> Support:
    """Features that have a near twin, ascending."""
    found = np.zeros(codes.size, dtype=bool)
    bands = codes.view(np.uint16).reshape(-1, N_BITS // BAND_BITS)
    for band in bands.T:
        order = np.argsort(band, kind="stable")
        for step in range(1, MAX_BUCKET):
            left, right = order[:-step], order[step:]
            together = band[left] == band[right]
            if not together.any():
                break
            left, right = left[together], right[together]
            alike = np.bitwise_count(codes[left] ^ codes[right]) <= MAX_DIFFERENT
            found[left[alike]] = True
            found[right[alike]] = True
    return np.flatnonzero(found)
