"""SparsePCA: the front door."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from loadstone._sklearn_compat import Interval, Options, StrOptions
from loadstone.certificates import EFFORTS as CERTIFICATE_EFFORTS
from loadstone.certificates import RECOVERED, SUM, Certificate, JointCertificate, prove
from loadstone.constraints import Constraint, LoadingConstraint, Signs
from loadstone.constraints.from_parameters import check_sizes
from loadstone.covariance import Array
from loadstone.estimators.attributes import Attribute
from loadstone.estimators.base import WITH_PROOFS
from loadstone.estimators.extendable import ExtendableMixin
from loadstone.estimators.found import Found, Task, silent
from loadstone.estimators.parameters import SHARED
from loadstone.estimators.reading import Reading
from loadstone.estimators.sequential import Rival, SequentialComponents
from loadstone.extraction import (
    Orthogonality,
    Plan,
    RefusedConstraintError,
    prove_jointly,
    signed,
)
from loadstone.extraction.size import SizeChoice, choose_size, ladder_for
from loadstone.loadings import Loadings
from loadstone.registry import About
from loadstone.solvers.portfolio import PORTFOLIOS, Portfolio
from loadstone.solvers.recovery.solver import Recovery
from loadstone.solvers.search.tiny import is_tiny

#: Why there are fewer components than were asked for, where they are to recover all features.
NOTHING_TO_RECOVER = "no further component recovers any more of the features"


class SparsePCA(ExtendableMixin, SequentialComponents):
    """Principal components of an exact size: sparse, non-negative, or both.

    Each component maximises the variance ``w'Sw`` over unit vectors with at most
    ``n_nonzero`` non-zero loadings, and with no negative ones where asked. Hundreds of
    starts are searched as one block, the best are polished until no exchange of two
    features improves them.

    Parameters
    ----------
    n_nonzero : "auto", int, float, array-like or None, default="auto"
        Features per component: a number, a fraction in (0, 1], or one of these per
        component. ``"auto"`` takes the smallest size whose components recover ``target`` of
        what as many principal components recover, and are no fewer than those of a larger
        size; at most 50, or as many as there are components. ``None`` uses all features,
        which is PCA.
    target : float, default=0.9
        For ``n_nonzero="auto"``: share of the variance PCA recovers.
    objective : {"variance", "recovery", "sum"}, default="variance"
        What components are best at: the variance of their scores, which finds groups of
        features that belong together, or how much of *all* features a regression on their
        scores recovers, which finds the few features that stand for the rest. Recovery has
        sizes and signs, no relation but ``"disjoint"``, and one proof for each component beside
        the others; hold out samples to judge it where ``n_components * n_nonzero`` is not small
        against their number. ``"sum"`` is the sum of the variances of disjoint, orthogonal or uncorrelated
        components, all at once and in place of ``refine``: for disjoint ones exactly, where
        there are few features.
    effort : {"fast", "balanced", "thorough"}, default="balanced"
        How many starts are searched and how long they are polished.
    max_iter : int, default=100
        Largest number of power steps after the starts have been sifted.
    tol : float, default=1e-6
        Change of direction at which a search has settled.
    certify : {False, "instant", "standard", "full"}, default=False
        Prove how close each component is to the best possible one: by bounds read off
        the matrix, by the dual bound (seconds for hundreds of features), or by branch
        and bound as well (up to a proven optimum, or the time limit).
    time_limit : float or None, default=60
        Seconds for the proof of each component; reaching it leaves the best bound so far.
    n_jobs : int, default=1
        Processes that branch and bound uses; the answer is the same for every number.

    Attributes
    ----------
    n_nonzero_ : int
        The size chosen, with ``n_nonzero="auto"`` only.
    size_path_ : dict of ndarray
        ``n_nonzero`` and ``share_of_pca`` of the sizes tried, with ``n_nonzero="auto"`` only.

    See Also
    --------
    ExactSparsePCA : Searches until the optimum is proven.
    EMPCA : The algorithm of Sigg and Buhmann alone.
    ThresholdedPCA : The classic baseline.

    Notes
    -----
    With ``n_nonzero=None`` and ``nonnegative=False`` this is PCA. The components are best
    together: with ``refine`` none of them is the best one on its own.

    References
    ----------
    Sigg, C. D., & Buhmann, J. M. (2008). Expectation-maximization for sparse and
    non-negative PCA. Proceedings of the 25th International Conference on Machine
    Learning, 960-967. https://doi.org/10.1145/1390156.1390277

    Yuan, X.-T., & Zhang, T. (2013). Truncated power method for sparse eigenvalue
    problems. Journal of Machine Learning Research, 14, 899-925.

    Mackey, L. (2009). Deflation methods for sparse PCA. Advances in Neural Information
    Processing Systems 21, 1017-1024.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import SparsePCA
    >>> X = load_wine().data
    >>> model = SparsePCA(n_components=2, n_nonzero=4, standardize=True).fit(X)
    >>> model.cardinality_
    array([4, 4])
    """

    about: ClassVar[About] = About(
        method="sparse",
        choose=(
            "components of a given size, the best there are",
            "parts that add up (`nonnegative=True`)",
            "components that share no feature, are orthogonal or uncorrelated (`orthogonality=...`)",
            "components of groups of features, or with given signs (`constraint=...`)",
            "a proof of how good each component is (`certify=...`)",
        ),
    )

    n_nonzero: Any = "auto"
    target: float = 0.9
    objective: str = "variance"
    effort: str = "balanced"
    min_angle: float = 85.0
    refine: Any = "warm"
    deflation: str = "schur"
    forced: Any = None
    max_iter: int = 100
    tol: float = 1e-6
    certify: Any = False
    time_limit: float | None = 60.0
    n_jobs: int = 1

    n_nonzero_: ClassVar[int]
    size_path_: ClassVar[dict[str, Array]]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "orthogonality": SHARED["orthogonality"].rule,
        "n_nonzero": [StrOptions({"auto"}), *SHARED["n_nonzero"].rule],
        "target": [Interval(Real, 0, 1, closed="right")],
        "objective": [StrOptions({"variance", "recovery", "sum"})],
        "effort": [StrOptions(set(PORTFOLIOS))],
        "certify": [Options(bool, {False}), StrOptions(set(CERTIFICATE_EFFORTS))],
        "time_limit": [None, Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral],
    }
    _attributes: ClassVar[dict[str, Attribute]] = WITH_PROOFS

    def _n_tasks(self) -> int | None:
        # Searches and proofs report their progress as tasks too, and nobody knows how many.
        return None

    def _looks_at_all(self) -> bool:
        return self.objective == "recovery"

    def _sizes_on(self, n_components: int, n_features: int) -> list[int]:
        """How many features each component may use; the size chosen where none was given."""
        asked = self.n_nonzero
        if isinstance(asked, str):
            # A constraint says the size itself, whatever an earlier fit without it chose.
            earlier = {} if self.constraint is not None else vars(self)
            asked = earlier.get("n_nonzero_")
        return check_sizes(asked, n_components, n_features)

    def _search(self, task: Task) -> Found:
        if not isinstance(self.n_nonzero, str) or self.constraint is not None:
            return self._sized(task, self.constraints_on(task.data))
        choice = self._size(task)
        found = self._of_size(choice, task)
        told = {
            "n_nonzero_": choice.n_nonzero,
            "size_path_": {"n_nonzero": choice.sizes, "share_of_pca": choice.shares},
        }
        remark = (
            f"n_nonzero='auto' took {choice.n_nonzero} features, which recover "
            f"{choice.told_below(self.target)} of what PCA recovers, less than "
            f"target={self.target}; give a size, or a lower target"
        )
        remarks = found.told if choice.reached else (*found.told, remark)
        shortfall = found.shortfall
        if shortfall is not None and not choice.complete:
            shortfall += (
                f"; n_nonzero='auto' took {choice.n_nonzero}, and no size it tried has more"
            )
        return replace(found, values={**found.values, **told}, told=remarks, shortfall=shortfall)

    def _size(self, task: Task) -> SizeChoice[Found]:
        """The size for ``n_nonzero="auto"``, by quick searches."""
        quick, quiet = self._quick(task.data), replace(task, report=silent, n_pricings=0)

        def find(size: int) -> Found:
            return quick._sized(quiet, self._all_of_size(size, task.data))

        # Any size but all features: those that do not vary are closed then.
        widest = self._all_of_size(max(1, task.data.n_features - 1), task.data)
        ladder = ladder_for(widest, Orthogonality(self.orthogonality, self.min_angle))
        return choose_size(task.data.S, self._count, ladder, self.target, find)

    def _all_of_size(self, size: int, data: Reading) -> Sequence[Constraint]:
        """What each component may look like where all have the same size."""
        return self._constraints(data, check_sizes(size, self._count, data.n_features))

    def _of_size(self, choice: SizeChoice[Found], task: Task) -> Found:
        """The components of the size chosen, which are there already where no effort is spared."""
        constraints = self._all_of_size(choice.n_nonzero, task.data)
        if self._quick(task.data) is not self:
            return self._sized(task, constraints)
        n_told = task.known(choice.found.searches)
        if n_told == len(choice.found.searches):
            return choice.found
        return self._sized(replace(task, report=silent), constraints[:n_told])

    def _quick(self, data: Reading) -> SparsePCA:
        """The same at the smallest effort; itself where its own is no more than that."""
        if is_tiny(data.S) and PORTFOLIOS[self.effort].is_least(data.S) and not self.certify:
            return self
        return replace(self, effort="fast", certify=False, refine="warm" if self.refine else False)

    def _sized(self, task: Task, constraints: Sequence[Constraint]) -> Found:
        if self.objective != "recovery":
            return self._found(task, constraints)
        self._refuse_recovery(constraints)
        quick = replace(self, certify=False)
        variance = quick._found(task, constraints)
        n_found, disjoint = variance.loadings.shape[1], self.orthogonality == "disjoint"
        kept = [c for c in constraints[:n_found] if isinstance(c, LoadingConstraint | Signs)]
        starts = [variance.loadings]
        if n_found > 1 and not disjoint:
            apart = quick._apart(task, constraints, variance.loadings)
            # What every component must use, disjoint ones leave to the first.
            if all(c.allows(w) for c, w in zip(kept, apart.T, strict=True)):
                starts.append(apart)
        # Passes over all components are many and cheap, and settle where each moves little.
        solver = Recovery(disjoint=disjoint, max_iter=10 * self.max_iter, tol=1e-3 * self.tol)
        search = solver(task.data.S, kept, starts, task.stage)
        # Where nothing is left to recover there is no direction to take.
        adds = np.flatnonzero(search.matrix.any(axis=0))
        shortfall = variance.shortfall if adds.size == n_found else NOTHING_TO_RECOVER
        kept = [kept[j] for j in adds]
        loadings = signed(search.matrix[:, adds], kept)
        joint = self._together(task, loadings, kept, self.plan(task))
        return replace(
            variance, loadings=loadings, searches=(search,), joint=joint, shortfall=shortfall
        )

    def _apart(self, task: Task, constraints: Sequence[Constraint], rest: Array) -> Array:
        """The disjoint answer, so that more freedom recovers no less; ``rest`` fills it up."""
        smaller = replace(self, orthogonality="disjoint")
        loadings = smaller._sized(task.with_stages_alone(), constraints).loadings
        return np.column_stack([loadings, rest[:, loadings.shape[1] :]])

    def _refuses_more(self) -> str | None:
        if self.objective == "variance":
            return None
        return (
            f"objective={self.objective!r} finds all components together, so that none can be "
            "added; fit anew with a larger n_components"
        )

    def _refuse_recovery(self, constraints: Sequence[Constraint]) -> None:
        """Say what cannot be had together with ``objective="recovery"``."""
        reason = next(filter(None, map(Recovery().unsuited, constraints)), None)
        if self.orthogonality not in ("none", "disjoint"):
            reason = f'it has no orthogonality={self.orthogonality!r}; use "none" or "disjoint"'
        if reason is not None:
            msg = f"objective='recovery': {reason}"
            raise RefusedConstraintError(msg)

    def _solver(self, task: Task) -> Portfolio:
        return PORTFOLIOS[self.effort].limited(self.max_iter, self.tol, task.stage)

    def _proofs(
        self, task: Task, rivals: Iterable[Rival], searches: Sequence[Loadings]
    ) -> list[Certificate] | None:
        if not self.certify:
            return None
        return [
            prove(
                task.data.S,
                constraint,
                w,
                effort=self.certify,
                time_limit=self.time_limit,
                n_jobs=self.n_jobs,
                earlier=earlier,
                progress=task.proof,
            )
            for w, constraint, earlier in rivals
        ]

    def _together(
        self,
        task: Task,
        loadings: Array,
        constraints: Sequence[Constraint],
        plan: Plan,
        alone: Certificate | None = None,
    ) -> JointCertificate | None:
        if not self.certify:
            return None
        quantity = {"sum": SUM, "recovery": RECOVERED}.get(self.objective)
        return prove_jointly(
            task.data.S,
            loadings,
            constraints,
            plan,
            self.certify,
            quantity=quantity,
            time_limit=self.time_limit,
            alone=alone,
        )
