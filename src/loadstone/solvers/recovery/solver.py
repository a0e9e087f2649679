"""Components that recover all features best: least squares sparse PCA, jointly.

The variance of a sparse score says how much a few features hold together. This objective asks
how much of *all* features a regression on the scores recovers, ``tr[S W (W'SW)^+ W'S]``, with
at most ``n_nonzero`` features in each component, of given signs where asked. Its components predict
the principal ones rather than name groups of features.

References
----------
Merola, G. M. (2015). Least squares sparse principal component analysis: a backward
elimination approach to attain large loadings. Australian & New Zealand Journal of
Statistics, 57(3), 391-429.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint, Signs
from loadstone.covariance import Array, Covariance, Support
from loadstone.loadings import Loadings, Stop
from loadstone.solvers.recovery.cone import SINGULAR
from loadstone.solvers.recovery.joint import N_GUIDES, ROUGH, JointProblem
from loadstone.solvers.recovery.pencil import GAIN, Sized, forced_of, largest_root
from loadstone.solvers.recovery.second_moments import SecondMoments
from loadstone.solvers.search.eigenvectors import search_eigenvectors

#: Told of a stage and of the recovered variance it has reached; returns whether to stop.
Progress = Callable[[str, float], bool]
#: Answers followed to the end, where no more than one is given; else one more than those.
N_FINISHED = 2
#: Features taken in for each component and round.
N_INVITED = 32


@dataclass(frozen=True)
class Recovery:
    """Joint search for components under one cardinality each.

    Attributes
    ----------
    disjoint : bool
        Whether no two components share a feature.
    max_rounds : int
        How often further features are looked at.
    max_iter : int
        Largest number of passes that settle the loadings on their supports.
    tol : float
        Change of a loading in a pass at which they have settled.
    """

    disjoint: bool = False
    max_rounds: int = 5
    max_iter: int = 1000
    tol: float = 1e-9

    def unsuited(self, constraint: Constraint) -> str | None:
        """Why components under ``constraint`` cannot be sought; ``None`` where they can."""
        if isinstance(constraint, LoadingConstraint | Signs):
            return None
        return (
            f"the recovery of all features is sought under a number of features each; "
            f"{type(constraint).__name__} has none, use n_nonzero"
        )

    def __call__(
        self,
        S: Covariance,
        constraints: Sequence[Sized],
        starts: Sequence[Array] = (),
        progress: Progress | None = None,
    ) -> Loadings:
        """The components that recover most, found jointly.

        Parameters
        ----------
        S : Covariance
            The data.
        constraints : sequence of LoadingConstraint or Signs
            One for each component.
        starts : sequence of ndarray of shape (n_features, n_components)
            Complete answers to begin from, such as those that maximise the variance. The
            result recovers at least as much as the best of them.
        progress : callable, optional
            Told of every answer that was followed and what the best one recovers; returns
            whether that is enough.

        Returns
        -------
        Loadings
            With the recovered variance after each round as its objective.
        """
        for constraint in constraints:
            if (reason := self.unsuited(constraint)) is not None:
                raise ValueError(reason)
        search = _JointSearch(S, tuple(constraints), starts, progress, disjoint=self.disjoint)
        return search.run(self)


class _JointSearch:
    """Features looked at, components on them, and the look at all others."""

    def __init__(
        self,
        S: Covariance,
        constraints: tuple[Sized, ...],
        starts: Sequence[Array],
        progress: Progress | None = None,
        *,
        disjoint: bool,
    ) -> None:
        self.S, self.constraints, self.disjoint = S, constraints, disjoint
        self.progress, self.stopped, self.most = progress, False, 0.0
        self.starts = [np.asarray(W, dtype=np.float64) for W in starts]
        self.moments = SecondMoments(S)
        variance = S.diagonal().astype(np.float64)
        # A power of two, which changes no digit: fourth powers leave the range of numbers else.
        self.unit = float(2.0 ** np.round(np.log2(variance.max()))) if variance.any() else 1.0
        self.variance = variance / self.unit
        self.squared = self.moments.squared_columns() / self.unit**2
        n_guides = min(max(N_GUIDES, len(constraints)), S.n_features)
        self.guides = search_eigenvectors(S, n_guides).astype(np.float64)

    def run(self, limits: Recovery) -> Loadings:
        """Search among some features; invite others while that recovers more; settle."""
        features = self._first_features()
        problem = self._problem(features)
        W = self._first_answer(problem, features)
        objective: list[float] = []
        stop = Stop.CONVERGED
        for _ in range(limits.max_rounds):
            objective.append(problem.recovered(W))
            if self.stopped:
                break
            invited = self._invited(W, features, problem)
            if not invited.size:
                break
            more = np.union1d(features, invited)
            problem = self._problem(more)
            inside = np.zeros((more.size, W.shape[1]))
            inside[np.searchsorted(more, features)] = W
            features = more
            W = problem.passes(inside, self.guides[features][:, :N_GUIDES])
            self._tell("further features were looked at", problem, W)
            if not problem.recovered(W) > objective[-1] * (1 + GAIN):
                break
        else:
            stop = Stop.MAX_ITER
        W, settled = problem.settled(problem.ordered(W), limits.max_iter, limits.tol)
        stop = stop if settled else Stop.MAX_ITER
        stop = Stop.CALLBACK if self.stopped else stop
        result = np.zeros((self.S.n_features, W.shape[1]), dtype=self.S.dtype)
        result[features] = W
        objective.append(problem.recovered(W))
        values = self.unit * np.array(objective)
        return Loadings(result, values, len(objective) - 1, stop)

    def _problem(self, features: Support) -> JointProblem:
        A, B = self.moments.on(features)
        A, B = A / self.unit**2, B / self.unit
        inside = [on_features(constraint, features) for constraint in self.constraints]
        if self.disjoint and inside:
            inside = with_room(inside)
        return JointProblem(A, B, tuple(inside), self.disjoint, float(np.finfo(self.S.dtype).eps))

    def _first_answer(self, problem: JointProblem, features: Support) -> Array:
        """The best of the greedy answer and those given, each after passes over all components."""
        guides = self.guides[features][:, :N_GUIDES]
        given = [W[features] for W in self.starts]
        greedy = problem.greedy(guides, given)
        self._tell("components were added one by one", problem, greedy)
        passed = [problem.passes(greedy, guides, fresh=True, gain=ROUGH)]
        self._tell("components were improved in turn", problem, passed[0])
        for W in (*given, *problem.random()):
            if self.stopped:
                break
            passed.append(problem.passes(W, guides, gain=ROUGH))
            self._tell("components were improved in turn", problem, passed[-1])
        passed.sort(key=problem.recovered, reverse=True)
        n_finished = max(N_FINISHED, 1 + len(given))
        finished = passed[:1]
        for W in passed[:n_finished]:
            if self.stopped:
                break
            finished.append(problem.kicked(W, guides))
            self._tell("components were sought anew", problem, finished[-1])
        return max([*finished, *given], key=problem.recovered)

    def _tell(self, stage: str, problem: JointProblem, W: Array) -> None:
        """Say what the best answer recovers so far, and hear whether that is enough."""
        self.most = max(self.most, problem.recovered(W))
        if self.progress is not None:
            self.stopped = self.progress(stage, self.unit * self.most) or self.stopped

    def _always(self) -> Support:
        """Features that some constraint or some start uses."""
        chosen = [forced_of(constraint) for constraint in self.constraints]
        chosen += [np.flatnonzero(W.any(axis=1)) for W in self.starts]
        return np.unique(np.concatenate([np.empty(0, dtype=np.intp), *chosen]))

    def _first_features(self) -> Support:
        """All features where they are few; else those that say most of the guides or of all."""
        if self.S.n_features <= self.moments.most:
            return np.arange(self.S.n_features)
        deviation = np.sqrt(np.maximum(self.variance, SINGULAR * self.variance.max()))
        load = np.abs(self.guides)
        worth = [load, load / deviation[:, None], (self.squared / deviation**2)[:, None]]
        lists = [np.argsort(-column, kind="stable") for column in np.hstack(worth).T]
        per_list = max(1, self.moments.most // len(lists))
        chosen = np.concatenate([order[:per_list] for order in lists])
        return np.union1d(chosen, self._always()).astype(np.intp)

    def _invited(self, W: Array, features: Support, problem: JointProblem) -> Support:
        """Features outside that promise a component more than its weakest member gives."""
        if features.size == self.S.n_features:
            return np.empty(0, dtype=np.intp)
        full = np.zeros((self.S.n_features, W.shape[1]), dtype=self.S.dtype)
        full[features] = W
        SW = (self.S @ full).astype(np.float64) / self.unit
        SSW = (self.S @ SW.astype(self.S.dtype)).astype(np.float64) / self.unit
        G, M = W.T @ problem.B @ W, W.T @ problem.A @ W
        invited = [
            self._invited_by(j, W, features, problem, (SW, SSW, G, M)) for j in range(W.shape[1])
        ]
        return np.setdiff1d(np.concatenate(invited), features)

    def _invited_by(
        self,
        j: int,
        W: Array,
        features: Support,
        problem: JointProblem,
        products: tuple[Array, Array, Array, Array],
    ) -> Support:
        """The features that would grow component j most, seen beside the other components."""
        SW, SSW, G, M = products
        others = np.delete(np.arange(W.shape[1]), j)
        inverse = np.linalg.pinv(G[np.ix_(others, others)], rcond=SINGULAR, hermitian=True)
        U, SU = SW[:, others], SSW[:, others]
        mixed = U @ inverse
        # What is left of w_j and of every single feature beside the other components.
        t = inverse @ G[others, j]
        b_w, left = SW[:, j] - U @ t, SSW[:, j] - SU @ t
        a_w = left - mixed @ (M[others, j] - M[np.ix_(others, others)] @ t)
        b_ii = self.variance - np.einsum("ij,ij->i", mixed, U)
        a_ii = (
            self.squared
            - 2 * np.einsum("ij,ij->i", mixed, SU)
            + np.einsum("ij,jk,ik->i", mixed, M[np.ix_(others, others)], mixed)
        )
        b = float(G[j, j] - G[j, others] @ t)
        a = float(M[j, j] - 2 * t @ M[others, j] + t @ M[np.ix_(others, others)] @ t)
        if not b > SINGULAR * float(self.variance.max()):
            return np.empty(0, dtype=np.intp)
        floor = SINGULAR * float(self.variance.max())
        signs = self.constraints[j].signs
        prospect = largest_root(a, a_w, np.maximum(a_ii, 0), b, b_w, b_ii, floor, signs)
        prospect[features] = -np.inf
        prospect[self.constraints[j].forbidden] = -np.inf
        best = np.argsort(-prospect, kind="stable")[:N_INVITED]
        return best[prospect[best] > a / b * (1 + GAIN)]


def with_room(constraints: Sequence[Sized]) -> list[Sized]:
    """Sizes at which disjoint components leave at least one feature to each of those after them.

    What the first must use nobody else may.
    """
    first = constraints[0]
    kept = [first, *(constraint.without(forced_of(first)) for constraint in constraints[1:])]
    left = first.n_features - first.forbidden.size
    for j, constraint in enumerate(kept):
        places = max(1, min(constraint.size, left - (len(kept) - 1 - j)))
        kept[j] = replace(constraint, n_nonzero=places)
        left -= places
    return kept


def on_features(constraint: Sized, features: Support) -> Sized:
    """The constraint on some features, where as many places are left as there are features."""
    inside = constraint.on(features)
    return replace(inside, n_nonzero=max(1, inside.size))
