"""The parameters that estimators share: what each means and which values it may have.

An estimator declares its parameters as fields. It describes and restricts in its own docstring
and ``_parameter_constraints`` only those that are its own or mean something else there.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

from loadstone._sklearn_compat import HasMethods, Interval, StrOptions
from loadstone.covariance import DEFLATION_NAMES, ROUTES
from loadstone.extraction import ORTHOGONALITIES

COUNT = Interval(Integral, 1, None, closed="left")
#: Of starts or repeated fits: more would take days, and nobody can want them.
REPEATS = Interval(Integral, 1, 100_000, closed="both")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
SHARE = Interval(Real, 0, 1, closed="left")


class Parameter(NamedTuple):
    """Type and meaning as the documentation gives them, and what scikit-learn checks."""

    kind: str
    text: str
    rule: Any


#: In the order in which the documentation lists them; an estimator's own follow the third.
SHARED: dict[str, Parameter] = {
    "n_components": Parameter(
        "int or float",
        "Number of components. Where they are found one after another, also a share in (0, 1):\n"
        "as many as recover that share of the variance of all features.",
        [COUNT],
    ),
    "n_nonzero": Parameter(
        "int, float, array-like or None",
        "Features per component: a number, a fraction in (0, 1], or one of these per\n"
        "component. ``None`` uses all features.",
        [None, Real, "array-like"],
    ),
    "nonnegative": Parameter(
        "bool", "Allow only loadings >= 0: a component then adds features up.", ["boolean"]
    ),
    "constraint": Parameter(
        "Constraint or None",
        "What a component may look like, in place of ``n_nonzero`` and ``nonnegative``: one of\n"
        ":mod:`loadstone.constraints`, such as ``Groups`` or ``Signs``. A solver that cannot\n"
        "serve it says so.",
        [HasMethods("bound_to"), None],
    ),
    "orthogonality": Parameter(
        '{"none", "disjoint", "quasi", "strict", "uncorrelated"}',
        'How components relate. ``"none"``: by deflation alone. ``"disjoint"``: no feature\n'
        'serves two of them. ``"quasi"``: any two are at least ``min_angle`` degrees apart.\n'
        '``"strict"``: loadings are orthogonal, which for non-negative ones means disjoint.\n'
        '``"uncorrelated"``: scores are uncorrelated; component j then needs ``n_nonzero``\n'
        "of at least j. Where no further component can keep this, fewer are returned,\n"
        "with a warning.",
        [StrOptions(set(ORTHOGONALITIES))],
    ),
    "min_angle": Parameter(
        "float",
        'Smallest angle between two components in degrees, for ``"quasi"``.',
        [Interval(Real, 0, 90, closed="both")],
    ),
    "refine": Parameter(
        '{"warm", "full", False}',
        "Improve the components together once all are found: every constraint is kept and\n"
        'the adjusted variance is never lower. ``"warm"`` climbs from where they are and\n'
        'takes hardly any time, ``"full"`` (also ``True``) searches again by random draws, up to\n'
        "ten times as long, ``False`` leaves them as they were found one after another.",
        [StrOptions({"warm", "full"}), "boolean"],
    ),
    "deflation": Parameter(
        "str",
        'How a component is removed before the next one is sought: ``"projection"``,\n'
        '``"hotelling"``, ``"schur"``, ``"orthogonalized_projection"`` or\n'
        '``"orthogonalized_hotelling"``.',
        [StrOptions(set(DEFLATION_NAMES))],
    ),
    "renormalize": Parameter("bool", "Re-optimise the loadings on the support found.", ["boolean"]),
    "standardize": Parameter(
        "bool or None",
        "Scale each feature to unit variance, without copying the data. ``None`` does not, and\n"
        "warns where variances differ by more than a factor of 10 000.",
        ["boolean", None],
    ),
    "route": Parameter(
        '{"auto", "gram", "data", "wide"}',
        "Form the covariance matrix, or work on the data. Both give the same answer. The wide\n"
        "route, for few samples of very many features out of core, reads them a handful of\n"
        "times and looks at a working set; see the page on large data.",
        [StrOptions(set(ROUTES))],
    ),
    "forced": Parameter(
        "array-like of int or str, optional",
        "Features that hold a place in every component. Where components share no feature\n"
        '(``orthogonality="disjoint"``, or ``"strict"`` with given signs), in the first one only.',
        [None, str, "array-like"],
    ),
    "forbidden": Parameter(
        "array-like of int or str, optional",
        "Features that are never used.",
        [None, str, "array-like"],
    ),
    "n_init": Parameter("int", "Number of starts; the best result is kept.", [REPEATS]),
    "max_iter": Parameter("int", "Largest number of iterations.", [COUNT]),
    "tol": Parameter("float", "Change of direction at which a search has settled.", [NOT_NEGATIVE]),
    "n_jobs": Parameter("int or None", "Fits in parallel, by joblib.", [None, Integral]),
    "random_state": Parameter(
        "int, RandomState instance or None", "Seed of the random starts.", ["random_state"]
    ),
}
