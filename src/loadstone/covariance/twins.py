"""Features that are nearly copies of each other, from 128 bits of each.

Bit b of a feature is the sign of its centred column along random direction b. Two columns at
correlation r differ in a share arccos(r) / pi of the bits. Codes, and their opposites for the
sake of negative correlations, are sorted by their bits, beginning with another one each time, and
compared with those that follow: near twins share a run of bits somewhere and meet, without
comparing every pair.
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance.protocol import Array, Support

N_BITS = 128
#: Bits between the beginnings of two sorts.
STEP = 8
#: Codes that follow in a sort and are compared.
N_FOLLOWING = 16
#: Bits in which near twins may differ: a correlation of about 0.8. Two of 10^6 features that
#: have nothing to do with each other differ in more.
MAX_DIFFERENT = 26


def codes_of(Z: Array, projections: Array) -> Array:
    """One code of two words per column: the signs of its projections."""
    signs = Z.T @ projections > 0
    return np.packbits(signs, axis=1).view(np.uint64)


def near_twins(codes: Array, n: int) -> Support:
    """At most ``n`` features that have near twins: those with the closest, and with the most."""
    n_features = codes.shape[0]
    closest = np.full(n_features, N_BITS, dtype=np.int64)
    weight = np.zeros(n_features)
    codes = np.concatenate([codes, ~codes])
    for word in codes.T:
        for shift in range(0, 64, STEP):
            order = np.argsort(_turned(word, shift), kind="stable")
            _compare(codes[order], order % n_features, closest, weight)
    twins = np.flatnonzero(closest <= MAX_DIFFERENT)
    if twins.size <= n:
        return twins
    near = twins[np.argsort(closest[twins], kind="stable")[: n // 2]]
    many = twins[np.argsort(-weight[twins], kind="stable")[: n - n // 2]]
    return np.union1d(near, many)


def _turned(word: Array, shift: int) -> Array:
    """The bits in another order, beginning with number ``shift``."""
    if shift == 0:
        return word
    result: Array = (word << np.uint64(shift)) | (word >> np.uint64(64 - shift))
    return result


def _compare(codes: Array, features: Support, closest: Array, weight: Array) -> None:
    """Compare codes with those that follow; note the distances of those that are alike."""
    for step in range(1, min(N_FOLLOWING, features.size - 1) + 1):
        different = np.bitwise_count(codes[:-step] ^ codes[step:]).sum(axis=1, dtype=np.int64)
        alike = np.flatnonzero(different <= MAX_DIFFERENT)
        for found in (features[alike], features[alike + step]):
            np.minimum.at(closest, found, different[alike])
            np.add.at(weight, found, 1.0 - different[alike] / (2.0 * MAX_DIFFERENT))
