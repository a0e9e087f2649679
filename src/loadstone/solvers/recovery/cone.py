"""The largest quotient ``w'Aw / w'Bw`` of loadings of given signs, on many supports at once.

On a face of the cone, the features whose loadings are not zero, the best vector without signs
is the leading one of the pencil there. From ``w`` towards it the quotient rises all the way: in
the plane of both it is ``c + d cos(2 angle)``, largest at the leading vector. So ``w`` goes there,
or up to the first loading that becomes zero, and that feature leaves the face. Where the leading
vector keeps the signs, a feature outside the face enters whose gradient ``(A - mu B)w`` points the
allowed way. The quotient rises at each step, so that no face is visited twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loadstone.covariance import Array

#: Eigenvalues of correlations of scores below this share of the largest count as zero, and below
#: this number of units of their precision.
SINGULAR, ROUNDED = 1e-8, 1e3
#: Loadings below this share of the largest count as zero.
ZERO = 1e-12
#: Gradients below this share of their terms are rounding, and so is a fall of the quotient.
FLAT = 1e-10
#: Steps for each feature of a support.
STEPS = 4


def singular_share(eps: float) -> float:
    """Share of the largest eigenvalue that is nothing, of numbers with rounding ``eps``."""
    return max(SINGULAR, ROUNDED * eps)


def leading(A: Array, B: Array, floor: float, singular: float = SINGULAR) -> tuple[Array, Array]:
    """Largest root of each pencil ``A - mu B`` of a batch, and its vector.

    Features with a variance up to ``floor`` are left out, and so are directions in which the
    correlations of the others are ``singular``: they recover nothing, at any price.
    """
    variance = np.diagonal(B, axis1=1, axis2=2)
    usable = variance > floor
    unit = np.divide(usable, np.sqrt(np.where(usable, variance, 1.0)))
    lengths, Q = np.linalg.eigh(unit[:, :, None] * B * unit[:, None, :])
    solid = lengths > singular * np.maximum(lengths[:, -1:], np.finfo(np.float64).tiny)
    root = np.divide(solid, np.sqrt(np.where(solid, lengths, 1.0)))
    white = unit[:, :, None] * Q * root[:, None, :]
    values, vectors = np.linalg.eigh(white.transpose(0, 2, 1) @ A @ white)
    return values[:, -1], (white @ vectors[:, :, -1:])[:, :, 0]


def turned_inside(w: Array, signs: Array) -> tuple[Array, Array]:
    """Each ``w`` or ``-w``, whichever has the signs, and whether one of them has."""
    size = np.abs(w).max(axis=1, keepdims=True, initial=0.0)
    w = np.where(np.abs(w) > ZERO * size, w, 0.0)
    sides = w * signs
    negative = np.asarray((sides <= 0).all(axis=1))
    return np.where(negative[:, None], -w, w), negative | np.asarray((sides >= 0).all(axis=1))


def best_in_cone(
    A: Array, B: Array, signs: Array, starts: Sequence[Array], floor: float
) -> tuple[Array, Array]:
    """The best of climbs from what several starts have of the given signs.

    Parameters
    ----------
    A, B : ndarray of shape (n, k, k)
        The pencils.
    signs : ndarray of int of shape (n, k)
        +1 or -1, or 0 where either is allowed.
    starts : sequence of ndarray of shape (n, k)
        Vectors of any signs.
    floor : float
        Variance below which a score counts as empty.

    Returns
    -------
    values : ndarray of shape (n,)
        The quotients; zero where no start has anything of the signs.
    w : ndarray of shape (n, k)
        The vectors that reach them.
    """
    turn = np.where(signs < 0, -1.0, 1.0)
    both = turn[:, :, None] * turn[:, None, :]
    held = signs != 0
    n = len(starts)
    turned = np.concatenate([start * turn for start in starts])
    all_held = np.tile(held, (n, 1))
    begun = np.where(all_held, np.maximum(turned, 0.0), turned)
    A, B = np.tile(A * both, (n, 1, 1)), np.tile(B * both, (n, 1, 1))
    values, ends = climb_in_cone(A, B, all_held, begun, floor)
    best = values.reshape(n, -1).argmax(axis=0)
    rows = np.arange(len(held))
    return values.reshape(n, -1)[best, rows], ends.reshape(n, *held.shape)[best, rows] * turn


def climb_in_cone(A: Array, B: Array, held: Array, w: Array, floor: float) -> tuple[Array, Array]:
    """Climb from each ``w`` to a vector that no small step within the cone improves.

    Parameters
    ----------
    A, B : ndarray of shape (n, k, k)
        The pencils.
    held : ndarray of bool of shape (n, k)
        Entries that are at least zero; the others are free.
    w : ndarray of shape (n, k)
        Where to begin, inside the cone.
    floor : float
        Variance below which a score counts as empty.

    Returns
    -------
    values : ndarray of shape (n,)
        The quotients.
    w : ndarray of shape (n, k)
        The vectors that reach them.
    """
    ends, face = w.copy(), ~held | (w > 0)
    values = quotients(A, B, ends, floor)
    going = np.arange(len(w))
    for _ in range(STEPS * w.shape[1]):
        if not going.size:
            break
        step = _Step(A[going], B[going], held[going], ends[going], face[going], floor)
        reached = quotients(step.A, step.B, step.w, floor)
        # It never falls but by rounding, as where a climb goes on from the best of a face.
        higher = reached >= values[going] * (1.0 - FLAT)
        values[going[higher]], ends[going[higher]] = reached[higher], step.w[higher]
        face[going] = step.face
        going = going[higher & ~step.done]
    return values, ends


def quotients(A: Array, B: Array, w: Array, floor: float) -> Array:
    """``w'Aw / w'Bw`` of each row; zero where a score has no variance."""
    above, below = (np.einsum("ni,nij,nj->n", w, M, w) for M in (A, B))
    limit = floor * np.einsum("ni,ni->n", w, w)
    return np.asarray(np.divide(above, below, out=np.zeros_like(above), where=below > limit))


class _Step:
    """One step of every climb: along its face, off it, or onto a larger one."""

    def __init__(
        self, A: Array, B: Array, held: Array, w: Array, face: Array, floor: float
    ) -> None:
        self.A, self.B, self.held = A, B, held
        both = face[:, :, None] & face[:, None, :]
        top, target = leading(A * both, B * both, floor)
        ahead = np.einsum("ni,nij,nj->n", w, B, target) >= 0
        target = np.where(ahead[:, None], target, -target)
        size = np.abs(target).max(axis=1, keepdims=True)
        target = np.where(np.abs(target) > ZERO * size, target, 0.0)
        blocked = held & (target < 0)
        arrived = np.asarray(~blocked.any(axis=1))
        self.w = np.where(arrived[:, None], target, self._edge(w, target, blocked, floor))
        self.face = ~held | (self.w > 0)
        steep = np.where(arrived[:, None], self._steepness(top), 0.0)
        entering = steep > 0
        entering &= np.arange(w.shape[1]) == steep.argmax(axis=1)[:, None]
        self.face |= entering
        self.done = arrived & ~entering.any(axis=1)

    def _edge(self, w: Array, target: Array, blocked: Array, floor: float) -> Array:
        """As far towards the target as signs allow, or without all wrong ones where that is more."""
        way = np.divide(w, -target, out=np.full(w.shape, np.inf), where=blocked)
        far = way.min(axis=1, keepdims=True)
        edge = w + np.where(np.isfinite(far), far, 0.0) * target
        edge[blocked & (way <= far)] = 0.0
        edge = np.where(self.held, np.maximum(edge, 0.0), edge)
        cut = np.where(blocked, 0.0, target)
        more = quotients(self.A, self.B, cut, floor) > quotients(self.A, self.B, edge, floor)
        return np.where(more[:, None], cut, edge)

    def _steepness(self, top: Array) -> Array:
        """How fast the quotient rises with each loading that is zero; zero where it does not."""
        gain = np.einsum("nij,nj->ni", self.A, self.w)
        cost = top[:, None] * np.einsum("nij,nj->ni", self.B, self.w)
        rounding = FLAT * (np.abs(gain) + np.abs(cost)).max(axis=1, keepdims=True)
        steep = np.where(~self.face & (gain - cost > rounding), gain - cost, 0.0)
        deviation = np.sqrt(np.maximum(np.einsum("nii->ni", self.B), 0.0))
        solid = deviation > 0
        return np.asarray(np.divide(steep, deviation, out=np.zeros_like(steep), where=solid))
