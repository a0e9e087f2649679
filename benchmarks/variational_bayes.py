"""Cost of one iteration of sparse probabilistic PCA.

Compared, in the same process and turn by turn, with NumPy's batched inverse of a stack of
(d, q, q) matrices of the same shape, which a straightforward implementation needs (and more),
and with one iteration of scikit-learn's FactorAnalysis, which has no sparsity prior.

Run: OPENBLAS_NUM_THREADS=1 python -m benchmarks.variational_bayes [folder with cmu_faces.npz and nci60.npz]
Without the data, random matrices of the same shapes are used.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
from sklearn.decomposition import FactorAnalysis
from sklearn.exceptions import ConvergenceWarning

from loadstone.covariance import covariance_of, leading_eigenpairs
from loadstone.solvers.variational_bayes.bound import BroadPriors
from loadstone.solvers.variational_bayes.latent import complete_observations
from loadstone.solvers.variational_bayes.missing import incomplete_observations
from loadstone.solvers.variational_bayes.priors import PRIORS
from loadstone.solvers.variational_bayes.start import probabilistic_start
from loadstone.solvers.variational_bayes.state import rotated, start_state, update
from loadstone.solvers.varimax import varimax

SHAPES = {"cmu_faces": (624, 960), "nci60": (64, 6830)}
N_LATENT = 20
N_TURNS = 15


def load(name):
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("../shared/data")
    path = folder / f"{name}.npz"
    if path.exists():
        return np.load(path, allow_pickle=False)["X"].astype(float), name
    rng = np.random.default_rng(0)
    n, d = SHAPES[name]
    X = rng.normal(size=(n, 30)) @ rng.normal(size=(30, d)) + rng.normal(size=(n, d))
    return X, f"random {n} x {d}"


def elapsed(function):
    """Processor time: with one thread it is what a quiet machine would take on the wall."""
    start = time.process_time()
    function()
    return time.process_time() - start


def turns(*functions):
    """Times of functions called in turn, so that a busy machine is busy for all of them."""
    for function in functions:
        function()
    return np.array([[elapsed(function) for function in functions] for _ in range(N_TURNS)])


def start(X, observations):
    S, _ = covariance_of(X)
    values, vectors = leading_eigenpairs(S, N_LATENT)
    W, noise = probabilistic_start(
        values / observations.unit**2, vectors, S.n_features, S.n_features
    )
    return varimax(W), noise


def factor_analysis_iteration(X):
    """Time of one iteration: the difference between long and short runs."""

    def run(n_iter):
        model = FactorAnalysis(N_LATENT, max_iter=n_iter, tol=0.0, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return elapsed(lambda: model.fit(X))

    return min(run(8) - run(3) for _ in range(3)) / 5


def rotation_time(observations, state, prior):
    def sweep():
        rotated(observations, state, prior, frozenset())

    return min(elapsed(sweep) for _ in range(2))


def one_data_set(name):
    X, label = load(name)
    S, _ = covariance_of(X)
    observations = complete_observations(S)
    W, noise = start(X, observations)
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(X.shape[1], N_LATENT, N_LATENT + 5))
    stack = np.eye(N_LATENT) + factor @ factor.transpose(0, 2, 1)
    broad = BroadPriors()
    print(f"{label}: {X.shape[0]} x {X.shape[1]}, q = {N_LATENT}")
    for prior_name, prior_class in PRIORS.items():
        prior = prior_class.start(W * W)
        state = start_state(observations, W, noise, prior, np.ones(W.shape, dtype=bool))
        for _ in range(3):
            state = update(observations, state, frozenset(), broad, prune=False)
        before = state

        def iteration(before=before):
            return update(observations, before, frozenset(), broad, prune=False)

        times = turns(iteration, lambda: np.linalg.inv(stack))
        ratio = np.median(times[:, 0] / times[:, 1])
        best = times.min(axis=0) * 1e3
        print(
            f"  {prior_name:17s} iteration {best[0]:7.2f} ms   batched inverse {best[1]:7.2f} ms"
            f"   ratio {best[0] / best[1]:.2f} (best of {N_TURNS}), {ratio:.2f} (median)"
        )
        sweep = rotation_time(observations, state, prior)
        tracemalloc.start()
        iteration()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(
            f"  {'':17s} rotation sweep {sweep * 1e3:.0f} ms, peak memory of an iteration"
            f" {peak / 2**20:.1f} MiB ((d, q, q) takes {stack.nbytes / 2**20:.1f} MiB)"
        )
    print(f"  FactorAnalysis    iteration {factor_analysis_iteration(X) * 1e3:7.2f} ms")


def missing_values():
    X, label = load("cmu_faces")
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    observations, means = incomplete_observations(X, np.ones(len(X)))
    W, noise = start(np.where(np.isnan(X), means, X), observations)
    prior = PRIORS["inverse_gaussian"].start(W * W)
    state = start_state(observations, W, noise, prior, np.ones(W.shape, dtype=bool))
    times = turns(lambda: update(observations, state, frozenset(), BroadPriors(), prune=False))
    print(f"{label}, 10 % missing: iteration {times.min() * 1e3:.1f} ms")


if __name__ == "__main__":
    for data_name in SHAPES:
        one_data_set(data_name)
    missing_values()
