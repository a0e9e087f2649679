"""What every fit must keep, whatever it was given."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fitted_state import answer
from loadstone.constraints.resized import resized

#: Sentences of the package; whatever else is warned of is a defect.
EXPECTED = (ConvergenceWarning, UserWarning)
#: Words that only other packages use, or that no one can act on.
FOREIGN = (
    "HistGradient",
    "broadcast",
    "SVD did not",
    "singular matrix",
    "object is not",
    "zero-size",
)
#: What a refusal may be. Memory that is not there is refused in a sentence as well.
REFUSALS = (ValueError, TypeError)


class ViolationError(AssertionError):
    """A property that did not hold."""


def require(holds, what):
    """Raise where something does not hold."""
    if not holds:
        raise ViolationError(what)


@contextmanager
def told():
    """Collect warnings; those that are not sentences of the package are violations.

    So they are before a refusal: whoever is refused reads one sentence.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield caught
        finally:
            for warning in caught:
                if not issubclass(warning.category, EXPECTED):
                    place = f"{Path(warning.filename).name}:{warning.lineno}"
                    msg = f"{warning.category.__name__} at {place}: {warning.message}"
                    raise ViolationError(msg)


def fitted(cls, given, X=None):
    """A model of the input, or of other data with its parameters; silent but for sentences."""
    model = cls(**{name: _own(value) for name, value in given.parameters.items()})
    with told():
        return model.fit(given.X if X is None else X, **given.fit_parameters)


def _own(value):
    return list(value) if isinstance(value, list) else value


def check_fit(cls, given):
    """The fitted model, or ``None`` where it was refused; either way everything must hold."""
    before = given.dense.copy(), repr(given.parameters)
    model = cls(**given.parameters)
    try:
        with told():
            model.fit(given.X, **given.fit_parameters)
    except REFUSALS as error:
        is_a_sentence(error)
        unchanged(given, before)
        left = vars(model).keys() - set(model.get_params())
        require(not left, f"a refused fit left {left}")
        return None
    unchanged(given, before)
    clone(model)
    _components(model, given)
    _projects(model, given)
    return model


def is_a_sentence(error):
    """An error must say something, in words of the package."""
    text = str(error)
    if not text or any(word in text for word in FOREIGN):
        msg = f"not a sentence of ours: {type(error).__name__}: {text}"
        raise ViolationError(msg) from error


def unchanged(given, before):
    """Neither data nor parameters may be touched."""
    dense, parameters = before
    require(np.array_equal(as_dense(given.X), dense, equal_nan=True), "the data was modified")
    require(repr(given.parameters) == parameters, "the parameters were modified")


def as_dense(X):
    """The numbers of any container."""
    if hasattr(X, "compute"):
        X = X.compute()
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return X.astype(float) if X.dtype.kind == "f" else X


def looseness(given):
    """Digits that the precision of the data leaves."""
    return 1e-3 if given.dense.dtype == np.float32 else 1e-6


#: Features that are never selected score minus infinity; limits nobody set are infinite.
MAY_BE_INFINITE = {"scores_", "penalties_", "hyperparameters_", "criteria_"}


def _components(model, given):
    """Finite, of unit length, of the size and sign asked for, and no more variance than there is."""
    for name, value in answer(model).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            require(np.isfinite(value).all() or name in MAY_BE_INFINITE, f"{name} is not finite")
    W = vars(model).get("components_")
    if W is None:
        return
    loose = 1e-4 if given.dense.dtype == np.float32 else 1e-8
    lengths = np.linalg.norm(np.asarray(W, dtype=float), axis=1)
    require(np.allclose(lengths, 1, atol=loose), f"lengths {lengths}")
    _sizes(model, W)
    if model.get_params().get("nonnegative") is True:
        require((W >= 0).all(), "a negative loading")
    _variances(model, loose)
    _no_more_than_pca(model, given)


def _sizes(model, W):
    size = model.get_params().get("n_nonzero")
    constraint = model.get_params().get("constraint")
    if type(size) is int and "support_" in vars(model):
        counts = (W != 0).sum(axis=1)
        require((counts <= size).all(), f"sizes {counts}, {size} asked for")
    if constraint is not None:
        rule = constraint.bound_to(W.shape[1]) if hasattr(constraint, "bound_to") else constraint
        if np.ndim(vars(model).get("n_nonzero_", ())) == 0 and "n_nonzero_" in vars(model):
            # Sizes that are chosen by cross-validation are sizes of it.
            rule = resized(rule, model.n_nonzero_)
        rules = [rule] * len(W)
        if model.get_params().get("orthogonality") == "disjoint":
            # A feature that all of them are to have can be that of one alone.
            used = [np.flatnonzero(np.delete(W, j, axis=0).any(axis=0)) for j in range(len(W))]
            rules = [rule.without(features) for features in used]
        broken = [own.broken_rule(w) for own, w in zip(rules, W, strict=True)]
        require(not any(broken), f"{broken}")
    for name, holds in (("forbidden", lambda w: not w.any()), ("forced", lambda w: True)):
        features = model.get_params().get(name)
        if features is not None:
            require(holds(W[:, features]), f"{name} features {features} are used")


def _variances(model, loose):
    total = vars(model).get("total_variance_")
    explained = vars(model).get("explained_variance_")
    if total is None or explained is None:
        return
    require((np.asarray(explained) >= -loose * total).all(), f"negative variance {explained}")
    require(np.sum(explained) <= total * (1 + loose), f"{np.sum(explained)} of {total}")
    recovered = vars(model).get("recovered_variance_ratio_")
    if recovered is not None and np.size(recovered):
        require(np.max(recovered) <= 1 + loose, f"recovered {recovered}")
        require((np.diff(recovered) >= -loose).all(), f"recovered falls: {recovered}")
    bound = vars(model).get("upper_bound_")
    if bound is not None and np.size(bound) and np.size(explained):
        # Both are rounded, each on its way, in the precision of the data.
        least = explained[0] * (1 - (1e-6 if loose > 1e-6 else 1e-9))
        require(bound[0] >= least, f"bound {bound[0]} < {explained[0]}")


def _no_more_than_pca(model, given):
    """Adjusted variance of r components is at most the sum of the r largest eigenvalues."""
    explained = vars(model).get("explained_variance_")
    if explained is None or given.weights is not None or given.dense.dtype == np.float32:
        return
    X = given.dense.astype(float)
    if not np.isfinite(X).all():
        return
    X = X - X.mean(axis=0)
    if model.scale_ is not None:
        X = X / np.where(model.scale_ > 0, model.scale_, 1)
    values = np.linalg.svd(X, compute_uv=False) ** 2 / max(1, len(X) - 1)
    most = np.cumsum(np.pad(values, (0, len(explained))))[: len(explained)]
    together = np.cumsum(explained)
    # Means far from zero leave fewer digits.
    slack = 1e-6 * values.sum()
    require((together <= most + slack).all(), f"{together} where PCA has {most}")


def _projects(model, given):
    """Scores of the data itself are finite."""
    if not hasattr(model, "transform"):
        return
    with told():
        Z = as_dense(model.transform(given.X))
    require(len(Z) == len(given.dense), f"{len(Z)} scores for {len(given.dense)} samples")
    require("components_" not in vars(model) or np.isfinite(Z).all(), "scores are not finite")
