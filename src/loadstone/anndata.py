"""Sparse PCA of an AnnData object, written where scanpy looks for it.

This module needs no scanpy and no anndata of its own: it works on the object it is given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from loadstone.covariance.opened import opened
from loadstone.estimators.sparse_pca import SparsePCA
from loadstone.files.h5ad_files import named_layers


def sparse_pca(
    adata: Any,
    n_components: int = 10,
    *,
    n_nonzero: Any = 50,
    layer: str | None = None,
    key_added: str | None = None,
    estimator: BaseEstimator | None = None,
    mask_var: Any = None,
    copy: bool = False,
    **parameters: Any,
) -> Any:
    """Find sparse components of cells and write them the way ``scanpy.pp.pca`` does.

    Parameters
    ----------
    adata : anndata.AnnData
        Cells in rows, genes in columns. The matrix is used as it is: normalise it and
        take logarithms first, as for PCA. Sparse matrices are never made dense.
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
    mask_var : str or array-like of bool, optional
        Genes that may be used, or the column of ``adata.var`` that says so, such as
        ``"highly_variable"``. The others get loadings of zero.
    copy : bool, default=False
        Work on a copy and return it.
    **parameters
        Further parameters of :class:`loadstone.SparsePCA`, such as ``nonnegative``.

    Returns
    -------
    AnnData or None
        The copy, where asked for.

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
    allowed = _mask(adata, mask_var)
    # A backed matrix is read by blocks, and one that is used whole is not copied.
    X = opened(_matrix(adata, layer))
    X = X if allowed.all() else X[:, np.flatnonzero(allowed)]
    if estimator is None:
        estimator = SparsePCA(n_components, n_nonzero=n_nonzero, **parameters)
    elif parameters:
        msg = f"{sorted(parameters)} cannot be combined with estimator; set them on the estimator"
        raise ValueError(msg)
    scores = np.asarray(estimator.fit(X).transform(X))
    loadings = np.zeros((adata.n_vars, scores.shape[1]))
    loadings[allowed] = estimator.components_.T
    _store(adata, estimator, scores, loadings, layer, key_added, mask_var)
    return adata if copy else None


def _matrix(adata: Any, layer: str | None) -> Any:
    if layer is None:
        X = adata.X
    elif layer in adata.layers:
        X = adata.layers[layer]
    else:
        msg = f"there is no layer {layer!r}; there are {named_layers(adata) or 'none'}"
        raise KeyError(msg)
    if X is None:
        msg = "adata has no matrix X; name a layer"
        raise ValueError(msg)
    return X


def _mask(adata: Any, mask_var: Any) -> Any:
    if mask_var is None:
        return np.ones(adata.n_vars, dtype=bool)
    if isinstance(mask_var, str):
        if mask_var not in adata.var:
            msg = f"adata.var has no column {mask_var!r}"
            raise KeyError(msg)
        mask_var = adata.var[mask_var]
    allowed = np.asarray(mask_var, dtype=bool)
    if allowed.shape != (adata.n_vars,) or not allowed.any():
        msg = f"mask_var must say of each of the {adata.n_vars} genes whether it may be used"
        raise ValueError(msg)
    return allowed


def _store(
    adata: Any,
    estimator: Any,
    scores: Any,
    loadings: Any,
    layer: str | None,
    key_added: str | None,
    mask_var: Any,
) -> None:
    obsm, varm, uns = ("X_pca", "PCs", "pca") if key_added is None else (key_added,) * 3
    adata.obsm[obsm] = scores
    adata.varm[varm] = loadings
    settings = {
        "zero_center": True,
        "use_highly_variable": isinstance(mask_var, str) and mask_var == "highly_variable",
        "mask_var": mask_var if isinstance(mask_var, str) else None,
        "method": type(estimator).__name__,
    }
    if layer is not None:
        settings["layer"] = layer
    adata.uns[uns] = {
        "params": {name: value for name, value in settings.items() if value is not None},
        "variance": np.asarray(estimator.explained_variance_),
        "variance_ratio": np.asarray(estimator.explained_variance_ratio_),
    }
    for attribute, name in (("upper_bound_", "upper_bound"), ("gap_", "gap")):
        if hasattr(estimator, attribute):
            adata.uns[uns][name] = np.asarray(getattr(estimator, attribute))
