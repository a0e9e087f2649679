"""Sparse PCA of an AnnData object, written where scanpy looks for it.

This module needs no scanpy and no anndata of its own: it works on the object it is given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from loadstone.covariance import SampleCovariance
from loadstone.covariance.containers import MAPPED_BYTES, is_dask
from loadstone.estimators.sparse_pca import SparsePCA
from loadstone.report.cells import column_of, columns_of, matrix_of, model_of, packed

__all__ = ["model_of", "sparse_pca"]

#: The column of ``var`` that is taken for the mask where it exists, as scanpy does.
HIGHLY_VARIABLE = "highly_variable"
#: Says that nobody has said anything about a mask.
_UNSAID = "highly variable, if there are any"


def sparse_pca(
    adata: Any,
    n_components: int = 10,
    *,
    n_nonzero: Any = 50,
    layer: str | None = None,
    key_added: str | None = None,
    estimator: BaseEstimator | None = None,
    mask_var: Any = _UNSAID,
    chunked: bool = False,
    chunk_size: int | None = None,
    return_model: bool = False,
    copy: bool = False,
    **parameters: Any,
) -> Any:
    """Find sparse components of cells and write them the way ``scanpy.pp.pca`` does.

    Parameters
    ----------
    adata : anndata.AnnData
        Cells in rows, genes in columns, in memory, backed by a file, or with a Dask array. The
        matrix is used as it is: normalise it and take logarithms first, as for PCA. Sparse
        matrices are never made dense.
    n_components : int, default=10
        Number of components.
    n_nonzero : int, float, array-like or None, default=50
        Genes per component.
    layer : str, optional
        Layer to use in place of ``adata.X``.
    key_added : str, optional
        Under which name results are stored. By default as PCA, so that scanpy's
        functions take them up: ``obsm["X_pca"]``, ``varm["PCs"]``, ``uns["pca"]``; else
        ``obsm[key_added]``, ``varm[key_added]``, ``uns[key_added]``.
    estimator : estimator, optional
        Any estimator of loadstone in place of :class:`loadstone.SparsePCA`; it is fitted
        as it is, and no other parameter may be given.
    mask_var : str, array-like of bool or None, optional
        Genes that may be used, or the column of ``adata.var`` that says so. The others get
        loadings of zero. By default ``"highly_variable"`` where that column exists;
        ``None`` uses all genes.
    chunked : bool, default=False
        Read the matrix in blocks of rows and keep its covariance alone, in one pass; for
        matrices that do not fit into memory.
    chunk_size : int, optional
        Rows of a block; by default about 64 MiB of them.
    return_model : bool, default=False
        Return the fitted estimator, whose features are the genes that were used.
    copy : bool, default=False
        Work on a copy and return it.
    **parameters
        Further parameters of :class:`loadstone.SparsePCA`, such as ``nonnegative`` or
        ``certify``.

    Returns
    -------
    AnnData, estimator, tuple of both, or None
        The copy and the fitted estimator, where asked for.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> from loadstone.anndata import sparse_pca
    >>> adata = anndata.AnnData(np.random.default_rng(0).random((20, 8)))
    >>> sparse_pca(adata, n_components=2, n_nonzero=3)
    >>> adata.obsm["X_pca"].shape, adata.varm["PCs"].shape
    ((20, 2), (8, 2))
    """
    if copy:
        adata = adata.copy()
    mask_var = _said(adata, mask_var)
    allowed = _mask(adata, mask_var)
    model = _estimator(estimator, n_components, n_nonzero, parameters)
    X = columns_of(matrix_of(adata, layer), allowed)
    if chunked:
        scores = fit_by_blocks(model, X, _chunk_size(X, chunk_size))
    else:
        scores = np.asarray(model.fit(X).transform(X))
    # Only now: matrices of cells carry no names, and the scores need none.
    model.feature_names_in_ = np.asarray(adata.var_names, dtype=object)[allowed]
    _store(adata, model, scores, allowed, layer, key_added, mask_var)
    found = [thing for thing, asked in ((adata, copy), (model, return_model)) if asked]
    return None if not found else found[0] if len(found) == 1 else tuple(found)


def fit_by_blocks(model: Any, X: Any, chunk_size: int) -> Any:
    """Fit to the covariance of blocks of rows, read once; the scores, by blocks as well."""
    n_rows = X.shape[0]
    places = [slice(lo, min(lo + chunk_size, n_rows)) for lo in range(0, n_rows, chunk_size)]
    whole = SampleCovariance.of(_in_memory(X[places[0]]))
    for place in places[1:]:
        whole.partial_fit(_in_memory(X[place]))
    model.fit(whole)
    return np.concatenate([np.asarray(model.transform(_in_memory(X[place]))) for place in places])


def _in_memory(block: Any) -> Any:
    return block.compute() if is_dask(block) else block


def _chunk_size(X: Any, chunk_size: int | None) -> int:
    if chunk_size is None:
        return max(1, MAPPED_BYTES // max(1, 8 * int(X.shape[1])))
    if chunk_size < 1:
        msg = f"chunk_size={chunk_size} must be at least 1: the rows that are read at a time"
        raise ValueError(msg)
    return chunk_size


def _estimator(
    estimator: Any, n_components: int, n_nonzero: Any, parameters: dict[str, Any]
) -> Any:
    if estimator is None:
        return SparsePCA(n_components, n_nonzero=n_nonzero, **parameters)
    if parameters:
        msg = f"{sorted(parameters)} cannot be combined with estimator; set them on the estimator"
        raise ValueError(msg)
    return estimator


def _said(adata: Any, mask_var: Any) -> Any:
    """The mask that was asked for, or highly variable genes where there is such a column."""
    if mask_var is not _UNSAID:
        return mask_var
    return HIGHLY_VARIABLE if HIGHLY_VARIABLE in adata.var else None


def _mask(adata: Any, mask_var: Any) -> Any:
    if mask_var is None:
        return np.ones(adata.n_vars, dtype=bool)
    if isinstance(mask_var, str):
        mask_var = column_of(adata.var, mask_var, f"adata.var has no column {mask_var!r}")
    allowed = np.asarray(mask_var, dtype=bool)
    if allowed.shape != (adata.n_vars,) or not allowed.any():
        msg = (
            f"mask_var must say of each of the {adata.n_vars} genes whether it may be used, and it says "
            f"so of {int(allowed.sum())} out of {allowed.size}; mask_var=None uses all genes"
        )
        raise ValueError(msg)
    return allowed


def _store(
    adata: Any,
    model: Any,
    scores: Any,
    allowed: Any,
    layer: str | None,
    key_added: str | None,
    mask_var: Any,
) -> None:
    obsm, varm, uns = ("X_pca", "PCs", "pca") if key_added is None else (key_added,) * 3
    loadings = np.zeros((adata.n_vars, scores.shape[1]))
    loadings[allowed] = model.components_.T
    adata.obsm[obsm] = scores
    adata.varm[varm] = loadings
    settings = {
        "zero_center": True,
        "use_highly_variable": isinstance(mask_var, str) and mask_var == HIGHLY_VARIABLE,
        "mask_var": mask_var if isinstance(mask_var, str) else None,
        "layer": layer,
        "method": type(model).__name__,
        **{name: _plain(value) for name, value in model.get_params(deep=False).items()},
    }
    found = {
        "params": {name: value for name, value in settings.items() if value is not None},
        "variance": np.asarray(model.explained_variance_),
        "variance_ratio": np.asarray(model.explained_variance_ratio_),
        "recovered_variance_ratio": np.asarray(model.recovered_variance_ratio_),
        "n_nonzero": np.asarray(model.cardinality_),
        "genes_used": np.flatnonzero(allowed),
        "loadstone_model": packed(model),
    }
    certificates = vars(model).get("certificates_", [])
    if certificates:
        found["upper_bound"] = np.asarray(model.upper_bound_)
        found["gap"] = np.asarray(model.gap_)
        found["certificates"] = {
            "value": np.array([float(c.value) for c in certificates]),
            "upper_bound": np.array([float(c.upper_bound) for c in certificates]),
            "ratio": np.array([float(c.ratio) for c in certificates]),
            "is_optimal": np.array([bool(c.is_optimal) for c in certificates]),
            "sentence": np.array([str(c) for c in certificates], dtype=object),
        }
    adata.uns[uns] = found


def _plain(value: Any) -> Any:
    """A parameter as files of AnnData can hold it; ``None`` where there is nothing to say."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    try:
        return np.asarray(value) if np.asarray(value).dtype.kind in "biuf" else str(value)
    except ValueError:
        return str(value)
