"""The arguments of every command; what they do stands in the file of the command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loadstone._version import __version__
from loadstone.commands.terminal import Terminal

app = typer.Typer(
    name="loadstone",
    help="Principal components people can read: sparse, non-negative, exactly sized, certified.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]


def _version(*, asked: bool) -> None:
    if asked:
        typer.echo(f"loadstone {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[  # noqa: FBT002
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
def demo(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to save the picture.")
    ] = None,
    force: Force = False,  # noqa: FBT002
    quiet: Quiet = False,  # noqa: FBT002
    json: Json = False,  # noqa: FBT002
    debug: Debug = False,  # noqa: FBT002
) -> None:
    """Show what loadstone does, on 178 wines that come with it.

    Finds three sparse non-negative components, prints their named loadings and the
    variance they explain beside that of plain PCA, and saves loadstone-demo.png.
    """
    terminal = Terminal(quiet, json, debug)
    with terminal.errors():
        from loadstone.commands.demo import demo as run

        run(terminal, output, force=force)
