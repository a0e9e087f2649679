"""What is kept of a run: ``numbers.json``, ``claims.md`` and the figures."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from experiments.claim import Claim, Measured

#: Significant digits that are kept.
DIGITS = 6
#: Times of runs, which differ each time.
RUN_TIMES = ("seconds", "cpu seconds")


def file_name(claim_id: str, word: str = "") -> str:
    """The name of a figure's files, without their ending."""
    parts = [claim_id, word] if word else [claim_id]
    return re.sub(r"[^\w.-]+", "_", "-".join(parts))


def rounded(value: Any) -> Any:
    """Plain Python numbers with :data:`DIGITS` digits, in lists, tuples and dictionaries."""
    if isinstance(value, Mapping):
        return {str(name): rounded(part) for name, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [rounded(part) for part in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{value:.{DIGITS}g}")
    return value


def save_figures(claim_id: str, figures: Mapping[str, Any], folder: Path) -> list[str]:
    """Save each as PNG and SVG; return the names of the PNG files."""
    names = []
    folder.mkdir(parents=True, exist_ok=True)
    # Without a date and with names that are always the same, so that equal pictures are equal files.
    with mpl.rc_context({"svg.hashsalt": claim_id}):
        for word, figure in figures.items():
            name = file_name(claim_id, word)
            figure.savefig(folder / f"{name}.png", dpi=100, metadata={"Software": None})
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
            names.append(f"{name}.png")
    return names


def entry_of(
    claim: Claim, measured: Measured, figures: list[str], *, quick: bool, seconds: Sequence[float]
) -> dict[str, Any]:
    """All that is remembered of one claim."""
    entry: dict[str, Any] = rounded(
        {
            **judged(claim, measured.everything),
            "quick": quick,
            "numbers": dict(measured.numbers),
            "timings": {**measured.timings, **dict(zip(RUN_TIMES, seconds, strict=True))},
            "tables": [asdict(table) for table in measured.tables],
            "figures": figures,
            "remarks": list(measured.remarks),
        }
    )
    return entry


def judged(claim: Claim, found: Mapping[str, Any]) -> dict[str, Any]:
    """What a claim says, and what its rules say of these numbers."""
    verdicts = [judgement.verdict(found) for judgement in claim.judged]
    return {
        "id": claim.id,
        "printed": claim.printed,
        "data": claim.data,
        "how": claim.how,
        "verdicts": [_said(v, j.of) for v, j in zip(verdicts, claim.judged, strict=True)],
        "expected": [_said(j.expected, j.of) for j in claim.judged],
        "fitted": [judgement.fitted for judgement in claim.judged if judgement.fitted],
        "rules": [
            [f"{kind}: {c.describe()}", c.holds(found)]
            for judgement in claim.judged
            for kind, checks in (
                ("as printed", judgement.as_printed),
                ("in kind", judgement.in_kind),
            )
            for c in checks
        ],
        "reference": [
            [c.describe(), c.holds(found), c.argued] for c in claim.reference if c.number in found
        ],
    }


def judged_again(claim: Claim, entry: dict[str, Any]) -> dict[str, Any]:
    """The same numbers under the rules as they are now."""
    return {**entry, **judged(claim, {**entry["numbers"], **entry["timings"]})}


def _said(verdict: str, of: str) -> str:
    return f"{verdict} {of}".strip()


def surroundings() -> dict[str, str]:
    """Versions that a number can depend on."""
    packages = ("loadstone", "numpy", "scipy", "scikit-learn", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def write(
    folder: Path,
    title: str,
    entries: Sequence[dict[str, Any]],
    order: Sequence[str],
    *,
    keep: bool,
    versions: dict[str, str] | None = None,
) -> None:
    """Write ``numbers.json`` and ``claims.md``; ``keep`` leaves other claims that are there."""
    path = folder / "numbers.json"
    known = {}
    if keep and path.exists():
        known = {e["id"]: e for e in json.loads(path.read_text(encoding="utf-8"))["claims"]}
    known |= {entry["id"]: entry for entry in entries}
    there = [known[name] for name in order if name in known]
    content = {"paper": title, "versions": versions or surroundings(), "claims": there}
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    # Rows of numbers on one line: thirty figures of a curve are no thirty lines.
    text = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", text)
    path.write_text(text + "\n", encoding="utf-8")
    (folder / "claims.md").write_text(page(title, there), encoding="utf-8")


def page(title: str, entries: Sequence[dict[str, Any]]) -> str:
    """``claims.md``: a table of all claims, then each with its numbers."""
    from experiments.markdown import claim_section, overview

    parts = [f"# {title}, claim by claim\n", overview(entries)]
    parts += [claim_section(entry, images="", level=2) for entry in entries]
    return "\n".join(parts)
