# mypy: disable-error-code="no-untyped-def, assignment"
"""Compiled rank-3 spannogram: one sweep along every circle on which two curves are equal.

Every set of directions that selects one support is bounded by arcs on which
two curves tie at the edge of the selection, so walking all those circles meets
every support. Along the circle of rows i and j only the number of curves above
the tie matters, and each other curve crosses the tie twice: the cost is
O(n^3 log n), a factor n below visiting the triple points one by one.

Notation: ``rows`` are the rows of V, followed by a zero row (the zero axis)
with non-negativity; ``above`` marks the curves above the tie; the tied rows
are kept with their slope across the circle.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from loadstone.solvers.spannogram.inner_kernels import SLACK, orthogonal_plane
from loadstone.solvers.spannogram.sweep_kernels import SAME_ANGLE, SAME_ROW, solve_support


class Circle(NamedTuple):
    """Working arrays for one circle, reused from circle to circle."""

    flat: Any  # rows in the plane of the circle
    tied: Any  # rows equal to the tie along the whole circle, steepest first
    slope: Any  # their slopes across the circle
    angle: Any  # where other rows cross the tie, sorted
    owner: Any  # which row crosses there
    above: Any  # rows above the tie at the current angle
    members: Any  # room for one support


@njit(cache=True)
def _sift(angle, owner, root, end):  # pragma: no cover - compiled
    """Restore the heap below ``root``."""
    key = angle[root]
    row = owner[root]
    child = 2 * root + 1
    while child < end:
        if child + 1 < end and angle[child + 1] > angle[child]:
            child += 1
        if angle[child] <= key:
            break
        angle[root] = angle[child]
        owner[root] = owner[child]
        root = child
        child = 2 * root + 1
    angle[root] = key
    owner[root] = row


@njit(cache=True)
def sort_crossings(angle, owner, size):  # pragma: no cover - compiled
    """Heap sort of the first ``size`` crossings by angle, owners carried along."""
    for root in range(size // 2 - 1, -1, -1):
        _sift(angle, owner, root, size)
    for end in range(size - 1, 0, -1):
        angle[0], angle[end] = angle[end], angle[0]
        owner[0], owner[end] = owner[end], owner[0]
        _sift(angle, owner, 0, end)


@njit(cache=True)
def _crossing(x, y, period):  # pragma: no cover - compiled
    """Angle in [0, period) at which the curve ``x cos + y sin`` rises through zero."""
    angle = np.arctan2(-x, y)
    while angle < 0.0:
        angle += period
    while angle >= period:
        angle -= period
    return angle


@njit(cache=True)
def _tie_sign(flat, m, i, nonnegative):  # pragma: no cover - compiled
    """The sign with which row m equals row i along the circle, 0 if it does not."""
    if abs(flat[m, 0] - flat[i, 0]) + abs(flat[m, 1] - flat[i, 1]) <= SAME_ROW:
        return 1.0
    if nonnegative:
        return 0.0
    if abs(flat[m, 0] + flat[i, 0]) + abs(flat[m, 1] + flat[i, 1]) <= SAME_ROW:
        return -1.0
    return 0.0


@njit(cache=True)
def _insert_tie(circle, n_tied, m, steep):  # pragma: no cover - compiled
    """Insert row m among the tied rows, steepest first."""
    p = n_tied
    while p > 0 and circle.slope[p - 1] < steep:
        circle.slope[p] = circle.slope[p - 1]
        circle.tied[p] = circle.tied[p - 1]
        p -= 1
    circle.slope[p] = steep
    circle.tied[p] = m


@njit(cache=True)
def trace_circle(rows, i, j, sign, nonnegative, circle):  # pragma: no cover - compiled
    """Ties and sorted crossings on the circle ``v_i c = sign v_j c``.

    Returns their numbers, or zeros where there is no circle or an earlier pair owns it.
    """
    flat, angle, owner = circle.flat, circle.angle, circle.owner
    # Element by element: array expressions would take longer to compile than to run.
    e = np.empty(3)
    length = 0.0
    for a in range(3):
        e[a] = rows[i, a] - sign * rows[j, a]
        length += e[a] * e[a]
    length = np.sqrt(length)
    if length <= SAME_ROW:
        return 0, 0
    for a in range(3):
        e[a] /= length
    B = orthogonal_plane(e)
    for m in range(rows.shape[0]):
        for a in range(2):
            flat[m, a] = rows[m, 0] * B[0, a] + rows[m, 1] * B[1, a] + rows[m, 2] * B[2, a]
    if not nonnegative and abs(flat[i, 0]) + abs(flat[i, 1]) <= SAME_ROW:
        return 0, 0
    own = rows[i, 0] * e[0] + rows[i, 1] * e[1] + rows[i, 2] * e[2]
    # On the whole circle a curve crosses the tie at two opposite points; absolute values
    # repeat after half of it and cross at v_m = v_i and at v_m = -v_i.
    period = 2.0 * np.pi if nonnegative else np.pi
    # A plain 0 would make the compiler build everything below twice.
    n_tied = np.int64(0)
    n_crossings = np.int64(0)
    for m in range(rows.shape[0]):
        tie = _tie_sign(flat, m, i, nonnegative)
        if tie != 0.0:
            steep = tie * (rows[m, 0] * e[0] + rows[m, 1] * e[1] + rows[m, 2] * e[2])
            if m < i or (m < j and abs(steep - own) > SAME_ROW):
                return 0, 0
            _insert_tie(circle, n_tied, m, steep)
            n_tied += 1
            continue
        x = flat[m, 0] - flat[i, 0]
        y = flat[m, 1] - flat[i, 1]
        angle[n_crossings] = _crossing(x, y, period)
        if nonnegative:
            angle[n_crossings + 1] = _crossing(-x, -y, period)
        else:
            angle[n_crossings + 1] = _crossing(
                flat[m, 0] + flat[i, 0], flat[m, 1] + flat[i, 1], period
            )
        owner[n_crossings] = m
        owner[n_crossings + 1] = m
        n_crossings += 2
    sort_crossings(angle, owner, n_crossings)
    return n_tied, n_crossings


@njit(cache=True)
def _first_state(circle, i, n_tied, middle, nonnegative):  # pragma: no cover - compiled
    """Mark the curves above the tie at the angle ``middle``."""
    flat, above = circle.flat, circle.above
    cosine = np.cos(middle)
    sine = np.sin(middle)
    tie = flat[i, 0] * cosine + flat[i, 1] * sine
    for m in range(flat.shape[0]):
        value = flat[m, 0] * cosine + flat[m, 1] * sine
        above[m] = value > tie if nonnegative else abs(value) > abs(tie)
    for t in range(n_tied):
        above[circle.tied[t]] = False


@njit(cache=True)
def choose_tied(tied, slope, n_tied, slots, zero, from_top, members):  # pragma: no cover - compiled
    """Tied rows selected on one side of the circle; returns how many.

    ``zero`` is the position of the zero axis among the tied rows, -1 if it is
    not there: rows at or behind it are never selected.
    """
    size = np.int64(0)
    for t in range(n_tied):
        p = t if from_top else n_tied - 1 - t
        if size == slots or (zero >= 0 and slope[p] == slope[zero]):
            break
        members[size] = tied[p]
        size += 1
    return size


@njit(cache=True)
def _may_improve(rows, gram, members, size, incumbent):  # pragma: no cover - compiled
    """Whether trace and Frobenius norm leave room above the incumbent."""
    G = np.empty((3, 3))
    for a in range(3):
        for b in range(3):
            G[a, b] = gram[a, b]
    for t in range(size):
        for a in range(3):
            for b in range(3):
                G[a, b] += rows[members[t], a] * rows[members[t], b]
    limit = incumbent * (1.0 + SLACK)
    if G[0, 0] + G[1, 1] + G[2, 2] <= limit:
        return False
    square = 0.0
    for a in range(3):
        for b in range(3):
            square += G[a, b] * G[a, b]
    # The Gram matrix of the rows above is updated from crossing to crossing: allow for rounding.
    return square * (1.0 + 1e-11) > limit * limit


@njit(cache=True)
def _flip(rows, m, above, gram):  # pragma: no cover - compiled
    """Row m crosses the tie: update the marks and the Gram matrix of the rows above."""
    step = -1.0 if above[m] else 1.0
    above[m] = not above[m]
    for a in range(3):
        for b in range(3):
            gram[a, b] += step * rows[m, a] * rows[m, b]


@njit(cache=True)
def _count_above(rows, above, n, keys, gram):  # pragma: no cover - compiled
    """Number and fingerprint of the rows above; their Gram matrix goes into ``gram``."""
    count = 0
    key = np.int64(0)
    for m in range(n):
        if above[m]:
            count += 1
            key += keys[m]
            for a in range(3):
                for b in range(3):
                    gram[a, b] += rows[m, a] * rows[m, b]
    return count, key


@njit(cache=True)
def _try_side(
    rows, nonnegative, size, circle, gram, best, direction, record, found
):  # pragma: no cover - compiled
    """Solve (and record) the support of the rows above plus ``size`` tied members."""
    above, members = circle.above, circle.members
    wanted = _may_improve(rows, gram, members, size, best)
    if not wanted and found >= record.shape[0]:
        return best
    for m in range(above.shape[0]):
        if above[m]:
            members[size] = m
            size += 1
    if found < record.shape[0]:
        for t in range(size):
            record[found, t] = members[t]
    if wanted:
        value, c = solve_support(rows, members, size, nonnegative, best)
        if value > best:
            best = value
            for a in range(3):
                direction[a] = c[a]
    return best


@njit(cache=True)
def sweep_circle(
    rows, n_nonzero, nonnegative, i, counts, circle, keys, best, direction, record, found, prints
):  # pragma: no cover - compiled
    """Walk once around one circle; returns the best value and the number of supports so far."""
    n_tied, n_crossings = counts
    angle, owner, above, members = circle.angle, circle.owner, circle.above, circle.members
    n = rows.shape[0] - 1 if nonnegative else rows.shape[0]
    zero = np.int64(-1)
    for t in range(n_tied):
        if circle.tied[t] == n:
            zero = t
    period = 2.0 * np.pi if nonnegative else np.pi
    middle = 0.5 * (angle[n_crossings - 1] - period + angle[0])
    _first_state(circle, i, n_tied, middle, nonnegative)
    gram = np.zeros((3, 3))
    count, key = _count_above(rows, above, n, keys, gram)
    e = 0
    while e < n_crossings:
        last = angle[e]
        while e < n_crossings and angle[e] - last <= SAME_ANGLE:
            last = angle[e]
            m = owner[e]
            _flip(rows, m, above, gram)
            if m < n:
                count += 1 if above[m] else -1
                key += keys[m] if above[m] else -keys[m]
            e += 1
        slots = n_nonzero - count
        # The zero axis above the tie, or a tie away from the edge: the tie decides nothing here.
        if slots <= 0 or (zero < 0 and (slots >= n_tied or (nonnegative and above[n]))):
            continue
        for side in range(2):
            size = choose_tied(circle.tied, circle.slope, n_tied, slots, zero, side == 0, members)
            if count + size == 0:
                continue
            prints[found] = key
            for t in range(size):
                prints[found] += keys[members[t]]
            best = _try_side(rows, nonnegative, size, circle, gram, best, direction, record, found)
            found += 1
    return best, found


@njit(cache=True)
def sweep_row(
    rows, i, n_nonzero, nonnegative, keys, best, direction, record, found, prints
):  # pragma: no cover - compiled
    """All circles of row i with later rows."""
    n_rows = rows.shape[0]
    circle = Circle(
        np.empty((n_rows, 2)),
        np.empty(n_rows, dtype=np.int64),
        np.empty(n_rows),
        np.empty(2 * n_rows),
        np.empty(2 * n_rows, dtype=np.int64),
        np.zeros(n_rows, dtype=np.bool_),
        np.empty(n_rows, dtype=np.int64),
    )
    for j in range(i + 1, n_rows):
        for side in range(1 if nonnegative else 2):
            counts = trace_circle(rows, i, j, 1.0 - 2.0 * side, nonnegative, circle)
            if counts[1] == 0:
                continue
            best, found = sweep_circle(
                rows,
                n_nonzero,
                nonnegative,
                i,
                counts,
                circle,
                keys,
                best,
                direction,
                record,
                found,
                prints,
            )
    return best, found
