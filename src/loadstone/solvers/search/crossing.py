"""New candidates between two good ones."""

from __future__ import annotations

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array
from loadstone.solvers.search.climb import best_rows, step
from loadstone.solvers.search.spaces import Space
from loadstone.solvers.search.sparse_block import SparseBlock, joined

#: Share of features that two parents may have in common.
MOST_SHARED = 0.6
#: The same where parents are few.
NEARLY_SHARED = 0.9
#: Shares of its features that a row is shaken out of, the weakest first.
SHAKEN_OUT = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
#: Rows whose copies of a feature are taken out, and what tells copies: equal loadings.
N_SORTED = 10
SAME_LOADING = {"float64": 1e-9, "float32": 1e-5}


def apart(block: SparseBlock, n: int, most_shared: float = MOST_SHARED) -> list[int]:
    """The first ``n`` rows that are not too much like one before them."""
    chosen: list[int] = []
    supports: list[set[int]] = []
    for row in range(len(block)):
        support = set(block.support(row).tolist())
        if all(len(support & other) <= most_shared * len(support) for other in supports):
            chosen.append(row)
            supports.append(support)
        if len(chosen) == n:
            break
    return chosen


def parents_of(block: SparseBlock, n: int) -> list[int]:
    """The first ``n`` rows that are apart; where they are few, others that are less so.

    The tops of one wide hill are worth crossing too.
    """
    chosen = apart(block, n)
    others = [row for row in apart(block, n, NEARLY_SHARED) if row not in chosen]
    return sorted(chosen + others[: n - len(chosen)])


def unknown(block: SparseBlock, known: SparseBlock) -> SparseBlock:
    """The rows with supports that are not among the known ones."""
    seen = {key_of(known, row) for row in range(len(known))}
    return block.take([row for row in range(len(block)) if key_of(block, row) not in seen])


def new_rows(
    space: Space,
    pool: SparseBlock,
    n_parents: int,
    constraint: LoadingConstraint,
    n: int,
    tried: set[bytes],
) -> SparseBlock:
    """The ``n`` best rows between the best ones of a pool and beside them that are not in it.

    Nor among those ``tried``, to which they are added: the same parents have the same children,
    and where nothing better grew from the first ones, it is the turn of the next.
    """
    parents = pool.take(parents_of(pool, n_parents))
    between = crossed(space, parents, constraint)
    fresh = unknown(joined([between, shaken(space, parents, constraint)]), pool)
    fresh = fresh.take([row for row in range(len(fresh)) if key_of(fresh, row) not in tried])
    if not len(fresh):
        return fresh
    best, _ = best_rows(space, fresh, n)
    tried.update(key_of(best, row) for row in range(len(best)))
    return best


def key_of(block: SparseBlock, row: int) -> bytes:
    """The support of a row, to be looked up."""
    return block.support(row).tobytes()


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


def shaken(space: Space, parents: SparseBlock, constraint: LoadingConstraint) -> SparseBlock:
    """The best loadings for the image of each row without some of its features.

    Features that are nearly alike come and go together: where one of them alone is exchanged,
    the others of its kind hold the old place and call it back. So the weakest go, some or many;
    and of the first rows those that are copies of each other, each kind on its own.
    """
    weakest = np.argsort(np.abs(parents.values), axis=1, kind="stable")
    counts = sorted({max(1, round(share * parents.size)) for share in SHAKEN_OUT} - {parents.size})
    left = [_without(parents, weakest[:, :count]) for count in counts]
    for row in range(min(N_SORTED, len(parents))):
        left += [
            _without(parents.take([row]), kind[None])
            for kind in _copies(np.abs(parents.values[row]), weakest[row])
        ]
    return step(space, joined(left), constraint) if left else parents.take(slice(0, 0))


def _without(block: SparseBlock, places: Array) -> SparseBlock:
    """The rows with zeros at some places each."""
    values = block.values.copy()
    np.put_along_axis(values, places, 0, axis=1)
    return SparseBlock(block.indices, values)


def _copies(size: Array, ascending: Array) -> list[Array]:
    """Places with the same loading but for rounding, two or more together."""
    ordered = size[ascending]
    apart = np.diff(ordered) > SAME_LOADING[size.dtype.name] * ordered[1:]
    kinds = np.split(ascending, np.flatnonzero(apart) + 1)
    return [kind for kind in kinds if 2 <= kind.size < size.size]
