"""``loadstone datasets``: what data sets there are, and whether they are at hand."""

from __future__ import annotations

from rich.table import Table

from loadstone.commands.terminal import Terminal
from loadstone.datasets.catalogue import SOURCES, source
from loadstone.datasets.fetch import find


def list_all(terminal: Terminal) -> None:
    """List every data set."""
    table = Table(show_edge=False, pad_edge=False)
    for title in ("name", "samples x features", "at hand", "what"):
        table.add_column(title)
    for entry in SOURCES:
        here = "yes" if find(entry) else "download" if entry.address else "no"
        table.add_row(entry.name, f"{entry.shape[0]} x {entry.shape[1]}", here, entry.title)
    terminal.show(table)
    terminal.say("\nLocal copies are looked for in the folder that LOADSTONE_DATA names.")
    terminal.result(
        "datasets list", {"datasets": [_described(entry.name) for entry in SOURCES], "files": []}
    )


def show(terminal: Terminal, name: str) -> None:
    """Describe one data set."""
    about = _described(name)
    for key, value in about.items():
        terminal.say(f"{key.replace('_', ' '):<10} {value if value is not None else '-'}")
    terminal.result("datasets show", {**about, "files": []})


def _described(name: str) -> dict[str, object]:
    entry = source(name)
    here = find(entry)
    return {
        "name": entry.name,
        "what": entry.title,
        "samples": entry.shape[0],
        "features": entry.shape[1],
        "file": entry.file,
        "sha256": entry.digest,
        "home": entry.home,
        "address": entry.address,
        "citation": entry.citation,
        "terms": entry.terms,
        "at_hand": None if here is None else str(here),
    }
