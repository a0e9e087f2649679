"""Estimators whose components can be followed by more of the same kind."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from loadstone.covariance import Covariance, Moments, covariance_of
from loadstone.estimators.base import standardized
from loadstone.estimators.checks import (
    check_covariance,
    check_data,
    check_features,
    check_sizes,
    check_weights,
)
from loadstone.estimators.sequential import SequentialComponents
from loadstone.extraction import Extraction, one_by_one
from loadstone.metrics import total_variance


class ExtendableComponents(SequentialComponents):
    """Components one after another, of which a fitted model can be given more."""

    def add_components(
        self,
        X: Any = None,
        n_components: int = 1,
        *,
        covariance: Any = None,
        n_nonzero: Any = None,
        sample_weight: Any = None,
    ) -> Any:
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
        check_is_fitted(self)
        if (X is None) == (covariance is None):
            msg = "give either the data X or the covariance the model was fitted on"
            raise ValueError(msg)
        if not isinstance(n_components, Integral) or n_components < 1:
            msg = f"n_components={n_components!r} must be a whole number of at least 1"
            raise ValueError(msg)
        with self._all_or_nothing():
            S, moments = self._same_covariance(X, covariance, sample_weight)
            constraints = self._more_constraints(S, moments, n_components, n_nonzero)
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
            earlier = self.components_.T.astype(S.dtype)
            more = one_by_one(S, constraints, self._plan(S), rng, earlier=earlier)
            self._warn(more)
            before = {name: getattr(self, name) for name in ("stop_reason_", "objective_")}
            n_iter = self.n_iter_
            self._store(S, moments, more)
            self.stop_reason_ = before["stop_reason_"] + self.stop_reason_
            self.objective_ = before["objective_"] + self.objective_
            self.n_iter_ = max(n_iter, self.n_iter_)
            self._prove(S, more, constraints)
        return self

    def _prove(self, S: Covariance, extraction: Extraction, constraints: list[Any]) -> None:
        """Where components carry proofs, those of all components; nothing to do elsewhere."""

    def _same_covariance(
        self, X: Any, covariance: Any, sample_weight: Any
    ) -> tuple[Covariance, Moments]:
        """The covariance of the fit, computed again and recognised by its moments."""
        if covariance is not None:
            n_samples = None if np.isnan(self.n_samples_) else self.n_samples_
            given = check_covariance(covariance, n_samples)
            S, moments = standardized(given, self.standardize)
        else:
            X = check_data(self, X, reset=False)
            weights = check_weights(sample_weight, X)
            S, moments = covariance_of(
                X,
                route=self.route,
                standardize=self.standardize,
                sample_weight=weights,
                n_products=self._n_products,
            )
        total = total_variance(S)
        same = moments.mean.shape == self.mean_.shape
        same = same and np.allclose(moments.mean, self.mean_, rtol=1e-5, atol=1e-8 * np.sqrt(total))
        if not same or not np.isclose(total, self.total_variance_, rtol=1e-5):
            msg = (
                f"this is not the data of the fit: its total variance is {total:.6g}, that of the "
                f"fit {self.total_variance_:.6g}. Pass the same data and weights, or fit anew"
            )
            raise ValueError(msg)
        return S, moments

    def _more_constraints(
        self, S: Covariance, moments: Moments, n_more: int, n_nonzero: Any
    ) -> list[Any]:
        """Constraints of the components there are, then those of the new ones."""
        sizes = self.n_nonzero if n_nonzero is None else n_nonzero
        if n_nonzero is None and np.ndim(self.n_nonzero) == 1:
            msg = (
                f"n_nonzero={self.n_nonzero!r} gives sizes for the first components only; "
                "pass n_nonzero for the new ones"
            )
            raise ValueError(msg)
        new = check_sizes(sizes, n_more, S.n_features)
        return self._constraints_of(S, moments, self._sizes_asked_for(S.n_features) + new)

    def _sizes_asked_for(self, n_features: int) -> list[int]:
        """How many features each of the components there are could have used."""
        certificates = getattr(self, "certificates_", None)
        if certificates is not None:
            # Components added before may have had a size of their own: proofs remember it.
            return [certificate.constraint.n_nonzero for certificate in certificates]
        n_asked = self.n_components_ if np.ndim(self.n_nonzero) == 0 else len(self.n_nonzero)
        asked = check_sizes(self.n_nonzero, n_asked, n_features)[: self.n_components_]
        asked += [1] * (self.n_components_ - len(asked))
        names = getattr(self, "feature_names_in_", None)
        n_forced = check_features(self.forced, "forced", n_features, names).size
        used = self.cardinality_.tolist()
        return [max(places) for places in zip(asked, used, [n_forced] * len(used), strict=True)]
