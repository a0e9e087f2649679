"""Loadings as blocks of columns: allowed parts, largest entries, unit norm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from loadstone.constraints.protocol import Array, Constraint, Indices

#: Loadings off by this many roundings still keep a rule.
ROUNDINGS = 1e3
#: Entries from which on groups of them are looked at first to find the largest.
MANY = 512
#: Entries for each of the largest that this takes, and the widest group.
PER_GROUP, WIDEST = 8, 64


def on_columns(direction: Array, compute: Callable[[Array], Array]) -> Array:
    """``compute`` of a block of columns, for a block or a single vector."""
    if direction.ndim == 1:
        return compute(direction[:, None])[..., 0]
    return compute(direction)


def allowed_part(block: Array, signs: Array | None) -> Array:
    """Entries whose sign is allowed; the others become zero."""
    if signs is None:
        return block
    if signs.min() > 0:
        return np.maximum(block, 0)
    signs = signs.reshape(-1, *[1] * (block.ndim - 1))
    return np.where(signs * block < 0, 0, block)


def unit_columns(values: Array, direction: Array, signs: Array | None, closed: Indices) -> Array:
    """The columns of ``values`` at length one; see :func:`least_loss` for columns of zeros."""
    lengths = np.linalg.norm(values, axis=0)
    empty = ~(lengths > 0)
    W = np.asfortranarray(values / np.where(empty, 1, lengths))
    for column in np.flatnonzero(empty):
        W[:, column] = least_loss(direction[:, column], signs, closed)
    return W


def least_loss(direction: Array, signs: Array | None, closed: Indices) -> Array:
    """The single allowed feature that loses least along a ``direction`` nothing may follow."""
    given = np.zeros(direction.size) if signs is None else signs
    sign = np.where(given == 0, np.where(direction < 0, -1, 1), given)
    worth = (sign * direction).astype(np.float64)
    worth[closed] = -np.inf
    w = np.zeros_like(direction)
    best = int(np.argmax(worth))
    w[best] = sign[best]
    return w


def top_k(worth: Array, k: int) -> Array:
    """Row indices of the ``k`` largest entries of each column; ties go to the first row."""
    n = worth.shape[0]
    if k >= n:
        return np.repeat(np.arange(n)[:, None], worth.shape[1], axis=1)
    rows = np.ascontiguousarray(worth.T)
    if n >= MANY and k * PER_GROUP <= n:
        top = _among_candidates(rows, k)
        if top is not None:
            return top.T
    top = np.argpartition(rows, n - k, axis=1)[:, n - k :]
    kept = rows[np.arange(len(rows))[:, None], top]
    smallest = kept.min(axis=1, keepdims=True)
    tied = np.flatnonzero((rows == smallest).sum(axis=1) > (kept == smallest).sum(axis=1))
    for row in tied:
        above = np.flatnonzero(rows[row] > smallest[row])
        equal = np.flatnonzero(rows[row] == smallest[row])
        top[row] = np.concatenate([above, equal[: k - above.size]])
    return top.T


def _among_candidates(rows: Array, k: int) -> Indices | None:
    """The same for each row, where a look at groups of entries leaves few of them to choose from.

    The k-th largest of the maxima of disjoint groups is at most the k-th largest entry. None where
    entries are not numbers.
    """
    n = rows.shape[1]
    width = min(WIDEST, 2 * n // (PER_GROUP * k))
    groups = n // width
    maxima = rows[:, : width * groups].reshape(len(rows), width, groups).max(axis=1)
    least = np.partition(maxima, groups - k, axis=1)[:, groups - k, None]
    row, column = np.nonzero(rows >= least)
    count = np.bincount(row, minlength=len(rows))
    if (count < k).any():
        return None
    place = np.arange(row.size) - np.repeat(np.cumsum(count) - count, count)
    worth = np.full((len(rows), count.max(initial=0)), -np.inf, dtype=rows.dtype)
    candidates = np.zeros(worth.shape, dtype=np.intp)
    worth[row, place], candidates[row, place] = rows[row, column], column
    # Candidates stand in order, so that ties go to the first.
    order = np.argsort(-worth, axis=1, kind="stable")[:, :k]
    result: Indices = np.take_along_axis(candidates, order, axis=1)
    return result


def broken_norm(w: Array, n_features: int) -> str | None:
    """What is wrong with the length or the norm of ``w``."""
    if w.shape != (n_features,):
        return f"it has shape {w.shape}, not one loading for each of {n_features} features"
    norm = float(np.linalg.norm(w))
    return None if abs(norm - 1) <= rounding(w) else f"its norm is {norm:.6g}, not 1"


def broken_features(w: Array, signs: Array | None, forbidden: Indices) -> str | None:
    """Which loading of ``w`` has a sign or a place it may not have."""
    if signs is not None and (signs * w).min() < 0:
        worst = int(np.argmin(signs * w))
        if signs.min() > 0:
            return f"its smallest loading is {w[worst]:.6g}, below 0"
        side = "below" if signs[worst] > 0 else "above"
        return f"its loading {w[worst]:.6g} of feature {worst} lies {side} 0"
    if forbidden.size and w[forbidden].any():
        bad = forbidden[np.flatnonzero(w[forbidden])]
        return f"it uses the forbidden feature(s) {bad.tolist()}"
    return None


def rounding(w: Array) -> float:
    """What loadings of this precision may be off by."""
    return ROUNDINGS * float(np.finfo(w.dtype).eps)


def filled_support(constraint: Constraint, direction: Array) -> Indices:
    """Support of the best loadings along ``direction``, with every place taken.

    Entries that are zero or of a sign that is not allowed would leave places empty;
    they join last, those that lose least first, and of equal ones the first.
    """
    signs = constraint.signs
    part = np.array(allowed_part(direction, signs), dtype=np.float64)
    largest = float(np.abs(part).max(initial=0.0))
    least = SMALLEST * largest if largest > 0 else 1.0
    given = np.zeros(part.size) if signs is None else signs
    sides = np.where(given == 0, np.where(part < 0, -1, 1), given)
    empty = np.abs(part) < least
    if signs is not None and empty.any():
        loss = np.maximum(-sides * direction, 0).astype(np.float64)
        # Between a half of the least and all of it, which losses of any size are mapped to.
        least = least * (1 - loss / (2 * max(float(loss.max()), np.finfo(np.float64).tiny)))
    part = np.where(empty, sides * least, part)
    return np.sort(constraint.support(constraint.best_loading(part)))


#: Share of the largest entry that an entry counts for when places are filled.
SMALLEST = 1e-12
