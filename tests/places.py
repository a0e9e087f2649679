"""Small fits of everything compiled and everything not; printed as digests, wherever they run.

python tests/places.py
"""

import hashlib
import sys
import warnings
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

import numpy as np

from registry import small_data


def _fits():
    """Every kind of search, compiled or not: estimators in their small setting, a proof, a path."""
    import loadstone
    from registry import settings

    for name in ("EMPCA", "NSPCA", "SparseNoisyPCA", "SparsePCA", "SparseProbabilisticPCA"):
        cls = getattr(loadstone, name)
        yield name, lambda X, cls=cls: cls(**settings(cls)[0][1]).fit(X)
    yield "proof", lambda X: loadstone.ExactSparsePCA(n_nonzero=3, nonnegative=True).fit(X)
    yield "path", lambda X: loadstone.cardinality_path(X, [1, 2, 5])


def digest(name):
    """A digest of all numbers of one fit, and every warning it gave."""
    X = small_data()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = dict(_fits())[name](X)
    numbers = found.values if name == "path" else found.components_
    content = np.ascontiguousarray(numbers, dtype=float)
    return hashlib.sha256(content.tobytes()).hexdigest()[:16], [str(w.message) for w in caught]


def digests():
    """Digest of every fit by name."""
    return {name: digest(name) for name, _ in _fits()}


if __name__ == "__main__":
    import json

    print(json.dumps(digests()))
