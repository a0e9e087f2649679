"""The methods that are compared: ours, and those of others in Python and R."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.decomposition import SparsePCA as ScikitSparsePCA

from benchmarks.r_rivals import R_METHODS
from benchmarks.runner import Array, Method, Task
from loadstone import EMPCA, NSPCA, ElasticNetPCA, GreedyPCA, SparsePCA, ThresholdedPCA

#: scikit-learn codes features one by one; with more of them it is not run.
MOST_FEATURES = 1000


def ours(name: str, estimator: Any, **options: Any) -> Method:
    """An estimator of this package under the task's constraints."""

    def find(X: Array, task: Task) -> Array:
        asked = {"n_nonzero": task.n_nonzero, **options}
        if task.nonnegative and estimator is not NSPCA:
            asked["nonnegative"] = True
        model = estimator(task.n_components, standardize=False, **asked)
        return np.asarray(model.fit(X).components_, dtype=np.float64)

    return Method(name=name, find=find)


def scikit_learn(*, reoptimised: bool) -> Method:
    """scikit-learn's SparsePCA, its penalty bisected until the component has the size."""

    def find(X: Array, task: Task) -> Array:
        # The penalty at which the last loading vanishes, for components of unit norm.
        low, high = 0.0, float(np.linalg.norm(X, axis=0).max())
        best = np.eye(X.shape[1])[[int(np.argmax(X.var(axis=0)))]]
        for _ in range(12):
            middle = (low + high) / 2
            model = ScikitSparsePCA(1, alpha=middle, method="cd", random_state=0).fit(X)
            size = int(np.count_nonzero(model.components_))
            if 0 < size <= task.n_nonzero:
                best, high = model.components_, middle
            else:
                low, high = (middle, high) if size else (low, middle)
            if size == task.n_nonzero:
                break
        return on_support(X, best) if reoptimised else np.asarray(best)

    word = ", re-optimised" if reoptimised else ""
    return Method(name=f"scikit-learn SparsePCA{word}", find=find, refuses=_refused_by_scikit_learn)


def on_support(X: Array, components: Array) -> Array:
    """The best loadings of one component on its support."""
    support = np.flatnonzero(components[0])
    best = np.zeros_like(components, dtype=np.float64)
    best[0, support] = np.linalg.svd(X[:, support], full_matrices=False)[2][0]
    return best


def _refused_by_scikit_learn(X: Array, task: Task) -> str:
    if task.nonnegative or task.n_components > 1:
        return "scikit-learn's SparsePCA has no such constraint"
    if X.shape[1] > MOST_FEATURES:
        return f"not run with more than {MOST_FEATURES} features, which it codes one by one"
    return ""


def _abess(X: Array, task: Task) -> Array:
    from abess.decomposition import SparsePCA as AbessSparsePCA

    model = AbessSparsePCA(support_size=task.n_nonzero).fit(X, is_normal=False)
    return np.asarray(model.coef_, dtype=np.float64).reshape(X.shape[1], -1).T[:1]


def _refused_by_abess(X: Array, task: Task) -> str:
    if find_spec("abess") is None:
        return "abess is not installed: pip install abess"
    if task.nonnegative or task.n_components > 1:
        return "abess has no such constraint"
    return ""


ABESS = Method(name="abess SparsePCA", find=_abess, refuses=_refused_by_abess)
ONE_COMPONENT = (
    ours("SparsePCA", SparsePCA),
    ours("SparsePCA, fast", SparsePCA, effort="fast"),
    ours("EMPCA", EMPCA),
    ours("GreedyPCA", GreedyPCA),
    ours("ThresholdedPCA", ThresholdedPCA),
    ours("ElasticNetPCA, re-optimised", ElasticNetPCA, ridge=np.inf, renormalize=True),
    scikit_learn(reoptimised=False),
    scikit_learn(reoptimised=True),
    ABESS,
    *R_METHODS,
)
NONNEGATIVE = (
    ours("SparsePCA", SparsePCA),
    ours("SparsePCA, fast", SparsePCA, effort="fast"),
    ours("EMPCA", EMPCA),
    ours("NSPCA, cut to size", NSPCA),
    *(method for method in R_METHODS if method.name == "nsprcomp"),
)
#: Strictly orthogonal components.
_STRICT = {"orthogonality": "strict", "deflation": "projection"}
ORTHOGONAL = (
    ours("SparsePCA, refined", SparsePCA, refine="full", **_STRICT),
    ours("SparsePCA, one pass", SparsePCA, refine=False, **_STRICT),
    *(method for method in R_METHODS if method.name in {"msPCA", "nsprcomp"}),
)
