# mypy: allow-untyped-defs
"""Many small Gaussian posteriors at once, without ever storing their covariances.

Notation: row ``i`` has covariance ``Sigma_i = D^1/2 (I + tau D^1/2 S_i D^1/2)^-1 D^1/2``
(Eq. 19 of Guan & Dy 2009, corrected) and mean ``tau Sigma_i c_i`` (Eq. 18). Symmetric
q x q matrices are packed as their lower triangles, entry (j, k <= j) at j(j+1)/2 + k.
"""

import numpy as np
from numba import njit

# Rows that travel together. The same elimination runs on LANES matrices with the row index
# innermost, so that every inner loop is one or two vector instructions; measured 3 x faster
# than one matrix after the other and 3 x faster than a batched LAPACK inverse.
LANES = 8


@njit(cache=True, error_model="numpy")
def load_system(start, second, prior_sd, cross, precision, scale, right, system):
    """Write ``I + tau D^1/2 S D^1/2`` and ``tau D^1/2 c`` of LANES rows; pad with identity."""
    n_rows, n_latent = prior_sd.shape
    n_second = second.shape[1]
    for j in range(n_latent):
        for lane in range(LANES):
            i = start + lane
            scale[j, lane] = prior_sd[i, j] if i < n_rows else 0.0
            right[j, lane] = precision * cross[i, j] if i < n_rows else 0.0
    for j in range(n_latent):
        for k in range(j + 1):
            at = j * (j + 1) // 2 + k
            for lane in range(LANES):
                i = min(start + lane, n_second - 1)
                system[j, k, lane] = precision * second[at, i] * scale[j, lane] * scale[k, lane]
        for lane in range(LANES):
            system[j, j, lane] += 1.0


@njit(cache=True, error_model="numpy")
def factorise(system, log_determinant, work):
    """Cholesky factor in place, reciprocal pivots on the diagonal; log-determinants added."""
    for j in range(system.shape[0]):
        for k in range(j):
            for lane in range(LANES):
                work[lane] = system[j, k, lane]
            for r in range(k):
                for lane in range(LANES):
                    work[lane] -= system[j, r, lane] * system[k, r, lane]
            for lane in range(LANES):
                system[j, k, lane] = work[lane] * system[k, k, lane]
        for lane in range(LANES):
            work[lane] = system[j, j, lane]
        for r in range(j):
            for lane in range(LANES):
                work[lane] -= system[j, r, lane] * system[j, r, lane]
        for lane in range(LANES):
            # Every pivot of identity plus a PSD matrix is at least one; less is rounding.
            pivot = max(work[lane], 1.0)
            log_determinant[lane] += np.log(pivot)
            system[j, j, lane] = 1.0 / np.sqrt(pivot)


@njit(cache=True, error_model="numpy")
def invert(system, work):
    """Lower triangle of the inverse, in place, from the factor of `factorise`."""
    n_latent = system.shape[0]
    for j in range(n_latent):
        for k in range(j):
            for lane in range(LANES):
                work[lane] = 0.0
            for r in range(k, j):
                for lane in range(LANES):
                    work[lane] += system[j, r, lane] * system[r, k, lane]
            for lane in range(LANES):
                system[j, k, lane] = -work[lane] * system[j, j, lane]
    for j in range(n_latent):
        for k in range(j + 1):
            for lane in range(LANES):
                work[lane] = 0.0
            for r in range(j, n_latent):
                for lane in range(LANES):
                    work[lane] += system[r, j, lane] * system[r, k, lane]
            for lane in range(LANES):
                system[j, k, lane] = work[lane]


@njit(cache=True, error_model="numpy")
def finish(system, scale, right, solution, total):
    """Covariances from inverses, in place; means, and the covariances added to ``total``."""
    n_latent = system.shape[0]
    solution[:] = 0.0
    for j in range(n_latent):
        for k in range(j + 1):
            entry_sum = 0.0
            for lane in range(LANES):
                entry = system[j, k, lane] * scale[j, lane] * scale[k, lane]
                system[j, k, lane] = entry
                entry_sum += entry
                solution[j, lane] += entry * right[k, lane]
            total[j, k] += entry_sum
            if k < j:
                total[k, j] += entry_sum
                for lane in range(LANES):
                    solution[k, lane] += system[j, k, lane] * right[j, lane]


@njit(cache=True, error_model="numpy")
def gaussian_rows(second, prior_sd, cross, precision, moments):
    """Means, variances, log|I + tau D^1/2 S D^1/2|, summed covariances; fills ``moments``.

    ``second`` is (pairs, 1) when all rows share it, (pairs, n_rows) otherwise. ``moments``
    receives the packed ``<w w'>`` of every row, or is (pairs, 0) when nobody needs them.
    """
    n_rows, n_latent = prior_sd.shape
    mean = np.empty((n_rows, n_latent))
    variance = np.empty((n_rows, n_latent))
    log_determinant = np.empty(n_rows)
    total = np.zeros((n_latent, n_latent))
    system = np.empty((n_latent, n_latent, LANES))
    scale = np.empty((n_latent, LANES))
    right = np.empty((n_latent, LANES))
    solution = np.empty((n_latent, LANES))
    log_work = np.empty(LANES)
    work = np.empty(LANES)
    keep = moments.shape[1] > 0
    for start in range(0, n_rows, LANES):
        load_system(start, second, prior_sd, cross, precision, scale, right, system)
        log_work[:] = 0.0
        factorise(system, log_work, work)
        invert(system, work)
        finish(system, scale, right, solution, total)
        for lane in range(min(LANES, n_rows - start)):
            i = start + lane
            log_determinant[i] = log_work[lane]
            for j in range(n_latent):
                mean[i, j] = solution[j, lane]
                variance[i, j] = system[j, j, lane]
        if keep:
            for j in range(n_latent):
                for k in range(j + 1):
                    at = j * (j + 1) // 2 + k
                    for lane in range(min(LANES, n_rows - start)):
                        moments[at, start + lane] = (
                            system[j, k, lane] + solution[j, lane] * solution[k, lane]
                        )
    return mean, variance, log_determinant, total
