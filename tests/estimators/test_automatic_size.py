"""n_nonzero="auto": the smallest size that recovers most of what PCA recovers."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from loadstone import SparsePCA, load_model, save_model
from loadstone.constraints import Groups, LoadingConstraint
from loadstone.extraction import Orthogonality
from loadstone.extraction.size import ladder_for, size_ladder


def share_of_pca(X, model):
    """What least squares on the scores recovers, over the sum of the largest eigenvalues."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    T = Z @ model.components_.T
    fitted = T @ np.linalg.lstsq(T, Z, rcond=None)[0]
    top = np.linalg.svd(Z, compute_uv=False)[: len(model.components_)]
    return np.sum(fitted**2) / np.sum(top**2)


@pytest.mark.parametrize(("load", "size"), [(load_wine, 2), (load_breast_cancer, 4)])
@pytest.mark.parametrize("target", [0.9, 0.8])
def test_the_size_reaches_the_target_and_the_next_smaller_one_does_not(load, size, target):
    X = load().data
    model = SparsePCA(3, standardize=True, target=target).fit(X)
    assert (model.cardinality_ == model.n_nonzero_).all()
    assert share_of_pca(X, model) >= target - 0.01
    if target == 0.9:
        assert model.n_nonzero_ == size
    smaller = model.size_path_["n_nonzero"] < model.n_nonzero_
    assert (model.size_path_["share_of_pca"][smaller] < target).all()


def test_the_ladder_has_every_small_size_and_ends_at_fifty():
    assert size_ladder(6).tolist() == [1, 2, 3, 4, 5, 6]
    assert size_ladder(1000).tolist() == [1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 50]
    assert size_ladder(1).tolist() == [1]
    assert size_ladder(12, 6).tolist() == [6, 7, 10, 12]
    assert size_ladder(1000, 60).tolist() == [60]


def test_the_ladder_goes_on_where_components_need_more():
    constraints = [LoadingConstraint(100, 10)] * 60
    assert ladder_for(constraints, Orthogonality("uncorrelated"))[-1] == 60
    assert ladder_for(constraints, Orthogonality("strict"))[-1] == 60
    assert ladder_for(constraints, Orthogonality("none"))[-1] == 50
    assert ladder_for(constraints, Orthogonality("disjoint")).tolist() == [1]
    forced = [LoadingConstraint(100, 10, forced=np.arange(3))] * 60
    assert ladder_for(forced, Orthogonality("none"))[[0, -1]].tolist() == [3, 60]


def test_a_target_out_of_reach_is_told():
    X = np.random.default_rng(0).standard_normal((400, 120))
    with pytest.warns(UserWarning, match="n_nonzero='auto' took 50 features, which recover 98%"):
        model = SparsePCA(2, effort="fast", target=1.0).fit(X)
    assert model.n_nonzero_ == 50


def test_more_components_and_model_files_remember_the_size(tmp_path):
    X = load_digits().data
    X = X[:, X.std(axis=0) > 0]
    model = SparsePCA(2).fit(X)
    again = load_model(save_model(model, tmp_path / "m.npz"))
    assert again.n_nonzero == "auto"
    assert again.n_nonzero_ == model.n_nonzero_
    again.add_components(X)
    assert again.n_components_ == 3
    assert again.cardinality_[2] == model.n_nonzero_
    assert again.n_nonzero_ == model.n_nonzero_


def test_a_second_fit_chooses_again():
    X = load_breast_cancer().data
    model = SparsePCA(3, standardize=True).fit(X)
    first = model.n_nonzero_
    assert SparsePCA(3, standardize=True, target=0.99).fit(X).n_nonzero_ > first
    assert model.set_params(target=0.99).fit(X).n_nonzero_ > first


def test_the_size_has_room_for_what_is_forced_and_counts_only_what_is_open():
    X = load_wine().data
    model = SparsePCA(2, standardize=True, forced=range(6), target=0.5).fit(X)
    assert model.n_nonzero_ == 6
    assert (model.support_[:, :6]).all()
    with pytest.warns(UserWarning, match="took 2 features, which recover"):
        model = SparsePCA(2, standardize=True, forbidden=range(11), target=0.99).fit(X)
    assert model.n_nonzero_ == 2


@pytest.mark.parametrize(
    "arguments",
    [{"orthogonality": "disjoint"}, {"orthogonality": "strict", "nonnegative": True}],
    ids=str,
)
def test_components_that_share_nothing_are_as_many_as_asked_for(arguments):
    X = load_wine().data
    with pytest.warns(UserWarning, match="took 4 features, which recover"):
        model = SparsePCA(3, standardize=True, target=1.0, **arguments).fit(X)
    assert model.cardinality_.tolist() == [4, 4, 4]


def test_a_size_chosen_earlier_says_nothing_of_a_constraint():
    X = np.random.default_rng(0).standard_normal((100, 40))
    model = SparsePCA(1, effort="fast", target=0.99).fit(X)
    assert model.n_nonzero_ > 4
    model.set_params(constraint=Groups([0, 0, 1, 1], 1)).fit(X[:, :4])
    assert model.cardinality_.tolist() == [2]


def test_a_word_among_sizes_is_refused_with_the_reason():
    X = np.random.default_rng(0).normal(size=(20, 6))
    with pytest.raises(ValueError, match="'auto' chooses one size for all"):
        SparsePCA(3, n_nonzero=[2, "auto", 4]).fit(X)


def test_forced_features_are_kept_and_counted_with_several_components():
    model = SparsePCA(2, n_nonzero=6, standardize=True, forced=range(6)).fit(load_wine().data)
    assert model.support_[:, :6].all()
    assert model.cardinality_.tolist() == [6, 6]


def one_factor(n_features=12):
    f = np.random.default_rng(0).standard_normal((100, 1))
    noise = np.random.default_rng(1).standard_normal((100, n_features))
    return f @ np.ones((1, n_features)) + 0.3 * noise


@pytest.mark.parametrize(
    ("arguments", "size"),
    [
        ({"orthogonality": "uncorrelated"}, 3),
        ({"orthogonality": "uncorrelated", "forced": [0]}, 3),
        ({"orthogonality": "strict", "forced": [0]}, 2),
        ({"orthogonality": "quasi", "forced": [0], "nonnegative": True}, 2),
        ({"forced": [0]}, 2),
        ({"orthogonality": "strict"}, 1),
    ],
    ids=str,
)
def test_no_larger_size_has_more_components(arguments, size):
    X = one_factor()
    model = SparsePCA(3, **arguments).fit(X)
    assert model.n_components_ == 3
    assert model.n_nonzero_ == size
    if size > 1:
        with pytest.warns(UserWarning, match="fewer than asked for"):
            fewer = SparsePCA(3, n_nonzero=size - 1, **arguments).fit(X)
        assert fewer.n_components_ < 3
        assert model.size_path_["share_of_pca"][0] > 0.9


def test_where_no_size_has_all_components_the_size_taken_is_told():
    X = one_factor()
    with pytest.warns(UserWarning, match="'auto' took 2, and no size it tried") as told:
        model = SparsePCA(3, orthogonality="uncorrelated", forbidden=range(2, 12)).fit(X)
    assert model.n_components_ == model.n_nonzero_ == 2
    assert "of another size (n_nonzero)" in str(told[-1].message)


def test_where_nothing_is_left_the_smallest_size_is_taken():
    X = one_factor()[:, :3] @ np.random.default_rng(0).standard_normal((3, 12))
    with pytest.warns(UserWarning, match="no direction with any variance is left$"):
        model = SparsePCA(5, target=0.5).fit(X)
    assert model.n_components_ == 3
    assert model.n_nonzero_ == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_everything_is_reached_but_for_rounding(dtype):
    """As many features as components recover everything, one by one."""
    X = load_wine().data.astype(dtype)
    assert SparsePCA(13, target=1.0, standardize=True).fit(X).n_nonzero_ == 1


def test_the_share_that_is_told_is_seen_to_be_below_the_target():
    X = load_wine().data
    share = SparsePCA(2, standardize=True, n_nonzero=11, forbidden=[0, 1])
    share = share_of_pca(X, share.fit(X))
    target = np.ceil(share * 1000) / 1000
    with pytest.warns(UserWarning, match="which recover") as told:
        SparsePCA(2, standardize=True, forbidden=[0, 1], target=target).fit(X)
    shown = float(re.search(r"recover ([0-9.]+)%", str(told[-1].message))[1])
    assert 100 * share - 1 < shown < 100 * target
