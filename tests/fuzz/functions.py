"""Public functions: what estimators take they take, and what they say holds."""

from __future__ import annotations

import json

import numpy as np

from fuzz.properties import REFUSALS, is_a_sentence, require, told, unchanged
from loadstone import (
    SparsePCA,
    cardinality_path,
    certify,
    report,
    stability_selection,
    suggest_cardinality,
    summarise,
)


def path(given, chance):
    """Variance grows with the size, stays below its bound and below PCA."""
    options = {"nonnegative": bool(chance.integers(2)), "effort": "fast"}
    options["certify"] = "instant" if chance.integers(2) else False
    found = cardinality_path(given.X, standardize=bool(chance.integers(2)), **options)
    loose = 1e-4 if given.dense.dtype == np.float32 else 1e-8
    values = np.asarray(found.values, dtype=float)
    require(np.isfinite(values).all(), f"values {values}")
    require((np.diff(values) >= -loose * values.max()).all(), f"values fall: {values}")
    require((np.asarray(found.ratio) <= 1 + loose).all(), f"more than PCA: {found.ratio}")
    if options["certify"]:
        require((found.bounds >= values * (1 - loose)).all(), f"{found.bounds} below {values}")
    size = suggest_cardinality(found).n_nonzero
    require(size in found.n_nonzeros, f"suggested {size}")


def proof(given, chance):
    """A bound is no lower than the value, and holds again."""
    size = int(chance.integers(1, given.dense.shape[1] + 1))
    nonnegative = bool(chance.integers(2))
    found = certify(given.X, n_nonzero=size, nonnegative=nonnegative, effort="instant")
    require(np.isfinite([found.value, found.upper_bound]).all(), f"{found}")
    require(found.upper_bound >= found.value, f"{found.upper_bound} below {found.value}")
    n, d = given.dense.shape
    if n != d or not np.array_equal(given.dense, given.dense.T):
        # A symmetric table would be taken for a covariance.
        require(found.verify(given.X) <= found.upper_bound * (1 + 1e-9), "verify says more")


def stability(given, chance):
    """Frequencies are shares, and the selected are above the threshold."""
    model = SparsePCA(n_nonzero=1, effort="fast")
    found = stability_selection(model, given.X, n_subsamples=3, threshold=0.7)
    frequency = np.asarray(found.frequency)
    require(frequency.shape == (given.dense.shape[1],), f"{frequency.shape}")
    require(((frequency >= 0) & (frequency <= 1)).all(), f"{frequency}")
    require((frequency[found.selected] >= 0.7).all(), f"{found.selected}")
    require(0 <= found.max_false <= frequency.size, f"max_false {found.max_false}")


def summary(given, chance):
    """Plain numbers, all of them finite, and a page."""
    model = SparsePCA(2, n_nonzero=1, effort="fast").fit(given.X)
    json.dumps(summarise(model, given.X), allow_nan=False)
    page = report(model, given.X if chance.integers(2) else None).html
    require(page.rstrip().endswith("</html>"), "half a page")


FUNCTIONS = {
    "cardinality_path": path, "certify": proof, "stability_selection": stability, "report": summary,
}  # fmt: skip


def check_function(name, given):
    """``fitted`` or ``refused``; everything must hold either way."""
    before = given.dense.copy(), repr(given.parameters)
    try:
        with told():
            FUNCTIONS[name](given, np.random.default_rng(given.seed))
    except REFUSALS as error:
        is_a_sentence(error)
        unchanged(given, before)
        return "refused"
    unchanged(given, before)
    return "fitted"
