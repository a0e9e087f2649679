"""What every fit must keep, whatever it was given."""

from __future__ import annotations

import warnings
from contextlib import contextmanager

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fitted_state import answer, differences
from fuzz.inputs import CONTAINERS

#: Sentences of the package; whatever else is warned of is a defect.
EXPECTED = (ConvergenceWarning, UserWarning)
#: Words that only other packages use, or that no one can act on.
FOREIGN = ("HistGradient", "broadcast", "SVD did not", "singular matrix", "object is not")


class ViolationError(AssertionError):
    """A property that did not hold."""


@contextmanager
def told():
    """Collect warnings; those that are not sentences of the package are violations."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught
    for warning in caught:
        if not issubclass(warning.category, EXPECTED):
            msg = f"{warning.category.__name__}: {warning.message}"
            raise ViolationError(msg)


def check(cls, given):
    """Fit, and look at everything that must hold; whether it was fitted or refused."""
    before = _copy(given)
    model = cls(**given.parameters)
    try:
        with told():
            model.fit(given.X)
    except (ValueError, TypeError) as error:
        _is_a_sentence(error)
        _unchanged(given, before)
        if vars(model).keys() - set(model.get_params()):
            msg = f"a refused fit left {vars(model).keys() - set(model.get_params())}"
            raise ViolationError(msg) from error
        return "refused"
    _unchanged(given, before)
    _components(model, given)
    _again(cls, model, given)
    _other_container(cls, model, given)
    return "fitted"


def _is_a_sentence(error):
    text = str(error)
    if not text or any(word in text for word in FOREIGN):
        msg = f"not a sentence of ours: {type(error).__name__}: {text}"
        raise ViolationError(msg) from error


def _copy(given):
    return given.dense.copy(), dict(given.parameters)


def _unchanged(given, before):
    dense, parameters = before
    if not np.array_equal(_dense(given.X), dense, equal_nan=True):
        msg = "the data was modified"
        raise ViolationError(msg)
    if given.parameters != parameters:
        msg = "the parameters were modified"
        raise ViolationError(msg)


def _dense(X):
    if hasattr(X, "compute"):
        X = X.compute()
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return X.astype(float) if X.dtype.kind == "f" else X


def _require(holds, what):
    if not holds:
        raise ViolationError(what)


def _components(model, given):
    """Finite, of unit length, of the size and sign asked for, and no more variance than there is."""
    for name, value in answer(model).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            _require(np.isfinite(value).all() or name in MAY_BE_INFINITE, f"{name} is not finite")
    W = getattr(model, "components_", None)
    if W is None:
        return
    loose = 1e-4 if given.dense.dtype == np.float32 else 1e-8
    lengths = np.linalg.norm(np.asarray(W, dtype=float), axis=1)
    if getattr(model, "unit_components_", True) and "Probabilistic" not in type(model).__name__:
        _require(np.allclose(lengths, 1, atol=loose), f"lengths {lengths}")
    _sizes(model, W)
    if model.get_params().get("nonnegative") is True:
        _require((W >= 0).all(), "a negative loading")
    _variances(model, loose)


#: Features that are never selected score minus infinity; limits nobody set are infinite.
MAY_BE_INFINITE = {"scores_", "penalties_", "hyperparameters_", "criteria_"}


def _sizes(model, W):
    size = model.get_params().get("n_nonzero")
    if type(size) is int and hasattr(model, "supports_"):
        counts = (W != 0).sum(axis=1)
        _require((counts <= size).all(), f"sizes {counts}, {size} asked for")


def _variances(model, loose):
    total = getattr(model, "total_variance_", None)
    explained = getattr(model, "explained_variance_", None)
    if total is None or explained is None:
        return
    _require((np.asarray(explained) >= -loose * total).all(), f"negative variance {explained}")
    _require(np.sum(explained) <= total * (1 + loose), f"{np.sum(explained)} of {total}")
    recovered = getattr(model, "recovered_variance_ratio_", None)
    if recovered is not None and np.size(recovered):
        _require(np.max(recovered) <= 1 + loose, f"recovered {recovered}")
        _require((np.diff(recovered) >= -loose).all(), f"recovered falls: {recovered}")


def _again(cls, model, given):
    """The same fit gives the same, bit by bit; a refused refit leaves what was there."""
    with told():
        twin = cls(**given.parameters).fit(given.X)
    _same(_untimed(model), _untimed(twin), 0.0, "a second fit")
    broken = np.full((5, given.dense.shape[1]), np.inf)
    try:
        twin.fit(broken)
    except ValueError:
        _same(answer(model), answer(twin), 0.0, "a refused refit")
    else:
        msg = "infinite data was fitted"
        raise ViolationError(msg)


def _untimed(model):
    """Without bounds of proofs that a clock may end."""
    timed = {"upper_bound_", "gap_"} if "time_limit" in model.get_params() else set()
    return {name: value for name, value in answer(model).items() if name not in timed}


def _other_container(cls, model, given):
    """C and Fortran order are the same table; so is every other container, up to rounding."""
    if given.container in EXACT and given.dense.dtype.kind == "f":
        other = EXACT[1 - EXACT.index(given.container)]
        with told():
            twin = cls(**given.parameters).fit(CONTAINERS[other](given.dense))
        variance = getattr(model, "explained_variance_", None)
        if variance is not None:
            loose = 1e-3 if given.dense.dtype == np.float32 else 1e-6
            _same(
                {"explained": np.sum(variance)},
                {"explained": np.sum(twin.explained_variance_)},
                loose,
                f"{given.container} and {other}",
            )


EXACT = ("array", "Fortran")


def _same(first, second, tol, what):
    found = differences(first, second, tol)
    if found:
        msg = f"{what} differs: {found[:3]}"
        raise ViolationError(msg)
