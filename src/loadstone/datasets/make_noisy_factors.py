"""Data from the noise model ``y = G u + e`` with known sparse loadings ``G``.

The two simulations of Ulfarsson & Solo, "Sparse loading noisy PCA using an l0 penalty".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

IMAGE_SIDE = 25


def make_disjoint_factors(
    n_samples: int = 100, *, noise_variance: float = 10.0, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Simulation 1: two components on four features each, two features of noise alone.

    Parameters
    ----------
    n_samples : int, default=100
    noise_variance : float, default=10.0
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 10)
    loadings : ndarray of shape (10, 2)
        ``G``, with columns of squared length 200 and 100.

    Examples
    --------
    >>> from loadstone.datasets.make_noisy_factors import make_disjoint_factors
    >>> X, loadings = make_disjoint_factors(random_state=0)
    >>> X.shape, loadings.shape
    ((100, 10), (10, 2))
    """
    loadings = np.zeros((10, 2))
    loadings[:4, 0] = np.sqrt(200 / 4)
    loadings[4:8, 1] = np.sqrt(100 / 4)
    return _samples(loadings, n_samples, noise_variance, random_state), loadings


def make_overlapping_shapes(
    n_samples: int = 100,
    *,
    noise_variance: float = 5.0,
    strengths: tuple[float, float] = (2.0, 1.5),
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Simulation 2: a disc and a square frame that overlap, as 25 x 25 images.

    The images of the paper are not printed as numbers; these two stand in for them.
    The disc has radius 6 and its centre at row 9, column 9 (113 pixels); the square
    frame lies between the squares of half width 4 and 7 around row 15, column 15
    (144 pixels). They share 35 pixels, so the loadings are correlated (cosine .27)
    and PCA, whose loadings are orthogonal, has to mix them.

    Parameters
    ----------
    n_samples : int, default=100
    noise_variance : float, default=5.0
    strengths : tuple of two floats, default=(2.0, 1.5)
        Value of every pixel of the disc and of the frame.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 625)
    loadings : ndarray of shape (625, 2)
        ``G``; reshape a column to (25, 25) to see it.

    Examples
    --------
    >>> from loadstone.datasets.make_noisy_factors import make_overlapping_shapes
    >>> X, loadings = make_overlapping_shapes(random_state=0)
    >>> (loadings != 0).sum(axis=0)
    array([113, 144])
    """
    row, column = np.mgrid[:IMAGE_SIDE, :IMAGE_SIDE]
    disc = (row - 9) ** 2 + (column - 9) ** 2 <= 6**2
    distance = np.maximum(np.abs(row - 15), np.abs(column - 15))
    frame = (distance > 4) & (distance <= 7)
    loadings = np.column_stack([disc.ravel() * strengths[0], frame.ravel() * strengths[1]])
    return _samples(loadings, n_samples, noise_variance, random_state), loadings


def _samples(
    loadings: np.ndarray, n_samples: int, noise_variance: float, random_state: Any
) -> np.ndarray:
    rng = check_random_state(random_state)
    scores = rng.standard_normal((n_samples, loadings.shape[1]))
    noise = rng.standard_normal((n_samples, loadings.shape[0]))
    return np.asarray(scores @ loadings.T + np.sqrt(noise_variance) * noise)
