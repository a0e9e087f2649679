"""Dask arrays that count how often their chunks are read, in chunks of rows or of columns."""

import dask
import dask.array as da
import numpy as np


class Counted:
    """An array in chunks, and how often all of it was read."""

    def __init__(self, X, n_rows=1, n_columns=1):
        self.n_reads, self.n_chunks = 0, n_rows * n_columns

        def read(part):
            self.n_reads += 1
            return part

        self.array = da.block(
            [
                [
                    da.from_delayed(dask.delayed(read)(part), part.shape, dtype=X.dtype)
                    for part in np.array_split(rows, n_columns, axis=1)
                ]
                for rows in np.array_split(X, n_rows)
            ]
        )

    @property
    def passes(self):
        return self.n_reads / self.n_chunks


def planted(n_samples, n_features, sizes=(12, 9, 7), strength=1.5, seed=0):
    """Sparse factors of different strength in noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    order, start = rng.permutation(n_features), 0
    for j, size in enumerate(sizes):
        loadings = strength * rng.uniform(0.7, 1.6, size) * rng.choice([-1, 1], size) / (1 + j / 3)
        X[:, order[start : start + size]] += np.outer(rng.standard_normal(n_samples), loadings)
        start += size
    return X
