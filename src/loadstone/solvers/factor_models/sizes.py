"""Numbers of components as people ask for them: one, several, any, or by held-out rows."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from loadstone.constraints.features import listed
from loadstone.covariance.protocol import Array
from loadstone.solvers.factor_models.samples import CompleteSamples, Samples

#: Most components of a search that chooses their number.
MAX_COMPONENTS = 20
#: Sizes in a row that may fail to pay before a search ends.
PATIENCE = 2
#: Features up to which the rank of the data is looked at, and what counts as rounding there.
SMALL = 200
RANK_DIGITS = 1e-7
ANY = "auto"
HELD_OUT = "cv"


def asked_sizes(n_components: Any) -> set[int] | None:
    """Numbers of components to choose from; ``None`` where any will do."""
    if isinstance(n_components, str) and n_components in (ANY, HELD_OUT):
        return None
    if isinstance(n_components, range):
        n_components = listed("n_components", n_components, MAX_COMPONENTS)
    sizes = np.unique(np.atleast_1d(np.asarray(n_components)))
    if sizes.size == 0 or sizes.dtype.kind not in "iu" or sizes[0] < 1:
        msg = (
            f"n_components={n_components!r} must be 'auto', 'cv', a number of components of at "
            "least 1, or several such numbers"
        )
        raise ValueError(msg)
    return {int(q) for q in sizes}


def ordered_size(n_components: Any) -> int | None:
    """The one number that was ordered, where it was one."""
    return int(n_components) if isinstance(n_components, Integral) else None


def missed_size(n_components: Any, found: int) -> int | None:
    """The number that was ordered; of several, the smallest that ``found`` falls short of, or is.

    ``None`` where any would do, or noise alone is better than all of several.
    """
    sizes = asked_sizes(n_components)
    if sizes is None or (not found and ordered_size(n_components) is None):
        return None
    return min((q for q in sizes if q >= found), default=max(sizes))


def most_components(samples: Samples) -> int:
    """Largest number of components that leaves room for noise."""
    limit = min(samples.n_features - 1, np.ceil(samples.n_samples) - 2)
    if samples.n_features <= SMALL:
        # Weights and copies make samples without making dimensions.
        d = samples.n_features
        sd = np.sqrt(samples.variance * samples.n_samples)
        correlations = samples.products(np.eye(d) / sd) / sd
        tol = d * _rounding_of(samples)
        rank = np.linalg.matrix_rank(correlations, tol=tol, hermitian=True)
        # Data of full rank is limited by its features alone.
        limit = limit if rank == d else min(limit, rank - 1)
    return int(max(0, limit))


def _rounding_of(samples: Samples) -> float:
    """Eigenvalues of correlations that may be rounding: in single precision they are larger."""
    if not isinstance(samples, CompleteSamples):
        return RANK_DIGITS
    return max(RANK_DIGITS, 64 * float(np.finfo(samples.covariance.dtype).eps))


def refuse_sizes(samples: Samples, wanted: set[int]) -> None:
    """Say why a number of components cannot be fitted."""
    limit = most_components(samples)
    if wanted and min(wanted) >= 0 and max(wanted) <= limit:
        return
    # Noise alone is compared with several numbers, and was not asked for.
    asked = sorted(wanted - {0})
    given = asked[0] if len(asked) == 1 else asked
    data = f"{samples.n_samples:g} samples of {samples.n_features} feature(s) that vary"
    if limit:
        msg = (
            f"n_components={given} must be from 1 to {limit}: in {data}, more reach the rank of the "
            "data and leave no noise; ask for fewer, or let the search choose"
        )
    else:
        msg = (
            f"n_components={given} is too many, and so is every other number: in {data}, one reaches "
            "the rank of the data and leaves no noise; SparsePCA needs none"
        )
    raise ValueError(msg)


def all_needed(tried: Array, found: int) -> tuple[str, ...]:
    """What to tell where the largest number a search goes to is the one it returns."""
    if found < MAX_COMPONENTS or tried.max(initial=0) > found:
        return ()
    return (
        f"all {found} components of the search are needed; give a range of numbers, "
        f"n_components=range(1, {2 * found}), to look for further ones",
    )
