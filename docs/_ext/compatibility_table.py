"""Which solver takes which constraint, asked of the solvers themselves."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

from markdown_table import markdown_table

from loadstone.constraints import KINDS

N_FEATURES = 8


def solver_table() -> str:
    """The table in Markdown, with the reasons of refusals as a numbered list below it."""
    asked = solvers()
    reasons: list[str] = []
    rows = [
        [words, *(_answer(solver, flavours, reasons) for solver in asked)]
        for words, flavours in constraints().items()
    ]
    head = ["", *(f"`{type(solver).__name__}`" for solver in asked)]
    listed = "".join(f"{i}. {reason}\n" for i, reason in enumerate(reasons, start=1))
    return f"{markdown_table(head, rows)}\n{listed}"


def constraints() -> dict[str, list[Any]]:
    """Examples of every kind of constraint, those that decide about signs apart."""
    found: dict[str, list[Any]] = {}
    for kind in KINDS:
        for example in kind.examples(N_FEATURES):
            flavour = "" if example.signs is None else ", signs given"
            found.setdefault(f"`{kind.__name__}`{flavour}", []).append(example)
    return found


def solvers() -> list[Any]:
    """An instance of every solver below ``loadstone.solvers``, in the order of their names."""
    found = [cls() for cls in _classes("loadstone.solvers") if _is_solver(cls)]
    return sorted(found, key=lambda solver: type(solver).__name__)


def _is_solver(cls: type) -> bool:
    return dataclasses.is_dataclass(cls) and {"refuses", "__call__"} <= set(vars(cls))


def _classes(package: str) -> Iterator[type]:
    root = importlib.import_module(package)
    for info in pkgutil.walk_packages(root.__path__, prefix=f"{package}."):
        # Compiled code takes long to load and holds no solver.
        if not info.name.endswith("_kernels"):
            module = importlib.import_module(info.name)
            for _, cls in inspect.getmembers(module, inspect.isclass):
                if cls.__module__ == info.name:
                    yield cls


def _answer(solver: Any, flavours: list[Any], reasons: list[str]) -> str:
    """Yes, no or in part, with the numbers of the reasons; new reasons are added."""
    given = [
        # One reason for all kinds that are refused for it.
        reason.replace(type(flavour).__name__, "the constraint")
        for flavour in flavours
        if (reason := solver.refuses(flavour)) is not None
    ]
    if not given:
        return "yes"
    reasons += [reason for reason in dict.fromkeys(given) if reason not in reasons]
    numbers = sorted({reasons.index(reason) + 1 for reason in given})
    word = "no" if len(given) == len(flavours) else "in part"
    return f"{word} ({', '.join(map(str, numbers))})"
