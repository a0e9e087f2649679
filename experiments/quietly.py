"""Fits whose warnings are part of the experiment, not of its output."""

from __future__ import annotations

import time
import warnings
from typing import Any, TypeVar

E = TypeVar("E")


def fitted(estimator: E, X: Any) -> E:
    """The estimator after ``fit(X)``; what it would warn of is read off its attributes instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X)  # type: ignore[attr-defined]
    return estimator


def fitted_covariance(estimator: E, covariance: Any, n_samples: float | None = None) -> E:
    """The same on a covariance matrix."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = {} if n_samples is None else {"n_samples": n_samples}
        estimator.fit_covariance(covariance, **known)  # type: ignore[attr-defined]
    return estimator


def timed(estimator: E, X: Any) -> tuple[E, float]:
    """The fitted estimator and the processor seconds that the fit took."""
    start = time.process_time()
    fitted(estimator, X)
    return estimator, time.process_time() - start
