"""One ``fit``: read the data, search, tell, store. Read this file first.

::

    X or a matrix
      read(...)      -> Reading   checked, named, a covariance; knows no estimator
      _search(Task)  -> Found     the one method an estimator writes; changes no estimator
      tell(...)                   every warning
      store(...)                  all attributes at once, or none

Parameters of an estimator are the fields of its class: the first positional, the others by
name. Class variables are no parameters and are marked ``ClassVar``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np
from sklearn.utils import check_random_state

from loadstone._sklearn_compat import (
    BaseEstimator,
    CallbackSupportMixin,
    _fit_context,
    made_rules,
    refuse_unknown,
    validate_parameter_constraints,
)
from loadstone.blas_threads import threads_for
from loadstone.covariance import Covariance
from loadstone.covariance.opened import is_out_of_core
from loadstone.covariance.passes import telling_passes
from loadstone.estimators.attributes import CERTIFICATES, COMPONENTS, INPUT, Attribute
from loadstone.estimators.docstring import composed
from loadstone.estimators.found import Fitted, Found, Task, store, tell
from loadstone.estimators.parameters import SHARED
from loadstone.estimators.projection import ComponentsMixin
from loadstone.estimators.reading import Reading, read, read_covariance
from loadstone.notebook import with_loadings

__all__ = ["Components", "FitMixin", "field", "seeded"]


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
@dataclass(kw_only=True, eq=False, repr=False)
class FitMixin(CallbackSupportMixin):
    """The one ``fit`` of all estimators; a subclass writes :meth:`_search`."""

    standardize: bool | None = None
    route: str = "auto"
    random_state: Any = 0

    #: Values parameters may have; a class writes only its own, see ``parameters.py``.
    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    _made_rules: ClassVar[dict[str, list[Any]]] = {}
    #: Shared attributes its fit sets, for the documentation.
    _attributes: ClassVar[dict[str, Attribute]] = INPUT
    #: Columns a fit multiplies with the covariance, for ``route="auto"``.
    _n_products: ClassVar[int] = 10_000
    #: Whether NaN stands for a missing value.
    _allows_missing: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(kw_only=True, eq=False, repr=False)(cls)
        own: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            own |= vars(base).get("_parameter_constraints", {})
        names = [parameter.name for parameter in fields(cls)]
        cls._parameter_constraints = {n: own[n] if n in own else SHARED[n].rule for n in names}
        cls._made_rules = made_rules(cls._parameter_constraints)
        if "about" in vars(cls):
            cls.__doc__ = composed(cls.__doc__ or "", fields(cls), cls._attributes)

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Refuse parameters that do not exist, before Python does so without a way out."""
        refuse_unknown(cls.__name__, given, cls._parameter_constraints)
        return super().__new__(cls)

    def _validate_params(self) -> None:
        given = {name: vars(self)[name] for name in self._parameter_constraints}
        name, rules = type(self).__name__, self._parameter_constraints
        validate_parameter_constraints(rules, given, name, self._made_rules)

    def _search(self, task: Task) -> Fitted:
        """Search; nothing of the estimator is changed."""
        raise NotImplementedError

    def _answer(self, task: Task) -> Fitted:
        """The search, or several where parameters leave something to be found out."""
        return self._search(task)

    def check_parameters(self) -> None:
        """Refuse values that a parameter may not have, as ``fit`` does."""
        self._validate_params()

    def _expected_products(self) -> int:
        """Columns this fit will multiply with the covariance."""
        return self._n_products

    def _needs_rows(self) -> bool:
        """Whether the search looks at single samples."""
        return False

    def _units_matter(self) -> bool:
        """Whether a feature in another unit has another say."""
        return True

    def _looks_at_all(self) -> bool:
        """Whether the search looks at every feature again and again, out of core or not."""
        return False

    def _n_tasks(self) -> int | None:
        """Steps that will be reported, where that is known."""
        return None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to data.

        Parameters
        ----------
        X : {array-like, sparse matrix, memmap, Dask array} of shape (n_samples, n_features)
            Training data; never modified, sparse data is never made dense. NaN marks
            missing values for the estimators that model them, and is refused by the others.
            A :class:`SampleCovariance` stands for its rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            How many samples each row stands for.

        Returns
        -------
        self : object
            Fitted; as it was before if the fit is refused or interrupted.
        """
        # Passes are steps too, and nobody knows how many there will be.
        n_steps = None if is_out_of_core(X) else self._n_tasks()
        return self._fit(lambda: self._read(X, sample_weight), n_steps)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_covariance(self, S: Any, n_samples: float | None = None) -> Self:
        """Fit to a covariance (or correlation) matrix.

        Parameters
        ----------
        S : array-like of shape (n_features, n_features), Covariance or SampleCovariance
            Symmetric and positive semi-definite.
        n_samples : float, optional
            Number of samples behind it, where it is known.

        Returns
        -------
        self : object
            Fitted, with ``mean_`` zero where the matrix comes without a mean.
        """
        n_steps = None if isinstance(S, Covariance) else self._n_tasks()
        return self._fit(
            lambda: read_covariance(S, n_samples, standardize=bool(self.standardize)), n_steps
        )

    def _read(self, X: Any, sample_weight: Any) -> Reading:
        return read(
            X,
            sample_weight,
            standardize=bool(self.standardize),
            route=self.route,
            n_products=self._expected_products(),
            missing=self._allows_missing,
            keep_rows=self._needs_rows(),
            whole=self._looks_at_all(),
        )

    def _fit(self, reading: Callable[[], Reading], n_steps: int | None) -> Self:
        context = self._init_callback_context(max_subtasks=n_steps)
        context.call_on_fit_task_begin(estimator=self)
        report = _Callbacks(self, context)
        with telling_passes(report):
            data = reading()
            said = self.standardize if self._units_matter() else False
            tell(data.minding_units(standardize=said))
            with threads_for(data.n_numbers):
                found = self._answer(Task(data, seeded(self.random_state), report))
            tell(found)
            store(self, data, found)
        context.call_on_fit_task_end(estimator=self)
        return self

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags


class Components(ComponentsMixin, FitMixin, BaseEstimator):
    """Estimators that find components; a subclass says only how."""

    _attributes: ClassVar[dict[str, Attribute]] = {**COMPONENTS, **INPUT}

    def _search(self, task: Task) -> Found:
        raise NotImplementedError

    def _html_repr(self) -> str:
        return with_loadings(super()._html_repr(), vars(self))

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


#: What the documentation says of components that carry proofs.
WITH_PROOFS: dict[str, Attribute] = {**COMPONENTS, **CERTIFICATES, **INPUT}


@dataclass(frozen=True)
class _Callbacks:
    """Tells scikit-learn's callbacks of every step of a fit."""

    estimator: Any
    context: Any

    def __call__(self, name: str, **facts: Any) -> bool:
        task = self.context.subcontext(task_name=name)
        task.call_on_fit_task_begin(estimator=self.estimator)
        return bool(task.call_on_fit_task_end(estimator=self.estimator, metadata=facts))


def seeded(random_state: Any) -> np.random.Generator:
    """A generator that a number, a ``RandomState`` or the global state determines."""
    if isinstance(random_state, int):
        return np.random.default_rng(_first_draw(random_state))
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


@lru_cache(maxsize=64)
def _first_draw(seed: int) -> int:
    """The first number of a ``RandomState``, which takes long to set up beside a small fit."""
    return int(check_random_state(seed).randint(2**31 - 1))
