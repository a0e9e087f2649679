"""The largest eigenvalues come out even where LAPACK's partial solver gives up."""

import numpy as np
import pytest
import scipy.linalg

from loadstone.covariance import symmetric


@pytest.mark.parametrize("fails", [False, True])
def test_largest_eigenpairs(monkeypatch, fails):
    A = np.cov(np.random.default_rng(0).standard_normal((20, 9)).T)
    expected = np.linalg.eigvalsh(A)
    if fails:

        def give_up(*args, **kwargs):
            raise scipy.linalg.LinAlgError

        monkeypatch.setattr(symmetric, "eigh", give_up)
    values, vectors = symmetric.largest_eigenpairs(A, 3)
    np.testing.assert_allclose(values, expected[-3:])
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-12)
    assert symmetric.largest_eigenvalue(A) == pytest.approx(expected[-1])
