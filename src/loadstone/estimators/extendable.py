"""Components that can be followed by more of the same kind."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np

from loadstone._sklearn_compat import check_is_fitted
from loadstone.constraints.from_parameters import check_features, check_sizes
from loadstone.covariance import SampleCovariance
from loadstone.covariance.checks import check_weights
from loadstone.estimators.base import WITH_PROOFS, seeded
from loadstone.estimators.checks import check_new_rows
from loadstone.estimators.found import Found, Task, is_fitted_name, store, tell
from loadstone.estimators.reading import Reading, read_covariance, read_rows
from loadstone.estimators.sequential import SequentialComponents
from loadstone.metrics import marginal_variance, total_variance


class ExtendableMixin:
    """For components one after another, of which a fitted model can be given more."""

    def _refuses_more(self) -> str | None:
        """Why no component can be added; ``None`` where one can."""
        return None

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
        _refuse(self, X, covariance, n_components)
        data = _same_data(self, X, covariance, sample_weight)
        sizes = _sizes_asked_for(self, data) + _more_sizes(self, n_components, n_nonzero, data)
        earlier = self.components_.T.astype(data.S.dtype)
        task = Task(data, seeded(self.random_state))
        known = vars(self).get("certificates_", ())
        found = self._found(task, self._constraints(data, sizes), earlier=earlier, known=known)
        tell(found)
        store(self, data, _joined(self, found))
        return self


def _refuse(model: Any, X: Any, covariance: Any, n_components: Any) -> None:
    """Say why nothing can be added, before anything is read."""
    reason = model._refuses_more()
    if reason is not None:
        raise ValueError(reason)
    if (X is None) == (covariance is None):
        msg = "give either the data X or the covariance the model was fitted on"
        raise ValueError(msg)
    if isinstance(X, Integral):
        msg = f"add_components({X}) gives no data; use add_components(X, {X}) with that of the fit"
        raise TypeError(msg)
    if not isinstance(n_components, Integral) or n_components < 1:
        msg = f"n_components={n_components!r} must be a whole number of at least 1"
        raise ValueError(msg)


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
    if isinstance(X, SampleCovariance):
        covariance = X
    if covariance is not None:
        n_samples = None if np.isnan(model.n_samples_) else model.n_samples_
        data = read_covariance(covariance, n_samples, standardize=bool(model.standardize))
        data = replace(data, names=_same_names(model, data.names))
    else:
        rows = check_new_rows(model, X)
        data = read_rows(
            rows,
            check_weights(sample_weight, rows),
            vars(model).get("feature_names_in_"),
            standardize=bool(model.standardize),
            route=model.route,
            n_products=model._expected_products(),
        )
    difference = _difference(model, data)
    if difference is not None:
        msg = (
            f"this is not the data of the fit: {difference}. Pass the same data and weights (or the "
            "covariance, if the model was fitted on that), or fit anew"
        )
        raise ValueError(msg)
    return data


def _difference(model: SequentialComponents, data: Reading) -> str | None:
    """How the data differs from that of the fit, as far as the model can tell."""
    if data.n_features != model.n_features_in_:
        return f"it has {data.n_features} features, that of the fit {model.n_features_in_}"
    total = total_variance(data.S)
    if not np.isclose(total, model.total_variance_, rtol=1e-5):
        return f"its total variance is {total:.6g}, that of the fit {model.total_variance_:.6g}"
    spread = np.sqrt(total)
    if not np.allclose(data.moments.mean, model.mean_, rtol=1e-5, atol=1e-8 * spread):
        return "its mean is another one"
    marginal = marginal_variance(data.S, model.components_.T.astype(data.S.dtype))
    if not np.allclose(marginal, model.marginal_variance_, rtol=1e-3, atol=1e-5 * total):
        return "the components there are have another variance in it"
    return None


def _same_names(model: SequentialComponents, names: Any) -> Any:
    """The names of the fit, which a matrix without any is about as well."""
    known = vars(model).get("feature_names_in_")
    if names is None or known is None or list(names) == list(known):
        return known if names is None else names
    msg = f"the covariance is about {list(names)[:3]} ..., the fit about {list(known)[:3]} ..."
    raise ValueError(msg)


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
    return model._sizes_on(n_more, data.n_features)


def _sizes_asked_for(model: SequentialComponents, data: Reading) -> list[int]:
    """How many features each of the components there are could have used."""
    n_asked = model.n_components_ if np.ndim(model.n_nonzero) == 0 else len(model.n_nonzero)
    asked = model._sizes_on(n_asked, data.n_features)[: model.n_components_]
    asked += [1] * (model.n_components_ - len(asked))
    forced = model.get_params(deep=False).get("forced")
    n_forced = check_features(forced, "forced", data.n_features, data.names).size
    used = model.cardinality_.tolist()
    return [max(places) for places in zip(asked, used, [n_forced] * len(used), strict=True)]
