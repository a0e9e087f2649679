"""Where to look among very many features: a working set, and the features that want into it.

A sketch may choose where to look, never what is reported: variances, loadings and bounds are
computed from the columns themselves. The first look takes features that stand out: in leading
principal components, in covariance with columns drawn evenly, by their own variance, or because
they have a near twin. Pricing then asks *all* features about the components found: a feature
whose covariance with a component beats that of the weakest feature the component keeps wants in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from loadstone.covariance.best_columns import BestColumns, merge_best
from loadstone.covariance.centring import Centring
from loadstone.covariance.protocol import Array, Support
from loadstone.covariance.sample_gram import SampleGram
from loadstone.covariance.symmetric import largest_eigenpairs

T = TypeVar("T")

#: Passes in which all features are asked, after a first look.
N_PRICINGS = 3
#: Features of a first look, and room for each feature of the largest component asked for.
FIRST_SIZE, PER_FEATURE = 2048, 6
#: Principal components whose leading features are looked at.
N_DIRECTIONS = 24
#: Share of the weakest kept feature from which on a feature is taken along.
NEARLY = 0.7
#: Features that pricing brings in at most, for each feature of a component and altogether.
BROUGHT_IN, MOST_BROUGHT_IN = 2, 2048


@dataclass(frozen=True)
class Prices:
    """What features are asked: covariances with directions, and who is to be beaten.

    Attributes
    ----------
    scores : ndarray of shape (n_rows, m)
        ``Z h`` of each direction ``h``.
    weakest : ndarray of shape (m,)
        ``|S h|`` of the weakest feature each component keeps.
    sizes : ndarray of int of shape (m,)
        Features each component has.
    signed : ndarray of bool of shape (m,)
        Whether only positive covariances count.
    """

    scores: Array
    weakest: Array
    sizes: Array
    signed: Array


@dataclass(frozen=True)
class Wanted:
    """What a working set is for.

    Attributes
    ----------
    largest_size : int
        Features of the largest component that will be searched.
    always : ndarray of int
        Features that must be there.
    closed : ndarray of int
        Features that no component may use.
    """

    largest_size: int
    always: Support
    closed: Support


@dataclass(frozen=True)
class Looked:
    """How far a search on a working set has looked.

    Attributes
    ----------
    n_features : int
        Features the components were searched among.
    n_pricings : int
        How often all features were asked whether they want in.
    n_wanting : int
        Features that wanted in when asked for the last time; then as many as there was room
        for were brought in, and the search was repeated.
    """

    n_features: int
    n_pricings: int
    n_wanting: int

    def remarks(self, n_all: int) -> tuple[str, ...]:
        """What a person should hear of it: nothing, where nobody wanted in."""
        if not self.n_wanting:
            return ()
        return (
            f"the search looked at {self.n_features} of {n_all} features; when all were asked for the "
            f"last time, {self.n_wanting} others beat the weakest feature of a component. They had "
            "their turn, as far as there was room, and nobody was asked again: more may want in. "
            "Data in memory, or route='data', which reads it many times, asks until none does",
        )


def fits_working_set(S: SampleGram, largest_size: int) -> bool:
    """Whether components of this size can be searched on a working set."""
    return min(S.n_features, PER_FEATURE * largest_size) <= S.room // 2


def search_among(
    S: SampleGram,
    wanted: Wanted,
    search: Callable[[Support, T | None], T],
    ask: Callable[[Support, T], Prices],
    n_pricings: int = N_PRICINGS,
) -> tuple[T, Looked]:
    """Search on a working set, bring in the features that want in, and search again.

    Parameters
    ----------
    S : SampleGram
        The data.
    wanted : Wanted
        What the working set is for.
    search : callable
        Of the features to look at and of what was found before, if anything.
    ask : callable
        What to ask all features, of the features looked at and what was found among them.
    n_pricings : int
        Passes at most after the first look.
    """
    features = _look_around(S, wanted)
    found = search(features, None)
    asked = wanting = 0
    while asked < n_pricings and features.size + wanted.closed.size < S.n_features:
        prices = ask(features, found)
        if not prices.sizes.size:
            break
        brought, wanting = price(S, prices, wanted.closed)
        asked += 1
        if not wanting or not brought.size:
            break
        features = S.known.features
        found = search(features, found)
    return found, Looked(features.size, asked, wanting)


def _look_around(S: SampleGram, wanted: Wanted) -> Support:
    """Read a first working set: one pass, where it was not read before."""
    size = min(S.n_features, max(FIRST_SIZE, PER_FEATURE * wanted.largest_size), S.room)
    if S.known.features.size < 0.8 * size or S.known.missing(wanted.always).size:
        if size == S.n_features:
            S.columns(np.arange(size))
        else:
            best = _first_look(S, size, wanted)
            S.remember(best.features, best.values, wanted.always)
    return S.known.features


def _first_look(S: SampleGram, size: int, wanted: Wanted) -> BestColumns:
    n_directions = min(N_DIRECTIONS, S.n_rows)
    leading = largest_eigenpairs(S.gram, n_directions)[1][:, ::-1]
    drawn = S.pilots / np.maximum(np.linalg.norm(S.pilots, axis=0), np.finfo(S.dtype).tiny)
    directions = np.hstack([leading, drawn]).astype(S.dtype)
    quotas = np.concatenate(
        [
            [size // 2],
            np.full(n_directions, max(1, size // 32)),
            np.full(drawn.shape[1], max(1, size // 128)),
        ]
    )
    asked = [np.setdiff1d(S.twins, wanted.closed)]
    if S.moments.scale is None:
        variance = S.diagonal()
        variance[wanted.closed] = 0
        asked.append(np.argsort(-variance, kind="stable")[: size // 4])
    named = np.union1d(wanted.always, np.concatenate(asked))
    return S.strips.fold(
        _stand_out,
        merge_best,
        S.centring,
        directions,
        n_directions,
        quotas,
        named,
        wanted.closed,
    )


def _stand_out(
    strip: Array,
    features: slice,
    centring: Centring,
    directions: Array,
    n_leading: int,
    quotas: Array,
    named: Support,
    closed: Support,
) -> BestColumns:
    worth = np.abs(centring.columns(strip).T @ directions).T
    energy = np.square(worth[:n_leading]).sum(axis=0)
    worth = np.vstack([energy, worth])
    worth[:, _inside(closed, features)] = -np.inf
    asked = np.zeros(strip.shape[1], dtype=bool)
    asked[_inside(named, features)] = True
    return BestColumns.of(strip, features.start, worth, asked, quotas)


def _inside(wanted: Support, features: slice) -> Any:
    """Places within a strip of those features it covers."""
    return wanted[(wanted >= features.start) & (wanted < features.stop)] - features.start


def price(S: SampleGram, prices: Prices, closed: Support) -> tuple[Support, int]:
    """Ask all features, one pass; bring in the columns of those that want in, or nearly do.

    Those that are known already, or ``closed``, are not asked.

    Returns
    -------
    brought : ndarray of int
        New features, whose columns are known now.
    wanting : int
        How many features outside the working set beat the weakest one kept somewhere.
    """
    known = S.known.features
    quotas = np.maximum(8, BROUGHT_IN * prices.sizes)
    most = min(MOST_BROUGHT_IN, S.room - known.size)
    quotas = (quotas * min(1.0, most / quotas.sum())).astype(np.intp)
    silent = np.union1d(known, closed)
    best = S.strips.fold(_beating, merge_best, S.centring, prices, silent, quotas)
    S.remember(best.features, best.values, known)
    return best.features, best.wanting


def _beating(
    strip: Array,
    features: slice,
    centring: Centring,
    prices: Prices,
    silent: Support,
    quotas: Array,
) -> BestColumns:
    covariances = (centring.columns(strip).T @ prices.scores.astype(strip.dtype)).T
    signed = prices.signed[:, None]
    worth = np.where(signed, covariances, np.abs(covariances)) / prices.weakest[:, None]
    worth[:, _inside(silent, features)] = -np.inf
    # A hair above one: rounding must not let a feature want in for ever.
    wanting = int((worth > 1.0 + 1e-4).any(axis=0).sum())
    worth[worth < NEARLY] = -np.inf
    asked = np.zeros(strip.shape[1], dtype=bool)
    return BestColumns.of(strip, features.start, worth, asked, quotas, wanting)
