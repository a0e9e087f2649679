"""The page of scale is what its script prints, and the model agrees with what was measured."""

import importlib.util
import json
from pathlib import Path

import dask.array as da
import numpy as np
import pytest

from loadstone.covariance import cost, covariance_of, dask_rows
from loadstone.covariance.containers import rows_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("make_scale", ROOT / "tools" / "make_scale.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_script_prints(tool):
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    assert page == tool.page(), "run python tools/make_scale.py"


def test_what_was_measured_stays_below_the_model(tool):
    measured = json.loads((ROOT / "benchmarks" / "scale.json").read_text(encoding="utf-8"))
    assert set(measured) == {"tall", "both", "wide"}
    for name, found in measured.items():
        expected = tool.expected(name, found)
        assert found["lost"] == 0
        assert found["passes"] <= (2 if name == "both" else expected.passes)
        share = 1 if name != "both" else 1 / expected.passes
        assert found["moved"] <= 1.1 * share * expected.moved
        assert found["worker_growth"] <= 3 * expected.worker
        assert found["worker_peak"] < 1e9
        assert found["client_peak"] < 1e9


def test_too_many_samples_of_too_many_features_are_refused_with_the_numbers(monkeypatch):
    X = da.zeros((10_000, 10_000_000), chunks=(10_000, 3000), dtype=np.float32)
    monkeypatch.setattr(cost, "memory_limit", lambda: 16 << 30)
    with pytest.raises(MemoryError, match=r"10000 samples of 10000000 features .* 6\.48 GiB"):
        covariance_of(X)


def test_what_fits_is_not_refused(monkeypatch):
    rows = rows_of(da.zeros((10_000, 20_000), chunks=(1000, 20_000), dtype=np.float32))
    cost.refuse_beyond_memory(rows)
    monkeypatch.setattr(dask_rows.DaskRows, "largest_result", 1e6)
    with pytest.raises(MemoryError, match="Select features"):
        cost.refuse_beyond_memory(rows)
    cost.refuse_beyond_memory(rows_of(np.zeros((3, 10))))
