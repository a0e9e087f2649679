"""The files a fit writes: all of them or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from loadstone.files.atomic import refuse_existing, refuse_foreign, writing_folder
from loadstone.files.spreadsheet import write_csv

#: Whatever a folder of results may hold.
RESULTS = ("loadings.csv", "scores.csv", "model.npz", "report.html")


def refuse_results(
    folder: Path, known: Iterable[str] = RESULTS, *, force: bool, inputs: Iterable[Path]
) -> None:
    """Raise before any work is done where :func:`write_together` would, or what is read be lost."""
    refuse_existing([folder / name for name in known], force=True, inputs=inputs)
    refuse_foreign(folder, known, force=force)


def write_together(
    folder: Path,
    writers: dict[str, Callable[[Path], Any]],
    known: Iterable[str] = RESULTS,
    *,
    force: bool,
) -> list[Path]:
    """A folder of results, which appears as a whole or not at all."""
    with writing_folder(folder, known, force=force) as workshop:
        for name, write in writers.items():
            write(workshop / name)
    return [folder / name for name in writers]


def write_scores(path: Path, scores: Any, sample_names: Any, labels: Any) -> None:
    """One row per sample, one column per component."""
    import pandas as pd

    n_samples, n_components = scores.shape
    frame = pd.DataFrame(scores, columns=[f"component {j + 1}" for j in range(n_components)])
    if labels is not None:
        frame.insert(0, "label", np.asarray(labels))
    names = np.arange(1, n_samples + 1) if sample_names is None else sample_names
    frame.insert(0, "sample", names)
    write_csv(frame, path)
