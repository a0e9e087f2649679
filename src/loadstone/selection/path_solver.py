"""Components of many sizes on the same data: one path for all of them, then what it leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from loadstone.blas_threads import one_blas_thread
from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.constraints.from_parameters import check_features
from loadstone.constraints.resized import resized
from loadstone.covariance import Array, Covariance, ExplicitCovariance, Support, materialise
from loadstone.estimators.base import seeded
from loadstone.estimators.found import Task
from loadstone.estimators.reading import Reading
from loadstone.estimators.sparse_pca import SparsePCA
from loadstone.extraction.chain import Chains
from loadstone.extraction.nested import Nested
from loadstone.extraction.plan import Plan
from loadstone.extraction.warm import warm_refine
from loadstone.loadings import Loadings, Stop
from loadstone.selection.path import PATH_EFFORTS, CardinalityPath, search_path
from loadstone.selection.path_starts import concentrated_columns, search_size
from loadstone.solvers.renormalise import renormalise
from loadstone.solvers.search.few_places import best_feature
from loadstone.solvers.search.finish import Found
from loadstone.solvers.search.restricted import FEW_FEATURES
from loadstone.solvers.search.tiny import is_tiny, tiny_start
from loadstone.solvers.starts import both_signs, column_starts, eigenvector_starts
from loadstone.solvers.support_spectrum import SupportSpectrum


@dataclass(frozen=True, kw_only=True)
class PathSolver:
    """What a path knows of its own covariance; elsewhere the search of a path at one size.

    Sizes on the same data share eigenvectors, starts and what is found at the sizes next to
    them, so that all of them together cost little more than one search of many starts.

    Attributes
    ----------
    path : CardinalityPath
        Of the covariance before anything is deflated.
    forbidden : ndarray of int
        Features that stay out of it.
    eigenvectors : ndarray of shape (n_features, n_eigenvectors)
        Of that covariance: what the first components leave is still among the others.
    columns : ndarray of int
        Features whose covariances with others are large and few, to start from as well.
    effort : str
        One of :data:`loadstone.selection.path.PATH_EFFORTS`.
    """

    path: CardinalityPath
    forbidden: Array
    eigenvectors: Array
    columns: Array
    effort: str

    @classmethod
    def on(cls, data: Reading, sizes: Array, model: SparsePCA) -> PathSolver:
        """The solver for some sizes on data; this is where the path is searched."""
        S, nonnegative, effort = data.S, model.nonnegative, model.effort
        closed = _closed(model, data)
        path = search_path(S, sizes, nonnegative=nonnegative, effort=effort, forbidden=closed)
        allowed = np.setdiff1d(np.arange(S.n_features), closed)
        how = PATH_EFFORTS[effort]
        V = eigenvector_starts(S, min(how.n_eigenvectors, allowed.size))
        spectrum = SupportSpectrum(S, coarse=True)
        return cls(
            path=path,
            forbidden=closed,
            eigenvectors=both_signs(V) if nonnegative else V,
            columns=concentrated_columns(S, spectrum, how.n_columns, allowed),
            effort=effort,
        )

    def refuses(self, constraint: Constraint) -> str | None:
        """Serves a cardinality, signed or not."""
        if isinstance(constraint, LoadingConstraint):
            return None
        return "a path is about cardinalities; leave constraint out"

    def _is_about(self, constraint: LoadingConstraint) -> bool:
        """Whether the path was searched under this constraint."""
        return constraint.n_nonzero in self.path.n_nonzeros and np.array_equal(
            constraint.forbidden, self.forbidden
        )

    def __call__(
        self,
        S: Covariance,
        constraint: LoadingConstraint,
        rng: np.random.Generator,
        starts: Array | None = None,
    ) -> Loadings:
        """See :class:`loadstone.solvers.protocol.Solver`; ``starts`` join the others."""
        if S is self.path.covariance and starts is None and self._is_about(constraint):
            w = self.path.loadings(constraint.n_nonzero)
            return Loadings(w[:, None], np.array([w @ (S @ w)]), 1, Stop.CONVERGED)
        if is_tiny(S) and starts is None:
            begun = _tiny(materialise(S), constraint)
            return Loadings(begun.w[:, None], np.array([begun.value]), 1, Stop.CONVERGED)
        directions = [self.eigenvectors, column_starts(S, self.columns)]
        if starts is not None:
            directions.append(starts.astype(S.dtype, copy=False))
        spectrum, effort = SupportSpectrum(S, coarse=True), PATH_EFFORTS[self.effort]
        support, _ = search_size(S, spectrum, constraint, np.hstack(directions), effort)
        w = support.astype(S.dtype)
        w, value = renormalise(S, w / np.linalg.norm(w), constraint)
        return Loadings(w[:, None], np.array([value]), 1, Stop.CONVERGED)


def loadings_of_sizes(model: SparsePCA, data: Reading, sizes: Array) -> Iterator[Array]:
    """Components of ``model`` at one size after another.

    Parameters
    ----------
    model : SparsePCA
        How components follow each other; its own size does not matter.
    data : Reading
        The data.
    sizes : ndarray of int
        Ascending and distinct.

    Yields
    ------
    ndarray of shape (n_features, n_found)
    """
    rng = seeded(model.random_state)
    if is_tiny(data.S):
        # The search of few features is one of matrices; the route must not change its answer.
        data = replace(data, S=materialise(data.S))
    with one_blas_thread():
        if not _follows_a_path(model):
            for size in sizes:
                yield of_size(model, int(size))._search(Task(data, rng)).loadings
            return
        if _shares_all(model, data.S):
            yield from _every_size(model, data, sizes)
            return
        solver = PathSolver.on(data, sizes, model)
        for size in sizes:
            sized = of_size(model, int(size))
            plan = replace(sized.plan(Task(data, rng)), solver=solver)
            yield _components(data.S, sized.constraints_on(data), plan, int(rng.integers(2**63)))


def of_size(model: SparsePCA, size: int) -> SparsePCA:
    """The same estimator with components of another size, also where a constraint has it."""
    if model.constraint is None:
        return replace(model, n_nonzero=size)
    return replace(model, n_nonzero="auto", constraint=resized(model.constraint, size))


def _follows_a_path(model: SparsePCA) -> bool:
    """Whether sizes can share a search: components of most variance with nothing forced on them."""
    plain = model.constraint is None and model.forced is None
    return plain and model.objective == "variance" and model.refine in ("warm", False)


def _shares_all(model: SparsePCA, S: Covariance) -> bool:
    """Whether sizes share all there is: few features, and components free but for their size."""
    few = isinstance(S, ExplicitCovariance) and S.n_features <= FEW_FEATURES
    free = model.orthogonality == "none" and model.deflation == "schur"
    return few and free


def _every_size(model: SparsePCA, data: Reading, sizes: Array) -> Iterator[Array]:
    # Compiled, so imported only where it is needed.
    from loadstone.selection.every_size import loadings_of_every_size

    assert isinstance(data.S, ExplicitCovariance)
    return loadings_of_every_size(
        data.S,
        int(model.n_components),
        sizes,
        PATH_EFFORTS[model.effort],
        forbidden=_closed(model, data),
        refined=model.refine == "warm",
        nonnegative=model.nonnegative,
    )


def _closed(model: SparsePCA, data: Reading) -> Support:
    """Features that stay out: forbidden, or without variance."""
    closed = check_features(model.forbidden, "forbidden", data.n_features, data.names)
    return np.union1d(closed, np.flatnonzero(data.moments.constant)).astype(np.intp)


def _components(S: Covariance, constraints: Sequence[Constraint], plan: Plan, seed: int) -> Array:
    """One after another, then all of them in turn; stricter relations are not tried as well."""
    chains = Chains(S, constraints, plan, seed, None)
    found = chains.follow(plan.orthogonality).matrix
    if plan.refine is None:
        return found
    found = warm_refine(S, found, constraints[: found.shape[1]], plan.orthogonality).loadings
    return Nested(chains).or_together(found) if plan.orthogonality.kind == "none" else found


def _tiny(S: ExplicitCovariance, constraint: LoadingConstraint) -> Found:
    """A component of what earlier ones leave of a few dozen features; exchanges follow for all."""
    return best_feature(S, constraint) if constraint.size == 1 else tiny_start(S, constraint)
