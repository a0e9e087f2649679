"""CSV and TSV: delimiter, header and index column are found by looking."""

from __future__ import annotations

import codecs
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np

from loadstone.files.cells import NO_VALUE, Written, numbers_in
from loadstone.files.errors import TableError
from loadstone.files.foreign import foreign, opened
from loadstone.files.frames import table_of_frame, without_remarks
from loadstone.files.headings import (
    INDEX_NAMES,
    Heading,
    heading_of,
    is_number,
    joined_names,
    names_from_numbers,
    numbered,
    spelled,
)
from loadstone.files.remarks import (
    is_marked,
    remarks_above,
    remarks_noted,
    unmarked,
    with_mark,
    with_whole_remarks,
)
from loadstone.files.roles import named_by
from loadstone.files.table import Table, listed
from loadstone.files.totals import without_totals

_LOOK_AT = 20
_LOOK_AT_BYTES = 1 << 16
#: Columns that share their name with another from which on names are made unique here.
_CROWDED = 1000
#: Any number of blanks between cells, in the words of pandas.
WHITE = r"\s+"


def read_text(path: Path, roles: Mapping[str, str | None]) -> Table:
    """Read a table from text, gzipped or not.

    Parameters
    ----------
    path : Path
        The file.
    roles : mapping of str to str or None
        Columns by what somebody has said they are for. Cells of labels and of names stay as they
        are written: ``007`` is no seven.

    Returns
    -------
    Table
    """
    head = lines_of(path, _LOOK_AT)
    if not head:
        msg = f"{path} is empty; save the table again, or name another file"
        raise TableError(msg)
    delimiter = delimiter_of(path, head)
    n_remarks = remarks_above(head) if delimiter == WHITE else 0
    rows = _rows_below(head[n_remarks:], delimiter)
    decimal = "," if delimiter == ";" and _has_decimal_commas(rows) else "."
    heading = heading_of(rows, lambda cell: is_number(cell.replace(decimal, ".")))
    body = rows[heading.titles :]
    if heading.titles and not heading.rows:
        heading = Heading(heading.titles, int(has_header(body, decimal)))
    names = None if heading.is_usual else joined_names([unmarked(r) for r in body[: heading.rows]])
    header = has_header(rows, decimal) if heading.is_usual else bool(names)
    n_above = 0 if heading.is_usual else heading.titles + heading.rows
    if header and not names and (is_marked(rows[0]) or _is_crowded(rows)):
        names, n_above = [cell.strip() for cell in unmarked(rows[0])], 1
    as_text = named_by(roles, ("index", "labels"))
    options: dict[str, Any] = {
        "sep": delimiter,
        "header": 0 if header and not names else None,
        "names": numbered(names) if names else None,
        "decimal": decimal,
        "na_values": sorted(NO_VALUE | {word.upper() for word in NO_VALUE} | {"NaN", "None"}),
        "dtype": dict.fromkeys(as_text, str) or None,
        "encoding": encoding_of(path),
        "low_memory": False,
        "skipinitialspace": delimiter != WHITE,
        "encoding_errors": "replace",
    }
    with (
        foreign(path, f"a table separated by {delimiter!r}"),
        opened(path, max(len(row) for row in rows)) as file,
        _after(file, n_remarks + n_above, options["encoding"], delimiter) as content,
    ):
        frame = _frame(content, options, rows)
        repeated = names_given_twice(names or rows[0]) if header else []
        frame, remarks = without_remarks(frame) if _is_default(frame.index) else (frame, [])
        frame = with_first_as_index(frame, roles, header=header)
        table = table_of_frame(frame, str(path), named=header, decimal=decimal, as_text=as_text)
    doubt = _doubt(rows) if delimiter == ";" and decimal == "." else []
    numeric = names_from_numbers(body, decimal) if heading.rows < 2 else []
    above = [*remarks_noted(head[:n_remarks]), *heading_notes(heading, rows)]
    return without_totals(table.noting(*above, *numeric, *repeated, *remarks, *doubt))


def _rows_below(lines: list[str], delimiter: str) -> list[list[str]]:
    """The cells of these lines, of which a remark is one."""
    rows = list(rows_of(lines, delimiter))
    return with_whole_remarks(with_mark(rows) if delimiter == WHITE else rows, delimiter)


def _is_crowded(rows: list[list[str]]) -> bool:
    """Whether so many columns share a name that pandas, which counts them anew, takes minutes."""
    first = rows[0]
    even = all(len(row) == len(first) for row in rows)
    return even and all(first) and len(first) - len(set(first)) > _CROWDED


def _frame(content: TextIO | BinaryIO, options: dict[str, Any], rows: list[list[str]]) -> Any:
    """What pandas reads; names are one line each."""
    import pandas as pd

    named = options["header"] == 0 or options["names"] is not None
    ends = named and all(row[len(rows[0]) :] == [""] for row in rows[1:])
    if ends and len(rows) > 1:
        # Each line ends with a delimiter: what follows it is no cell.
        options = {**options, "index_col": False, "usecols": range(len(rows[0]))}
    try:
        frame = pd.read_csv(content, **options)
    except pd.errors.ParserError as error:
        found = _TOO_MANY.search(str(error))
        if found is None:
            raise
        msg = (
            f"line {found[2]} has {found[3]} cells, and the lines before it have {found[1]}; take "
            "out what is too much, or put quotes round cells that hold a delimiter"
        )
        raise pd.errors.ParserError(msg) from error
    return frame.rename(
        columns=lambda name: " ".join(name.split()) if isinstance(name, str) else name
    )


_TOO_MANY = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")


def names_given_twice(names: Sequence[Any]) -> list[str]:
    """A remark on columns that have one name."""
    counts = Counter(str(name).strip() for name in names)
    twice = [name for name, count in counts.items() if count > 1 and name]
    return [f"columns of one name were numbered: {listed(twice)}"] if twice else []


def _doubt(rows: list[list[str]]) -> list[str]:
    """A remark where dots may have been meant for thousands, and nothing in the file tells."""
    several = {j for row in rows for j, cell in enumerate(row) if cell.count(".") > 1}
    cells = [cell.strip() for row in rows for j, cell in enumerate(row) if j not in several]
    dotted = [cell for cell in cells if "." in cell and is_number(cell)]
    if not dotted or not all(_THOUSANDS.fullmatch(cell) for cell in dotted):
        return []
    return [f"dots were read as decimal points: {dotted[0]!r} is {float(dotted[0]):g}"]


def heading_notes(heading: Heading, rows: Sequence[Sequence[Any]]) -> list[str]:
    """What was decided about the first rows."""
    said = []
    if heading.titles:
        titles = [spelled(cell) for row in rows[: heading.titles] for cell in row[:1]]
        said.append(f"left out above the table: {listed([t for t in titles if t])}")
    if heading.rows > 1:
        said.append(f"{heading.rows} rows of headings were joined to one name per column")
    return said


def lines_of(path: Path, at_most: int | None = None) -> list[str]:
    """The lines of a text file, gzipped or not, that are not blank."""
    encoding = encoding_of(path)
    with foreign(path, "text"), opened(path) as file:
        content = io.TextIOWrapper(file, encoding=encoding, errors="replace", newline="")
        lines = list(islice(content, at_most))
    if any("\0" in line for line in lines):
        msg = f"{path} is not text; give it the ending of its kind (.npy, .npz, .parquet, .h5ad)"
        raise TableError(msg)
    return [line for line in lines if line.strip()]


def encoding_of(path: Path) -> str:
    """What the mark at the beginning of the file says; without one, what its bytes look like."""
    with foreign(path, "text"), opened(path) as file:
        head = file.read(_LOOK_AT_BYTES)
    # The mark of UTF-32 begins with that of UTF-16.
    if head[:4] in {codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE}:
        return "utf-32"
    if head[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
        return "utf-16"
    for zeros, letters, encoding in ((1, 0, "utf-16-le"), (0, 1, "utf-16-be")):
        # Of letters and digits, every second byte is zero, and no other one is.
        if head and head[zeros::2].count(0) > 0.4 * len(head) and not head[letters::2].count(0):
            return encoding
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def delimiter_of(path: Path, head: list[str]) -> str:
    """What separates the cells of these lines."""
    if ".tsv" in path.suffixes:
        return "\t"
    # The delimiter that cuts every line into the same number of pieces, and into most. Where the
    # heading has one piece less, it may lack a name for the rows; or what was cut are decimals.
    pieces = {d: [len(row) for row in rows_of(head, d)] for d in ",;\t|"}
    even = {d: n for d, n in pieces.items() if n and max(n) - min(n) <= 1 and _cuts_most(n)}
    if even:
        return max(even, key=lambda d: (max(even[d]) == min(even[d]), max(even[d])))
    blank = [len(row) for row in with_mark([line.split() for line in head[remarks_above(head) :]])]
    if len(blank) > 1 and min(blank) == max(blank) > 1 and not any(d in head[-1] for d in ",;\t|"):
        return WHITE
    # Titles and remarks have fewer pieces than the table, which most lines belong to.
    usual = {d: max(n, key=n.count) for d, n in pieces.items() if n}
    cut = {d: (pieces[d].count(k), k) for d, k in usual.items() if k > 1}
    return max(cut, key=lambda d: cut[d]) if cut else ","


def _cuts_most(n_pieces: list[int]) -> bool:
    """Whether at least half of the lines are cut: a comma within a title separates no cells."""
    return 2 * sum(n > 1 for n in n_pieces) >= len(n_pieces)


def rows_of(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """The cells of each row; a quoted cell may hold delimiters and go on over lines.

    The csv module does the same, but refuses cells of more than 131 072 letters, and a wide
    line that is cut at the wrong delimiter is one such cell.
    """
    if delimiter == WHITE:
        yield from (line.split() for line in lines)
        return
    row: list[str] = []
    quoted: list[str] = []
    for line in lines:
        for place, piece in enumerate(line.rstrip("\r\n").split(delimiter)):
            odd = piece.count('"') % 2 == 1
            if quoted:
                quoted += [delimiter if place else "\n", piece]
                if odd:
                    row.append(_unquoted("".join(quoted)))
                    quoted = []
            elif odd and piece.startswith('"'):
                quoted = [piece]
            else:
                row.append(_unquoted(piece))
        if not quoted:
            yield row
            row = []
    if quoted:
        yield [*row, _unquoted("".join(quoted))]


def _unquoted(cell: str) -> str:
    if cell.startswith('"'):
        return cell[1:].removesuffix('"').replace('""', '"')
    return cell


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    cells = [cell for row in rows[1:] for cell in row]
    commas = any("," in c and is_number(c.replace(".", "").replace(",", ".")) for c in cells)
    # A dot that is followed by anything but three digits separates decimals.
    dots = any("." in c and is_number(c) and not _THOUSANDS.fullmatch(c.strip()) for c in cells)
    return commas and not dots


_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:[.][0-9]{3})+")


def has_header(rows: list[list[str]], decimal: str) -> bool:
    """Whether the first row names the columns: text above numbers, or an empty corner."""
    if len(rows) < 2:
        return not all(is_number(cell) for cell in rows[0])
    first, second = rows[0], rows[1]
    if len(first) == len(second) - 1 or first[0].strip() == "":
        return True
    if names_from_numbers(rows, decimal):
        return True
    body = [cell.replace(decimal, ".") for cell in second]
    return any(
        not is_number(top) and is_number(cell) for top, cell in zip(first, body, strict=False)
    ) or (not any(is_number(cell) for cell in body) and len(set(first)) == len(first))


def _after(file: BinaryIO, n_rows: int, encoding: str, delimiter: str) -> TextIO | BinaryIO:
    """The text behind so many rows; a row may have several lines, and blank ones are none."""
    if n_rows == 0:
        return file
    text = io.TextIOWrapper(file, encoding=encoding, errors="replace", newline="")
    # Line by line: an iterator of the file would read ahead of what is left.
    lines = (line for line in iter(text.readline, "") if line.strip())
    for _ in islice(rows_of(lines, delimiter), n_rows):
        pass
    return text


def may_name_rows(first: str, roles: Mapping[str, str | None]) -> bool:
    """Whether the first column may be looked at: nobody has said what names the rows, or what it is."""
    return roles.get("index") is None and first not in roles.values()


def with_first_as_index(frame: Any, roles: Mapping[str, str | None], *, header: bool) -> Any:
    """The first column as names of the rows, where it is that."""
    if frame.shape[1] < 2 or not _is_default(frame.index):
        return frame
    if not may_name_rows(str(frame.columns[0]), roles):
        return frame
    first = frame.iloc[:, 0]
    title = str(frame.columns[0]) if header else ""
    unnamed = header and title.startswith("Unnamed:")
    counts = (first.dtype.kind in "iu" and (np.diff(first.to_numpy()) == 1).all()) and first.iloc[
        0
    ] in (0, 1)
    text = (
        first.dtype.kind not in "biufc"
        and first.is_unique
        and not first.isna().any()
        and not isinstance(numbers_in(first.tolist()), Written)
    )
    if unnamed or text or (counts and header and title.strip().lower() in INDEX_NAMES):
        return frame.iloc[:, 1:].set_axis([" ".join(str(name).split()) for name in first], axis=0)
    return frame


def _is_default(index: Any) -> bool:
    import pandas as pd

    return isinstance(index, pd.RangeIndex)
