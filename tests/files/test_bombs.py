"""Small files that unpack to more than the memory: refused before it is filled."""

import gzip
import os
import resource
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from loadstone.files import arrow_batches, foreign, h5ad_files, hdf5
from loadstone.files.errors import TableError
from loadstone.files.tables import read_table
from workbook_writer import write_xlsx

pa = pytest.importorskip("pyarrow", reason="these files need pyarrow to be written")
feather = pytest.importorskip("pyarrow.feather", reason="these files need pyarrow to be written")
parquet = pytest.importorskip("pyarrow.parquet", reason="these files need pyarrow to be written")
MEMORY = 30_000_000


@pytest.fixture
def small_machine(monkeypatch):
    """A machine with little memory."""
    pages = {"SC_PAGE_SIZE": 1000, "SC_PHYS_PAGES": MEMORY // 1000}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__)


def constant(n_rows, n_columns=4):
    return pa.table({f"c{j}": np.ones(n_rows) for j in range(n_columns)})


def coded(n_rows, value, codes="i4"):
    """One value in every row, written once."""
    return pa.DictionaryArray.from_arrays(np.zeros(n_rows, dtype=codes), pa.array([value]))


def runs(n_rows, value):
    return pa.RunEndEncodedArray.from_arrays(pa.array([n_rows], pa.int32()), pa.array([value]))


def written_as(path, table):
    """The table in the kind of file that the ending says, packed as well as it goes."""
    if path.suffix == ".parquet":
        parquet.write_table(table, path, compression="zstd")
    elif path.suffix == ".feather":
        feather.write_feather(table, path, compression="zstd")
    else:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_stream(str(path), table.schema, options=options) as stream:
            stream.write_table(table, max_chunksize=50_000)
    return path


def unread(*_):
    msg = "it was unpacked"
    raise AssertionError(msg)


@pytest.mark.parametrize("kind", ["parquet", "feather", "arrows"])
@pytest.mark.usefixtures("small_machine")
def test_columns_that_fill_the_memory_are_not_unpacked(kind, tmp_path, monkeypatch):
    path = written_as(tmp_path / f"t.{kind}", constant(MEMORY // 8 // 4))
    assert path.stat().st_size < MEMORY / 100
    monkeypatch.setattr(arrow_batches, "_counted", unread)
    with pytest.raises(TableError, match=r"declares .* and this machine has 0\.03 GB"):
        read_table(path)


@pytest.mark.parametrize("kind", ["parquet", "feather", "arrows"])
@pytest.mark.usefixtures("small_machine")
def test_a_text_that_every_row_repeats_stays_one_text(kind, tmp_path):
    n = 50_000
    table = pa.table({"x": np.arange(n) % 7.0, "y": np.arange(n) % 3.0})
    table = table.append_column("s", coded(n, "a" * 10_000))
    found = read_table(written_as(tmp_path / f"t.{kind}", table))
    assert found.X.shape == (n, 2)
    assert len({id(text) for text in found.columns["s"]}) == 1


@pytest.mark.parametrize("column", [pa.nulls(10**8), runs(10**8, 1.0), runs(10**8, "text")])
@pytest.mark.usefixtures("small_machine")
def test_rows_that_take_no_bytes_are_counted(column, tmp_path):
    table = pa.table({"x": column, "y": column})
    path = tmp_path / "t.arrow"
    with pa.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table)
    with pytest.raises(TableError, match=r"declares a table of 1\.6 GB"):
        read_table(path)


def test_values_that_are_written_once_are_read(tmp_path):
    n = 12
    table = pa.table(
        {
            "x": runs(n, 2.0), "y": np.arange(n) ** 2.0, "kind": runs(n, "u"), "z": coded(n, 1.5),
            "lists": [[1, 2]] * n,
        }
    )  # fmt: skip
    path = tmp_path / "t.arrow"
    with pa.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table.slice(2))
    found = read_table(path)
    assert list(found.feature_names) == ["x", "y", "z"]
    np.testing.assert_array_equal(found.X, [[2.0, i**2.0, 1.5] for i in range(2, n)])
    assert list(found.columns["kind"]) == ["u"] * (n - 2)
    assert "column 'lists' holds lists or records, left out" in found.notes


def test_arrow_files_of_polars_are_read(tmp_path):
    polars = pytest.importorskip("polars", reason="its files are written by polars")
    path = tmp_path / "t.arrow"
    # They do not begin as a stream does.
    polars.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "x"]}).write_ipc(path)
    assert read_table(path).X.tolist() == [[1.0], [2.0], [4.0]]


@pytest.mark.parametrize("place", range(0, 200, 8))
def test_forged_tables_of_contents_are_refused(place, tmp_path):
    path = tmp_path / "t.arrow"
    feather.write_feather(constant(50), path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[-18 - place : -10 - place] = struct.pack("<q", (1 << 62) + 3)
    path.write_bytes(content)
    try:
        read_table(path)
    except TableError as error:
        assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.usefixtures("small_machine")
def test_short_lines_of_a_wide_table_are_counted_as_wide(tmp_path):
    names = ",".join(f"c{j}" for j in range(3000)) + "\n"
    path = tmp_path / "t.csv"
    path.write_text(names + "1\n" * 3000)
    with pytest.raises(TableError, match="unpacks to more than the memory"):
        read_table(path)


@pytest.mark.usefixtures("small_machine")
def test_objects_that_share_no_name_are_counted(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(f'{{"k{i}": {i}}}' for i in range(3000)))
    with pytest.raises(TableError, match=r"declares a table of 0\.072 GB"):
        read_table(path)
    packed = tmp_path / "t.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"a": 1, "b": 2}\n' * 100_000))
    with pytest.raises(TableError, match="declares objects of"):
        read_table(packed)


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize("shape", [(10**6, 3), (3, 10**6)], ids=["tall", "wide"])
def test_sparse_matrices_of_few_entries_may_be_too_large(shape, tmp_path):
    path = tmp_path / "t.npz"
    indptr = np.minimum(np.arange(shape[0] + 1), 3)
    arrays = {"indices": np.arange(3), "indptr": indptr, "data": np.ones(3)}
    np.savez_compressed(path, format=np.array(b"csr"), shape=np.array(shape), **arrays)
    with pytest.raises(TableError, match="declares"):
        read_table(path)


@pytest.mark.usefixtures("small_machine")
def test_truth_values_become_numbers_that_are_counted(tmp_path):
    path = tmp_path / "t.npz"
    np.savez_compressed(path, X=np.zeros((1_000_000, 4), dtype=bool))
    with pytest.raises(TableError, match=r"declares a table of 0\.032 GB"):
        read_table(path)


def test_the_limit_of_a_container_is_a_limit(tmp_path, monkeypatch):
    (tmp_path / "memory.max").write_text("50000000\n")
    (tmp_path / "no_limit").write_text("max\n")
    places = [str(tmp_path / name) for name in ("no_limit", "memory.max", "nowhere")]
    monkeypatch.setattr(foreign, "_LIMITS_OF_CONTAINERS", places)
    foreign._memory_of_container.cache_clear()
    try:
        assert foreign.memory_limit() == 50_000_000
    finally:
        foreign._memory_of_container.cache_clear()


def test_the_limit_of_a_process_is_a_limit():
    code = "from loadstone.files.foreign import memory_limit; print(memory_limit())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30)),
    )  # fmt: skip
    assert int(done.stdout) == 6 << 30


@pytest.mark.usefixtures("small_machine")
def test_sheets_grow_while_they_are_read(tmp_path):
    write_xlsx(path := tmp_path / "t.xlsx", {"S": [[1.0] * 1000] * 400})
    with pytest.raises(TableError, match="unpacks to more than the memory"):
        read_table(path)


def test_a_sentence_about_a_long_cell_is_short(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + f"x{'y' * 10**6},z\n" * 3)
    with pytest.raises(TableError, match="has no column of numbers") as refused:
        read_table(path)
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize(
    "tag", ['<row r="{}">', "<row>{}", "<!--{}-->"], ids=["tag", "text", "remark"]
)
def test_tags_without_an_end_are_not_read_again_and_again(tag, tmp_path):
    path = tmp_path / "t.xlsx"
    write_xlsx(path, {"S": [["a", "b"], [1.0, 2.0], [3.0, 5.0], [4.0, 4.0]]})
    parts = {name: zipfile.ZipFile(path).read(name) for name in zipfile.ZipFile(path).namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            long = tag.format("1" * (6 << 20)).encode()
            swapped = content.replace(b'<row r="1">', long) if "sheet1" in name else content
            archive.writestr(name, swapped)
    if tag == "<row>{}":
        assert read_table(path).X.shape == (3, 2)
    else:
        with pytest.raises(TableError, match="has a tag of more than 4 MB"):
            read_table(path)


@pytest.mark.usefixtures("small_machine")
def test_rows_that_share_no_column_are_counted(tmp_path):
    path = tmp_path / "t.xlsx"
    write_xlsx(path, {"S": [[None] * i + [1.0] for i in range(1200)]})
    with pytest.raises(TableError, match=r"declares a table of 0\.0115 GB"):
        read_table(path)


def h5ad_of(path, X, **more):
    """A small file, then another matrix or other parts in it, kept as ``more`` says."""
    anndata = pytest.importorskip("anndata", reason="H5AD files need anndata to be written")
    import h5py

    anndata.AnnData(np.ones((3, 4), dtype=np.float32)).write_h5ad(path)
    with h5py.File(path, "a") as file:
        if X is not None:
            del file["X"]
            file.create_dataset("X", **X).attrs["encoding-type"] = "array"
            file["X"].attrs["encoding-version"] = "0.2.0"
        for name, kept in more.items():
            file["uns"].create_dataset(name, **kept)
    return path


UNWRITTEN = {"dtype": "f4", "chunks": (1, 100_000), "compression": "gzip"}


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ({"shape": (3, 10**9), **UNWRITTEN}, "declares /X and other arrays of 12 GB"),
        ({"shape": (3, 500_000), **UNWRITTEN}, "holds next to none"),
        ({"shape": (3, 10**6), **UNWRITTEN, "dtype": "i1"}, r"/X and other arrays of 0\.024 GB"),
        ({"data": np.zeros((2500, 1001), dtype="i1"), "compression": 9}, r"of 0\.02 GB"),
        # One chunk of 36 MB for twelve numbers.
        (
            {"data": np.eye(3, 4), "maxshape": (None, None), "chunks": (1500, 3000)},
            r"of 0\.036 GB",
        ),
    ],
    ids=["wide", "nothing", "whole numbers", "packed", "chunk"],
)
def test_what_an_h5ad_file_unpacks_to_is_counted_before_it_is_read(X, said, tmp_path, monkeypatch):
    monkeypatch.setattr(foreign, "memory_limit", lambda: MEMORY)
    monkeypatch.setattr(hdf5, "memory_limit", lambda: MEMORY)
    monkeypatch.setattr(h5ad_files, "refuse_unreadable", lambda *_: None)
    monkeypatch.setattr("anndata.io.read_elem", unread)
    monkeypatch.setattr(hdf5, "_SMALL", 1 << 20)
    with pytest.raises(TableError, match=said):
        read_table(h5ad_of(tmp_path / "t.h5ad", X))


def test_results_in_an_h5ad_file_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(hdf5, "memory_limit", lambda: MEMORY)
    large = {"shape": (10**9,), "dtype": "f8"}
    data = {"data": np.arange(12.0).reshape(3, 4) ** 2}
    table = read_table(h5ad_of(tmp_path / "t.h5ad", data, neighbours=large))
    np.testing.assert_array_equal(table.X, np.arange(12.0).reshape(3, 4) ** 2)


def test_old_h5ad_files_have_their_words_elsewhere(tmp_path):
    pytest.importorskip("anndata", reason="H5AD files need anndata to be read")
    import h5py

    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        file["X"] = np.arange(12.0).reshape(4, 3)
        cells = [(b"a", 0), (b"b", 1), (b"c", 0), (b"d", 1)]
        file["obs"] = np.array(cells, dtype=[("index", "S5"), ("kind", "i1")])
        file["var"] = np.array([(b"x",), (b"y",), (b"z",)], dtype=[("index", "S5")])
        file.create_group("uns")["kind_categories"] = np.array([b"u", b"v"])
    table = read_table(tmp_path / "t.h5ad")
    assert list(table.labels) == ["u", "v", "u", "v"]
    assert list(table.feature_names) == ["x", "y", "z"]
