"""The arguments of ``loadstone datasets`` and ``loadstone demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loadstone.commands.options import OUTPUT, Debug, Force, Json, Quiet
from loadstone.commands.terminal import Terminal

datasets_app = typer.Typer(
    help="List and describe the data sets of the papers.", no_args_is_help=True
)


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
