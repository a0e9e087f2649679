"""The arguments of every command; what they do stands in the file of the command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from loadstone._version import __version__
from loadstone.commands.app_examples import datasets_app, demo
from loadstone.commands.groups import with_groups
from loadstone.commands.options import (
    FLAG,
    Certify,
    Components,
    Effort,
    Folder,
    Force,
    GroupsFrom,
    Method,
    ModelFile,
    NGroups,
    Nonnegative,
    Nonzero,
    Objective,
    Orthogonality,
    PathFolder,
    PathObjective,
    SearchEffort,
    Seed,
    SignsFile,
    Standardize,
    TimeLimit,
    WithPath,
    WithReport,
    output_option,
    path_argument,
)
from loadstone.commands.pictures import Pictures
from loadstone.commands.reading import Reading
from loadstone.commands.terminal import Terminal
from loadstone.commands.usage import Commands

app = typer.Typer(
    name="loadstone",
    cls=Commands,
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
            metavar=FLAG,
            is_eager=True,
            callback=lambda v: _version(asked=v),
            help="Print the version.",
        ),
    ] = False,
) -> None:
    pass


@app.command()
@with_groups
def fit(
    reading: Reading,
    pictures: Pictures,
    terminal: Terminal,
    components: Components = "3",
    nonzero: Nonzero = None,
    nonnegative: Nonnegative = False,
    groups: GroupsFrom = None,
    n_groups: NGroups = None,
    signs: SignsFile = None,
    method: Method = "sparse",
    orthogonality: Orthogonality = None,
    objective: Objective = None,
    effort: SearchEffort = None,
    standardize: Standardize = False,
    certify: Certify = None,
    time_limit: TimeLimit = None,
    seed: Seed = 0,
    with_path: WithPath = False,
    with_report: WithReport = True,
    output: Folder = None,
    force: Force = False,
) -> None:
    """Find components in a file, and write loadings, scores, a model and a report.

    Header, delimiter and a column of row names are found by looking. Columns that are
    not numbers are left out or serve as labels. A file that loadstone covariance wrote gives
    loadings, a model and a report without scores.

    Example: loadstone fit genes.csv --components 3 --nonzero 50 --standardize
    """
    from loadstone.commands.covariance import fit_covariance
    from loadstone.commands.fit import Request
    from loadstone.commands.fit import fit as fit_rows
    from loadstone.commands.methods import parse_count
    from loadstone.commands.restrictions import Restriction
    from loadstone.covariance.sample_file import is_sample_file

    request = Request(
        reading=replace(reading, described=groups is not None),
        n_components=parse_count(components),
        nonzero=nonzero,
        restriction=Restriction(groups, n_groups, signs),
        method=method,
        options=_given(
            nonnegative=nonnegative or None,
            orthogonality=orthogonality,
            objective=objective,
            effort=effort,
            standardize=standardize or None,
            certify=certify,
            time_limit=time_limit,
            random_state=seed or None,
        ),
        with_path=with_path,
        with_report=with_report,
        pictures=pictures,
        output=output,
        force=force,
    )
    run = fit_covariance if is_sample_file(reading.file) else fit_rows
    run(terminal, request)


@app.command()
@with_groups
def covariance(
    readings: list[Reading],
    terminal: Terminal,
    output: Annotated[
        Path,
        output_option("NPZ file to write."),
    ] = Path("covariance.npz"),
    force: Force = False,
) -> None:
    """Sum up files to one covariance, which loadstone fit takes in place of the data.

    One file at a time is in memory. A covariance among the files is added as well, so that
    new data joins an old sum.

    Example: loadstone covariance monday.parquet tuesday.parquet -o week.npz
    """
    from loadstone.commands.covariance import covariance as run

    run(terminal, readings, output, force=force)


@app.command()
@with_groups
def transform(
    model: ModelFile,
    reading: Reading,
    terminal: Terminal,
    output: Annotated[
        Path,
        output_option("CSV file to write."),
    ] = Path("scores.csv"),
    force: Force = False,
) -> None:
    """Project the samples of a file on the components of a model.

    Features are matched by name; further columns are left out.
    """
    from loadstone.commands.models import transform as run

    run(terminal, model, reading, output, force=force)


@app.command()
@with_groups
def certify(
    model: ModelFile,
    reading: Reading,
    terminal: Terminal,
    effort: Effort = "standard",
    time_limit: TimeLimit = 60.0,
    output: Annotated[
        Path | None,
        output_option("Folder to write certificate_1.npz, ... to."),
    ] = None,
    force: Force = False,
) -> None:
    """Prove how close the components of a model are to the best possible ones."""
    from loadstone.commands.certificates import certify as run

    run(terminal, model, reading, effort, time_limit, output, force=force)


@app.command()
@with_groups
def verify(
    certificate: Annotated[
        Path,
        path_argument("CERT", "A certificate, or a model with certificates."),
    ],
    reading: Reading,
    terminal: Terminal,
) -> None:
    """Recompute what a certificate claims from its proof and the data, without any search.

    Ends with exit code 1 where a claim does not hold. tools/verify_certificate.py of the
    source does the same without loadstone.
    """
    from loadstone.commands.certificates import verify as run

    run(terminal, certificate, reading)


@app.command()
@with_groups
def path(
    reading: Reading,
    terminal: Terminal,
    nonnegative: Nonnegative = False,
    objective: PathObjective = "variance",
    standardize: Standardize = False,
    output: PathFolder = None,
    force: Force = False,
) -> None:
    """Show how much variance each number of features reaches, and suggest one.

    A folder takes the numbers (path.csv) and a picture of them (path.png).
    """
    from loadstone.commands.path import path as run

    options = {"nonnegative": nonnegative, "objective": objective, "standardize": standardize}
    run(terminal, reading, options, output, force=force)


@app.command()
@with_groups
def report(
    model: ModelFile,
    reading: Reading,
    pictures: Pictures,
    terminal: Terminal,
    output: Annotated[
        Path,
        output_option("HTML file."),
    ] = Path("report.html"),
    with_path: WithPath = False,
    force: Force = False,
) -> None:
    """Write the report of a model on the data it was fitted to.

    Example: loadstone report genes-loadstone/model.npz genes.csv --path
    """
    from loadstone.commands.models import report as run

    run(terminal, model, reading, pictures, output, with_path=with_path, force=force)


app.command()(demo)
