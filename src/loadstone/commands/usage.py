"""Options that do not exist or have no such value: one sentence, as for every other error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from loadstone.commands.screen import give_up, prepare
from loadstone.commands.terminal import BAD_OPTION, Terminal, unprinted
from loadstone.files.errors import UnwritableFileError

#: What Typer raises for the words of a command line that it cannot use.
_UsageError: Any = typer.BadParameter.__mro__[1]


class Commands(TyperGroup):
    """The commands, whose errors of usage are told as all others are."""

    def get_help_option(self, ctx: Any) -> Any:
        """``--help`` as a flag: Typer shows it as an option that takes a value."""
        return _as_flag(super().get_help_option(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name, whose ``--help`` is a flag as well."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            _as_flag(command.get_help_option(ctx))
        return command

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002
        windows_expand_args: bool = True,  # noqa: FBT001, FBT002
        **extra: Any,
    ) -> Any:
        """Run a command line and end with its exit code."""
        prepare()
        words = sys.argv[1:] if args is None else list(args)
        if not standalone_mode:
            return super().main(words, prog_name, complete_var, standalone_mode=False, **extra)
        try:
            code = super().main(words, prog_name, complete_var, standalone_mode=False, **extra)
            sys.stdout.flush()
        except _UsageError as error:
            code = _told(error, words)
        except OSError as error:
            code = _unprinted(error)
        sys.exit(code if isinstance(code, int) else 0)


def _as_flag(option: Any) -> Any:
    """An option shown without the kind of value that it does not take."""
    if option is not None:
        option.metavar = ""
    return option


def _unprinted(error: OSError) -> int:
    """Say that nobody could read the answer: the disk behind stdout is full, or its reader is gone."""
    give_up(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return 1
    Terminal().failed("loadstone", unprinted(error), UnwritableFileError.exit_code)
    return UnwritableFileError.exit_code


def _told(error: Any, words: list[str]) -> int:
    """Say what is wrong with the words, and return the exit code."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return BAD_OPTION
    command = _command_of(error.ctx)
    terminal = Terminal(as_json="--json" in words)
    sentence = f"{_typed(error, words)}{' '.join(error.format_message().split()).rstrip('.')}"
    help_of = command if command == "loadstone" else f"loadstone {command}"
    terminal.failed(command, f"{sentence}; {help_of} --help lists what there is", BAD_OPTION)
    return BAD_OPTION


def _command_of(context: Any) -> str:
    """The words that lead to a command, without the name of the program; that name where none do."""
    names: list[str] = []
    while context is not None and context.parent is not None:
        names.insert(0, str(context.info_name))
        context = context.parent
    return " ".join(names) or "loadstone"


def _typed(error: Any, words: list[str]) -> str:
    """The option and its value as they were typed, where the error is about a value."""
    option = next(
        (w for w in words if vars(error).get("param") is not None and w in error.param.opts), None
    )
    if option is None or words.index(option) + 1 == len(words):
        return ""
    return f"{option} {words[words.index(option) + 1]}: "
