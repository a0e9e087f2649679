"""SpannogramPCA: exact on low rank, with guarantees everywhere else."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

from loadstone._sklearn_compat import Interval, StrOptions
from loadstone.covariance import Array
from loadstone.estimators.found import Task
from loadstone.estimators.parameters import COUNT
from loadstone.estimators.sequential import SequentialComponents
from loadstone.extraction import Extraction
from loadstone.registry import About
from loadstone.solvers.spannogram import METHODS, Spannogram
from loadstone.solvers.spannogram.told import attributes_of


class SpannogramPCA(SequentialComponents):
    """Non-negative sparse components with provable guarantees, through low rank.

    The problem is solved on the best approximation of rank ``rank``: exactly, within
    ``epsilon`` for certain, or within ``epsilon`` with high probability in time near-linear
    in the number of features. On data of that rank (or ``sigma I`` plus that rank) the answer
    is optimal; elsewhere it has a factor known in advance and a bound computed from the data.

    Parameters
    ----------
    nonnegative : bool, default=True
        Allow only loadings >= 0. ``False`` gives the signed variant of Papailiopoulos et
        al. (2013).
    rank : int, default=3
        Rank of the approximation. A higher one narrows the gap to the bound and costs more.
    method : {"auto", "exact", "net", "cones"}, default="auto"
        ``"exact"`` enumerates all candidate supports (rank up to 3). ``"cones"`` is a
        branch and bound over directions (rank up to 5), certain to within ``epsilon`` and
        usually much closer. ``"net"`` samples directions, within ``epsilon`` with
        probability ``1 - 1/n_features``. ``"auto"`` takes the cheaper of the two with a
        proof, or the net where either would take long; ``method_`` says which. Beyond rank
        5 there is only the net, which ``"auto"`` refuses where it would take long too.
    epsilon : float, default=0.1
        Relative accuracy of ``"net"`` and ``"cones"`` on the approximation.
    polish : bool, default=False
        Continue on the full covariance, alternating between the best loadings on a
        support and the best support for them; the variance never falls.
    second_look : bool, default=True
        Compare several supports under the full covariance and re-optimise the loadings, which
        can only add to the guarantee. ``False``: the loadings of the paper's search.
    orthogonality : {"none", "disjoint"}, default="none"
        ``"disjoint"``: features used by a component are removed before the next is
        sought, as in the paper.
    random_state : int, RandomState instance or None, default=0
        Seed of the sampled directions.

    Attributes
    ----------
    guarantee_ : ndarray of shape (n_components_,)
        A-priori factor: each component has at least this share of the largest variance
        any allowed component has, in the covariance left at its turn.
    guarantee_is_deterministic_ : ndarray of bool of shape (n_components_,)
        ``False`` where it holds with probability ``1 - 1/n_features``.
    upper_bound_ : ndarray of shape (n_components_,)
        Largest variance any allowed component can have, in the covariance left at its
        turn; compare with the last entry of ``objective_``.
    upper_bound_is_deterministic_ : ndarray of bool of shape (n_components_,)
        ``False`` where it holds with probability ``1 - 1/n_features``.
    low_rank_gap_ : ndarray of shape (n_components_,)
        Largest variance the approximation of low rank can hide from a component.
    published_ratio_ : ndarray of shape (n_components_,)
        Share of the best variance that the paper's bound promises to the loadings of the
        search: ``x'A_d x / (x'A_d x / (1 - epsilon) + l_{rank+1})``.
    shift_ : ndarray of shape (n_components_,)
        The ``sigma`` of ``sigma I`` plus low rank where that was recognised, else 0.
    method_ : list of str
        The search that ran for each component.
    predicted_costs_ : list of dict
        Seconds every search was predicted to take, which decide ``method="auto"``.
    n_candidates_ : ndarray of int of shape (n_components_,)
        Candidate supports (exact) or directions (net, cones).
    n_nonzero_ : ndarray of int of shape (n_components_,)
        Places each component had; ``cardinality_`` is how many it used.
    low_rank_factors_ : list of ndarray of shape (n_features, rank)
        ``V`` with ``V V'`` the approximation at each component's turn; rows of features
        that may not be used are zero.
    directions_ : list of ndarray of shape (rank,)
        The direction of ``V`` each component came from.
    n_iter_ : int
        Largest number of candidates looked at for a component.
    objective_ : list of ndarray
        Variance of each component in the covariance left at its turn.

    See Also
    --------
    SparsePCA : Searches the full covariance, without a-priori guarantees.
    EMPCA : The algorithm the paper compares with.

    Notes
    -----
    With eigenvalues ``l_1 >= l_2 >= ...``, ``n`` features and ``k`` of them in a component,
    ``guarantee_ = max(s, 1 / (1 + l_{rank+1} / (s l_1)))`` with ``s = k / (2 n)`` (``k / n``
    for signed loadings), times ``1 - epsilon`` where the search is not exact, and ``upper_bound_ =
    min(l_1, best / (1 - epsilon) + l_{rank+1}, sum of the k largest variances)``.

    References
    ----------
    Asteris, M., Papailiopoulos, D. S., & Dimakis, A. G. (2014). Nonnegative sparse PCA
    with provable guarantees. Proceedings of the 31st International Conference on Machine
    Learning, PMLR 32(2), 1728-1736. https://proceedings.mlr.press/v32/asteris14.html

    Papailiopoulos, D. S., Dimakis, A. G., & Korokythakis, S. (2013). Sparse PCA through
    low-rank approximations. Proceedings of the 30th International Conference on Machine
    Learning, PMLR 28(3), 747-755. https://proceedings.mlr.press/v28/papailiopoulos13.html

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import SpannogramPCA
    >>> model = SpannogramPCA(n_nonzero=3, standardize=True).fit(load_wine().data)
    >>> model.cardinality_, model.method_
    (array([3]), ['cones'])
    >>> bool(model.marginal_variance_[0] <= model.upper_bound_[0])
    True
    """

    about: ClassVar[About] = About(
        method="spannogram",
        choose=("a guarantee before looking at the answer, for data of low rank",),
        paper="Asteris, Papailiopoulos & Dimakis (2014)",
    )

    nonnegative: bool = True
    rank: int = 3
    method: str = "auto"
    epsilon: float = 0.1
    polish: bool = False
    second_look: bool = True

    guarantee_: ClassVar[Array]
    guarantee_is_deterministic_: ClassVar[Array]
    upper_bound_is_deterministic_: ClassVar[Array]
    low_rank_gap_: ClassVar[Array]
    published_ratio_: ClassVar[Array]
    shift_: ClassVar[Array]
    n_candidates_: ClassVar[Array]
    n_nonzero_: ClassVar[Array]
    method_: ClassVar[list[str]]
    predicted_costs_: ClassVar[list[dict[str, float]]]
    low_rank_factors_: ClassVar[list[Array]]
    directions_: ClassVar[list[Array]]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "rank": [COUNT],
        "method": [StrOptions(set(METHODS))],
        "epsilon": [Interval(Real, 0, 1, closed="neither")],
        "polish": ["boolean"],
        "second_look": ["boolean"],
    }

    @classmethod
    def as_published(cls, n_components: float = 1, **options: Any) -> Self:
        """Algorithm 3 of the paper: the net at rank 3, its loadings as they are, disjoint components.

        Parameters
        ----------
        n_components : int or float, default=1
            Number of components.
        **options
            Further parameters, such as ``n_nonzero``.

        Returns
        -------
        SpannogramPCA
            Not fitted.
        """
        published: dict[str, Any] = {"method": "net", "second_look": False}
        return cls(n_components, **(published | {"orthogonality": "disjoint"} | options))

    def _expected_products(self) -> int:
        # Eigenvectors, then two blocks of candidates, for each component.
        return (20 * (int(self.rank) + 1) + 130) * self._count

    def _solver(self, task: Task) -> Spannogram:
        if self.polish and not self.second_look:
            msg = "polish=True climbs on from a second look; use second_look=True, or polish=False"
            raise ValueError(msg)
        return Spannogram(int(self.rank), self.method, self.epsilon, self.polish, self.second_look)

    def _values(self, extraction: Extraction) -> dict[str, Any]:
        return attributes_of(extraction.searches)
