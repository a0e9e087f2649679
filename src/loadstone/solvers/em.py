"""EM for sparse and non-negative PCA, as published.

Notation: the E-step ``y = Xw`` (Eq. 10) and the gradient ``f = X'y`` (Eq. 12) are
together one product ``f = Sw`` up to a factor that the normalisation removes. The
M-step is Algorithm 2: soft threshold at the (K+1)-th largest entry, normalise.

Prop. 3.2 of the paper holds for a fixed l1 bound, which Algorithm 2 chooses anew in
each iteration: the variance can fall on the way. From the first principal component alone a
search is returned where it settled, as published; among several starts the best iterate
of each competes with its last one.

References
----------
Sigg, C. D., & Buhmann, J. M. (2008). Expectation-maximization for sparse and
non-negative PCA. Proceedings of the 25th International Conference on Machine Learning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance
from loadstone.loadings import Loadings
from loadstone.solvers.power_iteration import iterate
from loadstone.solvers.starts import (
    both_signs,
    eigenvector_starts,
    random_nonnegative_starts,
    random_starts,
    refuse_beyond_memory,
)

#: Principal components among several starts.
N_EIGENVECTORS = 4
#: Random starts where no number is given: the paper's.
N_RANDOM = 10
#: Blocks of all starts at a time: directions, their products, and those of the step before.
BLOCKS_HELD = 4


@dataclass(frozen=True, kw_only=True)
class EM:
    """Algorithm 2 of the paper with restarts as one block.

    Attributes
    ----------
    init : {"pca", "random"} or ndarray of shape (n_features, n_starts)
        Start from the first principal component (the paper's choice for signed
        loadings), from random directions of the allowed orthant (its choice for
        non-negative ones), or from given directions.
    n_init : int or None
        Number of starts; for signed loadings and ``"pca"`` the first principal components,
        then random directions. ``None`` is one from ``"pca"`` and ten at random.
    max_iter : int
        Largest number of iterations.
    tol : float
        The paper's epsilon in ``|w'w_old| > 1 - epsilon``.
    """

    init: str | Array = "pca"
    n_init: int | None = None
    max_iter: int = 200
    tol: float = 1e-6

    def refuses(self, constraint: Constraint) -> str | None:
        """Needs a soft threshold with a given cardinality."""
        if not isinstance(constraint, LoadingConstraint):
            return (
                f"EM shrinks to a given number of features, which {type(constraint).__name__} "
                "does not have; use n_nonzero, or SparsePCA for this constraint"
            )
        return None

    def __call__(
        self,
        S: Covariance,
        constraint: LoadingConstraint,
        rng: np.random.Generator,
        starts: Array | None = None,
    ) -> Loadings:
        """See :class:`loadstone.solvers.protocol.Solver`."""
        if starts is None:
            starts = self.starts(S, constraint, rng)
        published = self._from_first_component_alone(constraint)
        return iterate(
            S, constraint.shrunken_loading, starts, self.max_iter, self.tol, keep_best=not published
        )

    def _from_first_component_alone(self, constraint: Constraint) -> bool:
        pca = isinstance(self.init, str) and self.init == "pca"
        return pca and (self.n_starts == 1 or constraint.signs is not None)

    @property
    def starts_at_first_component(self) -> bool:
        """Whether signed loadings start at the first principal component and nowhere else."""
        return isinstance(self.init, str) and self.init == "pca" and self.n_starts == 1

    def on(self, n_features: int) -> EM:
        """The same, once given directions are known to be some of so many features."""
        if isinstance(self.init, str):
            return self
        if self.init.shape[0] != n_features or self.init.shape[1] == 0:
            msg = (
                f"init has shape {self.init.T.shape}; expected one row per start and one column "
                f"per feature, ({self.init.shape[1] or 1}, {n_features})"
            )
            raise ValueError(msg)
        if not np.isfinite(self.init).all() or not self.init.any(axis=0).all():
            msg = "init holds missing values, or a row of zeros, which is no direction"
            raise ValueError(msg)
        return self

    @property
    def n_starts(self) -> int:
        """How many starts there are, signs left aside."""
        if not isinstance(self.init, str):
            return int(self.init.shape[1])
        return int(self.n_init or (1 if self.init == "pca" else N_RANDOM))

    def starts(self, S: Covariance, constraint: Constraint, rng: np.random.Generator) -> Array:
        """The block the search begins from."""
        if not isinstance(self.init, str):
            return self.init.astype(S.dtype, copy=False)
        refuse_beyond_memory(S, BLOCKS_HELD * self.n_starts, f"n_init={self.n_init}")
        nonnegative = constraint.signs is not None
        draw = random_nonnegative_starts if nonnegative else random_starts
        if self.init == "random":
            return draw(S.n_features, self.n_starts, rng)
        if self._from_first_component_alone(constraint):
            v = eigenvector_starts(S, 1, tol=0.0)
            # The sign of an eigenvector is arbitrary, that of a non-negative one is not.
            return both_signs(v) if nonnegative else v
        V = eigenvector_starts(S, min(self.n_starts, N_EIGENVECTORS, S.n_features))
        drawn = draw(S.n_features, self.n_starts - V.shape[1], rng)
        return np.hstack([V, drawn.astype(V.dtype)])


def is_first_component(S: Covariance, start: Array) -> bool:
    """Whether it is still a principal component: the data may have changed since."""
    if start.shape[0] != S.n_features:
        return False
    v = start[:, 0].astype(S.dtype, copy=False)
    Sv = S @ v
    value = float(v @ Sv)
    tol = 1e-6 if S.dtype == np.float64 else 1e-3
    return bool(np.linalg.norm(Sv - value * v) <= tol * value)
