"""Certificates on disk: plain arrays in one ``.npz`` file, no pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from loadstone.certificates.bound_dual import Dual
from loadstone.certificates.problem import Array
from loadstone.certificates.proof_tree import ProofNode
from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.files.npz_json import decode, encode

if TYPE_CHECKING:
    from loadstone.certificates.certificate import Certificate

#: Format 1 knew cardinalities only.
FORMAT = 2


def save_certificate(certificate: Certificate, path: str | Path) -> None:
    """Write all fields and the flattened proof tree."""
    nodes = _preorder(certificate.tree)
    duals = [dual for node in nodes for dual in node.duals]
    arrays: dict[str, Any] = {}
    constraint = json.dumps(encode(certificate.constraint, arrays))
    np.savez_compressed(
        Path(path),
        format=FORMAT,
        numbers=np.array(
            [
                certificate.value,
                certificate.upper_bound,
                certificate.seconds,
                certificate.best_value,
                certificate.n_nodes,
            ]
        ),
        texts=np.array([certificate.proof, certificate.relative_to]),
        loading=certificate.loading,
        best_loading=certificate.best_loading,
        fixed_in=certificate.fixed_in,
        fixed_out=certificate.fixed_out,
        constraint=np.array(constraint),
        **{f"constraint_{name}": array for name, array in arrays.items()},
        node_duals=np.array([len(node.duals) for node in nodes]),
        node_features=np.array([-1 if node.feature is None else node.feature for node in nodes]),
        dual_sizes=np.array(
            [[*dual.factor.shape, dual.limits is not None] for dual in duals], dtype=np.int64
        ).reshape(-1, 3),
        dual_features=_joined([dual.features for dual in duals], np.intp),
        dual_numbers=_joined(
            [
                part.ravel()
                for dual in duals
                for part in (dual.pairing, dual.shift, dual.factor, dual.limits)
                if part is not None
            ],
            np.float64,
        ),
    )


def load_certificate(path: str | Path) -> Certificate:
    """Read what :func:`save_certificate` wrote."""
    from loadstone.certificates.certificate import Certificate

    with np.load(Path(path), allow_pickle=False) as stored:
        if int(stored["format"]) not in {1, FORMAT}:
            msg = (
                f"certificate format {int(stored['format'])} is unknown; "
                f"this version reads up to {FORMAT}"
            )
            raise ValueError(msg)
        value, bound, seconds, best_value, n_nodes = stored["numbers"].tolist()
        duals = iter(_duals(stored["dual_sizes"], stored["dual_features"], stored["dual_numbers"]))
        nodes = [
            ProofNode([next(duals) for _ in range(count)], None if feature < 0 else int(feature))
            for count, feature in zip(stored["node_duals"], stored["node_features"], strict=True)
        ]
        proof, relative_to = (str(text) for text in stored["texts"])
        return Certificate(
            value=value,
            upper_bound=bound,
            loading=stored["loading"],
            constraint=_constraint(stored),
            proof=proof,
            fixed_in=stored["fixed_in"],
            fixed_out=stored["fixed_out"],
            seconds=seconds,
            relative_to=relative_to,
            best_loading=stored["best_loading"],
            best_value=best_value,
            n_nodes=int(n_nodes),
            tree=_linked(nodes),
        )


def _constraint(stored: Mapping[str, Array]) -> Constraint:
    if int(stored["format"]) == 1:
        n_features, n_nonzero, nonnegative = stored["constraint"].tolist()
        return LoadingConstraint(
            n_features,
            n_nonzero,
            nonnegative=bool(nonnegative),
            forced=stored["forced"],
            forbidden=stored["forbidden"],
        )
    prefix = "constraint_"
    names = [name for name in stored if name.startswith(prefix)]
    arrays = {name.removeprefix(prefix): stored[name] for name in names}
    constraint: Constraint = decode(json.loads(str(stored["constraint"])), arrays)
    return constraint


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


def _linked(nodes: list[ProofNode]) -> ProofNode:
    """The tree of a preorder list: a node with a feature has two children."""
    stack: list[ProofNode] = []
    for node in reversed(nodes):
        if node.feature is not None:
            node.with_feature, node.without_feature = stack.pop(), stack.pop()
        stack.append(node)
    return stack[0]


def _duals(sizes: Array, features: Array, numbers: Array) -> list[Dual]:
    duals = []
    for size, rank, limited in sizes.tolist():
        own, features = features[:size], features[size:]
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
