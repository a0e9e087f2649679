"""The cases of a proof: how one is split into others, and how all of them are written down.

A case is split by a feature, into vectors that use it and vectors that do not, or by lines: vectors
d_0, ..., d_{m-1}, after which comes d_m = -d_0. The numbers f_s = d_s'x change their sign between
the first and the last, so that f_s f_{s+1} <= 0 for some s: m slices hold every x, whatever the
lines are. Good lines turn by a half circle in a plane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from loadstone.certificates.bound_dual import Dual
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.problem import Array, SupportProblem


@dataclass(frozen=True, eq=False)
class ProofCase:
    """One case of a proof, as it is stored.

    Attributes
    ----------
    duals : tuple of Dual
        Evaluated in order; each one may screen features for the next.
    feature : int or None
        The feature the next two cases branch on; ``None`` where there are none.
    listed : bool
        Whether the supports that the last dual leaves open are looked at one by one.
    lines : ndarray of shape (n_features, m) or None
        The lines between the m slices the case is split into, instead of a feature.
    """

    duals: tuple[Dual, ...] = ()
    feature: int | None = None
    listed: bool = False
    lines: Array | None = None

    @property
    def n_children(self) -> int:
        """How many cases it is split into."""
        if self.lines is not None:
            return int(self.lines.shape[1])
        return 0 if self.feature is None else 2


@dataclass(eq=False)
class ProofNode:
    """One case of a proof that is being found.

    Attributes
    ----------
    duals : list of Dual
        Evaluated in order; each one may screen features for the next.
    feature : int or None
        The feature the children branch on.
    listed : bool
        Whether the supports that the last dual leaves open are looked at one by one.
    lines : ndarray of shape (n_features, m) or None
        The lines between the slices the children are about.
    children : list of ProofNode
        The case with the feature and the one without it, or the slices.
    """

    duals: list[Dual] = field(default_factory=list)
    feature: int | None = None
    listed: bool = False
    lines: Array | None = None
    children: list[ProofNode] = field(default_factory=list)

    def branch(self, feature: int) -> list[ProofNode]:
        """Add the two cases for ``feature``."""
        self.feature, self.children = feature, [ProofNode(), ProofNode()]
        return self.children

    def cut(self, lines: Array) -> list[ProofNode]:
        """Add the slices between ``lines``."""
        self.lines, self.children = lines, [ProofNode() for _ in range(lines.shape[1])]
        return self.children


def parts(problem: SupportProblem, case: ProofCase) -> list[SupportProblem | None]:
    """The cases that ``case`` splits a problem into; ``None`` where one is excluded already."""
    if case.lines is not None:
        return list(slices(problem, case.lines))
    return [] if case.feature is None else list(cases(problem, case.feature))


def slices(problem: SupportProblem, lines: Array) -> list[SupportProblem]:
    """The problem between each line and the next; the last one after all is minus the first."""
    ends = [*lines.T, -lines[:, 0]]
    return [problem.slice(g, h) for g, h in pairwise(ends)]


def cases(
    problem: SupportProblem, feature: int
) -> tuple[SupportProblem | None, SupportProblem | None]:
    """The problem with and without ``feature``; ``None`` where a case is excluded already.

    A tree is data, so any feature may be asked for, also one the forced ones leave no room for.
    """
    at = problem.features == feature
    if not at.any():
        return None, problem
    if problem.n_free == 0 and not problem.forced[at].any():
        return None, problem.keep(~at)
    if problem.nonzero[at].all():
        return problem, None
    without = problem.keep(~at)
    if problem.forced[at].all():
        # A feature the user forced keeps its place even where its loading is zero.
        without = replace(without, n_nonzero=min(problem.n_nonzero - 1, without.features.size))
    return problem.force(at), without if without.features.size and without.n_nonzero else None


def as_list(root: ProofNode) -> tuple[ProofCase, ...]:
    """All cases, each before its children; a node that lacks a child has none."""
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        split = ProofCase(tuple(node.duals), node.feature, lines=node.lines)
        if not node.children or len(node.children) != split.n_children:
            found.append(ProofCase(tuple(node.duals), listed=node.listed))
            continue
        found.append(split)
        stack += node.children[::-1]
    return tuple(found)


def parents_of(proof: Sequence[ProofCase]) -> list[int]:
    """The place of each case's parent; -1 for the first one."""
    waiting, parents = [-1], []
    for index, case in enumerate(proof):
        if not waiting:
            msg = f"the proof has {len(proof)} cases, its tree only {index}"
            raise CertificateError(msg)
        parents.append(waiting.pop())
        waiting += [index] * case.n_children
    if waiting:
        msg = f"the proof lacks {len(waiting)} of its cases"
        raise CertificateError(msg)
    return parents


def folded(bounds: Mapping[int, float], parents: Sequence[int], value: float) -> float:
    """The bound of the root: a case is bounded by itself and by the larger of its children.

    A case of which no child is among ``bounds`` is bounded by itself.
    """
    below: dict[int, float] = {}
    bound = value
    for index in sorted(bounds, reverse=True):
        bound = bounds[index]
        if index in below:
            bound = min(bound, max(below[index], value))
        above = parents[index]
        below[above] = max(below.get(above, -np.inf), bound)
    return max(bound, value)


def sizes_of(parents: Sequence[int]) -> list[int]:
    """How many cases each case is split into in the end, itself included."""
    sizes = [1] * len(parents)
    for index in range(len(parents) - 1, 0, -1):
        sizes[parents[index]] += sizes[index]
    return sizes
