"""The only place for scikit-learn's private imports, and a typed face for its bases.

Private names move between releases. The bases and the decorator are untyped, so that a type
checker would take every fitted estimator for ``Any``; below it is told what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    Options,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    _get_feature_names,
)

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    Method = TypeVar("Method", bound=Callable[..., Any])

    def _fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]: ...

    class BaseEstimator:
        """``sklearn.base.BaseEstimator`` as far as it is used."""

        n_features_in_: int
        feature_names_in_: NDArray[Any]

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...  # noqa: FBT001, FBT002
        def set_params(self, **params: Any) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...
        def _validate_params(self) -> None: ...

    class TransformerMixin:
        """``sklearn.base.TransformerMixin`` as far as it is used."""

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any: ...
        def set_output(self, *, transform: str | None = None) -> Self: ...

    class ClassNamePrefixFeaturesOutMixin:
        """Names of the scores: the name of the class and a number."""

        def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]: ...

    class CallbackSupportMixin:
        """``sklearn.callback.CallbackSupportMixin`` as far as it is used."""

        def set_callbacks(self, *callbacks: Any) -> Self: ...
        def _init_callback_context(self, *, max_subtasks: int | None) -> Any: ...

else:
    from sklearn.base import (
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        TransformerMixin,
        _fit_context,
    )
    from sklearn.callback import CallbackSupportMixin

__all__ = [
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassNamePrefixFeaturesOutMixin",
    "Interval",
    "InvalidParameterError",
    "Options",
    "StrOptions",
    "TransformerMixin",
    "_check_feature_names_in",
    "_check_sample_weight",
    "_fit_context",
    "_get_feature_names",
    "validate_parameter_constraints",
]
