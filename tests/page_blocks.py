"""Blocks of code on the pages of the documentation, as a reader meets them.

A block is run unless the line before it says why not, ``<!-- not run: reason -->``. A block of
text after ``<!-- output -->`` is what the block before it prints; numbers may differ in their
last digits from machine to machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("[!_]*.md")), *sorted(DOCS.glob("methods/*.md"))]
#: What is run; pages may show other languages, which are to be read.
LANGUAGES = ("python", "sh")
#: Relative difference up to which two printed numbers are the same.
TOLERANCE = 2e-3

_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>[^\n]*?) -->\n)?(?P<fence>```+)(?P<language>\w+)\n(?P<code>.*?)^(?P=fence)$",
    flags=re.MULTILINE | re.DOTALL,
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True, kw_only=True)
class Block:
    """Code, the reason why it is not run where it has one, and what it prints where that is shown."""

    language: str
    code: str
    line: int
    not_run: str | None
    output: str | None = None


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page that are to be run, in the order of reading."""
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    for match in _BLOCK.finditer(text):
        mark = match["mark"] or ""
        if mark == "output":
            found[-1] = Block(**{**vars(found[-1]), "output": match["code"]})
        elif match["language"] in LANGUAGES:
            reason = mark.removeprefix("not run: ") if mark.startswith("not run: ") else None
            if mark in ("run", "test"):
                reason = "run by .ci/run, as printed"
            line = text[: match.start("code")].count("\n") + 1
            found.append(
                Block(language=match["language"], code=match["code"], line=line, not_run=reason)
            )
    return found


def same_output(printed: str, shown: str) -> bool:
    """Whether two texts have the same words, and numbers that agree to three digits.

    What is shown may break off with three dots.
    """
    if shown.rstrip().endswith("..."):
        shown = shown.rstrip().removesuffix("...")
        printed = " ".join(printed.split()[: len(shown.split())])
    words, numbers = zip(*map(_words_and_numbers, (printed, shown)), strict=True)
    return words[0] == words[1] and all(
        abs(a - b) <= TOLERANCE * max(abs(a), abs(b)) for a, b in zip(*numbers, strict=True)
    )


def _words_and_numbers(text: str) -> tuple[list[str], list[float]]:
    return _NUMBER.sub("#", text).split(), [float(number) for number in _NUMBER.findall(text)]
