"""``loadstone path``: variance against the number of features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table as RichTable

from loadstone.commands.fit import units_note
from loadstone.commands.outputs import refuse_results, write_together
from loadstone.commands.progress import stages
from loadstone.commands.reading import Reading, named
from loadstone.commands.terminal import Terminal, bar
from loadstone.files.column_names import names_of
from loadstone.files.errors import OptionError, TableError
from loadstone.files.spreadsheet import write_csv
from loadstone.files.table import Table
from loadstone.report.headline import percent

#: Rows the terminal shows; the file has all.
SHOWN = 15
#: What the folder holds.
FILES = ("path.csv", "path.png")


def path(
    terminal: Terminal,
    reading: Reading,
    options: dict[str, Any],
    output: Path | None,
    *,
    force: bool,
) -> None:
    """Follow the best component over the number of features it may use."""
    from loadstone.selection.cardinality_path import cardinality_path
    from loadstone.selection.suggest import suggest_cardinality

    folder = reading.folder("path") if output is None else output
    if folder.suffix in (".csv", ".png"):
        msg = (
            f"--output {folder} is a folder, which path.csv and path.png go into; give it no ending"
        )
        raise OptionError(msg)
    refuse_results(folder, FILES, force=force, inputs=[reading.file])
    with stages(terminal.err, quiet=terminal.quiet) as steps:
        steps.next(f"Reading {reading.file.name}")
        table = reading.table()
        _refuse_one_feature(table, reading.file)
        for note in (*table.notes, *units_note(table.X, options)):
            terminal.note(f"note: {note}")
        steps.next("Following the path")
        found = cardinality_path(named(table), sample_weight=table.weights, **options)
        suggestion = suggest_cardinality(found)
        size, why = int(suggestion.n_nonzero), str(suggestion.reason)
        writers: dict[str, Any] = {
            "path.csv": lambda place: write_csv(found.to_frame(), place),
            "path.png": lambda place: _draw(found, size, place),
        }
        written = write_together(folder, writers, FILES, force=force)
    _print(terminal, found, size, why)
    for file in written:
        terminal.say(f"wrote {file}")
    terminal.result(
        "path",
        {
            "objective": found.objective,
            "n_nonzeros": [int(k) for k in found.n_nonzeros],
            "values": [float(v) for v in found.values],
            "ratio": [float(r) for r in found.ratio],
            "recovered": [float(r) for r in found.recovered],
            "pca_recovered": found.pca_recovered,
            "suggested": size,
            "why": why,
            "files": [str(file) for file in written],
        },
    )


def _refuse_one_feature(table: Table, file: Path) -> None:
    """Say that there is nothing to follow before it is followed."""
    if table.X.shape[1] == 1:
        msg = (
            f"{file.name} has 1 feature, {names_of(table)[0]}, and a path goes over numbers of features; "
            "give a file, or --columns, with at least 2"
        )
        raise TableError(msg)


def _draw(found: Any, size: int, picture: Path) -> None:
    from matplotlib.figure import Figure

    from loadstone.plotting import plot_variance_path

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    plot_variance_path(found, chosen=size, ax=figure.add_subplot())
    figure.savefig(picture, dpi=150)


def _print(terminal: Terminal, found: Any, size: int, why: str) -> None:
    table = RichTable(show_edge=False, pad_edge=False)
    table.add_column("features", justify="right")
    table.add_column(found.quantity, justify="right")
    table.add_column("of PCA", justify="right")
    table.add_column("recovered", justify="right")
    table.add_column("", style="blue")
    step = max(1, len(found.n_nonzeros) // SHOWN)
    for i, k in enumerate(found.n_nonzeros):
        if i % step == 0 or k == size or i == len(found.n_nonzeros) - 1:
            style = "bold" if k == size else None
            ratio = float(found.ratio[i])
            values = (str(k), f"{found.values[i]:.4g}", percent(ratio))
            share = percent(float(found.recovered[i]))
            table.add_row(*values, share, bar(ratio, 1.0, 20), style=style)
    terminal.show(table)
    terminal.say(f"\nPCA recovers {percent(found.pca_recovered)} of all features' variance.")
    terminal.say(f"\nSuggested size: {size} ({why}).")
