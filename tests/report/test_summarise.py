"""The summary says what the fitted attributes say, in plain values."""

import copy
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from loadstone import (
    EMPCA,
    NSPCA,
    SparseNoisyPCA,
    SparsePCA,
    SparseProbabilisticPCA,
    cross_validated_recovery,
    summarise,
)
from loadstone.report import build_report
from loadstone.report import summarise as module_function
from loadstone.report.facts import gather
from loadstone.report.figures.traces import traces
from loadstone.report.headline import floor_percent, grouped, headline_of, percent
from loadstone.report.summarise import MAX_LOADINGS, MAX_SAMPLES


def certified(model, ratios, *, optimal=False):
    again = copy.deepcopy(model)
    again.upper_bound_ = again.marginal_variance_ / np.asarray(ratios)
    if optimal:
        again.certificates_ = [
            SimpleNamespace(upper_bound=b, value=v, is_optimal=True)
            for b, v in zip(again.upper_bound_, again.marginal_variance_, strict=True)
        ]
    return again


def test_the_summary_is_plain_json(model, wine, path):
    summary = summarise(model, wine.data, wine.target, path=path)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert module_function is summarise


def test_components_carry_the_fitted_numbers(model, wine):
    summary = summarise(model, wine.data)
    for j, component in enumerate(summary["components"]):
        assert component["n_nonzero"] == 5
        assert component["explained_variance_ratio"] == pytest.approx(
            model.explained_variance_ratio_[j]
        )
        table = model.loadings_table()
        table = table[table["component"] == j + 1]
        assert [entry["feature"] for entry in component["loadings"]] == table["feature"].tolist()
        np.testing.assert_allclose([e["loading"] for e in component["loadings"]], table["loading"])
    assert summary["components"][-1]["cumulative_ratio"] == pytest.approx(
        model.explained_variance_ratio_.sum()
    )


@pytest.mark.parametrize(
    ("index", "first"),
    [
        (pd.date_range("2000-01-01", periods=178), "2000-01-01"),
        (pd.period_range("1990Q1", periods=178, freq="Q"), "1990Q1"),
        ([f"bottle {i}" for i in range(178)], "bottle 0"),
        (np.arange(500, 678), "500"),
        (pd.RangeIndex(178), "1"),
        (pd.MultiIndex.from_product([["a", "b"], range(89)]), "1"),
    ],
)
def test_samples_are_called_as_the_frame_calls_its_rows(model, wine, index, first):
    frame = pd.DataFrame(wine.data).set_axis(index, axis=0)
    assert summarise(model, frame)["scores"]["names"][0] == first
    given = summarise(model, frame, sample_names=[f"s{i}" for i in range(178)])
    assert given["scores"]["names"][0] == "s0"


def test_pca_is_that_of_scikit_learn(model, wine):
    pca = PCA(3).fit(StandardScaler().fit_transform(wine.data))
    summary = summarise(model, wine.data)
    np.testing.assert_allclose(
        summary["pca"]["explained_variance_ratio"], pca.explained_variance_ratio_, rtol=1e-4
    )
    share = model.explained_variance_ratio_.sum() / pca.explained_variance_ratio_.sum()
    assert summary["pca"]["share_reached"] == pytest.approx(share, rel=1e-4)
    together = np.cumsum(pca.explained_variance_ratio_)
    np.testing.assert_allclose(summary["pca"]["recovered_ratio"], together, rtol=1e-4)


def test_the_headline_says_what_is_recovered_of_all_features(model, wine):
    Z = StandardScaler().fit_transform(wine.data)
    scores = Z @ model.components_.T
    missed = Z - scores @ np.linalg.lstsq(scores, Z, rcond=None)[0]
    recovered = 1 - np.sum(missed**2) / np.sum(Z**2)
    pca = PCA(3).fit(Z)
    plain = pca.explained_variance_ratio_.sum()
    followed = np.abs(np.corrcoef(scores.T, pca.transform(Z).T)[:3, 3:]).max(axis=1)
    assert summarise(model, wine.data)["headline"] == (
        f"3 components, 13 of 13 features used, recover {percent(recovered)} of all features' "
        f"variance, PCA with as many components {percent(plain)}; their scores correlate with PCA's "
        f"by {', '.join(f'{r:.2f}' for r in followed)}."
    )


def test_held_out_samples_are_asked_where_features_are_many_for_the_samples(wine):
    X = wine.data.to_numpy()[::9]
    assert len(X) == 20
    few = SparsePCA(1, n_nonzero=5, standardize=True).fit(X)
    assert summarise(few, X)["held_out"] is None
    many = SparsePCA(2, n_nonzero=5, standardize=True).fit(X)
    summary = summarise(many, X)
    assert "held-out samples" in summary["headline"]
    assert any("10 features and there are 20 samples" in note for note in summary["notes"])
    assert summary["held_out"]["recovered"] < many.recovered_variance_ratio_[-1]
    assert summary["held_out"]["pca"] < summary["pca"]["recovered_ratio"][-1]
    without = summarise(many)
    assert without["held_out"] is None
    assert any("flattered" in note for note in without["notes"])


@pytest.mark.parametrize("n", [5, 7, 20])
def test_few_samples_and_weighted_ones_are_held_out_too(n):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 6)) + rng.standard_normal((n, 1))
    weight = rng.integers(1, 4, n).astype(float)
    model = SparsePCA(3, n_nonzero=5).fit(X, sample_weight=weight)
    summary = summarise(model, X, sample_weight=weight)
    assert summary["held_out"]["n_folds"] == min(4, n // 2)
    assert "held-out samples" in summary["headline"]


def test_a_weight_counts_rows_among_those_held_out():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 5)) + rng.standard_normal((12, 1))
    weight = rng.integers(1, 4, 12)
    train, test = np.arange(8), np.arange(8, 12)
    model = SparsePCA(2, n_nonzero=3).fit(X, sample_weight=weight.astype(float))
    weighted = cross_validated_recovery(
        model, X, cv=[(train, test)], sample_weight=weight.astype(float)
    )
    repeated = np.repeat(X, weight, axis=0)
    n = int(weight[train].sum())
    folds = [(np.arange(n), np.arange(n, len(repeated)))]
    plain = cross_validated_recovery(model, repeated, cv=folds)
    np.testing.assert_allclose(weighted.recovered, plain.recovered, rtol=1e-8)
    np.testing.assert_allclose(weighted.pca, plain.pca, rtol=1e-8)


def test_without_data_there_are_no_scores_and_no_pca(model):
    summary = summarise(model)
    assert summary["pca"] is None
    assert summary["scores"] is None
    assert summary["headline"] == (
        "3 components, 13 of 13 features used, recover 65 % of all features' variance."
    )


def test_one_sample_has_scores_and_no_pca(model, wine):
    # Warnings are errors in these tests.
    summary = summarise(model, wine.data[:1])
    json.dumps(summary, allow_nan=False)
    assert summary["pca"] is None


def test_headline_promises_no_more_than_is_proven(model, wine):
    sentence = summarise(certified(model, [0.9871, 0.999, 0.995]), wine.data)["headline"]
    assert sentence.endswith("; each proven within 1.3 % of the best possible.")
    optimal = summarise(certified(model, [1, 1, 1], optimal=True), wine.data)["headline"]
    assert optimal.endswith("; each proven the best possible.")
    some = summarise(certified(model, [0.99, np.nan, 0.99]))
    assert some["headline"].endswith("2 of 3 come with a proof of how good they are.")
    assert some["components"][1]["certificate"] is None


def test_numbers_read_well():
    assert grouped(12582) == "12\u202f582"
    assert [percent(v) for v in (0.4123, 0.0234, 0.00034, 1.0)] == [
        "41 %",
        "2.3 %",
        "0.034 %",
        "100 %",
    ]
    assert floor_percent(0.99999) == "99.9 %"
    empty = {"data": {}, "components": [], "pca": None}
    assert headline_of(empty).startswith("No component was found")


def test_path_names_what_is_chosen(model, wine, path):
    shown = summarise(model, wine.data, path=path)["path"]
    assert shown["n_nonzeros"] == [1, 2, 3, 5, 8, 13]
    assert shown["upper_bounds"][-1] is None
    assert shown["pca_variance"] == pytest.approx(path.values[-1])
    assert [len(names) for names in shown["features"]] == [1, 2, 3, 5, 8, 13]


def test_large_results_are_cut_and_the_cut_is_told():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((MAX_SAMPLES + 100, 4))
    summary = summarise(SparsePCA(1, n_nonzero=None).fit(X), X)
    assert len(summary["scores"]["values"]) == MAX_SAMPLES
    assert any("evenly spaced" in note for note in summary["notes"])
    wide = rng.standard_normal((5, MAX_LOADINGS + 7))
    summary = summarise(SparsePCA(1, n_nonzero=None).fit(wide))
    assert len(summary["components"][0]["loadings"]) == MAX_LOADINGS
    assert any("1007 non-zero loadings" in note for note in summary["notes"])


def test_wrong_lengths_and_unfitted_estimators_are_refused(model, wine):
    with pytest.raises(ValueError, match="3 labels were given for 178"):
        summarise(model, wine.data, labels=[1, 2, 3])
    with pytest.raises(ValueError, match="2 feature names"):
        summarise(model, feature_names=["a", "b"])
    with pytest.raises(NotFittedError):
        summarise(SparsePCA())


def test_sparse_data_is_summarised_without_being_made_dense(wine):
    from scipy import sparse

    X = sparse.csr_array(wine.data.to_numpy())
    model = SparsePCA(2, n_nonzero=3).fit(X)
    assert summarise(model, X)["pca"]["share_reached"] > 0.5


def test_data_is_taken_in_every_form_an_estimator_takes():
    from scipy import sparse

    X = np.random.default_rng(0).standard_normal((20, 5))
    model = SparsePCA(2, n_nonzero=2).fit(X)
    expected = summarise(model, X)["headline"]
    for same in (X.tolist(), sparse.bsr_array(X), sparse.dia_array(X)):
        assert summarise(model, same)["headline"] == expected
    with pytest.raises(ValueError, match="2D array"):
        summarise(model, X[:, 0])


@pytest.mark.parametrize("estimator", [SparseProbabilisticPCA, SparseNoisyPCA])
def test_no_component_is_an_answer(estimator):
    X = np.random.default_rng(3).normal(size=(80, 6))
    with pytest.warns(UserWarning, match="noise alone"):
        model = estimator().fit(X)
    summary = summarise(model, X)
    assert summary["headline"].startswith("No component was found")
    assert (summary["components"], summary["pca"], summary["overlap"]) == ([], None, [])
    page = build_report(model, X, image_shape=(2, 3), feature_axis=range(6)).html
    # Files of arrays hold the shape as one.
    assert build_report(model, X, image_shape=np.array([2, 3]), feature_axis=range(6)).html == page
    assert "found that noise alone describes the data best" in page


def test_missing_labels_are_empty_and_words_are_not(model, wine):
    labels = pd.Series([None, "a", np.nan, "None", "nan", pd.NA] + ["b"] * 172, dtype=object)
    told = summarise(model, wine.data, labels=labels)["scores"]["labels"]
    assert told[:7] == ["", "a", "", "None", "nan", "", "b"]
    categories = pd.Series(["b", None] * 89, dtype="category")
    told = summarise(model, wine.data, labels=categories)["scores"]["labels"]
    assert told[:2] == ["b", ""]


@pytest.mark.parametrize(
    ("estimator", "joint"),
    [
        (NSPCA(2), True),
        (NSPCA(1), True),
        (SparsePCA(1, n_nonzero=3, objective="recovery"), True),
        (EMPCA(2, n_nonzero=3), False),
        (EMPCA(1, n_nonzero=3), False),
    ],
    ids=str,
)
def test_a_trace_of_the_report_says_whose_it_is(estimator, joint, wine):
    model = clone(estimator).set_params(standardize=True).fit(wine.data)
    found = traces(gather(model, wine.data))
    assert found is not None
    assert found.joint == joint
