"""Small data: what a fit costs beside its arithmetic, and what it may leave out."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

import loadstone
from loadstone import SparsePCA
from loadstone.covariance import ExplicitCovariance, leading_eigenpairs
from loadstone.covariance.checks import check_rows


def own_calls(fit):
    """How many functions of the package a fit calls."""
    root, n = str(Path(loadstone.__file__).parent), 0

    def count(frame, event, _):
        nonlocal n
        n += event == "call" and frame.f_code.co_filename.startswith(root)

    watching = sys.getprofile()
    sys.setprofile(count)
    try:
        fit()
    finally:
        sys.setprofile(watching)
    return n


def test_a_small_fit_is_not_made_of_calls():
    X = load_wine().data
    model = SparsePCA(3, standardize=True).fit(X)
    # On 13 features calls are all there is to pay for: there were 1900 once.
    assert own_calls(lambda: model.fit(X)) < 1050


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_that_are_ready_are_taken_as_they_are(dtype):
    X = np.random.default_rng(0).standard_normal((6, 4)).astype(dtype)
    assert check_rows(X) is X
    assert check_rows(np.asfortranarray(X)).flags.c_contiguous
    swapped = check_rows(X.astype(X.dtype.newbyteorder()))
    np.testing.assert_array_equal(swapped, X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_arrays_that_are_nearly_ready_are_refused(bad):
    X = np.ones((6, 4))
    X[2, 1] = bad
    with pytest.raises(ValueError, match="feature"):
        check_rows(X)
    X[:] = 1e308
    assert check_rows(X) is not None  # the sum overflows, no value does


def test_remembered_eigenvectors_cannot_be_changed_from_outside():
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((20, 6))
    S = ExplicitCovariance(Z.T @ Z)
    values, vectors = leading_eigenpairs(S, 2)
    values[:], vectors[:] = 0, 0
    expected = np.linalg.eigvalsh(S.matrix)[::-1]
    for rank in (1, 3, 6):
        values, vectors = leading_eigenpairs(S, rank)
        np.testing.assert_allclose(values, expected[:rank])
        np.testing.assert_allclose(S.matrix @ vectors, vectors * values, atol=1e-10)
