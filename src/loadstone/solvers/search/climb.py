"""Power steps of many sparse loadings at once."""

from __future__ import annotations

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array
from loadstone.solvers.search.running_top import top_of
from loadstone.solvers.search.spaces import Space, chunks
from loadstone.solvers.search.sparse_block import SparseBlock, joined


def values_of(space: Space, block: SparseBlock) -> Array:
    """``w'Sw`` of each row."""
    parts = [space.values(part, space.scores(part)) for part in chunks(space, block)]
    return np.concatenate(parts)


def step(
    space: Space, block: SparseBlock, constraint: LoadingConstraint, *, soft: bool = False
) -> SparseBlock:
    """The best allowed loadings for the images of all rows; soft for the step of EM."""
    moved = []
    for part in chunks(space, block):
        Y = space.scores(part)
        source = lambda lo, hi, Y=Y: space.images(Y, lo, hi)  # noqa: E731
        moved.append(top_of(source, space.n_features, constraint, soft=soft))
    return joined(moved)


def best_rows(space: Space, block: SparseBlock, keep: int) -> tuple[SparseBlock, Array]:
    """The ``keep`` rows with the most variance and distinct supports, best first."""
    values = values_of(space, block)
    order = np.argsort(-values, kind="stable")
    distinct = block.take(order).distinct()[:keep]
    order = order[distinct]
    return block.take(order), values[order]


def settle(
    space: Space, block: SparseBlock, constraint: LoadingConstraint, max_iter: int
) -> tuple[SparseBlock, int]:
    """Steps until every support stands still, and how many they were."""
    settled: list[SparseBlock] = []
    n_iter = 0
    while len(block) and n_iter < max_iter:
        n_iter += 1
        moved = step(space, block, constraint)
        still = same_supports(moved, block)
        settled.append(moved.take(still))
        block = moved.take(~still)
    return joined([*settled, block]), n_iter


def same_supports(left: SparseBlock, right: SparseBlock) -> Array:
    """Which rows have the same support in both blocks."""
    return np.array(
        [np.array_equal(left.support(j), right.support(j)) for j in range(len(left))], dtype=bool
    )
