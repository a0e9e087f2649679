"""Eq. 20: the penalised M-step against a general solver, and what penalties do to components."""

import numpy as np
import pytest
from scipy.optimize import nnls

from loadstone import EMPCA
from loadstone.constraints import LoadingConstraint
from loadstone.extraction.orthogonality import Orthogonality
from loadstone.extraction.penalised_em import _m_step
from loadstone.extraction.plan import RefusedConstraintError


@pytest.mark.parametrize("alpha", [0.0, 0.3, 5.0, 1e4])
def test_the_m_step_is_the_quadratic_programme_of_the_paper(alpha):
    rng = np.random.default_rng(0)
    for _ in range(20):
        f, h = rng.standard_normal(9), 0.1 + rng.random()
        V = np.linalg.qr(np.abs(rng.standard_normal((9, 3))))[0]
        # h|w|^2 - 2 f'w + alpha |V'w|^2 as non-negative least squares.
        A = np.vstack([np.sqrt(h) * np.eye(9), np.sqrt(alpha) * V.T])
        w = nnls(A, np.concatenate([f / np.sqrt(h), np.zeros(3)]))[0]
        found = _m_step(f, h, V, alpha, LoadingConstraint(9, 9, nonnegative=True))
        np.testing.assert_allclose(found, w / np.linalg.norm(w), atol=1e-9)


def test_without_a_penalty_the_m_step_is_algorithm_2():
    f = np.array([3.0, -2.0, 1.0, 0.5])
    found = _m_step(f, 1.0, np.zeros((4, 1)), 7.0, LoadingConstraint(4, 2))
    np.testing.assert_allclose(found, np.array([2.0, -1.0, 0.0, 0.0]) / np.sqrt(5.0))


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(1).standard_normal((60, 20))


def cosines(model):
    W = np.abs(model.components_ @ model.components_.T)
    np.fill_diagonal(W, 0.0)
    return W.max()


def test_a_larger_alpha_drives_components_apart(X):
    found = [
        cosines(EMPCA(3, nonnegative=True, orthogonality="quasi", alpha=alpha).fit(X))
        for alpha in (0.3, 3.0, 1e5)
    ]
    assert found[0] > found[1] > found[2]
    assert found[-1] < 1e-4


@pytest.mark.parametrize("n_nonzero", [None, 6])
@pytest.mark.parametrize("angle", [60.0, 85.0])
def test_the_search_keeps_the_angle_with_the_least_penalty(X, n_nonzero, angle):
    model = EMPCA(
        3,
        n_nonzero=n_nonzero,
        nonnegative=True,
        orthogonality="quasi",
        alpha="search",
        min_angle=angle,
    ).fit(X)
    assert model.components_.shape == (3, 20)
    assert model.components_.min() >= 0
    assert (model.cardinality_ <= (n_nonzero or 20)).all()
    assert cosines(model) <= np.cos(np.deg2rad(angle)) + 1e-12
    # Least: with much less of it two of them come closer.
    assert cosines(model) > 0.8 * np.cos(np.deg2rad(angle))


@pytest.mark.parametrize("alpha", [0.0, "search"])
def test_a_penalty_that_keeps_nothing_apart_repeats_no_component(X, alpha):
    parameters = {"orthogonality": "quasi", "alpha": alpha, "min_angle": 0.0}
    model = EMPCA(4, n_nonzero=5, **parameters).fit(X)
    assert np.linalg.matrix_rank(model.components_, tol=1e-6) == len(model.components_)
    assert (model.explained_variance_ > 1e-6 * model.total_variance_).all()


def test_alpha_belongs_to_quasi_orthogonal_components_of_a_given_size(X):
    with pytest.raises(RefusedConstraintError, match="penalty of orthogonality='quasi'"):
        EMPCA(2, n_nonzero=3, alpha=1.0).fit(X)
    with pytest.raises(RefusedConstraintError, match="use alpha=None"):
        EMPCA(2, n_nonzero=3, alpha=1.0, orthogonality="quasi", forced=[0]).fit(X)
    assert Orthogonality("quasi", 60.0, "search").largest_cosine == pytest.approx(0.5)
    assert Orthogonality("quasi", 60.0, 2.0).largest_cosine == 1.0


def test_as_published_is_what_the_paper_ran(X):
    model = EMPCA.as_published(2, n_nonzero=3)
    assert (model.n_components, model.n_nonzero, model.tol, model.alpha) == (2, 3, 1e-3, None)
    assert EMPCA.as_published(orthogonality="quasi", nonnegative=True).alpha == "search"
    assert EMPCA.as_published(tol=1e-5).tol == 1e-5
