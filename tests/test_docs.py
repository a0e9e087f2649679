"""The documentation keeps up with the package."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.mark.parametrize("module", ["loadstone", "loadstone.plotting", "loadstone.datasets"])
def test_every_public_name_stands_on_the_api_page(module):
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   (loadstone\S+)$", page, flags=re.MULTILINE))
    package = importlib.import_module(module)
    for name in package.__all__:
        value = getattr(package, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert f"{module}.{name}" in listed
    for address in listed:
        holder, _, name = address.rpartition(".")
        assert hasattr(importlib.import_module(holder), name), address


def test_code_is_included_and_not_copied():
    for name in ("add_an_algorithm.md", "add_a_constraint.md"):
        text = (DOCS / name).read_text(encoding="utf-8")
        included = re.findall(r"\{literalinclude\} (\S+)", text)
        assert included
        for target in included:
            assert (DOCS / target).resolve().is_file()
        assert "```python" not in text


def test_every_page_is_in_a_table_of_contents():
    linked = "\n".join(
        p.read_text(encoding="utf-8") for p in (DOCS / "index.md", DOCS / "methods/index.md")
    )
    for page in DOCS.glob("*.md"):
        if page.stem != "index":
            assert re.search(rf"^{page.stem}$", linked, flags=re.MULTILINE), page.name


def test_the_table_of_solvers_is_made_by_asking_them(monkeypatch):
    pytest.importorskip("docutils", reason="the documentation tools are not installed")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    table = importlib.import_module("compatibility_table")
    answers = {
        type(s).__name__: [s.refuses(c) for c in table.constraints().values()]
        for s in table.solvers()
    }
    assert {"EM", "Thresholding", "TruncatedPower"} <= set(answers)
    assert any(reason for reasons in answers.values() for reason in reasons)


@pytest.mark.parametrize(
    "script", sorted((DOCS / "examples").glob("plot_*.py")), ids=lambda p: p.stem
)
def test_examples_compile_and_say_what_they_show(script):
    source = script.read_text(encoding="utf-8")
    code = compile(source, str(script), "exec")
    assert code.co_consts[0].strip().splitlines()[1].startswith("===")
