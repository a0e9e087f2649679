"""Disjoint components with the largest sum of variances, all of them at once.

Notation: ``sum_t w_t'Sw_t`` over unit w_t whose supports share no feature. One after another
the first component takes what the others need, and up to 7 % of the sum is lost. Few features:
all disjoint supports are tried. Otherwise features are dealt out anew: component t bids
``(Sw_t)_i^2`` for feature i, the highest bids are served first, loadings are re-optimised, and
features are exchanged between components while the sum grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from loadstone.certificates.bound_single_support import support_optimum
from loadstone.certificates.certificate_value import problem_of
from loadstone.certificates.joint_assignment import best_disjoint_sum, can_try_disjoint
from loadstone.certificates.joint_problem import JointProblem
from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance, leading_eigenpairs
from loadstone.solvers.exchange import improve_by_exchange
from loadstone.solvers.renormalise import renormalise
from loadstone.solvers.varimax import varimax

__all__ = ["largest_disjoint_sum", "refuses_sum"]

#: Random rotations of the principal components that are tried as starts.
N_STARTS = 12
#: Times features are dealt out from one start.
N_DEALS = 30
#: Deals, the best first, whose features are exchanged.
N_EXCHANGED = 6
#: Exchanges between two components that are looked at in one round, and rounds.
N_PAIRS = 40
N_ROUNDS = 40
#: Rise of the sum, as a share of it, that counts as a gain.
GAIN = 1e-9


class _Deal(NamedTuple):
    """Components with disjoint supports, and their variances."""

    W: Array
    values: Array

    @property
    def total(self) -> float:
        return float(self.values.sum())


def refuses_sum(kind: str, constraint: Constraint) -> str | None:
    """Why the sum of variances cannot be the objective; ``None`` where it can."""
    if kind in ("none", "quasi"):
        return (
            f"with orthogonality={kind!r} copies of one component have the largest sum; use "
            "'disjoint', 'strict' or 'uncorrelated' with objective='sum'"
        )
    if not isinstance(constraint, LoadingConstraint):
        return "objective='sum' knows sizes and signs only; leave out the constraint"
    return None


def largest_disjoint_sum(
    S: Covariance,
    begun: Sequence[Array],
    constraints: Sequence[Constraint],
    rng: np.random.Generator,
) -> tuple[Array, bool]:
    """Disjoint components with the largest sum of variances that was found.

    Parameters
    ----------
    S : Covariance
        The data.
    begun : sequence of ndarray of shape (n_features, n_found)
        Sets of disjoint components to begin with, at least one.
    constraints : sequence of LoadingConstraint
        One for each component that is wanted.
    rng : numpy.random.Generator
        For further starts.

    Returns
    -------
    loadings : ndarray of shape (n_features, n_components)
        In the order of their variances, where the constraints do not care.
    exact : bool
        Whether all disjoint supports were tried.
    """
    rules = [c for c in constraints if isinstance(c, LoadingConstraint)]
    problem = JointProblem(tuple(problem_of(rule) for rule in rules), "disjoint")
    if len(rules) == len(constraints) and can_try_disjoint(problem):
        return _ordered(_exact(S, problem), rules), True
    search = _Search(S, rules)
    deals = [search.dealt(start) for start in _starts(S, len(rules), rng)]
    found = [deal for deal in deals if deal is not None]
    complete = [W for W in begun if W.shape[1] == len(rules)]
    found += [_Deal(W, search.values(W)) for W in complete]
    if not found:
        return begun[0], False
    found.sort(key=lambda deal: -deal.total)
    best = max((search.exchanged(deal) for deal in found[:N_EXCHANGED]), key=lambda d: d.total)
    return _ordered(best, rules), False


def _exact(S: Covariance, problem: JointProblem) -> _Deal:
    """The best of all disjoint supports."""
    at = problem.features
    block = np.asarray(S.block(at, at), dtype=np.float64)
    matrix = (block + block.T) / 2.0
    W = np.zeros((S.n_features, problem.count), dtype=S.dtype)
    values = np.zeros(problem.count)
    for t, support in enumerate(best_disjoint_sum(matrix, problem).supports):
        if support.size == 0:
            # More components than features.
            continue
        nonnegative = problem.problems[t].nonnegative
        part = matrix[np.ix_(support, support)]
        values[t], w = support_optimum(part, nonnegative=nonnegative)
        if w is not None:
            W[at[support], t] = w
    used = W.any(axis=0)
    return _Deal(W[:, used], values[used])


def _starts(S: Covariance, r: int, rng: np.random.Generator) -> list[Array]:
    """The principal components, made simple or turned at random."""
    values, vectors = leading_eigenpairs(S, min(r, S.n_features))
    base = np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)), dtype=np.float64)
    if base.shape[1] < r:
        return []
    turned = [np.linalg.qr(rng.standard_normal((r, r)))[0] for _ in range(N_STARTS)]
    return [varimax(base), base, *(base @ R for R in turned)]


def _ordered(deal: _Deal, rules: Sequence[LoadingConstraint]) -> Array:
    """Those with the largest variance first, where every rule allows it."""
    order = np.argsort(-deal.values, kind="stable")
    W = deal.W[:, order]
    allowed = all(rule.allows(w) for rule, w in zip(rules, W.T, strict=False))
    return W if allowed else deal.W


@dataclass(frozen=True)
class _Search:
    """Dealing out features, and exchanging them."""

    S: Covariance
    rules: list[LoadingConstraint]

    def values(self, W: Array) -> Array:
        """Variance of each component."""
        product = (self.S @ W.astype(self.S.dtype)).astype(np.float64)
        return np.asarray(np.einsum("ij,ij->j", W.astype(np.float64), product))

    def dealt(self, start: Array) -> _Deal | None:
        """Where dealing ends that begins with the bids ``start``; ``None`` without a deal."""
        best: _Deal | None = None
        bids = start
        for _ in range(N_DEALS):
            found = self._served(bids)
            if found is None or (best is not None and found.total <= best.total * (1 + GAIN)):
                break
            best = found
            bids = (self.S @ best.W).astype(np.float64)
        return best

    def _served(self, bids: Array) -> _Deal | None:
        """Each feature to the component that bids most and has room for it."""
        n, r = bids.shape
        offers = np.empty((n, r))
        for t, rule in enumerate(self.rules):
            offers[:, t] = np.maximum(bids[:, t], 0.0) if rule.nonnegative else np.abs(bids[:, t])
            offers[rule.forbidden, t] = -1.0
        room = [rule.size for rule in self.rules]
        owner = np.full(n, -1)
        for flat in np.argsort(-offers, axis=None, kind="stable"):
            i, t = divmod(int(flat), r)
            if owner[i] < 0 and room[t] > 0 and offers[i, t] > 0:
                owner[i] = t
                room[t] -= 1
        W, values = np.zeros((n, r), dtype=self.S.dtype), np.zeros(r)
        for t in range(r):
            support = owner == t
            if not support.any():
                return None
            w = np.where(support, bids[:, t], 0.0)
            if self.rules[t].nonnegative:
                w = np.maximum(w, 0.0)
            W[:, t], values[t] = self._best_on(t, w)
        return _Deal(W, values)

    def _best_on(self, t: int, w: Array) -> tuple[Array, float]:
        w = (w / np.linalg.norm(w)).astype(self.S.dtype)
        return renormalise(self.S, w, self.rules[t])

    def exchanged(self, deal: _Deal) -> _Deal:
        """Exchange features with the unused ones and between components while the sum grows."""
        for _ in range(N_ROUNDS):
            better = self._between(self._with_unused(deal))
            if not better.total > deal.total * (1 + GAIN):
                return deal
            deal = better
        return deal

    def _with_unused(self, deal: _Deal) -> _Deal:
        """Each component in turn on the features that the others leave."""
        W, values = deal.W.copy(), deal.values.copy()
        for t, rule in enumerate(self.rules):
            used = np.flatnonzero(np.delete(W, t, axis=1).any(axis=1))
            free = rule.without(used)
            w, value = improve_by_exchange(self.S, W[:, t], float(values[t]), free, 5)
            if value > values[t]:
                W[:, t], values[t] = w, value
        return _Deal(W, values)

    def _between(self, deal: _Deal) -> _Deal:
        """The first exchange of two features between components, or move of one, that gains."""
        for i, j, a, b in self._proposals(deal):
            W, values = deal.W.copy(), deal.values.copy()
            for t, leaves, enters in ((i, a, b), (j, b, a)):
                w = W[:, t].astype(np.float64)
                typical = float(np.abs(w[w != 0]).mean())
                if leaves >= 0:
                    w[leaves] = 0.0
                if enters >= 0:
                    w[enters] = typical
                if not w.any():
                    break
                W[:, t], values[t] = self._best_on(t, w)
            else:
                if values.sum() > deal.total * (1 + GAIN):
                    return _Deal(W, values)
        return deal

    def _proposals(self, deal: _Deal) -> list[tuple[int, int, int, int]]:
        """Components i, j and the features a of i and b of j (or -1) that would change sides."""
        bids = np.abs((self.S @ deal.W).astype(np.float64))
        found: list[tuple[float, tuple[int, int, int, int]]] = []
        r = len(self.rules)
        supports = [np.flatnonzero(w) for w in deal.W.T]
        for i in range(r):
            for j in range(r):
                mine = np.setdiff1d(supports[i], self.rules[j].forbidden)
                gain = bids[mine, j] - bids[mine, i]
                if supports[j].size < self.rules[j].size and supports[i].size > 1 and i != j:
                    found += [(g, (i, j, int(a), -1)) for g, a in zip(gain, mine, strict=True)]
                if i < j:
                    theirs = np.setdiff1d(supports[j], self.rules[i].forbidden)
                    back = bids[theirs, i] - bids[theirs, j]
                    total = gain[:, None] + back[None, :]
                    for flat in np.argsort(-total, axis=None, kind="stable")[:N_PAIRS]:
                        x, y = divmod(int(flat), theirs.size)
                        found.append((total[x, y], (i, j, int(mine[x]), int(theirs[y]))))
        found.sort(key=lambda entry: -entry[0])
        return [entry[1] for entry in found[:N_PAIRS]]
