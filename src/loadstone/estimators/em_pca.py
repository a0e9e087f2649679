"""EMPCA: the algorithm of Sigg and Buhmann with its own knobs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from loadstone._sklearn_compat import StrOptions
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array
from loadstone.estimators.extendable import ExtendableMixin
from loadstone.estimators.found import Found, Task
from loadstone.estimators.parameters import NOT_NEGATIVE, REPEATS, SHARED
from loadstone.estimators.sequential import SequentialComponents
from loadstone.registry import About
from loadstone.solvers.em import EM, is_first_component


class EMPCA(ExtendableMixin, SequentialComponents):
    """Expectation-maximisation for sparse and non-negative PCA.

    One product with the covariance and one soft threshold per iteration, from the first
    principal component or from random directions. One start takes little time and may end
    far from the best component; :class:`SparsePCA` searches on for better ones.

    Parameters
    ----------
    init : {"pca", "random"}, array-like of shape (n_starts, n_features) or None, default=None
        Where to start. ``None`` is the paper's choice: the first principal component for
        signed loadings, random directions of the non-negative orthant otherwise. An array
        holds directions that every component is sought from.
    n_init : int or None, default=None
        Number of starts, which travel as one block of columns. ``None`` is the paper's
        choice: one from the first principal component, or ten at random. Several for
        signed loadings are the first four principal components, then random directions.
    renormalize : bool, default=True
        Re-optimise the loadings on the support found. Without it a tenth of the variance
        or more is lost to the soft threshold.
    alpha : float, "search" or None, default=None
        For ``orthogonality="quasi"``: weight of the penalty of Eq. 20 on what a component shares
        with earlier ones, over the largest variance, or the smallest that keeps ``min_angle``.
        ``None`` keeps it by loadings optimised on their support, which have more variance.
    warm_start : bool, default=False
        Keep the first principal component for the next fit, so that a sequence of fits
        over ``n_nonzero`` on the same data computes it once.
    tol : float, default=1e-6
        The paper's epsilon: stop when ``|w'w_old| > 1 - tol``.

    Attributes
    ----------
    objective_ : list of ndarray
        Variance along the search of each component, before renormalising.
    first_component_ : ndarray of shape (n_features, n_starts)
        The first principal component (with both signs where they matter), kept for the next
        fit; with ``warm_start`` only.

    See Also
    --------
    SparsePCA : Many starts and exchanges on top of this idea.

    Notes
    -----
    The published iteration is not monotone (Proposition 3.2 holds for a fixed l1 bound,
    Algorithm 2 chooses it anew each time). From the first principal component a search is
    returned where it settled, as published; among random restarts the best iterate of each
    competes with its last one. Ties between features cannot change the cardinality.

    References
    ----------
    Sigg, C. D., & Buhmann, J. M. (2008). Expectation-maximization for sparse and
    non-negative PCA. Proceedings of the 25th International Conference on Machine
    Learning, 960-967. https://doi.org/10.1145/1390156.1390277

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import EMPCA
    >>> model = EMPCA(n_components=1, n_nonzero=3, standardize=True).fit(load_wine().data)
    >>> model.cardinality_
    array([3])
    """

    about: ClassVar[About] = About(
        method="em",
        choose=("the published EM algorithm: one quick climb for each component",),
        paper="Sigg & Buhmann (2008)",
    )

    init: Any = None
    n_init: int | None = None
    renormalize: bool = True
    warm_start: bool = False
    min_angle: float = 85.0
    alpha: Any = None
    refine: Any = False
    forced: Any = None
    max_iter: int = 200
    tol: float = 1e-6

    first_component_: ClassVar[Array]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "orthogonality": SHARED["orthogonality"].rule,
        "init": [StrOptions({"pca", "random"}), "array-like", None],
        "n_init": [REPEATS, None],
        "alpha": [NOT_NEGATIVE, StrOptions({"search"}), None],
        "warm_start": ["boolean"],
    }

    @classmethod
    def as_published(cls, n_components: float = 1, **options: Any) -> Self:
        """The paper's settings: epsilon 1e-3, its starts, and Eq. 20 for quasi-orthogonal components.

        Parameters
        ----------
        n_components : int or float, default=1
            Number of components.
        **options
            Further parameters, such as ``n_nonzero``.

        Returns
        -------
        EMPCA
            Not fitted.
        """
        quasi = options.get("orthogonality") == "quasi"
        return cls(n_components, **({"tol": 1e-3, "alpha": "search" if quasi else None} | options))

    def _expected_products(self) -> int:
        # About thirty iterations, and as many products again for the first component.
        return 30 * max(2, self._em().n_starts) * self._count

    def _em(self) -> EM:
        """The solver, whatever the data."""
        init = ("random" if self.nonnegative else "pca") if self.init is None else self.init
        if not isinstance(init, str):
            init = np.atleast_2d(np.asarray(init, dtype=np.float64)).T
        return EM(init=init, n_init=self.n_init, max_iter=int(self.max_iter), tol=self.tol)

    def _solver(self, task: Task) -> EM:
        return self._em().on(task.data.n_features)

    def _search(self, task: Task) -> Found:
        if not self.warm_start or not self._em().starts_at_first_component:
            return super()._search(task)
        kept = vars(self).get("first_component_")
        start = (
            kept
            if kept is not None and is_first_component(task.data.S, kept)
            else self._begin(task)
        )
        begin = start.astype(task.data.S.dtype, copy=False)
        found = self._found(task, self.constraints_on(task.data), starts=begin)
        return replace(found, values={**found.values, "first_component_": start})

    def _begin(self, task: Task) -> Array:
        """The block a search from the first principal component begins with."""
        S = task.data.S
        signs_only = LoadingConstraint(S.n_features, S.n_features, self.nonnegative)
        return self._solver(task).starts(S, signs_only, np.random.default_rng(0))
