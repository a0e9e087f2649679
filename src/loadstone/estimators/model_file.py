"""Fitted estimators in files: one npz with the arrays and one JSON text, never a pickle."""

from __future__ import annotations

import inspect
import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from loadstone._sklearn_compat import check_is_fitted
from loadstone._version import __version__
from loadstone.estimators.found import is_fitted_name
from loadstone.estimators.projection import ComponentsMixin
from loadstone.files.errors import MissingFileError, ModelFileError
from loadstone.files.npz_json import NotPlainError, decode, encode
from loadstone.files.own_archive import (
    MODEL_HEADER,
    checked,
    damaged,
    from_release,
    json_of,
    read_own,
    refuse_version,
    write_own,
)
from loadstone.files.reachable import is_at_hand
from loadstone.registry import entry_of

FORMAT = "loadstone-model"
FORMAT_VERSION = 1
#: The way out of a file that cannot be read.
AGAIN = "fit the model again"
_IS_ARRAY = re.compile(r"array_\d{1,6}")


def save_model(estimator: Any, path: Path | str) -> Path:
    """Save a fitted estimator.

    Parameters
    ----------
    estimator : fitted estimator
        Any estimator of loadstone.
    path : path-like
        Where to; by custom it ends in ``.npz``. An existing file is replaced once the
        new one is complete.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import SparsePCA, load_model, save_model
    >>> model = SparsePCA(n_nonzero=3).fit(load_wine().data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(model, Path(folder) / "model.npz")
    ...     again = load_model(path)
    >>> bool((again.components_ == model.components_).all())
    True
    """
    check_is_fitted(estimator)
    entry = entry_of(type(estimator).__name__)
    if entry is None or entry.load() is not type(estimator):
        msg = f"{type(estimator).__name__} is no estimator of loadstone; only those are saved"
        raise TypeError(msg)
    arrays: dict[str, Any] = {}
    attributes = {name: value for name, value in vars(estimator).items() if is_fitted_name(name)}
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "loadstone_version": __version__,
        "class": type(estimator).__name__,
        "parameters": _plain_parts(estimator.get_params(deep=False), arrays, "parameter"),
        "attributes": _plain_parts(attributes, arrays, "attribute"),
    }
    path = Path(path)
    write_own(path, {**arrays, MODEL_HEADER: np.array(json.dumps(header))})
    return path


def _plain_parts(parts: dict[str, Any], arrays: dict[str, Any], kind: str) -> dict[str, Any]:
    encoded = {}
    for name, value in parts.items():
        mark = len(arrays)
        try:
            encoded[name] = encode(value, arrays)
        except (NotPlainError, RecursionError) as error:
            for half in list(arrays)[mark:]:
                del arrays[half]
            msg = f"the {kind} {name} is not saved: {error}"
            warnings.warn(msg, UserWarning, stacklevel=3)
    return encoded


def load_model(path: Path | str) -> Any:
    """Load a fitted estimator.

    Parameters
    ----------
    path : path-like
        A file that :func:`save_model` wrote.

    Returns
    -------
    estimator
        As it was saved.

    Raises
    ------
    MissingFileError
        If there is no such file.
    ModelFileError
        If the file is damaged, is no model, or was written by a newer loadstone.
    """
    path = Path(path)
    if not is_at_hand(path):
        msg = f"there is no model file {path}; loadstone fit writes one into its output folder"
        raise MissingFileError(msg)
    with damaged(path, AGAIN, ModelFileError):
        arrays = read_own(
            path, lambda name: name == MODEL_HEADER or _IS_ARRAY.fullmatch(name) is not None
        )
        header = json_of(arrays.pop(MODEL_HEADER)) if MODEL_HEADER in arrays else None
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            msg = f"{path} is no loadstone model; use a file that loadstone fit or save_model wrote"
            raise ModelFileError(msg)
        refuse_version(header, FORMAT_VERSION, path, ModelFileError)
        with from_release(header.get("loadstone_version"), path, AGAIN, ModelFileError):
            return _rebuilt(header, arrays)


def _rebuilt(header: dict[str, Any], arrays: dict[str, Any]) -> Any:
    entry = entry_of(header["class"])
    if entry is None:
        msg = f"there is no estimator {header['class']!r}"
        raise ValueError(msg)
    cls = entry.load()
    known = set(inspect.signature(cls).parameters)
    parameters = {name: decode(v, arrays) for name, v in header["parameters"].items()}
    unknown = sorted(set(parameters) - known)
    if unknown:
        msg = f"{cls.__name__} has no parameter {unknown[0]!r}"
        raise ValueError(msg)
    estimator = cls(**parameters)
    estimator.check_parameters()
    for name, value in header["attributes"].items():
        if not is_fitted_name(name):
            msg = f"{name!r} is no fitted attribute"
            raise ValueError(msg)
        setattr(estimator, name, decode(value, arrays))
    if not issubclass(cls, ComponentsMixin):
        return estimator
    _check_fitted(estimator)
    return estimator


def _check_fitted(estimator: Any) -> None:
    """Refuse components and moments that no fit leaves behind."""
    n_features = estimator.n_features_in_
    components = checked(np.asarray(estimator.components_), "components_", "f", 2)
    if type(n_features) is not int or components.shape[1] != n_features:
        msg = f"components of shape {components.shape} for {n_features} features"
        raise ValueError(msg)
    for name in ("mean_", "scale_"):
        moment = getattr(estimator, name)
        if moment is not None and checked(moment, name, "f", 1).size != n_features:
            msg = f"{name} of length {moment.size} for {n_features} features"
            raise ValueError(msg)
    names = vars(estimator).get("feature_names_in_")
    if names is not None and names.shape != (n_features,):
        msg = f"names of shape {names.shape} for {n_features} features"
        raise ValueError(msg)
