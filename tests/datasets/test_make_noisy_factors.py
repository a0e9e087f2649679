"""Simulated data has the loadings and the noise it says."""

import numpy as np
import pytest

from loadstone.datasets.make_noisy_factors import make_disjoint_factors, make_overlapping_shapes


@pytest.mark.parametrize(
    ("make", "noise"), [(make_disjoint_factors, 10.0), (make_overlapping_shapes, 5.0)]
)
def test_covariance_is_that_of_the_model(make, noise):
    X, G = make(40_000 if make is make_disjoint_factors else 4_000, random_state=0)
    S = X.T @ X / len(X)
    expected = G @ G.T + noise * np.eye(G.shape[0])
    error = np.abs(S - expected).max()
    assert error < 6 * expected.max() * np.sqrt(2 / len(X))
    np.testing.assert_array_equal(make(random_state=3)[0], make(random_state=3)[0])


def test_shapes_overlap():
    _, G = make_overlapping_shapes(n_samples=1)
    assert (G != 0).all(axis=1).sum() == 35
    cosine = G[:, 0] @ G[:, 1] / np.prod(np.linalg.norm(G, axis=0))
    assert cosine == pytest.approx(0.274, abs=1e-3)
    _, G = make_disjoint_factors(n_samples=1)
    np.testing.assert_allclose(G.T @ G, np.diag([200.0, 100.0]))
