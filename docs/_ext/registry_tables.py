"""Lists and tables of the documentation, made from the registry, as Markdown.

``docs/conf.py`` writes them beside the pages that include them; the table of the README is
written by ``tools/make_readme.py``.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from compatibility_table import solver_table
from markdown_table import markdown_table

import loadstone
from loadstone.constraints import KINDS
from loadstone.registry import Entry, entries, methods

#: What functions, which name nothing of themselves, are for.
FUNCTIONS = {
    "to know how many features are needed": ("cardinality_path", "suggest_cardinality"),
    "to know which features are stable": ("stability_selection",),
    "a proof for a component, whoever found it": ("certify",),
}
#: Packages whose public names are listed in full, and what the API page calls them.
LISTED = {
    "loadstone.metrics": "Metrics",
    "loadstone.plotting": "Pictures",
    "loadstone.datasets": "Data sets",
}
#: What else is promised: packages that hold more than their public face.
REPORTS = (
    "loadstone.report.build_report",
    "loadstone.report.Report",
    "loadstone.anndata.sparse_pca",
)


def write_all(folder: Path) -> None:
    """Write every list and table; files that are up to date are left alone."""
    made = {
        "api": api_list(),
        "choose": choose_table("methods/"),
        "command_line": method_table(),
        "methods": estimator_table(),
        "solvers": solver_table(),
    }
    for name, text in made.items():
        path = folder / f"_made_{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def choose_table(pages: str = "") -> str:
    """What somebody wants, and the estimator or function to take; ``pages`` is their folder."""
    rows = [
        (wish, _link(entry, pages)) for entry in _front_door_first() for wish in entry.about.choose
    ]
    rows += [(wish, ", ".join(f"`{name}`" for name in names)) for wish, names in FUNCTIONS.items()]
    return markdown_table(("you want", "use"), rows)


def estimator_table() -> str:
    """Every estimator, what it does, and the paper; for the index of the methods."""
    rows = [
        (_link(entry, ""), entry.sentence, entry.about.paper or "this package")
        for entry in _front_door_first()
    ]
    return markdown_table(("estimator", "what it does", "from"), rows)


def method_table() -> str:
    """Names of methods on the command line."""
    rows = [
        (f"`{name}`", _link(entry, "methods/"), entry.sentence) for name, entry in methods().items()
    ]
    return markdown_table(("`--method`", "estimator", "what it does"), rows)


def api_list() -> str:
    """Sections of the API page, each a list that autosummary makes pages from."""
    names = [name for name in loadstone.__all__ if name in loadstone._HOMES]
    results = [name for name in names if inspect.isclass(getattr(loadstone, name))]
    functions = [name for name in names if name not in results]
    sections = {
        "Estimators": [f"loadstone.{entry.name}" for entry in entries()],
        "Functions": [f"loadstone.{name}" for name in functions],
        "Results": [f"loadstone.{name}" for name in results],
        "Reports": REPORTS,
        "Constraints": [f"loadstone.constraints.{kind.__name__}" for kind in KINDS],
        **{title: _public(package) for package, title in LISTED.items()},
    }
    return "\n".join(_section(title, addresses) for title, addresses in sections.items())


def _front_door_first() -> list[Entry]:
    return sorted(entries(), key=lambda entry: entry.about.method != "sparse")


def _link(entry: Entry, pages: str) -> str:
    page = entry.page.rpartition("/")[2]
    return f"[`{entry.name}`]({pages}{page}.md)"


def _public(package: str) -> list[str]:
    module = import_module(package)
    values = {name: getattr(module, name) for name in module.__all__}
    return [
        f"{package}.{name}"
        for name, value in values.items()
        if inspect.isclass(value) or inspect.isfunction(value)
    ]


def _section(title: str, addresses: Iterable[str]) -> str:
    listed = "".join(f"   {address}\n" for address in addresses)
    return (
        f"## {title}\n\n```{{eval-rst}}\n.. autosummary::\n   :toctree: generated\n"
        f"   :nosignatures:\n\n{listed}```\n"
    )
