"""H5AD files: looked through before anything is read."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.files import hdf5
from loadstone.files.classes import texts_of
from loadstone.files.errors import TableError
from loadstone.files.foreign import foreign, refuse_table
from loadstone.files.hdf5 import is_old, look_through
from loadstone.files.read_apart import refuse_unreadable
from loadstone.files.sparse_parts import checked_sparse
from loadstone.files.table import Table


def named_layers(adata: Any) -> list[str]:
    """Names of the layers of an AnnData object; from 0.13 on it lists ``X`` as ``None``."""
    return sorted(name for name in adata.layers if name is not None)


def read_h5ad(path: Path, layer: str | None, wanted: Sequence[str] = ()) -> Table:
    """AnnData: the matrix or one of its layers, and the columns of ``obs`` and ``var``.

    Columns of numbers are left out, unless they are ``wanted``.
    """
    try:
        import anndata
        import h5py  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        msg = "reading .h5ad files needs anndata: pip install 'loadstone[anndata]'"
        raise TableError(msg) from error
    names = ["obs", "var", "X" if layer is None else f"layers/{layer}"]
    with foreign(path, "h5ad"), warnings.catch_warnings():
        # Of old formats, which are read all the same.
        warnings.simplefilter("ignore")
        refuse_unreadable(hdf5.__name__, path, names)
        with h5py.File(path, "r") as file:
            look_through(h5py, file, path, names)
            _refuse_no_matrix(file, path, layer)
            if is_old(h5py, file, names):
                adata = anndata.read_h5ad(path)
            else:
                # Other layers and results may be many times as large.
                obs, var, X = (anndata.io.read_elem(file[name]) for name in names)
                adata = anndata.AnnData(X, obs=obs, var=var)
                layer = None
        return _table(adata, path, layer, wanted)


def _refuse_no_matrix(file: Any, path: Path, layer: str | None) -> None:
    layers = sorted(file.get("layers", ())) or "none"
    if layer is not None and f"layers/{layer}" not in file:
        msg = f"{path} has no layer {layer!r}; it has {layers}"
        raise TableError(msg)
    if layer is None and ("X" not in file or getattr(file["X"], "shape", ()) is None):
        msg = f"{path} has no matrix X; choose one with layer='NAME' from {layers}"
        raise TableError(msg)


def _table(adata: Any, path: Path, layer: str | None, wanted: Sequence[str]) -> Table:
    X = adata.X if layer is None else adata.layers[layer]
    if X.dtype.kind not in "biuf":
        msg = f"{path} holds {X.dtype} of shape {X.shape}; a table of real numbers is needed"
        raise TableError(msg)
    if not sparse.issparse(X) and X.dtype.kind != "f":
        refuse_table(X.shape[0], X.shape[1], path)
    dtype = X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)
    X = checked_sparse(X, path).astype(dtype) if sparse.issparse(X) else X.astype(dtype, copy=False)
    return Table(
        X,
        np.array(adata.var_names, dtype=object),
        np.array(adata.obs_names, dtype=object),
        _text_columns(adata.obs, but="biufc")
        | {name: adata.obs[name].to_numpy() for name in wanted if _counts(adata.obs, name)},
        # Clusters of genes are often numbered.
        _text_columns(adata.var, but="fc"),
    )


def _counts(frame: Any, name: str) -> bool:
    return name in frame.columns and frame[name].dtype.kind in "biuf"


def _text_columns(frame: Any, but: str) -> dict[str, Any]:
    return {
        str(name): texts_of(frame[name])
        for name in frame.columns
        if frame[name].dtype.kind not in but
    }
