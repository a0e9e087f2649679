"""What names of strangers do to a terminal, and a terminal that is not there to the results."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from loadstone import SparsePCA, read_table, report
from loadstone.commands.screen import Screen, visible

#: Clears the screen, renames the window, turns the writing round, rings, and half a character.
HOSTILE = "\x1b[2J\x1b]0;mine\x07 \u202egnp \x9b31m \udcff"


@pytest.fixture
def shell(tmp_path):
    """A real shell, with streams as it leaves them to the command."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    rows = "\n".join(",".join([str(i % 2), f"word{i % 2}", *map(str, x)]) for i, x in enumerate(X))
    (tmp_path / "a.csv").write_text(f"n,left out,{HOSTILE[:4]}x,y,z\n{rows}\n")

    def call(words, **environment):
        command = f'"{sys.executable}" -m loadstone.cli {words}'
        return subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            capture_output=True,
            env=os.environ | environment,
            check=False,
        )

    return call


def test_what_steers_a_terminal_is_written_out():
    assert visible(HOSTILE) == r"\x1b[2J\x1b]0;mine\x07 \u202egnp \x9b31m \udcff"
    assert visible("Länge\t[cm]\n日本 👩‍🔬") == "Länge\t[cm]\n日本 👩‍🔬"


def test_nothing_printed_steers_a_terminal():
    from rich.table import Table

    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(HOSTILE)
    file = io.StringIO()
    screen = Screen(file)
    screen.print(table)
    screen.print(f"{HOSTILE} :heart:", soft_wrap=True)
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\udcff"} & set(file.getvalue())
    assert ":heart:" in file.getvalue()


def test_names_and_files_are_written_out(run, tmp_path):
    file = tmp_path / f"{HOSTILE[:4]}.csv"
    file.write_text("a,\x1b[31mb,c\n1,2,1\n2,1,5\n3,5,4\n4,4,4\n5,1,2\n")
    result = run("fit", file.name, "-k", "all", "-o", "out")
    assert result.exit_code == 0
    assert "\x1b" not in result.output
    assert r"\x1b[31mb" in result.output
    assert "\x1b" not in run("fit", file.name, "--drop", "\x1b[2J", "-o", "two").output
    assert "\x1b" not in run("fit", "\x1b[2J.csv").output


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("fit a.csv -o out >&-", 0),
        ("fit a.csv -o out <&- >&- 2>&-", 0),
        ("fit a.csv -o out 2> >(true)", 0),
        ("fit a.csv -o out 2> /dev/full", 0),
        ("fit a.csv -o out > /dev/full 2> /dev/full", 7),
        ("fit none.csv <&- >&- 2>&-", 3),
        ("fit none.csv 2> /dev/full", 3),
        ("fit none.csv 2> >(true)", 3),
    ],
)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")  # noqa: PTH110
def test_streams_that_take_nothing_change_neither_results_nor_exit_code(
    words, code, shell, tmp_path
):
    done = shell(words)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr
    assert (tmp_path / "out" / "model.npz").exists() == ("out" in words)


def test_letters_that_stdout_does_not_know_are_written_out(shell, tmp_path):
    (tmp_path / "a.csv").rename(tmp_path / "größe.csv")
    done = shell("fit größe.csv", PYTHONIOENCODING="ascii:strict")
    assert done.returncode == 0
    assert rb"gr\xf6\xdfe-loadstone/model.npz" in done.stdout


@pytest.mark.parametrize("columns", ["0", "99999999999"])
def test_widths_that_nobody_has_are_not_believed(columns, shell):
    done = shell("datasets list", COLUMNS=columns)
    assert done.returncode == 0
    assert b"associated_press" in done.stdout


def test_file_names_need_not_be_letters(shell, tmp_path):
    try:
        (tmp_path / "a.csv").rename(tmp_path / "b\udcff.csv")
    except OSError:
        pytest.skip("this file system has names of letters only")
    done = shell("fit b*.csv -o out")
    assert done.returncode == 0, done.stderr
    assert b"</html>" in (tmp_path / "out" / "report.html").read_bytes()


def test_halves_of_characters_in_json_are_written_out(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(12, 2))
    rows = [{"s\udfff": f"n\ud800{i}", "a\ud800": x, "b": y} for i, (x, y) in enumerate(X)]
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    assert read_table(tmp_path / "t.jsonl").feature_names.tolist() == [r"a\ud800", "b"]
    assert run("fit", "t.jsonl", "-o", "out").exit_code == 0
    result = run("transform", "out/model.npz", "t.jsonl")
    assert result.exit_code == 0
    assert r"n\ud80011" in (tmp_path / "scores.csv").read_text()


def test_a_title_of_halves_of_characters_is_saved(tmp_path):
    model = SparsePCA(1, n_nonzero=2).fit(np.random.default_rng(0).normal(size=(9, 4)))
    page = report(model, title="b\udcff").save(tmp_path / "page.html")
    assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")


def test_interrupted_while_the_command_is_imported(monkeypatch):
    from loadstone import cli

    class Interrupted:
        def find_spec(self, name, *_):
            if name == "loadstone.commands.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "loadstone.commands.app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
