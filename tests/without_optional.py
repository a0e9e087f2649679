"""A pytest plugin for environments without the optional packages (``nox -s minimal``).

A test that asks for one of them is skipped with a sentence. One that only calls code which
has to work without them still fails: an import of an optional package is excused in a test,
in scikit-learn and in the folders that an extra is for, and nowhere else.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

#: What the extras of ``pyproject.toml`` bring.
OPTIONAL = frozenset(
    {
        "anndata",
        "cvxpy",
        "dask",
        "distributed",
        "flint",
        "jinja2",
        "matplotlib",
        "mpmath",
        "pandas",
        "polars",
        "pyreadstat",
        "pyarrow",
        "rich",
        "selenium",
        "typer",
        "xarray",
        "yaml",
    }
)  # fmt: skip
#: The parts of the package that an extra is for.
BEHIND_AN_EXTRA = frozenset({"anndata.py", "cli.py", "commands", "files", "plotting", "report"})
_NAMED = re.compile(
    r"No module named '(\w+)|(?i:needs|requires|install) (\w+)|'(\w+)' is not installed"
)


def missing_package(sentence):
    """The optional package an error speaks of, if it does."""
    named = {name for found in _NAMED.findall(sentence) for name in found}
    return next(iter(sorted(named & OPTIONAL)), None)


def excused(files):
    """Whether the innermost file of this project among ``files`` may need an optional package."""
    for file in reversed([Path(f).parts for f in files]):
        if "loadstone" in file and "tests" not in file:
            inside = file[len(file) - file[::-1].index("loadstone") :]
            return inside[0] in BEHIND_AN_EXTRA
    return True


def _sentence(package):
    return f"needs {package}, which is optional: pip install {package}"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    if report.outcome == "failed":
        text = str(report.longrepr)
        package = missing_package(text)
        files = re.findall(r"^(\S+\.py):\d+: in ", text, flags=re.MULTILINE)
        if package and excused(files):
            report.outcome = "skipped"
            report.longrepr = (str(collector.path), 0, f"Skipped: {_sentence(package)}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, ImportError):
        package = missing_package(str(call.excinfo.value))
        # An error that says what to install is how the package is meant to answer.
        unexplained = isinstance(call.excinfo.value, ModuleNotFoundError)
        files = [str(entry.path) for entry in call.excinfo.traceback]
        if package and (not unexplained or excused(files)):
            report.outcome = "skipped"
            report.longrepr = (str(item.path), 0, f"Skipped: {_sentence(package)}")
    return report
