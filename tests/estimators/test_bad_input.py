"""Errors that say the value, the rule and the way out; and nothing lost on the way."""

from pathlib import Path

import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from loadstone import EMPCA, SparsePCA
from loadstone.covariance import ExplicitCovariance
from registry import sequential_estimators

X = np.random.default_rng(0).standard_normal((20, 6))


def with_value(value):
    bad = X.copy()
    bad[3, 2] = value
    return bad


BAD_DATA = {
    "nan": (with_value(np.nan), "NaN"),
    "inf": (with_value(np.inf), "infinity"),
    "complex": (X * 1j, "[Cc]omplex"),
    "empty": (np.empty((0, 6)), "0 sample"),
    "no_features": (np.empty((5, 0)), "0 feature"),
    "one_sample": (X[:1], "minimum of 2"),
    "all_zero": (np.zeros((5, 3)), "varies"),
    "all_constant": (np.full((5, 3), 7.0), "varies"),
    "huge_values": (X * 1e120, "rescale"),
    "tiny_values": (X * 1e-120, "rescale"),
    "strings": (np.array([["a", "b"], ["c", "d"]]), "numeric|float|string"),
    "ragged": ([[1, 2], [3]], "ragged"),
    "one_dimension": (X[:, 0], "2D"),
    "three_dimensions": (X[None], "dim"),
    "text_column": (pd.DataFrame({"height": [1.0, 2, 3], "name": ["a", "b", "c"]}), "name"),
    "object_column": (
        pd.DataFrame({"h": [1.0, 2], "who": np.array(["a", "b"], dtype=object)}, dtype=object),
        "who",
    ),
    "arrow_text": (pa.table({"h": [1.0, 2.0], "kind": ["a", "b"]}), "kind"),
    "category": (pd.DataFrame({"h": [1.0, 2], "kind": pd.Categorical(["a", "b"])}), "kind"),
    "dask_nan": (da.from_array(with_value(np.nan), chunks=(5, 6)), "NaN.*feature.*2"),
    "dask_text": (da.from_array(np.array([["a", "b"]] * 4), chunks=2), "real numbers"),
    "dask_one_dimension": (da.from_array(X[:, 0], chunks=5), "2D"),
    "sparse_nan": (sparse.csr_array(with_value(np.nan)), "NaN"),
}


@pytest.mark.parametrize("cls", sequential_estimators())
@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_is_refused(cls, case):
    bad, message = BAD_DATA[case]
    with pytest.raises((ValueError, TypeError), match=message):
        cls().fit(bad)


BAD_PARAMETERS = [
    ({"n_nonzero": 0}, "between 1 and n_features=6"),
    ({"n_nonzero": 7}, "between 1 and n_features=6"),
    ({"n_nonzero": -2}, "between 1"),
    ({"n_nonzero": 0.0}, "fraction"),
    ({"n_nonzero": 1.5}, "fraction"),
    ({"n_nonzero": True}, "whole number"),
    ({"n_nonzero": [2, 3]}, "2 values for n_components=1"),
    ({"n_nonzero": "three"}, "n_nonzero"),
    ({"n_components": 0}, "n_components"),
    ({"n_components": 1.5}, "n_components"),
    ({"deflation": "magic"}, "deflation"),
    ({"orthogonality": "magic"}, "orthogonality"),
    ({"route": "magic"}, "route"),
    ({"forced": [0, 1, 2], "n_nonzero": 2}, "raise n_nonzero"),
    ({"forced": [0], "forbidden": [0], "n_nonzero": 2}, "both forced and forbidden"),
    ({"forced": [9], "n_nonzero": 2}, "indices go from 0 to 5"),
    ({"forced": ["height"], "n_nonzero": 2}, "X has none"),
    ({"forbidden": [0, 1, 2, 3, 4, 5]}, "all 6 features are forbidden"),
    ({"forbidden": np.array([True, False])}, "mask of length 2"),
]


@pytest.mark.parametrize("cls", sequential_estimators())
@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS, ids=str)
def test_bad_parameters_are_refused(cls, parameters, message):
    # A spannogram cannot force features, and has no parameter that would promise it.
    if not set(parameters) <= set(cls().get_params()):
        message, refusal = "unexpected keyword", TypeError
    else:
        refusal = (ValueError, TypeError)
    with pytest.raises(refusal, match=message):
        cls(**parameters).fit(X)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(20), "[Nn]egative"),
        (np.zeros(20), "zero|sum"),
        (np.full(20, 0.05), "sum to"),
        (np.full(20, 1e160), "Divide them"),
        (np.ones(19), "shape|length"),
        (np.full(20, np.nan), "NaN"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        SparsePCA().fit(X, sample_weight=weights)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), "square"),
        (np.array([[1.0, 0.5], [0.2, 1.0]]), "not symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "not positive semi-definite"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "NaN"),
        (np.zeros((3, 3)), "zero throughout"),
        (np.array([["a", "b"], ["c", "d"]]), "real numbers"),
    ],
)
def test_bad_covariances_are_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        SparsePCA().fit_covariance(matrix)


def test_n_samples_of_a_covariance_is_checked():
    with pytest.raises(ValueError, match="n_samples=1"):
        SparsePCA().fit_covariance(np.eye(3), n_samples=1)


def test_constant_features_are_never_selected_and_told_once():
    data = X.copy()
    data[:, [1, 4]] = 3.0
    with pytest.warns(UserWarning, match=r"2 constant feature\(s\).*1, 4") as caught:
        model = SparsePCA(2, n_nonzero=4).fit(data)
    assert len(caught) == 1
    assert not model.components_[:, [1, 4]].any()
    with pytest.warns(UserWarning, match="constant"), pytest.raises(ValueError, match="constant"):
        SparsePCA(n_nonzero=2, forced=[1]).fit(data)


def test_too_many_components_stop_early():
    low_rank = np.outer(np.arange(10.0), [1, 2, 3]) + 0.0
    with pytest.warns(UserWarning, match="fewer than asked for"):
        model = SparsePCA(3, n_nonzero=2, orthogonality="none").fit(low_rank)
    assert 1 <= model.n_components_ < 3
    assert np.isfinite(model.components_).all()
    with pytest.warns(UserWarning, match="every feature is used"):
        model = SparsePCA(4, n_nonzero=3, orthogonality="disjoint").fit(X)
    assert model.n_components_ == 2
    with pytest.warns(UserWarning, match="fewer than asked for"):
        model = SparsePCA(5).fit(low_rank)
    assert model.n_components_ == 1


def test_data_is_never_modified():
    for data in (X.copy(), X.astype(np.float32), np.asfortranarray(X)):
        before = data.copy()
        SparsePCA(2, n_nonzero=2, standardize=True).fit(data).transform(data)
        np.testing.assert_array_equal(data, before)


@pytest.mark.parametrize("fitted_before", [False, True])
def test_an_interrupted_fit_leaves_no_half_fitted_estimator(monkeypatch, fitted_before):
    model = SparsePCA(2, n_nonzero=2)
    if fitted_before:
        model.fit(X)
    before = dict(vars(model))

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("loadstone.estimators.sequential.extract", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :4])
    assert vars(model) == before


def test_forced_and_forbidden_by_index_mask_and_name():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    by_name = SparsePCA(2, n_nonzero=3, forced=["b"], forbidden=["a", "f"]).fit(frame)
    mask = np.array([True, False, False, False, False, True])
    by_index = SparsePCA(2, n_nonzero=3, forced=[1], forbidden=mask).fit(X)
    np.testing.assert_allclose(by_name.components_, by_index.components_, atol=1e-12)
    assert by_name.components_[:, 1].all()
    assert not by_name.components_[:, [0, 5]].any()
    with pytest.raises(ValueError, match="does not have"):
        SparsePCA(n_nonzero=3, forced="z").fit(frame)


def test_transform_checks_its_input():
    model = SparsePCA(2, n_nonzero=2).fit(X)
    with pytest.raises(ValueError, match="features"):
        model.transform(X[:, :3])
    with pytest.raises(ValueError, match="transform returned"):
        model.inverse_transform(X)


def test_large_means_do_not_cost_digits():
    shifted = X + 1e7
    for route in ("gram", "data"):
        model = SparsePCA(2, n_nonzero=3, route=route).fit(shifted)
        exact = SparsePCA(2, n_nonzero=3).fit(X)
        np.testing.assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=1e-6)


def test_the_sparse_gram_of_nearly_constant_data_keeps_its_digits():
    data = X[:, :3] * 1e-3 + 100
    dense = SparsePCA(n_nonzero=2).fit(data)
    found = SparsePCA(n_nonzero=2, route="gram").fit(sparse.csr_array(data))
    np.testing.assert_allclose(found.components_, dense.components_, rtol=1e-6)
    np.testing.assert_allclose(found.explained_variance_, dense.explained_variance_, rtol=1e-6)


def test_warm_start_reuses_the_first_component():
    model = EMPCA(n_nonzero=2, warm_start=True).fit(X)
    cached = model.first_component_
    values = [model.set_params(n_nonzero=k).fit(X).marginal_variance_[0] for k in (2, 3, 4)]
    assert model.first_component_ is cached
    fresh = [EMPCA(n_nonzero=k).fit(X).marginal_variance_[0] for k in (2, 3, 4)]
    np.testing.assert_allclose(values, fresh)


def test_a_mask_means_missing_and_is_never_dropped():
    from loadstone import SparsePCA, SparseProbabilisticPCA

    X = np.random.default_rng(0).standard_normal((30, 4))
    X += 5 * X[:, :1]
    masked = np.ma.array(X, mask=np.zeros(X.shape, dtype=bool))
    np.testing.assert_array_equal(
        SparsePCA(n_nonzero=2).fit(masked).components_, SparsePCA(n_nonzero=2).fit(X).components_
    )
    masked[3, 1] = np.ma.masked
    with pytest.raises(ValueError, match=r"1 masked value.*filled"):
        SparsePCA(n_nonzero=2).fit(masked)
    holes = np.where(masked.mask, np.nan, X)
    np.testing.assert_array_equal(
        SparseProbabilisticPCA(1).fit(masked).components_,
        SparseProbabilisticPCA(1).fit(holes).components_,
    )
    square = np.ma.array(np.cov(X.T), mask=np.eye(4, dtype=bool))
    with pytest.raises(ValueError, match="masked"):
        SparsePCA(n_nonzero=2).fit_covariance(square)


@pytest.mark.parametrize("route", ["gram", "data", "wide"])
@pytest.mark.parametrize("container", ["array", "dask", "csr"])
@pytest.mark.parametrize(("scale", "dtype"), [(1e160, "f8"), (1e307, "f8"), (1e30, "f4")])
def test_an_overflow_is_called_one_and_comes_without_warnings(scale, dtype, container, route):
    from fuzz.inputs import CONTAINERS
    from loadstone import SparsePCA

    X = (np.random.default_rng(0).standard_normal((30, 4)) * scale).astype(dtype)
    # Warnings are errors in these tests.
    with pytest.raises(ValueError, match=r"rescale X|too large") as caught:
        SparsePCA(n_nonzero=2, route=route).fit(CONTAINERS[container](X))
    # Values that are read with the sums may be anything.
    assert "NaN" not in str(caught.value) or container == "dask"


def test_a_covariance_that_overflows_is_refused_and_leaves_the_one_before():
    from loadstone import SampleCovariance

    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="overflow; rescale X"):
        SampleCovariance.of(rng.standard_normal((30, 4)) * 1e200)
    kept = SampleCovariance.of(rng.standard_normal((30, 4)))
    before = kept.scatter.copy()
    with pytest.raises(ValueError, match="overflow; rescale X"):
        kept.partial_fit(np.full((1, 4), 1e200))
    np.testing.assert_array_equal(kept.scatter, before)


@pytest.mark.parametrize(
    ("value", "seen", "said"),
    [
        # Whose mean overflows has values near the largest number, or none where nobody has looked.
        (1e308, True, r"squares of feature\(s\) 1 overflow"),
        (1e308, False, r"NaN or infinity \(or values too large for float64\) in feature\(s\) 1"),
        (1e200, True, r"squares of feature\(s\) 1 overflow"),
        (1e200, False, r"squares of feature\(s\) 1 overflow"),
        (np.nan, False, r"NaN or infinity .* in feature\(s\) 1"),
    ],
)
def test_what_is_said_of_sums_that_are_not_finite(value, seen, said):
    from loadstone.covariance.checks import refuse_not_finite

    X = np.array([[1.0, value], [2.0, value], [4.0, -value / 2]])
    with np.errstate(all="ignore"):
        mean, variance = X.mean(axis=0), (X**2).mean(axis=0)
    assert refuse_not_finite(mean[:1], variance[:1], None, seen=seen) is None
    with pytest.raises(ValueError, match=said):
        refuse_not_finite(mean, variance, None, seen=seen)


@pytest.mark.parametrize("sizes", [[2, "auto"], ["auto", 2], ["auto", "auto"], (0.5, "all")])
def test_words_are_no_sizes_of_single_components(sizes):
    from loadstone import SparsePCA

    with pytest.raises(ValueError, match="'auto' chooses one size for all components"):
        SparsePCA(2, n_nonzero=sizes).fit(np.random.default_rng(0).standard_normal((9, 4)))


def test_infinities_of_both_signs_are_refused_without_warnings():
    from loadstone import SparsePCA

    X = np.array([[np.inf, 1.0], [-np.inf, 2.0], [0.0, 3.0]])
    with pytest.raises(ValueError, match="contains infinity, 2 time"):
        SparsePCA(n_nonzero=1).fit(X)


@pytest.mark.parametrize(
    ("entry", "said"), [(np.nan, "contains NaN"), (9.0, "not symmetric")], ids=["NaN", "asymmetric"]
)
def test_a_covariance_object_is_checked_like_its_matrix(entry, said):
    matrix = np.eye(3)
    matrix[0, 1] = entry
    with pytest.raises(ValueError, match=said):
        SparsePCA(n_nonzero=2).fit_covariance(ExplicitCovariance(matrix))


@pytest.mark.parametrize("X", ["data.csv", b"data.csv", Path("data.csv")], ids=repr)
def test_the_name_of_a_file_is_no_data(X):
    with pytest.raises(TypeError, match="read_table"):
        SparsePCA(n_nonzero=1).fit(X)


@pytest.mark.parametrize("dtype", [object, str])
def test_an_array_of_text_is_called_one(dtype):
    X = np.array([["1", "b"], ["2", "3"], ["4", "5"]], dtype=dtype)
    with pytest.raises(ValueError, match=r"'b'.*features are numbers"):
        SparsePCA(n_nonzero=1).fit(X)


def test_a_forced_feature_of_no_use_to_the_first_component_may_serve_the_second():
    from loadstone import ExactSparsePCA

    # Feature 1 falls where the others rise: with loadings of one sign it gets none.
    z, e = np.random.default_rng(0).standard_normal((2, 30))
    X = np.column_stack([z, e - z, z + 0.1 * e, e])
    how = {"nonnegative": True, "orthogonality": "disjoint", "forced": [1]}
    W = ExactSparsePCA(2, **how).fit(X).components_
    assert not (W[0] * W[1]).any()


def test_a_sample_beyond_all_numbers_has_no_score():
    from loadstone import SparsePCA

    X = np.random.default_rng(0).standard_normal((30, 4)) * [3, 2, 0.1, 0.1]
    model = SparsePCA(n_nonzero=2).fit(X)
    # Its distance overflows in a feature that no component uses.
    far = X.copy()
    far[0, np.flatnonzero(model.components_[0] == 0)[0]] = 1e200
    with pytest.raises(ValueError, match="its squares overflow"), np.errstate(over="ignore"):
        model.score(far)
