"""Whether a certificate is well formed, before any of its numbers is used.

Every number is in double precision and finite, every index a whole number in its range.
What is not is refused in a sentence: whole numbers of eight bits overflow when squared, and
NaN passes every comparison that is not written for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np

from loadstone.certificates.bound_dual import Dual, in_range
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.problem_after import Earlier, broken_earlier
from loadstone.certificates.proof_cases import ProofCase
from loadstone.constraints import KINDS, Groups, Signs
from loadstone.files.foreign import first_line

#: Cases, and duals in one case, beyond which a proof is not read.
MOST_CASES = 10_000_000


def refuse_number(number: Any, name: str) -> None:
    """Raise unless ``number`` is a finite real number."""
    real = isinstance(number, Real) and not isinstance(number, (bool, np.bool_))
    if not real or not np.isfinite(float(number)):
        _refuse(f"its {name} is {number!r}, not a finite number")


def refuse_loading(loading: Any, name: str, n_features: int) -> None:
    """Raise unless ``loading`` is a finite vector in double precision of the right length."""
    if not isinstance(loading, np.ndarray) or loading.dtype != np.float64:
        _refuse(f"its {name} is no array in double precision")
    if loading.shape != (n_features,):
        _refuse(f"its {name} has shape {loading.shape} for {n_features} features")
    if not np.isfinite(loading).all():
        _refuse(f"its {name} holds NaN or infinity")


def refuse_indices(indices: Any, name: str, n_features: int) -> None:
    """Raise unless ``indices`` are distinct features in ascending order."""
    if not isinstance(indices, np.ndarray) or indices.dtype.kind not in "iu" or indices.ndim != 1:
        _refuse(f"its {name} is no list of features")
    numbers = [int(i) for i in indices]
    if any(not 0 <= i < n_features for i in numbers):
        _refuse(f"its {name} names features beyond {n_features}")
    if any(one >= two for one, two in pairwise(numbers)):
        _refuse(f"its {name} is not in ascending order")


def refuse_constraint(constraint: Any) -> int:
    """Raise unless ``constraint`` is one of the known kinds; returns its number of features."""
    if type(constraint) not in KINDS:
        _refuse(f"a {type(constraint).__name__} is no constraint that can be checked")
    n_features = constraint.n_features
    if not _is_count(n_features):
        _refuse(f"its constraint is about {n_features!r} features")
    refuse_indices(np.asarray(constraint.forbidden), "forbidden features", n_features)
    told = {f.name: vars(constraint)[f.name] for f in fields(constraint)}
    if "forced" in told:
        refuse_indices(np.asarray(told["forced"]), "forced features", n_features)
    if not isinstance(told.get("nonnegative", False), bool):
        _refuse(f"nonnegative is {told['nonnegative']!r}")
    optional = {Groups: "per_group", Signs: "n_nonzero"}.get(type(constraint))
    for name in ("n_nonzero", "n_groups", "per_group"):
        if name in told and not (
            _is_count(told[name]) or (name == optional and told[name] is None)
        ):
            _refuse(f"its constraint has {name}={told[name]!r}")
    if "budget" in told:
        refuse_number(told["budget"], "budget")
    remade(constraint)
    return int(n_features)


def remade(constraint: Any) -> Any:
    """The constraint made again from its fields: what it remembers is not to be trusted."""
    told = {f.name: vars(constraint)[f.name] for f in fields(constraint)}
    try:
        return type(constraint)(**told)
    except Exception as error:
        msg = f"its constraint cannot be made from its fields ({first_line(error)})"
        raise CertificateError(msg) from error


def _is_count(number: Any) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool) and int(number) >= 1


def refuse_proof(proof: Any, n_features: int) -> None:
    """Raise unless ``proof`` is a list of cases, each with well-formed duals."""
    if not isinstance(proof, tuple) or not 1 <= len(proof) <= MOST_CASES:
        _refuse("its proof is no list of cases")
    for case in proof:
        if type(case) is not ProofCase or not isinstance(case.duals, tuple):
            _refuse("its proof holds something that is no case")
        if case.feature is not None:
            whole = isinstance(case.feature, Integral) and not isinstance(case.feature, bool)
            if not whole or not 0 <= case.feature < n_features:
                _refuse(f"its proof branches on feature {case.feature!r}")
        if case.lines is not None:
            _refuse_lines(case, n_features)
        _refuse_duals(case.duals, n_features)
    sliced = any(case.lines is not None for case in proof)
    if not sliced and any(dual.multipliers is not None for case in proof for dual in case.duals):
        _refuse("its proof has multipliers of slices, but no slices")


def _refuse_lines(case: ProofCase, n_features: int) -> None:
    lines: Any = case.lines
    fits = isinstance(lines, np.ndarray) and lines.dtype == np.float64 and lines.ndim == 2
    if not fits or lines.shape[0] != n_features or lines.shape[1] < 2:
        _refuse("its proof holds lines of another kind or shape")
    if not in_range(lines):
        _refuse("its proof holds lines with NaN, infinity or numbers beyond range")
    if case.feature is not None:
        _refuse("its proof splits a case in two ways at once")


def _refuse_duals(duals: Sequence[Any], n_features: int) -> None:
    for dual in duals:
        if type(dual) is not Dual:
            _refuse("its proof holds something that is no dual")
        refuse_indices(dual.features, "dual", n_features)
        size = dual.features.size
        parts = [
            (dual.pairing, (size, size), 2),
            (dual.shift, (size,), 1),
            (dual.factor, (size,), 2),
        ]
        parts += [] if dual.limits is None else [(dual.limits, (size,), 1)]
        parts += [] if dual.multipliers is None else [(dual.multipliers, (), 1)]
        for part, shape, ndim in parts:
            fits = isinstance(part, np.ndarray) and part.dtype == np.float64
            if not fits or part.ndim != ndim or part.shape[: len(shape)] != shape:
                _refuse(f"a dual of {size} features has a part of another kind or shape")
            if not in_range(part):
                _refuse("a dual holds NaN, infinity or numbers beyond range")


def refuse_earlier(earlier: Any, n_features: int) -> None:
    """Raise unless the earlier components are well formed."""
    if type(earlier) is not Earlier:
        _refuse("it does not say which components came before")
    fault = broken_earlier(earlier, n_features)
    if fault is not None:
        _refuse(fault)


def _refuse(fault: str) -> None:
    msg = f"the certificate is malformed: {fault}"
    raise CertificateError(msg)
