"""``public-names``: a summary of everything a module promises, read off its ``__all__``."""

from __future__ import annotations

import importlib
import inspect
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

KINDS = {
    "estimators": lambda value: inspect.isclass(value) and hasattr(value, "fit"),
    "classes": lambda value: inspect.isclass(value) and not hasattr(value, "fit"),
    "functions": inspect.isfunction,
}


class PublicNames(Directive):
    """Write an autosummary of one kind of public names."""

    required_arguments: ClassVar[int] = 2
    has_content: ClassVar[bool] = False

    def run(self) -> list[nodes.Node]:
        module, kind = self.arguments
        package = importlib.import_module(module)
        names = [
            f"{module}.{name}"
            for name in sorted(package.__all__)
            if KINDS[kind](getattr(package, name))
        ]
        lines = [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        content = StringList([*lines, *(f"   {name}" for name in names)], source="public-names")
        holder = nodes.container()
        self.state.nested_parse(content, self.content_offset, holder)
        return holder.children


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("public-names", PublicNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
