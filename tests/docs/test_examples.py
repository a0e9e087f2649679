"""The examples of the gallery run without any data of their own, and draw something everywhere."""

import runpy
import urllib.request

import matplotlib as mpl
import pytest

from page_blocks import DOCS

SCRIPTS = sorted((DOCS / "examples").glob("plot_*.py"))


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """A machine without the papers' data and without a network."""

    def no_network(*_, **__):
        msg = "no network"
        raise OSError(msg)

    monkeypatch.delenv("LOADSTONE_DATA", raising=False)
    monkeypatch.setenv("LOADSTONE_CACHE", str(tmp_path))
    monkeypatch.setattr(urllib.request, "urlopen", no_network)
    mpl.use("agg")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_runs_and_leaves_no_axes_empty(script, alone, monkeypatch):
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    runpy.run_path(str(script))
    figures = [plt.figure(number) for number in plt.get_fignums()]
    assert figures
    assert all(ax.has_data() for figure in figures for ax in figure.axes)
    plt.close("all")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_says_what_it_shows_and_what_takes_the_place_of_missing_data(script):
    source = script.read_text(encoding="utf-8")
    code = compile(source, str(script), "exec")
    about = code.co_consts[0].strip()
    assert about.splitlines()[1].startswith("===")
    if "fetch_" in source:
        assert "except OSError" in source
        assert "place" in about or "Without" in about
