"""The first thing a new user runs."""

import json
import subprocess
import sys

import pytest

import loadstone


def test_prints_named_loadings_beside_pca_and_saves_a_picture(run, tmp_path):
    result = run("demo")
    assert result.exit_code == 0, result.output
    for text in ("flavanoids", "PCA, all features", "loadstone-demo.png"):
        assert text in result.stdout
    assert (tmp_path / "loadstone-demo.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["loadstone-demo.png"]


def test_json_says_what_the_table_says(run):
    summary = json.loads(run("demo", "--json").stdout)
    assert len(summary["components"]) == 3
    for component in summary["components"]:
        loadings = [entry["loading"] for entry in component["loadings"]]
        assert len(loadings) == 4
        assert loadings == sorted(loadings, reverse=True)
        assert min(loadings) > 0
        assert sum(v * v for v in loadings) == pytest.approx(1)
    together = sum(c["explained_variance_ratio"] for c in summary["components"])
    plain = sum(c["pca_explained_variance_ratio"] for c in summary["components"])
    assert together < plain


def test_a_second_run_keeps_the_first_picture(run, tmp_path):
    (tmp_path / "loadstone-demo.png").write_text("mine")
    assert run("demo", "--quiet").exit_code == 0
    assert (tmp_path / "loadstone-demo.png").read_text() == "mine"
    assert (tmp_path / "loadstone-demo-2.png").exists()


def test_a_named_picture_is_not_overwritten_without_force(run, tmp_path):
    picture = tmp_path / "mine.png"
    picture.write_text("mine")
    refused = run("demo", "--output", picture)
    assert refused.exit_code == 6
    assert "--force" in refused.stderr
    assert "Traceback" not in refused.output
    assert picture.read_text() == "mine"
    assert run("demo", "--output", picture, "--force").exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_quiet_prints_nothing(run):
    result = run("demo", "--quiet")
    assert (result.exit_code, result.output) == (0, "")


SCRIPT = "from loadstone.cli import main; main()"
MODULE = "import runpy; runpy.run_module('loadstone', run_name='__main__', alter_sys=True)"


@pytest.mark.parametrize("start", [SCRIPT, MODULE])
@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_one_sentence_says_what_to_install(missing, start):
    code = f"import sys; sys.modules[{missing!r}] = None\n{start}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert (
        done.stderr.strip()
        == f"The loadstone command needs {missing}: pip install 'loadstone[cli]'"
    )


def test_the_package_as_a_module_is_the_command_line():
    command = [sys.executable, "-m", "loadstone"]
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"loadstone {loadstone.__version__}"
    done = subprocess.run(
        [*command, "fit", "none.csv"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "there is no file none.csv" in done.stderr


def test_a_full_disk_leaves_nothing(run, full_disk, nothing_left):
    result = run("demo")
    assert result.exit_code == 7
    assert "could not be written" in result.stderr
    assert nothing_left()


def test_an_interruption_leaves_nothing(run, interrupted, nothing_left):
    assert run("demo").exit_code == 130
    assert nothing_left()
