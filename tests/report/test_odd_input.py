"""What people hand to a summary beside a fitted model: taken, or refused in a sentence."""

import json

import numpy as np
import pandas as pd
import pytest

from loadstone import (
    SparsePCA,
    certify,
    cross_validated_recovery,
    stability_selection,
    summarise,
)

X = np.random.default_rng(0).standard_normal((30, 5)) * np.arange(1, 6)
MODEL = SparsePCA(2, n_nonzero=2).fit(X)


def test_weights_may_be_a_list():
    weights = np.arange(30) % 3 + 1.0
    model = SparsePCA(2, n_nonzero=2).fit(X, sample_weight=weights)
    expected = summarise(model, X, sample_weight=weights)
    assert summarise(model, X, sample_weight=weights.tolist()) == expected
    with pytest.raises(ValueError, match="sample_weight has the shape"):
        summarise(model, X, sample_weight=[1.0, 2.0])


@pytest.mark.parametrize("path", ["path.csv", 3, [1, 2], np.arange(3)])
def test_a_path_that_is_none_is_refused(path):
    with pytest.raises(TypeError, match=r"give what loadstone\.cardinality_path returns"):
        summarise(MODEL, X, path=path)


def test_a_single_remark_is_one():
    assert summarise(MODEL, notes="Said twice.")["notes"][0] == "Said twice."
    assert summarise(MODEL, notes=None)["notes"] == summarise(MODEL)["notes"]
    with pytest.raises(TypeError, match="give sentences"):
        summarise(MODEL, notes=3)


@pytest.mark.parametrize("value", [np.nan, 1e300])
@pytest.mark.parametrize("kind", ["array", "dask"])
def test_values_whose_covariance_nobody_knows_leave_it_out(kind, value):
    Y = X.copy()
    Y[3, 2] = value
    if kind == "dask":
        Y = pytest.importorskip("dask.array", reason="a Dask array needs Dask").from_array(
            Y, chunks=(10, -1)
        )
    if np.isnan(value):
        with pytest.raises(ValueError, match="contains NaN"):
            summarise(MODEL, Y)
    else:
        json.dumps(summarise(MODEL, Y), allow_nan=False)


def test_frames_of_dask_are_taken():
    dd = pytest.importorskip("dask.dataframe", reason="a frame of Dask needs it")
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = SparsePCA(2, n_nonzero=2).fit(frame)
    found = summarise(model, dd.from_pandas(frame, npartitions=3))
    json.dumps(found)
    assert found["components"] == summarise(model, frame)["components"]


def test_nothing_held_out_is_refused():
    with pytest.raises(ValueError, match="holds out nothing"):
        cross_validated_recovery(MODEL, X, cv=[])


@pytest.mark.parametrize("component", [[1j, 0, 0, 0, 0], ["a"] * 5])
def test_components_that_are_no_real_numbers_are_refused(component):
    with pytest.raises(ValueError, match="one real number for each feature"):
        certify(X, component=component)


def test_data_without_rows_is_refused_by_stability_selection():
    with pytest.raises(ValueError, match=r"Reshape|2D"):
        stability_selection(SparsePCA(), np.float64(3.0))
