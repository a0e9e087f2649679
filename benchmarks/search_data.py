"""Data sets for :mod:`benchmarks.search`: real ones and made-up ones of many kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from tests import real_data


def _cells() -> sparse.csr_matrix:
    X = real_data.sparse_counts("pbmc3k.npz")
    X.data = np.log1p(X.data)
    return X[:, np.flatnonzero(X.getnnz(axis=0) >= 3)]


def _cells_500(seed: int = 0) -> np.ndarray:
    """Half a thousand cells of the genes seen in ten of them or more."""
    X = _cells()
    X = X[np.random.default_rng(seed).choice(X.shape[0], 500, replace=False)]
    return X[:, np.flatnonzero(X.getnnz(axis=0) >= 10)].toarray()


def _sklearn(name: str) -> Callable[[], np.ndarray]:
    def load() -> np.ndarray:
        from sklearn import datasets

        return getattr(datasets, f"load_{name}")().data

    return load


def _arrays(name: str) -> Callable[[], np.ndarray]:
    return lambda: real_data.arrays(f"{name}.npz")["X"].astype(float)


def noise(n: int, p: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, p))


def groups(n: int, p: int, n_groups: int, size: int, strength: float, seed: int = 0) -> np.ndarray:
    """Noise in which groups of features share something, one group after the other."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for group in range(n_groups):
        X[:, group * size : (group + 1) * size] += strength * rng.standard_normal((n, 1))
    return X


def spiked(n: int, p: int, seed: int, n_spikes: int = 5) -> np.ndarray:
    """Dense directions of falling strength in noise, features of unequal variance."""
    rng = np.random.default_rng(seed)
    strength = np.sqrt(p / 20 * 0.6 ** np.arange(n_spikes))
    directions = rng.standard_normal((n_spikes, p)) / np.sqrt(p)
    X = rng.standard_normal((n, n_spikes)) * strength @ directions + rng.standard_normal((n, p))
    return X * np.exp(0.3 * rng.standard_normal(p))


def autoregressive(n: int, p: int, rho: float, seed: int) -> np.ndarray:
    """Each feature remembers the one before it."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    return X


def planted(n: int, p: int, seed: int) -> np.ndarray:
    """Forty small groups of 2 to 12 features with signs, anywhere among many."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for _ in range(40):
        group = rng.choice(p, int(rng.integers(2, 13)), replace=False)
        signs = rng.choice([-1.0, 1.0], group.size)
        X[:, group] += rng.uniform(1.0, 4.0) * rng.standard_normal((n, 1)) * signs
    return X


#: Data sets: those the recipe was tuned on first, then those it was not.
DATA: dict[str, Callable[[], Any]] = {
    "leukemia": real_data.leukemia,
    "nci60": real_data.nci60,
    "cbcl": real_data.cbcl_faces,
    "cbcl_grey": _arrays("cbcl_faces"),
    "cmu": _arrays("cmu_faces"),
    "nonfaces": _arrays("cbcl_nonfaces"),
    "lrs": _arrays("lrs"),
    "control": _arrays("synthetic_control"),
    "glass": _arrays("glass"),
    "digits": _sklearn("digits"),
    "wine": _sklearn("wine"),
    "breast_cancer": _sklearn("breast_cancer"),
    "diabetes": _sklearn("diabetes"),
    "leukemia_log": lambda: np.log2(np.maximum(real_data.leukemia(), 20)),
    "cmu_transposed": lambda: _arrays("cmu_faces")().T,
    "text": lambda: real_data.sparse_counts("text_associated_press.npz"),
    "cells": _cells,
    "cells_500": _cells_500,
    "cells_raw": lambda: real_data.sparse_counts("pbmc3k.npz"),
    "noise": lambda: noise(200, 1000),
    "noise_tall": lambda: noise(500, 300),
    "noise_wide": lambda: noise(60, 8000),
    "noise_40x3000": lambda: noise(40, 3000, 11),
    "noise_100x5000": lambda: noise(100, 5000, 12),
    "noise_30x15000": lambda: noise(30, 15000, 13),
    "heavy_tails": lambda: np.random.default_rng(0).standard_t(3, (100, 1500)),
    "heavy_wide": lambda: np.random.default_rng(14).standard_t(2, (50, 6000)),
    "weak_spikes": lambda: groups(300, 2000, 3, 30, 0.4),
    "blocks": lambda: groups(60, 1200, 60, 20, 0.8),
    "blocks_wide": lambda: groups(80, 5000, 100, 15, 1.0, 15),
    "spiked": lambda: spiked(150, 3000, 16),
    "spiked_tall": lambda: spiked(2000, 700, 17),
    "autoregressive": lambda: autoregressive(120, 2500, 0.9, 18),
    "planted": lambda: planted(60, 10000, 19),
    "planted_tall": lambda: planted(1000, 1500, 20),
}
