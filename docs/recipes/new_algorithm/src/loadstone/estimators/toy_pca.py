"""ToyPCA: sparse components that begin at single features."""

from __future__ import annotations

from typing import Any, ClassVar

from loadstone.solvers.toy import Toy

from loadstone.estimators.extendable import ExtendableMixin
from loadstone.estimators.found import Task
from loadstone.estimators.parameters import COUNT
from loadstone.estimators.sequential import SequentialComponents
from loadstone.registry import About


class ToyPCA(ExtendableMixin, SequentialComponents):
    """Climb to each component from the features of largest variance.

    Parameters
    ----------
    n_starts : int, default=4
        Features to begin from.

    See Also
    --------
    SparsePCA : Begins at many more places.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import ToyPCA
    >>> ToyPCA(n_nonzero=3, standardize=True).fit(load_wine().data).cardinality_
    array([3])
    """

    about: ClassVar[About] = About(
        method="toy",
        choose=("to see how an algorithm is added",),
        paper="Nobody (2000)",
    )

    n_starts: int = 4
    max_iter: int = 100
    renormalize: bool = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {"n_starts": [COUNT]}

    def _solver(self, task: Task) -> Toy:
        return Toy(n_starts=self.n_starts, max_iter=self.max_iter)
