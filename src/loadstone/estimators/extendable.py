"""Components that can be followed by more of the same kind."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from loadstone.estimators.base import WITH_PROOFS, seeded
from loadstone.estimators.checks import (
    check_features,
    check_new_rows,
    check_sizes,
    check_weights,
)
from loadstone.estimators.found import Found, Task, is_fitted_name, store, tell
from loadstone.estimators.reading import Reading, read_covariance, read_rows
from loadstone.estimators.sequential import SequentialComponents
from loadstone.metrics import total_variance


class ExtendableMixin:
    """For components one after another, of which a fitted model can be given more."""

    def add_components(
        self,
        X: Any = None,
        n_components: int = 1,
        *,
        covariance: Any = None,
        n_nonzero: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Find more components of the same data; those there are stay as they are.

        The result is the one of asking for all of them at once, unless the first ones
        were refined together: the new ones are not.

        Parameters
        ----------
        X : {array-like, sparse matrix, memmap, Dask array} of shape (n_samples, n_features)
            The data the model was fitted on.
        n_components : int, default=1
            How many more.
        covariance : array-like of shape (n_features, n_features), optional
            The matrix the model was fitted on, in place of ``X``.
        n_nonzero : int, float, array-like or None, default=None
            Sizes of the new components; by default the parameter of the model.
        sample_weight : array-like of shape (n_samples,), optional
            The weights the model was fitted with.

        Returns
        -------
        self : object
            With ``n_components_`` larger; the parameter ``n_components`` is not changed.
        """
        assert isinstance(self, SequentialComponents)
        check_is_fitted(self)
        if (X is None) == (covariance is None):
            msg = "give either the data X or the covariance the model was fitted on"
            raise ValueError(msg)
        if not isinstance(n_components, Integral) or n_components < 1:
            msg = f"n_components={n_components!r} must be a whole number of at least 1"
            raise ValueError(msg)
        self._refuse_more()
        data = _same_data(self, X, covariance, sample_weight)
        sizes = _sizes_asked_for(self, data) + _more_sizes(self, n_components, n_nonzero, data)
        earlier = self.components_.T.astype(data.S.dtype)
        task = Task(data, seeded(self.random_state))
        known = vars(self).get("certificates_", ())
        found = self._found(task, self._constraints(data, sizes), earlier=earlier, known=known)
        tell(found)
        store(self, data, _joined(self, found))
        return self

    def _refuse_more(self) -> None:
        """Raise with the reason where a fitted model cannot be given more components."""


def _joined(model: SequentialComponents, found: Found) -> Found:
    """What the model has to say of all its components, once those found have joined."""
    searches = found.searches
    values = {
        # What an estimator tells of its own is about its first component.
        **{n: v for n, v in vars(model).items() if is_fitted_name(n) and n not in WITH_PROOFS},
        "stop_reason_": model.stop_reason_ + [search.stop.value for search in searches],
        "objective_": model.objective_ + [search.objective for search in searches],
        "n_iter_": max([model.n_iter_, *(search.n_iter for search in searches)]),
    }
    return replace(found, values=values)


def _same_data(model: SequentialComponents, X: Any, covariance: Any, sample_weight: Any) -> Reading:
    """The data of the fit, read again and recognised by its moments."""
    if covariance is not None:
        n_samples = None if np.isnan(model.n_samples_) else model.n_samples_
        data = read_covariance(covariance, n_samples, standardize=model.standardize)
    else:
        rows = check_new_rows(model, X)
        data = read_rows(
            rows,
            check_weights(sample_weight, rows),
            vars(model).get("feature_names_in_"),
            standardize=model.standardize,
            route=model.route,
            n_products=model._expected_products(),
        )
    total, mean = total_variance(data.S), data.moments.mean
    same = mean.shape == model.mean_.shape
    same = same and np.allclose(mean, model.mean_, rtol=1e-5, atol=1e-8 * np.sqrt(total))
    if not same or not np.isclose(total, model.total_variance_, rtol=1e-5):
        msg = (
            f"this is not the data of the fit: its total variance is {total:.6g}, that of the "
            f"fit {model.total_variance_:.6g}. Pass the same data and weights, or fit anew"
        )
        raise ValueError(msg)
    return data


def _more_sizes(
    model: SequentialComponents, n_more: int, n_nonzero: Any, data: Reading
) -> list[int]:
    """Sizes of the new components."""
    if n_nonzero is not None:
        return check_sizes(n_nonzero, n_more, data.n_features)
    if np.ndim(model.n_nonzero) == 1:
        msg = (
            f"n_nonzero={model.n_nonzero!r} gives sizes for the first components only; "
            "pass n_nonzero for the new ones"
        )
        raise ValueError(msg)
    return model.sizes_on(n_more, data.n_features)


def _sizes_asked_for(model: SequentialComponents, data: Reading) -> list[int]:
    """How many features each of the components there are could have used."""
    n_asked = model.n_components_ if np.ndim(model.n_nonzero) == 0 else len(model.n_nonzero)
    asked = model.sizes_on(n_asked, data.n_features)[: model.n_components_]
    asked += [1] * (model.n_components_ - len(asked))
    forced = model.get_params(deep=False).get("forced")
    n_forced = check_features(forced, "forced", data.n_features, data.names).size
    used = model.cardinality_.tolist()
    return [max(places) for places in zip(asked, used, [n_forced] * len(used), strict=True)]
