"""Certificates on disk: plain arrays in one ``.npz`` file, no pickle.

The format stands in ``docs/certificates.md``, for those who read or write it elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from loadstone.certificates.bound_dual import Dual
from loadstone.certificates.certificate_about import About
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.problem import Array
from loadstone.certificates.problem_after import Earlier
from loadstone.certificates.proof_cases import ProofCase
from loadstone.constraints import Constraint
from loadstone.files.errors import MissingFileError
from loadstone.files.npy_arrays import DamagedError
from loadstone.files.npz_json import decode, encode
from loadstone.files.own_archive import (
    DUAL_FEATURES,
    checked,
    damaged,
    json_of,
    read_own,
    write_own,
)
from loadstone.files.reachable import is_at_hand

#: Formats 1 and 2 did not say what they are about and stored claims that nobody could check.
FORMAT = 3
#: The same with cases that are slices; proofs without any are written for those who know none.
SLICED = 4
_NUMBERS = ("value", "upper_bound", "seconds", "best_value")
_ABOUT = ("n_features", "n_samples", "trace", "squares", "probe")
_CONSTRAINT = "constraint_"
#: Kind and dimension of each array that is read; numbers are in double precision.
_ARRAYS = {
    "format": ("iu", 0),
    "numbers": ("f", 1),
    "about": ("f", 1),
    "texts": ("U", 1),
    "loading": ("f", 1),
    "best_loading": ("f", 1),
    "earlier": ("f", 2),
    "fixed_in": ("iu", 1),
    "fixed_out": ("iu", 1),
    "node_duals": ("iu", 1),
    "node_features": ("iu", 1),
    "node_listed": ("b", 1),
    "dual_sizes": ("iu", 2),
    DUAL_FEATURES: ("iu", 1),
    "dual_numbers": ("f", 1),
}
#: What files with slices have besides.
_SLICES = {
    "node_lines": ("iu", 1),
    "lines": ("f", 2),
    "dual_multipliers": ("iu", 1),
    "multipliers": ("f", 1),
}


def save_fields(fields: Mapping[str, Any], path: str | Path) -> None:
    """Write the fields of a certificate to exactly this path."""
    write_own(Path(path), parts_of(fields))


def parts_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays that a certificate is stored as."""
    proof, about, earlier = fields["cases"], fields["about"], fields["earlier"]
    duals = [dual for case in proof for dual in case.duals]
    arrays: dict[str, Any] = {}
    constraint = json.dumps(encode(fields["constraint"], arrays))
    # Nobody knows how many samples are behind a matrix: that is a zero here.
    known = replace(about, n_samples=about.n_samples if np.isfinite(about.n_samples) else 0.0)
    parts = {
        "format": np.array(FORMAT),
        "numbers": np.array([float(fields[name]) for name in _NUMBERS]),
        "about": np.array([float(vars(known)[name]) for name in _ABOUT]),
        "texts": np.array(
            [about.precision, about.diagonal, earlier.relation, earlier.deflation], dtype=np.str_
        ),
        "earlier": earlier.loadings,
        **{name: fields[name] for name in ("loading", "best_loading", "fixed_in", "fixed_out")},
        "constraint": np.array(constraint),
        **{f"{_CONSTRAINT}{name}": array for name, array in arrays.items()},
        "node_duals": np.array([len(case.duals) for case in proof]),
        "node_features": np.array([-1 if case.feature is None else case.feature for case in proof]),
        "node_listed": np.array([case.listed for case in proof]),
        "dual_sizes": np.array(
            [[*dual.factor.shape, dual.limits is not None] for dual in duals], dtype=np.int64
        ).reshape(-1, 3),
        DUAL_FEATURES: _joined([dual.features for dual in duals], np.intp),
        "dual_numbers": _joined([part for dual in duals for part in _numbers(dual)], np.float64),
    }
    return parts | _sliced(proof, duals)


def _sliced(proof: Sequence[ProofCase], duals: Sequence[Dual]) -> dict[str, Array]:
    """What is written besides where cases are slices."""
    lines = [case.lines for case in proof if case.lines is not None]
    if not lines:
        return {}
    given = [np.zeros(0) if dual.multipliers is None else dual.multipliers for dual in duals]
    return {
        "format": np.array(SLICED),
        "node_lines": np.array([0 if c.lines is None else c.lines.shape[1] for c in proof]),
        "lines": np.hstack(lines),
        "dual_multipliers": np.array([part.size for part in given], dtype=np.int64),
        "multipliers": _joined(given, np.float64),
    }


def load_fields(path: str | Path) -> dict[str, Any]:
    """The fields that :func:`save_fields` wrote, each checked.

    Raises
    ------
    CertificateError
        If the file is damaged, is no certificate, or was written by another loadstone.
    """
    known = (FORMAT, SLICED)
    with stored_parts(path, _is_expected, ("format", "numbers"), known, "certificate") as stored:
        return fields_of(stored)


def fields_of(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that :func:`parts_of` made arrays of."""
    found = int(checked(stored["format"], "format", "iu", 0))
    if found not in (FORMAT, SLICED):
        msg = f"a certificate of format {found}"
        raise DamagedError(msg)
    rules = _ARRAYS if found == FORMAT else _ARRAYS | _SLICES
    parts = {name: _checked(stored[name], name, *rule) for name, rule in rules.items()}
    return _fields({**stored, **parts})


@contextmanager
def stored_parts(
    path: str | Path,
    is_expected: Callable[[str], bool],
    names: tuple[str, str],
    versions: tuple[int, ...],
    kind: str,
) -> Iterator[dict[str, Any]]:
    """The arrays of a file of this kind and a known version, and one error for all that is damaged.

    ``names`` are the array of the version and one that no other file has.
    """
    path = Path(path)
    if not is_at_hand(path):
        msg = f"there is no certificate file {path}"
        raise MissingFileError(msg)
    with damaged(path, "save the certificate again", CertificateError):
        stored = read_own(path, is_expected)
        if any(name not in stored for name in names):
            msg = f"{path} is no {kind}; use a file that its own save wrote"
            raise CertificateError(msg)
        found = int(checked(stored[names[0]], names[0], "iu", 0))
        if found not in versions:
            known = " and ".join(map(str, versions))
            msg = f"{path} has {kind} format {found}, this version reads {known}; certify again"
            raise CertificateError(msg)
        yield stored


def _checked(array: Any, name: str, kinds: str, ndim: int) -> Any:
    """As elsewhere, and in double precision."""
    if kinds == "f" and array.dtype != np.float64:
        msg = f"{name} is {array.dtype}, not in double precision"
        raise DamagedError(msg)
    return checked(array, name, kinds, ndim)


def _is_expected(name: str) -> bool:
    return name in {*_ARRAYS, *_SLICES, "constraint"} or name.startswith(_CONSTRAINT)


def _fields(stored: Mapping[str, Array]) -> dict[str, Any]:
    constraint = _constraint(stored)
    n_features = constraint.n_features
    numbers = dict(zip(_NUMBERS, stored["numbers"].tolist(), strict=True))
    precision, diagonal, relation, deflation = (str(text) for text in stored["texts"])
    for name in ("loading", "best_loading"):
        if stored[name].size != n_features:
            msg = f"{name} has {stored[name].size} entries for {n_features} features"
            raise DamagedError(msg)
    for name in ("fixed_in", "fixed_out", DUAL_FEATURES):
        _refuse_outside(stored[name], name, 0, n_features)
    _refuse_outside(stored["node_features"], "node_features", -1, n_features)
    about = dict(zip(_ABOUT, stored["about"].tolist(), strict=True))
    about |= {"n_features": int(about["n_features"]), "n_samples": about["n_samples"] or np.nan}
    return {
        **numbers,
        "constraint": constraint,
        **{name: stored[name] for name in ("loading", "best_loading", "fixed_in", "fixed_out")},
        "cases": _cases(stored),
        "about": About(precision=precision, diagonal=diagonal, **about),
        "earlier": Earlier(loadings=stored["earlier"], relation=relation, deflation=deflation),
    }


def _refuse_outside(indices: Array, name: str, lowest: int, n: int) -> None:
    if indices.size and (indices.min() < lowest or indices.max() >= n):
        msg = f"{name} goes from {indices.min()} to {indices.max()}, with {n} features"
        raise DamagedError(msg)


def _constraint(stored: Mapping[str, Array]) -> Constraint:
    arrays = {
        name.removeprefix(_CONSTRAINT): array
        for name, array in stored.items()
        if name.startswith(_CONSTRAINT)
    }
    constraint = decode(json_of(stored["constraint"]), arrays)
    if not isinstance(constraint, Constraint):
        msg = f"{type(constraint).__name__} in the place of a constraint"
        raise DamagedError(msg)
    return constraint


def _numbers(dual: Dual) -> list[Array]:
    parts = (dual.pairing, dual.shift, dual.factor, dual.limits)
    return [part.ravel() for part in parts if part is not None]


def _joined(parts: list[Array], dtype: type) -> Array:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)


def _cases(stored: Mapping[str, Array]) -> tuple[ProofCase, ...]:
    duals = iter(_with_multipliers(stored, _duals(stored)))
    counts, features = stored["node_duals"].tolist(), stored["node_features"].tolist()
    if min(counts, default=-1) < 0 or sum(counts) != len(stored["dual_sizes"]):
        msg = f"{len(stored['dual_sizes'])} duals for {len(counts)} cases"
        raise DamagedError(msg)
    ends, lines = stored["node_listed"].tolist(), _lines(stored, len(counts))
    found = tuple(
        ProofCase(tuple(next(duals) for _ in range(count)), None if at < 0 else at, end, between)
        for count, at, end, between in zip(counts, features, ends, lines, strict=True)
    )
    n_waiting, n_reached = 1, 0
    while n_waiting and n_reached < len(found):
        n_waiting += found[n_reached].n_children - 1
        n_reached += 1
    if n_waiting or n_reached < len(found):
        msg = "its cases form no tree"
        raise DamagedError(msg)
    return found


def _lines(stored: Mapping[str, Array], n_cases: int) -> list[Array | None]:
    """The lines of each case; a file without slices has none."""
    if int(stored["format"]) == FORMAT:
        return [None] * n_cases
    counts, lines = [int(count) for count in stored["node_lines"]], stored["lines"]
    if min(counts, default=-1) < 0 or sum(counts) != lines.shape[1]:
        msg = f"{lines.shape[1]} lines, {sum(counts)} declared"
        raise DamagedError(msg)
    parts = np.split(lines, np.cumsum(counts)[:-1], axis=1)
    return [part if count else None for count, part in zip(counts, parts, strict=True)]


def _with_multipliers(stored: Mapping[str, Array], duals: list[Dual]) -> list[Dual]:
    """The duals with their multipliers of slices, where the file has any."""
    if int(stored["format"]) == FORMAT:
        return duals
    counts, numbers = [int(count) for count in stored["dual_multipliers"]], stored["multipliers"]
    if min(counts, default=-1) < 0 or sum(counts) != numbers.size:
        msg = f"{numbers.size} multipliers, {sum(counts)} declared"
        raise DamagedError(msg)
    parts = np.split(numbers, np.cumsum(counts)[:-1])
    return [
        replace(dual, multipliers=part if part.size else None)
        for dual, part in zip(duals, parts, strict=True)
    ]


def _duals(stored: Mapping[str, Array]) -> list[Dual]:
    features, numbers = stored[DUAL_FEATURES], stored["dual_numbers"]
    # Python's whole numbers do not overflow, whatever sizes a file declares.
    sizes = stored["dual_sizes"].tolist()
    shapes = [(int(size), int(rank), int(limited)) for size, rank, limited in sizes]
    if any(size < 0 or rank < 0 or limited not in {0, 1} for size, rank, limited in shapes):
        msg = "a dual of negative size"
        raise DamagedError(msg)
    needed = sum(size * (size + 1 + rank + limited) for size, rank, limited in shapes)
    if sum(size for size, _, _ in shapes) != features.size or needed != numbers.size:
        msg = f"duals of {features.size} features and {numbers.size} numbers, {needed} declared"
        raise DamagedError(msg)
    duals = []
    for size, rank, limited in shapes:
        own, features = features[:size], features[size:]
        if (np.diff(own) <= 0).any():
            msg = "a dual whose features do not ascend"
            raise DamagedError(msg)
        cuts = np.cumsum([size * size, size, size * rank, size * limited])
        pairing, shift, factor, limits, numbers = np.split(numbers, cuts)
        duals.append(
            Dual(
                own,
                pairing.reshape(size, size),
                shift,
                factor.reshape(size, rank),
                limits if limited else None,
            )
        )
    return duals
