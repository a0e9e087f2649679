"""Results as tables and numbers for the documentation: ratios, never seconds alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.runner import RESULTS, read

Row = dict[str, Any]
#: Share of the trace and largest inner product, as their authors print them: Cory-Wright and
#: Pauphilet's tables for both packages.
PUBLISHED = {
    "pit props": {"msPCA, as published": (0.794, 9e-5), "nsprcomp, as published": (0.816, 0.56)},
    "mtcars": {"msPCA, as published": (0.829, 9e-5), "nsprcomp, as published": (0.832, 0.078)},
}


def cases_of(rows: Sequence[Row]) -> dict[str, dict[str, Row]]:
    """Rows by the name of their case, then by method."""
    cases: dict[str, dict[str, Row]] = {}
    for row in rows:
        several = f", {row['n_components']} components" if row["n_components"] > 1 else ""
        name = f"{row['data']}{several}, k = {row['n_nonzero']}"
        cases.setdefault(name, {})[row["method"]] = row
    return cases


def ratio_table(rows: Sequence[Row], measure: str, *, to: str) -> Row:
    """One line for each case, one column for each method that ran anywhere.

    ``to`` is the method whose number the others are divided by, or "best" for the largest of all.
    """
    cases = cases_of(rows)
    methods = list(dict.fromkeys(r["method"] for r in rows if measure in r))
    made = []
    for name, found in cases.items():
        known = {m: r[measure] for m, r in found.items() if measure in r}
        unit = max(known.values()) if to == "best" else known[to]
        made.append([name, *(_ratio(known, m, unit, to=to) for m in methods)])
    return {"head": ["data", *methods], "rows": made}


def _ratio(known: dict[str, float], method: str, unit: float, *, to: str) -> str:
    if method not in known:
        return ""
    return f"{known[method] / unit:.4f}" if to == "best" else f"{known[method] / unit:.2g}"


def seconds_table(rows: Sequence[Row]) -> Row:
    """Processor time relative to the first method, whose seconds stand beside it."""
    first = rows[0]["method"]
    made = ratio_table(rows, "cpu seconds", to=first)
    seconds = [found[first]["cpu seconds"] for found in cases_of(rows).values()]
    made["head"][1] = f"{first}, seconds"
    for line, own in zip(made["rows"], seconds, strict=True):
        line[1] = f"{own:.2g}"
    return made


def memory_table(rows: Sequence[Row]) -> Row:
    """Most memory allocated in Python, over the size of the data."""
    shares = [
        {**row, "memory": row["peak megabytes"] * 1e6 / (8 * row["n_samples"] * row["n_features"])}
        for row in rows
        if "peak megabytes" in row
    ]
    methods = list(dict.fromkeys(row["method"] for row in shares))
    made = [
        [name, *(f"{found[m]['memory']:.2g}" if m in found else "" for m in methods)]
        for name, found in cases_of(shares).items()
    ]
    return {"head": ["data", *methods], "rows": made}


def orthogonal_table(rows: Sequence[Row]) -> Row:
    """Share of the trace and largest inner product, beside what was published."""
    cases = cases_of(rows)
    methods = list(dict.fromkeys(r["method"] for r in rows if "variance" in r))
    quoted = list(next(iter(PUBLISHED.values())))
    made = []
    for name, found in cases.items():
        cells = [_pair(found[m]["variance"], found[m]["inner product"]) for m in methods]
        printed = PUBLISHED[next(iter(found.values()))["data"]]
        # With the digits their authors give.
        made.append([name, *cells, *("{:.3g} / {:.2g}".format(*printed[q]) for q in quoted)])
    return {"head": ["data", *methods, *quoted], "rows": made}


def _pair(share: float, inner: float) -> str:
    return f"{share:.4f} / {inner:.0e}"


def skipped(rows: Sequence[Row]) -> list[str]:
    """Why methods did not run, each reason once."""
    return list(dict.fromkeys(f"{r['method']}: {r['skipped']}." for r in rows if "skipped" in r))


def numbers_of(rows: Sequence[Row]) -> dict[str, Any]:
    """Numbers that a page may quote, by case, method and measure."""
    numbers: dict[str, Any] = {}
    for name, found in cases_of(rows).items():
        values = {m: r["variance"] for m, r in found.items() if "variance" in r}
        for method, row in found.items():
            if method in values:
                numbers[f"{name}: {method} / best"] = values[method] / max(values.values())
                numbers[f"{name}: {method}, cpu seconds"] = row["cpu seconds"]
    return numbers


def entry_of(name: str, path: Path) -> Row:
    """Tables and numbers of a suite, in the form that pages are filled from."""
    kept = read(path)
    rows = kept["rows"]
    if name == "orthogonal":
        tables = [orthogonal_table(rows), seconds_table(rows)]
    else:
        tables = [ratio_table(rows, "variance", to="best"), seconds_table(rows), memory_table(rows)]
    reasons = [[reason] for reason in skipped(rows)]
    tables.append({"head": ["not run"], "rows": reasons or [["none"]]})
    machine = [[k, v] for part in ("machine", "versions") for k, v in kept[part].items()]
    tables.append({"head": ["measured with", ""], "rows": machine})
    return {"id": f"bench.{name}", "tables": tables, "numbers": numbers_of(rows), "timings": {}}


def entries(folder: Path = RESULTS) -> dict[str, Row]:
    """All suites that have results, by the names that pages use."""
    return {f"bench.{p.stem}": entry_of(p.stem, p) for p in sorted(folder.glob("*.json"))}
