"""Write the pages about the papers from the results of ``experiments`` and of ``benchmarks``.

::

    python -m experiments all      # measures, writes experiments/results
    python -m benchmarks           # measures, writes benchmarks/results
    python -m tools.make_papers    # writes docs/papers.md, docs/papers/ and parts of other pages

A page of ``docs/methods``, or ``docs/benchmarks.md``, asks for a part of the results between two
comments, on one line for a number and on lines of their own for the others; a suite of the
benchmarks is called ``bench.NAME``::

    <!-- number CLAIM; NAME; FORMAT --> ... <!-- end -->
    <!-- table CLAIM; PLACE --> ... <!-- end -->
    <!-- figure CLAIM; PLACE --> ... <!-- end -->

``FORMAT`` may be left out, and so may ``PLACE``, which counts from 0.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import benchmarks.tables
from experiments.claim import Verdict
from experiments.papers import papers

from experiments import markdown

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments" / "results"
DOCS = ROOT / "docs"
MARKED = re.compile(r"<!-- (number|table|figure) ([^>]*?) -->.*?<!-- end -->", re.DOTALL)

HEAD = """# The papers, claim by claim

<!-- made by tools/make_papers.py -->

Five papers stand behind this package, and each says things that can be measured. `python -m
experiments all` measures all of them on the papers' data and writes what follows; with `--quick` it
takes a minute for each paper, without it twenty minutes in all. Every verdict is computed from the
numbers by a rule that is printed beside them.

| verdict | meaning |
|---|---|
| reproduced | what is printed, within the tolerance that the rule names |
| reproduced in kind | its shape or order, not its digits |
| fitted | holds once a treatment, draw or sign is picked as the closest one: no evidence of its own |
| not reproducible | the numbers contradict it, or it cannot be measured as printed |
| drawn | a picture without a statement |
| open | the text at hand does not contain it |

*Reference values* are those that an independent implementation measured before.

"""


def results() -> dict[str, dict[str, Any]]:
    """What was measured, by paper; papers without results are left out."""
    files = {name: RESULTS / name / "numbers.json" for name in papers()}
    return {
        name: json.loads(path.read_text(encoding="utf-8"))
        for name, path in files.items()
        if path.exists()
    }


def entries() -> dict[str, tuple[str, dict[str, Any]]]:
    """Paper and results of every claim by its id, and suites of the benchmarks."""
    suites = {name: ("benchmarks", entry) for name, entry in benchmarks.tables.entries().items()}
    return suites | {
        entry["id"]: (paper, entry)
        for paper, found in results().items()
        for entry in found["claims"]
    }


def verdict_counts() -> str:
    """How many claims of each paper came to which verdict; a claim with several counts in each."""
    rows = []
    for name, found in results().items():
        said = Counter(
            next(v for v in sorted(Verdict, key=len, reverse=True) if text.startswith(v))
            for entry in found["claims"]
            for text in entry["verdicts"]
        )
        link = f"[{papers()[name].authors}](papers/{name}.md)"
        rows.append([link, len(found["claims"]), *(said[v] or "" for v in Verdict)])
    return markdown.table(["paper", "claims", *Verdict], rows)


def front_page() -> str:
    """``docs/papers.md``."""
    contents = "\n".join(f"papers/{name}" for name in results())
    return HEAD + verdict_counts() + f"\n```{{toctree}}\n:maxdepth: 1\n\n{contents}\n```\n"


def paper_page(name: str) -> str:
    """The page of one paper."""
    about, found = papers()[name], results()[name]
    parts = [
        f"# {about.authors}\n",
        "<!-- made by tools/make_papers.py -->\n",
        f"*{about.title}.* {about.where}. The method: [{about.page}](../methods/{about.page}.md).\n",
        *([f"{about.about}\n"] if about.about else []),
        markdown.overview(found["claims"]),
    ]
    images = f"../../experiments/results/{name}/"
    parts += [markdown.claim_section(e, images=images, level=2) for e in found["claims"]]
    parts.append(f"Measured with {', '.join(f'{k} {v}' for k, v in found['versions'].items())}.\n")
    return "\n".join(parts)


def part_of_results(kind: str, asked: str) -> str:
    """What stands between two comments of a page."""
    claim, *rest = (word.strip() for word in asked.split(";"))
    paper, entry = entries()[claim]
    if kind == "number":
        value = {**entry["numbers"], **entry["timings"]}[rest[0]]
        return format(value, rest[1]) if len(rest) > 1 else markdown.shown(value)
    place = int(rest[0]) if rest else 0
    if kind == "table":
        made = entry["tables"][place]
        return f"\n\n{markdown.table(made['head'], made['rows'])}\n"
    path = f"../../experiments/results/{paper}/{entry['figures'][place]}"
    return f"\n\n![{entry['printed']}]({path})\n\n"


def method_page(text: str) -> str:
    """A page of ``docs/methods`` with all its parts made anew."""
    return MARKED.sub(
        lambda m: f"<!-- {m[1]} {m[2]} -->{part_of_results(m[1], m[2])}<!-- end -->", text
    )


def pages() -> dict[Path, str]:
    """Every page that rests on results, as it should be."""
    made = {DOCS / "papers.md": front_page()}
    made |= {DOCS / "papers" / f"{name}.md": paper_page(name) for name in results()}
    for path in (DOCS / "benchmarks.md", *sorted((DOCS / "methods").glob("*.md"))):
        text = path.read_text(encoding="utf-8")
        if MARKED.search(text):
            made[path] = method_page(text)
    return made


if __name__ == "__main__":
    (DOCS / "papers").mkdir(exist_ok=True)
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
