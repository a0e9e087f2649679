"""NSPCA: all non-negative components at once, after Zass and Shashua."""

from __future__ import annotations

from dataclasses import fields
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from loadstone._sklearn_compat import Interval, StrOptions
from loadstone.constraints.from_parameters import check_sizes
from loadstone.covariance import Array, Covariance, leading_eigenpairs
from loadstone.estimators.base import Components, field
from loadstone.estimators.checks import refuse_changed
from loadstone.estimators.found import Found, Task
from loadstone.estimators.parameters import COUNT, NOT_NEGATIVE
from loadstone.estimators.reading import Reading, read
from loadstone.loadings import Loadings
from loadstone.metrics import adds_variance, marginal_variance
from loadstone.registry import About
from loadstone.solvers.coordinate_ascent import (
    CoordinateAscent,
    departure,
    given_start,
    scaled_penalties,
)
from loadstone.solvers.coordinate_ascent_size import of_total_size
from loadstone.solvers.fitted_model import spread
from loadstone.solvers.renormalise import cut_to_sizes


class NSPCA(Components):
    """Non-negative sparse PCA: parts that are found together and share few features.

    Maximises ``1/2 tr(U'SU) - (alpha/4) ||I - U'U||^2 - beta sum(U)`` over all
    ``n_components`` columns of ``U >= 0`` at once. A large ``overlap_penalty`` divides the
    features among the components, a large ``sparsity_penalty`` drops the less
    informative ones. One entry of ``U`` is maximised exactly at a time, so the
    objective rises until it settles.

    Parameters
    ----------
    overlap_penalty : float, default=1.0
        alpha in units of the largest eigenvalue of the covariance: what it costs to
        depart from orthogonal unit vectors. The result does not depend on the scale of
        the data.
    sparsity_penalty : float, default=0.0
        beta in units of the largest eigenvalue over ``sqrt(n_features)``, whatever the
        overlap penalty is. Cardinalities cannot be steered finely by it.
    sparsity_norm : {"l1", "l0"}, default="l1"
        What beta is paid for: the sum of ``U``, or every entry that is not zero, as the paper
        has it before it relaxes. Its unit is the largest eigenvalue over ``n_features`` then.
    n_nonzero : int, float, array-like or None, default=None
        Cut each component to its largest loadings afterwards and re-optimise them on
        their support: a number, a fraction in (0, 1], or one of these per component.
    n_nonzero_total : int or None, default=None
        Find ``sparsity_penalty`` by bisection: at most so many non-zeros in all components.
    init : {"pca", "random"} or array-like of shape (n_components, n_features), default="pca"
        Where to start: the leading eigenvectors cut at zero, random non-negative
        directions, or given components.
    tol : float, default=1e-7
        Stop when a sweep raises the objective by less than this share of it.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Unit-norm loadings, in the order of their variance.
    raw_components_ : ndarray of shape (n_components_, n_features)
        The columns of ``U`` as they were found, before scaling and cutting.
    overlap_ : float
        ``||I - W'W||`` of the unit-norm columns (Frobenius norm): what they share.
    departure_ : float
        ``||I - U'U||`` of the raw components, which the penalty is on.
    penalties_ : tuple of float
        alpha and beta in units of the covariance (divisor n - 1).
    sparsity_penalty_ : float
        As it was given, or found for ``n_nonzero_total``.
    n_components_ : int
        Components found; fewer than asked for where a penalty left some empty.
    n_iter_ : int
        Sweeps of the best start.
    objective_ : list of ndarray
        The objective after each sweep, in units of the largest eigenvalue; one array,
        since the components are found together.

    See Also
    --------
    SparsePCA : One component after another, each of an exact size.

    Notes
    -----
    The paper's alpha and beta refer to the sum ``XX'`` over the centred samples;
    :meth:`from_paper_units` converts them.

    References
    ----------
    Zass, R., & Shashua, A. (2006). Nonnegative sparse PCA. Advances in Neural
    Information Processing Systems 19, 1561-1568.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import NSPCA
    >>> model = NSPCA(n_components=3, overlap_penalty=5.0, standardize=True)
    >>> model.fit(load_wine().data).components_.min() >= 0
    np.True_
    """

    about: ClassVar[About] = About(
        method="nspca",
        choose=("all parts found together, with a price on overlap",),
        paper="Zass & Shashua (2006)",
    )

    n_components: int = field(default=2, kw_only=False)
    overlap_penalty: float = 1.0
    sparsity_penalty: float = 0.0
    sparsity_norm: str = "l1"
    n_nonzero: Any = None
    n_nonzero_total: int | None = None
    init: Any = "pca"
    n_init: int = 1
    max_iter: int = 1000
    tol: float = 1e-7

    #: Loadings of this model have no sign.
    nonnegative: ClassVar[bool] = True
    raw_components_: ClassVar[Array]
    overlap_: ClassVar[float]
    departure_: ClassVar[float]
    penalties_: ClassVar[tuple[float, float]]
    sparsity_penalty_: ClassVar[float]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "overlap_penalty": [Interval(Real, 0, None, closed="neither")],
        "sparsity_penalty": [NOT_NEGATIVE],
        "sparsity_norm": [StrOptions({"l1", "l0"})],
        "n_nonzero_total": [COUNT, None],
        "init": [StrOptions({"pca", "random"}), "array-like"],
    }

    @classmethod
    def from_paper_units(
        cls, X: Any, alpha: float, beta: float = 0.0, n_components: int = 2, **parameters: Any
    ) -> Self:
        """An estimator with the paper's alpha and beta, converted for the data ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data the estimator will be fitted on; the paper's penalties depend on
            its scale and on the number of its samples.
        alpha : float
            Weight of ``||I - U'U||^2 / 4`` beside ``||U'X||^2 / 2``.
        beta : float
            Weight of the sum of all entries of ``U``.
        n_components : int
            Number of components.
        **parameters
            Other parameters of the estimator.

        Returns
        -------
        NSPCA
            Not yet fitted.
        """
        if not alpha > 0 or beta < 0:
            msg = f"alpha={alpha} must be positive and beta={beta} at least 0, as in the paper"
            raise ValueError(msg)
        model = cls(n_components, **parameters)
        S = read(X, standardize=bool(model.standardize), route=model.route).S
        eigenvalue = float(leading_eigenpairs(S, 1)[0][0]) * (S.n_samples - 1.0)
        overlap, sparsity = scaled_penalties(alpha, beta, eigenvalue, S.n_features)
        return model.set_params(overlap_penalty=overlap, sparsity_penalty=sparsity)

    def _looks_at_all(self) -> bool:
        return True

    def _n_tasks(self) -> int:
        return 1

    def _search(self, task: Task) -> Found:
        S = task.data.S
        sizes = check_sizes(self.n_nonzero, self.n_components, S.n_features)
        varying = np.flatnonzero(~task.data.moments.constant)
        local = S if varying.size == S.n_features else S.restrict(varying)
        # More than there are features can only repeat what the others say.
        count = min(self.n_components, varying.size)
        found = self._ascend(local, count, task.rng, self._init(count, varying, S.n_features))
        if found.matrix.shape[1] == 0:
            msg = f"sparsity_penalty={self.sparsity_penalty} leaves every component empty; lower it"
            raise ValueError(msg)
        task.component(0, found)
        order = np.argsort(-marginal_variance(local, found.matrix), kind="stable")
        loadings = spread(found.matrix[:, order], varying, S.n_features)
        loadings = loadings if self.n_nonzero is None else cut_to_sizes(S, loadings, sizes)
        adding = adds_variance(S, loadings)
        repeated = None if adding.all() else "the others repeat what these say"
        return Found(
            loadings=loadings[:, adding],
            searches=(found,),
            values=_raw_values(found, order[adding], varying, task.data),
            shortfall=repeated or self._shortfall(found, count),
        )

    def _ascend(self, S: Covariance, count: int, rng: Any, init: str | Array) -> Loadings:
        """Ascend with the penalty given, or with the one that gives the total size."""
        names = [f.name for f in fields(CoordinateAscent)]
        solver = CoordinateAscent(**{name: getattr(self, name) for name in names})
        if self.n_nonzero_total is None:
            return solver(S, count, rng, init)
        refuse_changed(self, {"sparsity_penalty": 0.0, "n_nonzero": None}, "n_nonzero_total=None")
        return of_total_size(solver, S, count, self.n_nonzero_total, rng, init)

    def _init(self, count: int, varying: Array, n_features: int) -> str | Array:
        """Where the first start is."""
        if isinstance(self.init, str):
            return self.init
        return given_start(self.init, self.n_components, n_features)[varying, :count]

    def _shortfall(self, found: Loadings, count: int) -> str | None:
        if found.matrix.shape[1] == self.n_components:
            return None
        if found.matrix.shape[1] == count:
            return "no more features vary"
        return (
            f"the others are empty at sparsity_penalty={found.details['sparsity_penalty']:.4g} and "
            f"overlap_penalty={self.overlap_penalty}; lower the former or ask for fewer"
        )


def _raw_values(found: Loadings, order: Array, varying: Array, data: Reading) -> dict[str, Any]:
    """What the columns of ``U`` were before scaling and cutting."""
    raw = spread(found.details["raw"][:, order], varying, data.n_features)
    eigenvalue = found.details["eigenvalue"]
    return {
        "raw_components_": np.ascontiguousarray(raw.T),
        "overlap_": departure(raw / np.linalg.norm(raw, axis=0)),
        "departure_": departure(raw),
        "sparsity_penalty_": found.details["sparsity_penalty"],
        "penalties_": (found.details["alpha"] * eigenvalue, found.details["beta"] * eigenvalue),
    }
