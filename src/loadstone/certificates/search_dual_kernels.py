"""Row-wise smoothed top-k sums: the inner loop of the dual bound.

Notation: theta maximises sum theta_j v_j - rho/2 |theta|^2 over 0 <= theta <= 1,
sum theta <= room; theta_j = clip((v_j - mu)/rho, 0, 1) for one threshold mu >= 0.
"""

from __future__ import annotations

import numba
import numpy as np

from loadstone.certificates.problem import Array


@numba.njit(cache=True)
def find_threshold(values: Array, counted: Array, room: int, rho: float, guess: float) -> float:
    """Find mu >= 0 at which the clipped shares of the counted values sum to at most ``room``."""
    low = 0.0
    high = 0.0
    total = 0.0
    for j in range(values.size):
        if counted[j]:
            high = max(high, values[j])
            total += min(values[j] / rho, 1.0)
    if total <= room:
        return 0.0
    mu = guess if low < guess < high else 0.5 * high
    for _ in range(60):
        total = 0.0
        slope = 0.0
        for j in range(values.size):
            if counted[j]:
                share = (values[j] - mu) / rho
                if share >= 1.0:
                    total += 1.0
                elif share > 0.0:
                    total += share
                    slope += 1.0
        excess = total - room
        if abs(excess) <= 1e-9 * (room + 1.0):
            break
        if excess > 0.0:
            low = mu
        else:
            high = mu
        step = mu + rho * excess / slope if slope > 0.0 else low - 1.0
        mu = step if low < step < high else 0.5 * (low + high)
    return mu


@numba.njit(cache=True)
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
    counted = np.empty(size, dtype=np.bool_)
    for i in range(size):
        certain = 0.0
        for j in range(size):
            entry = rows[i, j]
            if nonnegative and entry < 0.0 and j != i:
                entry = 0.0
            pull[i, j] = entry
            values[j] = entry * entry
            counted[j] = not (forced[j] or j == i)
            if not counted[j]:
                certain += values[j]
        count = max(room[i], 0)
        mu = find_threshold(values, counted, count, rho, thresholds[i]) if count > 0 else 0.0
        thresholds[i] = mu
        edge = mu + 0.5 * rho if mu > 0.0 else 0.0
        soft = certain + 0.5 * rho * count
        hard = certain + edge * count
        for j in range(size):
            if counted[j]:
                share = 0.0
                if count > 0:
                    share = min(max((values[j] - mu) / rho, 0.0), 1.0)
                    hard += max(values[j] - edge, 0.0)
                soft += share * values[j] - 0.5 * rho * share * share
                pull[i, j] *= share
        smooth[i] = soft
        exact[i] = hard
    return smooth, exact
