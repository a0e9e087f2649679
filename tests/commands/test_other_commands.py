"""datasets, path, help and version."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from loadstone._version import __version__
from loadstone.datasets.catalogue import SOURCES

COMMANDS = ["fit", "covariance", "transform", "certify", "path", "report", "datasets", "demo"]


def test_help_names_every_command_and_the_exit_codes(run):
    result = run("--help")
    assert result.exit_code == 0
    for command in COMMANDS:
        assert f" {command} " in result.stdout
    assert "Exit codes" in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, run):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout
    assert "<bool>" not in result.stdout
    # Switches take no value; ``--help`` is Typer's own.
    told = [line for line in result.stdout.splitlines() if "bool" in line]
    assert all("--help" in line for line in told)


def test_version(run):
    assert run("--version").stdout == f"loadstone {__version__}\n"


def test_an_unknown_command_is_a_usage_error(run):
    assert run("fitt").exit_code == 2


def test_datasets_list_and_show(run, monkeypatch, tmp_path):
    monkeypatch.delenv("LOADSTONE_DATA", raising=False)
    monkeypatch.setenv("LOADSTONE_CACHE", str(tmp_path))
    assert "leukemia" in run("datasets", "list").stdout
    listed = json.loads(run("datasets", "list", "--json").stdout)["datasets"]
    assert [entry["name"] for entry in listed] == [source.name for source in SOURCES]
    shown = run("datasets", "show", "glass").stdout
    assert "German & Spiehler" in shown
    assert "537f7612" in shown
    bad = run("datasets", "show", "iris")
    assert bad.exit_code == 3
    assert "there are cbcl_faces" in bad.stderr
    assert run("datasets", "list", "--quiet").output == ""


def test_path_writes_a_table_and_a_picture(run, wine_csv, tmp_path):
    result = run("path", wine_csv, "--standardize")
    assert result.exit_code == 0, result.output
    assert "Suggested size: " in result.stdout
    folder = tmp_path / "wine-path"
    table = pd.read_csv(folder / "path.csv")
    assert table["n_nonzero"].tolist() == list(range(1, 14))
    assert table["variance"].is_monotonic_increasing
    assert (folder / "path.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(file.name for file in folder.iterdir()) == ["path.csv", "path.png"]
    assert run("path", wine_csv).exit_code == 6
    answer = json.loads(run("path", wine_csv, "--json", "--force").stdout)
    assert 1 <= answer["suggested"] <= 13
    recovery = json.loads(
        run("path", wine_csv, "--json", "--force", "--objective", "recovery").stdout
    )
    assert (answer["objective"], recovery["objective"]) == ("variance", "recovery")
    assert recovery["recovered"][1] > answer["recovered"][1]
    assert run("path", wine_csv, "--force", "--objective", "magic").exit_code == 2
    refused = run("path", wine_csv, "-o", "path.csv")
    assert refused.exit_code == 2
    assert "give it no ending" in " ".join(refused.stderr.split())


def test_fit_with_a_path_puts_a_slider_into_the_report(run, wine_csv, tmp_path):
    assert run("fit", wine_csv, "--path", "-o", "out", "--standardize", "-q").exit_code == 0
    page = (tmp_path / "out/report.html").read_text()
    # The slider itself is made from this by the page, and tried in a browser.
    assert re.search(r'"n_nonzeros": ?\[1, ?2, ?3', page)


@pytest.mark.parametrize("of_rows", [True, False])
def test_a_path_that_nobody_would_see_is_refused(of_rows, run, wine_csv, tmp_path):
    if not of_rows:
        run("covariance", wine_csv, "-o", "wine.npz")
    arguments = ("fit", wine_csv if of_rows else "wine.npz", "--path", "--no-report", "-o", "out")
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert "leave out --no-report, add --json, or run loadstone path" in refused.stderr
    assert not (tmp_path / "out").exists()
    assert json.loads(run(*arguments, "--json", "-c", 1).stdout)["path"]["values"]


@pytest.mark.parametrize("effort", ["instant", "full"])
def test_fit_certifies_the_path_too(effort, run, wine_csv):
    arguments = ("--path", "--standardize", "--json", "-c", 1, "--no-report", "--force")
    plain = json.loads(run("fit", wine_csv, *arguments).stdout)["path"]
    proven = json.loads(run("fit", wine_csv, *arguments, "--certify", effort).stdout)["path"]
    assert plain["upper_bounds"] is None
    assert len(proven["upper_bounds"]) == len(proven["values"])
    for bound, value in zip(proven["upper_bounds"], proven["values"], strict=True):
        assert bound >= value * (1 - 1e-9)


def test_positive_loadings_do_not_make_a_signed_model_one_of_sums(run, wine_csv):
    alone = json.loads(run("path", wine_csv, "--standardize", "--json").stdout)
    arguments = ("--standardize", "-c", 1, "-k", 4, "--certify", "instant", "--path", "--json")
    fitted = json.loads(run("fit", wine_csv, *arguments, "-o", "out").stdout)
    assert all(entry["loading"] > 0 for entry in fitted["components"][0]["loadings"])
    np.testing.assert_allclose(fitted["path"]["values"], alone["values"], rtol=1e-9)
    again = json.loads(run("report", "out/model.npz", wine_csv, "--path", "--json").stdout)
    np.testing.assert_allclose(again["path"]["values"], alone["values"], rtol=1e-9)
    # What all features reach lies below what is proven of them.
    assert fitted["path"]["upper_bounds"][-1] >= alone["values"][-1]
    added = json.loads(run("fit", wine_csv, *arguments, "-o", "sums", "--nonnegative").stdout)
    assert added["path"]["values"][-1] < 0.9 * alone["values"][-1]


def test_a_joint_model_is_certified_among_what_its_method_may_choose(run, wine_csv):
    arguments = ("--standardize", "-c", 2, "-k", 4, "--no-report", "--method", "elastic-net")
    assert run("fit", wine_csv, *arguments, "-o", "out").exit_code == 0
    result = run("certify", "out/model.npz", wine_csv)
    assert "components of 4 features" in result.stdout
    assert "non-negative" not in result.stdout


def test_path_refuses_what_it_should(run, wine_csv, tmp_path):
    assert run("path", "nothing.csv").exit_code == 3
    (tmp_path / "bad.csv").write_text("a,b\nx,y\n")
    assert run("path", "bad.csv").exit_code == 4
    for name in ("path.png", "notes.txt"):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / name).write_text("mine")
        assert run("path", wine_csv, "-o", "out").exit_code == 6
        assert (tmp_path / "out" / name).read_text() == "mine"
        shutil.rmtree(tmp_path / "out")


def test_path_on_a_full_disk_leaves_nothing(run, wine_csv, full_disk, nothing_left):
    assert run("path", wine_csv).exit_code == 7
    assert nothing_left()


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (OSError(28, "full"), 7)])
def test_a_path_whose_picture_fails_leaves_no_table_either(
    error, code, run, wine_csv, monkeypatch, nothing_left
):
    def fail(*_):
        raise error

    monkeypatch.setattr("loadstone.commands.path._draw", fail)
    assert run("path", wine_csv).exit_code == code
    assert nothing_left()


def test_an_interrupted_listing_is_an_interruption(run, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("loadstone.commands.datasets.find", stop)
    assert run("datasets", "list").exit_code == 130
    assert run("datasets", "show", "glass").exit_code == 130


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which Linux has")
@pytest.mark.parametrize("words", [["--help"], ["datasets"]])
def test_a_full_disk_behind_stdout_is_one_sentence(words):
    command = [sys.executable, "-m", "loadstone.cli", *words]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=-1, text=True, check=False)
    assert ended.returncode == 7
    assert " ".join(ended.stderr.split()).startswith("error: what the command prints could not")
    assert "Traceback" not in ended.stderr
    assert "Errno" not in ended.stderr
