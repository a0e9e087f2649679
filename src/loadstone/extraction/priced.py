"""Components of wide data out of core: searched on a working set, priced by all features.

Notation: with ``Y = Z W`` the scores of the components, what component j competes for outside
the working set is ``S h_j``, ``h_j = w_j - O b`` with the components ``O`` it is deflated by. So
one pass asks all features about all components at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance, SampleGram, Support
from loadstone.covariance.working_set import (
    N_PRICINGS,
    Prices,
    Wanted,
    fits_working_set,
    search_among,
)
from loadstone.extraction.chain import Report
from loadstone.extraction.one_by_one import one_by_one
from loadstone.extraction.plan import Extraction, Plan
from loadstone.extraction.warm import warm_refine
from loadstone.metrics import adjusted_variance
from loadstone.solvers.spannogram.solver import Spannogram
from loadstone.solvers.thresholding import Thresholding

#: Solvers that begin with principal components of all features by definition.
OF_ALL_FEATURES = (Spannogram, Thresholding)
#: Share of a component's strongest feature below which its weakest one says nothing.
FAINT = 1e-6


def extract(
    S: Covariance,
    constraints: Sequence[Constraint],
    plan: Plan,
    rng: np.random.Generator,
    *,
    starts: Array | None = None,
    report: Report | None = None,
    earlier: Array | None = None,
    n_pricings: int = N_PRICINGS,
) -> Extraction:
    """:func:`one_by_one`, on a working set where the data is wide and out of core.

    See there; ``n_pricings`` is how often all features are asked whether they want in.
    """
    if not isinstance(S, SampleGram) or not _suits(S, constraints, plan):
        whole = _in_memory_where_it_fits(S, constraints, plan)
        how: dict[str, Any] = {"starts": starts, "report": report, "earlier": earlier}
        found = one_by_one(whole, constraints, plan, rng, **how)
        return found if whole is S else replace(found, left=())
    plan.refuse(constraints)
    seed = int(rng.integers(2**63))

    def search(features: Support, before: Extraction | None) -> Extraction:
        found = one_by_one(
            S.restrict(features),
            [constraint.on(features) for constraint in constraints],
            plan,
            np.random.default_rng(seed),
            starts=None if starts is None else starts[features],
            # Progress is told once; what pricing improves is not told again.
            report=report if before is None else None,
            earlier=None if earlier is None else earlier[features],
        )
        found = replace(found, matrix=_spread(found.matrix, features, S.n_features), left=())
        return found if before is None else _better(S, before, found, constraints, plan, features)

    def ask(features: Support, found: Extraction) -> Prices:
        return prices_of(S, found.matrix, constraints, plan)

    found, looked = search_among(S, _wanted(constraints, earlier), search, ask, n_pricings)
    return replace(found, looked=looked)


def _suits(S: SampleGram, constraints: Sequence[Constraint], plan: Plan) -> bool:
    """Whether every component is small enough for a working set."""
    return not isinstance(plan.solver, OF_ALL_FEATURES) and all(
        isinstance(constraint, LoadingConstraint)
        and not constraint.is_free
        and fits_working_set(S, constraint.size)
        for constraint in constraints
    )


def _in_memory_where_it_fits(
    S: Covariance, constraints: Sequence[Constraint], plan: Plan
) -> Covariance:
    """All columns, where every step would be a pass over them otherwise."""
    if not isinstance(S, SampleGram) or isinstance(plan.solver, OF_ALL_FEATURES):
        return S
    free = all(constraint.is_free for constraint in constraints)
    return S if free or S.n_features > S.room else S.restrict(np.arange(S.n_features))


def _wanted(constraints: Sequence[Constraint], earlier: Array | None) -> Wanted:
    cardinal = [c for c in constraints if isinstance(c, LoadingConstraint)]
    always = [c.forced for c in cardinal]
    if earlier is not None:
        always.append(np.flatnonzero(earlier.any(axis=1)))
    closed = cardinal[0].forbidden
    for constraint in cardinal[1:]:
        closed = np.intersect1d(closed, constraint.forbidden)
    return Wanted(
        sum(c.size for c in cardinal), np.unique(np.concatenate(always)).astype(np.intp), closed
    )


def _spread(matrix: Array, features: Support, n_features: int) -> Array:
    whole = np.zeros((n_features, matrix.shape[1]), dtype=matrix.dtype)
    whole[features] = matrix
    return whole


def _better(
    S: SampleGram,
    before: Extraction,
    found: Extraction,
    constraints: Sequence[Constraint],
    plan: Plan,
    features: Support,
) -> Extraction:
    """The better of two extractions, where components are refined after a climb from the first."""
    local = S.restrict(features)
    old = before.matrix[features]
    if plan.refine is not None:
        on = [constraint.on(features) for constraint in constraints[: old.shape[1]]]
        old = warm_refine(local, old, on, plan.orthogonality).loadings
        before = replace(before, matrix=_spread(old, features, S.n_features))
    kept = float(adjusted_variance(local, old).sum())
    return found if float(adjusted_variance(local, found.matrix[features]).sum()) > kept else before


def prices_of(
    S: SampleGram, loadings: Array, constraints: Sequence[Constraint], plan: Plan
) -> Prices:
    """What to ask all features about components, each beside those it is deflated by."""
    used = np.flatnonzero(loadings.any(axis=1))
    Z = S.centred_columns(used).astype(np.float64)
    return prices_among(Z, loadings[used], constraints, plan)


def prices_among(
    Z: Array, loadings: Array, constraints: Sequence[Constraint], plan: Plan
) -> Prices:
    """The same for centred columns ``Z`` of the features that ``loadings`` are about."""
    W = loadings.astype(np.float64)
    Y = Z @ W
    together = plan.refine is not None
    gram = Y.T @ Y if together or plan.deflation == "schur" else W.T @ W
    directions = Y.copy()
    for j in range(Y.shape[1]):
        others = np.delete(np.arange(Y.shape[1]), j) if together else np.arange(j)
        if others.size:
            inner = gram[np.ix_(others, others)]
            shares = np.linalg.pinv(inner, rcond=1e-10, hermitian=True) @ gram[others, j]
            directions[:, j] -= Y[:, others] @ shares
    covariances = np.abs(Z.T @ directions)
    strongest = covariances.max(axis=0)
    weakest = np.where(W != 0, covariances, np.inf).min(axis=0)
    kept = constraints[: Y.shape[1]]
    return Prices(
        directions,
        np.maximum(weakest, FAINT * np.maximum(strongest, np.finfo(np.float64).tiny)),
        np.array([int((w != 0).sum()) for w in W.T]),
        np.array([isinstance(c, LoadingConstraint) and c.nonnegative for c in kept]),
    )
