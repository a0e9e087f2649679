"""NSPCA as users see it."""

import numpy as np
import pytest
from scipy import sparse

from loadstone import NSPCA
from real_data import arrays, leukemia


def parts(seed=0, n=80):
    """Three groups of features that vary together."""
    rng = np.random.default_rng(seed)
    X = 0.3 * rng.normal(size=(n, 12))
    for group in range(3):
        X[:, 4 * group : 4 * group + 4] += (3 - 0.5 * group) * np.abs(rng.normal(size=(n, 1)))
    return X


def test_parts_are_found_together():
    model = NSPCA(3, overlap_penalty=5.0).fit(parts())
    strong = model.components_ > 0.3
    np.testing.assert_array_equal(strong.sum(axis=0), 1)
    np.testing.assert_array_equal(strong.sum(axis=1), 4)
    assert (np.diff(model.marginal_variance_) <= 0).all()


def test_attributes_say_what_they_mean():
    X = parts(1)
    model = NSPCA(3, overlap_penalty=0.3, sparsity_penalty=0.1).fit(X)
    U = model.raw_components_.T
    assert model.departure_ == pytest.approx(np.linalg.norm(np.eye(3) - U.T @ U))
    W = model.components_
    assert model.overlap_ == pytest.approx(np.linalg.norm(np.eye(3) - W @ W.T))
    np.testing.assert_allclose(U / np.linalg.norm(U, axis=0), model.components_.T)
    S = np.cov(X.T)
    np.testing.assert_allclose(
        model.marginal_variance_, np.diag(model.components_ @ S @ model.components_.T)
    )
    assert model.explained_variance_.sum() <= np.linalg.eigvalsh(S)[-3:].sum()
    alpha, beta = model.penalties_
    assert alpha == pytest.approx(0.3 * np.linalg.eigvalsh(S)[-1])
    assert beta == pytest.approx(0.1 * np.linalg.eigvalsh(S)[-1] / np.sqrt(12))
    value = 0.5 * np.trace(U.T @ S @ U) - alpha / 4 * model.departure_**2 - beta * U.sum()
    scale = np.linalg.eigvalsh(S)[-1]
    assert model.objective_[0][-1] == pytest.approx(value / scale)
    np.testing.assert_allclose(
        model.score_correlation_, np.corrcoef(model.transform(X).T), atol=1e-10
    )


def test_penalties_do_what_they_say():
    X = parts(2)
    overlaps = [NSPCA(3, overlap_penalty=a).fit(X).overlap_ for a in (0.01, 0.1, 1.0, 10.0)]
    assert (np.diff(overlaps) < 0).all()
    sizes = [NSPCA(3, sparsity_penalty=b).fit(X).cardinality_.sum() for b in (0.0, 0.2, 0.6)]
    assert sizes[0] > sizes[-1]
    assert (np.diff(sizes) <= 0).all()


@pytest.mark.parametrize("scale", [1e-3, 255.0])
def test_scale_does_not_matter(scale):
    X = parts(3)
    one, other = (NSPCA(3, sparsity_penalty=0.1).fit(X * s) for s in (1.0, scale))
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-7)
    np.testing.assert_allclose(one.objective_[0], other.objective_[0], rtol=1e-9)


def test_paper_units_are_those_of_the_scatter_matrix():
    X = parts(4)
    model = NSPCA.from_paper_units(X, 50.0, 2.0, 3).fit(X)
    alpha, beta = np.array(model.penalties_) * (len(X) - 1)
    assert alpha == pytest.approx(50.0)
    assert beta == pytest.approx(2.0)
    assert model.n_components == 3
    with pytest.raises(ValueError, match="positive"):
        NSPCA.from_paper_units(X, 0.0)


def test_sizes_are_exact_where_asked_for():
    model = NSPCA(3, n_nonzero=[4, 3, 2]).fit(parts(5))
    np.testing.assert_array_equal(model.cardinality_, [4, 3, 2])
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
    assert model.components_.min() >= 0
    assert (model.raw_components_ > 0).sum() > 9


@pytest.mark.parametrize("route", ["gram", "data"])
def test_containers_and_routes_agree(route):
    X = np.where(parts(6, n=10) > 0.5, parts(6, n=10), 0.0)
    reference = NSPCA(2, tol=1e-12).fit(X)
    for data in (sparse.csr_array(X), sparse.csc_array(X), np.asfortranarray(X)):
        model = NSPCA(2, tol=1e-12, route=route).fit(data)
        np.testing.assert_allclose(model.components_, reference.components_, atol=1e-6)


def test_constant_features_are_never_used():
    X = parts(7)
    X[:, 5] = 3.0
    with pytest.warns(UserWarning, match="constant"):
        model = NSPCA(3, overlap_penalty=0.5).fit(X)
    assert not model.components_[:, 5].any()
    assert model.components_.shape == (3, 12)


def test_starts_can_be_random_or_given():
    X = parts(8)
    model = NSPCA(3).fit(X)
    again = NSPCA(3, init=model.raw_components_).fit(X)
    assert again.n_iter_ <= 2
    drawn = NSPCA(3, init="random", n_init=5).fit(X)
    assert drawn.objective_[0][-1] == pytest.approx(model.objective_[0][-1], rel=0.05)
    with pytest.raises(ValueError, match="one row per component"):
        NSPCA(3, init=np.ones((2, 12))).fit(X)
    with pytest.raises(ValueError, match="negative"):
        NSPCA(3, init=-np.ones((3, 12))).fit(X)


def test_penalties_too_strong_are_reported():
    X = parts(9)
    with pytest.raises(ValueError, match="lower it"):
        NSPCA(2, sparsity_penalty=1e6).fit(X)


def test_some_components_may_vanish_with_a_warning():
    S = np.diag([4.0, 1e-3, 1e-3, 1e-3])
    with pytest.warns(UserWarning, match="fewer than asked for"):
        model = NSPCA(3, overlap_penalty=0.05, sparsity_penalty=1.0).fit_covariance(S)
    assert model.n_components_ == 1


@pytest.mark.papers
@pytest.mark.parametrize(("alpha", "beta"), [(2e7, 0.0), (5e8, 0.0), (2e7, 2e6), (5e8, 2e6)])
def test_the_objective_rises_on_every_setting_of_the_paper(alpha, beta):
    X = arrays("cbcl_faces.npz")["X"].astype(float)
    model = NSPCA.from_paper_units(X, alpha, beta, 10).fit(X)
    assert (np.diff(model.objective_[0]) >= 0).all()
    assert model.n_components_ == 10


@pytest.mark.papers
def test_wide_data_is_fitted_without_its_covariance_matrix():
    import tracemalloc

    X = leukemia()
    NSPCA(1, max_iter=1, tol=1.0).fit(X[:, :100])
    tracemalloc.start()
    model = NSPCA(5, tol=1e-2, standardize=True).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.components_.shape == (5, 12582)
    assert peak < 100 * 2**20


def test_components_that_repeat_others_are_not_returned():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.warns(UserWarning, match="1 component\\(s\\) found, fewer than asked for"):
        model = NSPCA(2).fit(X[:, :1])
    np.testing.assert_array_equal(model.components_, [[1.0]])
    with pytest.warns(UserWarning, match="no more features vary"):
        model = NSPCA(3).fit(X)
    assert model.n_components_ == len(model.raw_components_) == 2
    assert (model.explained_variance_ > 0).all()


@pytest.mark.parametrize("norm", ["l1", "l0"])
def test_a_total_size_is_asked_for(norm):
    X = parts(5)
    model = NSPCA(3, n_nonzero_total=9, sparsity_norm=norm).fit(X)
    assert model.n_components_ == 3
    assert 6 <= model.cardinality_.sum() <= 9
    same = NSPCA(3, sparsity_penalty=model.sparsity_penalty_, sparsity_norm=norm).fit(X)
    np.testing.assert_array_equal(same.components_, model.components_)
    with pytest.raises(ValueError, match="n_nonzero_total"):
        NSPCA(3, n_nonzero_total=9, sparsity_penalty=0.1).fit(X)
    with pytest.raises(ValueError, match="so few non-zeros"):
        NSPCA(3, n_nonzero_total=1, overlap_penalty=1e-3).fit(np.repeat(X[:, :2], 3, axis=1))


@pytest.mark.parametrize("seed", [62, 133])
def test_rounding_is_no_loading(seed):
    rng, other = np.random.default_rng(seed), np.random.default_rng(seed + 1000)
    X = rng.standard_normal((6, 4)) @ other.standard_normal((4, 4))
    W = NSPCA(3).fit(X).components_
    # Sweeps left 1e-17 where a zero belongs, which counted as a feature.
    assert W[W > 0].min() > 1e-12
