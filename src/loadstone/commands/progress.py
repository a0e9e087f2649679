"""Progress of long work, on the error stream and only where a person is looking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from loadstone.commands.screen import visible


class Stages:
    """The steps of a command, each with a bar of its own."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: Any = None

    def next(self, text: str, total: int | None = None) -> None:
        """End the step before and begin the next."""
        self._finish()
        self._task = self._progress.add_task(visible(text), total=total)

    def advance(self) -> None:
        """One part of the step is done."""
        self._progress.update(self._task, advance=1)

    def say(self, text: str) -> None:
        """Show what the step is about at the moment."""
        self._progress.update(self._task, description=visible(text))

    def proof(self, status: Mapping[str, float]) -> None:
        """How far a proof has come: the gap that is left and the cases that are open."""
        size = abs(status["incumbent"])
        gap = f"{status['gap'] / size:.3%}" if size > 0 else f"{status['gap']:.3g}"
        text = f"Proving: gap {gap}, {int(status['open'])} open case(s)"
        self._progress.update(self._task, description=text)

    def _finish(self) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)


@contextmanager
def stages(console: Console, *, quiet: bool) -> Iterator[Stages]:
    """Show steps while the block runs, and wipe them at its end."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(24),
        TimeElapsedColumn(),
    )
    hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        yield Stages(progress)


class ComponentProgress:
    """A scikit-learn callback that moves a bar on for every component."""

    def __init__(self, steps: Stages) -> None:
        self._steps = steps

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to clear away."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """A task begins."""

    def on_fit_task_end(self, estimator: Any, context: Any, *, metadata: Any = None) -> bool:
        """A task has ended; never asks to stop."""
        if metadata and "gap" in metadata:
            self._steps.proof(metadata)
        elif context.parent is not None:
            name = str(context.task_name)
            self._steps.advance() if name.startswith("component") else self._steps.say(name)
        return False
