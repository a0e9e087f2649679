"""Files that are damaged, forged or merely unusual: a sentence or numbers, never a crash."""

import gzip
import io
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import io as scipy_io
from scipy import sparse

from hostile import forged_archive, forged_array, outcomes
from loadstone.files import foreign, read_apart
from loadstone.files.errors import TableError
from loadstone.files.tables import read_table
from loadstone.files.text_tables import rows_of
from workbook_writer import write_ods, write_xlsx

X = np.round(np.random.default_rng(0).standard_normal((30, 6)), 3)
X[np.random.default_rng(1).random(X.shape) < 0.5] = 0
FRAME = pd.DataFrame(X, columns=[f"f{i}" for i in range(6)])


def sparse_npz(path, **changed):
    S = sparse.csr_array(X)
    parts = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "shape": np.array(S.shape)}
    np.savez(path, format=np.array(b"csr"), **{**parts, **changed})
    return path


def h5ad(path):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    anndata.AnnData(sparse.csr_matrix(X)).write_h5ad(path)


def spss(path):
    pyreadstat = pytest.importorskip("pyreadstat", reason="pyreadstat is not installed")
    pyreadstat.write_sav(FRAME.assign(kind=["a", "bc"] * 15), str(path))


WRITERS = {
    "t.csv": lambda p: FRAME.to_csv(p, index=False),
    "t.csv.gz": lambda p: FRAME.to_csv(p, index=False),
    "t.parquet": lambda p: FRAME.to_parquet(p),
    "t.npy": lambda p: np.save(p, X),
    "dense.npz": lambda p: np.savez_compressed(p, X=X, feature_names=np.array(list("abcdef"))),
    "sparse.npz": sparse_npz,
    "t.mtx": lambda p: scipy_io.mmwrite(p, sparse.coo_array(X)),
    "pattern.mtx": lambda p: scipy_io.mmwrite(p, sparse.coo_array(X != 0), field="pattern"),
    "dense.mtx": lambda p: scipy_io.mmwrite(p, X),
    "t.h5ad": h5ad,
    "t.xlsx": lambda p: write_xlsx(p, {"a": [list(FRAME.columns), *X.tolist()]}),
    "t.ods": lambda p: write_ods(p, {"a": [list(FRAME.columns), *X.tolist()]}),
    "t.feather": lambda p: FRAME.to_feather(p, compression="uncompressed"),
    "t.arrow": lambda p: FRAME.assign(kind=["a", "bc"] * 15).to_feather(p),
    "t.jsonl": lambda p: FRAME.to_json(p, orient="records", lines=True),
    "t.dta": lambda p: FRAME.to_stata(p, write_index=False),
    "t.sav": spss,
}


def test_damaged_files_end_in_numbers_or_a_sentence(tmp_path):
    for name, write in WRITERS.items():
        write(tmp_path / name)
    for name, found in outcomes([tmp_path / name for name in WRITERS], 30, 15).items():
        assert set(found) <= {"read", "TableError"}, (name, found)
        assert found.total() == 45
        assert found["TableError"] > 0


def test_statistics_that_do_not_match_a_column_do_not_end_the_process(tmp_path):
    path = tmp_path / "t.parquet"
    FRAME.to_parquet(path)
    # The first column is said to have no missing values; its histogram counts them.
    optional, required = (b"\x25" + kind + b"\x18\x02f0" for kind in (b"\x02", b"\x00"))
    content = path.read_bytes()
    assert content.count(optional) == 1
    path.write_bytes(content.replace(optional, required))
    code = f"from loadstone import read_table; read_table({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode >= 0, done.stderr.decode()


@pytest.mark.parametrize(
    "changed",
    [
        {"indices": np.full(sparse.csr_array(X).nnz, 10**6)},
        {"indices": np.full(sparse.csr_array(X).nnz, -1)},
        {"indptr": np.arange(31) * 1000},
        {"indptr": np.arange(31)[::-1].copy()},
        {"indptr": np.zeros(5, dtype=int)},
        {"shape": np.array([30, 2])},
        {"shape": np.array([30, 10**13])},
        {"shape": np.array([30.0, 6.0])},
        {"indices": np.zeros(sparse.csr_array(X).nnz)},
        {"data": np.ones(3)},
        {"data": np.ones(sparse.csr_array(X).nnz, dtype=complex)},
        {"format": np.array(b"dia")},
    ],
    ids=str,
)
def test_sparse_matrices_are_checked_before_any_product(changed, tmp_path):
    format_ = changed.pop("format", np.array(b"csr"))
    path = sparse_npz(tmp_path / "t.npz", **changed)
    with np.load(path) as archive:
        members = {**{name: archive[name] for name in archive.files}, "format": format_}
    np.savez(path, **members)
    with pytest.raises(TableError) as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_what_scipy_saves_is_read(kind, tmp_path):
    sparse.save_npz(tmp_path / "t.npz", sparse.coo_array(X).asformat(kind))
    np.testing.assert_array_equal(read_table(tmp_path / "t.npz").X.toarray(), X)


BANNER = b"%%MatrixMarket matrix coordinate "


@pytest.mark.parametrize("end", [b"", b" ", b"\r", b"\n\n", b"\t \n"])
def test_the_end_of_a_pattern_does_not_matter(end, tmp_path):
    path = tmp_path / "t.mtx"
    path.write_bytes(BANNER + b"pattern general\n% a remark\n2 2 2\n1 1\n2 2" + end)
    np.testing.assert_array_equal(read_table(path).X.toarray(), np.eye(2))


@pytest.mark.parametrize(("symmetry", "sign"), [("symmetric", 1), ("skew-symmetric", -1)])
@pytest.mark.parametrize("of", [np.asarray, sparse.coo_array])
def test_half_of_a_symmetric_matrix_stands_for_all_of_it(of, symmetry, sign, tmp_path):
    square = X[:6, :6] + sign * X[:6, :6].T
    scipy_io.mmwrite(tmp_path / "t.mtx", of(square), symmetry=symmetry)
    found = read_table(tmp_path / "t.mtx").X
    np.testing.assert_allclose(found if of is np.asarray else found.toarray(), square, rtol=1e-12)


def test_half_of_a_symmetric_matrix_takes_few_bytes(tmp_path):
    scipy_io.mmwrite(tmp_path / "t.mtx", np.ones((12, 12), dtype=int), symmetry="symmetric")
    np.testing.assert_array_equal(read_table(tmp_path / "t.mtx").X, np.ones((12, 12)))


@pytest.mark.parametrize("array", [X[None], X[0], X + 1j, X[:0], np.array(["a"])])
def test_arrays_that_are_no_table_are_refused(array, tmp_path):
    np.save(tmp_path / "t.npy", array)
    with pytest.raises(TableError, match="a table of real numbers is needed"):
        read_table(tmp_path / "t.npy")


@pytest.mark.parametrize(
    "content",
    [
        BANNER + b"pattern general\n2 2 2\n1 1\n2 2x",
        BANNER + b"pattern general\n2 2 2\n1 1\n2 2\0",
        BANNER + b"pattern general\n2 2 2\n1 1\n2",
        BANNER + b"real general\n2 2 1\n1 1 1e999999999999\n",
        BANNER + b"real general\n2 2 1\n99999999999999999999999 1 1\n",
        BANNER + b"real general\n2 2 1\n0 1 1\n",
        BANNER + b"real general\n2 2 1000000000000\n1 1 1\n",
        BANNER + b"real general\n1000000000000 2 1\n1 1 1\n",
        BANNER + b"complex general\n2 2 1\n1 1 1.5 2.5\n",
        BANNER + b"real symmetric\n3 4 1\n1 1 1\n",
        b"%%MatrixMarket matrix array real general\n1000000 1000000\n1\n",
        b"%%MatrixMarket matrix array real general\n2 2\n1 2 3\n",
        b"%%MatrixMarket matrix array complex hermitian\n1 1\n1 0\n",
        b"hello\n",
        b"",
    ],
)
def test_bad_matrix_market_files_are_explained(content, tmp_path):
    (tmp_path / "bad.mtx").write_bytes(content)
    with pytest.raises(TableError):
        read_table(tmp_path / "bad.mtx")


def test_a_wide_table_with_all_its_digits_is_read(tmp_path):
    wide = np.random.default_rng(0).standard_normal((4, 6830))
    np.savetxt(tmp_path / "t.csv", wide, delimiter=",", fmt="%.18e")
    np.testing.assert_allclose(read_table(tmp_path / "t.csv").X, wide, rtol=1e-15)
    names = [f'"a long, quoted name {i}"' for i in range(6830)]
    header = ",".join(names)
    np.savetxt(tmp_path / "n.csv", wide, delimiter=",", fmt="%.18e", header=header, comments="")
    table = read_table(tmp_path / "n.csv")
    assert table.feature_names[7] == "a long, quoted name 7"
    np.testing.assert_allclose(table.X, wide, rtol=1e-15)


def test_integers_of_a_matrix_market_file_are_not_cut_off(tmp_path):
    (tmp_path / "t.mtx").write_bytes(BANNER + b"integer general\n2 2 1\n1 1 1.5\n")
    assert read_table(tmp_path / "t.mtx").X[0, 0] == 1.5


def test_quoted_cells_are_cut_as_the_csv_module_does():
    import csv

    for text in (
        'a,"b,c",d\n1,2,3\n',
        '"a""b",c\n',
        '5" pipe,3\n',
        '"x\ny",2\n3,4\n',
        '"",""\n',
        ",",
    ):
        lines = text.splitlines(keepends=True)
        assert list(rows_of(lines, ",")) == list(csv.reader(lines)), text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_text_with_a_byte_order_mark_is_read(encoding, name, tmp_path):
    marks = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}
    content = "größe,breite\n1,2\n3,4\n5,7\n".encode(encoding)
    content = marks.get(encoding, b"") + content
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    table = read_table(tmp_path / name)
    assert list(table.feature_names) == ["größe", "breite"]
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4], [5, 7]])


@pytest.mark.parametrize("cell", ["inf", "1e999", "-1e999"])
def test_numbers_beyond_all_bounds_are_infinite(cell, tmp_path):
    (tmp_path / "t.csv").write_text(f"a,b\n1,2\n{cell},3\n4,5\n6,7\n8,9\n10,1\n")
    with pytest.raises(TableError, match="infinite"):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.npy", forged_array((10**6, 10**6))),
        ("t.npy", forged_array((10**12, 1), "<U0")),
        ("t.npy", forged_array((3, 10**12), content=b"\0" * 64)),
        ("t.npz", forged_archive(X=forged_array((10**6, 10**6)))),
        ("t.npz", forged_archive(X=forged_array((5, 2), content=b"\0" * 999))),
        ("t.npy", forged_array((2, 2), "<c16", b"\0" * 64)),
        ("t.npy", forged_array((2, 2), "|b1", b"\7" * 4)),
        ("t.npz", forged_archive(X=b"not an array")),
    ],
)
def test_forged_headers_are_refused_before_memory_is_taken(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(TableError):
            read_table(tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()


def test_a_forged_zip_directory_is_refused(tmp_path):
    file = io.BytesIO()
    np.savez_compressed(file, X=X)
    content = bytearray(file.getvalue())
    place = content.index(b"PK\x01\x02") + 24  # the size a member claims to have
    content[place : place + 4] = (2**32 - 2).to_bytes(4, "little")
    (tmp_path / "t.npz").write_bytes(content)
    with pytest.raises(TableError, match="declares"):
        read_table(tmp_path / "t.npz")


def test_links_in_an_h5ad_file_are_not_followed(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    path = tmp_path / "t.h5ad"

    def change(what):
        h5ad(path)
        with h5py.File(path, "a") as file:
            what(file)
        with pytest.raises(TableError) as caught:
            read_table(path)
        return str(caught.value)

    assert "link" in change(lambda f: f.update({"uns/e": h5py.ExternalLink("/etc/passwd", "/x")}))
    assert "link" in change(lambda f: f.update({"uns/s": h5py.SoftLink("/")}))
    assert "themselves" in change(lambda f: f["uns"].update({"loop": f["/"]}))

    def enormous(file):
        file.create_dataset("obs/big", shape=(10**12,), dtype="f8", chunks=(10**6,))

    assert "declares" in change(enormous)


READ_SAV = "def read_sav(*_, **__): {}"


@pytest.mark.parametrize(
    ("does", "said"),
    [
        (READ_SAV.format("import os; os.abort()"), "ends the process by signal"),
        (READ_SAV.format("raise MemoryError"), "more memory than there is"),
    ],
    ids=["crashes", "fills the memory"],
)
def test_a_reader_of_spss_files_that_gives_up_does_so_in_another_process(
    does, said, tmp_path, monkeypatch
):
    (tmp_path / "t.sav").write_bytes(b"$FL2" + bytes(200))
    (tmp_path / "pyreadstat.py").write_text(does)
    monkeypatch.syspath_prepend(tmp_path)
    # So that it is put back, or forgotten, with all else.
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    del sys.modules["pyreadstat"]
    with pytest.raises(TableError, match=said):
        read_table(tmp_path / "t.sav")


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("while True: pass", "did not end in"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ends the process by signal"),
    ],
    ids=["hangs", "crashes"],
)
def test_an_hdf5_library_that_hangs_or_crashes_does_so_in_another_process(
    does, said, tmp_path, monkeypatch
):
    h5ad(tmp_path / "t.h5ad")
    (tmp_path / "h5py.py").write_text(does)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(read_apart, "_GRACE", 3.0)
    with pytest.raises(TableError, match=said):
        read_table(tmp_path / "t.h5ad")


def test_modules_of_the_current_folder_are_not_imported(tmp_path, monkeypatch):
    h5ad(tmp_path / "t.h5ad")
    (tmp_path / "h5py.py").write_text("import pathlib; pathlib.Path('ran').touch()")
    monkeypatch.chdir(tmp_path)
    read_table(tmp_path / "t.h5ad")
    assert not (tmp_path / "ran").exists()


def test_an_input_that_is_no_regular_file_is_named(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(FileNotFoundError, match="no regular file"):
        read_table(tmp_path / "pipe.csv")


def test_a_number_does_not_make_another_name_twice(tmp_path):
    path = tmp_path / "genes.csv"
    path.write_text(",s1,s2,s3\na,1,2,3\na,4,5,7\na-2,1,0,2\nb,0,1,1\n")
    table = read_table(path, transpose=True)
    assert list(table.feature_names) == ["a", "a-3", "a-2", "b"]


def test_thousands_of_columns_of_one_name_are_numbered_in_one_go(tmp_path):
    # Counted from the beginning for each of them, this takes minutes.
    path = tmp_path / "probes.csv"
    n = 40_000
    path.write_text("\n".join(",".join(row) for row in (["---"] * n, ["1"] * n, ["2"] * n)))
    table = read_table(path)
    assert list(table.feature_names[[0, 1, -1]]) == ["---", "---.1", f"---.{n - 1}"]
    assert table.X[1].tolist() == [2.0] * n
    assert "columns of one name were numbered: ---" in table.notes


def test_json_of_endless_digits_or_depth_is_refused_in_our_words(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_text('{"a": %s, "b": 1}\n{"a": 1, "b": 3}\n{"a": 4, "b": 1}\n' % ("9" * 5000))
    with pytest.raises(TableError, match="1 infinite value"):
        read_table(path)
    path.write_text('{"a":' + "[" * 100_000 + "]" * 100_000 + "}\n")
    with pytest.raises(TableError, match=r"line 1 is no JSON .*nested too deep"):
        read_table(path)


def test_gzipped_cells_are_counted_before_they_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(foreign, "memory_limit", lambda: 1_000_000)
    few, many = tmp_path / "few.csv.gz", tmp_path / "many.csv.gz"
    few.write_bytes(gzip.compress(b"a,b\n" + b"1.2345678901234567,2.3456789012345678\n" * 8000))
    assert read_table(few).X.shape == (8000, 2)
    # As many bytes, of cells that take several times as much as their text.
    many.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 76_000))
    with pytest.raises(TableError, match="unpacks to more than the memory of this machine"):
        read_table(many)
