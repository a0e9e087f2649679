"""Groups and signs of features from files of two columns, and what is wrong with others."""

import gzip

import numpy as np
import pandas as pd
import pytest

from loadstone.files.errors import MissingFileError, TableError
from loadstone.files.feature_files import read_groups, read_signs
from loadstone.files.tables import read_table

NAMES = ["a", "b", "c"]


def write(folder, content, name="said.csv"):
    path = folder / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(content.encode()))
    else:
        path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("said.csv", "feature,group\nc,y\na,x\nb,x\n"),
        ("said.csv", "a,x\nb,x\nc,y\n"),
        ("said.csv", "gene,pathway\r\n\r\na, x\r\nb ,x\r\nc,y\r\n"),
        ("said.csv", "\ufefffeature;group\na;x\nb;x\nc;y\n"),
        ("said.tsv", "a\tx\nb\tx\nc\ty\n"),
        ("said.txt", "feature\tgroup\na\tx\nb\tx\nc\ty\n"),
        ("said.csv.gz", "a,x\nb,x\nc,y\n"),
        ("said.csv", "a,x\nb,x\nc,y\nb,x\n"),
    ],
)
def test_groups_come_in_the_order_of_the_features(name, content, tmp_path):
    groups, unknown = read_groups(write(tmp_path, content, name), NAMES)
    assert groups == ["x", "x", "y"]
    assert unknown == ()


def test_names_with_commas_and_groups_that_are_numbers(tmp_path):
    path = write(tmp_path, '"a, or b",1\n2001,2\n')
    assert read_groups(path, ["2001", "a, or b"]) == (["2", "1"], ())


def test_features_the_data_lacks_are_told_even_in_the_first_row(tmp_path):
    path = write(tmp_path, "z,x\na,x\nb,x\nc,y\nw,y\n")
    assert read_groups(path, NAMES) == (["x", "x", "y"], ("z", "w"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("feature,group\na,x\n", "no group to 2 of 3 feature(s): b, c; write one beside each"),
        ("a,x\nb,\nc,NA\n", "no group to 2 of 3 feature(s): b, c"),
        ("a,x\nb,x\nc,y\na,y\n", "gives 'a' two groups, 'x' and 'y'"),
        ("a,x,1\nb,x,2\nc,y,3\n", "row of 3 cell(s) (a, x, 1); give two columns"),
        ("a\nb\nc\n", "row of 1 cell(s) (a)"),
        ("", "is empty"),
        ('"a,x\n' + "b,x\n" * 40_000, "row of 1 cell(s) (a,x"),
    ],
)
def test_groups_that_are_not_complete_are_refused(content, words, tmp_path):
    with pytest.raises(TableError) as error:
        read_groups(write(tmp_path, content), NAMES)
    assert words in str(error.value)


@pytest.mark.parametrize("header", ["", "feature,sign\n", "name,direction\n"])
@pytest.mark.parametrize(
    ("plus", "minus"),
    [("+", "-"), ("+1", "-1"), ("1", "-1"), ("Positive", "NEGATIVE"), ("1.0", "\u22121")],
)
def test_signs_are_read_in_every_spelling(header, plus, minus, tmp_path):
    path = write(tmp_path, f"{header}c,{minus}\na,{plus}\n")
    assert read_signs(path, NAMES) == {"c": -1, "a": 1}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,+\nb,0\n", "gives 'b' the sign '0'; write + or -"),
        ("a,plus\nb,+\n", "gives 'a' the sign 'plus'"),
        ("width,+\na,-\n", "a sign to 'width', which the data does not have; remove it"),
        ("a,+\naa,-\n", "which the data does not have; did you mean 'a'?"),
        ("a,+\na,-1\n", "gives 'a' two signs, 1 and -1"),
        ("feature,sign\n", "gives no sign"),
    ],
)
def test_signs_that_make_no_sense_are_refused(content, words, tmp_path):
    with pytest.raises(TableError) as error:
        read_signs(write(tmp_path, content), NAMES)
    assert words in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"no file .* with the columns feature and group"):
        read_groups(tmp_path / "nothing.csv", NAMES)


def turned_file(folder):
    """Features in rows: what is said of ``f2`` must stay with it when others are left out."""
    frame = pd.DataFrame(
        {
            "family": ["x", "y", "x", "z"],
            "s1": [1.0, np.nan, 3.0, 4.0],
            "s2": [2.0, np.nan, np.nan, 1.0],
            "s3": [5.0, np.nan, 1.0, 2.0],
        },
        index=["f1", "f2", "f3", "f4"],
    )
    frame.to_csv(folder / "turned.csv")
    return folder / "turned.csv"


def test_text_columns_of_a_turned_table_describe_its_features(tmp_path):
    path = turned_file(tmp_path)
    with pytest.raises(TableError, match="cannot be turned round: family; drop='family' leaves"):
        read_table(path, transpose=True)
    table = read_table(path, transpose=True, described=True)
    assert table.X.shape == (3, 3)
    assert any("they describe features: family" in note for note in table.notes)
    said = dict(zip(table.feature_names, table.feature_columns["family"], strict=True))
    assert said == {"f1": "x", "f3": "x", "f4": "z"}


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"missing": "columns"}, {"f1": "x", "f4": "z"}),
        ({"labels": "f1"}, {"f3": "x", "f4": "z"}),
    ],
)
def test_what_is_said_of_features_goes_with_them(options, left, tmp_path):
    table = read_table(turned_file(tmp_path), transpose=True, described=True, **options)
    assert dict(zip(table.feature_names, table.feature_columns["family"], strict=True)) == left
    assert table.X.shape[1] == len(left)


def test_columns_of_var_are_kept(tmp_path):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    kinds = pd.Categorical.from_codes([0, 1, 0], pd.Index(["x", "y"], dtype=object))
    var = pd.DataFrame(
        {"kind": kinds, "cluster": [3, 3, 4], "weight": [0.5, 1.5, 2.5]},
        index=pd.Index(NAMES, dtype=object),
    )
    obs = pd.DataFrame(index=pd.Index(["r1", "r2"], dtype=object))
    anndata.AnnData(np.eye(2, 3), obs=obs, var=var).write_h5ad(tmp_path / "t.h5ad")
    said = read_table(tmp_path / "t.h5ad").feature_columns
    assert {name: list(values) for name, values in said.items()} == {
        "kind": ["x", "y", "x"],
        "cluster": ["3", "3", "4"],
    }
