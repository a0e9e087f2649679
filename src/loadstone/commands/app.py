"""The arguments of every command; what they do stands in the file of the command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from loadstone._version import __version__
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
    Quiet,
    Seed,
    SignsFile,
    Standardize,
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
datasets_app = typer.Typer(
    help="List and describe the data sets of the papers.", no_args_is_help=True
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
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="For each component.", min=0.0)
    ] = None,
    labels: Labels = None,
    missing: Missing = "mean",
    turned: Turned = False,
    layer: Layer = None,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Prove how close the components of a model are to the best possible ones."""
    terminal = Terminal(quiet, json, debug)
    with terminal.errors():
        from loadstone.commands.models import certify as run

        run(terminal, model, _reading(file, labels, missing, turned, layer), effort, time_limit)


@app.command()
def path(
    file: DataFile,
    nonnegative: Nonnegative = False,
    standardize: Standardize = False,
    labels: Labels = None,
    missing: Missing = "mean",
    turned: Turned = False,
    layer: Layer = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="CSV file; a PNG goes beside it.", rich_help_panel=OUTPUT
        ),
    ] = Path("path.csv"),
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Show how much variance each number of features reaches, and suggest one."""
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


@datasets_app.command("list")
def list_datasets(quiet: Quiet = False, json: Json = False, debug: Debug = False) -> None:
    """List every data set and whether it is at hand."""
    terminal = Terminal(quiet, json, debug)
    with terminal.errors():
        from loadstone.commands.datasets import list_all

        list_all(terminal)


@datasets_app.command("show")
def show_dataset(
    name: Annotated[str, typer.Argument(help="Name of a data set.")],
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Describe a data set: where it comes from, how to cite it, where it is."""
    terminal = Terminal(quiet, json, debug)
    with terminal.errors():
        from loadstone.commands.datasets import show

        show(terminal, name)


@app.command()
def demo(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to save the picture.", rich_help_panel=OUTPUT),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Show what loadstone does, on 178 wines that come with it.

    Finds three sparse non-negative components, prints their named loadings and the
    variance they explain beside that of plain PCA, and saves loadstone-demo.png.
    """
    terminal = Terminal(quiet, json, debug)
    with terminal.errors():
        from loadstone.commands.demo import demo as run

        run(terminal, output, force=force)
