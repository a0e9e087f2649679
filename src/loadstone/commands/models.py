"""``transform`` and ``report``: what is done with a saved model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from loadstone.commands.fit import path_of, report_of
from loadstone.commands.outputs import write_scores
from loadstone.commands.pictures import Pictures
from loadstone.commands.progress import Stages, stages
from loadstone.commands.reading import Reading, named
from loadstone.commands.terminal import Terminal
from loadstone.files.atomic import refuse_existing, writing
from loadstone.files.errors import TableError
from loadstone.files.table import Table, filled, without_missing
from loadstone.plotting.fitted import upper_bounds_of


def transform(
    terminal: Terminal, model_file: Path, reading: Reading, output: Path, *, force: bool
) -> None:
    """Project new samples on the components of a model."""
    refuse_existing([output], force=force, inputs=[model_file, reading.file])
    with stages(terminal.err, quiet=terminal.quiet) as steps:
        model, table = opened(terminal, model_file, reading, steps, new=True)
        scores = np.asarray(model.transform(named(table)))
        with writing(output) as temporary:
            write_scores(temporary, scores, table.sample_names, table.labels)
    terminal.say(f"{scores.shape[0]} sample(s), {scores.shape[1]} component(s): wrote {output}")
    terminal.result(
        "transform",
        {"n_samples": scores.shape[0], "n_components": scores.shape[1], "files": [str(output)]},
    )


def report(
    terminal: Terminal,
    model_file: Path,
    reading: Reading,
    pictures: Pictures,
    output: Path,
    *,
    with_path: bool,
    force: bool,
) -> None:
    """Write the report of a model on the data it was fitted to."""
    inputs = [model_file, reading.file, *pictures.files]
    refuse_existing([output], force=force, inputs=inputs)
    with stages(terminal.err, quiet=terminal.quiet) as steps:
        model, table = opened(terminal, model_file, reading, steps)
        drawn = pictures.of(table.feature_names, table.X.shape[1])
        path = None
        if with_path:
            # A band is drawn where the components come with proofs too.
            effort = False if upper_bounds_of(model) is None else "instant"
            path = path_of(table.X, model, effort, steps, table.weights)
        steps.next("Summing up")
        page = report_of(model, table, path, reading.file, drawn)
        page.save(output)
    terminal.say(page.summary["headline"])
    terminal.say(f"wrote {output}")
    terminal.result("report", {**page.summary, "files": [str(output)]})


def opened(
    terminal: Terminal, model_file: Path, reading: Reading, steps: Stages, *, new: bool = False
) -> tuple[Any, Table]:
    """A model, and the table with the features it was fitted to; ``new`` samples need no others."""
    from loadstone.estimators.model_file import load_model
    from loadstone.estimators.projection import groups_of

    steps.next(f"Opening {model_file.name}")
    model = load_model(model_file)
    steps.next(f"Reading {reading.file.name}")
    # Only tables of features with groups have columns that describe features.
    reading = replace(reading, described=groups_of(model) is not None)
    if new:
        table = completed(matched(reading.new_rows(), model), model, reading.missing)
    else:
        table = matched(reading.table(), model)
    for note in table.notes:
        terminal.note(f"note: {note}")
    return model, table


def completed(table: Table, model: Any, missing: str) -> Table:
    """New samples with their missing values as asked for.

    Means are those of the data that the model knows: the score of a sample depends on no other one.
    """
    if missing == "mean":
        return filled(table, model.mean_)
    return matched(without_missing(table, missing, new=True), model)


def matched(table: Table, model: Any) -> Table:
    """The features of the model, found by name where both have names."""
    wanted = getattr(model, "feature_names_in_", None)
    if wanted is None or table.feature_names is None:
        if table.X.shape[1] != model.n_features_in_:
            msg = (
                f"the file has {table.X.shape[1]} features and the model was fitted to "
                f"{model.n_features_in_}; take a file with the columns the model was fitted to"
            )
            raise TableError(msg)
        return table
    place = {str(name): i for i, name in enumerate(table.feature_names)}
    lost = [str(name) for name in wanted if str(name) not in place]
    if lost:
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        msg = (
            f"the file lacks features of the model: {', '.join(lost[:3])}{more}; take a file with the "
            "columns the model was fitted to, or fit a model to these"
        )
        raise TableError(msg)
    order = np.array([place[str(name)] for name in wanted])
    extra = len(place) - order.size
    if extra:
        table = table.noting(f"{extra} feature(s) that the model does not know were left out")
    if extra or (order != np.arange(order.size)).any():
        table = table.with_features(order)
    return table
