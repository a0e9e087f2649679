"""Row-wise smoothed top-k sums: the inner loop of the dual bound.

Notation: theta maximises sum theta_j v_j - rho/2 |theta|^2 over 0 <= theta <= 1,
sum theta <= room; theta_j = clip((v_j - mu)/rho, 0, 1) for one threshold mu >= 0.
"""

from __future__ import annotations

import numba
import numpy as np

from loadstone.certificates.problem import Array

#: In the place of a value that does not count; no threshold is below it.
_NOT_COUNTED = -1e30


@numba.njit(cache=True)
def find_threshold(values: Array, counted: Array, room: int, rho: float, guess: float) -> float:
    """Find mu >= 0 at which the clipped shares of the counted values sum to at most ``room``."""
    marked = np.where(counted, values, _NOT_COUNTED)
    return _threshold(marked, room, rho, guess)


@numba.njit(cache=True, fastmath={"reassoc", "nsz", "arcp", "contract", "nnan"})
def _shares(values: Array, mu: float, inverse: float) -> tuple[float, float]:
    """The sum of the clipped shares, and how many of them lie between none and all."""
    total = 0.0
    between = 0.0
    for j in range(values.size):
        share = min(max((values[j] - mu) * inverse, 0.0), 1.0)
        total += share
        between += 1.0 if 0.0 < share < 1.0 else 0.0
    return total, between


@numba.njit(cache=True)
def _threshold(values: Array, room: int, rho: float, guess: float) -> float:
    inverse = 1.0 / rho
    if _shares(values, 0.0, inverse)[0] <= room:
        return 0.0
    low = 0.0
    high = values.max()
    mu = guess if low < guess < high else 0.5 * high
    for _ in range(60):
        total, between = _shares(values, mu, inverse)
        excess = total - room
        if abs(excess) <= 1e-9 * (room + 1.0):
            break
        if excess > 0.0:
            low = mu
        else:
            high = mu
        step = mu + rho * excess / between if between > 0.0 else low - 1.0
        mu = step if low < step < high else 0.5 * (low + high)
    return mu


@numba.njit(cache=True, fastmath={"reassoc", "nsz", "arcp", "contract", "nnan"})
def smooth_rows(
    rows: Array,
    nonnegative: bool,  # noqa: FBT001
    forced: Array,
    room: Array,
    rho: float,
    thresholds: Array,
    pull: Array,
) -> tuple[Array, Array]:
    """Smoothed and exact phi_i^2 of every row; the diagonal always counts.

    ``thresholds`` holds the last mu of every row and is updated; ``pull`` receives
    half the gradient of the smoothed phi_i^2. The second result bounds the exact
    phi_i^2 from above for any mu, and equals it at the right one.
    """
    size = rows.shape[0]
    smooth = np.empty(size)
    exact = np.empty(size)
    values = np.empty(size)
    always = np.flatnonzero(forced)
    lowest = 0.0 if nonnegative else -np.inf
    inverse = 1.0 / rho
    for i in range(size):
        row = rows[i]
        for j in range(size):
            entry = max(row[j], lowest)
            values[j] = entry * entry
        certain = row[i] * row[i]
        values[i] = _NOT_COUNTED
        for at in always:
            if at != i:
                certain += values[at]
                values[at] = _NOT_COUNTED
        count = max(room[i], 0)
        mu = _threshold(values, count, rho, thresholds[i]) if count > 0 else 0.0
        thresholds[i] = mu
        edge = mu + 0.5 * rho if mu > 0.0 else 0.0
        soft = certain + 0.5 * rho * count
        hard = certain + edge * count
        scale = inverse if count > 0 else 0.0
        for j in range(size):
            share = min(max((values[j] - mu) * scale, 0.0), 1.0)
            soft += share * (values[j] - 0.5 * rho * share)
            hard += max(values[j] - edge, 0.0)
            pull[i, j] = share * max(row[j], lowest)
        smooth[i] = soft
        exact[i] = hard if count > 0 else certain
        pull[i, i] = row[i]
        for at in always:
            if at != i:
                pull[i, at] = max(row[at], lowest)
    return smooth, exact


@numba.njit(cache=True)
def fill_inner(rough: Array, product: Array, rows: Array, scales: Array, inner: Array) -> None:
    """``A - LL' - (D_s Q + Q'D_s)/2 + D_s^2`` into ``inner``, given ``product = LL'``."""
    half = rough.dtype.type(0.5)
    for i in range(rows.shape[0]):
        for j in range(i):
            shared = half * (scales[i] * rows[i, j] + scales[j] * rows[j, i])
            entry = rough[i, j] - product[i, j] - shared
            inner[i, j] = entry
            inner[j, i] = entry
        inner[i, i] = rough[i, i] - product[i, i] - scales[i] * rows[i, i] + scales[i] * scales[i]


@numba.njit(cache=True, fastmath={"reassoc", "contract"})
def fill_gradient(
    rows: Array,
    scales: Array,
    density: Array,
    pull: Array,
    shares: Array,
    d_rows: Array,
    d_scales: Array,
) -> None:
    """Derivatives in Q and s from the density and from the pull of the rows."""
    half = rows.dtype.type(0.5)
    for i in range(rows.shape[0]):
        share = shares[i] * half
        scale = scales[i]
        along = rows.dtype.type(0.0)
        for j in range(rows.shape[0]):
            d_rows[i, j] = pull[i, j] * share - scale * density[i, j]
            along += rows[i, j] * density[i, j]
        d_scales[i] = scale * density[i, i] + scale * density[i, i] - along
