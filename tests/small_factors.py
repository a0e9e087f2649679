"""Small data behind the tests of the rounds, and scores that are known without doubt."""

import numpy as np

from loadstone.covariance import covariance_of
from loadstone.solvers.factor_models.rounds import update
from loadstone.solvers.factor_models.samples import Scores, samples_of
from loadstone.solvers.variational_bayes.missing import incomplete_observations


def small_data(seed=0, n=25, d=7, holes=0.0):
    """Two strong factors on all features, noise 1, mean 3."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) * 2 + rng.normal(size=(n, d)) + 3
    X[rng.random(X.shape) < holes] = np.nan
    return X


def samples_from(X):
    """Complete samples, or samples with holes."""
    if np.isnan(X).any():
        return samples_of(incomplete_observations(X, np.ones(len(X)))[0])
    return samples_of(covariance_of(X)[0])


def bounds_along(samples, state, n_rounds, *, learn=True):
    """Bounds (rounds, models) after every round, and the last state."""
    bounds = []
    for n in range(n_rounds):
        state = update(samples, state, learn=learn and n % 5 == 0)
        bounds.append(state.bound)
    return np.array(bounds), state


def known_scores(x, t):
    """What scores ``x`` say of one feature ``t``."""
    return Scores(
        cross=np.full((1, 1, 1), x @ t),
        second=np.full((1, 1, 1, 1), x @ x),
        total=np.full((1, 1, 1), x @ x),
        log_determinant=np.zeros(1),
        square=np.full((1, 1), t @ t),
        location=np.zeros((1, 1)),
        explained=np.zeros(1),
    )
