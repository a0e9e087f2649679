"""How well estimated loadings recover known ones: angles, supports, errors.

Components come in no particular order and sign, so every function first matches the
estimated columns to the reference so that the sum of the absolute cosines is largest.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from loadstone.covariance import Array


def match_components(loadings: Array, reference: Array) -> Array:
    """Column of ``loadings`` for each column of ``reference``; -1 where none is left."""
    cosines = _absolute_cosines(loadings, reference)
    matched = np.full(reference.shape[1], -1, dtype=np.intp)
    rows, cols = linear_sum_assignment(cosines, maximize=True)
    matched[rows] = cols
    return matched


def angles(loadings: Array, reference: Array) -> Array:
    """Angle in degrees between each reference column and its match; 90 without one.

    Parameters
    ----------
    loadings : ndarray of shape (n_features, n_components)
        Estimated loadings; neither scale, sign nor order of the columns matters.
    reference : ndarray of shape (n_features, n_reference)
        Known loadings.

    Returns
    -------
    ndarray of shape (n_reference,)
        Degrees between 0 and 90.
    """
    aligned = _aligned(loadings, reference)
    unit, target = _unit_columns(aligned), _unit_columns(reference)
    # Twice the arc of the half chord: arccos would lose half the digits near 0.
    flip = np.where(np.einsum("ij,ij->j", unit, target) < 0, -1.0, 1.0)
    half = np.linalg.norm(unit * flip - target, axis=0) / 2
    degrees = np.degrees(2 * np.arcsin(np.clip(half, 0, np.sqrt(0.5))))
    return np.where(np.any(aligned != 0, axis=0), degrees, 90.0)


def probability_of_error(loadings: Array, reference: Array) -> float:
    """``P_E = a P_F + (1 - a) (1 - P_D)``, ``a`` the share of zeros in ``reference``.

    ``P_F`` is the share of true zeros that came out non-zero and ``P_D`` the share of
    true non-zeros that did; together they make the share of misjudged entries.
    Columns beyond the reference are not counted: compare the number of components too.
    """
    found, true = _aligned(loadings, reference) != 0, reference != 0
    return float(np.mean(found != true))


def same_support(loadings: Array, reference: Array) -> bool:
    """Whether both have as many components and, matched, exactly the same supports."""
    if loadings.shape != reference.shape:
        return False
    return bool(np.array_equal(_aligned(loadings, reference) != 0, reference != 0))


def _aligned(loadings: Array, reference: Array) -> Array:
    """``loadings`` in the order of ``reference``, zero columns where none is left."""
    if loadings.shape[0] != reference.shape[0]:
        msg = (
            f"the loadings have {loadings.shape[0]} features and the reference "
            f"{reference.shape[0]}; give both as (n_features, n_components), components_.T"
        )
        raise ValueError(msg)
    matched = match_components(loadings, reference)
    aligned = np.zeros(reference.shape)
    aligned[:, matched >= 0] = loadings[:, matched[matched >= 0]]
    return aligned


def _absolute_cosines(loadings: Array, reference: Array) -> Array:
    result: Array = np.abs(_unit_columns(reference).T @ _unit_columns(loadings))
    return result


def _unit_columns(matrix: Array) -> Array:
    matrix = np.asarray(matrix, dtype=np.float64)
    norms = np.linalg.norm(matrix, axis=0)
    return matrix / np.where(norms > 0, norms, 1.0)
