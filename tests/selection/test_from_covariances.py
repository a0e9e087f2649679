"""Paths, certificates, cross-validation and stability from covariances in place of rows."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import KFold, ShuffleSplit

from loadstone import (
    SampleCovariance,
    SparsePCA,
    SparsePCACV,
    cardinality_path,
    certify,
    report,
    stability_selection,
    summarise,
)
from loadstone.estimators.reading import read
from loadstone.selection.folds import part_of_rows
from loadstone.selection.path_solver import loadings_of_sizes


def factors(n=120, n_features=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, n_features))
    return X + 0.5 * rng.standard_normal((n, n_features)) + 4


def scores_of(model):
    results = model.cv_results_
    return np.array([results[f"split{i}_test_score"] for i in range(5)])


def score_by_formula(X, w, fold, model):
    """Share of the held-out squares about the training mean in the span of the components."""
    train = np.setdiff1d(np.arange(len(X)), fold)
    mean = np.average(X[train], axis=0, weights=w[train])
    spread = np.average((X[train] - mean) ** 2, axis=0, weights=w[train])
    scale = np.sqrt(spread * w[train].sum() / (w[train].sum() - 1)) if model.standardize else 1.0
    size = int(model.cv_results_["n_nonzero"][1])
    like = SparsePCA(model.n_components, effort="fast", standardize=model.standardize)
    data = read(X[train], w[train], standardize=model.standardize)
    W = list(loadings_of_sizes(like, data, model.cv_results_["n_nonzero"]))[1]
    assert (np.count_nonzero(W, axis=0) <= size).all()
    Z = (X[fold] - mean) / scale
    Q, _ = np.linalg.qr(W)
    return w[fold] @ np.sum((Z @ Q) ** 2, axis=1) / (w[fold] @ np.sum(Z**2, axis=1))


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_folds_are_those_of_rows(standardize, weighted):
    X = factors()
    w = np.random.default_rng(1).uniform(0.5, 2, 120)
    given = w if weighted else None
    models = [
        SparsePCACV(2, n_nonzeros=[2, 5], standardize=standardize, route=route)
        for route in ("auto", "data", "auto")
    ]
    sources = [X, X, da.from_array(X, chunks=(37, 5))]
    found = [m.fit(x, sample_weight=given) for m, x in zip(models, sources, strict=True)]
    folds = [test for _, test in KFold(5).split(X)]
    parts = [SampleCovariance.of(X[i], w[i] if weighted else None) for i in folds]
    found.append(SparsePCACV(2, n_nonzeros=[2, 5], standardize=standardize).fit(parts))
    for model in found[1:]:
        np.testing.assert_allclose(scores_of(model), scores_of(found[0]), rtol=1e-10)
        np.testing.assert_allclose(model.components_, found[0].components_, atol=1e-9)
        np.testing.assert_allclose(model.mean_, found[0].mean_)
    formula = [score_by_formula(X, w if weighted else np.ones(120), f, found[0]) for f in folds]
    np.testing.assert_allclose(scores_of(found[0])[:, 1], formula, rtol=1e-10)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("orthogonality", ["none", "disjoint"])
def test_components_of_many_sizes_are_those_of_single_fits(orthogonality, nonnegative):
    X = factors()
    how = {"effort": "fast", "orthogonality": orthogonality, "nonnegative": nonnegative}
    sizes = np.array([1, 2, 5, 9])
    found = loadings_of_sizes(SparsePCA(2, **how), read(X), sizes)
    S = np.cov(X.T)
    for size, W in zip(sizes, found, strict=True):
        single = SparsePCA(2, n_nonzero=int(size), **how).fit(X)
        assert W.shape == (X.shape[1], 2)
        assert (np.count_nonzero(W, axis=0) <= size).all()
        assert not nonnegative or (W >= 0).all()
        assert orthogonality == "none" or not (W[:, 0] * W[:, 1]).any()
        # Adjusted variance: the squared diagonal of R in a QR of the scores.
        R = np.linalg.qr(np.linalg.cholesky(S).T @ W)[1]
        assert np.sum(R.diagonal() ** 2) >= 0.97 * single.explained_variance_.sum()


def test_cross_validation_reads_a_dask_array_once():
    seen = []

    def look(block):
        seen.append(len(block))
        return block

    lazy = da.from_array(factors(), chunks=(40, 12))
    lazy = lazy.map_blocks(look, meta=np.empty((0, 12)), dtype=float)
    SparsePCACV(n_nonzeros=[2, 5]).fit(lazy)
    assert sum(seen) == 120


def test_a_feature_that_varies_in_one_fold_alone_is_constant_in_training():
    X = factors()
    X[:, 3] = 0.0
    X[5, 3] = 1.0
    by_folds = SparsePCACV(n_nonzeros=[2, 5], standardize=True).fit(X)
    by_rows = SparsePCACV(n_nonzeros=[2, 5], standardize=True, route="data").fit(X)
    np.testing.assert_allclose(scores_of(by_folds), scores_of(by_rows), rtol=1e-10)


def test_folds_that_overlap_or_lose_their_digits_stay_rows():
    X = factors()
    assert part_of_rows(list(ShuffleSplit(3, random_state=0).split(X)), 120) is None
    assert part_of_rows(list(KFold(3).split(X)), 120).tolist() == np.repeat([0, 1, 2], 40).tolist()
    SparsePCACV(n_nonzeros=[3], cv=ShuffleSplit(3, random_state=0)).fit(X)
    far = X + 1e6
    model = SparsePCACV(n_nonzeros=[3]).fit(sparse.csr_array(far))
    dense = SparsePCACV(n_nonzeros=[3]).fit(far)
    np.testing.assert_allclose(scores_of(model), scores_of(dense), rtol=1e-2)


def test_names_come_along():
    X = pd.DataFrame(factors(), columns=list("abcdefghijkl"))
    model = SparsePCACV(n_nonzeros=[3]).fit(X)
    assert model.feature_names_in_.tolist() == list("abcdefghijkl")


@pytest.mark.parametrize(
    ("parts", "changes", "sentence"),
    [(1, {}, "at least 2"), (4, {"cv": 3}, "leave cv"), (4, {"sample_weight": [1]}, "weights")],
)
def test_wrong_folds_are_refused(parts, changes, sentence):
    C = [SampleCovariance.of(part) for part in np.array_split(factors(), parts)]
    model = SparsePCACV(n_nonzeros=[3], **{k: v for k, v in changes.items() if k == "cv"})
    with pytest.raises(ValueError, match=sentence):
        model.fit(C, sample_weight=changes.get("sample_weight"))
    with pytest.raises(TypeError, match="also holds a ndarray"):
        SparsePCACV().fit([C[0], np.eye(3)])


def test_stability_by_blocks_draws_halves_of_the_blocks():
    X = factors(400)
    X[:, 6:] = np.random.default_rng(2).standard_normal((400, 6))
    blocks = [SampleCovariance.of(part) for part in np.array_split(X, 20)]
    model = SparsePCA(n_nonzero=3, standardize=True, effort="fast")
    found = stability_selection(model, blocks, n_subsamples=10)
    rng = np.random.RandomState(0)
    rows = np.array_split(np.arange(400), 20)
    counts = np.zeros(12)
    for _ in range(10):
        half = np.concatenate([rows[i] for i in rng.permutation(20)[:10]])
        counts += (
            SparsePCA(n_nonzero=3, standardize=True, effort="fast").fit(X[half]).components_[0] != 0
        )
    np.testing.assert_array_equal(found.frequency, counts / 10)
    with pytest.raises(TypeError, match="give a list of them"):
        stability_selection(model, blocks[0])
    with pytest.raises(ValueError, match="at least 8"):
        stability_selection(model, blocks[:4])


def test_path_certificate_and_report_are_those_of_the_rows():
    X = pd.DataFrame(factors(), columns=list("abcdefghijkl"))
    C = SampleCovariance.of(X)
    np.testing.assert_allclose(
        cardinality_path(C, standardize=True).values,
        cardinality_path(X, standardize=True).values,
        rtol=1e-10,
    )
    path = cardinality_path(covariance=C, n_nonzeros=[3])
    np.testing.assert_allclose(path.estimator(3).transform(X).mean(axis=0), 0, atol=1e-12)
    assert certify(C, n_nonzero=3).upper_bound == pytest.approx(
        certify(X, n_nonzero=3).upper_bound, rel=1e-8
    )
    model = SparsePCA(2, n_nonzero=3).fit(C)
    summary, with_rows = summarise(model, C), summarise(model, X)
    assert summary["scores"] is None
    assert summary["headline"] == with_rows["headline"]
    assert summary["data"] == with_rows["data"]
    assert "<html" in report(model, C).html


def test_components_can_be_added():
    C = SampleCovariance.of(factors())
    model = SparsePCA(1, n_nonzero=3).fit(C).add_components(C, 1)
    assert model.components_.shape == (2, 12)
