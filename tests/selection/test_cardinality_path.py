"""Paths of variance against cardinality: optimality, limits, and what they promise."""

import copy
import itertools

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from brute_force import best_of_one_sign_beside
from loadstone import SparsePCA, cardinality_path
from loadstone.covariance import covariance_of
from loadstone.selection.path import automatic_sizes, search_path
from real_data import arrays, cbcl_faces, leukemia, nci60


def grouped_data(seed, shape=(40, 12)):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal(shape)
    X[:, :5] += 1.5 * rng.standard_normal((shape[0], 1))
    X[:, 4:8] -= rng.standard_normal((shape[0], 1))
    return X


def brute_force(S, k, *, nonnegative):
    best = 0.0
    for size in range(1, k + 1):
        for support in itertools.combinations(range(len(S)), size):
            values, vectors = np.linalg.eigh(S[np.ix_(support, support)])
            # The optimum over non-negative vectors is a positive eigenvector of its support.
            for value, w in zip(values, vectors.T, strict=True):
                same_sign = (w >= -1e-12).all() or (w <= 1e-12).all()
                if not nonnegative or same_sign:
                    best = max(best, value)
    return best


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_every_size_is_optimal_on_small_problems(seed, nonnegative):
    X = grouped_data(seed, (30, 8))
    path = cardinality_path(X, nonnegative=nonnegative)
    S = np.cov(X.T)
    optimal = [brute_force(S, k, nonnegative=nonnegative) for k in path.n_nonzeros]
    np.testing.assert_allclose(path.values, optimal, rtol=1e-9)


def test_pit_props_path_is_the_published_optimum():
    published = [1.0, 1.954, 2.475, 2.937, 3.406, 3.771, 3.996, 4.069, 4.139, 4.173, 4.208, 4.218]
    path = cardinality_path(covariance=arrays("pitprops.npz")["X"])
    np.testing.assert_allclose(path.values, [*published, 4.219], atol=6e-4)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.booleans(), st.booleans())
def test_values_never_decrease_and_belong_to_their_supports(seed, nonnegative, wide, standardize):
    X = grouped_data(seed, (10, 25) if wide else (40, 12))
    path = cardinality_path(X, nonnegative=nonnegative, standardize=standardize, effort="fast")
    assert (np.diff(path.values) >= 0).all()
    Z = (X - X.mean(axis=0)) / (X.std(axis=0, ddof=1) if standardize else 1)
    S = np.cov(Z.T)
    assert path.ratio[-1] == pytest.approx(path.values[-1] / np.linalg.eigvalsh(S)[-1])
    for k, value, support in zip(path.n_nonzeros, path.values, path.supports, strict=True):
        w = path.loadings(k)
        assert support.size <= k
        assert set(np.flatnonzero(w)) <= set(support)
        assert w @ S @ w == pytest.approx(value, rel=1e-9)
        assert not nonnegative or w.min() >= 0


@pytest.mark.parametrize("shape", [(40, 12), (10, 25)])
def test_all_features_reach_pca(shape):
    X = grouped_data(3, shape)
    path = cardinality_path(X)
    assert path.n_nonzeros[-1] == shape[1]
    assert path.ratio[-1] == pytest.approx(1, rel=1e-12)


def test_data_and_covariance_give_the_same_path():
    X = grouped_data(1)
    data, route = cardinality_path(X), cardinality_path(X, route="data")
    matrix = cardinality_path(covariance=np.cov(X.T), n_samples=len(X))
    stored = cardinality_path(sparse.csr_array(X))
    for other in (route, matrix, stored):
        np.testing.assert_allclose(other.values, data.values, rtol=1e-10)


def test_single_precision_stays_and_agrees():
    X = grouped_data(2, (10, 25))
    path = cardinality_path(X.astype(np.float32))
    np.testing.assert_allclose(path.values, cardinality_path(X).values, rtol=1e-4)
    assert path.loadings(5).dtype == np.float32


@pytest.mark.parametrize("unit", [1e-30, 1e30])
@pytest.mark.parametrize("shape", [(12, 60), (80, 60)])
def test_unit_of_the_data_does_not_matter(unit, shape):
    X = grouped_data(4, shape)
    path = cardinality_path(X)
    np.testing.assert_allclose(cardinality_path(X * unit).ratio, path.ratio, rtol=1e-10)


def test_order_of_features_does_not_matter():
    X = grouped_data(5, (12, 30))
    turn = np.random.default_rng(0).permutation(30)
    path, turned = cardinality_path(X), cardinality_path(X[:, turn])
    np.testing.assert_allclose(turned.values, path.values, rtol=1e-10)
    assert set(turn[turned.supports[5]]) == set(path.supports[5])


@pytest.mark.parametrize("nonnegative", [False, True])
def test_estimator_is_a_fitted_sparse_pca(nonnegative):
    X = grouped_data(6)
    path = cardinality_path(X, standardize=True, nonnegative=nonnegative)
    model = path.estimator(4)
    fitted = SparsePCA(n_nonzero=4, standardize=True, nonnegative=nonnegative).fit(X)
    np.testing.assert_allclose(model.components_, fitted.components_, atol=1e-8)
    np.testing.assert_allclose(model.transform(X), fitted.transform(X), atol=1e-8)
    assert set(vars(fitted)) <= set(vars(model)) | {"orthogonality_violation_"}
    # One loading vector that is known already, whatever the search needed to find it.
    assert model.get_params() == fitted.get_params()
    assert model.n_iter_ == 1
    again = copy.deepcopy(path).estimator(4)
    np.testing.assert_array_equal(again.components_, model.components_)


def test_features_enter_in_the_order_of_the_supports():
    path = cardinality_path(grouped_data(7))
    sizes = path.entry_sizes()
    order = path.entry_order()
    assert sorted(order) == list(range(12))
    assert (np.diff(sizes[order]) >= 0).all()
    assert order[0] == path.supports[0][0]
    for feature, size in enumerate(sizes):
        first = next(i for i, support in enumerate(path.supports) if feature in support)
        assert path.n_nonzeros[first] == size


def test_certified_path_lies_below_its_bounds():
    X = grouped_data(8, (30, 8))
    path = cardinality_path(X, certify="instant")
    assert (path.bounds >= path.values * (1 - 1e-12)).all()
    assert (np.diff(path.bounds) >= 0).all()
    table = path.to_frame()
    assert table["certified_ratio"].iloc[-1] == pytest.approx(1)
    assert cardinality_path(X).bounds is None


@pytest.mark.parametrize("nonnegative", [False, True])
def test_recovered_is_what_a_regression_on_the_scores_explains(nonnegative):
    X = grouped_data(10, (40, 45))
    path = cardinality_path(X, nonnegative=nonnegative)
    Z = X - X.mean(axis=0)
    for size, share in zip(path.n_nonzeros, path.recovered, strict=True):
        y = Z @ path.loadings(int(size))
        missed = Z - np.outer(y, y @ Z) / (y @ y)
        assert share == pytest.approx(1 - np.sum(missed**2) / np.sum(Z**2))
    first = np.linalg.svd(Z, compute_uv=False)[0] ** 2 / np.sum(Z**2)
    assert path.pca_recovered == pytest.approx(first)
    assert (path.recovered <= first * (1 + 1e-9)).all()
    np.testing.assert_array_equal(path.to_frame()["recovered"], path.recovered)


def test_table_and_plot():
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    path = cardinality_path(grouped_data(9), certify="instant")
    assert list(path.to_frame()["n_nonzero"]) == list(range(1, 13))
    ax = path.plot(label="here")
    np.testing.assert_allclose(ax.lines[0].get_ydata(), path.ratio)
    assert len(ax.collections) == 1
    plt.close(ax.figure)


def test_constant_features_never_enter():
    X = grouped_data(10)
    X[:, 3] = 7.0
    with pytest.warns(UserWarning, match="constant"):
        path = cardinality_path(X)
    assert path.n_nonzeros[-1] == 12
    assert all(3 not in support for support in path.supports)


@pytest.mark.parametrize("bad", [[0, 3], [2, 13], [1.5], [], [True]])
def test_sizes_out_of_range_are_refused(bad):
    with pytest.raises(ValueError, match="n_nonzeros"):
        cardinality_path(grouped_data(0), bad)


def test_unsorted_sizes_are_sorted_and_told():
    with pytest.warns(UserWarning, match="sorted"):
        path = cardinality_path(grouped_data(0), [5, 2, 5])
    assert path.n_nonzeros.tolist() == [2, 5]


def test_other_bad_input():
    X = grouped_data(0)
    with pytest.raises(ValueError, match="either X or covariance"):
        cardinality_path()
    with pytest.raises(ValueError, match="effort"):
        cardinality_path(X, effort="heroic")
    with pytest.raises(ValueError, match="certify"):
        cardinality_path(X, certify="maybe")
    with pytest.raises(ValueError, match="nearest is 5"):
        cardinality_path(X, [2, 5]).estimator(6)


@pytest.mark.parametrize("n", [1, 10, 150, 151, 1000, 12582])
def test_automatic_sizes_span_everything(n):
    sizes = automatic_sizes(n)
    assert (sizes[0], sizes[-1]) == (1, n)
    assert (np.diff(sizes) > 0).all()
    assert sizes.size == n if n <= 150 else 150 <= sizes.size <= 160


@pytest.mark.papers
@pytest.mark.parametrize("nonnegative", [False, True])
def test_faces_match_a_thorough_search(nonnegative):
    X = cbcl_faces()
    sizes = [2, 5, 10, 20, 40, 70, 100, 150, 200, 300]
    path = cardinality_path(X, sizes, standardize=True, nonnegative=nonnegative)
    fresh = [
        SparsePCA(n_nonzero=k, standardize=True, nonnegative=nonnegative, effort="thorough")
        .fit(X)
        .marginal_variance_[0]
        for k in sizes[::3]
    ]
    assert (path.values[::3] >= np.array(fresh) * (1 - 1e-3)).all()


@pytest.mark.papers
@pytest.mark.parametrize(
    ("load", "sizes", "best"),
    [
        (nci60, [10, 20, 50, 100], [0.012288, 0.021238, 0.041860, 0.076607]),
        (leukemia, [10, 50, 100, 500], [0.004324, 0.019980, 0.038520, 0.166597]),
    ],
)
def test_genes_reach_the_best_known(load, sizes, best):
    path = cardinality_path(load(), sizes, standardize=True)
    np.testing.assert_allclose(path.ratio, best, rtol=1e-3)


@pytest.mark.papers
def test_nonnegative_faces_at_every_size():
    """Faces without their first component, where eigenvectors on a support change sign."""
    X = cbcl_faces()
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    first = np.linalg.eigh(X.T @ X)[1][:, -1]
    path = cardinality_path(X - np.outer(X @ first, first), range(1, 362), nonnegative=True)
    best = [0.165709, 0.424792, 0.509869, 0.563393]
    assert (path.ratio[[9, 49, 99, 199]] >= np.array(best) * (1 - 1e-3)).all()
    # One more feature adds little here; a step would show a size that was not reached.
    assert np.diff(path.ratio)[60:].max() < 0.006


def test_variances_at_the_edge_of_the_range_are_searched_without_overflow():
    X = grouped_data(0) * 3e74
    path = cardinality_path(X, [2, 5], nonnegative=True, effort="fast")
    usual = cardinality_path(grouped_data(0), [2, 5], nonnegative=True, effort="fast")
    np.testing.assert_allclose(path.values / 3e74 / 3e74, usual.values, rtol=1e-9)


def test_a_path_of_recovery_reaches_the_optimum_of_every_small_size():
    X = grouped_data(5, (30, 7))
    path = cardinality_path(X, objective="recovery")
    assert path.n_nonzeros.tolist() == [1, 2, 3, 4, 5, 7]
    S = np.cov(X, rowvar=False)
    for size, value in zip(path.n_nonzeros, path.values, strict=True):
        best = max(
            scipy.linalg.eigh((S @ S)[np.ix_(T, T)], S[np.ix_(T, T)], eigvals_only=True)[-1]
            for T in map(list, itertools.combinations(range(7), int(size)))
        )
        np.testing.assert_allclose(value, best, rtol=1e-9)
        model = path.estimator(int(size))
        np.testing.assert_allclose(
            model.recovered_variance_ratio_[-1], best / np.trace(S), rtol=1e-9
        )
    np.testing.assert_allclose(path.recovered, path.values / np.trace(S))


def test_a_path_of_recovery_rises_between_that_of_variance_and_pca():
    X = np.random.default_rng(8).standard_normal((40, 60)) * np.linspace(1, 3, 60)
    sizes = [1, 2, 4, 8, 16]
    path = cardinality_path(X, sizes, objective="recovery")
    variance = cardinality_path(X, sizes)
    assert (path.recovered >= variance.recovered * (1 - 1e-12)).all()
    assert (path.recovered <= path.pca_recovered * (1 + 1e-12)).all()
    assert (np.diff(path.values) >= 0).all()
    table = path.to_frame()
    np.testing.assert_allclose(table["recovered_variance"], path.values)
    wide = cardinality_path(sparse.csr_array(X), sizes, objective="recovery")
    np.testing.assert_allclose(wide.values, path.values, rtol=1e-9)


def test_a_path_of_recovery_of_one_sign_is_the_best_of_all_faces():
    X = np.random.default_rng(12).standard_normal((30, 6)) @ np.random.default_rng(13).random(
        (6, 6)
    )
    path = cardinality_path(X, objective="recovery", nonnegative=True)
    S = np.cov(X, rowvar=False)
    for size, value in zip(path.n_nonzeros, path.values, strict=True):
        supports = itertools.combinations(range(6), int(size))
        best = max(best_of_one_sign_beside(S @ S, S, T, None)[0] for T in supports)
        np.testing.assert_allclose(value, best, rtol=1e-7)
        assert (path.loadings(int(size)) >= 0).all()
    assert (np.diff(path.values) >= 0).all()


def test_bounds_of_a_path_of_recovery_are_refused():
    X = np.random.default_rng(9).standard_normal((20, 5))
    with pytest.raises(ValueError, match="bounds of the"):
        cardinality_path(X, objective="recovery", certify="instant")


@pytest.mark.parametrize("n_constant", [0, 1])
def test_all_features_that_vary_are_no_less_than_pca(n_constant):
    """The last size has nothing to choose: rounding aside it is PCA, which no ratio is below."""
    for seed in range(8):
        X = grouped_data(seed)[:, : 12 - n_constant]
        S, _ = covariance_of(np.column_stack([X, np.zeros((40, n_constant))]))
        closed = np.arange(12 - n_constant, 12)
        path = search_path(S, np.array([3, 12 - n_constant]), effort="fast", forbidden=closed)
        assert path.ratio[-1] >= 1.0
        top = np.linalg.eigvalsh(np.cov(X.T))[-1]
        np.testing.assert_allclose(path.values[-1], top, rtol=1e-12)


def test_a_path_of_a_covariance_alone_has_no_estimator():
    S, _ = covariance_of(grouped_data(0))
    path = search_path(S, np.array([2]), effort="fast")
    assert path.loadings(2).any()
    with pytest.raises(ValueError, match=r"use loadstone\.cardinality_path"):
        path.estimator(2)
