"""Workbooks as people have them: sheets, headings, dates, and files that are damaged."""

import zipfile
from datetime import date

import numpy as np
import pytest

from loadstone import read_table
from loadstone.files.errors import OptionError, TableError
from workbook_writer import write_ods, write_xlsx, xlsx_cell


def said(table):
    return " | ".join(table.notes)


QUARTERS = [
    ["Sales by region", None, None, None, None],
    [None, None, None, None, None],
    ["Region", 2023, None, 2024, None],
    [None, "Q1", "Q2", "Q1", "Q2"],
    ["north", 1.5, 2.0, 3.25, 1.0],
    ["south", 2.5, 1.0, 4.0, 2.0],
    ["east", 0.5, 7.0, 1.0, 5.0],
    ["west", 4.5, 2.0, 2.0, 9.0],
    ["Total", 9.0, 12.0, 10.25, 17.0],
]


@pytest.mark.parametrize("ending", ["xlsx", "ods", "csv"])
def test_two_rows_of_headings_a_title_and_a_total(ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    if ending == "csv":
        rows = [["" if c is None else str(c) for c in row] for row in QUARTERS]
        path.write_text("\n".join(",".join(row) for row in rows))
    else:
        (write_xlsx if ending == "xlsx" else write_ods)(path, {"Sales": QUARTERS})
    table = read_table(path)
    np.testing.assert_array_equal(table.X, [row[1:] for row in QUARTERS[4:8]])
    assert list(table.feature_names) == ["2023 Q1", "2023 Q2", "2024 Q1", "2024 Q2"]
    assert list(table.sample_names) == ["north", "south", "east", "west"]
    assert "above the table: Sales by region" in said(table)
    assert "2 rows of headings were joined" in said(table)
    assert "totals are no samples: 'Total'" in said(table)


def test_dates_of_a_workbook_are_dates(tmp_path):
    rows = [["day", "x", "y"], *([date(2024, 1, 5 + i), 1.5 * i, i * i] for i in range(6))]
    for path in (
        write_xlsx(tmp_path / "t.xlsx", {"a": rows}),
        write_ods(tmp_path / "t.ods", {"a": rows}),
    ):
        table = read_table(path, index="none")
        assert list(table.feature_names) == ["x", "y"]
        assert "left out, dates: day" in said(table)
        assert table.columns["day"][0].startswith("2024-01-05")


SHEETS = {
    "notes": [["this workbook holds two tables"], ["see the others"]],
    "hidden": [["a", "b"], [9, 9], [8, 8]],
    "first": [["a", "b"], [1, 2], [3, 5]],
    "second": [["name", "c", "d"], ["r1", 1, 2], ["r2", 4, 5], ["r3", 7, "#DIV/0!"]],
}


def test_sheets_are_chosen_by_name_or_number(tmp_path):
    path = write_xlsx(tmp_path / "t.xlsx", SHEETS, hidden=["hidden"])
    table = read_table(path)
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 5]])
    assert "sheet 'first' was read; sheet='NAME' reads another" in said(table)
    np.testing.assert_array_equal(read_table(path, sheet="hidden").X, [[9, 9], [8, 8]])
    for which in ("second", 4, "4"):
        table = read_table(path, sheet=which, missing="keep")
        np.testing.assert_array_equal(table.X, [[1, 2], [4, 5], [7, np.nan]])
        assert list(table.sample_names) == ["r1", "r2", "r3"]
    with pytest.raises(
        OptionError, match=r"sheet='secund' is no sheet of t\.xlsx; did you mean 'second'"
    ):
        read_table(path, sheet="secund")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(OptionError, match=r"sheet='a' is for \.ods and \.xlsm"):
        read_table(tmp_path / "t.csv", sheet="a")


def test_cells_far_apart_are_no_large_table(tmp_path):
    path = write_xlsx(tmp_path / "t.xlsx", {"a": [["x", "y"], [1.0, 2.0], [3.0, 4.0]]})
    table = read_table(path)
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert xlsx_cell(1_048_575, 16_383, 1.0, []).startswith('<c r="XFD1048576"')
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    far = xlsx_cell(1_048_575, 16_383, 1.0, []).encode()
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b"</sheetData>", b"<row>" + far + b"</row></sheetData>")
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert read_table(path, missing="keep").X.shape[0] <= 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ((b"<f>1+1</f><v>2.0</v>", b"<f>1+1</f>"), "never calculated; open it in"),
        ((b"<worksheet", b'<!DOCTYPE x [<!ENTITY a "b">]><worksheet'), "defines XML entities"),
        ((b"</worksheet>", b"</worksheet"), "cannot be read as XLSX"),
        ((b'r="B2"', b'r="ZZZ9999999"'), "beyond the last row or column"),
        ((b't="s"><v>0<', b't="s"><v>99<'), "refers to text '99' of 2; it is damaged"),
        ((b't="s"><v>0<', b't="s"><v>-1<'), "refers to text '-1' of 2; it is damaged"),
        ((b'<row r="2">', b'<row r="%s">' % (b"9" * 5000)), "by a number of 5000 digits"),
        ((b"<v>2.0<", b"<v>two<"), "cannot be read as XLSX"),
    ],
)
def test_damaged_workbooks_are_explained(change, words, tmp_path):
    path = write_xlsx(tmp_path / "t.xlsx", {"a": [["x", "y"], [1.0, 2.0], [3.0, 4.0]]})
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    before = parts["xl/worksheets/sheet1.xml"]
    parts["xl/worksheets/sheet1.xml"] = before.replace(*change)
    assert parts["xl/worksheets/sheet1.xml"] != before
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(TableError, match=words):
        read_table(path)


@pytest.mark.parametrize("write", [write_xlsx, write_ods])
def test_names_given_twice_brackets_and_footnotes(write, tmp_path):
    rows = [
        ["account", "sum", "sum"],
        ["sales", "1,200", "(350)"],
        ["costs", "(1,100.5)", 20.0],
        ["rent", -5.0, "7*"],
        ["tax", 3.0, 4.0],
        ["* estimated", None, None],
    ]
    table = read_table(write(tmp_path / f"t.{write.__name__[6:]}", {"s": rows}))
    np.testing.assert_array_equal(table.X, [[1200, -350], [-1100.5, 20], [-5, 7], [3, 4]])
    assert list(table.feature_names) == ["sum", "sum.1"]
    assert list(table.sample_names) == ["sales", "costs", "rent", "tax"]
    assert "columns of one name were numbered: sum" in said(table)
    assert "rows that fill the first column alone: * estimated" in said(table)
