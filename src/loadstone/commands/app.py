"""The arguments of every command; what they do stands in the file of the command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from loadstone._version import __version__
from loadstone.commands.app_examples import datasets_app, demo
from loadstone.commands.options import (
    OUTPUT,
    Certify,
    Components,
    DataFile,
    DataFiles,
    Debug,
    Effort,
    Folder,
    Force,
    GroupsFrom,
    Json,
    Labels,
    Layer,
    Method,
    Missing,
    ModelFile,
    NGroups,
    Nonnegative,
    Nonzero,
    Orthogonality,
    PathFolder,
    Quiet,
    Seed,
    SignsFile,
    Standardize,
    TimeLimit,
    Turned,
    WithPath,
    WithReport,
)
from loadstone.commands.terminal import Terminal
from loadstone.files.table import MISSING

app = typer.Typer(
    name="loadstone",
    help="Principal components people can read: sparse, non-negative, exactly sized, certified.\n\n"
    "Exit codes: 0 done, 2 wrong option, 3 file not found, 4 unusable data, 5 unusable model, "
    "6 file exists, 7 cannot write, 130 interrupted, 1 anything else.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(datasets_app, name="datasets")


def _reading(
    file: Path,
    labels: str | None,
    missing: str,
    turned: bool,  # noqa: FBT001
    layer: str | None,
    *,
    described: bool = False,
) -> Any:
    from loadstone.commands.fit import Reading

    if missing not in MISSING:
        msg = f"--missing {missing} is none of {', '.join(MISSING)}"
        raise typer.BadParameter(msg)
    return Reading(file, labels, missing, turned, layer, described)


def _given(**options: Any) -> dict[str, Any]:
    """Without those that were left to the method."""
    return {name: value for name, value in options.items() if value is not None}


def _version(*, asked: bool) -> None:
    if asked:
        typer.echo(f"loadstone {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=lambda v: _version(asked=v),
            help="Print the version.",
        ),
    ] = False,
) -> None:
    pass


@app.command()
def fit(
    file: DataFile,
    components: Components = "3",
    nonzero: Nonzero = None,
    nonnegative: Nonnegative = False,
    groups: GroupsFrom = None,
    n_groups: NGroups = None,
    signs: SignsFile = None,
    method: Method = "sparse",
    orthogonality: Orthogonality = None,
    standardize: Standardize = False,
    certify: Certify = None,
    time_limit: TimeLimit = None,
    seed: Seed = 0,
    labels: Labels = None,
    missing: Missing = "mean",
    turned: Turned = False,
    layer: Layer = None,
    with_path: WithPath = False,
    with_report: WithReport = True,
    output: Folder = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Find components in a file, and write loadings, scores, a model and a report.

    Header, delimiter and a column of row names are found by looking. Columns that are
    not numbers are left out or serve as labels. A file that loadstone covariance wrote gives
    loadings, a model and a report without scores.

    Example: loadstone fit genes.csv --components 3 --nonzero 50 --standardize
    """
    terminal = Terminal(quiet, json, debug)
    with terminal.errors():
        from loadstone.commands.covariance import fit_covariance
        from loadstone.commands.fit import Request
        from loadstone.commands.fit import fit as fit_rows
        from loadstone.commands.methods import parse_count
        from loadstone.commands.restrictions import Restriction
        from loadstone.covariance.sample_file import is_sample_file

        request = Request(
            reading=_reading(file, labels, missing, turned, layer, described=groups is not None),
            n_components=parse_count(components),
            nonzero=nonzero,
            restriction=Restriction(groups, n_groups, signs),
            method=method,
            options=_given(
                nonnegative=nonnegative or None,
                orthogonality=orthogonality,
                standardize=standardize or None,
                certify=certify,
                time_limit=time_limit,
                random_state=seed or None,
            ),
            with_path=with_path,
            with_report=with_report,
            output=output,
            force=force,
        )
        run = fit_covariance if is_sample_file(file) else fit_rows
        run(terminal, request)


@app.command()
def covariance(
    files: DataFiles,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="NPZ file to write.", rich_help_panel=OUTPUT)
    ] = Path("covariance.npz"),
    labels: Labels = None,
    missing: Missing = "mean",
    turned: Turned = False,
    layer: Layer = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Sum up files to one covariance, which loadstone fit takes in place of the data.

    One file at a time is in memory. A covariance among the files is added as well, so that
    new data joins an old sum.

    Example: loadstone covariance monday.parquet tuesday.parquet -o week.npz
    """
    terminal = Terminal(quiet, json, debug)
    with terminal.errors():
        from loadstone.commands.covariance import covariance as run

        reading = _reading(files[0], labels, missing, turned, layer)
        run(terminal, files, reading, output, force=force)


@app.command()
def transform(
    model: ModelFile,
    file: DataFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="CSV file to write.", rich_help_panel=OUTPUT)
    ] = Path("scores.csv"),
    labels: Labels = None,
    missing: Missing = "mean",
    turned: Turned = False,
    layer: Layer = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Project the samples of a file on the components of a model.

    Features are matched by name; further columns are left out.
    """
    terminal = Terminal(quiet, json, debug)
    with terminal.errors():
        from loadstone.commands.models import transform as run

        run(terminal, model, _reading(file, labels, missing, turned, layer), output, force=force)


@app.command()
def certify(
    model: ModelFile,
    file: DataFile,
    effort: Effort = "standard",
    time_limit: TimeLimit = 60.0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder to write certificate_1.npz, ... to.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    labels: Labels = None,
    missing: Missing = "mean",
    turned: Turned = False,
    layer: Layer = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Prove how close the components of a model are to the best possible ones."""
    terminal = Terminal(quiet, json, debug)
    with terminal.errors():
        from loadstone.commands.certificates import certify as run

        reading = _reading(file, labels, missing, turned, layer)
        run(terminal, model, reading, effort, time_limit, output, force=force)


@app.command()
def verify(
    certificate: Annotated[
        Path,
        typer.Argument(metavar="CERT", help="A certificate, or a model with certificates."),
    ],
    file: DataFile,
    labels: Labels = None,
    missing: Missing = "mean",
    turned: Turned = False,
    layer: Layer = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Recompute what a certificate claims from its proof and the data, without any search.

    Ends with exit code 1 where a claim does not hold. tools/verify_certificate.py of the
    source does the same without loadstone.
    """
    terminal = Terminal(quiet, json, debug)
    with terminal.errors():
        from loadstone.commands.certificates import verify as run

        run(terminal, certificate, _reading(file, labels, missing, turned, layer))


@app.command()
def path(
    file: DataFile,
    nonnegative: Nonnegative = False,
    standardize: Standardize = False,
    labels: Labels = None,
    missing: Missing = "mean",
    turned: Turned = False,
    layer: Layer = None,
    output: PathFolder = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Show how much variance each number of features reaches, and suggest one.

    A folder takes the numbers (path.csv) and a picture of them (path.png).
    """
    terminal = Terminal(quiet, json, debug)
    with terminal.errors():
        from loadstone.commands.path import path as run

        options = {"nonnegative": nonnegative, "standardize": standardize}
        reading = _reading(file, labels, missing, turned, layer)
        run(terminal, reading, options, output, force=force)


@app.command()
def report(
    model: ModelFile,
    file: DataFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="HTML file.", rich_help_panel=OUTPUT)
    ] = Path("report.html"),
    labels: Labels = None,
    missing: Missing = "mean",
    turned: Turned = False,
    layer: Layer = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write the report of a model on the data it was fitted to."""
    terminal = Terminal(quiet, json, debug)
    with terminal.errors():
        from loadstone.commands.models import report as run

        run(terminal, model, _reading(file, labels, missing, turned, layer), output, force=force)


app.command()(demo)
