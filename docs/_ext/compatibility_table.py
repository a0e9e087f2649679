"""``solver-table``: which solver takes which constraint, asked of the solvers themselves."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive

from loadstone.constraints import KINDS

N_FEATURES = 6


def constraints() -> dict[str, Any]:
    """The examples of every constraint, with the words they have for themselves."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        for constraint in kind.examples(N_FEATURES):
            found.setdefault(constraint.describe(), constraint)
    return found


def solvers() -> list[Any]:
    """An instance of every solver that can be asked."""
    package = importlib.import_module("loadstone.solvers")
    found = {}
    for info in pkgutil.iter_modules(package.__path__, prefix="loadstone.solvers."):
        if info.name.endswith("_kernels"):
            continue
        module = importlib.import_module(info.name)
        for name, cls in inspect.getmembers(module, inspect.isclass):
            if (
                cls.__module__ == info.name
                and dataclasses.is_dataclass(cls)
                and hasattr(cls, "refuses")
            ):
                try:
                    found[name] = cls()
                except TypeError:
                    continue
    return [found[name] for name in sorted(found)]


class SolverTable(Directive):
    """The table, made when the page is built."""

    has_content: ClassVar[bool] = False

    def run(self) -> list[nodes.Node]:
        kinds = constraints()
        remarks: list[str] = []
        asked = solvers()
        rows = [["", *(type(solver).__name__ for solver in asked)]]
        for words, constraint in kinds.items():
            row = [words]
            for solver in asked:
                reason = solver.refuses(constraint)
                if reason is None:
                    row.append("yes")
                else:
                    if reason not in remarks:
                        remarks.append(reason)
                    row.append(f"no ({remarks.index(reason) + 1})")
            rows.append(row)
        listed = nodes.enumerated_list()
        for remark in remarks:
            listed += nodes.list_item("", nodes.paragraph(text=remark))
        return [_table(rows), *([listed] if remarks else [])]


def _table(rows: list[list[str]]) -> nodes.table:
    table = nodes.table()
    group = nodes.tgroup(cols=len(rows[0]))
    table += group
    for _ in rows[0]:
        group += nodes.colspec(colwidth=1)
    for kind, part in ((nodes.thead, rows[:1]), (nodes.tbody, rows[1:])):
        body = kind()
        for row in part:
            line = nodes.row()
            for cell in row:
                line += nodes.entry("", nodes.paragraph(text=cell))
            body += line
        group += body
    return table


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("solver-table", SolverTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
