"""Branch and bound with one and two processes: wall-clock seconds, and whether the answers agree.

``python -m benchmarks.processes`` on a machine with two idle cores; non-negative noise of ``--features``
features is split into ``--cases`` cases, about a minute for one process. Times are those of
``prove`` as a whole: the first bound, the starting of the other process, the check of the proof.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.text_table import table
from loadstone.certificates import Certificate, prove
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance
from loadstone.solvers.portfolio import Portfolio


def noise(n_features: int, seed: int) -> ExplicitCovariance:
    """The covariance of as many samples of noise as there are features."""
    X = np.random.default_rng(seed).standard_normal((n_features, n_features))
    return ExplicitCovariance(np.cov(X.T))


def same(one: Certificate, two: Certificate) -> bool:
    """Whether two certificates state and prove the same, to the last digit."""
    stated = one.upper_bound == two.upper_bound and one.n_nodes == two.n_nodes
    duals = [[d.pairing for case in c.cases for d in case.duals] for c in (one, two)]
    fixed = [np.concatenate([c.fixed_in, c.fixed_out]) for c in (one, two)]
    return bool(
        stated
        and np.array_equal(one.best_loading, two.best_loading)
        and np.array_equal(*fixed)
        and len(duals[0]) == len(duals[1])
        and all(np.array_equal(*pair) for pair in zip(*duals, strict=True))
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--n-nonzero", type=int, default=20)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=1)
    told = parser.parse_args()
    S = noise(told.features, told.seed)
    rule = LoadingConstraint(told.features, told.n_nonzero, nonnegative=True)
    w = Portfolio()(S, rule, np.random.default_rng(0)).matrix[:, 0]
    rows = []
    for _ in range(told.repeats):
        found, seconds = [], []
        for n_jobs in (1, 2):
            begun = time.perf_counter()
            found.append(prove(S, rule, w, effort="full", max_nodes=told.cases, n_jobs=n_jobs))
            seconds.append(time.perf_counter() - begun)
        ratio, agree = seconds[0] / seconds[1], "yes" if same(*found) else "NO"
        cells = [f"{x:.2f}" for x in (*seconds, ratio)]
        rows.append([str(found[0].n_nodes), *cells, f"{found[0].ratio:.4f}", agree])
    print(table(["cases", "1 process", "2 processes", "ratio", "certified", "same answer"], rows))


if __name__ == "__main__":
    main()
