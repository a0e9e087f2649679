"""The data sets tests ask for: those that ship with the package, and the papers' own."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import loadstone
from loadstone.datasets import load_pitprops, scale_images

#: Small tables that are always at hand.
SHIPPED = Path(loadstone.__file__).parent / "datasets"


def data_file(name):
    """Path of a data file, or a skip that says how to get it run."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    for folder in (SHIPPED, os.environ.get("LOADSTONE_DATA"), beside):
        if folder and (Path(folder) / name).exists():
            return Path(folder) / name
    pytest.skip(f"{name} is not here; set LOADSTONE_DATA to the folder that holds the data sets")


def arrays(name):
    """Arrays of a data file by their names; pit props come from the package."""
    if name == "pitprops.npz":
        pitprops = load_pitprops()
        return {"X": pitprops.correlation, "feature_names": np.array(pitprops.feature_names)}
    return np.load(data_file(name), allow_pickle=False)


def cbcl_faces():
    """CBCL faces, each image scaled to mean and deviation 1/4, clipped and stored in 8 bits.

    The scaling of Lee and Seung that the papers' figures on this set rest on: raw grey
    values give a first component that is brightness alone.
    """
    return scale_images(arrays("cbcl_faces.npz")["X"])


def glass():
    return arrays("glass.npz")["X"]


def leukemia():
    return arrays("leukemia_armstrong.npz")["X"]


def nci60():
    return arrays("nci60.npz")["X"]


def sparse_counts(name):
    from scipy import sparse

    parts = arrays(name)
    return sparse.csr_matrix(
        (parts["data"].astype(float), parts["indices"].astype(np.int32), parts["indptr"]),
        shape=tuple(parts["shape"]),
    )
