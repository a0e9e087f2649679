"""From the files people publish to the arrays that are kept."""

from __future__ import annotations

import io
import tarfile
from typing import Any

import numpy as np
from scipy import io as scipy_io
from scipy import sparse

_SUPERCLASS = 10


def parse(name: str, content: bytes) -> dict[str, Any]:
    """Arrays of the data set ``name`` from the bytes of its published file."""
    return _PARSERS[name](content)


def _lrs(content: bytes) -> dict[str, Any]:
    text = content.decode("utf-8")
    names = [
        line.split()[1].strip("'\"")
        for line in text.splitlines()
        if line.lower().startswith("@attribute")
    ]
    _, _, body = text.partition("@data" if "@data" in text else "@DATA")
    rows = [line.split(",") for line in body.splitlines() if line.strip() and line[0] != "%"]
    values = np.array([[float(v) for v in row[1:]] for row in rows])
    kind = values[:, 0].astype(np.uint8)
    return {
        "X": values[:, 9:],
        "y": kind,
        "y_superclass": kind // _SUPERCLASS,
        "feature_names": np.array(names[10:]),
    }


def _glass(content: bytes) -> dict[str, Any]:
    lines = content.decode("utf-8").split()
    rows = [line.split(",") for line in lines if line[:1].isdigit()]
    values = np.array(rows, dtype=np.float64)
    return {
        "X": values[:, 1:10],
        "y": values[:, 10].astype(np.uint8),
        "feature_names": np.array(["RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"]),
    }


def _synthetic_control(content: bytes) -> dict[str, Any]:
    X = np.loadtxt(io.BytesIO(content))
    kinds = ["normal", "cyclic", "increasing trend", "decreasing trend", "upward shift"]
    return {
        "X": X,
        "y": np.repeat(np.arange(6, dtype=np.uint8), 100),
        "target_names": np.array([*kinds, "downward shift"]),
    }


def _pbmc3k(content: bytes) -> dict[str, Any]:
    parts: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive.getmembers():
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                parts[member.name.rsplit("/", 1)[-1]] = file.read()
    counts = sparse.csr_array(scipy_io.mmread(io.BytesIO(parts["matrix.mtx"]), spmatrix=False).T)
    genes = [line.split("\t")[1] for line in parts["genes.tsv"].decode().splitlines()]
    return {
        "data": counts.data.astype(np.uint16),
        "indices": counts.indices,
        "indptr": counts.indptr,
        "shape": np.array(counts.shape),
        "feature_names": np.array(genes),
        "barcodes": np.array(parts["barcodes.tsv"].decode().split()),
    }


_PARSERS = {
    "glass": _glass,
    "lrs": _lrs,
    "pbmc3k": _pbmc3k,
    "synthetic_control": _synthetic_control,
}
