"""The arguments of ``loadstone datasets`` and ``loadstone demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loadstone.commands.groups import with_groups
from loadstone.commands.options import Force, output_option
from loadstone.commands.terminal import Terminal
from loadstone.commands.usage import Commands

datasets_app = typer.Typer(
    cls=Commands, help="List and describe the data sets of the papers.", no_args_is_help=True
)


@datasets_app.command("list")
@with_groups
def list_datasets(terminal: Terminal) -> None:
    """List every data set and whether it is at hand."""
    from loadstone.commands.datasets import list_all

    list_all(terminal)


@datasets_app.command("show")
@with_groups
def show_dataset(
    terminal: Terminal,
    name: Annotated[str, typer.Argument(help="Name of a data set.")],
) -> None:
    """Describe a data set: where it comes from, how to cite it, where it is."""
    from loadstone.commands.datasets import show

    show(terminal, name)


@with_groups
def demo(
    terminal: Terminal,
    output: Annotated[
        Path | None,
        output_option("Where to save the picture."),
    ] = None,
    force: Force = False,
) -> None:
    """Show what loadstone does, on 178 wines that come with it.

    Finds three sparse non-negative components, prints their named loadings and the
    variance they explain beside that of plain PCA, and saves loadstone-demo.png.
    """
    from loadstone.commands.demo import demo as run

    run(terminal, output, force=force)
