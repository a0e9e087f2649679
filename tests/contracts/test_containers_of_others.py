"""Frames and arrays of other packages go in as they are, and come out as they should."""

import numpy as np
import pandas as pd
import pytest

from loadstone import ProbabilisticPCA, SparsePCA

X = np.random.default_rng(0).standard_normal((30, 5)) @ np.diag([3.0, 1, 2, 1, 1])
NAMES = list("abcde")


@pytest.fixture
def no_detour(monkeypatch):
    """Nobody may ask for a pandas frame on the way."""

    def refuse(*_, **__):
        raise AssertionError("a pandas frame was made")

    monkeypatch.setattr(pd.DataFrame, "__init__", refuse)


def test_arrow_tables_are_read_without_pandas(no_detour):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = pa.table({name: X[:, i] for i, name in enumerate(NAMES)})
    model = SparsePCA(2, n_nonzero=2).fit(table)
    np.testing.assert_array_equal(model.components_, SparsePCA(2, n_nonzero=2).fit(X).components_)
    assert list(model.feature_names_in_) == NAMES
    assert model.transform(table).shape == (30, 2)


def test_columns_one_after_another_change_no_bit():
    in_rows, in_columns = (SparsePCA(2, n_nonzero=2).fit(a) for a in (X, np.asfortranarray(X)))
    np.testing.assert_array_equal(in_columns.mean_, in_rows.mean_)
    np.testing.assert_array_equal(in_columns.components_, in_rows.components_)


def test_polars_frames_are_read_without_pandas(no_detour):
    pl = pytest.importorskip("polars", reason="polars is not installed: pip install polars")
    frame = pl.DataFrame({name: X[:, i] for i, name in enumerate(NAMES)})
    model = SparsePCA(2, n_nonzero=2).fit(frame)
    np.testing.assert_array_equal(model.components_, SparsePCA(2, n_nonzero=2).fit(X).components_)
    assert list(model.feature_names_in_) == NAMES
    assert model.set_output(transform="polars").transform(frame).shape == (30, 2)


@pytest.mark.parametrize("cls", [SparsePCA, ProbabilisticPCA])
def test_xarray_in_xarray_out(cls):
    xr = pytest.importorskip("xarray", reason="xarray is not installed: pip install xarray")
    data = xr.DataArray(X, dims=("day", "gauge"), coords={"day": np.arange(100, 130)})
    model = cls(2).fit(data)
    scores = model.transform(data)
    assert isinstance(scores, xr.DataArray)
    assert scores.dims == ("day", "component")
    np.testing.assert_array_equal(scores.values, model.transform(X))
    np.testing.assert_array_equal(scores["day"], data["day"])
    with pytest.raises(TypeError, match="holds several arrays; choose one"):
        cls(2).fit(xr.Dataset({"rain": data}))
