"""Reports on AnnData objects: the model, the matrix and the names that belong to a key.

Nothing of anndata is imported: the object that is given is asked.
"""

from __future__ import annotations

import io
from copy import copy
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from loadstone.covariance.opened import opened, package_of
from loadstone.estimators.model_file import load_model, save_model
from loadstone.files.classes import texts_of
from loadstone.files.h5ad_files import named_layers


def is_anndata(thing: Any) -> bool:
    """Whether this is an AnnData object."""
    return package_of(thing) == "anndata" and type(thing).__name__ == "AnnData"


def column_of(table: Any, name: str, missing: str) -> Any:
    """A column of ``obs`` or ``var``; where it is ``missing``, that sentence and the nearest name."""
    if name not in table:
        msg = f"{missing}; {_hint(name, [str(column) for column in table])}"
        raise KeyError(msg)
    return table[name]


def _hint(name: str, names: list[str]) -> str:
    near = get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {names[:10] or 'none'}"


def matrix_of(adata: Any, layer: str | None) -> Any:
    """``X`` or a layer; blocks of rows where it is stored in a file."""
    if layer is None:
        X = adata.X
    elif layer in adata.layers:
        X = adata.layers[layer]
    else:
        layers = named_layers(adata)
        msg = f"there is no layer {layer!r}; {_hint(layer, layers)}"
        raise KeyError(msg)
    if X is None:
        msg = f"adata has no matrix X; name a layer: there are {named_layers(adata) or 'none'}"
        raise ValueError(msg)
    return opened(X)


def columns_of(X: Any, allowed: Any) -> Any:
    """Some of the genes; all of them without a copy."""
    return X if allowed.all() else X[:, np.flatnonzero(allowed)]


def packed(model: Any) -> Any:
    """A fitted estimator as an array of bytes, which every file of AnnData can hold."""
    with TemporaryDirectory() as folder:
        path = save_model(model, Path(folder) / "model.npz")
        return np.frombuffer(path.read_bytes(), dtype=np.uint8)


def model_of(adata: Any, key: str | None = None) -> Any:
    """The fitted estimator that :func:`loadstone.anndata.sparse_pca` stored under a key.

    Parameters
    ----------
    adata : anndata.AnnData
        Also one that was written to a file and read again.
    key : str, optional
        The ``key_added``; by default ``"pca"``.

    Returns
    -------
    estimator
        Its features are the genes that were used.
    """
    key = "pca" if key is None else key
    stored = dict_of(adata.uns.get(key, {}))
    if "loadstone_model" not in stored:
        keys = [name for name, value in adata.uns.items() if "loadstone_model" in dict_of(value)]
        near = get_close_matches(key, keys, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"such keys: {keys or 'none'}"
        msg = (
            f"adata.uns[{key!r}] holds no components of loadstone; {hint}; "
            "loadstone.anndata.sparse_pca(adata, key_added=...) makes them"
        )
        raise KeyError(msg)
    content = io.BytesIO(np.asarray(stored["loadstone_model"], dtype=np.uint8).tobytes())
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        path.write_bytes(content.getvalue())
        return load_model(path)


def dict_of(value: Any) -> Any:
    """What can be looked into by key."""
    return value if hasattr(value, "keys") else {}


def _genes_of(adata: Any, model: Any, stored: Any) -> Any:
    """Which genes the model knows: as they were stored, or by name."""
    names = np.asarray(adata.var_names, dtype=object)
    wanted = vars(model).get("feature_names_in_")
    places = np.asarray(stored.get("genes_used", []), dtype=np.intp)
    known = places.size == model.n_features_in_ and places.max() < names.size
    if known and (wanted is None or (names[places] == wanted).all()):
        return np.isin(np.arange(names.size), places)
    allowed = np.ones(names.size, dtype=bool) if wanted is None else np.isin(names, wanted)
    if allowed.sum() != model.n_features_in_:
        msg = (
            f"adata has {int(allowed.sum())} of the {model.n_features_in_} genes of the model; give the "
            "adata it was fitted to, with a key under which its results are"
        )
        raise ValueError(msg)
    return allowed


def arguments_of(adata: Any, model: Any, key: str | None, labels: Any) -> dict[str, Any]:
    """What :func:`loadstone.report.summarise` takes, from cells and a model of them.

    Parameters
    ----------
    adata : anndata.AnnData
        The cells.
    model : fitted estimator
        Its features are found by name.
    key : str or None
        Where its results are stored; the layer they came from is written there.
    labels : str, array-like or None
        A column of ``adata.obs``, or classes as they are.

    Returns
    -------
    dict
        The model without names, which matrices of cells do not carry; data, labels and names.
    """
    stored = dict_of(adata.uns.get("pca" if key is None else key, {}))
    X = matrix_of(adata, dict_of(stored.get("params", {})).get("layer"))
    allowed = _genes_of(adata, model, stored)
    if isinstance(labels, str):
        column = column_of(adata.obs, labels, f"labels={labels!r} is no column of adata.obs")
        labels = texts_of(column)
    model = copy(model)
    vars(model).pop("feature_names_in_", None)
    return {
        "estimator": model,
        "X": columns_of(X, allowed),
        "labels": labels,
        "feature_names": np.asarray(adata.var_names, dtype=object)[allowed],
        "sample_names": np.asarray(adata.obs_names, dtype=object),
    }
