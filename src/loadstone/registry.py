"""Who is who: an estimator names itself once, and lists, tables and files are made from that.

An estimator class holds ``about = About(...)`` with plain values. They are read from the source
without importing it, because ``import loadstone`` and ``loadstone --help`` must stay quick.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

#: Folders whose modules may hold estimators.
PACKAGES = ("estimators", "selection")

_CLASS = re.compile(r'^class (\w+)\b[^\n]*:\n    """([^\n]+)', flags=re.MULTILINE)
_ABOUT = re.compile(r"^    about\b[^=\n]*= About\((.*?)^    \)", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class About:
    """What an estimator says of itself, beside its name and the first line of its docstring.

    Attributes
    ----------
    choose : tuple of str
        What somebody wants who should take it, as in "you want ...".
    method : str or None
        Its name on the command line; ``None`` where it cannot be called there.
    paper : str
        Where the method comes from; empty where it is of this package.
    """

    choose: tuple[str, ...]
    method: str | None = None
    paper: str = ""


@dataclass(frozen=True)
class Entry:
    """An estimator of the package: where it is, what it does, and what it says of itself."""

    name: str
    module: str
    sentence: str
    about: About

    @property
    def page(self) -> str:
        """The page that describes it, below ``docs/``: it has the name of the module."""
        return f"methods/{self.module.rpartition('.')[2]}"

    def load(self) -> Any:
        """The class itself."""
        return getattr(import_module(self.module), self.name)


@cache
def entries() -> tuple[Entry, ...]:
    """Every estimator, in the order of their names."""
    root = Path(__file__).parent
    found = [
        entry
        for package in PACKAGES
        for path in sorted((root / package).glob("*.py"))
        for entry in _entries_in(
            path.read_text(encoding="utf-8"), f"loadstone.{package}.{path.stem}"
        )
    ]
    return tuple(sorted(found, key=lambda entry: entry.name.lower()))


def _entries_in(source: str, module: str) -> list[Entry]:
    found = []
    for match in _ABOUT.finditer(source):
        name, sentence = _CLASS.findall(source, 0, match.start())[-1]
        call = ast.parse(f"About({match.group(1)})", mode="eval").body
        assert isinstance(call, ast.Call)
        values = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
        found.append(Entry(name, module, sentence.rstrip(" ."), About(**values)))
    return found


def entry_of(name: str) -> Entry | None:
    """The estimator of this name; ``None`` where there is none."""
    return next((entry for entry in entries() if entry.name == name), None)


def methods() -> dict[str, Entry]:
    """Names on the command line, the front door first."""
    named = {entry.about.method: entry for entry in entries() if entry.about.method is not None}
    return {name: named[name] for name in sorted(named, key=lambda name: (name != "sparse", name))}
