"""Ulfarsson & Solo: the model and the search of the paper still give its numbers."""

import numpy as np
import pytest

from loadstone import SparseNoisyPCA
from loadstone.datasets.make_noisy_factors import make_disjoint_factors, make_overlapping_shapes
from loadstone.metrics.recovery import angles, probability_of_error, same_support
from real_data import nci60


def simulation1(criterion, n_seeds=30):
    """Right numbers of components, exact supports, mean angles over seeds."""
    sizes = exact = 0
    found = []
    for seed in range(500, 500 + n_seeds):
        X, truth = make_disjoint_factors(random_state=seed)
        model = SparseNoisyPCA.as_published(penalty=criterion).fit(X)
        sizes += model.n_components_ == 2
        exact += same_support(model.components_.T, truth)
        found.append(angles(model.components_.T, truth))
    return sizes, exact, np.mean(found, axis=0)


@pytest.mark.papers
def test_bic_lets_loadings_in_and_its_extension_does_not():
    # The paper has BIC right in 10 of 10; on other draws it is right in two of three.
    _, exact, _ = simulation1("bic")
    assert 11 <= exact <= 25
    sizes, exact, degrees = simulation1("ebic")
    assert sizes == 30
    assert exact >= 28
    # Printed are 2.15 and 3.10 degrees; the oracle's are 2.1-2.4 and 3.0-3.2.
    np.testing.assert_allclose(degrees, [2.3, 3.1], atol=0.4)


@pytest.mark.papers
def test_overlapping_images_are_told_apart():
    # Printed are 7.6 and 11.7 degrees, of other images.
    found, wrong = [], []
    for seed in range(600, 603):
        X, shapes = make_overlapping_shapes(random_state=seed)
        model = SparseNoisyPCA.as_published(range(1, 4), penalty="ebic", n_penalties=20).fit(X)
        assert model.n_components_ == 2
        found.append(angles(model.components_.T, shapes))
        wrong.append(probability_of_error(model.components_.T, shapes))
    np.testing.assert_allclose(np.mean(found, axis=0), [6.5, 10.5], atol=1.5)
    assert np.mean(wrong) < 0.004


@pytest.mark.papers
def test_the_dot_on_the_curve_of_the_microarrays():
    model = SparseNoisyPCA.as_published(1).fit(nci60())
    assert model.penalty_ == pytest.approx(0.065, abs=0.01)
    assert 2400 < model.cardinality_[0] < 2900
    assert model.explained_variance_ratio_[0] == pytest.approx(0.139, abs=0.001)
