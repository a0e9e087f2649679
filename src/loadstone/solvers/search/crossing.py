"""New candidates between two good ones."""

from __future__ import annotations

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.solvers.search.climb import step
from loadstone.solvers.search.spaces import Space
from loadstone.solvers.search.sparse_block import SparseBlock

#: Share of features that two parents may have in common.
MOST_SHARED = 0.6


def apart(block: SparseBlock, n: int) -> list[int]:
    """The first ``n`` rows that are not too much like one before them."""
    chosen: list[int] = []
    supports: list[set[int]] = []
    for row in range(len(block)):
        support = set(block.support(row).tolist())
        if all(len(support & other) <= MOST_SHARED * len(support) for other in supports):
            chosen.append(row)
            supports.append(support)
        if len(chosen) == n:
            break
    return chosen


def unknown(block: SparseBlock, known: SparseBlock) -> SparseBlock:
    """The rows with supports that are not among the known ones."""
    seen = {known.support(row).tobytes() for row in range(len(known))}
    return block.take(
        [row for row in range(len(block)) if block.support(row).tobytes() not in seen]
    )


def crossed(space: Space, parents: SparseBlock, constraint: LoadingConstraint) -> SparseBlock:
    """The best loadings for ``S(u + v)`` of every pair of rows, with the sign that adds most.

    Features that two good components share are likely to belong to a better one, and the
    others compete for the places left.
    """
    if len(parents) < 2:
        return parents.take(slice(0, 0))
    left, right = np.triu_indices(len(parents), 1)
    Y = space.scores(parents)
    alike = []
    for j in range(len(parents) - 1):
        here = np.repeat(parents.indices[None, j], len(parents) - 1 - j, axis=0)
        alike.append(space.images_at(Y[j + 1 :], here) @ parents.values[j])
    sign = np.where(np.concatenate(alike) < 0, -1, 1).astype(parents.values.dtype)[:, None]
    sums = SparseBlock(
        np.hstack([parents.indices[left], parents.indices[right]]),
        np.hstack([parents.values[left], sign * parents.values[right]]),
    )
    return step(space, sums, constraint)
