"""Blocks of sparse vectors to begin with, and as dense rows."""

import numpy as np

from loadstone.solvers.search.sparse_block import SparseBlock


def random_block(rng, n_rows, p, k):
    indices = np.stack([np.sort(rng.permutation(p)[:k]) for _ in range(n_rows)])
    values = rng.standard_normal((n_rows, k))
    return SparseBlock(indices, values / np.linalg.norm(values, axis=1, keepdims=True))


def dense_rows(block, p):
    return np.stack([block.dense(row, p) for row in range(len(block))])
