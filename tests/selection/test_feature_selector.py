"""Unsupervised feature selection by components and by entropy."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.metrics.cluster import pair_confusion_matrix
from sklearn.pipeline import make_pipeline

from loadstone import EMPCA, FeatureSelector, SparsePCA
from loadstone.solvers.entropy import entropy_contributions, entropy_ranking, svd_entropy
from real_data import arrays


def data(seed=0, shape=(30, 10)):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal(shape)
    X[:, 2:5] += 2 * rng.standard_normal((shape[0], 1))
    X[:, 6:8] += 1.5 * rng.standard_normal((shape[0], 1))
    return X


@pytest.mark.parametrize("nonnegative", [False, True])
def test_features_are_those_of_the_first_component(nonnegative):
    X = data()
    selector = FeatureSelector(3, nonnegative=nonnegative).fit(X)
    model = SparsePCA(n_nonzero=3, nonnegative=nonnegative).fit(X)
    np.testing.assert_array_equal(selector.get_support(), model.support_[0])
    np.testing.assert_array_equal(selector.transform(X), X[:, model.support_[0]])
    assert selector.ranking_[0] == np.abs(model.components_[0]).argmax()


@pytest.mark.parametrize("n_components", [1, 2])
def test_em_selects_the_features_of_the_published_components(n_components):
    X = data(5, (40, 12))
    selector = FeatureSelector(6, nonnegative=True, solver="em", n_components=n_components).fit(X)
    size, rule = 6 // n_components, "disjoint" if n_components > 1 else "none"
    model = EMPCA(n_components, n_nonzero=size, nonnegative=True, orthogonality=rule).fit(X)
    np.testing.assert_array_equal(selector.get_support(), model.support_.any(axis=0))


def test_union_of_components_has_the_size_asked_for():
    X = data()
    selector = FeatureSelector(5, n_components=2).fit(X)
    assert selector.get_support(indices=True).tolist() == [2, 3, 4, 6, 7]
    assert selector.n_features_to_select_ == 5


def test_fraction_names_pipelines_and_sparse_data():
    frame = pd.DataFrame(data(), columns=[f"gene{i}" for i in range(10)])
    selector = FeatureSelector(0.3).set_output(transform="pandas").fit(frame)
    assert list(selector.get_feature_names_out()) == ["gene2", "gene3", "gene4"]
    assert list(selector.transform(frame).columns) == ["gene2", "gene3", "gene4"]
    labels = make_pipeline(FeatureSelector(3), KMeans(2, n_init=1)).fit_predict(frame)
    assert labels.shape == (30,)
    stored = FeatureSelector(3).fit(sparse.csr_array(data()))
    np.testing.assert_array_equal(stored.get_support(), selector.get_support())


def entropy_by_definition(X):
    shares = np.linalg.svd(X, compute_uv=False) ** 2
    shares = shares / shares.sum()
    return -np.sum(shares * np.log(shares)) / np.log(min(X.shape))


@pytest.mark.parametrize("shape", [(12, 6), (6, 12)])
def test_entropy_contributions_by_definition(shape):
    X = np.random.default_rng(1).standard_normal(shape)
    assert svd_entropy(np.linalg.svd(X, compute_uv=False) ** 2) == pytest.approx(
        entropy_by_definition(X)
    )
    whole = entropy_by_definition(X)
    for i, contribution in enumerate(entropy_contributions(X)):
        without = X.copy()
        without[:, i] = 0
        values = np.linalg.svd(without, compute_uv=False) ** 2
        assert contribution == pytest.approx(whole - svd_entropy(values), abs=1e-10)


def test_forward_search_adds_the_highest_entropy():
    X = np.random.default_rng(2).standard_normal((6, 9))
    order, contributions = entropy_ranking(X, 4, "forward")
    assert order[0] == np.argmax(contributions)
    for step in range(1, 4):
        reached = [
            -np.inf
            if i in order[:step]
            else svd_entropy(
                np.linalg.eigvalsh(X[:, [*order[:step], i]] @ X[:, [*order[:step], i]].T)
            )
            for i in range(9)
        ]
        assert order[step] == np.argmax(reached)


@pytest.mark.parametrize("search", ["ranking", "forward"])
def test_entropy_selects_as_many_as_asked(search):
    selector = FeatureSelector(4, method="svd_entropy", entropy_search=search).fit(data())
    assert selector.get_support().sum() == 4
    with pytest.raises(TypeError, match="dense"):
        FeatureSelector(4, method="svd_entropy").fit(sparse.csr_array(data()))


@pytest.mark.parametrize("search", ["ranking", "forward"])
@pytest.mark.parametrize("standardize", [False, True])
def test_entropy_never_selects_a_constant_feature(search, standardize):
    X = data()
    with_constant = np.insert(X, 1, 5.0, axis=1)
    arguments = {"method": "svd_entropy", "entropy_search": search, "standardize": standardize}
    with pytest.warns(UserWarning, match=r"1 constant feature\(s\) are never selected: 1"):
        selector = FeatureSelector(4, **arguments).fit(with_constant)
    without = FeatureSelector(4, **arguments).fit(X)
    np.testing.assert_array_equal(np.delete(selector.support_, 1), without.support_)
    np.testing.assert_array_equal(np.delete(selector.scores_, 1), without.scores_)
    with (
        pytest.warns(UserWarning, match="1 constant"),
        pytest.warns(UserWarning, match="10 features selected, fewer than"),
    ):
        selector = FeatureSelector(11, **arguments).fit(with_constant)
    assert np.flatnonzero(~selector.support_).tolist() == [1]
    with pytest.raises(ValueError, match="none of the 3 feature"):
        FeatureSelector(2, **arguments).fit(np.ones((5, 3)))


@pytest.mark.parametrize("bad", [0, 11, 0.0, 1.5, -1, True])
def test_impossible_sizes_are_refused(bad):
    with pytest.raises(ValueError, match="n_features_to_select"):
        FeatureSelector(bad).fit(data())


def test_too_many_components_are_refused_and_short_selections_told():
    with pytest.raises(ValueError, match="n_components=4"):
        FeatureSelector(3, n_components=4).fit(data())
    X = np.column_stack([data()[:, 2], -data()[:, 2], data()[:, 2]])
    with pytest.warns(UserWarning, match="2 features selected"):
        FeatureSelector(3, nonnegative=True).fit(X)


def jaccard(labels, clusters):
    pairs = pair_confusion_matrix(labels, clusters)
    return pairs[1, 1] / (pairs[1, 1] + pairs[0, 1] + pairs[1, 0])


@pytest.mark.papers
def test_seventy_genes_cluster_leukemia_better_than_all():
    """Fig. 4 of Sigg & Buhmann (2008): single random starts of k-means."""
    stored = arrays("leukemia_armstrong.npz")
    X, y = np.log2(np.maximum(stored["X"], 20)), stored["y"]

    def mean_score(Z, n):
        runs = (KMeans(3, init="random", n_init=1, random_state=s).fit_predict(Z) for s in range(n))
        return np.mean([jaccard(y, run) for run in runs])

    with pytest.warns(UserWarning, match="430 constant"):
        chosen = FeatureSelector(70, nonnegative=True).fit_transform(X)
    assert mean_score(chosen, 100) >= 0.62
    assert mean_score(X, 15) < 0.58
