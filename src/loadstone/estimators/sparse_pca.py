"""SparsePCA: the front door."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from loadstone._sklearn_compat import Options, StrOptions
from loadstone.certificates import EFFORTS as CERTIFICATE_EFFORTS
from loadstone.certificates import Certificate, prove
from loadstone.estimators.attributes import Attribute
from loadstone.estimators.base import WITH_PROOFS
from loadstone.estimators.extendable import ExtendableMixin
from loadstone.estimators.found import Task
from loadstone.estimators.parameters import SHARED
from loadstone.estimators.sequential import Rival, SequentialComponents
from loadstone.loadings import Loadings
from loadstone.registry import About
from loadstone.solvers.portfolio import PORTFOLIOS, Portfolio


class SparsePCA(ExtendableMixin, SequentialComponents):
    """Principal components of an exact size: sparse, non-negative, or both.

    Each component maximises the variance ``w'Sw`` over unit vectors with at most
    ``n_nonzero`` non-zero loadings, and with no negative ones where asked. Hundreds of
    starts are searched as one block, the best are polished until no exchange of two
    features improves them.

    Parameters
    ----------
    effort : {"fast", "balanced", "thorough"}, default="balanced"
        How many starts are searched and how long they are polished.
    max_iter : int, default=100
        Largest number of power steps after the starts have been sifted.
    tol : float, default=1e-6
        Change of direction at which a search has settled.
    certify : {False, "instant", "standard", "full"}, default=False
        Prove how close each component is to the best possible one: by bounds read off
        the matrix, by the dual bound (seconds for hundreds of features), or by branch
        and bound as well (up to a proven optimum, without a time limit).

    See Also
    --------
    ExactSparsePCA : Searches until the optimum is proven.
    EMPCA : The algorithm of Sigg and Buhmann alone.
    ThresholdedPCA : The classic baseline.

    Notes
    -----
    With ``n_nonzero=None`` and ``nonnegative=False`` this is PCA.

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

    effort: str = "balanced"
    min_angle: float = 85.0
    refine: bool = False
    forced: Any = None
    max_iter: int = 100
    tol: float = 1e-6
    certify: Any = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "orthogonality": SHARED["orthogonality"].rule,
        "effort": [StrOptions(set(PORTFOLIOS))],
        "certify": [Options(bool, {False}), StrOptions(set(CERTIFICATE_EFFORTS))],
    }
    _attributes: ClassVar[dict[str, Attribute]] = WITH_PROOFS

    def _n_tasks(self) -> int | None:
        # Proofs report their progress as tasks too, and nobody knows how many.
        return None if self.certify else self.n_components

    def _solver(self, task: Task) -> Portfolio:
        return replace(PORTFOLIOS[self.effort], max_iter=self.max_iter, tol=self.tol)

    def _proofs(
        self, task: Task, rivals: Iterable[Rival], searches: Sequence[Loadings]
    ) -> list[Certificate] | None:
        if not self.certify:
            return None
        return [
            prove(S, constraint, w, effort=self.certify, relative_to=name, progress=task.proof)
            for w, S, constraint, name in rivals
        ]
