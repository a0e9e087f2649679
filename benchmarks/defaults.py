"""Several components by default: beside other rules of deflation, relations and efforts.

``python -m benchmarks.defaults [data ...] [--random 500]`` prints, for every data set, number of
components and size: the adjusted variance of the default and of every other rule as a share of the
best of them, what each recovers of what PCA recovers, CPU time with and without refinement, and
whether more freedom and more effort explain no less. ``--random`` asks the last question of as many
made-up problems.

What refinement costs is told twice: its climbs from the components found one after another, and all
of it. The difference is what keeps stricter relations from explaining more: their answers are
searched, and offered to the freer ones.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from itertools import pairwise, product

import numpy as np
from tests import real_data

from benchmarks.text_table import table
from loadstone import SparsePCA
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Covariance, covariance_of, leading_eigenpairs
from loadstone.extraction.orthogonality import Orthogonality
from loadstone.extraction.warm import warm_refine

SIZES, COUNTS = (3, 10, 30), (2, 3, 5, 10)
#: Every set is contained in the one before it.
RELATIONS, EFFORTS = ("none", "quasi", "strict", "disjoint"), ("thorough", "balanced", "fast")
RULES: dict[str, dict[str, object]] = {
    "projection": {"deflation": "projection", "refine": False},
    "orthogonalized": {"deflation": "orthogonalized_projection", "refine": False},
    "hotelling": {"deflation": "hotelling", "refine": False},
    "schur": {"refine": False},
    "projection, warm": {"deflation": "projection"},
    "default": {},
}


def _sklearn(name: str) -> np.ndarray:
    from sklearn import datasets

    return getattr(datasets, f"load_{name}")().data


DATA: dict[str, Callable[[], np.ndarray]] = {
    "wine": lambda: _sklearn("wine"),
    "breast_cancer": lambda: _sklearn("breast_cancer"),
    "diabetes": lambda: _sklearn("diabetes"),
    "digits": lambda: _sklearn("digits"),
    "lrs": lambda: real_data.arrays("lrs.npz")["X"],
    "cbcl": real_data.cbcl_faces,
    "nci60": real_data.nci60,
    "leukemia": real_data.leukemia,
}


class Run:
    """One fit: what it explains, recovers and costs."""

    def __init__(self, X: np.ndarray, repeats: int = 1, **asked: object) -> None:
        seconds = []
        for _ in range(repeats):
            start = time.process_time()
            model = SparsePCA(**asked).fit(X)
            seconds.append(time.process_time() - start)
        self.seconds, self.components = min(seconds), model.components_.T
        self.adjusted = float(model.explained_variance_ratio_.sum())
        self.recovered = float(model.recovered_variance_ratio_[-1])


def seconds_of_climbs(S: Covariance, W: np.ndarray, n_nonzero: int, repeats: int) -> float:
    """CPU time of climbs from the components where they are, and of nothing else."""
    constraints = [LoadingConstraint(S.n_features, n_nonzero=n_nonzero)] * W.shape[1]
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        warm_refine(S, W.astype(S.dtype), constraints, Orthogonality("none"))
        seconds.append(time.process_time() - start)
    return min(seconds)


def descends(values: list[float]) -> bool:
    """Whether no value is above the one before it."""
    return all(larger >= smaller * (1 - 1e-9) for larger, smaller in pairwise(values))


def of_pca(S: Covariance, n_components: int) -> float:
    """Share of the variance that as many principal components recover."""
    return float(leading_eigenpairs(S, n_components, 1e-6)[0].sum() / S.diagonal().sum())


def cells(name: str, options: argparse.Namespace) -> list[dict[str, object]]:
    X = np.asarray(DATA[name](), dtype=float)
    X = X[:, X.std(axis=0) > 0]
    S, _ = covariance_of(X, standardize=True)
    Run(X, n_components=2, n_nonzero=3, standardize=True)
    found = []
    for r, k in product(options.counts, options.sizes):
        if k >= X.shape[1]:
            continue
        asked = {"n_components": r, "n_nonzero": k, "standardize": True}
        # Repeated where it is quick, so that the ratio of two times means something.
        repeats = 1 if S.n_features > 1000 else 3
        rules = {rule: Run(X, repeats, **asked, **more) for rule, more in RULES.items()}
        default = rules["default"]
        related = [Run(X, **asked, orthogonality=kind) for kind in RELATIONS[1:]]
        efforts = [default, default]
        if options.efforts:
            efforts = [Run(X, **asked, effort=effort) for effort in ("thorough", "fast")]
        climbs = seconds_of_climbs(S, rules["schur"].components, k, repeats)
        best = max(run.adjusted for run in rules.values())
        found.append(
            {
                "cell": f"{name} r={r} k={k}",
                **{rule: run.adjusted / best for rule, run in rules.items()},
                "adjusted %": 100 * default.adjusted,
                "recovered, % of PCA": 100 * default.recovered / of_pca(S, r),
                "climbs": 1 + climbs / rules["schur"].seconds,
                "refined/not": default.seconds / rules["schur"].seconds,
                "none quasi strict disjoint, %": " ".join(
                    f"{100 * run.adjusted:.4f}" for run in (default, *related)
                ),
                "relations": descends([run.adjusted for run in (default, *related)]),
                "efforts": descends([run.adjusted for run in (efforts[0], default, efforts[1])]),
                "seconds": (default.seconds, rules["schur"].seconds, climbs),
            }
        )
        print(found[-1], flush=True)
    return found


def summary(found: list[dict[str, object]]) -> str:
    rows: list[list[object]] = []
    for rule in RULES:
        shares = [cell[rule] for cell in found]
        rows.append([rule, np.mean(shares), np.min(shares)])
    with_refinement, without, climbs = np.sum([cell["seconds"] for cell in found], axis=0)
    exceptions = [
        [cell["cell"] for cell in found if not cell[kind]] for kind in ("relations", "efforts")
    ]
    ratios: dict[str, list[tuple[float, float]]] = {}
    for cell in found:
        each = float(cell["climbs"]), float(cell["refined/not"])
        ratios.setdefault(str(cell["cell"]).split()[0], []).append(each)
    times = [[name, *np.mean(each, axis=0), *np.max(each, axis=0)] for name, each in ratios.items()]
    return (
        f"{table(['rule', 'adjusted / best, mean', 'worst'], rows)}\n"
        f"{table(['data', 'climbs, mean', 'all of it', 'climbs, worst', 'all of it'], times)}\n"
        f"CPU time with refinement / without, sum: {with_refinement / without:.3f}, "
        f"of its climbs alone: {1 + climbs / without:.3f}, "
        f"median of cells: {np.median([cell['refined/not'] for cell in found]):.3f}\n"
        f"exceptions among {len(found)} cells: relations {exceptions[0]}, efforts {exceptions[1]}"
    )


def random_problem(seed: int) -> tuple[np.ndarray, dict[str, object]]:
    """Data of any shape, with groups of features or without, and how to fit it."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 120)), int(rng.integers(4, 200 if seed % 5 == 0 else 50))
    X = rng.normal(size=(n, d)) * rng.uniform(0.3, 3.0, d)
    for _ in range(int(rng.integers(0, 4))):
        group = rng.random(d) < rng.uniform(0.1, 0.6)
        X[:, group] += rng.uniform(0.5, 3.0) * rng.normal(size=(n, 1))
    return X, {
        "n_components": int(rng.integers(2, 7)),
        "n_nonzero": int(rng.integers(1, min(d, 12) + 1)),
        "nonnegative": bool(rng.random() < 0.3),
        "standardize": bool(rng.random() < 0.5),
    }


def random_exceptions(n: int, first: int) -> None:
    relations, efforts = [], []
    for seed in range(first, first + n):
        X, asked = random_problem(seed)
        runs = {kind: Run(X, **asked, orthogonality=kind).adjusted for kind in RELATIONS}
        if not descends(list(runs.values())):
            relations.append(seed)
        kind = RELATIONS[seed % 4]
        values = [Run(X, **asked, orthogonality=kind, effort=e).adjusted for e in EFFORTS]
        if not descends(values):
            efforts.append(seed)
    print(f"{n} random problems: exceptions among relations {relations}, among efforts {efforts}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=list(DATA))
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="seed of the first random problem")
    parser.add_argument("--no-efforts", dest="efforts", action="store_false")
    parser.add_argument("--counts", type=int, nargs="*", default=COUNTS)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.random:
        random_exceptions(options.random, options.first)
        return
    found = [cell for name in options.data for cell in cells(name, options)]
    print(summary(found))


if __name__ == "__main__":
    main()
