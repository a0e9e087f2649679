"""The size chosen by held-out reconstruction."""

import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_backend
from scipy import sparse
from sklearn.model_selection import GridSearchCV, KFold

from loadstone import SparsePCA, SparsePCACV, cross_validated_recovery
from loadstone.constraints import Groups, L1Budget, Signs
from loadstone.selection.sparse_pca_cv import choose


def three_factors(seed, n_samples=120, n_features=30, size=5):
    rng = np.random.default_rng(seed)
    W = np.zeros((n_features, 3))
    features = rng.permutation(n_features)[: 3 * size].reshape(3, size)
    for j, inside in enumerate(features):
        W[inside, j] = rng.choice([-1, 1], size) / np.sqrt(size)
    scores = rng.standard_normal((n_samples, 3)) * [4, 3.5, 3]
    return scores @ W.T + rng.standard_normal((n_samples, n_features))


def test_true_size_is_recovered():
    sizes = [3, 5, 7, 30]
    hits = 0
    for seed in range(20):
        model = SparsePCACV(3, n_nonzeros=sizes, cv=3).fit(three_factors(seed))
        hits += model.n_nonzero_ == 5
    assert hits >= 16


def test_scores_are_those_of_held_out_rows():
    X = three_factors(0)
    model = SparsePCACV(2, n_nonzeros=[3, 6], cv=KFold(3)).fit(X)
    for i, (train, test) in enumerate(KFold(3).split(X)):
        for j, size in enumerate([3, 6]):
            fold = SparsePCA(2, n_nonzero=size, effort="fast").fit(X[train])
            error = np.sum((X[test] - fold.inverse_transform(fold.transform(X[test]))) ** 2)
            total = np.sum((X[test] - X[train].mean(axis=0)) ** 2)
            score = model.cv_results_[f"split{i}_test_score"][j]
            assert score == pytest.approx(1 - error / total)
    best = SparsePCA(2, n_nonzero=model.n_nonzero_).fit(X)
    np.testing.assert_allclose(model.components_, best.components_, atol=1e-9)


@pytest.mark.parametrize("route", ["auto", "data"])
@pytest.mark.parametrize(
    "asked",
    [
        {"forced": ["7"], "forbidden": ["0", "3"]},
        {"forbidden": ["0", "3"], "nonnegative": True},
        {"refine": False},
        {"refine": "full"},
        {"objective": "sum", "orthogonality": "disjoint"},
    ],
)
def test_folds_are_searched_as_asked(asked, route):
    frame = pd.DataFrame(
        three_factors(3, n_features=12, size=3), columns=[str(j) for j in range(12)]
    )
    cv, sizes = KFold(2), [2, 4]
    model = SparsePCACV(2, n_nonzeros=sizes, cv=cv, route=route, **asked).fit(frame)
    for i, (train, test) in enumerate(cv.split(frame)):
        for j, size in enumerate(sizes):
            fold = SparsePCA(2, n_nonzero=size, effort="fast", **asked).fit(frame.iloc[train])
            held_out = frame.iloc[test].to_numpy()
            error = held_out - fold.inverse_transform(fold.transform(frame.iloc[test]))
            total = held_out - frame.iloc[train].to_numpy().mean(axis=0)
            score = model.cv_results_[f"split{i}_test_score"][j]
            # The search of all sizes along one path may end elsewhere by a hair.
            assert score == pytest.approx(1 - np.sum(error**2) / np.sum(total**2), rel=0.02)
    whole = SparsePCA(2, n_nonzero=model.n_nonzero_, **asked).fit(frame)
    np.testing.assert_allclose(model.components_, whole.components_, atol=1e-9)


@pytest.mark.parametrize("route", ["auto", "data"])
def test_components_for_recovery_are_judged_by_what_they_recover(route):
    X = three_factors(4, n_samples=40, n_features=6, size=2)
    model = SparsePCACV(2, n_nonzeros=[2, 4], cv=2, objective="recovery", route=route).fit(X)
    for i, (train, test) in enumerate(KFold(2).split(X)):
        for j, size in enumerate([2, 4]):
            W = SparsePCA(2, n_nonzero=size, objective="recovery").fit(X[train]).components_.T
            A, B = (part - X[train].mean(axis=0) for part in (X[train], X[test]))
            coefficients = np.linalg.lstsq(A @ W, A, rcond=None)[0]
            share = 1 - np.sum((B - B @ W @ coefficients) ** 2) / np.sum(B**2)
            score = model.cv_results_[f"split{i}_test_score"][j]
            assert score == pytest.approx(share, rel=1e-6)
    assert model.cv_results_["mean_test_score"].max() >= model.cv_recovered_ratio_


def test_sizes_of_a_constraint_are_chosen():
    X = three_factors(5, n_features=12, size=3)
    groups = Groups(np.repeat(["a", "b", "c", "d"], 3), n_groups=4)
    model = SparsePCACV(constraint=groups, cv=2).fit(X)
    assert model.cv_results_["n_nonzero"].tolist() == [1, 2, 3, 4]
    used = {groups.labels[j] for j in np.flatnonzero(model.components_[0])}
    assert len(used) <= model.n_nonzero_ < 4
    signs = Signs({0: 1}, n_nonzero=3)
    chosen = SparsePCACV(constraint=signs, n_nonzeros=[2, 5], cv=2).fit(X)
    again = SparsePCA(constraint=Signs({0: 1}, chosen.n_nonzero_)).fit(X)
    np.testing.assert_allclose(chosen.components_, again.components_, atol=1e-9)


def test_what_is_forced_takes_a_place_of_every_size_tried():
    X = three_factors(6, n_features=8, size=2)
    model = SparsePCACV(forced=[0, 1, 2], cv=2).fit(X)
    assert model.cv_results_["n_nonzero"].min() == 3
    with pytest.raises(ValueError, match="forced"):
        SparsePCACV(forced=[0, 1, 2], n_nonzeros=[2], cv=2).fit(X)


def test_a_constraint_says_what_cannot_be_chosen():
    X = three_factors(6, n_features=8, size=2)
    with pytest.raises(ValueError, match="no number of features or groups"):
        SparsePCACV(constraint=L1Budget(budget=1.5), cv=2).fit(X)
    with pytest.raises(ValueError, match="both say"):
        SparsePCACV(constraint=Signs({0: 1}), nonnegative=True, cv=2).fit(X)


def test_one_standard_error_takes_the_smallest_size_that_is_not_clearly_worse():
    scores = np.array([[0.1, 0.3, 0.2], [0.4, 0.6, 0.49], [0.41, 0.6, 0.5], [0.4, 0.6, 0.5]])
    assert choose(scores, "best") == 2
    # Size 1 loses 1 %, 0 % and 1 %: more than the standard error of that loss.
    assert choose(scores, "one_standard_error") == 2
    scores[1] = [0.45, 0.57, 0.5]
    assert choose(scores, "one_standard_error") == 1


@pytest.mark.parametrize("rule", ["best", "one_standard_error"])
def test_of_sizes_that_score_the_same_up_to_rounding_the_smallest_is_taken(rule):
    scores = np.array([[0.1, 0.3], [0.4, 0.6], [0.4 + 1e-8, 0.6 + 2e-8]])
    assert choose(scores, rule) == 1


def test_automatic_sizes_are_refined_around_the_best():
    X = three_factors(1, n_features=60, size=10)
    model = SparsePCACV(3, cv=3).fit(X)
    tried = model.cv_results_["n_nonzero"]
    assert (np.diff(tried) > 0).all()
    assert {model.n_nonzero_ - 1, model.n_nonzero_ + 1} <= set(tried.tolist())
    assert abs(model.n_nonzero_ - 10) <= 2


def test_parallel_fits_agree():
    X = three_factors(2)
    one = SparsePCACV(n_nonzeros=[2, 5], cv=3).fit(X)
    with parallel_backend("threading"):
        two = SparsePCACV(n_nonzeros=[2, 5], cv=3, n_jobs=2).fit(X)
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_sparse_data_is_cross_validated_as_it_is():
    X = three_factors(3)
    X[np.abs(X) < 1] = 0
    dense = SparsePCACV(n_nonzeros=[2, 5], cv=3).fit(X)
    stored = SparsePCACV(n_nonzeros=[2, 5], cv=3).fit(sparse.csr_array(X))
    np.testing.assert_allclose(
        dense.cv_results_["mean_test_score"], stored.cv_results_["mean_test_score"]
    )


def test_score_serves_grid_search():
    X = three_factors(4)
    search = GridSearchCV(SparsePCA(3, effort="fast"), {"n_nonzero": [1, 5, 30]}, cv=3).fit(X)
    assert search.best_params_ == {"n_nonzero": 5}
    nested = GridSearchCV(SparsePCACV(n_nonzeros=[2, 5], cv=3), {"n_components": [1, 3]}, cv=3)
    assert nested.fit(X).best_params_ == {"n_components": 3}


def test_progress_is_told():
    from sklearn.callback import ProgressBar

    model = SparsePCACV(n_nonzeros=[2, 5], cv=3)
    tasks = []

    class Listener(ProgressBar):
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            tasks.append(context.task_name)

        def on_fit_task_end(self, estimator, context, **kwargs):
            return False

        def teardown(self, estimator, context):
            pass

    model.set_callbacks(Listener()).fit(three_factors(5))
    assert {"2 features", "5 features"} <= set(tasks)


def test_bad_input_is_refused():
    X = three_factors(6)
    with pytest.raises(ValueError, match="cv=9 folds"):
        SparsePCACV(cv=9).fit(X[:8])
    with pytest.raises(ValueError, match="between 1 and"):
        SparsePCACV(n_nonzeros=[0, 4]).fit(X)
    with pytest.warns(UserWarning, match="sorted"):
        SparsePCACV(n_nonzeros=[4, 2, 4], cv=3).fit(X)
    with pytest.raises(TypeError, match="holds out samples"):
        SparsePCACV().fit_covariance(np.eye(3))


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.full(60, 0.025), "weights sum to 1"),
        (np.repeat([0.0, 1.0], [20, 40]), "weight 0, so there is nothing"),
    ],
)
@pytest.mark.parametrize("how", [{}, {"route": "data", "objective": "recovery"}], ids=str)
def test_folds_without_weight_are_refused(weights, words, how):
    X = np.random.default_rng(0).standard_normal((60, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=words):
            SparsePCACV(n_nonzeros=[2], cv=3, **how).fit(X, sample_weight=weights)


@pytest.mark.parametrize("cv", [[], b"2"])
def test_folds_that_hold_out_nothing_are_refused(cv):
    X = three_factors(6)
    with pytest.raises(ValueError, match="holds out nothing"):
        SparsePCACV(cv=cv).fit(X)
    with pytest.raises(ValueError, match="holds out nothing"):
        cross_validated_recovery(SparsePCA().fit(X), X, cv=cv)


def test_held_out_samples_without_weight_are_refused():
    X = np.random.default_rng(0).standard_normal((60, 5))
    weights = np.repeat([0.0, 1.0], [20, 40])
    model = SparsePCA(n_nonzero=2).fit(X, sample_weight=weights)
    with pytest.raises(ValueError, match="weight 0, so there is nothing"):
        cross_validated_recovery(model, X, cv=KFold(3), sample_weight=weights)


def test_single_precision_that_loses_its_digits_is_read_again():
    rng = np.random.default_rng(0)
    # Far from zero: the products of these rows in single precision have no digit left.
    X = (rng.standard_normal((40, 4)) + 3000.0).astype(np.float32)
    weights = rng.integers(1, 4, 40).astype(float)
    model = SparsePCACV(n_nonzeros=(1, 2), cv=2).fit(X, sample_weight=weights)
    double = SparsePCACV(n_nonzeros=(1, 2), cv=2).fit(X.astype(float), sample_weight=weights)
    np.testing.assert_allclose(model.explained_variance_, double.explained_variance_, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
@pytest.mark.parametrize("objective", ["variance", "recovery"])
def test_folds_of_a_mapped_file_of_whole_numbers(tmp_path, dtype, objective):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(24, 6)) + rng.normal(size=(24, 1)) > 0).astype(dtype)
    np.save(tmp_path / "X.npy", X)
    asked = {"n_components": 1, "n_nonzeros": (1, 3), "cv": 2, "route": "data"}
    weights = rng.uniform(0.5, 2, 24)
    mapped, whole = (
        SparsePCACV(**asked, objective=objective).fit(rows, sample_weight=weights)
        for rows in (np.load(tmp_path / "X.npy", mmap_mode="r"), X.astype(np.float64))
    )
    assert mapped.n_nonzero_ == whole.n_nonzero_
    np.testing.assert_allclose(mapped.components_, whole.components_, atol=1e-5)
