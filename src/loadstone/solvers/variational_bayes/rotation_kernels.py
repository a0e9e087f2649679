# mypy: allow-untyped-defs
"""One-dimensional maximisations of the lower bound over invertible maps of the scores.

Notation: ``W -> W M``, ``x -> M^-1 x`` leaves the fit alone and changes the prior terms
``sum f(w2)``, ``tr S`` and, when columns are rescaled, determinants. Rows of ``moments`` are
packed ``<w_ij w_ik>``, entry (j, k <= j) at j(j+1)/2 + k, contiguous over the features. The
function ``f`` is tabulated at all numbers of a range whose mantissa has ``MANTISSA_BITS``
bits, so that the bits of ``w2`` themselves are the index: five times faster than a logarithm.
"""

import numpy as np
from numba import njit

ROTATE, SHEAR, RESCALE = 0, 1, 2
GOLDEN = 0.6180339887498949
MANTISSA_BITS = 6
SHIFT = 52 - MANTISSA_BITS
MASK = (1 << SHIFT) - 1
CELL = 1.0 / (1 << SHIFT)


@njit(cache=True, error_model="numpy")
def pair_index(j, k):
    """Row of the pair (j, k) in a packed array."""
    return j * (j + 1) // 2 + k if j >= k else k * (k + 1) // 2 + j


@njit(cache=True, error_model="numpy")
def table_sum(values, table, base):
    """Sum of ``f`` over ``values``, which are read by their bits; constant below the table."""
    bits = values.view(np.int64)
    total = 0.0
    last = table.shape[0] - 2
    for i in range(values.shape[0]):
        cell = (bits[i] >> SHIFT) - base
        part = (bits[i] & MASK) * CELL
        if cell < 0:
            cell = 0
            part = 0.0
        elif cell > last:
            cell = last
        total += table[cell] + part * (table[cell + 1] - table[cell])
    return total


@njit(cache=True, error_model="numpy")
def gain(kind, t, first, second, cross, score, table, base, work):
    """What depends on ``t`` in the bound; ``score`` holds S_jj, S_kk, S_jk and N."""
    n = first.shape[0]
    if kind == ROTATE:
        cc = np.cos(t) ** 2
        ss = np.sin(t) ** 2
        cs = np.sin(2.0 * t)
        for i in range(n):
            work[i] = max(cc * first[i] + ss * second[i] + cs * cross[i], 0.0)
            work[n + i] = max(ss * first[i] + cc * second[i] - cs * cross[i], 0.0)
        return table_sum(work[: 2 * n], table, base)
    if kind == SHEAR:
        for i in range(n):
            work[i] = max(first[i] + t * (2.0 * cross[i] + t * second[i]), 0.0)
        trace = score[1] + t * (t * score[0] - 2.0 * score[2])
        return table_sum(work[:n], table, base) - 0.5 * trace
    square = np.exp(2.0 * t)
    for i in range(n):
        work[i] = square * first[i]
    return table_sum(work[:n], table, base) + (n - score[3]) * t - 0.5 * score[0] / square


@njit(cache=True, error_model="numpy")
def maximise(kind, grid, n_golden, first, second, cross, score, table, base, work):
    """Best ``t``: the best point of an ascending ``grid``, then golden section around it."""
    best = 0
    best_value = -np.inf
    at_zero = -np.inf
    for g in range(grid.shape[0]):
        value = gain(kind, grid[g], first, second, cross, score, table, base, work)
        if grid[g] == 0.0:
            at_zero = value
        if value > best_value:
            best = g
            best_value = value
    last = grid.shape[0] - 1
    left = grid[best - 1] if best > 0 else 2.0 * grid[0] - grid[1]
    right = grid[best + 1] if best < last else 2.0 * grid[last] - grid[last - 1]
    a = right - GOLDEN * (right - left)
    b = left + GOLDEN * (right - left)
    value_a = gain(kind, a, first, second, cross, score, table, base, work)
    value_b = gain(kind, b, first, second, cross, score, table, base, work)
    for _ in range(n_golden):
        if value_a > value_b:
            right = b
            b = a
            value_b = value_a
            a = right - GOLDEN * (right - left)
            value_a = gain(kind, a, first, second, cross, score, table, base, work)
        else:
            left = a
            a = b
            value_a = value_b
            b = left + GOLDEN * (right - left)
            value_b = gain(kind, b, first, second, cross, score, table, base, work)
    t = grid[best]
    if value_a > best_value and value_a >= value_b:
        t = a
        best_value = value_a
    elif value_b > best_value:
        t = b
        best_value = value_b
    return t if best_value > at_zero else 0.0


@njit(cache=True, error_model="numpy")
def mix_columns(moments, j, k, a, b, c, d):
    """``w_j, w_k -> a w_j + b w_k, c w_j + d w_k`` in packed second moments."""
    n_latent = int((np.sqrt(8 * moments.shape[0] + 1) - 1) // 2)
    jj = pair_index(j, j)
    kk = pair_index(k, k)
    jk = pair_index(j, k)
    for i in range(moments.shape[1]):
        x = moments[jj, i]
        y = moments[kk, i]
        z = moments[jk, i]
        moments[jj, i] = a * a * x + b * b * y + 2.0 * a * b * z
        moments[kk, i] = c * c * x + d * d * y + 2.0 * c * d * z
        moments[jk, i] = a * c * x + b * d * y + (a * d + b * c) * z
    for r in range(n_latent):
        if r != j and r != k:
            jr = pair_index(j, r)
            kr = pair_index(k, r)
            for i in range(moments.shape[1]):
                x = moments[jr, i]
                y = moments[kr, i]
                moments[jr, i] = a * x + b * y
                moments[kr, i] = c * x + d * y


@njit(cache=True, error_model="numpy")
def apply_map(j, k, a, b, c, d, moments, scores, transform):
    """Carry ``W -> W M`` over to moments, scores (``M^-1 S M^-T``) and the product of maps."""
    mix_columns(moments, j, k, a, b, c, d)
    det = a * d - b * c
    for r in range(transform.shape[0]):
        x = transform[r, j]
        y = transform[r, k]
        transform[r, j] = a * x + b * y
        transform[r, k] = c * x + d * y
    # x_j, x_k -> (d x_j - c x_k)/det, (a x_k - b x_j)/det: the inverse map.
    for r in range(scores.shape[0]):
        x = scores[r, j]
        y = scores[r, k]
        scores[r, j] = (d * x - c * y) / det
        scores[r, k] = (a * y - b * x) / det
    for r in range(scores.shape[0]):
        x = scores[j, r]
        y = scores[k, r]
        scores[j, r] = (d * x - c * y) / det
        scores[k, r] = (a * y - b * x) / det


@njit(cache=True, error_model="numpy")
def rotation_sweep(moments, scores, transform, active, n_samples, grids, n_golden, table, base):
    """Rotate every pair, shear every ordered pair, rescale every column; all in place.

    ``grids`` (3, points) are the trial points of the three kinds; columns that are not
    ``active`` are neither rotated nor sheared.
    """
    n_latent = scores.shape[0]
    score = np.empty(4)
    work = np.empty(2 * moments.shape[1])
    for kind in (ROTATE, SHEAR):
        for j in range(n_latent):
            for k in range(n_latent):
                if j == k or (kind == ROTATE and k > j) or not (active[j] and active[k]):
                    continue
                score[0] = scores[j, j]
                score[1] = scores[k, k]
                score[2] = scores[j, k]
                score[3] = n_samples
                first = moments[pair_index(j, j)]
                second = moments[pair_index(k, k)]
                cross = moments[pair_index(j, k)]
                t = maximise(
                    kind, grids[kind], n_golden, first, second, cross, score, table, base, work
                )
                if t == 0.0:
                    continue
                if kind == ROTATE:
                    c = np.cos(t)
                    s = np.sin(t)
                    apply_map(j, k, c, s, -s, c, moments, scores, transform)
                else:
                    apply_map(j, k, 1.0, t, 0.0, 1.0, moments, scores, transform)
    for j in range(n_latent):
        score[0] = scores[j, j]
        score[3] = n_samples
        first = moments[pair_index(j, j)]
        t = maximise(
            RESCALE, grids[RESCALE], n_golden, first, first, first, score, table, base, work
        )
        factor = np.exp(t)
        transform[:, j] *= factor
        scores[j, :] /= factor
        scores[:, j] /= factor
        for r in range(n_latent):
            moments[pair_index(j, r)] *= factor
        moments[pair_index(j, j)] *= factor
