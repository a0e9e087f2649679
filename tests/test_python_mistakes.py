"""Fifty mistakes people make in Python: each message says the value, the rule and the way out."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

from loadstone import (
    NSPCA,
    FeatureSelector,
    GreedyPCA,
    ProbabilisticPCA,
    SparseNoisyPCA,
    SparsePCA,
    SparsePCACV,
    SparseProbabilisticPCA,
    cardinality_path,
    certify,
    load_model,
    read_table,
    report,
    stability_selection,
    suggest_cardinality,
)
from loadstone.constraints import Groups, Signs
from loadstone.metrics import adjusted_variance, recovered_variance
from loadstone.plotting import plot_images

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 6)) @ RNG.standard_normal((6, 6))
FRAME = pd.DataFrame(X, columns=["alcohol", "ash", "hue", "proline", "phenols", "magnesium"])


def frame_with(value, *places):
    bad = FRAME.copy()
    for i, name in places:
        bad.loc[i, name] = value
    return bad


def adata():
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    return anndata.AnnData(X)


HOLES = frame_with(np.nan, (3, "ash"), (4, "ash"), (7, "hue"))
#: What is done, and the words for the value, the rule and the way out.
MISTAKES = {
    "nan": (
        lambda: SparsePCA().fit(HOLES),
        ["3 time", "'ash', 'hue'", "NaN", "SparseProbabilisticPCA"],
    ),
    "nan_in_transform": (
        lambda: SparsePCA(n_nonzero=2).fit(FRAME).transform(HOLES),
        ["3 time", "'ash', 'hue'", "SimpleImputer"],
    ),
    "nan_in_sparse": (
        lambda: SparsePCA().fit(sparse.csr_array(HOLES.to_numpy())),
        ["3 time", "feature.s. 1, 2", "ProbabilisticPCA"],
    ),
    "infinity": (
        lambda: SparsePCA().fit(frame_with(np.inf, (2, "hue"))),
        ["1 time", "infinity", "'hue'", "replace it by a number"],
    ),
    "infinity_where_nan_is_allowed": (
        lambda: ProbabilisticPCA(1).fit(frame_with(-np.inf, (2, "hue"))),
        ["infinity", "'hue'", "by NaN where the value is missing"],
    ),
    "alpha": (lambda: SparsePCA(alpha=1), ["SparsePCA", "'alpha'", "n_nonzero=10"]),
    "misspelt_parameter": (
        lambda: SparsePCA(n_componentz=2),
        ["'n_componentz'", "unexpected keyword", "did you mean n_components?"],
    ),
    "scanpys_parameter": (
        lambda: SparsePCA(n_comps=2),
        ["'n_comps'", "n_components says how many"],
    ),
    "positive": (lambda: GreedyPCA(positive=True), ["'positive'", "nonnegative=True"]),
    "scale": (lambda: SparsePCA(scale=True), ["'scale'", "standardize=True"]),
    "a_share_of_a_joint_method": (
        lambda: NSPCA(0.9).fit(X),
        ["n_components=0.9", "an int in the range", "such as SparsePCA"],
    ),
    "a_share_of_a_model": (
        lambda: ProbabilisticPCA(0.9).fit(X),
        ["n_components=0.9", "an int in the range", "such as SparsePCA"],
    ),
    "no_components": (
        lambda: SparsePCA(0).fit(X),
        ["n_components=0", r"\[1, inf\)", "give an int"],
    ),
    "a_number_that_is_learned": (
        lambda: SparsePCA("cv").fit(X),
        ["n_components='cv'", "give an int", "SparseProbabilisticPCA and SparseNoisyPCA take"],
    ),
    "a_number_left_to_the_method": (
        lambda: SparsePCA("auto").fit(X),
        ["n_components='auto'", "give an int", "SparseProbabilisticPCA and SparseNoisyPCA take"],
    ),
    "all_features_in_words": (
        lambda: SparsePCA(n_nonzero="all").fit(X),
        ["n_nonzero='all'", "n_nonzero=None uses all features"],
    ),
    "certify_true": (
        lambda: SparsePCA(certify=True).fit(X),
        ["certify=True", "'full', 'instant'", "certify='standard'"],
    ),
    "misspelt_effort": (
        lambda: SparsePCA(certify="standart").fit(X),
        ["certify='standart'", "'instant'", "did you mean 'standard'?"],
    ),
    "misspelt_orthogonality": (
        lambda: SparsePCA(orthogonality="uncorelated").fit(X),
        ["orthogonality='uncorelated'", "'disjoint'", "did you mean 'uncorrelated'?"],
    ),
    "misspelt_feature": (
        lambda: SparsePCA(n_nonzero=2, forbidden=["prolin"]).fit(FRAME),
        [r"forbidden=\['prolin'\]", "X does not have", "did you mean 'proline'?"],
    ),
    "names_without_names": (
        lambda: SparsePCA(n_nonzero=2, forced=["hue"]).fit(X),
        [r"forced=\['hue'\]", "X has none", "use indices, or fit a data frame"],
    ),
    "adata": (
        lambda: SparsePCA().fit(adata()),
        ["AnnData", "adata.X", "loadstone.anndata.sparse_pca"],
    ),
    "too_many_features": (
        lambda: SparsePCA(n_nonzero=10).fit(X),
        ["n_nonzero=10", "between 1 and n_features=6", "None for all"],
    ),
    "a_size_in_quotes": (
        lambda: SparsePCA(n_nonzero="5").fit(X),
        ["n_nonzero='5'", "give 'auto', None, a number or an array-like"],
    ),
    "yes_for_true": (
        lambda: SparsePCA(nonnegative="yes").fit(X),
        ["nonnegative='yes'", "give True or False"],
    ),
    "percent_of_features": (
        lambda: SparsePCA(n_nonzero=20.0).fit(X),
        ["n_nonzero=20.0", "whole number", r"fraction in \(0, 1\]"],
    ),
    "a_report_of_something_else": (
        lambda: report(PCA(2).fit(X), X),
        ["estimator of loadstone, which PCA is not", "fit SparsePCA"],
    ),
    "a_report_of_data": (
        lambda: report(FRAME, SparsePCA(n_nonzero=2).fit(FRAME)),
        ["estimator is a DataFrame", "estimator first", "then the data"],
    ),
    "data_for_a_shape": (
        lambda: plot_images(SparsePCA(n_nonzero=2).fit(FRAME), FRAME),
        ["image_shape=a DataFrame", "6 features", "give height and width"],
    ),
    "a_report_of_selected_features": (
        lambda: report(FeatureSelector(2).fit(X), X),
        ["which FeatureSelector is not"],
    ),
    "loadings_in_rows": (
        lambda: recovered_variance(np.cov(X.T), np.ones((2, 6))),
        [r"loadings of shape \(2, 6\) for 6 features", r"components_\.T"],
    ),
    "a_list_for_a_covariance": (
        lambda: adjusted_variance(np.cov(X.T).tolist(), np.ones((6, 2))),
        ["S is a list, no covariance", "give an array"],
    ),
    "draws_below_zero": (
        lambda: ProbabilisticPCA(2).fit(X).sample(-1),
        ["n_samples=-1", "whole number of draws"],
    ),
    "more_draws_than_fit": (
        lambda: ProbabilisticPCA(2).fit(X).sample(10**12),
        ["n_samples=1000000000000", "GiB of memory", "draw fewer"],
    ),
    "samples_in_another_unit": (
        lambda: ProbabilisticPCA(2).fit(X).score(X * 1e200),
        [r"20 sample\(s\)", "squares of their values overflow", "check their unit"],
    ),
    "columns_of_one_name": (
        lambda: SparsePCA().fit(FRAME.set_axis(["a", "b", "a", "c", "d", "e"], axis=1)),
        ["1 column name", "more than once: 'a'", "rename them"],
    ),
    "a_dict_of_columns": (
        lambda: SparsePCA().fit({"a": [1, 2], "b": [3, 4]}),
        ["a dict of 2 key", "pandas.DataFrame"],
    ),
    "dates": (
        lambda: SparsePCA().fit(X.astype("M8[D]")),
        [r"datetime64\[D\]", "dates are no numbers", "difference"],
    ),
    "records": (
        lambda: SparsePCA().fit(np.zeros(5, dtype=[("a", float), ("b", float)])),
        ["records are no numbers", "structured_to_unstructured"],
    ),
    "objects": (
        lambda: SparsePCA().fit(np.array([[1.0, {}], [2.0, 3.0]], dtype=object)),
        ["X holds more than numbers", "not 'dict'", "leave other values out"],
    ),
    "numbers_whose_squares_vanish": (
        lambda: SparsePCA().fit(X * 1e-300),
        ["none of the 6 feature", "rescale it: the squares of numbers near .*e-", "vanish"],
    ),
    "an_endless_list_of_sizes": (
        lambda: cardinality_path(X, range(1, 10**9)),
        [r"range\(1, 1000000000\) has more than 100000 values", "give fewer"],
    ),
    "an_endless_list_of_features": (
        lambda: SparsePCA(n_nonzero=2, forbidden=range(10**9)).fit(X),
        ["forbidden=range", "give fewer"],
    ),
    "endless_sizes_of_components": (
        lambda: SparsePCA(2, n_nonzero=range(10**9)).fit(X),
        ["n_nonzero=range", "give fewer"],
    ),
    "endless_numbers_of_components": (
        lambda: SparseNoisyPCA(range(1, 10**9)).fit(X),
        ["n_components=range", "give fewer"],
    ),
    "text_column": (
        lambda: SparsePCA().fit(FRAME.assign(kind="red")),
        ["'kind'", "hold no numbers", "select_dtypes"],
    ),
    "one_dimension": (
        lambda: SparsePCA().fit(X[:, 0]),
        ["Expected 2D array, got 1D array instead; Reshape your data", r"X.reshape\(-1, 1\)"],
    ),
    "one_dimension_for_a_report": (
        lambda: report(SparsePCA(n_nonzero=2).fit(X), X[:, 0]),
        ["got 1D array instead; Reshape your data"],
    ),
    "complex_numbers_in_lists": (
        lambda: SparsePCA().fit([[1j, 2.0], [3.0, 4.0]]),
        ["Complex data not supported", "take X.real"],
    ),
    "one_sample": (
        lambda: SparsePCA().fit(X[:1]),
        ["1 sample", "minimum of 2", "give more samples"],
    ),
    "not_fitted": (lambda: SparsePCA().transform(X), ["SparsePCA", "not fitted yet", "Call 'fit'"]),
    "other_features": (
        lambda: SparsePCA(n_nonzero=2).fit(FRAME).transform(FRAME.rename(columns={"ash": "asche"})),
        ["asche", "unseen|should match", "ash"],
    ),
    "covariance_as_data_forgotten": (
        lambda: SparsePCA().fit_covariance(X),
        [r"\(20, 6\)", "square", "fit"],
    ),
    "weights_of_another_length": (
        lambda: SparsePCA().fit(X, sample_weight=np.ones(5)),
        [r"\(5,\)", "20 samples", "one weight for each"],
    ),
    "scores_of_another_model": (
        lambda: SparsePCA(2, n_nonzero=2).fit(X).inverse_transform(X),
        [r"\(20, 6\)", "2 component", "what transform returned"],
    ),
    "no_such_file": (
        lambda: read_table("not_here.csv"),
        ["there is no file not_here.csv", "check its name"],
    ),
    "no_such_model": (lambda: load_model("not_here.npz"), ["not_here.npz"]),
    "raw_units": (
        lambda: SparsePCA(n_nonzero=2).fit(FRAME.assign(proline=1000 * FRAME["proline"])),
        ["factor of", "the largest decide", "standardize=True"],
    ),
    "both_data_and_covariance": (
        lambda: cardinality_path(X, covariance=np.eye(6)),
        ["either X or covariance", "not both"],
    ),
    "a_bad_path": (
        lambda: cardinality_path(X, effort="hard"),
        ["effort='hard'", "'balanced', 'fast' or 'thorough'"],
    ),
    "a_component_of_another_size": (
        lambda: certify(X, np.ones(3)),
        ["3", "6"],
    ),
    "selecting_too_many": (lambda: FeatureSelector(9).fit(X), ["9", "6"]),
    "all_sizes_too_large": (
        lambda: SparsePCACV(1, n_nonzeros=[50]).fit(X),
        ["50", "6"],
    ),
    "a_name_in_place_of_data": (
        lambda: SparsePCA().fit("wine.csv"),
        ["'wine.csv'", "a name and no data", "read_table"],
    ),
    "nothing": (lambda: SparsePCA().fit(None), ["X is None", "samples in rows"]),
    "words": (
        lambda: SparsePCA().fit([["a", "b"], ["c", "d"]]),
        ["'a'", "features are numbers", "encode them"],
    ),
    "complex_numbers": (lambda: SparsePCA().fit(X + 1j), ["Complex", "take X.real"]),
    "images_in_three_dimensions": (
        lambda: SparsePCA().fit(X.reshape(5, 4, 6)),
        ["dim 3", "dim <= 2", r"X.reshape\(len\(X\), -1\)"],
    ),
    "no_columns": (lambda: SparsePCA().fit(X[:, :0]), ["0 feature", "at least one column"]),
    "negative_weights": (
        lambda: SparsePCA().fit(X, sample_weight=np.linspace(1, -1, 20)),
        ["negative for sample 10", "-0.0", "at least 0"],
    ),
    "a_word_for_a_constraint": (
        lambda: SparsePCA(constraint="groups").fit(X),
        ["constraint='groups'", "loadstone.constraints.Groups"],
    ),
    "signs_without_features": (
        lambda: SparsePCA(constraint=Signs([1, -1, 0, 0, 0, 0])).fit(X),
        [r"Signs\(\[1, -1", "which feature has which sign", "'income': \\+1"],
    ),
    "groups_of_other_data": (
        lambda: SparsePCA(constraint=Groups([0, 0, 1], n_groups=1)).fit(X),
        ["3 features", "6", "agree"],
    ),
    "sizes_for_some_components": (
        lambda: SparsePCA(3, n_nonzero=[2, 3]).fit(X),
        ["2 values", "n_components=3", "one per component"],
    ),
    "forced_and_forbidden": (
        lambda: SparsePCA(n_nonzero=2, forced=[0], forbidden=[0]).fit(X),
        [r"\[0\]", "both forced and forbidden", "choose one"],
    ),
    "more_forced_than_fit_in": (
        lambda: SparsePCA(n_nonzero=1, forced=[0, 1]).fit(X),
        ["2 features", "n_nonzero=1", "at least 2"],
    ),
    "everything_forbidden": (
        lambda: SparsePCA(n_nonzero=2, forbidden=range(6)).fit(X),
        ["all 6", "forbidden", "allow at least one"],
    ),
    "data_that_does_not_vary": (
        lambda: SparsePCA().fit(np.ones((5, 3))),
        ["none of the 3", "varies", "check that"],
    ),
    "no_covariance": (
        lambda: SparsePCA().fit_covariance(np.diag([1.0, 1.0, -1.0])),
        ["down to -1", "no covariance", "fit the data"],
    ),
    "a_share_in_per_cent": (
        lambda: SparsePCA(target=90).fit(X),
        ["target=90", r"\(0.0, 1.0\]"],
    ),
    "a_seed_in_words": (
        lambda: SparsePCA(random_state="zero").fit(X),
        ["random_state='zero'", "an int"],
    ),
    "a_model_for_a_path": (
        lambda: suggest_cardinality(SparsePCA(n_nonzero=2).fit(X)),
        ["from a path", "SparsePCA", r"cardinality_path\(X\)"],
    ),
    "more_folds_than_samples": (
        lambda: SparsePCACV(1, cv=50).fit(X),
        ["cv=50", "n_samples=20", "fewer folds"],
    ),
    "a_threshold_that_proves_nothing": (
        lambda: stability_selection(SparsePCA(n_nonzero=2), X, threshold=0.4),
        ["threshold=0.4", r"\(0.5, 1\]"],
    ),
    "an_unknown_rule": (
        lambda: suggest_cardinality(cardinality_path(X), rule="elbow"),
        ["rule='elbow'", "'knee'"],
    ),
    "a_model_with_a_size": (
        lambda: SparseProbabilisticPCA(n_nonzero=3),
        ["'n_nonzero'", "unexpected keyword", "SparsePCA takes the number"],
    ),
}


def said_by(call):
    """What a person reads: the error, or the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except (ImportError, LookupError, MemoryError, OSError, TypeError, ValueError) as error:
            return str(error)
    return " ".join(str(warning.message) for warning in caught)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_lead_on(mistake):
    call, words = MISTAKES[mistake]
    said = said_by(call)
    for word in words:
        assert re.search(word, said), said
    assert "HistGradientBoosting" not in said
    assert len(said) < 500
