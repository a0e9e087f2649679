"""Hyperparameters a user fixes: known to the prior, positive and finite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from numbers import Real

from loadstone.solvers.variational_bayes.priors import PRIORS


def check_hyperparameters(prior: str, given: Mapping[str, float] | None) -> dict[str, float]:
    """Fixed hyperparameters, each known to the prior, positive and finite."""
    known = [f.name for f in fields(PRIORS[prior])]
    checked: dict[str, float] = {}
    for name, value in (given or {}).items():
        if name not in known:
            has = f"has {' and '.join(known)}; name only these" if known else "has none"
            msg = (
                f"hyperparameters names {name!r}, but the prior {prior!r} {has}; what is left out is "
                "learned"
            )
            raise ValueError(msg)
        if not isinstance(value, Real) or not 1e-100 <= value <= 1e100:
            msg = (
                f"hyperparameters[{name!r}]={value!r} must be a number between 1e-100 and 1e100; "
                "leave it out to have it learned"
            )
            raise ValueError(msg)
        checked[name] = float(value)
    return checked
