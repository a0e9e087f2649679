"""Daily returns of stocks that move with the market and with their sector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

SECTORS = ("energy", "banks", "chips", "health", "retail")


def make_sector_returns(
    n_days: int = 500,
    *,
    sizes: Sequence[int] = (12, 10, 8, 6, 4),
    market_std: float = 0.008,
    sector_std: Sequence[float] = (0.014, 0.012, 0.016, 0.010, 0.011),
    own_std: float = 0.010,
    n_others: int = 20,
    random_state: Any = None,
) -> Bunch:
    """Simulate returns of stocks in sectors, beside stocks that follow the market alone.

    Parameters
    ----------
    n_days : int, default=500
        Number of rows.
    sizes : sequence of int, default=(12, 10, 8, 6, 4)
        Stocks of every sector.
    market_std : float, default=0.008
        Standard deviation of the return all stocks share.
    sector_std : sequence of float
        Standard deviation of the return the stocks of a sector share.
    own_std : float, default=0.010
        Standard deviation of the return of a stock alone.
    n_others : int, default=20
        Stocks of no sector.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    Bunch
        ``data`` of shape (n_days, n_stocks), ``feature_names``, and ``sector``, the index
        of the sector of each stock (-1 for none).

    Examples
    --------
    >>> from loadstone.datasets import make_sector_returns
    >>> make_sector_returns(random_state=0).data.shape
    (500, 60)
    """
    if len(sizes) != len(sector_std):
        msg = f"sizes has {len(sizes)} values and sector_std {len(sector_std)}; give one per sector"
        raise ValueError(msg)
    rng = check_random_state(random_state)
    sector = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), np.full(n_others, -1)])
    X = rng.normal(scale=own_std, size=(n_days, sector.size))
    X += rng.normal(scale=market_std, size=(n_days, 1))
    for j, std in enumerate(sector_std):
        members = sector == j
        # Sensitivities differ between the members, as betas do.
        X[:, members] += np.outer(
            rng.normal(scale=std, size=n_days), rng.uniform(0.7, 1.3, members.sum())
        )
    titles = [SECTORS[j] if j < len(SECTORS) else f"sector {j + 1}" for j in range(len(sizes))]
    seen: dict[str, int] = {}
    names = []
    for j in sector:
        title = titles[j] if j >= 0 else "other"
        seen[title] = seen.get(title, 0) + 1
        names.append(f"{title} {seen[title]}")
    return Bunch(data=X, feature_names=names, sector=sector)
