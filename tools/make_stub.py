"""Write ``src/loadstone/__init__.pyi``: what is imported lazily, told to type checkers.

::

    python tools/make_stub.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import loadstone  # noqa: E402
from loadstone.registry import entries  # noqa: E402

STUB = ROOT / "src" / "loadstone" / "__init__.pyi"
#: Packages that can be called, and the class that lets them.
CALLABLE = {"report": "_CallableModule"}
#: Longest line that the formatter leaves alone.
WIDTH = 100
HEAD = """\
# Made by tools/make_stub.py; changes made here by hand are lost.
# ruff: noqa: RUF022
"""


def stub() -> str:
    """The stub as the registry and the table of lazy names say it."""
    homes = {entry.name: entry.module for entry in entries()} | loadstone._HOMES
    homes |= {name: "loadstone" for name in loadstone._PACKAGES if name not in CALLABLE}
    homes["__version__"] = "loadstone._version"
    imports = [(home, f"{name} as {name}") for name, home in homes.items()]
    imports += [(f"loadstone.{name}", cls) for name, cls in CALLABLE.items()]
    lines = [_import(home, what) for home, what in sorted(imports)]
    packages = [f"{name}: {cls}\n" for name, cls in CALLABLE.items()]
    listed = [f'    "{name}",\n' for name in loadstone.__all__]
    return "".join([HEAD, "\n", *lines, "\n", *packages, "\n__all__ = [\n", *listed, "]\n"])


def _import(home: str, what: str) -> str:
    line = f"from {home} import {what}\n"
    return line if len(line) <= WIDTH + 1 else f"from {home} import (\n    {what},\n)\n"


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
