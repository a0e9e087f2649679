"""Names of methods on the command line, and the estimators behind them."""

from __future__ import annotations

import inspect
import math
from typing import Any

from loadstone.commands.shell_words import flag_of
from loadstone.constraints import Groups
from loadstone.files.column_names import nearest
from loadstone.files.errors import OptionError
from loadstone.registry import methods

#: Words for a number of components that is not given; which methods take them, they say themselves.
LEARNED = ("auto", "cv")


def build_estimator(method: str, options: dict[str, Any], n_features: int) -> Any:
    """The estimator with what was asked for; what it does not understand is refused."""
    if method not in methods():
        near = nearest(method, list(methods()))
        hint = f"did you mean {near}?" if near else f"choose one of {', '.join(methods())}"
        msg = f"--method {method}: there is no such method; {hint}"
        raise OptionError(msg)
    cls = methods()[method].load()
    known = inspect.signature(cls).parameters
    for name in options:
        if name not in known:
            way_out = "; use --method sparse" if name == "constraint" else ""
            flag = _flag(name, options)
            msg = f"{flag} is no option of method {method!r} ({cls.__name__}){way_out}"
            raise OptionError(msg)
    if "time_limit" in options and "certify" in known and "certify" not in options:
        msg = f"--time-limit {options['time_limit']:g} says nothing without a proof; add --certify"
        raise OptionError(msg)
    if "constraint" in options:
        # Signs are up to the constraint, also where a method is non-negative by default.
        options = {**options, "nonnegative": False}
    elif "n_nonzero" in known and known["n_nonzero"].default is None and "n_nonzero" not in options:
        options = {**options, "n_nonzero": default_size(n_features)}
    return cls(**options)


def _flag(name: str, options: dict[str, Any]) -> str:
    """What a person typed to set the parameter."""
    if name != "constraint":
        return flag_of(name)
    return "--groups" if isinstance(options[name], Groups) else "--signs"


def default_size(n_features: int) -> int:
    """Ten features, or a third of them where there are fewer than thirty."""
    return min(10, max(1, math.ceil(n_features / 3)))


def parse_count(text: str) -> float | str:
    """``"3"``, a share between 0 and 1, or a word by which methods learn the number."""
    if text in LEARNED:
        return text
    try:
        number = _number(text)
    except ValueError:
        number = 0
    if (isinstance(number, int) and number >= 1) or 0 < number < 1:
        return number
    msg = (
        f"--components {text} is neither a whole number of at least 1 nor a share between 0 and 1 of "
        "the variance to recover, nor 'auto' or 'cv', for methods that learn the number"
    )
    raise OptionError(msg)


def parse_size(text: str | None, n_components: float | str) -> Any:
    """``"10"``, ``"0.1"``, ``"all"``, or one of these per component with commas between."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    try:
        sizes = [None if part == "all" else _number(part) for part in parts]
    except ValueError:
        msg = (
            f"--nonzero {text} is no number of features; give a whole number, a fraction, 'all', "
            "or one per component with commas between"
        )
        raise OptionError(msg) from None
    if len(sizes) == 1:
        return sizes[0]
    if len(sizes) != n_components:
        msg = (
            f"--nonzero names {len(sizes)} sizes for --components {n_components}; give one size for all, "
            "or one for each component"
        )
        raise OptionError(msg)
    return sizes


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)
