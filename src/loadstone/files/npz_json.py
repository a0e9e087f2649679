"""Plain values as JSON, and the arrays among them as members of an npz file.

Understood are ``None``, booleans, numbers, text, lists, tuples, ranges, dictionaries with
text keys, arrays of numbers or text, members of enumerations, and dataclasses of this package.
Nothing else is written, and nothing that is read is ever executed.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from importlib import import_module
from numbers import Integral, Real
from typing import Any

import numpy as np

_PACKAGE = "loadstone."
#: Values inside values; what is nested more deeply was not written by a fit.
DEEPEST = 200


class NotPlainError(TypeError):
    """A value that has no plain form."""


def encode(value: Any, arrays: dict[str, Any]) -> Any:
    """JSON for ``value``; arrays are put into ``arrays`` and referred to by name."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, enum.Enum):
        return {"is": "enum", "class": _address(type(value)), "name": value.name}
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        return number if math.isfinite(number) else {"is": "float", "text": repr(number)}
    if isinstance(value, np.ndarray):
        return _encode_array(value, arrays)
    if isinstance(value, list | tuple):
        items = [encode(item, arrays) for item in value]
        return items if isinstance(value, list) else {"is": "tuple", "items": items}
    if isinstance(value, range):
        return {"is": "range", "items": [value.start, value.stop, value.step]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        named = {key: encode(item, arrays) for key, item in value.items()}
        return {"is": "dict", "items": named}
    if dataclasses.is_dataclass(value) and type(value).__module__.startswith(_PACKAGE):
        fields = {f.name: encode(getattr(value, f.name), arrays) for f in dataclasses.fields(value)}
        return {"is": "dataclass", "class": _address(type(value)), "fields": fields}
    msg = f"{type(value).__name__} has no plain form"
    raise NotPlainError(msg)


def _encode_array(value: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    if value.dtype == object:
        if not all(isinstance(item, str) for item in value.ravel()):
            msg = "an array of Python objects has no plain form"
            raise NotPlainError(msg)
        name = _next_name(arrays)
        arrays[name] = value.astype(np.str_)
        return {"is": "array", "name": name, "object": True}
    if value.dtype.kind not in "biufcSU":
        msg = f"an array of dtype {value.dtype} has no plain form"
        raise NotPlainError(msg)
    name = _next_name(arrays)
    arrays[name] = np.asarray(value)
    finite = value.dtype.kind not in "fc" or bool(np.isfinite(value).all())
    return {"is": "array", "name": name, **({} if finite else {"finite": False})}


def _next_name(arrays: dict[str, Any]) -> str:
    return f"array_{len(arrays)}"


def decode(value: Any, arrays: Any, depth: int = 0) -> Any:
    """What :func:`encode` was given."""
    if depth > DEEPEST:
        msg = f"values nested more than {DEEPEST} deep"
        raise ValueError(msg)
    depth += 1
    if isinstance(value, list):
        return [decode(item, arrays, depth) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value["is"]
    if kind == "float":
        return float(value["text"])
    if kind == "array":
        array = arrays[value["name"]]
        if array.dtype.kind in "fc" and value.get("finite", True) and not np.isfinite(array).all():
            msg = "an array holds NaN or infinity"
            raise ValueError(msg)
        return array.astype(object) if value.get("object") else array
    if kind == "tuple":
        return tuple(decode(item, arrays, depth) for item in value["items"])
    if kind == "range":
        return range(*value["items"])
    if kind == "dict":
        return {key: decode(item, arrays, depth) for key, item in value["items"].items()}
    if kind == "enum":
        return _class(value["class"], enum.EnumMeta)[value["name"]]
    if kind == "dataclass":
        return _rebuilt(value, arrays, depth)
    msg = f"unknown kind {kind!r}"
    raise ValueError(msg)


def _rebuilt(value: dict[str, Any], arrays: Any, depth: int) -> Any:
    """A dataclass, built as it is anywhere else: its own checks run."""
    cls: type = _class(value["class"], type)
    if not dataclasses.is_dataclass(cls):
        msg = f"{value['class']} is no dataclass"
        raise ValueError(msg)
    given = {name: decode(field, arrays, depth) for name, field in value["fields"].items()}
    known = {f.name: f.init for f in dataclasses.fields(cls)}
    odd = sorted(set(known) ^ set(given))
    if odd:
        fault = "no field" if odd[0] in given else "lost its field"
        msg = f"{value['class']} has {fault} {odd[0]!r}"
        raise ValueError(msg)
    rebuilt = cls(**{name: field for name, field in given.items() if known[name]})
    for name in (name for name, init in known.items() if not init):
        object.__setattr__(rebuilt, name, given[name])
    return rebuilt


def _address(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _class(address: str, kind: type) -> Any:
    """A class of this package by its address; nothing outside of it is ever imported."""
    module, _, name = address.partition(":")
    if not module.startswith(_PACKAGE) or not name.isidentifier():
        msg = f"{address!r} is no class of loadstone"
        raise ValueError(msg)
    found = getattr(import_module(module), name, None)
    if not isinstance(found, kind):
        msg = f"{address!r} is no class of loadstone"
        raise ValueError(msg)
    return found
