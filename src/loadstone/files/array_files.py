"""NPY, NPZ, Matrix Market and H5AD."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.files.errors import UNREADABLE_NPZ, TableError
from loadstone.files.table import Table, transposed

#: Files above this size are mapped instead of read.
MAP_ABOVE = 1 << 30


def read_npy(path: Path) -> Table:
    """One array; a large one is mapped."""
    large = path.stat().st_size > MAP_ABOVE
    try:
        with path.open("rb") as file:
            X = None if large else np.load(file, allow_pickle=False)
        if X is None:
            X = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        msg = f"{path} cannot be read as npy ({error})"
        raise TableError(msg) from error
    return Table(_matrix(X, path))


def read_npz(path: Path) -> Table:
    """One matrix, dense or sparse, with names and labels where their lengths fit."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except UNREADABLE_NPZ as error:
        msg = f"{path} cannot be read as npz ({error})"
        raise TableError(msg) from error
    X, which = _only_matrix(arrays, path)
    n_samples, n_features = X.shape
    names = arrays.get("feature_names")
    rows = next((arrays[k] for k in ("sample_names", "barcodes", "names") if k in arrays), None)
    columns = {}
    for key in ("labels", "y", "target"):
        values = arrays.get(key)
        if values is not None and values.shape == (n_samples,):
            columns[key] = _spelled(values, arrays.get("target_names"))
            break
    return Table(
        X,
        _fitting(names, n_features),
        _fitting(rows, n_samples),
        columns,
        notes=(f"the array {which!r} is the table",) if len(arrays) > 1 else (),
    )


def _only_matrix(arrays: dict[str, Any], path: Path) -> tuple[Any, str]:
    if {"data", "indices", "indptr", "shape"} <= set(arrays):
        kind = str(arrays.get("format", np.array("csr")).astype(str))
        build = sparse.csc_array if kind == "csc" else sparse.csr_array
        parts = (
            arrays["data"],
            arrays["indices"].astype(np.int64),
            arrays["indptr"].astype(np.int64),
        )
        try:
            X = build(parts, shape=tuple(int(n) for n in arrays["shape"]))
        except ValueError as error:
            msg = f"{path} holds a damaged sparse matrix ({error})"
            raise TableError(msg) from error
        return sparse.csr_array(X.astype(np.float64)), "data"
    matrices = [k for k, v in arrays.items() if v.ndim == 2 and v.dtype.kind in "biuf"]
    which = "X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None
    if which is None:
        found = ", ".join(f"{k} {v.shape}" for k, v in arrays.items()) or "nothing"
        msg = f"{path} should hold one matrix, called X if there are others; it holds {found}"
        raise TableError(msg)
    return _matrix(arrays[which], path), which


def _matrix(X: Any, path: Path) -> Any:
    if X.ndim != 2 or X.dtype.kind not in "biuf" or 0 in X.shape:
        msg = f"{path} holds {X.dtype} of shape {X.shape}; a table of numbers is needed"
        raise TableError(msg)
    return X if X.dtype.kind == "f" else X.astype(np.float64)


def _spelled(values: Any, names: Any) -> Any:
    codes = values.dtype.kind in "iu"
    if codes and names is not None and names.ndim == 1 and values.max(initial=0) < names.size:
        values = names[values]
    return values.astype(str).astype(object)


def _fitting(names: Any, length: int) -> Any:
    if names is None or names.shape != (length,):
        return None
    return names.astype(str).astype(object)


def read_mtx(path: Path) -> Table:
    """Matrix Market; names are taken from the files that 10x puts beside it."""
    from scipy.io import mmread

    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            X = mmread(file, spmatrix=False)
    except (OSError, ValueError, EOFError, StopIteration) as error:
        msg = f"{path} cannot be read as Matrix Market ({error})"
        raise TableError(msg) from error
    X = (
        sparse.csr_array(X, dtype=np.float64)
        if sparse.issparse(X)
        else np.asarray(X, dtype=np.float64)
    )
    genes = _beside(path, ("features.tsv", "genes.tsv"), column=1)
    cells = _beside(path, ("barcodes.tsv",), column=0)
    if genes is not None and cells is not None and X.shape == (len(genes), len(cells)):
        turned = transposed(Table(X, cells, genes))
        return turned.noting("features stand in the rows of this file: it was turned round")
    fits = genes is not None and X.shape[1] == len(genes)
    return Table(X, genes if fits else None)


def _beside(path: Path, names: tuple[str, ...], column: int) -> Any:
    for name in names:
        for file in (path.with_name(name), path.with_name(f"{name}.gz")):
            if file.is_file():
                with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
                    cells = [line.rstrip("\n").split("\t") for line in lines]
                return np.array([c[min(column, len(c) - 1)] for c in cells], dtype=object)
    return None


def named_layers(adata: Any) -> list[str]:
    """Names of the layers of an AnnData object; from 0.13 on it lists ``X`` as ``None``."""
    return sorted(name for name in adata.layers if name is not None)


def read_h5ad(path: Path, layer: str | None) -> Table:
    """AnnData: the matrix or one of its layers, and the columns of ``obs`` and ``var``."""
    try:
        import anndata
    except ModuleNotFoundError as error:
        msg = "reading .h5ad files needs anndata: pip install 'loadstone[anndata]'"
        raise TableError(msg) from error
    try:
        adata = anndata.read_h5ad(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{path} cannot be read as h5ad ({error})"
        raise TableError(msg) from error
    if layer is not None and layer not in adata.layers:
        msg = f"{path} has no layer {layer!r}; it has {named_layers(adata) or 'none'}"
        raise TableError(msg)
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        msg = (
            f"{path} has no matrix X; choose one with --layer from {named_layers(adata) or 'none'}"
        )
        raise TableError(msg)
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    X = X if X.dtype.kind == "f" else X.astype(np.float64)
    return Table(
        X,
        np.array(adata.var_names, dtype=object),
        np.array(adata.obs_names, dtype=object),
        _text_columns(adata.obs, but="biufc"),
        # Clusters of genes are often numbered.
        _text_columns(adata.var, but="fc"),
    )


def _text_columns(frame: Any, but: str) -> dict[str, Any]:
    return {
        str(name): frame[name].astype(str).to_numpy(dtype=object)
        for name in frame.columns
        if frame[name].dtype.kind not in but
    }
