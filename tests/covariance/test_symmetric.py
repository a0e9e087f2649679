"""The largest eigenvalues come out even where LAPACK's partial solver gives up."""

import numpy as np
import pytest
import scipy.linalg

from loadstone.covariance import symmetric
from loadstone.covariance.symmetric import leading_pair, leading_pairs, shifted_inverse


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("n", [9, symmetric.SMALL + 9])
def test_largest_eigenpairs(monkeypatch, n, fails):
    A = np.cov(np.random.default_rng(0).standard_normal((2 * n, n)).T)
    expected = np.linalg.eigvalsh(A)
    if fails:

        def give_up(*args, **kwargs):
            raise scipy.linalg.LinAlgError

        monkeypatch.setattr(symmetric, "eigh", give_up)
    values, vectors = symmetric.largest_eigenpairs(A, 3)
    np.testing.assert_allclose(values, expected[-3:])
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-12)
    assert symmetric.largest_eigenvalue(A) == pytest.approx(expected[-1])


@pytest.mark.parametrize("n", [1, 3, 5, 6, 30])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_leading_pairs_are_those_of_all_of_them(n, dtype):
    rng = np.random.default_rng(n)
    Z = rng.standard_normal((4, n + 3, n)).astype(dtype)
    stack = np.swapaxes(Z, 1, 2) @ Z
    values, vectors = leading_pairs(stack)
    eps = float(np.finfo(dtype).eps)
    for matrix, value, v in zip(stack, values, vectors, strict=True):
        assert value == pytest.approx(np.linalg.eigvalsh(matrix.astype(float))[-1], rel=40 * eps)
        np.testing.assert_allclose(matrix @ v, value * v, atol=200 * eps * value)
        alone, w = leading_pair(matrix)
        assert alone == pytest.approx(value, rel=40 * eps)
        assert abs(w @ v) == pytest.approx(1, abs=200 * eps)


def test_a_leading_pair_is_found_where_the_quick_solver_gives_up(monkeypatch):
    def gives_up(matrix, **_):
        return np.zeros(1), np.zeros((len(matrix), 1)), 0, None, 1

    monkeypatch.setitem(symmetric._SOLVERS, np.dtype(np.float64), gives_up)
    value, v = leading_pair(np.diag([1.0, 3.0, 2.0]))
    assert value == 3.0
    np.testing.assert_array_equal(np.abs(v), [0, 1, 0])


@pytest.mark.parametrize("shift", [1.0, 1e-6, 1e-30])
def test_a_shifted_inverse_is_positive(shift):
    v = np.array([3e5, 1e5, 2e5])
    gram = np.outer(v, v) + np.outer(v[::-1], v[::-1])
    inverse = shifted_inverse(gram, shift)
    assert (inverse.diagonal() > 0).all()
    if shift == 1.0:
        np.testing.assert_allclose(inverse @ (gram + np.eye(3)), np.eye(3), atol=1e-4)


def test_elimination_alone_would_not_be():
    gram = np.array([[1.0, 1.0 + 2e-16], [1.0 + 2e-16, 1.0]])
    assert (np.linalg.inv(gram + 1e-20 * np.eye(2)).diagonal() < 0).any()
    assert (shifted_inverse(gram, 1e-20).diagonal() > 0).all()
