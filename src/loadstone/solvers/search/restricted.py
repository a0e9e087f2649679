"""A covariance of some of its features, for a search among them; of few of them, as a matrix."""

from __future__ import annotations

from loadstone.covariance import (
    Covariance,
    DataCovariance,
    DeflatedCovariance,
    ExplicitCovariance,
    LowRankCovariance,
    Support,
    materialise,
)
from loadstone.covariance.containers import InMemoryRows

#: Features up to which every column is a start, and a matrix is quicker to read than to derive.
FEW_FEATURES = 512


def formed_where_few(S: Covariance) -> Covariance:
    """``S`` as a matrix where it has few features.

    The search of few features is one of matrices: formed once, it is the same on every route.
    """
    return materialise(S) if S.n_features <= FEW_FEATURES else S


def restricted(S: Covariance, features: Support) -> Covariance:
    """``S.restrict(features)`` that leaves sparse data sparse."""
    if isinstance(S, DeflatedCovariance):
        return DeflatedCovariance(restricted(S.base, features), S.U[features], S.C)
    if not (isinstance(S, DataCovariance) and isinstance(S.rows, InMemoryRows)):
        return S.restrict(features)
    if not S.rows.is_sparse:
        return S.restrict(features)
    X = S.rows.X.tocsc()[:, features]
    return DataCovariance(InMemoryRows(X), S.moments.of(features), S.weights)


def in_memory(S: Covariance) -> bool:
    """Whether products cost arithmetic alone; elsewhere each may be a pass over a file."""
    base = S.base if isinstance(S, DeflatedCovariance) else S
    if isinstance(base, DataCovariance):
        return isinstance(base.rows, InMemoryRows)
    return isinstance(base, ExplicitCovariance | LowRankCovariance)
