"""From a path to a size, with the reason in a sentence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loadstone.covariance import Array
from loadstone.selection.path import CardinalityPath

RULES = ("knee", "variance", "sparseness_index")


class Suggestion(NamedTuple):
    """A size and why it was chosen."""

    n_nonzero: int
    reason: str

    def __int__(self) -> int:
        return self.n_nonzero


def suggest_cardinality(
    path: CardinalityPath, rule: str = "knee", *, share: float = 0.9
) -> Suggestion:
    """Choose a size from a path of variance against cardinality.

    Parameters
    ----------
    path : CardinalityPath
        As :func:`loadstone.cardinality_path` returns it.
    rule : {"knee", "variance", "sparseness_index"}, default="knee"
        ``"knee"``: where the gain per feature drops most, found by fitting a steep
        beginning and a straight end; the smallest size of a flat path, the largest of one
        without a drop. ``"variance"``: the smallest size with ``share`` of the variance of
        the largest one. ``"sparseness_index"``: the largest product of squared share of
        variance and share of zeros (Trendafilov 2014).
    share : float, default=0.9
        For ``"variance"``.

    Returns
    -------
    Suggestion
        ``n_nonzero`` and ``reason``.

    References
    ----------
    Trendafilov, N. T. (2014). From simple structure to sparse components: a review.
    Computational Statistics, 29, 431-454.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import cardinality_path, suggest_cardinality
    >>> path = cardinality_path(load_wine().data, standardize=True)
    >>> suggest_cardinality(path, "variance").n_nonzero
    8
    """
    if not isinstance(path, CardinalityPath):
        msg = (
            f"suggest_cardinality chooses from a path, not from a {type(path).__name__}; use "
            "suggest_cardinality(cardinality_path(X))"
        )
        raise TypeError(msg)
    if rule not in RULES:
        msg = f"rule={rule!r} must be one of {list(RULES)}"
        raise ValueError(msg)
    if len(path) < 2:
        msg = (
            f"the path has {len(path)} size, and a choice needs at least 2; give cardinality_path a "
            "longer n_nonzeros, or data with more features than one"
        )
        raise ValueError(msg)
    if rule == "variance":
        return _by_variance(path, share)
    return _by_index(path) if rule == "sparseness_index" else _by_knee(path)


def _by_variance(path: CardinalityPath, share: float) -> Suggestion:
    if not 0 < share <= 1:
        msg = f"share={share} must be in (0, 1]"
        raise ValueError(msg)
    index = int(np.argmax(path.values >= share * path.values[-1] * (1 - 1e-12)))
    size = int(path.n_nonzeros[index])
    reached = path.values[index] / path.values[-1]
    reason = (
        f"{size} features are the fewest that reach {share:.0%} of the variance of "
        f"{path.n_nonzeros[-1]} features ({reached:.1%})"
    )
    return Suggestion(size, reason)


def _by_index(path: CardinalityPath) -> Suggestion:
    n_features = path.covariance.n_features
    used = np.array([mask.sum() for mask in path.supports.masks()])
    index = path.ratio**2 * (1 - used / n_features)
    best = int(np.argmax(index))
    size = int(path.n_nonzeros[best])
    reason = (
        f"{size} features have the largest index of sparseness ({index[best]:.3f}): "
        f"{path.ratio[best]:.1%} of the variance of the first principal component with "
        f"{1 - used[best] / n_features:.1%} zeros"
    )
    return Suggestion(size, reason)


def _by_knee(path: CardinalityPath) -> Suggestion:
    sizes, values = path.n_nonzeros.astype(float), path.values
    first, last = int(path.n_nonzeros[0]), int(path.n_nonzeros[-1])
    if values[-1] - values[0] <= FLAT * abs(values[-1]):
        reason = f"{_features(last)} have no more variance than {first}: the path is flat"
        return Suggestion(first, reason)
    best = knee(sizes, values)
    # No features have no variance, so a path that begins at the knee is measured from there.
    start, floor = (0.0, 0.0) if best == 0 else (sizes[0], values[0])
    before = (values[best] - floor) / (sizes[best] - start)
    after = (values[-1] - values[best]) / (sizes[-1] - sizes[best])
    if before <= after * (1 + FLAT):
        reason = (
            f"there is no knee: each feature adds as much at the end of the path ({after:.4g}) as at "
            f"its beginning, so all {_features(last)} are worth having"
        )
        return Suggestion(last, reason)
    size = int(path.n_nonzeros[best])
    drop = f"{after:.4g}: {before / after:.1f} times less" if after > FLAT * before else "nothing"
    reason = (
        f"up to {_features(size)} each one more adds {before:.4g} to the variance on average, "
        f"beyond that {drop}"
    )
    return Suggestion(size, reason)


#: Relative gain below which a path, or its end, is flat.
FLAT = 1e-9


def _features(size: int) -> str:
    return "1 feature" if size == 1 else f"{size} features"


def knee(sizes: Array, values: Array) -> int:
    """Position where the steep beginning of a curve meets its flat end.

    Two straight lines give a first guess. Around it, up to three times its size, the
    beginning may bend: features enter in order of their loadings, so uneven loadings make
    it concave, and a straight line would end it too early.
    """
    if sizes.size < 3:
        return 0
    rough = _best_break(sizes, values, degree=1)
    end = max(int(np.searchsorted(sizes, ZOOM * sizes[rough], side="right")), MIN_POINTS)
    if end >= sizes.size:
        end = sizes.size
    return _best_break(sizes[:end], values[:end], degree=2) if end >= MIN_POINTS else rough


#: How far beyond the first guess the curve is looked at again.
ZOOM = 3.0
#: Fewest sizes to which a bent beginning and a straight end can be fitted.
MIN_POINTS = 6


def _best_break(sizes: Array, values: Array, degree: int) -> int:
    # Each size stands for the sizes around it, so that spacing does not matter.
    weight = np.sqrt(np.gradient(sizes))
    errors = [_misfit(sizes, values, weight, at, degree) for at in range(1, sizes.size - 1)]
    return 1 + int(np.argmin(errors))


def _misfit(sizes: Array, values: Array, weight: Array, at: int, degree: int) -> float:
    """Squared error of a line from ``at`` on and a polynomial before, joined there."""
    before = np.maximum(sizes[at] - sizes, 0) / sizes[-1]
    columns = [np.ones_like(sizes), sizes / sizes[-1], *(before**d for d in range(1, degree + 1))]
    design = np.column_stack(columns) * weight[:, None]
    target = values * weight
    residual = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    return float(residual @ residual)
