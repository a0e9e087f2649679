"""Folds as covariances: each is summed up once, and the others are merged for training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from loadstone.covariance import Array, ExplicitCovariance, SampleCovariance
from loadstone.covariance.checks import check_weights
from loadstone.covariance.lost_digits import LostDigitsError
from loadstone.covariance.route import MAX_GRAM_BYTES
from loadstone.covariance.scores import pseudo_inverse
from loadstone.estimators.reading import Reading, read_sample

#: Training and held-out rows.
Fold = tuple[Array, Array]


@dataclass(frozen=True)
class HeldOut:
    """One fold as a covariance, and the rest to train on.

    Attributes
    ----------
    train : Reading
        The rows outside the fold; merged, because subtracting costs digits.
    fold : SampleCovariance
        The rows held out.
    """

    train: Reading
    fold: SampleCovariance

    def second_moments(self) -> ExplicitCovariance:
        """Of the fold about the mean and in the scale of the training rows."""
        fold, moments = self.fold, self.train.moments
        unit = np.ones(fold.n_features) if moments.scale is None else moments.scale
        away = (fold.mean - moments.mean) + fold.mean_rest
        matrix = fold.scatter / fold.n_samples + np.outer(away, away)
        return ExplicitCovariance(matrix / np.outer(unit, unit), fold.n_samples)

    def share_explained(self, W: Array) -> float:
        """Share of the squared distances of the fold to the training mean in the span of ``W``.

        With ``M`` the second moments of the fold about that mean and ``B`` the pseudo-inverse
        of ``W``, that is ``tr(B' W'M W B) / tr(M)``.
        """
        fold, moments = self.fold, self.train.moments
        unit = np.ones(fold.n_features) if moments.scale is None else moments.scale
        away = (fold.mean - moments.mean) + fold.mean_rest
        V = W.astype(np.float64) / unit[:, None]
        shift = away @ V
        spread = V.T @ (fold.scatter @ V) + fold.n_samples * np.outer(shift, shift)
        squares = (fold.scatter.diagonal() + fold.n_samples * away**2) / unit**2
        total = float(squares.sum())
        back = pseudo_inverse(W.T)
        return float(np.sum((back.T @ back) * spread)) / total if total > 0 else 0.0


def read_in_folds(parts: Sequence[SampleCovariance], *, standardize: bool) -> Reading:
    """All rows, with every fold held out of them in place of ``rows``."""
    held_out = []
    for i, fold in enumerate(parts):
        others = merged([*parts[:i], *parts[i + 1 :]])
        held_out.append(HeldOut(read_sample(others, standardize=standardize), fold))
    return replace(read_sample(merged(parts), standardize=standardize), rows=tuple(held_out))


def merged(parts: Sequence[SampleCovariance]) -> SampleCovariance:
    """The covariance of the rows of all parts."""
    return reduce(SampleCovariance.merge, parts)


def are_covariances(X: Any) -> bool:
    """Whether ``X`` is a list of covariances, one for each fold or block of rows."""
    if not isinstance(X, list | tuple) or not X:
        return False
    kinds = [isinstance(part, SampleCovariance) for part in X]
    if any(kinds) and not all(kinds):
        odd = type(X[kinds.index(False)]).__name__
        msg = f"a list of SampleCovariance also holds a {odd}; give SampleCovariance.of(rows) for each"
        raise TypeError(msg)
    return all(kinds)


def part_of_rows(folds: Sequence[Fold], n_samples: int) -> Array | None:
    """The fold that holds out each row; ``None`` where folds do not share out the rows."""
    part = np.full(n_samples, -1)
    for fold, (train, test) in enumerate(folds):
        trained = np.zeros(n_samples, dtype=bool)
        trained[train] = True
        complete = len(train) == trained.sum() == n_samples - len(test)
        if not complete or trained[test].any() or (part[test] >= 0).any():
            return None
        part[test] = fold
    return part if (part >= 0).all() else None


def checked_folds(cv: Any, n_samples: int) -> list[Fold]:
    """Rows to train on and to hold out, of whatever scikit-learn takes for folds."""
    # Text has a method of that name as well.
    splitter = None if isinstance(cv, str | bytes) else check_cv(cv)
    folds = [] if splitter is None else list(splitter.split(np.empty(n_samples)))
    if not folds:
        msg = f"cv={cv!r} holds out nothing; give a number of folds, or some pairs of rows"
        raise ValueError(msg)
    return folds


def refuse_weightless(weights: Array | None, fold: Fold) -> None:
    """Raise where the samples of one side of a fold do not count."""
    if weights is None:
        return
    train, test = fold
    check_weights(weights[train], train)
    if not weights[test].any():
        msg = (
            f"a fold holds out {test.size} sample(s) that all have weight 0, so there is nothing to "
            "score; shuffle the folds, or drop samples of weight 0"
        )
        raise ValueError(msg)


def read_folds_of(
    rows: Any, folds: Sequence[Fold], sample_weight: Any, names: Any, *, standardize: bool
) -> Reading | None:
    """All rows with their folds from one pass; ``None`` where covariances of folds do not fit.

    Single-precision rows whose products lose their digits are read once more in double precision.
    """
    for exact in (False, True):
        parts = covariances_of_folds(rows, folds, sample_weight, exact=exact)
        if parts is None:
            break
        named = [replace(part, names=names) for part in parts]
        try:
            return read_in_folds(named, standardize=standardize)
        except LostDigitsError:
            if exact:
                raise
    return None


def covariances_of_folds(
    rows: Any, folds: Sequence[Fold], sample_weight: Any, *, exact: bool = False
) -> list[SampleCovariance] | None:
    """One covariance per fold in one pass, where folds share out the rows and these fit."""
    n_samples, n_features = rows.shape
    # A matrix for the fold, and one to train on.
    fits = 2 * 8 * len(folds) * n_features**2 <= MAX_GRAM_BYTES
    if not fits or n_features > n_samples or len(folds) < 2:
        return None
    part = part_of_rows(folds, n_samples)
    weights = check_weights(sample_weight, rows)
    if part is None:
        return None
    return SampleCovariance.of_parts(rows, weights, part, len(folds), exact=exact)
