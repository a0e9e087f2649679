"""Merge, subtract and partial_fit against a reference in extended precision, on random splits.

``python -m benchmarks.merges [N]`` tries N splits (10 000) of small data at offsets from 0 to 1e8, in
single and double precision, with and without weights. Each of three answers must be right to 1e-10
of the variances, or be refused. What was counted goes to ``benchmarks/merges.json``, which
``tools/make_scale.py`` prints.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from loadstone import SampleCovariance
from loadstone.covariance.lost_digits import LostDigitsError

OFFSETS = (0.0, 1.0, 1e2, 1e4, 1e6, 1e8)
#: Error, as a share of the variances, below which an answer is right.
RIGHT = 1e-10
COUNTED = Path(__file__).parent / "merges.json"


def reference(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The scatter matrix in extended precision, in two passes."""
    rows, v = X.astype(np.longdouble), w.astype(np.longdouble)
    centred = rows - (v @ rows) / v.sum()
    return (centred * v[:, None]).T @ centred


def error(C: SampleCovariance, exact: np.ndarray) -> float:
    """Largest error of an entry, relative to the two variances it belongs to."""
    unit = np.sqrt(np.outer(exact.diagonal(), exact.diagonal()))
    return float(np.max(np.abs(C.scatter - exact) / unit))


def one(seed: int) -> Counter[str]:
    """One random split: added, subtracted, and block by block."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(6, 400)), int(rng.integers(1, 7))
    dtype = rng.choice([np.float32, np.float64])
    far = float(rng.choice(OFFSETS))
    # At 1e8 neighbours in single precision are 8 apart: a smaller spread would be no spread.
    spread = 300.0 if dtype == np.float32 and far >= 1e6 else 1.0
    varied = spread * rng.standard_normal((n, p)) @ rng.standard_normal((p, p))
    X = (far * rng.choice([-1, 1], p) + varied).astype(dtype)
    w = rng.uniform(0.1, 3, n) if rng.random() < 0.5 else np.ones(n)
    weights = None if (w == 1).all() else w
    cut = int(rng.integers(3, n - 2))
    parts = [
        SampleCovariance.of(X[rows], None if weights is None else weights[rows])
        for rows in (slice(0, cut), slice(cut, n))
    ]
    exact, first = reference(X, w), reference(X[:cut], w[:cut])
    said: Counter[str] = Counter()
    said["merged", error(parts[0] + parts[1], exact) < RIGHT] += 1  # type: ignore[index]
    whole = SampleCovariance.of(X, weights)
    try:
        left = whole - parts[1]
        said["subtracted", error(left, first) < RIGHT] += 1  # type: ignore[index]
    except LostDigitsError:
        said["subtracted", "refused"] += 1  # type: ignore[index]
    growing = SampleCovariance.of(X[:3], None if weights is None else weights[:3])
    for i in range(3, n, 50):
        growing.partial_fit(X[i : i + 50], None if weights is None else weights[i : i + 50])
    said["partial_fit", error(growing, exact) < RIGHT] += 1  # type: ignore[index]
    names = {True: "right", False: "wrong", "refused": "refused"}
    return Counter({f"{what} {names[how]}": count for (what, how), count in said.items()})  # type: ignore[misc]


def main() -> None:
    n_splits = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    total: Counter[str] = Counter()
    for seed in range(n_splits):
        total += one(seed)
    counted = {"n_splits": n_splits, **dict(sorted(total.items()))}
    COUNTED.write_text(json.dumps(counted, indent=1) + "\n")
    print(counted)


if __name__ == "__main__":
    main()
