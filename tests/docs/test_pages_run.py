"""Every block of code on every page runs, in the order in which a reader would run it."""

import contextlib
import doctest
import io
import shlex
import subprocess
import sys
import traceback

import pytest

from page_blocks import LANGUAGES, PAGES, ROOT, Block, blocks_of, same_output
from page_files import write_files

RUN = [page for page in PAGES if any(not block.not_run for block in blocks_of(page))]
#: Pages that are run elsewhere, with what they need.
ELSEWHERE = {"single_cell.md": "test_scanpy.py"}
#: What optional packages the files of a page need.
NEEDS = {"large_data.md": ("dask", "zarr"), "kept_covariance.md": ("dask", "pyarrow")}


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """Runs blocks one after another in one folder, with one set of names."""
    monkeypatch.chdir(tmp_path)
    # Shells of the pages know the programs of the environment they describe.
    names = {"__name__": "__main__"}
    return lambda page, block: RUNNERS[block.language](page, block, names)


def run_python(page, block, names):
    if block.code.startswith(">>>"):
        example = doctest.DocTestParser().get_doctest(block.code, names, page.name, None, 0)
        assert doctest.DocTestRunner().run(example, clear_globs=False).failed == 0
        names.update(example.globs)
        return ""
    printed = io.StringIO()
    # Line numbers of tracebacks are those of the page.
    source = "\n" * (block.line - 1) + block.code
    with contextlib.redirect_stdout(printed):
        exec(compile(source, str(page), "exec"), names)
    return printed.getvalue()


def run_shell(page, block, names):
    printed = ""
    for line in block.code.replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(line, comments=True) or [""]
        if program:
            printed += PROGRAMS[program](arguments)
    return printed


def call_loadstone(arguments):
    from typer.testing import CliRunner

    from loadstone.commands.app import app

    result = CliRunner().invoke(app, [part for a in arguments for part in spread(a)])
    told = "".join(traceback.format_exception(*result.exc_info)) if result.exc_info else ""
    assert result.exit_code == 0, f"{arguments}: {result.output}{told}"
    return result.output


def call_python(arguments):
    script = ROOT / arguments[0]
    assert script.is_file(), script
    done = subprocess.run(
        [sys.executable, script, *arguments[1:]], capture_output=True, text=True, check=True
    )
    return done.stdout


def spread(argument):
    """Patterns stand for the files they fit, as in a shell."""
    from pathlib import Path

    fitting = sorted(map(str, Path.cwd().glob(argument))) if "*" in argument else []
    return fitting or [argument]


RUNNERS = {"python": run_python, "sh": run_shell}
PROGRAMS = {"loadstone": call_loadstone, "python": call_python}


@pytest.mark.parametrize(
    "page", [page for page in RUN if page.name not in ELSEWHERE], ids=lambda page: page.name
)
def test_the_blocks_of_a_page_run_in_order(page, reader, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="pages draw pictures")
    for package in NEEDS.get(page.name, ()):
        pytest.importorskip(package, reason=f"the files of {page.name} need {package}")
    write_files(page.name, tmp_path)
    for block in blocks_of(page):
        if not block.not_run:
            printed = reader(page, block)
            assert block.output is None or same_output(printed, block.output), printed
    pyplot.close("all")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_block_that_is_not_run_says_why(page):
    for block in blocks_of(page):
        if block.not_run is not None:
            assert len(block.not_run.split()) >= 3, block.not_run


def test_pages_that_are_run_elsewhere_are():
    for page, test in ELSEWHERE.items():
        assert page in (ROOT / "tests" / test).read_text(encoding="utf-8")


def test_the_reader_knows_every_language_that_is_run():
    assert set(RUNNERS) == set(LANGUAGES)


def test_blocks_are_found_with_their_marks_and_output(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nprint(1.0001)\n```\n\n<!-- output -->\n```text\n1.0\n```\n"
        "<!-- not run: needs a cluster -->\n```sh\nrun it\n```\n```text\nno code\n```\n"
        "<!-- test -->\n```sh\npytest\n```\n"
    )
    first, second, third = blocks_of(page)
    assert first == Block(
        language="python", code="print(1.0001)\n", line=2, not_run=None, output="1.0\n"
    )
    assert (second.code, second.not_run) == ("run it\n", "needs a cluster")
    assert third.not_run == "run by .ci/run, as printed"


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        ("a 1.0001", "a  1.0\n", True),
        ("a 1.01", "a 1.0", False),
        ("a 1.0", "b 1.0", False),
        ("a 1.0", "a 1.0 2.0", False),
        ("gap 0", "gap 0", True),
        ("a 1.0 b c", "a 1.0 ...", True),
        ("a 2.0 b c", "a 1.0 ...", False),
        ("gap 1e-9", "gap 2e-9", False),
    ],
)
def test_outputs_agree_in_words_and_nearly_in_numbers(printed, shown, same):
    assert same_output(printed, shown) is same
