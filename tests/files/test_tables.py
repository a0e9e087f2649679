"""The same numbers come out of every kind of file, and odd files are explained."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest
from scipy import io as scipy_io
from scipy import sparse

from loadstone.files.errors import ColumnError, MissingFileError, OptionError, TableError
from loadstone.files.tables import read_table
from workbook_writer import write_xlsx

X = np.array([[1.5, 2.0, -3.0], [4.0, 5.25, 6.0], [7.0, 8.0, 9.5], [1.0, 0.0, 2.0]])
NAMES = ["height", "width", "depth"]
ROWS = ["r1", "r2", "r3", "r4"]
KINDS = ["a", "b", "a", "b"]


def text(path, content):
    path.write_text(content)
    return path


def csv_file(path, sep=",", **options):
    frame = pd.DataFrame(X, columns=NAMES, index=pd.Index(ROWS, name="id"))
    frame.insert(1, "kind", KINDS)
    frame.to_csv(path, sep=sep, **options)
    return path


def h5ad_file(path):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    # anndata does not write the Arrow strings of pandas 3 yet.
    kinds = pd.Categorical.from_codes([0, 1, 0, 1], pd.Index(["a", "b"], dtype=object))
    adata = anndata.AnnData(
        sparse.csr_matrix(X),
        obs=pd.DataFrame({"kind": kinds}, index=pd.Index(ROWS, dtype=object)),
        var=pd.DataFrame(index=pd.Index(NAMES, dtype=object)),
    )
    adata.layers["double"] = 2 * adata.X
    adata.write_h5ad(path)
    return path


def npz_file(path):
    np.savez(path, X=X, feature_names=np.array(NAMES), names=np.array(ROWS), y=np.array([0, 1, 0, 1]),
             target_names=np.array(["a", "b"]))  # fmt: skip
    return path


def parquet_file(path):
    frame = pd.DataFrame(X, columns=NAMES, index=ROWS)
    frame["kind"] = KINDS
    frame.to_parquet(path)
    return path


WRITERS = {
    "t.csv": csv_file,
    "t.csv.gz": csv_file,
    "semicolon.csv": lambda path: csv_file(path, sep=";", decimal=","),
    "t.tsv": lambda path: csv_file(path, sep="\t"),
    "pipe.txt": lambda path: csv_file(path, sep="|"),
    "t.parquet": parquet_file,
    "t.npz": npz_file,
    "t.h5ad": h5ad_file,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_file_gives_the_same_table(name, tmp_path):
    path = tmp_path / name
    WRITERS[name](path)
    table = read_table(path)
    dense = table.X.toarray() if sparse.issparse(table.X) else table.X
    np.testing.assert_allclose(dense, X)
    assert list(table.feature_names) == NAMES
    assert list(table.sample_names) == ROWS
    assert list(table.labels) == KINDS
    assert any("used as labels" in note for note in table.notes)


def named_in_first_column(path, kind):
    frame = pd.DataFrame(X, columns=NAMES)
    frame.insert(0, "plot", pd.to_datetime([f"2024-0{i}-01" for i in range(1, len(X) + 1)]))
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path, index=False)
    elif kind == "indexed.parquet":
        frame.set_index("plot").to_parquet(path)
    elif kind == "feather":
        frame.to_feather(path)
    elif kind == "dta":
        frame.to_stata(path, write_index=False)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True, date_format="iso")
    else:
        days = [stamp.date() for stamp in frame["plot"]]
        rows = [[day, *row] for day, row in zip(days, X.tolist(), strict=True)]
        write_xlsx(path, {"data": [list(frame.columns), *rows]})


@pytest.mark.parametrize(
    "kind", ["csv", "parquet", "indexed.parquet", "feather", "dta", "jsonl", "xlsx"]
)
def test_the_first_column_names_the_rows_in_every_kind_of_file(kind, tmp_path):
    path = tmp_path / f"t.{kind}"
    named_in_first_column(path, kind)
    days = [f"2024-0{i}-01" for i in range(1, len(X) + 1)]
    for index in (None, "plot"):
        table = read_table(path, index=index)
        assert list(table.sample_names) == days
        np.testing.assert_allclose(table.X, X)
    assert list(read_table(path, transpose=True).feature_names) == days
    as_labels = read_table(path, labels="plot")
    assert as_labels.sample_names is None
    assert [label[:10] for label in as_labels.labels] == days
    if kind != "indexed.parquet":
        assert read_table(path, index="none").sample_names is None
    for drop in ("plot", f"plot,{NAMES[0]}", ["plot", NAMES[0]]):
        table = read_table(path, drop=drop)
        assert table.sample_names is None
        assert list(table.feature_names) == NAMES[drop != "plot" :]


@pytest.mark.parametrize("name", ["t.npy", "plain.npz", "sparse.npz", "t.mtx", "t.mtx.gz"])
def test_bare_matrices_are_read(name, tmp_path):
    path = tmp_path / name
    if name == "t.npy":
        np.save(path, X.astype(np.float32))
    elif name == "plain.npz":
        np.savez(path, anything=X)
    elif name == "sparse.npz":
        sparse.save_npz(path, sparse.csc_array(X))
    else:
        buffer = io.BytesIO()
        scipy_io.mmwrite(buffer, sparse.coo_array(X))
        path.write_bytes(
            gzip.compress(buffer.getvalue()) if name.endswith("gz") else buffer.getvalue()
        )
    table = read_table(path)
    dense = table.X.toarray() if sparse.issparse(table.X) else table.X
    np.testing.assert_allclose(dense, X)
    assert table.feature_names is None
    assert table.X.dtype == (np.float32 if name == "t.npy" else np.float64)


def test_a_10x_folder_is_turned_round(tmp_path):
    scipy_io.mmwrite(tmp_path / "matrix.mtx", sparse.coo_array(X.T))
    text(tmp_path / "genes.tsv", "E1\tA\nE2\tB\nE3\tA\n")
    text(tmp_path / "barcodes.tsv", "AA\nCC\nGG\nTT\n")
    table = read_table(tmp_path / "matrix.mtx")
    np.testing.assert_allclose(table.X.toarray(), X)
    assert list(table.feature_names) == ["A", "B", "A-2"]
    assert list(table.sample_names) == ["AA", "CC", "GG", "TT"]
    assert any("turned round" in note for note in table.notes)
    assert any("repeated" in note for note in table.notes)


@pytest.mark.parametrize(
    ("content", "names", "rows"),
    [
        ("1,2\n3,4\n5,6\n", None, None),
        ("a,b\n1,2\n3,4\n", ["a", "b"], None),
        (",a,b\n5,1,2\n9,3,4\n", ["a", "b"], ["5", "9"]),
        (",2001,2002\nx,1,2\ny,3,4\n", ["2001", "2002"], ["x", "y"]),
        ("id,a,b\n1,1,2\n2,3,4\n", ["a", "b"], ["1", "2"]),
        ("a,b\nx,1,2\ny,3,4\n", ["a", "b"], ["x", "y"]),
        ("\ufeffa,b\n1,2\n3,4\n", ["a", "b"], None),
        ('"a, b","c"\n1,2\n3,4\n', ["a, b", "c"], None),
        ("dose,b\n1,2\n2,3\n3,1\n", ["dose", "b"], None),
        ("a,b\r\n1,2\r\n3,4\r\n", ["a", "b"], None),
    ],
)
def test_header_and_index_are_found(content, names, rows, tmp_path):
    table = read_table(text(tmp_path / "t.csv", content))
    assert (None if table.feature_names is None else list(table.feature_names)) == names
    assert (None if table.sample_names is None else list(table.sample_names)) == rows
    assert table.X.shape[1] == 2


def test_missing_values_are_told_and_treated_as_asked(tmp_path):
    path = text(tmp_path / "t.csv", "a,b,c\n1,,5\n3,4,?\n5,6,7\n")
    filled = read_table(path)
    np.testing.assert_allclose(filled.X, [[1, 5, 5], [3, 4, 6], [5, 6, 7]])
    assert any("2 missing value(s) in 2 column(s) were filled" in note for note in filled.notes)
    assert read_table(path, missing="columns").X.tolist() == [[1], [3], [5]]
    assert np.isnan(read_table(path, missing="keep").X).sum() == 2
    with pytest.raises(TableError, match="b, c; missing='mean' fills them"):
        read_table(path, missing="refuse")
    with pytest.raises(TableError, match="at least two samples"):
        read_table(path, missing="rows")


def test_rows_with_missing_values_take_their_names_along(tmp_path):
    path = text(tmp_path / "t.csv", "id,k,a,b\nx,u,1,\ny,v,3,4\nz,u,5,6\nw,v,1,2\n")
    table = read_table(path, missing="rows")
    assert list(table.sample_names) == ["y", "z", "w"]
    assert list(table.labels) == ["v", "u", "v"]


def test_empty_columns_and_stray_words_are_told(tmp_path):
    rows = "".join(f"{i},{i * 2},\n" for i in range(1, 10))
    table = read_table(text(tmp_path / "t.csv", f"a,b,empty\n{rows}high,3,\n"))
    assert list(table.feature_names) == ["a", "b"]
    assert any("empty columns: empty" in note for note in table.notes)
    assert any("'a': 1 cell(s) such as 'high' are no numbers" in note for note in table.notes)


@pytest.mark.parametrize("rule", ["mean", "rows", "columns", "keep"])
def test_cells_of_empty_columns_are_not_counted_as_missing(rule, tmp_path):
    path = text(tmp_path / "t.csv", "a,b,c,d\n1,,2,4\n2,,3,4\n3,,,7\n4,,5,1\n5,,1,1\n")
    notes = read_table(path, missing=rule).notes
    assert notes[0] == "left out, empty columns: b"
    assert notes[1].startswith("1 missing value(s) in 1 column(s)")


def test_labels_are_offered_chosen_and_refused(tmp_path):
    path = text(tmp_path / "t.csv", "a,u,v,w\n1,x,p,7\n2,y,q,8\n3,x,p,9\n4,y,q,6\n")
    offered = read_table(path)
    assert offered.labels is None
    assert any("labels='NAME': u, v" in note for note in offered.notes)
    assert list(read_table(path, labels="v").labels) == ["p", "q", "p", "q"]
    number = read_table(path, labels="w")
    assert list(number.labels) == ["7", "8", "9", "6"]
    assert list(number.feature_names) == ["a"]
    assert read_table(path, labels="none").labels is None
    with pytest.raises(ColumnError, match="name that no column has; there are u, v, a, w"):
        read_table(path, labels="z")


def test_features_may_stand_in_rows(tmp_path):
    path = text(tmp_path / "t.csv", ",s1,s2\ng1,1,2\ng2,3,4\ng3,5,6\n")
    table = read_table(path, transpose=True)
    np.testing.assert_array_equal(table.X, [[1, 3, 5], [2, 4, 6]])
    assert list(table.feature_names) == ["g1", "g2", "g3"]


def bad_npz(path):
    np.savez(path, a=np.eye(2), b=np.eye(3))


BAD = {
    "empty.csv": (lambda p: p.write_text(""), "is empty"),
    "words.csv": (lambda p: p.write_text("a,b\nx,y\nz,w\n"), "no column of numbers"),
    "header.csv": (lambda p: p.write_text("a,b\n"), "no rows"),
    "one.csv": (lambda p: p.write_text("a,b\n1,2\n"), "at least two samples"),
    "twice.csv": (lambda p: p.write_text("a\n1\n2\n3,4,5,6\n"), "cannot be read|no column"),
    "binary.csv": (lambda p: p.write_bytes(b"a,b\n\0\1\2"), "is not text"),
    "inf.csv": (lambda p: p.write_text("a,b\n1,2\ninf,3\n4,5\n"), "infinite"),
    "torn.csv.gz": (lambda p: p.write_bytes(gzip.compress(b"a,b\n1,2\n")[:12]), "cannot be"),
    "torn.parquet": (lambda p: p.write_bytes(b"PAR1"), "cannot be read as Parquet"),
    "torn.npy": (lambda p: p.write_bytes(b"\x93NUMPY"), "cannot be read as npy"),
    "flat.npy": (lambda p: np.save(p, np.arange(3.0)), "a table of real numbers"),
    "pile.npy": (lambda p: np.save(p, np.ones((5, 2, 3))), r"save X.reshape\(5, 6\), if the first"),
    "torn.npz": (lambda p: p.write_bytes(b"PK\3\4"), "cannot be read as npz"),
    "two.npz": (bad_npz, "one matrix, called X"),
    "torn.mtx": (lambda p: p.write_text("%%MatrixMarket\n"), "cannot be read as Matrix Market"),
    "torn.h5ad": (lambda p: p.write_bytes(b"nothing"), "h5ad|anndata"),
    "what.xyz": (lambda p: p.write_text("1 2"), "ending that is not known"),
}


@pytest.mark.parametrize("name", BAD)
def test_unusable_files_are_explained_in_one_sentence(name, tmp_path):
    write, words = BAD[name]
    write(tmp_path / name)
    with pytest.raises(TableError, match=words) as caught:
        read_table(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"nothing\.csv"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(MissingFileError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(OptionError, match=r"layer='counts' is for \.h5ad"):
        read_table(text(tmp_path / "t.csv", "a,b\n1,2\n3,4\n"), layer="counts")


def test_layers_of_h5ad_files(tmp_path):
    path = h5ad_file(tmp_path / "t.h5ad")
    np.testing.assert_allclose(read_table(path, layer="double").X.toarray(), 2 * X)
    with pytest.raises(TableError, match="no layer 'x'"):
        read_table(path, layer="x")


def test_a_line_may_be_longer_than_a_cell(tmp_path):
    names = [f"feature number {i}" for i in range(9000)]
    rows = [",".join(map(str, range(k, k + 9000))) for k in (0, 5, 3)]
    table = read_table(text(tmp_path / "wide.csv", "\n".join([",".join(names), *rows])))
    assert table.X.shape == (3, 9000)
    assert list(table.feature_names) == names


def written_with_missing_labels(folder, kind):
    frame = pd.DataFrame({"kind": ["x", None, "y", "x", "y", None], "a": [1.0, 2, 4, 3, 5, 9]})
    path = folder / f"t.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif kind == "dta":
        frame.to_stata(path, write_index=False)
    elif kind == "npz":
        codes = np.array([1, np.nan, 2, 1, 2, np.nan])
        np.savez(path, X=frame[["a"]].to_numpy(), y=codes)
    elif kind == "h5ad":
        anndata = pytest.importorskip("anndata", reason="anndata is not installed")
        obs = frame[["kind"]].astype("category").set_axis(list("rstuvw"))
        anndata.AnnData(frame[["a"]].to_numpy(), obs=obs).write_h5ad(path)
    else:
        pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pyarrow")
        frame.to_parquet(path)
    return path


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "dta", "npz", "h5ad", "parquet"])
def test_samples_without_a_label_are_of_no_class(kind, asked, tmp_path):
    path = written_with_missing_labels(tmp_path, kind)
    column, x, y = ("y", "1.0", "2.0") if kind == "npz" else ("kind", "x", "y")
    table = read_table(path, labels=column if asked else None)
    assert list(table.labels) == [x, "", y, x, y, ""]
    assert any("gives no class to 2 sample(s)" in note for note in table.notes)


def test_numbers_as_labels_may_be_missing(tmp_path):
    table = read_table(text(tmp_path / "t.csv", "kind,a\n1,1\n,2\n2,4\n1,3\n"), labels="kind")
    assert list(table.labels) == ["1", "", "2", "1"]
    table = read_table(text(tmp_path / "t.csv", "a,s1,s2,s3\nk,1,,2.5\ng,1,2,3\nh,4,6,5\n"),
                       transpose=True, labels="k")  # fmt: skip
    assert list(table.labels) == ["1", "", "2.5"]


def test_a_single_object_of_numbers_is_a_single_sample(tmp_path):
    (tmp_path / "t.json").write_text('{"height": 1.5, "width": 2.0}')
    with pytest.raises(TableError, match="has 1 row"):
        read_table(tmp_path / "t.json")
