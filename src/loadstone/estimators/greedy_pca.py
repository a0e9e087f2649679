"""GreedyPCA: one feature at a time, the whole path at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from loadstone._sklearn_compat import StrOptions
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array
from loadstone.estimators.extendable import ExtendableMixin
from loadstone.estimators.found import Found, Task
from loadstone.estimators.sequential import SequentialComponents
from loadstone.extraction import Extraction
from loadstone.loadings import Loadings
from loadstone.registry import About
from loadstone.solvers.greedy import DIRECTIONS, RULES, Greedy


class GreedyPCA(ExtendableMixin, SequentialComponents):
    """Grow (or shrink) the support of each component one feature at a time.

    The forward search starts at the feature of largest variance and adds, at each step,
    the one that raises the largest eigenvalue most. One run passes through every size
    up to ``n_nonzero``. A feature once taken is never given back, which costs little on
    some data and half of the variance on other; :class:`SparsePCA` looks further.

    Parameters
    ----------
    nonnegative : bool, default=False
        Allow only loadings >= 0. Candidates are then ranked by what they add together
        with the loadings so far.
    direction : {"forward", "backward", "forward-backward"}, default="forward"
        Grow, shrink from all features by dropping the smallest loading, or grow with
        exchanges of two features after each step.
    rule : {"exact", "approximate"}, default="exact"
        How a growing support chooses: the largest eigenvalue after the step, or the
        largest ``|S w|_i`` before it, which is the rule of PathSPCA. The exact rule solves
        only candidates that bounds cannot exclude.
    orthogonality : {"none", "disjoint"}, default="none"
        ``"disjoint"``: no feature serves two components.
    random_state : int, RandomState instance or None, default=0
        Accepted for symmetry with the other estimators; nothing here is random.

    Attributes
    ----------
    n_iter_ : int
        Steps of the longest search.
    objective_ : list of ndarray
        Variance of each component at every size on the way.
    path_order_ : ndarray of int
        Features of the first component in the order in which they were taken; for
        ``"backward"`` its support.
    path_variance_ : ndarray of float
        Variance of the first component at each size on the way, smallest size first.
        For the whole path ask for ``n_nonzero=n_features``; ``None`` is plain PCA.

    See Also
    --------
    cardinality_path : The best component of every size, not only a nested one.

    Notes
    -----
    A step costs O(n_features^2): one eigenpair on the support, one row of the
    covariance, and a few candidates. On data with fewer samples than features the
    covariance is never formed.

    References
    ----------
    d'Aspremont, A., Bach, F., & El Ghaoui, L. (2008). Optimal solutions for sparse
    principal component analysis. Journal of Machine Learning Research, 9, 1269-1294.
    https://jmlr.org/papers/v9/aspremont08a.html

    Moghaddam, B., Weiss, Y., & Avidan, S. (2006). Spectral bounds for sparse PCA: exact
    and greedy algorithms. Advances in Neural Information Processing Systems 18.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import GreedyPCA
    >>> model = GreedyPCA(n_nonzero=3, standardize=True).fit(load_wine().data)
    >>> model.path_variance_.round(3)
    array([1.   , 1.644, 2.016])
    """

    about: ClassVar[About] = About(
        method="greedy",
        choose=("every size up to a limit in one run, nested",),
        paper="d'Aspremont, Bach & El Ghaoui (2008)",
    )

    direction: str = "forward"
    rule: str = "exact"
    deflation: str = "schur"
    forced: Any = None

    path_order_: ClassVar[Array]
    path_variance_: ClassVar[Array]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "direction": [StrOptions(set(DIRECTIONS))],
        "rule": [StrOptions(set(RULES))],
    }

    def _solver(self, task: Task) -> Greedy:
        return Greedy(self.direction, self.rule)

    def _search(self, task: Task) -> Found:
        found = super()._search(task)
        constraint = self.constraints_on(task.data)[0]
        if self.n_nonzero is None or not constraint.is_free:
            return found
        # All features were asked for by number: the answer is PCA, but the path is wanted.
        assert isinstance(constraint, LoadingConstraint)
        grown = self._solver(task)(task.data.S, constraint, task.rng)
        return replace(
            found, searches=(grown, *found.searches[1:]), values=_path(grown, found.loadings)
        )

    def _values(self, extraction: Extraction) -> dict[str, Any]:
        return _path(extraction.searches[0], extraction.matrix) if extraction.searches else {}


def _path(first: Loadings, loadings: Array) -> dict[str, Any]:
    """The path of the first component."""
    return {
        # Without a number of features the answer is PCA and nothing was grown.
        "path_order_": first.details.get("order", np.flatnonzero(loadings[:, 0])),
        "path_variance_": first.objective,
    }
