"""Search and prove: the portfolio finds a component, branch and bound proves or improves it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from loadstone.certificates import prove
from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance
from loadstone.loadings import Loadings, Stop
from loadstone.solvers.portfolio import Portfolio
from loadstone.solvers.renormalise import renormalise


@dataclass(frozen=True, kw_only=True)
class ExactSearch:
    """Best component and its certificate, in ``details["certificate"]``.

    Attributes
    ----------
    search : Portfolio
        Finds the component to begin with.
    time_limit : float or None
        Seconds for the proof; the best component and bound so far are returned then.
    gap_tol : float
        Relative gap at which the component counts as optimal.
    max_nodes : int
        Cases the proof may distinguish.
    progress : callable or None
        Told of bound, incumbent, gap and number of open cases.
    n_jobs : int
        Processes that bound cases.
    """

    search: Portfolio = field(default_factory=Portfolio)
    time_limit: float | None = None
    gap_tol: float = 1e-6
    max_nodes: int = 100_000
    progress: Callable[[dict[str, float]], Any] | None = None
    n_jobs: int = 1

    def refuses(self, constraint: Constraint) -> str | None:
        """Proofs exist for cardinality and signs only."""
        if not isinstance(constraint, LoadingConstraint):
            return (
                f"optimality is proven under a cardinality and signs; {type(constraint).__name__} "
                "is neither, use SparsePCA"
            )
        return None

    def __call__(
        self,
        S: Covariance,
        constraint: LoadingConstraint,
        rng: np.random.Generator,
        starts: Array | None = None,
    ) -> Loadings:
        """See :class:`loadstone.solvers.protocol.Solver`; ``starts`` join the search's own."""
        found = self.search(S, constraint, rng, starts)
        w, _ = renormalise(S, found.matrix[:, 0], constraint)
        certificate = prove(
            S,
            constraint,
            w,
            effort="full",
            time_limit=self.time_limit,
            gap_tol=self.gap_tol,
            max_nodes=self.max_nodes,
            progress=self.progress,
            n_jobs=self.n_jobs,
        )
        # The proof may have met a better component on the way: that one is returned.
        certificate = replace(
            certificate, loading=certificate.best_loading, value=certificate.best_value
        )
        best = certificate.best_loading.astype(S.dtype)
        closed = certificate.upper_bound - certificate.best_value <= self.gap_tol * abs(
            certificate.best_value
        )
        return Loadings(
            best[:, None],
            np.append(found.objective, certificate.best_value),
            certificate.n_nodes,
            Stop.EXACT if closed else Stop.TIME_LIMIT,
            MappingProxyType({"certificate": certificate}),
        )
