"""The only place for scikit-learn's private imports, and a typed face for its bases.

Private names move between releases. The bases and the decorator are untyped, so that a type
checker would take every fitted estimator for ``Any``; below it is told what they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    Options,
    StrOptions,
    make_constraint,
)
from sklearn.utils._param_validation import (
    validate_parameter_constraints as _validate_parameter_constraints,
)
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    _get_feature_names,
)
from sklearn.utils.validation import (
    check_is_fitted as _check_is_fitted,
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
        def _html_repr(self) -> str: ...
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
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "Options",
    "StrOptions",
    "TransformerMixin",
    "_check_feature_names_in",
    "_check_sample_weight",
    "_fit_context",
    "_get_feature_names",
    "check_is_fitted",
    "made_rules",
    "refuse_unknown",
    "validate_parameter_constraints",
]


_REFUSED = re.compile(
    r"The '(\w+)' parameter of (\w+) must be (.*)\. Got (.*) instead\.", re.DOTALL
)
_AMONG = re.compile(r"a \w+ among \{([^}]*)\}")
#: Types as scikit-learn calls them: whole numbers too are instances of what it calls 'float'.
_TYPES = {
    "an instance of 'float'": "a number",
    "an instance of 'int'": "a whole number",
    "an instance of 'bool' or an instance of 'numpy.bool'": "True or False",
    "an instance of 'str'": "a name",
}
_LEARNED = "SparseProbabilisticPCA and SparseNoisyPCA take it, and learn the number"
#: What people mean who give a value that is none, by the name of the parameter.
_MEANT = {
    ("n_components", "'auto'"): _LEARNED,
    ("n_components", "'cv'"): _LEARNED,
    ("n_nonzero", "'all'"): "n_nonzero=None uses all features",
    ("certify", "True"): "certify='standard' is the usual effort",
    ("n_components", "'mle'"): "n_components='auto' of the factor models chooses",
    ("n_components", "None"): "say how many components you want, such as n_components=3",
    ("standardize", "'auto'"): "standardize=True scales every feature to unit variance",
}
_CONSTRAINT = "a constraint such as loadstone.constraints.Groups(labels, n_groups=1)"
#: Parameters that other packages have, and what serves here in their place.
_ELSEWHERE = {
    **dict.fromkeys(
        ("alpha", "gamma", "l1_ratio", "lambda_", "penalty", "sumabs", "sumabsv", "l1"),
        "sparsity is said directly here: n_nonzero=10 uses ten features per component",
    ),
    **dict.fromkeys(
        ("k", "sparsity", "cardinality", "card", "n_features", "support_size", "n_nonzero_coefs"),
        "n_nonzero says how many features a component may use",
    ),
    **dict.fromkeys(
        ("positive", "nneg", "non_negative", "nonneg"),
        "nonnegative=True allows only loadings of at least 0",
    ),
    **dict.fromkeys(
        ("scale", "scaled", "normalize", "standardise", "center", "with_std"),
        "data is always centred, and standardize=True scales every feature to unit variance",
    ),
    **dict.fromkeys(
        ("n_comps", "ncomp", "n_pcs", "n_factors", "nfactors", "rank", "n_component"),
        "n_components says how many components you want",
    ),
    **dict.fromkeys(("seed", "rng"), "random_state is the seed"),
    "n_nonzero": "the data decides about its features; SparsePCA takes the number from you",
    "nonnegative": "SparsePCA and others take it; see the table of methods",
    "whiten": "divide the scores by the square root of explained_variance_ after transform",
    "svd_solver": "route says how products with the covariance are computed",
    "copy": "the data is never modified, so nothing has to be copied",
}


def made_rules(rules: Mapping[str, Any]) -> dict[str, list[Any]]:
    """What parameters may be, made once for a class; scikit-learn makes it anew for every fit."""
    return {name: [make_constraint(one) for one in each] for name, each in rules.items()}


def validate_parameter_constraints(
    rules: Mapping[str, Any],
    given: Mapping[str, Any],
    caller_name: str,
    made: Mapping[str, list[Any]] | None = None,
) -> None:
    """Refuse values that a parameter may not have: the value, the rule, and the way out.

    ``made`` are the same rules as :func:`made_rules` returns them.
    """
    if made and all(any(one.is_satisfied_by(given[name]) for one in made[name]) for name in given):
        return
    try:
        _validate_parameter_constraints(rules, given, caller_name=caller_name)
    except InvalidParameterError as error:
        found = _REFUSED.fullmatch(str(error))
        if found is None:
            raise
        raise InvalidParameterError(_sentence(*found.groups())) from None


def _sentence(name: str, who: str, rule: str, value: str) -> str:
    words = [word.strip() for among in _AMONG.findall(rule) for word in among.split(",")]
    plain = _AMONG.sub(lambda among: _listed(among[1].split(",")), rule)
    for kind, called in {**_TYPES, "an object implementing 'bound_to'": _CONSTRAINT}.items():
        plain = plain.replace(kind, called)
    near = get_close_matches(value, words, n=1)
    hint = f"did you mean {near[0]}?" if near else _MEANT.get((name, value))
    if hint is None and name == "n_components" and value.startswith("0."):
        hint = "shares are for methods that find one component after another, such as SparsePCA"
    return f"{name}={value} is nothing {who} takes: give {plain}{f'; {hint}' if hint else ''}"


def _listed(words: Iterable[str]) -> str:
    *most, last = sorted(word.strip() for word in words)
    return f"{', '.join(most)} or {last}" if most else last


def refuse_unknown(who: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse parameters that do not exist, with what serves in their place."""
    known = list(known)
    for name in given:
        if name in known:
            continue
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
        msg = f"{who}() got an unexpected keyword argument {name!r}; {_ELSEWHERE.get(name, hint)}"
        raise TypeError(msg)


def check_is_fitted(estimator: Any, attributes: str | None = None) -> None:
    """Refuse an estimator before its fit, and data in its place: that is named, not printed."""
    if not hasattr(estimator, "fit"):
        msg = f"estimator is a {type(estimator).__name__}; give the fitted estimator first, then the data"
        raise TypeError(msg)
    _check_is_fitted(estimator, attributes)
