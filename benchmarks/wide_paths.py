"""Paths of wide data out of core: passes, and values beside the path of the same data in memory.

``python -m benchmarks.wide_paths`` walks twenty sizes on planted factors, on leukemia and NCI60
where the papers' data sets are at hand, and on standardised noise with near twins, and writes
``benchmarks/wide_paths.json``, which ``tools/make_scale.py`` prints.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import dask
import dask.array as da
import numpy as np

from benchmarks.text_table import table
from loadstone import cardinality_path
from loadstone.covariance import route
from loadstone.covariance.passes import telling_passes

RESULTS = Path(__file__).parent / "wide_paths.json"


def planted(n_samples: int = 200, n_features: int = 20_000, seed: int = 0) -> np.ndarray:
    """Three sparse factors in noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    for j, size in enumerate((30, 20, 10)):
        features = rng.choice(n_features, size, replace=False)
        X[:, features] += np.outer(
            rng.standard_normal(n_samples), 2.0 / (1 + j / 3) * np.ones(size)
        )
    return X


def twins(n_samples: int = 100, n_features: int = 20_000, seed: int = 0) -> np.ndarray:
    """Standardised noise, in which six features are near copies of each other."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    alike = rng.choice(n_features, 6, replace=False)
    X[:, alike] = X[:, alike[:1]] + 0.3 * rng.standard_normal((n_samples, 6))
    return X


def data() -> dict[str, tuple[np.ndarray, bool]]:
    """Data by name, and whether it is standardised."""
    found = {"planted factors": (planted(), False), "noise with near twins": (twins(), True)}
    try:
        from real_data import leukemia, nci60

        found |= {"leukemia": (leukemia(), False), "NCI60": (nci60(), False)}
    except (FileNotFoundError, OSError):
        print(
            "leukemia and NCI60 are not at hand: set LOADSTONE_DATA to the folder that holds them"
        )
    return found


def main() -> None:
    rows, results = [], {}
    sizes = np.unique(np.geomspace(1, 50, 26).round().astype(int))[:20]
    dask.config.set(scheduler="synchronous")
    for name, (X, standardize) in data().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            in_memory = cardinality_path(X, sizes, standardize=standardize)
            route.READ_BYTES, before = 0, route.READ_BYTES
            lazy = da.from_array(X, chunks=(X.shape[0], 2000))
            with telling_passes(lambda *_, **__: None) as passes:
                out = cardinality_path(lazy, sizes, standardize=standardize)
            route.READ_BYTES = before
        shares = out.values / in_memory.values
        wanting = 0 if out.looked is None else out.looked.n_wanting
        results[name] = {
            "shape": X.shape,
            "n_sizes": int(sizes.size),
            "passes": passes.n_done,
            "smallest": float(shares.min()),
            "mean": float(shares.mean()),
            "n_wanting": int(wanting),
        }
        rows.append([name, passes.n_done, shares.min(), shares.mean(), wanting])
        print(name, results[name], flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print(table(["data", "passes", "smallest share", "mean share", "still want in"], rows))


if __name__ == "__main__":
    main()
