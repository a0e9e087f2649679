"""Theorem C: components together explain at most what each of them could explain alone.

A component is credited with at most its own variance, ``R_tt^2 <= w_t'Sw_t``, and no component under
its rule has more than the bound U that a certificate of one component proves. So r components
whose rules are no wider reach at most rU. It asks for nothing that is dense, so that it speaks
of many thousands of features, and it is sharp where the data has several equally good components.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from loadstone.certificates.certificate import Certificate
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.joint_eigenvalues import up
from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance.from_data import DataCovariance
from loadstone.covariance.protocol import Covariance
from loadstone.covariance.sample_gram import SampleGram


def alone_bound(S: Covariance, constraints: Sequence[Constraint], alone: Any) -> float:
    """``rU``, the certificate of one component recomputed.

    Raises
    ------
    CertificateError
        Where that certificate does not hold, is about a later component, or about a rule that
        leaves out rivals of one of the components.
    """
    if type(alone) is not Certificate or alone.earlier.count:
        msg = "theorem C needs the certificate of a first component"
        raise CertificateError(msg)
    bound = max(alone.verify(S), alone.upper_bound)
    if not all(contains(alone.constraint, constraint) for constraint in constraints):
        msg = "the certificate of one component is about another rule than theirs"
        raise CertificateError(msg)
    return up(len(constraints) * max(bound, 0.0))


def contains(outer: Any, inner: Any) -> bool:
    """Whether every vector that ``inner`` allows is allowed by ``outer`` too, for certain."""
    if type(outer) is not type(inner):
        return False
    wide, narrow = ({f.name: vars(rule)[f.name] for f in fields(rule)} for rule in (outer, inner))
    same = [name for name in wide if np.array_equal(wide[name], narrow[name])]
    differ = set(wide) - set(same)
    if not isinstance(outer, LoadingConstraint) or not isinstance(inner, LoadingConstraint):
        return not differ
    if differ - {"n_nonzero", "nonnegative", "forbidden", "forced"}:
        return False
    return bool(
        inner.n_nonzero <= outer.n_nonzero
        and (inner.nonnegative or not outer.nonnegative)
        and np.isin(outer.forbidden, inner.forbidden).all()
        and ("forced" in same or not outer.forced.size)
    )


def widest(constraints: Sequence[Constraint]) -> Constraint | None:
    """One of the rules, or a wider one, that contains them all; ``None`` where none is known."""
    for outer in constraints:
        if all(contains(outer, inner) for inner in constraints):
            return outer
    rules = [rule for rule in constraints if isinstance(rule, LoadingConstraint)]
    if len(rules) < len(constraints):
        return None
    forbidden = set.intersection(*(set(rule.forbidden.tolist()) for rule in rules))
    return LoadingConstraint(
        rules[0].n_features,
        max(rule.n_nonzero for rule in rules),
        nonnegative=all(rule.nonnegative for rule in rules),
        forbidden=np.array(sorted(forbidden), dtype=np.intp),
    )


def is_of_samples(S: Covariance) -> bool:
    """Whether S is a covariance by construction, so that no eigenvalue need be looked at."""
    return isinstance(S, DataCovariance | SampleGram)
