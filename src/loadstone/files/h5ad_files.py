"""H5AD files: looked through before anything is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.files.errors import TableError
from loadstone.files.foreign import MOST_DEFLATED, foreign, refuse_beyond_memory
from loadstone.files.npy_arrays import DamagedError
from loadstone.files.sparse_parts import checked_sparse
from loadstone.files.table import Table

#: Groups inside groups; AnnData writes about four.
_DEEPEST = 32
#: Below this a data set may be as well packed as it likes.
_SMALL = 1 << 24


def named_layers(adata: Any) -> list[str]:
    """Names of the layers of an AnnData object; from 0.13 on it lists ``X`` as ``None``."""
    return sorted(name for name in adata.layers if name is not None)


def read_h5ad(path: Path, layer: str | None) -> Table:
    """AnnData: the matrix or one of its layers, and the columns of ``obs`` and ``var``."""
    try:
        import anndata
        import h5py  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        msg = "reading .h5ad files needs anndata: pip install 'loadstone[anndata]'"
        raise TableError(msg) from error
    with foreign(path, "h5ad"):
        with h5py.File(path, "r") as file:
            _look_through(h5py, file, path, set(), 0)
        adata = anndata.read_h5ad(path)
        return _table(adata, path, layer)


def _look_through(h5py: Any, group: Any, path: Path, seen: set[int], depth: int) -> None:
    """Refuse links that lead out of the file or round in a circle, and sizes nobody has."""
    address = h5py.h5o.get_info(group.id).addr
    if address in seen or depth > _DEEPEST:
        msg = "its groups lead back to themselves, or are nested too deeply"
        raise DamagedError(msg)
    seen.add(address)
    for name in group:
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            where = f"{group.name.rstrip('/')}/{name}"
            msg = f"{path} holds a link ({where}) to somewhere else, which is not followed"
            raise TableError(msg)
        item = group[name]
        if isinstance(item, h5py.Group):
            _look_through(h5py, item, path, seen, depth + 1)
        elif isinstance(item, h5py.Dataset):
            _check_dataset(item, path)


def _check_dataset(item: Any, path: Path) -> None:
    if item.is_virtual or item.external:
        msg = f"{path} keeps {item.name} in another file, which is not followed"
        raise TableError(msg)
    if item.shape is None:
        return
    n_bytes = int(item.size) * int(item.dtype.itemsize)
    refuse_beyond_memory(n_bytes, path, f"{item.name}, an array")
    if n_bytes > _SMALL and n_bytes > MOST_DEFLATED * int(item.id.get_storage_size()):
        msg = f"{item.name} declares {n_bytes} bytes and holds next to none"
        raise DamagedError(msg)


def _table(adata: Any, path: Path, layer: str | None) -> Table:
    if layer is not None and layer not in adata.layers:
        msg = f"{path} has no layer {layer!r}; it has {named_layers(adata) or 'none'}"
        raise TableError(msg)
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        msg = (
            f"{path} has no matrix X; choose one with --layer from {named_layers(adata) or 'none'}"
        )
        raise TableError(msg)
    if X.dtype.kind not in "biuf":
        msg = f"{path} holds {X.dtype} of shape {X.shape}; a table of real numbers is needed"
        raise TableError(msg)
    dtype = X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)
    X = checked_sparse(X, path).astype(dtype) if sparse.issparse(X) else X.astype(dtype, copy=False)
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
