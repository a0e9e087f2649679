"""Thirty mistakes people make in Python: each message says the value, the rule and the way out."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from loadstone import (
    NSPCA,
    FeatureSelector,
    GreedyPCA,
    ProbabilisticPCA,
    SparsePCA,
    SparsePCACV,
    SparseProbabilisticPCA,
    cardinality_path,
    certify,
    load_model,
    read_table,
)

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
    "percent_of_features": (
        lambda: SparsePCA(n_nonzero=20.0).fit(X),
        ["n_nonzero=20.0", "whole number", r"fraction in \(0, 1\]"],
    ),
    "text_column": (
        lambda: SparsePCA().fit(FRAME.assign(kind="red")),
        ["'kind'", "hold no numbers", "select_dtypes"],
    ),
    "one_dimension": (lambda: SparsePCA().fit(X[:, 0]), ["1D array", "2D array", "Reshape"]),
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
        except (ImportError, LookupError, OSError, TypeError, ValueError) as error:
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
