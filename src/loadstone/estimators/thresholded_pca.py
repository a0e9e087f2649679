"""ThresholdedPCA: the classic baseline."""

from __future__ import annotations

from typing import Any, ClassVar

from loadstone.estimators.extendable import ExtendableMixin
from loadstone.estimators.found import Task
from loadstone.estimators.sequential import SequentialComponents
from loadstone.registry import About
from loadstone.solvers.thresholding import Thresholding


class ThresholdedPCA(ExtendableMixin, SequentialComponents):
    """Keep the largest loadings of each principal component, and drop the rest.

    What many people do by hand. It is the baseline every better method must beat at
    equal size: dropping small loadings keeps correlated features together and can miss
    the best set by a wide margin.

    Parameters
    ----------
    nonnegative : bool, default=False
        Allow only loadings >= 0; the better of the two signs is taken.
    orthogonality : {"none", "disjoint"}, default="none"
        ``"disjoint"``: no feature serves two components.
    random_state : int, RandomState instance or None, default=0
        Accepted for symmetry with the other estimators; nothing here is random.

    Attributes
    ----------
    n_iter_ : int
        Always 1.
    objective_ : list of ndarray
        Variance of each component before renormalising.

    See Also
    --------
    SparsePCA : Searches the best set instead of cutting off the tail.

    References
    ----------
    Cadima, J., & Jolliffe, I. T. (1995). Loadings and correlations in the interpretation
    of principal components. Journal of Applied Statistics, 22(2), 203-214.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import ThresholdedPCA
    >>> model = ThresholdedPCA(n_nonzero=3, standardize=True).fit(load_wine().data)
    >>> model.cardinality_
    array([3])
    """

    about: ClassVar[About] = About(
        method="threshold",
        choose=("a baseline",),
        paper="Cadima & Jolliffe (1995)",
    )

    renormalize: bool = True
    forced: Any = None

    _n_products: ClassVar[int] = 30

    def _solver(self, task: Task) -> Thresholding:
        return Thresholding()
