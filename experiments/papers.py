"""Which papers there are, and their claims: folders of this package, found by looking.

A folder is a paper if its ``__init__`` holds a :class:`Paper` named ``PAPER``; its claims are the
:class:`~experiments.claim.Claim` objects in its modules, module by module, in the order in which
they are written.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass

import experiments
from experiments.claim import Claim


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper whose claims are measured.

    Attributes
    ----------
    title, authors, where : str
        As it is cited.
    page : str
        Name of the page of its method in ``docs/methods``.
    about : str
        A paragraph for its page: what was found, in short.
    """

    title: str
    authors: str
    where: str
    page: str
    about: str = ""


def papers() -> dict[str, Paper]:
    """All papers by the names of their folders."""
    found = {}
    for entry in pkgutil.iter_modules(experiments.__path__):
        if entry.ispkg:
            found[entry.name] = importlib.import_module(f"experiments.{entry.name}").PAPER
    return found


def claims_of(paper: str) -> dict[str, Claim]:
    """The claims of a paper by their ids."""
    package = importlib.import_module(f"experiments.{paper}")
    found: dict[str, Claim] = {}
    for entry in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{entry.name}")
        for value in vars(module).values():
            if isinstance(value, Claim) and value.measure.__module__ == module.__name__:
                if value.id in found:
                    msg = f"two claims are called {value.id}; ids are unique"
                    raise ValueError(msg)
                found[value.id] = value
    return found
