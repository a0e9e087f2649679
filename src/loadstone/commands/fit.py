"""``loadstone fit``: from a file to components, scores, a model and a report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table as RichTable

from loadstone.commands.methods import build_estimator, default_size, parse_size
from loadstone.commands.outputs import refuse_results, write_scores, write_together
from loadstone.commands.pictures import Pictures
from loadstone.commands.progress import ComponentProgress, Stages, stages
from loadstone.commands.reading import Reading, named
from loadstone.commands.restrictions import Restriction
from loadstone.commands.shell_words import in_shell_words
from loadstone.commands.terminal import Loading, Terminal, loadings_table
from loadstone.covariance import SampleCovariance
from loadstone.covariance.checks import UNEVEN, unevenness
from loadstone.covariance.containers import rows_of
from loadstone.covariance.moments import accumulate_moments
from loadstone.files.errors import OptionError
from loadstone.files.spreadsheet import write_csv
from loadstone.files.table import Table
from loadstone.report.headline import percent

if TYPE_CHECKING:
    from loadstone.report.render import Report

#: Loadings per component that the terminal shows.
SHOWN = 10
#: Methods that give every feature a noise of its own, so that units do not matter.
OWN_NOISE = ("bayes", "noisy")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be fitted and written."""

    reading: Reading
    n_components: float | str
    nonzero: str | None
    restriction: Restriction
    method: str
    options: dict[str, Any]
    with_path: bool
    with_report: bool
    pictures: Pictures
    output: Path | None
    force: bool

    @property
    def folder(self) -> Path:
        """Where the results go."""
        return self.reading.folder("loadstone") if self.output is None else self.output

    @property
    def files(self) -> list[Path]:
        """Everything that is read."""
        return [self.reading.file, *self.restriction.files, *self.pictures.files]

    @property
    def effort(self) -> Any:
        """How hard to prove something."""
        return self.options.get("certify", False)

    def refuse_conflicts(self, *, as_json: bool) -> None:
        """Raise where options contradict each other; no file has been read yet."""
        self.restriction.refuse_conflicts(self.options, with_path=self.with_path)
        if self.with_report:
            return
        if self.with_path and not as_json:
            # The folder has no file for it, so that a long computation would be lost.
            msg = (
                "--path is shown by the report and by --json, and --no-report leaves nothing to see of "
                "it; leave out --no-report, add --json, or run loadstone path"
            )
            raise OptionError(msg)
        self.pictures.refuse_no_report()


def fit(terminal: Terminal, request: Request) -> None:
    """Read, fit, write, and say what was found."""
    request.refuse_conflicts(as_json=terminal.as_json)
    refuse_results(request.folder, force=request.force, inputs=request.files)
    with stages(terminal.err, quiet=terminal.quiet) as steps:
        steps.next(f"Reading {request.reading.file.name}")
        table, options = asked(request.reading.table(), request)
        for note in (*table.notes, *units_note(table.X, request.options, request.method)):
            terminal.note(f"note: {note}")
        drawn = request.pictures.of(table.feature_names, table.X.shape[1])
        model = fitted(named(table), table, request.method, options, steps)
        path = None
        if request.with_path:
            path = path_of(table.X, model, request.effort, steps, table.weights)
        steps.next("Summing up")
        report = report_of(model, table, path, request.reading.file, drawn)
        steps.next("Writing results")
        written = _write(request, model, table, report)
    print_found(terminal, report.summary, written)
    terminal.result("fit", {**report.summary, "files": [str(file) for file in written]})


def asked(table: Table, request: Request) -> tuple[Table, dict[str, Any]]:
    """The parameters of the estimator; what a component may look like depends on the features."""
    # Units were spoken of before; without the option, the estimator need not do so again.
    options = {"n_components": request.n_components, "standardize": False, **request.options}
    if request.restriction.is_asked:
        nonnegative = options.pop("nonnegative", False)
        size = parse_size(request.nonzero, request.n_components)
        if request.nonzero is None and request.restriction.signs is not None:
            size = default_size(table.X.shape[1])
        table, options["constraint"] = request.restriction.on(table, size, nonnegative=nonnegative)
    elif request.nonzero is not None:
        options["n_nonzero"] = parse_size(request.nonzero, request.n_components)
    return table, options


def fitted(data: Any, table: Table, method: str, options: dict[str, Any], steps: Stages) -> Any:
    """The model of a method, fitted to data whose features the table knows."""
    from loadstone.extraction import RefusedConstraintError

    model = build_estimator(method, options, table.X.shape[1])
    n_components = options["n_components"]
    if isinstance(n_components, str):
        steps.next("Searching components, and how many there are")
    elif n_components >= 1:
        steps.next(f"Searching {n_components} component(s)", n_components)
    else:
        steps.next(f"Searching components that recover {percent(n_components)}")
    if hasattr(model, "set_callbacks"):
        model.set_callbacks(ComponentProgress(steps))
    try:
        model.fit(data, sample_weight=table.weights)
    except RefusedConstraintError as error:
        raise OptionError(str(error)) from error
    if hasattr(model, "set_callbacks"):
        model.set_callbacks()
    if table.feature_names is not None:
        # Sparse matrices carry no names; the model needs them to match features later.
        model.feature_names_in_ = np.asarray(table.feature_names, dtype=object)
    return model


def path_of(data: Any, model: Any, effort: Any, steps: Stages, sample_weight: Any = None) -> Any:
    """The variance over the number of features, on the sizes of the model and others."""
    from loadstone.selection.cardinality_path import cardinality_path
    from loadstone.selection.path import automatic_sizes

    steps.next("Following the path over the number of features")
    # The sizes of the model are on the path, so that the slider can stand on them.
    sizes = np.union1d(automatic_sizes(model.n_features_in_), np.maximum(model.cardinality_, 1))
    return cardinality_path(
        data,
        sizes,
        # Many sizes are proven, so that the longest effort is not for paths.
        certify="standard" if effort == "full" else effort,
        nonnegative=adds_up(model),
        standardize=model.scale_ is not None,
        sample_weight=sample_weight,
    )


def adds_up(model: Any) -> bool:
    """Whether components may only add features up; of signed ones loadings may be positive by chance."""
    constraint = getattr(model, "constraint", None)
    asked = model if constraint is None else constraint
    return bool(getattr(asked, "nonnegative", False))


def report_of(model: Any, table: Table, path: Any, file: Path, drawn: dict[str, Any]) -> Report:
    """Everything that a page and ``--json`` show."""
    from loadstone.report.render import build_report

    return build_report(
        model,
        named(table),
        table.labels,
        table.feature_names,
        path,
        sample_names=table.sample_names,
        title=file.name,
        notes=[_sentence(note) for note in table.notes],
        sample_weight=table.weights,
        **drawn,
    )


def _sentence(note: str) -> str:
    note = in_shell_words(note)
    return f"{note[:1].upper()}{note[1:]}."


def units_note(X: Any, options: dict[str, Any], method: str | None = None) -> list[str]:
    """Advice to scale features whose variances differ by orders of magnitude."""
    if options.get("standardize") or method in OWN_NOISE:
        return []
    if isinstance(X, SampleCovariance):
        variance = X.covariance().diagonal()
    elif isinstance(X, np.ndarray):
        variance = np.nanvar(X, axis=0)
    else:
        variance = accumulate_moments(rows_of(X), None)[2]
    factor = unevenness(variance)
    if factor <= UNEVEN:
        return []
    return [
        f"the variances of the features differ by a factor of {factor:.0e}, so the largest decide; "
        "add --standardize to give every feature the same say"
    ]


def _write(request: Request, model: Any, table: Table, report: Report) -> list[Path]:
    from loadstone.estimators.model_file import save_model

    X = named(table)
    writers: dict[str, Any] = {
        "loadings.csv": lambda p: write_csv(model.loadings_table(table.feature_names), p),
        "scores.csv": lambda p: write_scores(
            p, np.asarray(model.transform(X)), table.sample_names, table.labels
        ),
        "model.npz": lambda p: save_model(model, p),
    }
    if request.with_report:
        writers["report.html"] = report.save
    return write_together(request.folder, writers, force=request.force)


def print_found(terminal: Terminal, summary: dict[str, Any], written: list[Path]) -> None:
    """Say what was found and where it was written."""
    terminal.say(summary["headline"])
    terminal.say("")
    if summary["components"]:
        _print_components(terminal, summary)
    for file in written:
        terminal.say(f"wrote {file}")


def _print_components(terminal: Terminal, summary: dict[str, Any]) -> None:
    """Loadings, variances and proofs."""
    rows = []
    for component in summary["components"]:
        shown = [
            Loading(entry["feature"], entry["loading"], entry.get("group"))
            for entry in component["loadings"][:SHOWN]
        ]
        hidden = component["n_nonzero"] - SHOWN
        heading = str(component["component"])
        if hidden > 0:
            last = shown[-1]._replace(feature=f"{shown[-1].feature}  (and {hidden} more)")
            shown = [*shown[:-1], last]
        rows.append((heading, shown))
    terminal.show(loadings_table(rows, ""))
    terminal.say("")
    terminal.show(_variances(summary))
    for component in summary["components"]:
        if component["certificate"] is not None:
            terminal.say(
                f"component {component['component']}: {component['certificate']['sentence']}"
            )
    if summary["joint"] is not None and len(summary["components"]) > 1:
        terminal.say(summary["joint"]["sentence"])
    terminal.say("")


def _variances(summary: dict[str, Any]) -> RichTable:
    """What each component adds, and what all up to it recover, beside PCA."""
    pca = summary["pca"]
    table = RichTable(show_edge=False, pad_edge=False)
    table.add_column("component", no_wrap=True)
    headings = ["adjusted variance", "PCA", "recovered together", "PCA"]
    for heading in headings if pca else headings[::2]:
        table.add_column(heading, justify="right")
    for j, component in enumerate(summary["components"]):
        cells = []
        for key in ("explained_variance_ratio", "recovered_ratio"):
            cells.append("" if component[key] is None else percent(component[key]))
            cells += [percent(pca[key][j])] if pca else []
        table.add_row(str(component["component"]), *cells)
    return table
