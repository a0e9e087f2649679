"""Frames and sparse matrices as people have them by accident: the same answer, or a sentence."""

import decimal
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from loadstone import SparsePCA, cardinality_path
from loadstone.covariance.checks import check_rows
from registry import small_data

X = small_data()
FRAME = pd.DataFrame(X, columns=[f"f{i}" for i in range(12)])


def spoiled(kind):
    """A sparse matrix one of whose indices leads out of it, which ended the process."""
    S = sparse.random_array((40, 6), density=0.5, rng=np.random.default_rng(0)).toarray()
    if kind.startswith("coo"):
        M = sparse.coo_array(S)
        rows, columns = (places.copy() for places in M.coords)
        (rows if kind == "coo row" else columns)[3] = -(10**8) if kind == "coo negative" else 10**8
        M.coords = (rows, columns)
    elif kind.startswith("bsr"):
        M = sparse.bsr_array(S, blocksize=(2, 2))
        (M.indptr if kind == "bsr pointer" else M.indices)[3] = 10**7
    else:
        M = sparse.lil_array(S)
        M.rows[3] = [10**8] if kind == "lil" else [1, 2]
        M.data[3] = [1.0]
    return M


@pytest.mark.parametrize(
    "kind",
    ["coo row", "coo column", "coo negative", "bsr index", "bsr pointer", "lil", "lil lengths"],
)
def test_sparse_matrices_of_every_format_that_lead_astray_are_refused(kind):
    with pytest.raises(ValueError, match=r"X is a broken sparse matrix: .*; build it again"):
        check_rows(spoiled(kind))


@pytest.mark.parametrize("kind", ["coo", "bsr", "lil", "dok", "dia"])
def test_sparse_matrices_of_every_format_are_rows(kind):
    S = sparse.random_array((40, 6), density=0.5, rng=np.random.default_rng(0)).toarray()
    np.testing.assert_array_equal(
        check_rows(getattr(sparse, f"{kind}_array")(S)).toarray(), S, strict=True
    )


@pytest.mark.parametrize("fill", [0.0, 1.0, np.nan])
@pytest.mark.parametrize("columns", [slice(None), slice(5)])
def test_sparse_columns_with_any_filling_are_their_values(fill, columns):
    values = FRAME.where(FRAME.abs() > 0.5, 0.0 if np.isnan(fill) else fill)
    frame = values.copy()
    for name in frame.columns[columns]:
        frame[name] = frame[name].astype(pd.SparseDtype(float, fill))
    before = frame.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = SparsePCA(1, n_nonzero=3, standardize=False).fit(frame)
    expected = SparsePCA(1, n_nonzero=3, standardize=False).fit(values)
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-10)
    pd.testing.assert_frame_equal(frame, before)


def other_frames():
    """Frames of others with a column that is no number; each package would make one of it."""
    polars = pytest.importorskip("polars", reason="its frames need polars")
    pa = pytest.importorskip("pyarrow", reason="its tables need pyarrow")
    frame = polars.DataFrame(FRAME.to_numpy(), schema=FRAME.columns.tolist())
    span = polars.col("f0").cast(polars.Int64).cast(polars.Duration)
    table = pa.table({name: FRAME[name].to_numpy() for name in FRAME})
    return {
        "span": frame.with_columns(span.alias("bad")),
        "list": frame.with_columns(polars.concat_list("f0", "f1").alias("bad")),
        "arrow span": table.append_column("bad", pa.array(np.arange(60).astype("m8[s]"))),
        "arrow list": table.append_column("bad", pa.array([[1.0]] * 60)),
        "arrow words": table.append_column("bad", pa.array(["a"] * 60).dictionary_encode()),
        "period": FRAME.assign(bad=pd.period_range("2020", periods=60, freq="D")),
        "interval": FRAME.assign(bad=pd.interval_range(0, 60)),
    }


@pytest.mark.parametrize(
    "kind", ["span", "list", "arrow span", "arrow list", "arrow words", "period", "interval"]
)
def test_columns_that_are_no_numbers_are_named(kind):
    with pytest.raises(ValueError, match=r"column\(s\) \['bad'\] hold no numbers; drop them"):
        check_rows(other_frames()[kind])


def test_names_that_stand_twice_are_told_whatever_they_are():
    pa = pytest.importorskip("pyarrow", reason="its tables need pyarrow")
    missing = FRAME.set_axis([np.nan] * 2 + list("abcdefghij"), axis=1)
    with pytest.raises(ValueError, match=r"1 column name\(s\) stand more than once: 'nan'; rename"):
        SparsePCA().fit(missing)
    table = pa.table([pa.array(column) for column in X.T], names=["a", "a", *"cdefghijkl"])
    with pytest.raises(ValueError, match=r"1 column name\(s\) stand more than once: 'a'; rename"):
        SparsePCA().fit(table)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (10**400, "beyond the range of float64; rescale X"),
        ([1.0], "give every cell one number"),
    ],
)
def test_cells_that_are_no_number_of_ours(value, words):
    frame = FRAME.astype(object)
    frame.iat[2, 2] = value
    for given in (frame, frame.to_numpy()):
        with pytest.raises(ValueError, match=words):
            cardinality_path(given)
    frame.iat[2, 2] = decimal.Decimal("0.5")
    assert check_rows(frame)[2, 2] == 0.5


def test_a_frame_without_columns_is_told():
    with pytest.raises(ValueError, match="give at least one of numbers"):
        SparsePCA().fit(FRAME[[]])


def test_three_dimensions_of_a_sparse_array_are_told():
    with pytest.raises(ValueError, match="make one row of each sample"):
        SparsePCA().fit(sparse.coo_array(X[None]))


def test_an_offset_that_hides_the_data_is_named():
    with pytest.raises(ValueError, match="take its offset away: beside numbers near 1e"):
        SparsePCA().fit(X + 1e15)
    with pytest.raises(ValueError, match=r"check that X holds the data you mean$"):
        SparsePCA().fit(np.full((9, 3), 7.3))
