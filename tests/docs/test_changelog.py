"""What changed since the last release is told, with the way back."""

import inspect
import json
import re
from pathlib import Path

import pytest

import loadstone
from page_blocks import ROOT

#: Defaults as 0.1 had them, by name of estimator or function, as text.
BEFORE = json.loads(Path(__file__).with_name("defaults_of_0_1.json").read_text(encoding="utf-8"))
SECTION = re.compile(r"^## Coming from 0\.1 .*?(?=^## |^<!-- )", flags=re.MULTILINE | re.DOTALL)
#: Said of all estimators in one row.
OF_ALL = "standardize"


def section():
    """The part of the changelog for users of 0.1."""
    return SECTION.search((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))[0]


def rows():
    """The cells of its table."""
    lines = [line for line in section().splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def changed():
    """Every default that is another one now."""
    for name, defaults in BEFORE.items():
        now = inspect.signature(getattr(loadstone, name)).parameters
        for parameter, default in defaults.items():
            if parameter not in now or repr(now[parameter].default) != default:
                yield name, parameter


@pytest.mark.parametrize(("name", "parameter"), list(changed()))
def test_every_default_that_changed_is_in_the_changelog(name, parameter):
    told = [" ".join(row) for row in rows() if name in " ".join(row) or parameter == OF_ALL]
    assert any(parameter in text for text in told), f"{name}({parameter}=...)"


def ways_back():
    """The calls in the last column that an estimator can be made of without data."""
    calls = (re.search(r"`(.+?)`", row[2]) for row in rows() if len(row) == 3)
    return [call[1] for call in calls if call and "adata" not in call[1]]


def test_the_table_is_read():
    assert len(ways_back()) >= 10


@pytest.mark.parametrize("call", ways_back())
def test_every_way_back_is_a_call_that_is_taken(call):
    estimator = eval(
        call, {**{name: getattr(loadstone, name) for name in BEFORE}, "p": 0.5, "a": 1.0}
    )
    estimator._validate_params()


@pytest.mark.parametrize("name", ["SparsePCA", "ExactSparsePCA", "GreedyPCA", "SparsePCACV"])
def test_ways_back_restore_the_defaults_of_the_last_release(name):
    calls = [c for c in ways_back() if c.startswith(f"{name}(") and "projection" in c]
    estimator = eval(calls[0], {name: getattr(loadstone, name)})
    differs = [p for n, p in changed() if n == name and p not in (OF_ALL, "n_nonzero")]
    assert "deflation" in differs
    for parameter in differs:
        assert repr(getattr(estimator, parameter)) == BEFORE[name][parameter]
