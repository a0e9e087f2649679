"""The expected squared error, where rounding leaves less than nothing of it."""

import numpy as np
import pytest

from loadstone.solvers.variational_bayes.bound import BroadPriors, half_squared_error, update_noise
from loadstone.solvers.variational_bayes.gaussian_rows import pack, point_rows
from loadstone.solvers.variational_bayes.latent import Latent


@pytest.mark.parametrize("keep_moments", [False, True])
@pytest.mark.parametrize("lost", [0.0, 0.01])
def test_an_exact_fit_leaves_no_negative_error(lost, keep_moments):
    """Scores that explain all: the sum of squares is short by what single precision lost."""
    rng = np.random.default_rng(0)
    W, X = rng.normal(size=(6, 2)), rng.normal(size=(15, 2))
    T, second = X @ W.T, X.T @ X
    latent = Latent(
        cross=T.T @ X,
        second=np.tile(pack(second)[:, None], (1, 6 if keep_moments else 1)),
        total=second,
        log_determinant=0.0,
        centred_square=float((T**2).sum()) - lost,
        location=np.zeros(6),
        location_variance=np.full(6, 1e-6),
    )
    counts = np.full(6, 15.0)
    error = half_squared_error(latent, point_rows(W, keep_moments=keep_moments), counts)
    # What is left is the doubt about the mean alone.
    assert error == pytest.approx(0.5 * 90 * 1e-6, abs=1e-12)
    assert update_noise(error, counts, BroadPriors()).precision > 0
