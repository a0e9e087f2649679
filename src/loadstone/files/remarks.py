"""Remarks above a table of text, and the mark of a remark before its heading."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile

from loadstone.files.headings import is_blank
from loadstone.files.table import listed

#: What numpy.savetxt puts before names; "# of rooms" is a name, and so is "#chrom".
_MARK = re.compile(r"#\s+(?!of\b)(?=\S)")


def is_marked(row: Sequence[str]) -> bool:
    """Whether names of columns begin with the mark of a remark."""
    return _MARK.match(row[0]) is not None


def unmarked(row: Sequence[str]) -> list[str]:
    """Names of columns without the mark."""
    return [_MARK.sub("", row[0], count=1), *row[1:]]


def remarks_above(lines: Sequence[str]) -> int:
    """How many lines above cells between blanks are remarks; the last with # may be the heading."""
    n = sum(1 for _ in takewhile(lambda line: line.lstrip().startswith("#"), lines))
    if 0 < n < len(lines):
        words, width = lines[n - 1].split(), len(lines[n].split())
        names = len(words) == width + 1 and words[0] == "#" and is_marked([lines[n - 1].strip()])
        n -= names or len(words) == width
    return n


def remarks_noted(lines: Sequence[str]) -> list[str]:
    """What is told of remarks that were left out."""
    return [f"left out above the table: {listed(line.strip() for line in lines)}"] if lines else []


def with_mark(rows: list[list[str]]) -> list[list[str]]:
    """Rows of cells between blanks; a mark before the heading is part of its first cell."""
    if len(rows) < 2 or rows[0][0] != "#" or len(rows[0]) != len(rows[1]) + 1:
        return rows
    return [[f"# {rows[0][1]}", *rows[0][2:]], *rows[1:]]


def with_whole_remarks(rows: list[list[str]], delimiter: str) -> list[list[str]]:
    """Rows in which a remark above the table is one cell: what separates cells may stand in it."""
    sizes = [len(row) for row in rows]
    usual = max(sizes, key=sizes.count)

    def is_remark(row: list[str], below: list[str]) -> bool:
        # A heading may begin with # as well, and lack a name for the rows; or name groups of columns.
        if row[0].startswith("#"):
            return len(row) != usual and (len(row) != usual - 1 or below[0].startswith("#"))
        return len(row) <= usual // 2 and not is_blank(row[0])

    n = sum(1 for _ in takewhile(lambda pair: is_remark(*pair), pairwise(rows)))
    return [*([delimiter.join(row)] for row in rows[:n]), *rows[n:]]
