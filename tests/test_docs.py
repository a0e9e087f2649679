"""The documentation keeps up with the package."""

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

import loadstone
import registry as found
from loadstone.constraints import KINDS
from loadstone.registry import entries, methods
from page_blocks import DOCS, PAGES, ROOT

#: Pages of ``methods/`` that are about more than one estimator.
OVERVIEWS = {"baselines", "index", "paths", "several_components", "variance"}


@pytest.fixture
def tables(monkeypatch):
    """What the documentation is made with."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    return importlib.import_module("registry_tables")


def listed(tables):
    return set(re.findall(r"^   (loadstone\S+)$", tables.api_list(), flags=re.MULTILINE))


def test_the_api_page_lists_what_the_package_exports(tables):
    public = set(loadstone.__all__) - {"__version__", *loadstone._PACKAGES}
    addresses = listed(tables)
    assert {a for a in addresses if a.count(".") == 1} == {f"loadstone.{name}" for name in public}
    for package in loadstone._PACKAGES:
        assert any(a.startswith(f"loadstone.{package}.") for a in addresses), package
    for address in addresses:
        holder, _, name = address.rpartition(".")
        assert hasattr(importlib.import_module(holder), name), address


@pytest.mark.parametrize(
    "module", ["loadstone.plotting", "loadstone.datasets", "loadstone.metrics"]
)
def test_the_api_page_lists_whole_packages(module, tables):
    package = importlib.import_module(module)
    for name in package.__all__:
        value = getattr(package, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert f"{module}.{name}" in listed(tables)


def test_every_kind_of_constraint_is_on_the_api_page(tables):
    assert {f"loadstone.constraints.{kind.__name__}" for kind in KINDS} <= listed(tables)


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_every_estimator_has_a_page_and_a_place_in_the_tables(entry, tables):
    page = DOCS / f"{entry.page}.md"
    assert page.is_file(), f"{entry.name} needs a page docs/{entry.page}.md"
    assert entry.name in page.read_text(encoding="utf-8")
    for wish in entry.about.choose:
        assert f"| {wish} | [`{entry.name}`]({entry.page}.md) |" in tables.choose_table("methods/")
    assert f"({page.name}) | {entry.sentence} |" in tables.estimator_table()


def test_every_page_of_methods_belongs_to_an_estimator():
    pages = {page.stem for page in DOCS.glob("methods/*.md")}
    assert pages == OVERVIEWS | {Path(entry.page).name for entry in entries()}


def test_methods_of_the_command_line_are_listed(tables):
    rows = re.findall(r"^\| `(\S+)` \| \[`(\w+)`\]", tables.method_table(), flags=re.MULTILINE)
    assert rows == [(name, entry.name) for name, entry in methods().items()]


def test_functions_of_the_table_exist(tables):
    named = {name for names in tables.FUNCTIONS.values() for name in names}
    assert named <= set(loadstone._HOMES)


def test_the_readme_is_up_to_date(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    monkeypatch.setattr(sys, "path", sys.path[:])
    make_readme = importlib.import_module("make_readme")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for entry in entries():
        assert f"[`{entry.name}`](docs/{entry.page}.md)" in text, "run python tools/make_readme.py"
    assert text == make_readme.readme(text), "run python tools/make_readme.py"


def test_pictures_of_the_readme_are_small_and_described():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", text)
    assert {path for _, path in pictures} == {"docs/images/report.png", "docs/images/path.png"}
    for words, path in pictures:
        assert len(words.split()) > 10
        assert (ROOT / path).stat().st_size < 150_000


def test_the_table_of_solvers_asks_every_solver_about_every_constraint(tables):
    text = importlib.import_module("compatibility_table").solver_table()
    head, _, *rows = [line.strip("| ").split(" | ") for line in text.split("\n\n")[0].splitlines()]
    cells = {row[0].strip("`"): dict(zip(head, row, strict=True)) for row in rows}
    assert list(cells) == [cls.__name__ for cls in found.solvers()]
    numbers = {reason: n for n, reason in re.findall(r"^(\d+)\. (.*)$", text, flags=re.MULTILINE)}
    # Asked here once more, without the table.
    for constraint in found.constraints(8):
        kind = type(constraint).__name__
        for cls in found.solvers():
            reason = cls().refuses(constraint)
            pattern = "yes|in part .*"
            if reason is not None:
                number = numbers[reason.replace(kind, "the constraint")]
                pattern = rf"(no|in part) \(.*\b{number}\b.*\)"
            assert re.fullmatch(pattern, cells[cls.__name__][f"`{kind}`"])


def test_code_is_included_and_not_copied():
    for name in ("add_an_algorithm.md", "add_a_constraint.md"):
        text = (DOCS / name).read_text(encoding="utf-8")
        included = re.findall(r"\{literalinclude\} (\S+)", text)
        assert included
        for target in included:
            assert (DOCS / target).resolve().is_file()
        assert "```python" not in text


def test_every_page_is_in_a_table_of_contents():
    linked = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("[!_]*.md"))
    tables = "".join(re.findall(r"^```{toctree}\n(.*?)^```$", linked, flags=re.M | re.S))
    listed = [line for line in tables.splitlines() if line and not line.startswith(":")]
    assert sorted(listed) == sorted(set(listed)), "a page stands in two tables of contents"
    for page in DOCS.glob("[!_]*.md"):
        if page.stem != "index":
            assert page.stem in listed, page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        # The gallery is made when the documentation is built.
        if "://" not in target and not target.startswith("gallery/"):
            assert (page.parent / target).exists(), target


def text_blocks(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(r"^```text\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_the_order_of_folders_is_the_one_that_is_checked():
    from test_architecture import LAYERS

    (order,) = (block for block in text_blocks("architecture.md") if "cli >" in block)
    assert re.findall(r"\w+", order) == LAYERS


def test_the_path_of_a_fit_is_the_one_it_takes():
    from sklearn.datasets import load_breast_cancer

    (block,) = (block for block in text_blocks("architecture.md") if "FitMixin.fit" in block)
    described = re.findall(r"^(\S+\.py) +(\S+)", block, flags=re.MULTILINE)
    assert len(described) == len(set(described)) == len(block.splitlines())
    root = Path(loadstone.__file__).parent
    called, seen = {}, set()

    def note(frame, event, _):
        code = frame.f_code
        if event != "call" or code in seen:
            return
        seen.add(code)
        path = Path(code.co_filename)
        if path.is_relative_to(root):
            key = (path.relative_to(root).as_posix(), code.co_qualname)
            called.setdefault(key, len(called))

    model = loadstone.SparsePCA(3, n_nonzero=10, certify="standard", standardize=True)
    X = load_breast_cancer().data
    watching = sys.getprofile()
    sys.setprofile(note)
    try:
        model.fit(X)
    finally:
        sys.setprofile(watching)
    assert [step for step in described if step not in called] == []
    order = [called[step] for step in described]
    assert order == sorted(order), "the steps are not in the order of their first calls"
