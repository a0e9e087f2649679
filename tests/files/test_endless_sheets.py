"""Workbooks that say little and mean millions of cells: refused, where ordinary ones are read."""

import re
import zipfile

import numpy as np
import pytest

from loadstone.files.errors import TableError
from loadstone.files.foreign import MOST_DEFLATED
from loadstone.files.sheets import Repeated
from loadstone.files.tables import read_table
from loadstone.files.workbooks import _filled
from workbook_writer import write_xlsx

NAMES = ("a", "b", "c")


def number(value, times=1):
    return (
        f'<table:table-cell table:number-columns-repeated="{times}" office:value-type="float" '
        f'office:value="{value}"/>'
    )


def text(said, times=1):
    repeated = f'table:number-columns-repeated="{times}"'
    return f"<table:table-cell {repeated}><text:p>{said}</text:p></table:table-cell>"


def row(*cells, times=1):
    repeated = f'table:number-rows-repeated="{times}"'
    return f"<table:table-row {repeated}>{''.join(cells)}</table:table-row>"


def write_content(path, *rows):
    """An ODS file with these elements in its sheet."""
    spaces = 'xmlns:office="o" xmlns:table="t" xmlns:text="x"'
    sheet = f'<table:table table:name="S">{"".join(rows)}</table:table>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("content.xml", f"<office:content {spaces}>{sheet}</office:content>")
    return path


def rewritten(path, change, member="xl/worksheets/sheet1.xml"):
    """The same workbook after ``change`` to a member."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    before = parts[member]
    parts[member] = change(before)
    assert parts[member] != before
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


ENDLESS = {
    "rows": (row(number(1), number(2), number(5), times=900_000), "bytes and repeats cells"),
    "rows of rows": (row(number(1, 10), times=1000) * 250, "bytes and repeats cells"),
    "columns": (row(number(1, 16_000)) * 140, "bytes and repeats cells"),
    "texts": (row(number(1), text("ab" * 50_000), times=200), "repeats cells or texts until"),
    "spaces": (row(number(1), text('a<text:s text:c="100000000"/>b')), "take 100 MB or more"),
    "beyond the rows": (row(number(1)) + row(number(2), times=1 << 20), "beyond the last row"),
    "beyond the columns": (row(number(1), number(2, 1 << 14)) * 3, "beyond the last row or column"),
    "digits": (row(number(1), times="9" * 5000), "by a number of 5000 digits; it is damaged"),
    "sheets": (row(number(1)) + "</table:table><table:table>" * 10_000, "more than 10000 sheets"),
    "depth": (row(number(1), "<a>" * 1000, "</a>" * 1000), "1000 elements within each other"),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_endless_repetitions_are_refused(kind, tmp_path):
    body, said = ENDLESS[kind]
    heading = row(*map(text, NAMES))
    path = write_content(tmp_path / "t.ods", heading, *[row(number(i)) for i in range(5)], body)
    assert path.stat().st_size < 10_000
    with pytest.raises(TableError, match=said) as refused:
        read_table(path)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_ordinary_repetitions_are_read(tmp_path):
    fill = '<table:table-cell table:number-columns-repeated="16381"/>'
    path = write_content(
        tmp_path / "t.ods",
        row(*map(text, NAMES), text("kind"), fill),
        row(number(1), number(2.5, 2), text("u"), fill, times=1000),
        row(number(0, 3), text('u<text:s text:c="3"/>v<text:s/>w'), fill),
        row(number(4), number(-1, 2), text("u"), fill, times=2),
        # The rest of the sheet, in which a space may stand.
        row(text(" ", 3), fill, times=(1 << 20) + 7),
    )
    table = read_table(path)
    rows = [[1, 2.5, 2.5]] * 1000 + [[0, 0, 0]] + [[4, -1, -1]] * 2
    np.testing.assert_array_equal(table.X, rows)
    assert list(table.feature_names) == list(NAMES)
    assert list(table.columns["kind"]) == ["u"] * 1000 + ["u   v w"] + ["u"] * 2


def test_the_last_row_and_column_are_read(tmp_path):
    path = write_content(
        tmp_path / "t.ods",
        row(number(1), "<table:table-cell " + 'table:number-columns-repeated="16382"/>', number(3)),
        row(times=(1 << 20) - 3),
        row(number(2), "<table:table-cell " + 'table:number-columns-repeated="16382"/>', number(7)),
        row(number(5), times=1),
    )
    table = read_table(path, missing="keep")
    np.testing.assert_array_equal(table.X, [[1, 3], [2, 7], [5, np.nan]])


def test_a_row_that_is_repeated_stays_one(tmp_path):
    shared, other = {0: 1.0, 2: "x", 3: " "}, {2: 4.0}
    rows = _filled({7: other, **dict.fromkeys(range(5), shared), 9: {1: ""}}, tmp_path)
    assert rows == [[1.0, "x"]] * 5 + [[None, 4.0]]
    assert len({id(cells) for cells in rows}) == 2


def test_large_files_may_repeat_more(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(bytes(100_000))
    counted = Repeated(path)
    counted.count(MOST_DEFLATED * 100_000)
    with pytest.raises(TableError, match="has 100000 bytes and repeats"):
        counted.count(1)


def deep(content):
    return content.replace("</row>", "<a>" * 1000 + "</a>" * 1000 + "</row>", 1)


def thousands(content):
    return content.replace("</sheets>", '<sheet name="b" r:id="rId7"/>' * 10_000 + "</sheets>")


def twice(content):
    return content.replace("</sheets>", '<sheet name="b" r:id="rId1"/></sheets>')


@pytest.mark.parametrize(
    ("member", "change", "said"),
    [
        ("worksheets/sheet1.xml", deep, "1000 elements within each other"),
        ("workbook.xml", thousands, "more than 10000 sheets"),
        ("workbook.xml", twice, "two sheets with the same cells"),
    ],
)
def test_endless_workbooks_are_refused(member, change, said, tmp_path):
    path = write_xlsx(tmp_path / "t.xlsx", {"a": [["x", "y"], [1.0, 2.0], [3.0, 5.0]]})
    with pytest.raises(TableError, match=said):
        read_table(rewritten(path, change, f"xl/{member}"))


def test_a_long_text_that_every_cell_refers_to_is_counted(tmp_path):
    path = write_xlsx(tmp_path / "t.xlsx", {"a": [["x", 1.0], ["ab" * 50_000, 2.0]] * 200})
    # Each cell refers to the second text.
    rewritten(path, lambda content: re.sub(r't="s"><v>\d+<', 't="s"><v>1<', content))
    shared = f"<sst><si><t>x</t></si><si><t>{'ab' * 50_000}</t></si></sst>"
    rewritten(path, lambda _: shared, "xl/sharedStrings.xml")
    with pytest.raises(TableError, match="repeats cells or texts until they take"):
        read_table(path)


def test_sheets_without_plain_numbers_are_read_once(tmp_path):
    rows = [["x", "y"], ["1,200", "3,100"], ["1,300", "2,500"], ["1,700", "2,900"]]
    path = write_xlsx(tmp_path / "t.xlsx", {"a": rows})
    # Rows without a number follow each other.
    rewritten(path, lambda content: re.sub(r' r="[A-Z]*\d+"', "", content))
    np.testing.assert_array_equal(read_table(path).X, [[1200, 3100], [1300, 2500], [1700, 2900]])
