"""Docstrings of estimators: what the class writes itself, and the shared texts around it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import Field
from typing import Any

from loadstone.estimators.attributes import Attribute
from loadstone.estimators.parameters import SHARED

_INDENT = " " * 4
#: Shared parameters that stand before an estimator's own.
_N_FIRST = 4


def composed(doc: str, fields: Iterable[Field[Any]], attributes: Mapping[str, Attribute]) -> str:
    """``doc`` with all parameters and attributes, those it does not describe from the tables.

    Parameters
    ----------
    doc : str
        The docstring as it stands in the source.
    fields : iterable of dataclasses.Field
        The parameters of the estimator.
    attributes : mapping of str to Attribute
        The shared attributes it has.

    Returns
    -------
    str
        Indented as in the source.
    """
    head, sections = _split(inspect.cleandoc(doc))
    parameters = _described(sections.pop("Parameters", ""))
    own = _described(sections.pop("Attributes", ""))
    by_name = {field.name: field for field in fields}
    texts = {name: parameters.get(name) or _shared(by_name[name]) for name in _ordered(by_name)}
    known = {name: f"{name} : {a.kind}\n{_indented(a.text)}" for name, a in attributes.items()}
    known = {**known, **own}
    parts = [head, _section("Parameters", texts.values()), _section("Attributes", known.values())]
    parts += [f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items()]
    text = "\n\n".join(part.strip("\n") for part in parts if part)
    lines = [
        line if i == 0 or not line else _INDENT + line for i, line in enumerate(text.split("\n"))
    ]
    return "\n".join(lines) + f"\n{_INDENT}"


def _ordered(fields: Mapping[str, Any]) -> list[str]:
    """What is shared by most first, then an estimator's own, then how and on what it works."""
    shared = [name for name in SHARED if name in fields]
    first = [name for name in list(SHARED)[:_N_FIRST] if name in fields]
    own = [name for name in fields if name not in SHARED]
    return first + own + [name for name in shared if name not in first]


def _shared(field: Field[Any]) -> str:
    parameter = SHARED[field.name]
    kind = parameter.kind
    if "optional" not in kind:
        kind += f", default={_shown(field.default)}"
    return f"{field.name} : {kind}\n{_indented(parameter.text)}"


def _shown(default: Any) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


def _indented(text: str) -> str:
    return "\n".join(_INDENT + line for line in text.split("\n"))


def _section(title: str, entries: Iterable[str]) -> str:
    body = "\n".join(entries)
    return f"{title}\n{'-' * len(title)}\n{body}" if body else ""


def _split(doc: str) -> tuple[str, dict[str, str]]:
    """The text before the first section, and the sections by their titles."""
    parts = re.split(r"^(\S[^\n]*)\n-{3,}\n", doc, flags=re.MULTILINE)
    return parts[0], dict(zip(parts[1::2], parts[2::2], strict=True))


def _described(section: str) -> dict[str, str]:
    """Entries ``name : kind`` of a section with their texts."""
    parts = re.split(r"^(?=\S)", section.strip("\n"), flags=re.MULTILINE)
    entries = [part.rstrip("\n") for part in parts if part.strip()]
    return {entry.split(" ", 1)[0]: entry for entry in entries}
