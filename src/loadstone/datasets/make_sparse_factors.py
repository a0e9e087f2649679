"""Samples of a few independent factors, each seen by its own features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state


def make_sparse_factors(
    n_samples: int = 200,
    *,
    sizes: Sequence[int] = (4, 4),
    factor_std: Sequence[float] = (100.0, 98.0),
    noise_std: float = 1.0,
    n_noise_features: int = 2,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draw the synthetic data of Section 6.1 of Guan & Dy (2009).

    Factor ``j`` is normal with standard deviation ``factor_std[j]`` and appears, plus noise,
    in ``sizes[j]`` features of its own; ``n_noise_features`` more features are noise alone.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.
    sizes : sequence of int, default=(4, 4)
        Features of every factor.
    factor_std : sequence of float, default=(100.0, 98.0)
        Standard deviation of every factor.
    noise_std : float, default=1.0
        Standard deviation of the noise in all features.
    n_noise_features : int, default=2
        Features without any factor.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The samples.
    components : ndarray of shape (n_factors, n_features)
        The true unit-norm components.

    References
    ----------
    .. [1] Y. Guan, J. Dy, "Sparse Probabilistic Principal Component Analysis",
       AISTATS 2009, PMLR 5:185-192.

    Examples
    --------
    >>> from loadstone.datasets import make_sparse_factors
    >>> X, components = make_sparse_factors(random_state=0)
    >>> X.shape, components[0, :5]
    ((200, 10), array([0.5, 0.5, 0.5, 0.5, 0. ]))
    """
    if len(sizes) != len(factor_std):
        msg = (
            f"sizes has {len(sizes)} entries and factor_std {len(factor_std)}; give one per factor."
        )
        raise ValueError(msg)
    rng = check_random_state(random_state)
    components = np.zeros((len(sizes), sum(sizes) + n_noise_features))
    ends = np.cumsum(sizes)
    for j, (size, end) in enumerate(zip(sizes, ends, strict=True)):
        components[j, end - size : end] = 1.0
    factors = rng.normal(size=(n_samples, len(sizes))) * np.asarray(factor_std)
    X = factors @ components + noise_std * rng.normal(size=(n_samples, components.shape[1]))
    return X, components / np.linalg.norm(components, axis=1, keepdims=True)
