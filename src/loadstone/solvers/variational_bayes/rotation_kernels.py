"""One-dimensional maximisations of the lower bound over invertible maps of the scores.

Notation: ``W -> W M``, ``x -> M^-1 x`` leaves the fit alone and changes the prior terms
``sum f(w2)``, ``tr S`` and, when columns are rescaled, determinants. Rows of ``moments`` are
packed ``<w_ij w_ik>``, entry (j, k <= j) at j(j+1)/2 + k, contiguous over the features. The
function ``f`` is tabulated, linear between points of equal distance in ``ln w2``.
"""

import numpy as np
from numba import njit

ROTATE, SHEAR, RESCALE = 0, 1, 2
GOLDEN = 0.6180339887498949
TINY = 1e-290


@njit(cache=True, error_model="numpy")
def pair_index(j, k):
    """Row of the pair (j, k) in a packed array."""
    return j * (j + 1) // 2 + k if j >= k else k * (k + 1) // 2 + j


@njit(cache=True, error_model="numpy")
def table_value(second, table, low, step):
    """Linear interpolation in ``ln w2``, continued beyond both ends."""
    position = (np.log(max(second, TINY)) - low) / step
    cell = min(max(int(position), 0), table.shape[0] - 2)
    return table[cell] + (position - cell) * (table[cell + 1] - table[cell])


@njit(cache=True, error_model="numpy")
def gain(kind, t, first, second, cross, score, table, low, step):
    """What depends on ``t`` in the bound; ``score`` holds S_jj, S_kk, S_jk and N."""
    total = 0.0
    if kind == ROTATE:
        c = np.cos(t)
        s = np.sin(t)
        for i in range(first.shape[0]):
            shared = 2.0 * c * s * cross[i]
            total += table_value(c * c * first[i] + s * s * second[i] + shared, table, low, step)
            total += table_value(s * s * first[i] + c * c * second[i] - shared, table, low, step)
        return total
    if kind == SHEAR:
        for i in range(first.shape[0]):
            moved = first[i] + t * (2.0 * cross[i] + t * second[i])
            total += table_value(moved, table, low, step)
        return total - 0.5 * (score[1] + t * (t * score[0] - 2.0 * score[2]))
    square = np.exp(2.0 * t)
    for i in range(first.shape[0]):
        total += table_value(square * first[i], table, low, step)
    return total + (first.shape[0] - score[3]) * t - 0.5 * score[0] / square


@njit(cache=True, error_model="numpy")
def maximise(kind, grid, n_golden, first, second, cross, score, table, low, step):
    """Best ``t``: the best point of an ascending ``grid``, then golden section around it."""
    best = 0
    best_value = -np.inf
    at_zero = -np.inf
    for g in range(grid.shape[0]):
        value = gain(kind, grid[g], first, second, cross, score, table, low, step)
        if grid[g] == 0.0:
            at_zero = value
        if value > best_value:
            best = g
            best_value = value
    left = grid[max(best - 1, 0)]
    right = grid[min(best + 1, grid.shape[0] - 1)]
    a = right - GOLDEN * (right - left)
    b = left + GOLDEN * (right - left)
    value_a = gain(kind, a, first, second, cross, score, table, low, step)
    value_b = gain(kind, b, first, second, cross, score, table, low, step)
    for _ in range(n_golden):
        if value_a > value_b:
            right = b
            b = a
            value_b = value_a
            a = right - GOLDEN * (right - left)
            value_a = gain(kind, a, first, second, cross, score, table, low, step)
        else:
            left = a
            a = b
            value_a = value_b
            b = left + GOLDEN * (right - left)
            value_b = gain(kind, b, first, second, cross, score, table, low, step)
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
def rotation_sweep(moments, scores, transform, active, n_samples, grids, n_golden, table, low, step):
    """Rotate every pair, shear every ordered pair, rescale every column; all in place.

    ``grids`` (3, points) are the trial points of the three kinds; columns that are not
    ``active`` are neither rotated nor sheared.
    """
    n_latent = scores.shape[0]
    score = np.empty(4)
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
                    kind, grids[kind], n_golden, first, second, cross, score, table, low, step
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
            RESCALE, grids[RESCALE], n_golden, first, first, first, score, table, low, step
        )
        factor = np.exp(t)
        transform[:, j] *= factor
        scores[j, :] /= factor
        scores[:, j] /= factor
        for r in range(n_latent):
            moments[pair_index(j, r)] *= factor
        moments[pair_index(j, j)] *= factor
