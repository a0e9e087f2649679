"""Certified ratios and their cost, beside one dense eigendecomposition and the bounds of others.

Run ``python -m benchmarks.certificates`` for everything, or name sets, such as
``python -m benchmarks.certificates pitprops lrs``. The data sets are looked for in
``$LOADSTONE_DATA``, then in ``../shared/data`` beside the project. ``--time-limit`` is
for one certificate. Every certificate is verified before its line is printed.

The last columns are variance / bound of others: of the spannogram paper, computed here, and of
d'Aspremont et al. and of Li and Xie, as published (``published_bounds.py`` has the sources).
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.published_bounds import published_ratios
from benchmarks.spannogram_bound import probabilistic_bound
from loadstone.certificates import prove
from loadstone.certificates.certificate_value import problem_of
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Covariance, ExplicitCovariance, covariance_of, deflate
from loadstone.covariance.spectrum import leading_eigenpairs
from loadstone.solvers.portfolio import Portfolio
from loadstone.solvers.renormalise import renormalise


@dataclass(frozen=True)
class Case:
    """One problem of the table."""

    name: str
    S: Covariance
    n_nonzero: int
    nonnegative: bool
    effort: str


def folder() -> Path:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("LOADSTONE_DATA", beside))


def read(name: str, key: str = "X") -> np.ndarray:
    with np.load(folder() / name, allow_pickle=False) as stored:
        return stored[key].astype(float)


def pitprops() -> Iterator[Case]:
    S = ExplicitCovariance(read("pitprops.npz"))
    for nonnegative in (False, True):
        for k in range(1, 14):
            yield Case("pit props", S, k, nonnegative, "full")


def lrs() -> Iterator[Case]:
    S, _ = covariance_of(read("lrs.npz"), route="gram")
    for k in range(5, 95, 5):
        yield Case("LRS", S, k, True, "full")


def communities() -> Iterator[Case]:
    S = ExplicitCovariance(read("spca_correlations.npz", "communities_corr"))
    for k in (5, 10):
        yield Case("communities", S, k, False, "full")


def cbcl() -> Iterator[Case]:
    X = read("cbcl_faces.npz")
    raw, _ = covariance_of(X, route="gram")
    standardised, _ = covariance_of(X, route="gram", standardize=True)
    first = leading_eigenpairs(standardised, 1)[1][:, 0]
    off = deflate(standardised, first)
    everything = np.arange(off.n_features)
    explicit = ExplicitCovariance(off.block(everything, everything))
    for name, S in (("CBCL raw", raw), ("CBCL std", standardised), ("CBCL off PC1", explicit)):
        for k in (40, 100, 180):
            yield Case(name, S, k, True, "standard")
    yield Case("CBCL std", standardised, 100, False, "standard")


def leukemia() -> Iterator[Case]:
    X = read("leukemia_armstrong.npz")
    raw, _ = covariance_of(X)
    standardised, _ = covariance_of(X, standardize=True)
    for k in (5, 10, 20):
        yield Case("leukemia raw", raw, k, True, "full")
    for k in (50, 100, 200):
        yield Case("leukemia raw", raw, k, True, "standard")
    yield Case("leukemia std", standardised, 50, True, "standard")
    yield Case("leukemia std", standardised, 50, False, "standard")


SETS = {f.__name__: f for f in (pitprops, lrs, communities, cbcl, leukemia)}


def eigh_seconds(S: Covariance) -> float:
    """Time of one dense eigendecomposition; NaN where the matrix would not fit."""
    if S.n_features > 4000:
        return float("nan")
    everything = np.arange(S.n_features)
    matrix = S.block(everything, everything)
    begun = time.perf_counter()
    np.linalg.eigh(matrix)
    return time.perf_counter() - begun


def row(case: Case, time_limit: float | None) -> str:
    constraint = LoadingConstraint(case.S.n_features, case.n_nonzero, case.nonnegative)
    begun = time.perf_counter()
    found = Portfolio()(case.S, constraint, np.random.default_rng(0)).matrix[:, 0]
    loading, value = renormalise(case.S, found, constraint)
    searched = time.perf_counter() - begun
    instant = prove(case.S, constraint, loading, effort="instant")
    processor = time.process_time()
    certificate = prove(case.S, constraint, loading, effort=case.effort, time_limit=time_limit)
    processor = time.process_time() - processor
    certificate.verify(case.S)
    net = probabilistic_bound(case.S, problem_of(constraint), np.random.default_rng(0))
    verdict = "optimal" if certificate.is_optimal else ""
    if certificate.best_value > certificate.value * (1 + 1e-9):
        verdict = f"better found: x{certificate.best_value / certificate.value:.6f}"
    mode = ">=0" if case.nonnegative else "+-"
    others = published_ratios(case.name, case.n_nonzero, nonnegative=case.nonnegative)
    return (
        f"{case.name:<14}{mode:<4}{case.n_nonzero:>4}{value:>14.6g}{searched:>9.3f}"
        f"{eigh_seconds(case.S):>9.4f}{instant.ratio:>9.4f}{instant.seconds:>9.4f}"
        f"{certificate.ratio:>10.6f}{certificate.seconds:>9.2f}{processor:>9.2f}{certificate.n_nodes:>6}"
        f"{certificate.fixed_in.size:>6}{certificate.fixed_out.size:>7}"
        f"{value / net.value:>9.4f}{others[0]:>9.4f}{others[1]:>9.4f}  {verdict}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS), help=", ".join(SETS))
    parser.add_argument("--time-limit", type=float, default=180.0)
    arguments = parser.parse_args()
    print(
        f"{'data':<14}{'':<4}{'k':>4}{'variance':>14}{'search s':>9}{'eigh s':>9}{'instant':>9}"
        f"{'s':>9}{'certified':>10}{'s':>9}{'cpu s':>9}{'cases':>6}{'in':>6}{'out':>7}{'net *':>9}"
        f"{'DSPCA':>9}{'Li Xie':>9}"
    )
    for name in arguments.sets:
        for case in SETS[name]():
            print(row(case, arguments.time_limit), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"* probabilistic bound of the spannogram paper (d=3, eps=.1); DSPCA, Li Xie: published "
        f"relaxations, see published_bounds.py. Peak memory {peak:.2f} GiB."
    )


if __name__ == "__main__":
    main()
