"""Stability selection: which features are chosen again and again on halves of the data.

References
----------
Meinshausen, N., & Buehlmann, P. (2010). Stability selection. Journal of the Royal
Statistical Society B, 72(4), 417-473.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state

from loadstone.blas_threads import in_parallel
from loadstone.covariance import Array, SampleCovariance
from loadstone.covariance.checks import check_rows, check_weights
from loadstone.covariance.containers import is_dask
from loadstone.covariance.dask_rows import refuse_unknown_lengths
from loadstone.covariance.opened import feature_names, is_dask_frame
from loadstone.covariance.route import MAX_GRAM_BYTES
from loadstone.estimators.base import FitMixin, seeded
from loadstone.estimators.found import Task
from loadstone.selection.folds import are_covariances, merged

#: Fewer blocks have too few different halves.
MIN_BLOCKS = 8
#: Nobody waits for more fits.
MAX_SUBSAMPLES = 100_000
#: Blocks that the rows of a Dask array are dealt out to.
MAX_BLOCKS = 64


@dataclass(frozen=True)
class StabilitySelection:
    """How often each feature was chosen, and what that proves.

    Attributes
    ----------
    frequency : ndarray of shape (n_features,)
        Share of the subsamples on which any component uses the feature.
    threshold : float
        Frequency from which a feature counts as stable.
    selected : ndarray of int
        Stable features, the most frequent first.
    n_chosen : float
        Average number of features chosen on a subsample (q in the paper).
    max_false : float
        Bound ``q^2 / ((2 threshold - 1) n_features)`` on the expected number of falsely
        selected features (Theorem 1); at most ``n_features``, beyond which it says nothing.
    n_subsamples : int
        Number of subsamples.
    feature_names : ndarray of str or None
        Names of the features, where the data has them.
    """

    frequency: Array
    threshold: float
    selected: Array
    n_chosen: float
    max_false: float
    n_subsamples: int
    feature_names: Array | None = None

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per feature, the most frequent first."""
        try:
            import pandas as pd
        except ImportError as error:
            msg = "to_frame needs pandas; install it with: pip install pandas"
            raise ImportError(msg) from error
        order = np.argsort(-self.frequency, kind="stable")
        names = self.feature_names
        labels = [f"x{i}" for i in order] if names is None else np.asarray(names)[order]
        # Binomial error of a share of independent subsamples.
        deviation = np.sqrt(self.frequency * (1 - self.frequency) / self.n_subsamples)
        return pd.DataFrame(
            {
                "feature": labels,
                "index": order,
                "frequency": self.frequency[order],
                "standard_error": deviation[order],
                "stable": self.frequency[order] >= self.threshold,
            }
        )


def stability_selection(
    estimator: Any,
    X: Any,
    *,
    n_subsamples: int = 100,
    threshold: float = 0.6,
    sample_weight: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> StabilitySelection:
    """How often each feature is chosen when an estimator is fitted to halves of the data.

    Parameters
    ----------
    estimator : object
        With ``fit`` and, once fitted, ``components_`` (features with a non-zero loading in
        any component count as chosen) or ``get_support``.
    X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
        Data. The rows of a Dask array are dealt out to up to 64 blocks at random, whose
        covariances take one pass, and halves of the blocks are drawn. Or a list of at least 8
        :class:`SampleCovariance`, one for each block of rows, of about the same size and in no
        particular order, of which halves are drawn as well.
    n_subsamples : int, default=100
        Random halves of the samples, drawn without replacement.
    threshold : float, default=0.6
        Frequency in (0.5, 1] from which a feature is selected.
    sample_weight : array-like of shape (n_samples,), optional
        How many samples each row stands for; halves are halves of the rows.
    random_state : int, RandomState instance or None, default=0
        Seed of the subsamples.
    n_jobs : int or None, default=None
        Fits in parallel, by joblib, with one BLAS thread each.

    Returns
    -------
    StabilitySelection

    Notes
    -----
    The error bound assumes that the false features are exchangeable and that the method
    is no worse than guessing (Theorem 1 of the paper); it is an expectation.

    References
    ----------
    Meinshausen, N., & Buehlmann, P. (2010). Stability selection. Journal of the Royal
    Statistical Society B, 72(4), 417-473.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import SparsePCA, stability_selection
    >>> model = SparsePCA(n_nonzero=3, standardize=True, effort="fast")
    >>> result = stability_selection(model, load_wine().data, n_subsamples=20)
    >>> result.selected
    array([ 5,  6, 11])
    """
    rng = check_random_state(random_state)
    if is_dask(X) or is_dask_frame(X):
        X, sample_weight = _dealt_out(X, sample_weight, rng), None
    by_blocks = _are_blocks(X, estimator, sample_weight)
    ours = isinstance(estimator, FitMixin)
    rows = check_rows(X, allow_nan=True) if ours and not by_blocks else X
    names = X[0].names if by_blocks else feature_names(X)
    n_samples = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    _check(n_samples, n_subsamples, threshold)
    choose: Callable[..., Array] = _elsewhere
    X = rows
    if isinstance(estimator, FitMixin):
        estimator.check_parameters()
        choose = _searched
    weights = None if by_blocks else check_weights(sample_weight, X)
    halves = (rng.permutation(n_samples)[: n_samples // 2] for _ in range(n_subsamples))
    calls = ((estimator, X, weights, half, names) for half in halves)
    # As whole numbers, whose sum is the same in any order.
    counts = sum(chosen.astype(np.int64) for chosen in in_parallel(choose, calls, n_jobs))
    frequency = np.asarray(counts) / n_subsamples
    order = np.argsort(-frequency, kind="stable")
    q = float(frequency.sum())
    return StabilitySelection(
        frequency,
        threshold,
        order[frequency[order] >= threshold],
        q,
        min(q**2 / ((2 * threshold - 1) * frequency.size), float(frequency.size)),
        n_subsamples,
        names,
    )


def _dealt_out(X: Any, sample_weight: Any, rng: np.random.RandomState) -> list[SampleCovariance]:
    """Covariances of blocks of rows drawn at random, as many as fit; one pass."""
    names, rows = feature_names(X), check_rows(X)
    refuse_unknown_lengths(rows)
    n_samples, n_features = rows.shape
    if n_features > n_samples:
        msg = (
            f"X is a Dask array with more features ({n_features}) than samples ({n_samples}), of "
            "which no covariances are formed; select features first, or use X.compute() where it fits"
        )
        raise TypeError(msg)
    if n_samples < 2 * MIN_BLOCKS:
        msg = (
            f"X is a Dask array of {n_samples} samples, and its rows are dealt out to at least "
            f"{MIN_BLOCKS} blocks of two; use X.compute(), of which single rows are drawn"
        )
        raise ValueError(msg)
    n_blocks = min(MAX_BLOCKS, MAX_GRAM_BYTES // (8 * n_features**2), n_samples // 2)
    if n_blocks < MIN_BLOCKS:
        msg = (
            f"X is a Dask array of {n_samples} samples and {n_features} features, of which "
            f"{n_blocks} blocks fit into {MAX_GRAM_BYTES >> 20} MiB, and at least {MIN_BLOCKS} are "
            "needed; select features first, or use X.compute() where it fits"
        )
        raise MemoryError(msg)
    block = rng.permutation(np.arange(n_samples) % n_blocks)
    weights = check_weights(sample_weight, rows)
    parts = SampleCovariance.of_parts(rows, weights, block, n_blocks, exact=False)
    return [replace(part, names=names) for part in parts]


def _are_blocks(X: Any, estimator: Any, sample_weight: Any) -> bool:
    """Whether covariances of blocks stand for the rows; a sentence where they cannot."""
    if isinstance(X, SampleCovariance):
        msg = (
            "a single SampleCovariance cannot be halved; give a list of them, one for each block of "
            "rows, at least 8"
        )
        raise TypeError(msg)
    if not are_covariances(X):
        return False
    if sample_weight is not None:
        msg = "sample_weight weighs rows; give the weights to SampleCovariance.of for each block"
        raise ValueError(msg)
    if not isinstance(estimator, FitMixin):
        msg = f"{type(estimator).__name__} takes no SampleCovariance; give it rows"
        raise TypeError(msg)
    if len(X) < MIN_BLOCKS:
        msg = f"{len(X)} blocks have too few halves; give at least {MIN_BLOCKS}, or the rows"
        raise ValueError(msg)
    return True


def _check(n_samples: int, n_subsamples: int, threshold: float) -> None:
    if not 0.5 < threshold <= 1:
        msg = f"threshold={threshold} must be in (0.5, 1]: the error bound holds only there"
        raise ValueError(msg)
    if not 1 <= n_subsamples <= MAX_SUBSAMPLES:
        msg = (
            f"n_subsamples={n_subsamples} must be between 1 and {MAX_SUBSAMPLES}; each is a fit, "
            "and 100 tell frequencies apart by 0.05"
        )
        raise ValueError(msg)
    if n_samples < 4:
        msg = (
            f"{n_samples} sample(s) cannot be halved into samples that vary; at least 4 are needed"
        )
        raise ValueError(msg)


def _searched(
    estimator: FitMixin, rows: Any, weights: Array | None, half: Array, names: Array | None
) -> Array:
    """The features an estimator of this package chooses on some of the samples."""
    blocks = isinstance(rows, list | tuple)
    part = merged([rows[i] for i in half]) if blocks else _safe_indexing(rows, half)
    data = replace(estimator._read(part, None if weights is None else weights[half]), names=names)
    return estimator._answer(Task(data, seeded(estimator.random_state))).chosen


def _elsewhere(
    estimator: Any, X: Any, weights: Array | None, half: Array, names: Array | None
) -> Array:
    """The features any other estimator chooses, as far as it tells."""
    given = {} if weights is None else {"sample_weight": weights[half]}
    model = clone(estimator).fit(_safe_indexing(X, half), **given)
    if hasattr(model, "components_"):
        return np.asarray((np.asarray(model.components_) != 0).any(axis=0))
    if hasattr(model, "get_support"):
        return np.asarray(model.get_support())
    msg = f"{type(model).__name__} has neither components_ nor get_support after fit"
    raise TypeError(msg)
