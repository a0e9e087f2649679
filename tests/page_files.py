"""Files that pages of the documentation speak of, small enough for a test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

#: The names in the small files of ``docs/command_line.md``.
GENES = ("TP53", "CDK4", "HK2")


def write_files(page: str, folder: Path) -> None:
    """What a reader of ``page`` has in the folder before the first line."""
    writers = {
        "README.md": lambda: _table(folder / "table.csv", 30, 12),
        "command_line.md": lambda: _command_line(folder),
        "kept_covariance.md": lambda: _parts(folder),
        "large_data.md": lambda: _large(folder),
    }
    writers.get(page, lambda: None)()


def _table(path: Path, n_samples: int, n_features: int, names: tuple[str, ...] = ()) -> Path:
    rng = np.random.default_rng(0)
    common = rng.normal(size=(n_samples, 1))
    X = pd.DataFrame(common + rng.normal(size=(n_samples, n_features)))
    X.columns = [*names, *(f"x{j}" for j in range(len(names), n_features))]
    X.to_csv(path, index=False)
    return path


def _command_line(folder: Path) -> None:
    genes = pd.read_csv(_table(folder / "genes.csv", 24, 50, GENES)).columns
    groups = pd.Series("glycolysis", index=genes, name="group")
    groups[["TP53", "CDK4"]] = "cell cycle"
    groups.to_csv(folder / "pathways.csv", index_label="feature")
    _table(folder / "households.csv", 40, 10, ("income", "rent"))
    (folder / "signs.csv").write_text("feature,sign\nincome,+\nrent,-\n", encoding="utf-8")
    for day in ("monday", "tuesday"):
        _table(folder / f"{day}.csv", 30, 20)


def _parts(folder: Path) -> None:
    for part in (1, 2):
        table = pd.read_csv(_table(folder / "part.csv", 60, 40))
        table.to_parquet(folder / f"part-{part}.parquet")


def _large(folder: Path) -> None:
    import zarr

    rng = np.random.default_rng(0)
    X = (rng.normal(size=(40, 300)) * np.geomspace(1, 0.05, 300)).astype("float32")
    for name in ("genomes.zarr", "big.zarr"):
        stored = zarr.open(folder / name, mode="w", shape=X.shape, chunks=(40, 100), dtype="f4")
        stored[:] = X
    long = rng.normal(size=(24, 1000)) * np.geomspace(1, 0.05, 1000)
    long.astype("float32").tofile(folder / "big.dat")
