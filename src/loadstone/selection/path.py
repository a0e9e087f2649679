"""Variance against cardinality: the best component of every size.

:func:`search_path` works on a covariance; :func:`loadstone.cardinality_path` is the same
for data, with checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np

from loadstone.blas_threads import one_blas_thread
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import (
    Array,
    Covariance,
    SampleGram,
    leading_eigenvalues,
    variances_of,
)
from loadstone.covariance.working_set import Looked
from loadstone.estimators.found import Found, store
from loadstone.estimators.reading import Reading
from loadstone.estimators.sparse_pca import SparsePCA
from loadstone.extraction import signed
from loadstone.loadings import Loadings, Stop
from loadstone.metrics import total_variance
from loadstone.selection.path_bounds import upper_bounds
from loadstone.selection.path_search import search_sizes
from loadstone.selection.path_starts import (
    StartEffort,
)
from loadstone.selection.path_supports import Supports
from loadstone.selection.path_wide import search_wide
from loadstone.solvers.renormalise import renormalise

#: What each effort means at the sizes where a path begins.
PATH_EFFORTS: dict[str, StartEffort] = {
    "fast": StartEffort(n_columns=12, n_settled=4, per_octave=1, max_size=64, n_exchanges=1),
    "balanced": StartEffort(),
    "thorough": StartEffort(
        n_eigenvectors=32, n_columns=192, n_settled=48, per_octave=4, max_size=1024, n_exchanges=50
    ),
}
#: Sizes of an automatic path; data with fewer features gets every size.
N_AUTO = 150
#: Components whose products with the covariance are computed in one pass.
AT_ONCE = 32


@dataclass(frozen=True)
class CardinalityPath:
    """The best component found at each size.

    Attributes
    ----------
    n_nonzeros : ndarray of int
        Sizes, ascending: the largest number of features allowed.
    values : ndarray of float
        Variance ``w'Sw`` of the component of each size (divisor n - 1), or what it recovers of
        all features with ``objective="recovery"``; never decreases.
    ratio : ndarray of float
        The same relative to the first principal component.
    supports : sequence of ndarray of int
        Features of each component. Under ``nonnegative`` there may be fewer than allowed.
    covariance : Covariance
        Where the path was searched.
    nonnegative : bool
        Whether loadings are at least zero.
    bounds : ndarray of float or None
        Proven upper limits of the variance at each size, where asked for.
    looked : Looked or None
        How far the search looked, where wide data out of core was not looked at as a whole:
        ``n_features`` of a working set, ``n_pricings`` in which all features were asked, and
        how many of them still wanted in (``n_wanting``).
    data : Reading or None
        The data of the path, where it was searched on data.
    objective : {"variance", "recovery"}
        What the component of each size is best at.
    recovering : sparse array or None
        Loadings of each size, a row each, with ``objective="recovery"``.
    parameters : mapping
        Parameters of :class:`loadstone.SparsePCA` that the path was searched with.
    """

    n_nonzeros: Array
    values: Array
    ratio: Array
    supports: Supports = field(repr=False)
    covariance: Covariance = field(repr=False)
    nonnegative: bool = False
    bounds: Array | None = field(default=None, repr=False)
    looked: Looked | None = field(default=None, repr=False)
    data: Reading | None = field(default=None, repr=False)
    objective: str = "variance"
    recovering: Any = field(default=None, repr=False)
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), repr=False)

    def __len__(self) -> int:
        return int(self.n_nonzeros.size)

    @property
    def feature_names(self) -> Array | None:
        """Names of the features, where the data has them."""
        return None if self.data is None else self.data.names

    @property
    def quantity(self) -> str:
        """What :attr:`values` are."""
        return "variance" if self.objective == "variance" else "recovered variance"

    def loadings(self, n_nonzero: int) -> Array:
        """Unit-norm loadings of the component of one size of the path."""
        index = self._index(n_nonzero)
        if self.recovering is not None:
            return np.asarray(self.recovering[[index]].toarray()[0])
        S = self.covariance
        w = self.supports.mask(index).astype(S.dtype)
        constraint = LoadingConstraint(S.n_features, int(n_nonzero), self.nonnegative)
        return renormalise(S, w / np.linalg.norm(w), constraint)[0]

    def estimator(self, n_nonzero: int) -> SparsePCA:
        """A fitted :class:`loadstone.SparsePCA` with the component of one size.

        Parameters
        ----------
        n_nonzero : int
            One of :attr:`n_nonzeros`.

        Returns
        -------
        SparsePCA
            As its own fit would have made it, had it found this component.
        """
        loadings = self.loadings(n_nonzero)
        if self.data is None:
            msg = "this path was searched on a covariance alone; use loadstone.cardinality_path"
            raise ValueError(msg)
        model = SparsePCA(n_components=1, n_nonzero=int(n_nonzero), **self.parameters)
        value = variances_of(self.covariance, loadings[:, None])
        search = Loadings(loadings[:, None], value, 1, Stop.CONVERGED)
        constraint = LoadingConstraint(loadings.size, int(n_nonzero), self.nonnegative)
        store(
            model,
            self.data,
            Found(loadings=signed(search.matrix, [constraint]), searches=(search,)),
        )
        return model

    @cached_property
    def recovered(self) -> Array:
        """Share of the variance of all features that the scores of each size recover.

        By a regression of every feature on them, ``|S w|^2 / (w'Sw tr S)``; at most
        :attr:`pca_recovered`. Computed when it is first asked for.
        """
        S, found = self.covariance, []
        for start in range(0, len(self), AT_ONCE):
            sizes = self.n_nonzeros[start : start + AT_ONCE]
            W = np.column_stack([self.loadings(int(size)) for size in sizes])
            SW = (S @ W).astype(np.float64)
            variance = np.einsum("ij,ij->j", W, SW)
            squares = np.einsum("ij,ij->j", SW, SW)
            found.append(np.divide(squares, variance, out=0 * variance, where=variance > 0))
        return np.concatenate(found) / total_variance(S)

    @property
    def pca_recovered(self) -> float:
        """What the first principal component recovers of all features."""
        return float(self.values[-1] / self.ratio[-1]) / total_variance(self.covariance)

    def entry_sizes(self) -> Array:
        """Smallest size of the path at which each feature is used; 0 where it never is."""
        entered = np.zeros(self.covariance.n_features, dtype=np.intp)
        for size, mask in zip(self.n_nonzeros, self.supports.masks(), strict=True):
            entered[mask & (entered == 0)] = size
        return entered

    def entry_order(self) -> Array:
        """Features in the order in which they enter, those that never do left out.

        Features that enter at the same size are ordered by their variance.
        """
        entered = self.entry_sizes()
        used = np.flatnonzero(entered)
        return used[np.lexsort((-self.covariance.diagonal()[used], entered[used]))]

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per size."""
        try:
            import pandas as pd
        except ImportError as error:
            msg = "to_frame needs pandas; install it with: pip install pandas"
            raise ImportError(msg) from error
        table = {
            "n_nonzero": self.n_nonzeros,
            "cardinality": [int(mask.sum()) for mask in self.supports.masks()],
            self.quantity.replace(" ", "_"): self.values,
            "ratio": self.ratio,
            "recovered": self.recovered,
            "pca_recovered": self.pca_recovered,
        }
        if self.bounds is not None:
            table |= {"bound": self.bounds, "certified_ratio": self.values / self.bounds}
        return pd.DataFrame(table)

    def plot(self, ax: Any = None, *, label: str | None = None, ratio: bool = True) -> Any:
        """Draw the path, with a band up to the proven bounds where there are any.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        label : str, optional
            Name of the curve in a legend.
        ratio : bool, default=True
            Draw the share of the first principal component instead of the variance.

        Returns
        -------
        matplotlib Axes
        """
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        scale = self.ratio[-1] / self.values[-1] if ratio else 1.0
        (line,) = ax.plot(self.n_nonzeros, self.values * scale, label=label)
        if self.bounds is not None:
            upper = self.bounds * scale
            ax.fill_between(
                self.n_nonzeros, self.values * scale, upper, color=line.get_color(), alpha=0.2
            )
        if self.n_nonzeros[-1] > 20 * self.n_nonzeros[0]:
            ax.set_xscale("log")
        ax.set_xlabel("features per component")
        ax.set_ylabel(f"{self.quantity} / first principal component" if ratio else self.quantity)
        return ax

    def _index(self, n_nonzero: int) -> int:
        index = int(np.searchsorted(self.n_nonzeros, n_nonzero))
        if index == self.n_nonzeros.size or self.n_nonzeros[index] != n_nonzero:
            near = self.n_nonzeros[np.argmin(np.abs(self.n_nonzeros - n_nonzero))]
            msg = (
                f"n_nonzero={n_nonzero} is not a size of this path; the nearest is {near}. "
                "Ask for it through n_nonzeros"
            )
            raise ValueError(msg)
        return index


def automatic_sizes(n_available: int, n_sizes: int = N_AUTO) -> Array:
    """Every size, or ``n_sizes`` logarithmically spaced ones from 1 to all features."""
    if n_available <= n_sizes:
        return np.arange(1, n_available + 1)
    n_points = n_sizes
    while True:
        sizes = np.unique(np.round(np.geomspace(1, n_available, n_points)).astype(np.intp))
        if sizes.size >= n_sizes:
            return sizes
        n_points += max(1, n_sizes - sizes.size)


def search_path(
    S: Covariance,
    n_nonzeros: Array,
    *,
    nonnegative: bool = False,
    effort: str = "balanced",
    forbidden: Array | None = None,
    certify: str | bool = False,
) -> CardinalityPath:
    """The best component of each size, by many starts at small sizes and sweeps over all.

    Parameters
    ----------
    S : Covariance
        Of the data.
    n_nonzeros : ndarray of int
        Sizes, ascending and distinct.
    nonnegative : bool
        Whether loadings are at least zero.
    effort : {"fast", "balanced", "thorough"}
        How many starts at how many sizes.
    forbidden : ndarray of int, optional
        Features that stay out.
    certify : {False, "instant", "standard"}
        Whether to prove upper bounds, and how hard to try.

    Returns
    -------
    CardinalityPath
    """
    closed = np.empty(0, dtype=np.intp) if forbidden is None else forbidden
    constraints = [
        LoadingConstraint(S.n_features, int(k), nonnegative, forbidden=closed) for k in n_nonzeros
    ]
    looked = None
    with one_blas_thread():
        if isinstance(S, SampleGram):
            search = partial(search_sizes, effort=PATH_EFFORTS[effort])
            known, looked = search_wide(S, constraints, search)
        else:
            known = search_sizes(S, constraints, effort=PATH_EFFORTS[effort])
    values = np.maximum.accumulate(known.values)
    largest = float(leading_eigenvalues(S, 1)[0])
    if constraints[-1].size + closed.size >= S.n_features and not nonnegative:
        values[-1] = max(values[-1], largest)
    supports = Supports(known.packed, S.n_features)
    bounds = None
    if certify:
        bounds = upper_bounds(S, constraints, supports.masks(), values, str(certify))
    return CardinalityPath(
        np.asarray(n_nonzeros),
        values,
        values / largest,
        supports,
        S,
        nonnegative,
        bounds,
        looked,
    )
