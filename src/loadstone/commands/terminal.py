"""What the user sees: tables, progress, JSON, and errors in one sentence."""

from __future__ import annotations

import errno
import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import typer
from rich.markup import escape
from rich.table import Table

from loadstone.commands.options import Debug, Json, Quiet
from loadstone.commands.screen import Screen, give_up
from loadstone.commands.shell_words import in_shell_words
from loadstone.files.errors import FileError, UnwritableFileError

#: Version of what ``--json`` prints: raised when a key is renamed, removed or means something else.
SCHEMA = 1
#: Exit codes, besides those of :mod:`loadstone.files.errors`.
BAD_PROOF = 1
BAD_OPTION = 2
BAD_INPUT = 4
INTERRUPTED = 130
#: Errors of a place that takes no more.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_FOR_DEVELOPERS = (DeprecationWarning, FutureWarning, ResourceWarning)
#: scikit-learn says this of sparse matrices, whose names were matched with the file's.
_NAMES_MATCHED = "X does not have valid feature names"


@dataclass(frozen=True)
class Terminal:
    """Where a command speaks: results to stdout, everything else to stderr.

    Each field is an option.
    """

    quiet: Quiet = False
    as_json: Json = False
    debug: Debug = False

    @property
    def out(self) -> Screen:
        """Results."""
        return Screen(sys.stdout, quiet=self.quiet or self.as_json)

    @property
    def err(self) -> Screen:
        """Progress, notes and errors."""
        return Screen(sys.stderr)

    def note(self, text: str) -> None:
        """Say something the user should know, in the background."""
        if not self.quiet:
            self._tell_if_possible(f"[dim]{escape(in_shell_words(text))}[/dim]")

    def say(self, text: str) -> None:
        """Print a line of plain text."""
        self.out.print(escape(text), soft_wrap=True)

    def show(self, table: Table) -> None:
        """Print a table."""
        self.out.print(table)

    def result(self, command: str, summary: dict[str, Any]) -> None:
        """Print the result for scripts, where they asked for it."""
        if self.as_json:
            typed = {"schema": SCHEMA, "command": command, **summary}
            print(json.dumps(typed, indent=2, allow_nan=False))

    @contextmanager
    def errors(self, command: str) -> Iterator[None]:
        """Turn errors into one sentence and an exit code, warnings into notes."""
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                yield
            self._tell(caught)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            self._fail(command, "interrupted; no half-written file was left", INTERRUPTED)
        except FileError as error:
            self._fail(command, str(error), error.exit_code)
        except MemoryError as error:
            said = f"not enough memory: {error or 'the data is too large'}"
            self._fail(command, said, BAD_INPUT)
        except Exception as error:
            self._fail(command, *_told(error))

    def _tell(self, caught: list[warnings.WarningMessage]) -> None:
        said: set[str] = set()
        for warning in caught:
            text = str(warning.message)
            hidden = issubclass(warning.category, _FOR_DEVELOPERS) or text.startswith(
                _NAMES_MATCHED
            )
            if not hidden and text not in said:
                said.add(text)
                self.note(f"note: {text}")

    def _fail(self, command: str, sentence: str, exit_code: int) -> None:
        if self.debug:
            self.err.print_exception(show_locals=False)
        self.failed(command, in_shell_words(sentence), exit_code)
        raise typer.Exit(exit_code)

    def failed(self, command: str, sentence: str, exit_code: int) -> None:
        """Say why a command ends, to people and to scripts."""
        if self.as_json:
            failed = {"error": sentence, "exit_code": exit_code}
            with suppress(OSError):
                # That stdout takes nothing may be what failed.
                print(json.dumps({"schema": SCHEMA, "command": command, **failed}), flush=True)
        self._tell_if_possible(f"[bold red]error:[/bold red] {escape(sentence)}")

    def _tell_if_possible(self, text: str) -> None:
        """Print to stderr; that nobody can read it changes neither the results nor the exit code."""
        try:
            self.err.print(text, soft_wrap=True)
        except OSError:
            give_up(sys.stderr)


def _told(error: Exception) -> tuple[str, int]:
    """One sentence and an exit code."""
    # Imported only now: without them ``--help`` is there in a tenth of the time.
    from loadstone._sklearn_compat import InvalidParameterError
    from loadstone.certificates.certificate_error import CertificateError

    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, CertificateError) and not isinstance(error, ValueError):
        return text, BAD_PROOF
    if isinstance(error, OSError) and error.filename is None and error.errno in _NO_ROOM:
        return unprinted(error), UnwritableFileError.exit_code
    if isinstance(error, ValueError):
        return text, BAD_OPTION if isinstance(error, InvalidParameterError) else BAD_INPUT
    return f"{type(error).__name__}: {text}", 1


def unprinted(error: OSError) -> str:
    """What to say where stdout takes nothing."""
    reason = error.strerror or error
    return f"what the command prints could not be written ({reason}); send it to another place"


def bar(value: float, largest: float, width: int = 12) -> str:
    """A bar of block characters, for a column of a table."""
    if "utf" not in (sys.stdout.encoding or "").lower():
        return "#" * round(width * abs(value) / largest) if largest else ""
    eighths = round(8 * width * abs(value) / largest) if largest else 0
    full, rest = divmod(eighths, 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")


class Loading(NamedTuple):
    """A row of :func:`loadings_table`."""

    feature: str
    value: float
    group: str | None = None


def loadings_table(rows: list[tuple[str, list[Loading]]], title: str) -> Table:
    """Named loadings, one block of rows per component; with groups where there are any."""
    grouped = any(loading.group is not None for _, loadings in rows for loading in loadings)
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("component", no_wrap=True)
    table.add_column("feature", overflow="fold")
    if grouped:
        table.add_column("group", overflow="fold")
    table.add_column("loading", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, style="blue")
    largest = max((abs(loading.value) for _, block in rows for loading in block), default=1.0)
    for heading, loadings in rows:
        for place, (name, value, group) in enumerate(loadings):
            table.add_row(
                escape(heading) if place == 0 else "",
                escape(name),
                *([escape(group or "")] if grouped else []),
                f"{value:+.3f}",
                bar(value, largest),
                end_section=place == len(loadings) - 1,
            )
    return table
