"""Loadings whose absolute values sum to at most a budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.constraints.protocol import Array


@dataclass(frozen=True)
class L1Budget:
    """Unit vectors with ``sum |w_i| <= budget``, signed or non-negative.

    The second example of a constraint: it shows that renormalising is not always
    allowed (re-optimised loadings can exceed the budget), so :meth:`relaxed` says no.

    Attributes
    ----------
    n_features : int
        Length of a loading vector.
    budget : float
        Between 1 (a single feature) and sqrt(n_features) (no constraint).
    nonnegative : bool
        Whether loadings are at least zero.
    """

    n_features: int
    budget: float
    nonnegative: bool = False

    def __post_init__(self) -> None:
        if not self.budget >= 1:
            msg = f"budget={self.budget} must be at least 1, the budget of a single feature"
            raise ValueError(msg)

    def best_loading(self, direction: Array) -> Array:
        """Argmax of <direction, w>: the soft threshold whose norm ratio meets the budget."""
        if direction.ndim == 1:
            return self._best(direction)
        return np.column_stack([self._best(column) for column in direction.T])

    def _best(self, direction: Array) -> Array:
        worth = np.maximum(direction, 0) if self.nonnegative else np.abs(direction)
        if not worth.any():
            w = np.zeros_like(direction)
            w[int(np.argmax(direction))] = 1
            return w
        low, high = 0.0, float(worth.max())
        if _ratio(worth) <= self.budget:
            shrunken = worth
        else:
            # The ratio of norms falls with the threshold; ties at the top keep it above 1.
            for _ in range(200):
                middle = (low + high) / 2
                if _ratio(np.maximum(worth - middle, 0)) > self.budget:
                    low = middle
                else:
                    high = middle
            shrunken = np.maximum(worth - high, 0)
            if not shrunken.any() or _ratio(shrunken) > self.budget:
                shrunken = self._share_tied_top(worth)
        return np.sign(direction) * shrunken / np.linalg.norm(shrunken)

    def _share_tied_top(self, worth: Array) -> Array:
        """Several equal largest entries: any split within the budget is optimal."""
        tied = np.flatnonzero(worth == worth.max())
        m, b = tied.size, self.budget
        shrunken = np.zeros_like(worth)
        # One entry a, the m - 1 others c: a + (m-1) c = b and a^2 + (m-1) c^2 = 1.
        root = np.sqrt(max(0.0, (m - b * b) / (m - 1))) if m > 1 else 1.0
        shrunken[tied] = (b - root) / m
        shrunken[tied[0]] = (b + (m - 1) * root) / m
        return shrunken

    def allows(self, w: Array) -> bool:
        """Whether ``w`` has unit norm, fits the budget and has allowed signs."""
        tol = 1e3 * float(np.finfo(np.asarray(w).dtype).eps)
        fits = np.abs(w).sum() <= self.budget * (1 + tol)
        signs = not self.nonnegative or w.min() >= 0
        return bool(abs(np.linalg.norm(w) - 1) <= tol and fits and signs)

    def relaxed(self) -> None:
        """Renormalising could exceed the budget (2.00 became 2.35 in one case)."""
        return


def _ratio(w: Array) -> float:
    length = np.linalg.norm(w)
    return float(w.sum() / length) if length > 0 else 0.0
