"""Public functions answer plausible mistakes in a sentence, not from somewhere inside."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from loadstone import ExactSparsePCA, SparsePCA, cross_validated_recovery, metrics
from loadstone.certificates import CertificateError

X = np.random.default_rng(0).normal(size=(30, 6))
MODEL = SparsePCA(2, n_nonzero=3).fit(X)


def _plot(name):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib").use("Agg")
    from loadstone import plotting

    return getattr(plotting, name)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("plot_criterion", (MODEL,), "SparsePCA has no criterion_; give a fitted SparseNoisyPCA"),
        ("plot_spannogram", (MODEL,), "give SpannogramPCA"),
        ("plot_variance_path", ([1, 2],), "give what cardinality_path returns"),
        ("plot_roc", ([0, 1], [0.1, 0.2]), "scores by name"),
        ("plot_roc", ([0, 1], {"a": [0.1, np.nan]}), "1 of 2 scores are NaN"),
        ("plot_images", (MODEL, (2, 3), []), "no component"),
        ("plot_scree", (MODEL, X * 1e200), "overflow"),
        ("plot_loadings", (X,), "estimator is a ndarray; give the fitted estimator first"),
        ("plot_scores", (X, X), "estimator is a ndarray; give the fitted estimator first"),
        ("plot_images", (X, (2, 3)), "estimator is a ndarray; give the fitted estimator first"),
    ],
)
def test_pictures_say_what_they_draw(name, arguments, words):
    with pytest.raises((TypeError, ValueError), match=words):
        _plot(name)(*arguments)


def test_images_stand_in_columns():
    with pytest.raises(ValueError, match="n_columns=0 must be at least 1"):
        _plot("plot_images")(MODEL, (2, 3), n_columns=0)


def test_held_out_recovery_needs_a_fit():
    with pytest.raises(NotFittedError):
        cross_validated_recovery(SparsePCA(2), X)


@pytest.mark.parametrize(
    ("S", "words"), [(X, "not X"), (X.tolist(), "list, no covariance"), (X[0], "square")]
)
def test_the_total_variance_is_that_of_a_covariance(S, words):
    with pytest.raises((TypeError, ValueError), match=words):
        metrics.total_variance(S)


@pytest.mark.filterwarnings("error")
def test_certificates_are_not_checked_against_what_overflows():
    certificate = ExactSparsePCA(1, n_nonzero=2).fit(X).certificates_[0]
    with pytest.raises(CertificateError, match="overflow"):
        certificate.verify(X * 1e200)


def test_data_in_place_of_a_model_is_named_and_not_printed():
    with pytest.raises(TypeError, match="estimator is a ndarray; give the fitted estimator first"):
        cross_validated_recovery(X, X)
