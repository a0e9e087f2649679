"""The files a fit writes: all of them or none."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from loadstone.files.atomic import refuse_existing
from loadstone.files.errors import UnwritableFileError


def write_together(
    folder: Path, writers: dict[str, Callable[[Path], Any]], *, force: bool
) -> list[Path]:
    """Write files under other names first, and move them in when all are complete."""
    targets = [folder / name for name in writers]
    refuse_existing(targets, force=force)
    try:
        # Beside the folder, so that none is left if the work fails; inside if it is there.
        place = folder if folder.exists() else folder.parent
        place.mkdir(parents=True, exist_ok=True)
        workshop = Path(tempfile.mkdtemp(prefix=".loadstone-", dir=place))
    except OSError as error:
        msg = f"{folder} could not be written ({error.strerror}); nothing was left behind"
        raise UnwritableFileError(msg) from error
    try:
        for name, write in writers.items():
            write(workshop / name)
        folder.mkdir(exist_ok=True)
        for target in targets:
            (workshop / target.name).replace(target)
    except OSError as error:
        reason = error.strerror or error
        msg = f"the results could not be written to {folder} ({reason}); nothing was left behind"
        raise UnwritableFileError(msg) from error
    finally:
        shutil.rmtree(workshop, ignore_errors=True)
    return targets


def write_scores(path: Path, scores: Any, sample_names: Any, labels: Any) -> None:
    """One row per sample, one column per component."""
    import pandas as pd

    n_samples, n_components = scores.shape
    frame = pd.DataFrame(scores, columns=[f"component {j + 1}" for j in range(n_components)])
    if labels is not None:
        frame.insert(0, "label", np.asarray(labels))
    names = np.arange(1, n_samples + 1) if sample_names is None else sample_names
    frame.insert(0, "sample", names)
    frame.to_csv(path, index=False)
