"""Type checkers see what is imported lazily, and what an estimator takes and has."""

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import loadstone

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src"


@pytest.fixture
def stub(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    monkeypatch.setattr(sys, "path", sys.path[:])
    return importlib.import_module("make_stub").stub()


def test_the_stub_is_up_to_date(stub):
    written = (SRC / "loadstone" / "__init__.pyi").read_text(encoding="utf-8")
    assert written == stub, "run python tools/make_stub.py"
    assert (SRC / "loadstone" / "py.typed").is_file()


def test_the_stub_names_everything_that_is_public(stub):
    for name in loadstone.__all__:
        assert re.search(rf"\b{name} as {name}\b|^{name}: ", stub, flags=re.MULTILINE), name
        assert f'    "{name}",\n' in stub


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed; it comes with loadstone[dev]")
    cache = tmp_path_factory.mktemp("mypy")

    def check(code):
        snippet = cache / "snippet.py"
        snippet.write_text(f"import numpy as np\nX = np.zeros((4, 3))\n{code}", encoding="utf-8")
        command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
        command += ["--config-file=", "--hide-error-context", "--no-error-summary"]
        command += [f"--cache-dir={cache / 'cache'}", str(snippet)]
        environment = {**os.environ, "MYPYPATH": str(SRC)}
        run = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=cache, check=False
        )
        assert not run.stderr.strip(), run.stderr
        return [line for line in run.stdout.splitlines() if ": error: " in line]

    return check


CORRECT = """
import loadstone
from loadstone import FeatureSelector, SparsePCA, cardinality_path

model = SparsePCA(2, n_nonzero=1, nonnegative=True).fit(X)
total: float = model.components_.sum() + model.total_variance_
scores = model.transform(X)
copied: SparsePCA = model.set_params(n_components=1).fit_covariance(np.eye(3))
kept = FeatureSelector(2).fit(X).support_
loadstone.report(model, X)
path = cardinality_path(X)
model.add_components(X).certificates_
"""


def test_correct_code_passes(mypy):
    assert mypy(CORRECT) == []


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("SparsePCA(n_componentz=3)", 'Unexpected keyword argument "n_componentz"'),
        ("SparsePCA('three')", "incompatible type"),
        ("SparsePCA(1, 2)", "Too many positional arguments"),
        ("SparsePCA().fit(X).no_such_attribute_", 'has no attribute "no_such_attribute_"'),
        ("FeatureSelector().components_", 'has no attribute "components_"'),
        ("loadstone.SparsPCA", 'has no attribute "SparsPCA"'),
    ],
)
def test_mistakes_are_found(mypy, line, error):
    code = f"import loadstone\nfrom loadstone import FeatureSelector, SparsePCA\n{line}\n"
    found = mypy(code)
    assert any(error in message for message in found), found
