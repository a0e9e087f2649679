"""The screen: names of strangers are shown on it and never steer it, and it may be missing."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.text import Text

#: What steers a terminal (escape sequences begin with such), turns the direction of writing, or is
#: half a character, which no encoding takes; lines may break, and cells may be set apart.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
#: Widths that somebody can read.
_WIDTHS = range(1, 10_000)


def visible(text: str) -> str:
    """The text with everything written out that would steer a terminal."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


class Screen(Console):
    """A console that writes out what would steer the terminal, and knows no names of pictures."""

    def __init__(self, file: Any, *, quiet: bool = False) -> None:
        super().__init__(file=file, quiet=quiet, highlight=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Every text that is printed, in tables too, comes by here."""
        return super().render_str(visible(text), **options)

    def on_broken_pipe(self) -> None:
        """Nobody reads any more: that ends a command where it is about results, not about notes."""
        if self.file is sys.stderr:
            raise BrokenPipeError
        super().on_broken_pipe()


def give_up(stream: Any) -> None:
    """Send what a stream cannot write, and all that follows, to nowhere."""
    with suppress(OSError, ValueError):
        # What is still on its way would be tried again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def prepare() -> None:
    """Make the streams take whatever there is to say, also where they are closed or know few letters."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # The shell closed it: there is nobody to tell, which is no reason to stop.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) not in _WIDTHS:
        del os.environ["COLUMNS"]
