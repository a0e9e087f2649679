"""Sample covariances in files: one npz with the arrays and one JSON text, never a pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from loadstone._version import __version__
from loadstone.covariance.protocol import Array
from loadstone.files.errors import FileError
from loadstone.files.own_archive import (
    SAMPLE_HEADER,
    damaged,
    has_member,
    json_of,
    read_own,
    refuse_version,
    write_own,
)
from loadstone.files.reachable import is_at_hand

FORMAT = "loadstone-covariance"
FORMAT_VERSION = 1
_VECTORS = ("mean", "mean_rest", "rounding")


class CovarianceFileError(FileError, ValueError):
    """The file is missing, is no covariance, is damaged, or comes from a newer version."""

    exit_code = 4


def save_sample(fields: Mapping[str, Any], path: Path | str) -> Path:
    """Write the fields of a sample covariance; the file appears when it is complete."""
    path = Path(path)
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "loadstone_version": __version__,
        "n_samples": float(fields["n_samples"]),
        "dtype": np.dtype(fields["dtype"]).name,
    }
    arrays: dict[str, Any] = {name: fields[name] for name in (*_VECTORS, "scatter")}
    if fields["names"] is not None:
        arrays["names"] = np.asarray(fields["names"], dtype=np.str_)
    arrays[SAMPLE_HEADER] = np.array(json.dumps(header))
    write_own(path, arrays)
    return path


def is_sample_file(path: Path | str) -> bool:
    """Whether a file calls itself a sample covariance, damaged or not."""
    path = Path(path)
    try:
        return path.is_file() and has_member(path, SAMPLE_HEADER)
    except Exception:
        return False


def load_sample(path: Path | str) -> dict[str, Any]:
    """The fields of a sample covariance, checked."""
    path = Path(path)
    if not is_at_hand(path):
        msg = f"there is no file {path}; SampleCovariance.save and loadstone covariance write one"
        raise CovarianceFileError(msg)
    with damaged(path, "compute the covariance again", CovarianceFileError):
        arrays = read_own(path, lambda name: name in {SAMPLE_HEADER, "scatter", "names", *_VECTORS})
        header = json_of(arrays.pop(SAMPLE_HEADER)) if SAMPLE_HEADER in arrays else None
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            msg = (
                f"{path} is no covariance of loadstone; use a file that SampleCovariance.save or "
                "loadstone covariance wrote"
            )
            raise CovarianceFileError(msg)
        refuse_version(header, FORMAT_VERSION, path, CovarianceFileError)
        return _checked(header, arrays)


def _checked(header: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Any]:
    """Fields that fit together, or an error that says which does not."""
    scatter, names = arrays["scatter"], arrays.get("names")
    n_features = int(arrays["mean"].size)
    shapes = {"scatter": (n_features, n_features), **dict.fromkeys(_VECTORS, (n_features,))}
    for name, shape in shapes.items():
        values = arrays[name]
        if values.shape != shape or values.dtype != np.float64:
            msg = f"{name} holds {values.dtype} of shape {values.shape}, not float64 of {shape}"
            raise ValueError(msg)
        if not np.isfinite(values).all():
            msg = f"{name} holds NaN or infinity"
            raise ValueError(msg)
    if not np.allclose(scatter, scatter.T) or scatter.diagonal().min(initial=0) < 0:
        msg = "the scatter is no symmetric matrix with a diagonal >= 0"
        raise ValueError(msg)
    if names is not None and (names.shape != (n_features,) or names.dtype.kind != "U"):
        msg = f"{names.size} names for {n_features} features"
        raise ValueError(msg)
    n_samples, dtype = float(header["n_samples"]), np.dtype(header["dtype"])
    if not 0 < n_samples < np.inf or dtype.name not in {"float32", "float64"} or n_features == 0:
        msg = f"n_samples={n_samples}, dtype={dtype.name}, {n_features} feature(s)"
        raise ValueError(msg)
    return {
        **{name: arrays[name] for name in (*_VECTORS, "scatter")},
        "n_samples": n_samples,
        "dtype": dtype,
        "names": None if names is None else names.astype(object),
    }
