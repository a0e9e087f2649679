"""Claims as Markdown: for ``claims.md`` of a run and for the pages of the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def shown(value: Any) -> str:
    """A value as a page prints it: at most four significant digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(shown(part) for part in value)
    if isinstance(value, float):
        if value == 0 or 1e-3 <= abs(value) < 1e4:
            return f"{value:.4g}"
        return f"{value:.1e}"
    return str(value)


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        cells = [shown(cell).replace("|", "&#124;") for cell in row]
        lines += [f"| {' | '.join(cells)} |"]
    return "\n".join(lines) + "\n"


def verdict_of(entry: dict[str, Any]) -> str:
    """All verdicts of a claim in one line."""
    return "; ".join(entry["verdicts"])


def overview(entries: Sequence[dict[str, Any]]) -> str:
    """One line for each claim."""
    rows = [
        (f"`{e['id']}`", e["printed"], e["data"], verdict_of(e), _agreement(e)) for e in entries
    ]
    return table(("claim", "printed", "data", "verdict", "reference values met"), rows)


def _agreement(entry: dict[str, Any]) -> str:
    met = [holds for _, holds, _ in entry["reference"]]
    return f"{sum(met)} of {len(met)}" if met else ""


def claim_section(entry: dict[str, Any], *, images: str, level: int) -> str:
    """Everything about one claim."""
    parts = [
        f"{'#' * level} {entry['id']}\n",
        f"*{entry['printed']}*\n",
        f"**{verdict_of(entry).capitalize()}.** Data: {entry['data']}. How: {entry['how']}.\n",
    ]
    parts += [f"Fitted: {text}.\n" for text in entry["fitted"]]
    parts += [f"{text}\n" for text in entry["remarks"]]
    for made in entry["tables"]:
        caption = f"{made['caption']}\n\n" if made["caption"] else ""
        parts.append(caption + table(made["head"], made["rows"]))
    parts += [f"![{entry['printed']}]({images}{name})\n" for name in entry["figures"]]
    rules = [(rule, "holds" if holds else "fails") for rule, holds in entry["rules"]]
    rules += [
        (f"reference: {rule}", "holds" if holds else f"missed: {argued}".removesuffix(": "))
        for rule, holds, argued in entry["reference"]
    ]
    if rules:
        parts.append(table(("rule", ""), rules))
    scalars = [(k, v) for k, v in entry["numbers"].items() if not isinstance(v, list)]
    if scalars and not entry["tables"]:
        parts.append(table(("number", "measured"), scalars))
    return "\n".join(parts)
