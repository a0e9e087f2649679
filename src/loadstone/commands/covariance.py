"""``loadstone covariance``: files summed up one after another; and ``fit`` from the sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from loadstone.commands.fit import (
    Request,
    asked,
    fitted,
    path_of,
    print_found,
    units_note,
)
from loadstone.commands.outputs import refuse_results, write_together
from loadstone.commands.progress import stages
from loadstone.commands.reading import Reading, named
from loadstone.commands.shell_words import flag_of
from loadstone.commands.terminal import Terminal
from loadstone.covariance import SampleCovariance
from loadstone.covariance.sample_file import is_sample_file
from loadstone.files.atomic import refuse_existing
from loadstone.files.errors import OptionError, TableError
from loadstone.files.table import Table

if TYPE_CHECKING:
    from loadstone.report.render import Report


def covariance(
    terminal: Terminal, readings: Sequence[Reading], output: Path, *, force: bool
) -> None:
    """Add up files, of which one at a time is in memory, and save the covariance."""
    refuse_existing([output], force=force, inputs=[reading.file for reading in readings])
    total: SampleCovariance | None = None
    with stages(terminal.err, quiet=terminal.quiet) as steps:
        for reading in readings:
            file = reading.file
            steps.next(f"Adding {file.name}")
            part, notes = _summed_up(reading)
            for note in notes:
                terminal.note(f"note: {file.name}: {note}")
            try:
                total = part if total is None else total + part
            except ValueError as error:
                msg = f"{file.name} does not go with the files before it: {error}"
                raise TableError(msg) from error
        assert total is not None
        total.save(output)
    terminal.say(
        f"wrote {output}: {total.n_samples:.10g} samples of {total.n_features} features "
        f"from {len(readings)} file(s)"
    )
    found = {"n_samples": total.n_samples, "n_features": total.n_features, "files": [str(output)]}
    terminal.result("covariance", found)


def _summed_up(reading: Reading) -> tuple[SampleCovariance, tuple[str, ...]]:
    if is_sample_file(reading.file):
        return SampleCovariance.load(reading.file), ()
    table = reading.table()
    names = table.feature_names
    part = SampleCovariance.of(named(table), table.weights)
    if names is not None:
        # Sparse and mapped matrices carry no names.
        part = replace(part, names=np.asarray(names, dtype=object))
    return part, table.notes


def fit_covariance(terminal: Terminal, request: Request) -> None:
    """``loadstone fit`` of a saved covariance: loadings, model and report, but no scores."""
    _refuse_options_for_rows(request.reading)
    request.refuse_conflicts(as_json=terminal.as_json)
    refuse_results(request.folder, force=request.force, inputs=request.files)
    with stages(terminal.err, quiet=terminal.quiet) as steps:
        steps.next(f"Reading {request.reading.file.name}")
        C = SampleCovariance.load(request.reading.file)
        # Only the features: a table without rows.
        table, options = asked(Table(np.empty((0, C.n_features)), C.names), request)
        for note in (*table.notes, *units_note(C, request.options, request.method)):
            terminal.note(f"note: {note}")
        drawn = request.pictures.of(C.names, C.n_features)
        model = fitted(C, table, request.method, options, steps)
        path = path_of(C, model, request.effort, steps) if request.with_path else None
        steps.next("Summing up")
        report = _report_of(model, C, path, request.reading.file, drawn)
        steps.next("Writing results")
        written = _write(request, model, C, report)
    print_found(terminal, report.summary, written)
    terminal.result("fit", {**report.summary, "files": [str(file) for file in written]})


def _refuse_options_for_rows(reading: Reading) -> None:
    unasked = Reading(file=reading.file)
    for option, value in vars(replace(reading, described=False)).items():
        if value != vars(unasked)[option]:
            msg = (
                f"{flag_of(option)} is about rows, and {reading.file.name} is a covariance, which has "
                "none; give it to loadstone covariance"
            )
            raise OptionError(msg)


def _report_of(
    model: Any, C: SampleCovariance, path: Any, file: Path, drawn: dict[str, Any]
) -> Report:
    from loadstone.report.render import build_report

    return build_report(
        model,
        C,
        None,
        C.names,
        path,
        title=file.name,
        notes=["Computed from a covariance: there are no samples, and so no scores."],
        **drawn,
    )


def _write(request: Request, model: Any, C: SampleCovariance, report: Report) -> list[Path]:
    from loadstone.estimators.model_file import save_model

    writers: dict[str, Any] = {
        "loadings.csv": lambda p: model.loadings_table(C.names).to_csv(p, index=False),
        "model.npz": lambda p: save_model(model, p),
    }
    if request.with_report:
        writers["report.html"] = report.save
    return write_together(request.folder, writers, force=request.force)
