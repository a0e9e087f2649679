"""ElasticNetPCA: sparse components as penalised regressions."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from loadstone._sklearn_compat import Interval, StrOptions
from loadstone.constraints import LoadingConstraint
from loadstone.constraints.from_parameters import check_sizes
from loadstone.covariance import Array, Covariance
from loadstone.estimators.base import Components, field
from loadstone.estimators.found import Found, Task
from loadstone.estimators.parameters import NOT_NEGATIVE
from loadstone.estimators.reading import Reading
from loadstone.extraction import signed
from loadstone.loadings import NOTHING_LEFT, Loadings
from loadstone.metrics import adjusted_variance, total_variance
from loadstone.registry import About
from loadstone.solvers.elastic_net import NEGLIGIBLE, ElasticNet
from loadstone.solvers.renormalise import renormalised_in_turn

#: Ridge for data with at least as many samples as features, as a share of the mean variance:
#: only to make the answer unique.
SMALL_RIDGE = 1e-6


class ElasticNetPCA(Components):
    """Sparse PCA of Zou, Hastie and Tibshirani: the elastic net on principal components.

    All components are found jointly: an elastic net predicts each principal component
    from the features, then the components are rotated to fit, and so on. The size of a
    component follows from a penalty, or is asked for exactly and found on the path of the
    least-angle regression.

    Parameters
    ----------
    n_nonzero : int, float, array-like or None, default=None
        Features per component: a number, a fraction in (0, 1], or one of these per
        component. ``None`` leaves the size to ``penalty``. Fewer are used where no others
        correlate with the component.
    penalty : float or array-like of float, default=0.0
        Weight of the l1 norm, in the units of the covariance; one number or one per
        component. Used where ``n_nonzero`` is ``None``.
    ridge : float or "auto", default="auto"
        Weight of the squared norm. ``inf`` replaces the regressions by soft thresholds,
        works on the data and is the authors' choice for many features. ``"auto"``: that
        for fewer samples than features, 1e-6 of the mean variance otherwise.
    renormalize : bool, default=False
        Re-optimise the loadings on the support found, in the order of the components.
        The penalty shrinks loadings; compare variances only after this.
    max_iter : int, default=2000
        Largest number of alternations. Sizes that have not settled after 200 are held: see
        the page of the method.
    tol : float, default=1e-6
        Largest change of a loading at which the alternation has settled.
    random_state : int, RandomState instance or None, default=0
        Accepted for symmetry with the other estimators; nothing here is random.

    Attributes
    ----------
    n_components_ : int
        Components found; fewer than asked for where a penalty leaves none of the loadings,
        no variance is left, or a component repeats those before it.
    n_iter_ : int
        Alternations used.
    stop_reason_ : list of str
        Why the search ended.
    objective_ : list of ndarray
        Sum of the marginal variances along the search.

    See Also
    --------
    SparsePCA : Maximises the variance under an exact size.

    References
    ----------
    Zou, H., Hastie, T., & Tibshirani, R. (2006). Sparse principal component analysis.
    Journal of Computational and Graphical Statistics, 15(2), 265-286.
    https://doi.org/10.1198/106186006X113430

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import ElasticNetPCA
    >>> model = ElasticNetPCA(2, n_nonzero=[4, 3], standardize=True).fit(load_wine().data)
    >>> model.cardinality_
    array([4, 3])
    """

    about: ClassVar[About] = About(
        method="elastic-net",
        choose=("the sparse PCA of the elastic net, as a baseline",),
        paper="Zou, Hastie & Tibshirani (2006)",
    )

    n_components: int = field(default=1, kw_only=False)
    n_nonzero: Any = None
    penalty: Any = 0.0
    ridge: Any = "auto"
    renormalize: bool = False
    max_iter: int = 2000
    tol: float = 1e-6

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "penalty": [NOT_NEGATIVE, "array-like"],
        "ridge": [StrOptions({"auto"}), Interval(Real, 0, None, closed="both")],
    }

    def _looks_at_all(self) -> bool:
        return True

    def _search(self, task: Task) -> Found:
        S = task.data.S
        found = self._regressions(task.data).solve(S)
        task.component(0, found)
        alive = np.asarray(found.matrix.any(axis=0))
        if not alive.any():
            msg = (
                f"penalty={self.penalty!r} leaves no loading of any component; lower it, or ask for "
                "sizes with n_nonzero"
            )
            raise ValueError(msg)
        matrix = found.matrix[:, alive].astype(S.dtype, copy=False)
        if self.renormalize:
            matrix = renormalised_in_turn(S, matrix)
        new = _explains_more(S, matrix)
        free = [LoadingConstraint(S.n_features, S.n_features)] * int(new.sum())
        return Found(
            loadings=signed(matrix[:, new], free),
            searches=(found,),
            shortfall=self._shortfall(S, found, alive, new),
        )

    def _regressions(self, data: Reading) -> ElasticNet:
        n_features, sizes = data.n_features, None
        n_components = min(self.n_components, n_features)
        if self.n_nonzero is not None:
            n_available = int(n_features - data.moments.constant.sum())
            sizes = check_sizes(self.n_nonzero, self.n_components, n_features)[:n_components]
            sizes = [min(size, n_available) for size in sizes]
        return ElasticNet(
            sizes,
            None if sizes is not None else self._penalties(n_components),
            self._ridge(data.S),
            np.flatnonzero(data.moments.constant),
            self.max_iter,
            self.tol,
        )

    def _shortfall(self, S: Covariance, found: Loadings, alive: Array, new: Array) -> str | None:
        """Why there are fewer components than asked for, if there are."""
        killed = int((~alive & ~found.details["empty"]).sum())
        if killed:
            return f"the penalty leaves no loading of {killed} component(s)"
        if not alive.all():
            return NOTHING_LEFT
        if not new.all():
            return f"{int((~new).sum())} explain(s) nothing beyond those before"
        if self.n_components > S.n_features:
            return f"there are only {S.n_features} features"
        return None

    def _penalties(self, n_components: int) -> list[float]:
        penalties = np.atleast_1d(np.asarray(self.penalty, dtype=float))
        one = penalties.size == 1
        if not (one or penalties.shape == (self.n_components,)) or not (penalties >= 0).all():
            msg = (
                f"penalty={self.penalty!r} must be one number >= 0, or one for each of the "
                f"{self.n_components} components"
            )
            raise ValueError(msg)
        return [float(penalty) for penalty in np.resize(penalties, n_components)]

    def _ridge(self, S: Covariance) -> float:
        if self.ridge != "auto":
            return float(self.ridge)
        if S.n_features > S.n_samples:
            return float("inf")
        return SMALL_RIDGE * total_variance(S) / S.n_features


def _explains_more(S: Covariance, loadings: Array) -> Array:
    """Which components explain anything beyond those before them."""
    least = max(NEGLIGIBLE, 8 * float(np.finfo(S.dtype).eps)) * total_variance(S)
    return np.asarray(adjusted_variance(S, loadings) > least)
