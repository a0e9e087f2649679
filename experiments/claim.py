"""What a claim is, and how numbers decide about it.

A claim is judged by its numbers alone. ``as_printed`` holds what the paper says, with a tolerance;
where all of it holds the claim is reproduced. ``in_kind`` holds its shape: an order, a direction, a
range. Where a treatment, a draw or a sign had to be picked because it comes closest to the print,
``fitted`` says what was picked among what, and the verdict is never better than *fitted*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.run import Run

#: What is measured: a number, or a row of them.
Number = float | int | str | bool | list[Any]


class Verdict(StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    FITTED = "fitted"
    IN_KIND = "reproduced in kind"
    NOT = "not reproducible"
    DRAWN = "drawn"
    OPEN = "open"


@dataclass(frozen=True)
class Check:
    """A measured number beside what it should be: near, at least or at most a target.

    Attributes
    ----------
    number : str
        Name of the measured number.
    relation : {"near", "at least", "at most"}
        How it should relate to the target.
    target : float or str
        The target, or the name of another measured number.
    tolerance : float
        How far it may miss.
    argued : str
        Why it is missed, where it is; empty for one that holds.
    """

    number: str
    relation: str
    target: float | str
    tolerance: float = 0.0
    argued: str = ""

    def holds(self, measured: Mapping[str, Any]) -> bool:
        """Whether the number is where it should be."""
        value = float(measured[self.number])
        goal = float(measured[self.target] if isinstance(self.target, str) else self.target)
        if self.relation == "near":
            return abs(value - goal) <= self.tolerance
        if self.relation == "at least":
            return value >= goal - self.tolerance
        return value <= goal + self.tolerance

    def describe(self) -> str:
        """The rule as words."""
        goal = self.target if isinstance(self.target, str) else f"{self.target:g}"
        slack = f" ± {self.tolerance:g}" if self.tolerance else ""
        word = "=" if self.relation == "near" else self.relation
        return f"{self.number} {word} {goal}{slack}"


def near(number: str, target: float | str, within: float) -> Check:
    """``|number - target| <= within``."""
    return Check(number, "near", target, within)


def missed(check: Check, argued: str) -> Check:
    """A reference value that is not met, with the reason, which its page prints."""
    return replace(check, argued=argued)


def at_least(number: str, target: float | str, slack: float = 0.0) -> Check:
    """``number >= target - slack``."""
    return Check(number, "at least", target, slack)


def at_most(number: str, target: float | str, slack: float = 0.0) -> Check:
    """``number <= target + slack``."""
    return Check(number, "at most", target, slack)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The rule for one verdict, and the verdict that is expected.

    Attributes
    ----------
    expected : Verdict
        What independent measurements came to.
    of : str
        What is judged, where a claim has several verdicts: "with BIC".
    as_printed : tuple of Check
        What the paper says.
    in_kind : tuple of Check
        Its shape or order.
    fitted : str
        What was picked among what; empty where nothing was.
    """

    expected: Verdict
    of: str = ""
    as_printed: tuple[Check, ...] = ()
    in_kind: tuple[Check, ...] = ()
    fitted: str = ""

    def verdict(self, measured: Mapping[str, Any]) -> Verdict:
        """What the numbers say."""
        if not self.as_printed and not self.in_kind:
            # Nothing to measure: a picture, or nothing at all.
            return self.expected
        printed = bool(self.as_printed) and all(c.holds(measured) for c in self.as_printed)
        if not printed and not (self.in_kind and all(c.holds(measured) for c in self.in_kind)):
            return Verdict.NOT
        if self.fitted:
            return Verdict.FITTED
        return Verdict.REPRODUCED if printed else Verdict.IN_KIND


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows that belong on a page; numbers are printed as they are written here."""

    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What measuring a claim gave.

    Attributes
    ----------
    numbers : mapping of str to number
        Everything that is the same in every run.
    timings : mapping of str to number
        Seconds and what follows from them, which are not.
    tables : tuple of Table
        Tables for the page of the claim.
    figures : mapping of str to matplotlib Figure
        By a word that is added to the name of the file; "" where there is only one.
    remarks : tuple of str
        Sentences about how to read the numbers.
    """

    numbers: Mapping[str, Number] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def everything(self) -> dict[str, Any]:
        """Numbers and timings under one roof."""
        return {**self.numbers, **self.timings}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One thing a paper says, and how it is measured.

    Attributes
    ----------
    id : str
        Its name, such as ``"sigg.fig4"``.
    printed : str
        What the paper says.
    data : str
        What it is measured on.
    how : str
        Algorithms and settings.
    judged : tuple of Judgement
        How numbers become verdicts, mostly one.
    reference : tuple of Check
        Values that independent measurements gave, with tolerances; one that is missed is argued.
    quick : bool
        Whether a quick run can decide it; it is left out of quick runs otherwise.
    shares : str
        Claims with the same word here run in one process, so that what they share is computed once.
    measure : callable
        From a run to what was measured.
    """

    id: str
    printed: str
    data: str
    how: str
    judged: tuple[Judgement, ...]
    measure: Callable[[Run], Measured]
    reference: tuple[Check, ...] = ()
    quick: bool = True
    shares: str = ""


def claim(
    id: str,
    *,
    printed: str,
    data: str,
    how: str,
    judged: Judgement | tuple[Judgement, ...],
    reference: tuple[Check, ...] = (),
    quick: bool = True,
    shares: str = "",
) -> Callable[[Callable[[Run], Measured]], Claim]:
    """Make a :class:`Claim` of the function that measures it."""

    def wrap(measure: Callable[[Run], Measured]) -> Claim:
        return Claim(
            id=id,
            printed=printed,
            data=data,
            how=how,
            judged=judged if isinstance(judged, tuple) else (judged,),
            measure=measure,
            reference=reference,
            quick=quick,
            shares=shares,
        )

    return wrap
