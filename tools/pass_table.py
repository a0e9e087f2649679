"""How often every public function reads data that is out of core; prints the table of the docs.

::

    python tools/pass_table.py

``STATED`` is the promise: tests count the passes of everything the registry knows on small Dask
arrays in chunks, and compare. A new estimator or function needs a line here.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "large_data.md"
MEASURED = ROOT / "benchmarks" / "large_data.json"
#: Each table stands between its first line and the last one.
BEGIN = "<!-- made by tools/pass_table.py -->\n"
END = "<!-- until here -->\n"
BEGIN_MEASURED = "<!-- measured by benchmarks/large_data.py -->\n"

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))

import loadstone  # noqa: E402


class Passes(NamedTuple):
    """Passes over tall and over wide data; ``None`` where it is refused.

    Attributes
    ----------
    tall : int or None
        At most as many features as samples; a look at the first block is not counted.
    wide : int or None
        More features than samples, beyond what is read into memory.
    per_component : int
        On wide data, for each component on top.
    note : str
        What else to know.
    """

    tall: int | None
    wide: int | None
    per_component: int = 0
    note: str = ""


#: Methods that search on a working set: Gram matrix, first look, and three times all features.
SEARCHED = Passes(1, 5)
#: Methods that look at every feature again and again.
ALL_FEATURES = Passes(1, 1, note="up to 128 MB of columns, refused with the size beyond")
STATED: dict[str, Passes] = {
    "SparsePCA": SEARCHED,
    "SparsePCA, certify='instant'": Passes(1, 6, 3, "a fingerprint, and bounds of each component"),
    "SparsePCA, certify='standard'": Passes(1, 15, 3, "duals of the first component"),
    "EMPCA": SEARCHED,
    "GreedyPCA": SEARCHED,
    "FeatureSelector": SEARCHED,
    "SparseNoisyPCA": Passes(1, 4),
    "SparseProbabilisticPCA": Passes(1, 4),
    "ProbabilisticPCA": Passes(1, 7),
    "ThresholdedPCA": Passes(1, 1, 4),
    "SpannogramPCA": Passes(1, 1, 8),
    "NSPCA": ALL_FEATURES,
    "ElasticNetPCA": ALL_FEATURES,
    "ExactSparsePCA": ALL_FEATURES,
    "SparsePCACV": Passes(1, 6, note="for all folds and sizes together"),
    "cardinality_path": Passes(1, 6, note="whatever the number of sizes"),
    "cardinality_path, certified": Passes(1, 7, note="one reduction for the bounds of all sizes"),
    "certify": Passes(1, 16, note="at most three rounds of duals on a working set"),
    "certify, effort='instant'": Passes(1, 7),
    "stability_selection": Passes(1, None, note="covariances of random blocks of the rows"),
    "cross_validated_recovery": Passes(None, None, note="rows in memory"),
    "SampleCovariance.of": Passes(1, 1, note="features x features, as far as memory goes"),
    "transform": Passes(0, 0, note="lazy; one when it is computed"),
    "score": Passes(1, 1),
}
#: Public names that never see data out of core.
WITHOUT_DATA = {
    "CardinalityPath",
    "Certificate",
    "SampleCovariance",
    "Table",
    "load_model",
    "read_table",
    "save_model",
    "suggest_cardinality",
    "summarise",
}


def unstated() -> set[str]:
    """Public estimators and functions of which nothing is promised."""
    public = {
        name
        for name in loadstone.__all__
        if not inspect.ismodule(getattr(loadstone, name)) and not name.startswith("_")
    }
    return public - {name.split(",")[0] for name in STATED} - WITHOUT_DATA


def table() -> str:
    """The promise as Markdown."""
    lines = ["| call | tall | wide | |", "|---|---|---|---|"]
    for name, passes in STATED.items():
        wide = _count(passes.wide)
        if passes.per_component:
            wide += f" + {passes.per_component} per component"
        lines.append(f"| `{name}` | {_count(passes.tall)} | {wide} | {passes.note} |")
    return "\n".join(lines)


def _count(passes: int | None) -> str:
    return "refused" if passes is None else str(passes)


def measured_table() -> str:
    """Peaks of memory, and passes where both sides are large, as they were measured."""
    found = json.loads(MEASURED.read_text(encoding="utf-8"))
    lines = ["| measured | |", "|---|---|"]
    lines += [f"| {name} | {peak} GiB at most |" for name, peak in found["peak_gib"].items()]
    lines += [
        f"| `{name}`, one component, `route='data'` | {n} passes |"
        for name, n in found["passes"].items()
    ]
    return "\n".join(lines)


def page(text: str) -> str:
    """``text`` with the tables as they are now."""
    return _with(_with(text, BEGIN, table()), BEGIN_MEASURED, measured_table())


def _with(text: str, begin: str, made: str) -> str:
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(END)
    return f"{before}{begin}\n{made}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(table())
