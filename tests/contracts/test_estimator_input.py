"""Whatever the data comes in, the answer is the same; what cannot be taken is refused."""

from functools import cache

import dask
import dask.array
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from fitted_state import answer, differences
from loadstone import SparsePCA, SparsePCACV
from loadstone.covariance import ExplicitCovariance, covariance_of
from loadstone.covariance.containers import is_dask
from registry import containers, small_data, subjects

CONTAINERS = containers()
#: Which containers an estimator cannot work on, and the words it says so with.
REFUSED = {
    "SparsePCACV": ({"dask", "dask_sparse"}, "needs its rows in memory"),
    "svd_entropy": (
        {"csr_array", "csr_matrix", "csc_array", "dask", "dask_sparse"},
        "decomposes dense data",
    ),
}
#: What is needed beside a matrix of covariances, in place of data.
NO_COVARIANCE = {
    "SparsePCACV": "holds out samples",
    "svd_entropy": "decomposes samples",
}


def kind(model):
    """The name a table of refusals uses for this estimator."""
    return model.get_params().get("method") if is_entropy(model) else type(model).__name__


def is_entropy(model):
    return model.get_params().get("method") == "svd_entropy"


@pytest.fixture(autouse=True)
def one_thread():
    """Small blocks cost less in one thread than handing them over does."""
    with dask.config.set(scheduler="synchronous"):
        yield


@cache
def fitted(subject, dtype="float64"):
    return clone(subject).fit(small_data().astype(dtype))


def fit_or_refusal(subject, container, X, **parameters):
    """The fitted model; ``None`` once it has said why it does not take the container."""
    model = clone(subject).set_params(**parameters)
    refused, words = REFUSED.get(kind(subject), ((), ""))
    if kind(subject) == "SparsePCACV" and model.route != "data":
        # Folds of a Dask array are kept as covariances; only their rows would need memory.
        refused = ()
    if container not in refused:
        return model.fit(X)
    with pytest.raises(TypeError, match=words):
        model.fit(X)
    return None


def scores(model, X):
    found = model.transform(X)
    if is_dask(X):
        assert is_dask(found)
        found = found.compute()
    return found.toarray() if hasattr(found, "toarray") else np.asarray(found)


def cases():
    """All containers and routes for every estimator, a few of them for its other flavours."""
    few = [("f_order", "data"), ("memmap", "gram"), ("csr_array", "data"), ("dask", "gram")]
    seen = set()
    for subject in subjects():
        (model,) = subject.values
        first = type(model) not in seen
        seen.add(type(model))
        pairs = [(c, r) for c in CONTAINERS for r in ("gram", "data")] if first else few
        for container, route in pairs:
            yield pytest.param(model, container, route, id=f"{subject.id}-{container}-{route}")


@pytest.mark.parametrize(("subject", "container", "route"), list(cases()))
def test_containers_and_routes_agree(subject, container, route, tmp_path):
    X = CONTAINERS[container](small_data(), tmp_path)
    model, reference = fit_or_refusal(subject, container, X, route=route), fitted(subject)
    if model is None:
        return
    assert not differences(answer(reference), answer(model), 1e-7)
    expected = scores(reference, small_data())
    np.testing.assert_allclose(scores(model, X), expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("container", ["c_order", "memmap", "csr_array", "dask"])
@pytest.mark.parametrize("subject", subjects())
def test_single_precision_stays_single_and_agrees(subject, container, tmp_path):
    X = CONTAINERS[container](small_data().astype(np.float32), tmp_path)
    model, reference = fit_or_refusal(subject, container, X), fitted(subject)
    if model is None:
        return
    assert model.transform(X).dtype == np.float32
    if not hasattr(model, "components_"):
        np.testing.assert_array_equal(model.ranking_, reference.ranking_)
        return
    assert model.components_.dtype == np.float32
    np.testing.assert_array_equal(model.support_, reference.support_)
    np.testing.assert_allclose(model.components_, reference.components_, atol=1e-3)
    np.testing.assert_allclose(model.explained_variance_, reference.explained_variance_, rtol=1e-3)


@pytest.mark.parametrize("subject", subjects())
def test_whole_numbers_and_lists_are_data_too(subject):
    X = np.round(2 * small_data()).astype(int)
    reference = clone(subject).fit(X.astype(float))
    for given in (X.astype(np.int16), X.tolist(), X.astype(object)):
        model = clone(subject).fit(given)
        assert not differences(answer(reference), answer(model), 1e-9)
    assert scores(model, X).dtype.kind in "if"


@pytest.mark.parametrize("subject", subjects())
def test_what_is_masked_is_missing(subject):
    X = small_data()
    whole = clone(subject).fit(np.ma.masked_array(X, mask=np.zeros(X.shape, dtype=bool)))
    assert not differences(answer(fitted(subject)), answer(whole), 1e-9)
    X[3, 4] = 1e6
    masked = np.ma.masked_greater(X, 1e5)
    complete_only = subject.get_params().get("n_penalties") is not None
    if not subject.__sklearn_tags__().input_tags.allow_nan or complete_only:
        with pytest.raises(ValueError, match=r"1 masked value|missing values with n_penalties"):
            clone(subject).fit(masked)
        return
    X[3, 4] = np.nan
    model = clone(subject).fit(masked)
    assert not differences(answer(clone(subject).fit(X)), answer(model), 1e-9)
    np.testing.assert_allclose(model.transform(masked), model.transform(X))


@pytest.mark.parametrize("subject", subjects())
def test_sparse_data_frames_are_sparse_data(subject):
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(small_data()))
    model = fit_or_refusal(subject, "csr_array", frame)
    if model is not None:
        assert not differences(answer(fitted(subject)), answer(model), 1e-7)


@pytest.mark.parametrize("subject", subjects())
def test_data_frames_keep_their_names(subject):
    X = small_data()
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(12)], index=np.arange(60) + 100)
    model = clone(subject).fit(frame)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    without = {n: v for n, v in answer(model).items() if n != "feature_names_in_"}
    assert not differences(answer(fitted(subject)), without, 1e-9)
    names = model.get_feature_names_out()
    if hasattr(model, "components_"):
        name = type(model).__name__.lower()
        assert names.tolist() == [f"{name}{i}" for i in range(model.n_components_)]
    else:
        assert names.tolist() == list(frame.columns[model.support_])
    out = model.set_output(transform="pandas").transform(frame)
    assert out.columns.tolist() == names.tolist()
    assert out.index.equals(frame.index)
    np.testing.assert_allclose(out, fitted(subject).transform(X), atol=1e-9)
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame.rename(columns={"f0": "g0"}))
    with pytest.raises(ValueError, match="11 features, but"):
        fitted(subject).transform(X[:, 1:])


@pytest.mark.parametrize("subject", subjects())
def test_frames_of_polars_keep_their_names(subject):
    polars = pytest.importorskip("polars", reason="polars is not installed here")
    names = [f"f{i}" for i in range(12)]
    model = clone(subject).fit(polars.DataFrame(small_data(), schema=names))
    assert model.feature_names_in_.tolist() == names
    expected = clone(subject).fit(pd.DataFrame(small_data(), columns=names))
    assert not differences(answer(expected), answer(model), 1e-9)


@pytest.mark.parametrize("subject", subjects())
def test_weights_count_samples(subject):
    X, counts = small_data(), np.random.default_rng(0).integers(0, 4, 60)
    if is_entropy(subject):
        with pytest.raises(ValueError, match="no sample weights"):
            clone(subject).fit(X, sample_weight=counts)
        return
    if type(subject).__name__ == "SparsePCACV":
        # Copies of a row must be held out together, as a row of weight two is.
        folds = np.arange(60) % 3
        subject = clone(subject).set_params(cv=splits(folds))
        repeated = clone(subject).set_params(cv=splits(np.repeat(folds, counts)))
    else:
        repeated = clone(subject)
    weighted = clone(subject).fit(X, sample_weight=counts)
    repeated.fit(np.repeat(X, counts, axis=0))
    assert not differences(answer(repeated), answer(weighted), 1e-7)
    ones = clone(subject).fit(X, sample_weight=np.ones(60))
    assert not differences(answer(clone(subject).fit(X)), answer(ones), 1e-7)


def splits(folds):
    return [(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in range(3)]


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("subject", subjects())
def test_a_covariance_stands_for_its_data(subject, standardize):
    subject = clone(subject).set_params(standardize=standardize)
    X = small_data()
    S = np.cov(X.T)
    if kind(subject) in NO_COVARIANCE:
        with pytest.raises(TypeError, match=NO_COVARIANCE[kind(subject)]):
            subject.fit_covariance(S, n_samples=60)
        return
    of_data = answer(clone(subject).fit(X))
    if "mean_" in of_data:
        of_data["mean_"] = np.zeros(12)
    names = [f"f{i}" for i in range(12)]
    objects = [ExplicitCovariance(S, 60.0), ExplicitCovariance(S)]
    for given in [S] if standardize else [S.tolist(), *objects]:
        model = clone(subject).fit_covariance(given, n_samples=60)
        assert not differences(of_data, answer(model), 1e-7)
    with pytest.raises(ValueError, match="n_samples=50, but the covariance is one of 60"):
        clone(subject).fit_covariance(ExplicitCovariance(S, 60.0), n_samples=50)
    frame = pd.DataFrame(S, index=names, columns=names)
    model = clone(subject).fit_covariance(frame, n_samples=60)
    assert model.feature_names_in_.tolist() == names
    of_data["feature_names_in_"] = model.feature_names_in_
    assert not differences(of_data, answer(model), 1e-7)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("subject", subjects())
def test_a_covariance_that_knows_its_data_keeps_the_mean(subject, standardize):
    subject = clone(subject).set_params(standardize=standardize)
    if kind(subject) in NO_COVARIANCE:
        return
    X = small_data()
    of_data = clone(subject).fit(X)
    model = clone(subject).fit_covariance(covariance_of(X, route="data")[0])
    assert not differences(answer(of_data), answer(model), 1e-7)
    np.testing.assert_allclose(model.transform(X), of_data.transform(X), atol=1e-6)


def broken(name, place, value):
    """A sparse matrix whose arrays somebody has changed."""
    X = sparse.csr_array(small_data())
    array = getattr(X, name).copy()
    array[place] = value
    setattr(X, name, array)
    return X


BROKEN = [("indices", 0, 100), ("indices", 0, -1), ("indptr", -1, 10_000), ("indptr", 1, 7_000)]


@pytest.mark.parametrize("subject", subjects(), ids=str)
def test_sparse_matrices_that_lead_astray_are_refused(subject):
    # A product with them ends the process.
    for change in BROKEN:
        X = broken(*change)
        if not is_entropy(subject):
            with pytest.raises(ValueError, match="X is a broken sparse matrix"):
                clone(subject).fit(X)
        with pytest.raises(ValueError, match="X is a broken sparse matrix"):
            fitted(subject).transform(X)


def test_frames_that_were_not_read_are_refused():
    polars = pytest.importorskip("polars", reason="its frames need polars")
    with pytest.raises(TypeError, match=r"give X\.collect\(\)"):
        SparsePCA().fit(polars.DataFrame(small_data()).lazy())


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (float("nan"), "no finite number for sample 0, NaN"),
        (float("inf"), "no finite number for sample 0, inf"),
        (None, "no finite number for sample 0, NaN"),
        (pd.NA, "no finite number for sample 0, NaN"),
        (-2, "negative for sample 0, -2"),
        ("a", "holds 'a', which is no real number"),
        (1 + 2j, "which is no real number"),
    ],
)
def test_weights_that_are_no_numbers_of_samples_are_refused(weight, words):
    X = small_data()
    with pytest.raises(ValueError, match=words):
        SparsePCA().fit(X, sample_weight=[weight, *[1.0] * (len(X) - 1)])


def test_a_single_weight_is_one_for_all_samples():
    with pytest.raises(ValueError, match="no finite number"):
        SparsePCA().fit(small_data(), sample_weight=float("nan"))


def test_folds_of_unknown_length_are_refused_in_our_words():
    X = dask.array.from_array(small_data(), chunks=(5, -1))
    with pytest.raises(ValueError, match="chunks of unknown length"):
        SparsePCACV(cv=2).fit(X[X[:, 0] > -100])
