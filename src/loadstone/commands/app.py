"""The arguments of every command; what they do stands in the file of the command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from loadstone._version import __version__
from loadstone.commands.terminal import Terminal
from loadstone.files.table import MISSING
from loadstone.registry import methods

_FILES = "Data"
_OUTPUT = "Output"

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

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="Samples in rows: CSV, TSV, Parquet, NPY, NPZ, MTX or H5AD."
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="The model.npz that loadstone fit wrote.")
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Column of classes; 'none' for none.", rich_help_panel=_FILES
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        metavar="RULE",
        help="What to do about missing values: fill with the 'mean' of the column, leave out "
        "'rows' or 'columns', 'keep' them for a method that can, or 'refuse'.",
        rich_help_panel=_FILES,
    ),
]
Turned = Annotated[
    bool,
    typer.Option("--transpose", help="Features stand in the rows.", rich_help_panel=_FILES),
]
Layer = Annotated[
    str | None, typer.Option(metavar="NAME", help="Layer of an H5AD file.", rich_help_panel=_FILES)
]
Nonnegative = Annotated[
    bool, typer.Option("--nonnegative", help="Allow only loadings >= 0: components add up.")
]
Standardize = Annotated[
    bool, typer.Option("--standardize", help="Scale every feature to unit variance.")
]
Effort = Annotated[
    str, typer.Option(metavar="EFFORT", help="How hard to look: instant, standard or full.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Overwrite existing files.", rich_help_panel=_OUTPUT)
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=_OUTPUT)
]
Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel=_OUTPUT)
]
Debug = Annotated[
    bool, typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel=_OUTPUT)
]


def _reading(file: Path, labels: Any, missing: str, turned: bool, layer: Any) -> Any:  # noqa: FBT001
    from loadstone.commands.fit import Reading

    if missing not in MISSING:
        msg = f"--missing {missing} is none of {', '.join(MISSING)}"
        raise typer.BadParameter(msg)
    return Reading(file, labels, missing, turned, layer)


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
    components: Annotated[int, typer.Option("--components", "-c", min=1, help="How many.")] = 3,
    nonzero: Annotated[
        str | None,
        typer.Option(
            "--nonzero",
            "-k",
            metavar="N",
            help="Features per component: a number, a fraction, 'all', or one per component "
            "(5,5,10). By default 10, or a third of the features if there are fewer than 30.",
        ),
    ] = None,
    nonnegative: Nonnegative = False,
    method: Annotated[
        str,
        typer.Option(metavar="NAME", help=f"One of {', '.join(methods())}."),
    ] = "sparse",
    orthogonality: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="none, disjoint, or what else the method offers."),
    ] = None,
    standardize: Standardize = False,
    certify: Annotated[
        str | None,
        typer.Option(
            metavar="EFFORT", help="Prove how good each component is: instant, standard or full."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of random starts.")] = 0,
    labels: Labels = None,
    missing: Missing = "mean",
    turned: Turned = False,
    layer: Layer = None,
    with_path: Annotated[
        bool,
        typer.Option("--path", help="Follow the number of features too.", rich_help_panel=_OUTPUT),
    ] = False,
    with_report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write a report.", rich_help_panel=_OUTPUT)
    ] = True,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder; by default FILE-loadstone.", rich_help_panel=_OUTPUT
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Find components in a file, and write loadings, scores, a model and a report.

    Header, delimiter and a column of row names are found by looking. Columns that are
    not numbers are left out or serve as labels.

    Example: loadstone fit genes.csv --components 3 --nonzero 50 --standardize
    """
    terminal = Terminal(quiet, json, debug)
    with terminal.errors():
        from loadstone.commands.fit import Request
        from loadstone.commands.fit import fit as run

        asked = {
            "nonnegative": nonnegative or None,
            "orthogonality": orthogonality,
            "standardize": standardize or None,
            "certify": certify,
            "random_state": seed or None,
        }
        options = {name: value for name, value in asked.items() if value is not None}
        reading = _reading(file, labels, missing, turned, layer)
        run(
            terminal,
            Request(
                reading, components, nonzero, method, options, with_path, with_report, output, force
            ),
        )


@app.command()
def transform(
    model: ModelFile,
    file: DataFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="CSV file to write.", rich_help_panel=_OUTPUT)
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
            "--output", "-o", help="CSV file; a PNG goes beside it.", rich_help_panel=_OUTPUT
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
        Path, typer.Option("--output", "-o", help="HTML file.", rich_help_panel=_OUTPUT)
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
        typer.Option("--output", "-o", help="Where to save the picture.", rich_help_panel=_OUTPUT),
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
