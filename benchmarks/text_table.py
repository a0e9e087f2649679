"""Plain text tables for studies that print."""

from __future__ import annotations

import numpy as np


def table(header: list[str], rows: list[list[object]]) -> str:
    """A plain text table."""
    cells = [header, *[[_show(cell) for cell in row] for row in rows]]
    widths = [max(len(row[j]) for row in cells) for j in range(len(header))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in cells]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(line.rstrip() for line in lines)


def _show(cell: object) -> str:
    if isinstance(cell, float | np.floating):
        return f"{cell:.6g}"
    return str(cell)
