"""Certificates on disk: plain arrays in one ``.npz`` file, no pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from loadstone.certificates.bound_dual import Dual
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.problem import Array
from loadstone.certificates.proof_tree import ProofNode
from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.files.errors import MissingFileError
from loadstone.files.npy_arrays import DamagedError
from loadstone.files.npz_json import decode, encode
from loadstone.files.own_archive import checked, damaged, json_of, read_own, write_own

#: Format 1 knew cardinalities only.
FORMAT = 2
#: Cases inside cases; replaying a deeper proof would exhaust the stack.
DEEPEST = 400
_NUMBERS = ("value", "upper_bound", "seconds", "best_value", "n_nodes")
_CONSTRAINT = "constraint_"
#: Kind and dimension of each array that is read.
_ARRAYS = {
    "format": ("iu", 0),
    "numbers": ("f", 1),
    "texts": ("U", 1),
    "loading": ("f", 1),
    "best_loading": ("f", 1),
    "fixed_in": ("iu", 1),
    "fixed_out": ("iu", 1),
    "node_duals": ("iu", 1),
    "node_features": ("iu", 1),
    "dual_sizes": ("iu", 2),
    "dual_features": ("iu", 1),
    "dual_numbers": ("f", 1),
}
_FORMAT_1 = {"forced": ("iu", 1), "forbidden": ("iu", 1)}


def save_fields(fields: Mapping[str, Any], path: str | Path) -> None:
    """Write the fields of a certificate, its proof tree flattened, to exactly this path."""
    nodes = _preorder(fields["tree"])
    duals = [dual for node in nodes for dual in node.duals]
    arrays: dict[str, Any] = {}
    constraint = json.dumps(encode(fields["constraint"], arrays))
    parts = {
        "format": np.array(FORMAT),
        "numbers": np.array([float(fields[name]) for name in _NUMBERS]),
        "texts": np.array([fields["proof"], fields["relative_to"]]),
        "loading": fields["loading"],
        "best_loading": fields["best_loading"],
        "fixed_in": fields["fixed_in"],
        "fixed_out": fields["fixed_out"],
        "constraint": np.array(constraint),
        **{f"{_CONSTRAINT}{name}": array for name, array in arrays.items()},
        "node_duals": np.array([len(node.duals) for node in nodes]),
        "node_features": np.array([-1 if node.feature is None else node.feature for node in nodes]),
        "dual_sizes": np.array(
            [[*dual.factor.shape, dual.limits is not None] for dual in duals], dtype=np.int64
        ).reshape(-1, 3),
        "dual_features": _joined([dual.features for dual in duals], np.intp),
        "dual_numbers": _joined([part for dual in duals for part in _numbers(dual)], np.float64),
    }
    write_own(Path(path), parts)


def load_fields(path: str | Path) -> dict[str, Any]:
    """The fields that :func:`save_fields` wrote, each checked.

    Raises
    ------
    CertificateError
        If the file is damaged, is no certificate, or was written by a newer loadstone.
    """
    path = Path(path)
    if not path.is_file():
        msg = f"there is no certificate file {path}"
        raise MissingFileError(msg)
    with damaged(path, "save the certificate again", CertificateError):
        stored = read_own(path, _is_expected)
        if "format" not in stored or "numbers" not in stored:
            msg = f"{path} is no certificate; use a file that Certificate.save wrote"
            raise CertificateError(msg)
        version = int(checked(stored["format"], "format", *_ARRAYS["format"]))
        if version not in {1, FORMAT}:
            msg = f"{path} has certificate format {version}; this version reads up to {FORMAT}"
            raise CertificateError(msg)
        rules = _ARRAYS | (_FORMAT_1 if version == 1 else {})
        stored |= {name: checked(stored[name], name, *rule) for name, rule in rules.items()}
        return _fields(stored, version)


def _is_expected(name: str) -> bool:
    return (
        name in _ARRAYS or name in _FORMAT_1 or name == "constraint" or name.startswith(_CONSTRAINT)
    )


def _fields(stored: Mapping[str, Array], version: int) -> dict[str, Any]:
    constraint = _constraint(stored, version)
    n_features = constraint.n_features
    numbers = dict(zip(_NUMBERS, stored["numbers"].tolist(), strict=True))
    proof, relative_to = (str(text) for text in stored["texts"])
    for name in ("loading", "best_loading"):
        if stored[name].size != n_features:
            msg = f"{name} has {stored[name].size} entries for {n_features} features"
            raise DamagedError(msg)
    for name in ("fixed_in", "fixed_out", "dual_features"):
        _refuse_outside(stored[name], name, 0, n_features)
    _refuse_outside(stored["node_features"], "node_features", -1, n_features)
    return {
        **numbers,
        "n_nodes": int(numbers["n_nodes"]),
        "proof": proof,
        "relative_to": relative_to,
        "constraint": constraint,
        **{name: stored[name] for name in ("loading", "best_loading", "fixed_in", "fixed_out")},
        "tree": _tree(stored),
    }


def _refuse_outside(indices: Array, name: str, lowest: int, n: int) -> None:
    if indices.size and (indices.min() < lowest or indices.max() >= n):
        msg = f"{name} goes from {indices.min()} to {indices.max()}, with {n} features"
        raise DamagedError(msg)


def _constraint(stored: Mapping[str, Array], version: int) -> Constraint:
    if version == 1:
        numbers = checked(stored["constraint"], "constraint", "iu", 1)
        n_features, n_nonzero, nonnegative = numbers.tolist()
        return LoadingConstraint(
            n_features,
            n_nonzero,
            nonnegative=bool(nonnegative),
            forced=stored["forced"],
            forbidden=stored["forbidden"],
        )
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


def _preorder(root: ProofNode) -> list[ProofNode]:
    """All nodes, each before its children; a stack, because trees can be deep."""
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        found.append(node)
        if node.with_feature is not None and node.without_feature is not None:
            stack += [node.without_feature, node.with_feature]
    return found


def _tree(stored: Mapping[str, Array]) -> ProofNode:
    duals = iter(_duals(stored["dual_sizes"], stored["dual_features"], stored["dual_numbers"]))
    counts, features = stored["node_duals"].tolist(), stored["node_features"].tolist()
    if min(counts, default=-1) < 0 or sum(counts) != len(stored["dual_sizes"]):
        msg = f"{len(stored['dual_sizes'])} duals for {len(counts)} cases"
        raise DamagedError(msg)
    nodes = [
        ProofNode([next(duals) for _ in range(count)], None if feature < 0 else feature)
        for count, feature in zip(counts, features, strict=True)
    ]
    return _linked(nodes)


def _linked(nodes: list[ProofNode]) -> ProofNode:
    """The tree of a preorder list: a node with a feature has two children."""
    stack: list[tuple[ProofNode, int]] = []
    for node in reversed(nodes):
        depth = 1
        if node.feature is not None:
            if len(stack) < 2:
                break
            (node.with_feature, left), (node.without_feature, right) = stack.pop(), stack.pop()
            depth += max(left, right)
        stack.append((node, depth))
    if len(stack) != 1 or stack[0][0] is not nodes[0] or stack[0][1] > DEEPEST:
        msg = "its cases form no tree, or one that is too deep"
        raise DamagedError(msg)
    return stack[0][0]


def _duals(sizes: Array, features: Array, numbers: Array) -> list[Dual]:
    # Python's whole numbers do not overflow, whatever sizes a file declares.
    shapes = [(int(size), int(rank), int(limited)) for size, rank, limited in sizes.tolist()]
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
