"""Numbers published or measured for the papers' data sets, at exactly n_nonzero features."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from loadstone import EMPCA, SparsePCA
from loadstone.covariance import covariance_of, leading_eigenpairs
from real_data import arrays, cbcl_faces, leukemia, nci60

pytestmark = pytest.mark.papers


def first_eigenvalue(X, *, standardize=True):
    return leading_eigenpairs(covariance_of(X, standardize=standardize)[0], 1)[0][0]


def ratio(model, X, top, **kwargs):
    return float(model.fit(X, **kwargs).marginal_variance_[0] / top)


@pytest.fixture(scope="module")
def faces():
    return cbcl_faces()


@pytest.fixture(scope="module")
def faces_off_first(faces):
    """Standardised faces projected off their first principal component."""
    Z = (faces - faces.mean(axis=0)) / faces.std(axis=0, ddof=1)
    values, vectors = np.linalg.eigh(np.corrcoef(faces.T))
    v = vectors[:, -1]
    return Z - np.outer(Z @ v, v), values[-2]


@pytest.mark.parametrize(
    ("k", "best"),
    [
        (5, 0.073257),
        (10, 0.131838),
        (20, 0.221968),
        (40, 0.337063),
        (100, 0.625482),
        (200, 0.886169),
    ],
)
def test_faces_signed(faces, k, best):
    top = first_eigenvalue(faces)
    for seed in (0, 3):
        model = SparsePCA(n_nonzero=k, standardize=True, random_state=seed)
        assert ratio(model, faces, top) >= best * (1 - 1e-4)


@pytest.mark.parametrize(
    ("k", "best"), [(10, 0.165709), (50, 0.424792), (100, 0.509869), (200, 0.563393)]
)
def test_faces_off_the_first_component_nonnegative(faces_off_first, k, best):
    X, top = faces_off_first
    for seed in (0, 4):
        model = SparsePCA(n_nonzero=k, nonnegative=True, random_state=seed)
        assert ratio(model, X, top) >= best * (1 - 1e-4)


@pytest.mark.parametrize(("k", "published"), [(50, 0.38860), (100, 0.62042), (200, 0.88409)])
def test_em_equals_the_published_algorithm(faces, k, published):
    model = EMPCA(n_nonzero=k, standardize=True)
    assert ratio(model, faces, first_eigenvalue(faces)) == pytest.approx(published, abs=1e-5)


@pytest.mark.parametrize(
    ("k", "rival"), [(10, 0.156658), (50, 0.414250), (100, 0.507715), (200, 0.563390)]
)
def test_em_nonnegative_with_restarts(faces_off_first, k, rival):
    X, top = faces_off_first
    model = EMPCA(n_nonzero=k, nonnegative=True)
    assert ratio(model, X, top) >= rival * (1 - 2e-3)


@pytest.mark.parametrize(
    ("nonnegative", "k", "best"),
    [
        (False, 10, 0.004324),
        (False, 50, 0.019980),
        (False, 500, 0.166597),
        (True, 10, 0.0043),
        (True, 50, 0.019857),
        (True, 100, 0.038127),
    ],
)
def test_leukemia(nonnegative, k, best):
    X = leukemia()
    model = SparsePCA(n_nonzero=k, standardize=True, nonnegative=nonnegative)
    assert ratio(model, X, first_eigenvalue(X)) >= best * (1 - 1e-4)


@pytest.mark.parametrize(("k", "best"), [(50, 0.041860), (100, 0.076607)])
def test_nci60(k, best):
    X = nci60()
    model = SparsePCA(n_nonzero=k, standardize=True)
    assert ratio(model, X, first_eigenvalue(X)) >= best * (1 - 1e-4)


PIT_PROPS = [
    1.000,
    1.954,
    2.475,
    2.937,
    3.406,
    3.771,
    3.996,
    4.069,
    4.139,
    4.173,
    4.208,
    4.218,
    4.219,
]


@pytest.mark.parametrize(("k", "optimum"), list(enumerate(PIT_PROPS, start=1)))
def test_pit_props(k, optimum):
    S = arrays("pitprops.npz")["X"]
    value = SparsePCA(n_nonzero=k).fit_covariance(S, 180).marginal_variance_[0]
    assert value == pytest.approx(optimum, abs=6e-4)


@pytest.mark.parametrize("k", [10, 13])
def test_pit_props_nonnegative(k):
    S = arrays("pitprops.npz")["X"]
    value = SparsePCA(n_nonzero=k, nonnegative=True).fit_covariance(S).marginal_variance_[0]
    assert value == pytest.approx(4.1441, abs=1e-4)


@pytest.mark.parametrize(("k", "optimum"), [(5, 3.43978), (10, 4.59429)])
def test_wine(k, optimum):
    """Proven optima of Bertsimas, Cory-Wright & Pauphilet (2022) (JMLR 23)."""
    S = np.corrcoef(load_wine().data.T)
    value = SparsePCA(n_nonzero=k).fit_covariance(S).marginal_variance_[0]
    assert value == pytest.approx(optimum, abs=1e-5)


@pytest.mark.parametrize(("k", "best"), [(5, 4.860548), (10, 8.823616)])
def test_communities(k, best):
    data = arrays("spca_correlations.npz")
    S = next(data[name] for name in data.files if data[name].shape == (101, 101))
    value = SparsePCA(n_nonzero=k).fit_covariance(S).marginal_variance_[0]
    assert value == pytest.approx(best, rel=1e-6)
