"""Options that belong together: the fields of a dataclass, written once for every command.

A command that says ``reading: Reading`` has a file and all options about reading it; one that
says ``terminal: Terminal`` has those about what is printed, and its errors become sentences;
``pictures: Pictures`` are those of a report.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from loadstone.commands.options import DataFiles
from loadstone.commands.pictures import Pictures
from loadstone.commands.reading import Reading
from loadstone.commands.terminal import Terminal

#: Dataclasses whose annotated fields are options.
GROUPS = (Reading, Pictures, Terminal)


def with_groups(run: Callable[..., None]) -> Callable[..., None]:
    """The command with its groups spelled out, for the shell to see."""
    own = inspect.signature(run, eval_str=True).parameters
    shown: list[inspect.Parameter] = []
    for parameter in own.values():
        group = _group_of(parameter.annotation)
        shown += [parameter] if group is None else _options_of(parameter.annotation, group)

    def command(**values: Any) -> None:
        made = {name: _taken(own[name].annotation, values) for name in own}
        rest = {name: value for name, value in made.items() if value is not _NOT_A_GROUP}
        terminal: Terminal = rest["terminal"]
        with terminal.errors(run.__name__):
            run(**values, **rest)

    by_name = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in shown]
    command.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in by_name}
    command.__name__, command.__doc__ = run.__name__, run.__doc__
    return command


_NOT_A_GROUP = object()


def _group_of(annotation: Any) -> Any:
    """The dataclass of a group, or of a list of one."""
    inner = get_args(annotation)[0] if get_origin(annotation) is list else annotation
    return inner if inner in GROUPS else None


def _options_of(annotation: Any, group: Any) -> list[inspect.Parameter]:
    """One parameter per annotated field; a list of readings has many files."""
    hints = get_type_hints(group, include_extras=True)
    found = []
    for place in fields(group):
        hint = hints[place.name]
        if get_origin(hint) is not Annotated:
            continue
        if place.name == "file" and annotation is not group:
            hint = DataFiles
        default = inspect.Parameter.empty if place.default is MISSING else place.default
        found.append(
            inspect.Parameter(
                place.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
            )
        )
    return found


def _taken(annotation: Any, values: dict[str, Any]) -> Any:
    """The group made of its options, which are taken out of ``values``."""
    group = _group_of(annotation)
    if group is None:
        return _NOT_A_GROUP
    given = {p.name: values.pop(p.name) for p in _options_of(annotation, group)}
    if annotation is group:
        return group(**given)
    files = given.pop("file")
    return [group(file=file, **given) for file in files]
