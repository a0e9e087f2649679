"""A share in the place of a number of components."""

import numpy as np
import pytest

from loadstone import EMPCA, GreedyPCA, SparsePCA, ThresholdedPCA


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 14))
    for start in (0, 4, 8):
        X[:, start : start + 5] += 2 * rng.normal(size=(60, 1))
    return X


@pytest.mark.parametrize("estimator", [SparsePCA, EMPCA, GreedyPCA, ThresholdedPCA])
@pytest.mark.parametrize("share", [0.3, 0.75])
def test_one_component_fewer_would_not_do(estimator, share):
    X = data()
    model = estimator(share, n_nonzero=3, standardize=True).fit(X)
    number = model.n_components_
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)

    def recovered(components):
        scores = Z @ components.T
        missed = Z - scores @ np.linalg.lstsq(scores, Z, rcond=None)[0]
        return 1 - np.sum(missed**2) / np.sum(Z**2)

    assert recovered(model.components_) >= share
    fixed = estimator(number, n_nonzero=3, standardize=True).fit(X)
    np.testing.assert_array_equal(fixed.components_, model.components_)
    if number > 1:
        fewer = estimator(number - 1, n_nonzero=3, standardize=True).fit(X)
        assert recovered(fewer.components_) < share


def test_without_a_size_it_is_the_number_pca_needs():
    X = data()
    model = SparsePCA(0.8, n_nonzero=None).fit(X)
    shares = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    assert model.n_components_ == 1 + np.argmax(np.cumsum(shares) >= 0.8 * shares.sum())


def test_it_works_with_automatic_sizes_and_recovery():
    X = data()
    assert SparsePCA(0.5).fit(X).recovered_variance_ratio_[-1] >= 0.5
    model = SparsePCA(0.6, n_nonzero=3, objective="recovery").fit(X)
    assert model.recovered_variance_ratio_[-1] >= 0.6


def test_what_cannot_be_reached_is_said():
    X = data()
    with pytest.warns(UserWarning, match=r"n_components=0\.95 is not reached") as caught:
        model = SparsePCA(0.95, n_nonzero=5, orthogonality="disjoint").fit(X)
    assert len(caught) == 1
    assert model.support_.any(axis=0).all()


@pytest.mark.parametrize("wrong", [0.0, -0.5, 1.5])
def test_other_fractions_are_refused(wrong):
    with pytest.raises(ValueError, match="n_components"):
        SparsePCA(wrong).fit(data())


@pytest.mark.parametrize("estimator", [SparsePCA, EMPCA, GreedyPCA, ThresholdedPCA])
@pytest.mark.parametrize("sizes", [[3] * 5, range(1, 6), np.array([3])], ids=str)
def test_a_share_needs_one_size_for_all_components(estimator, sizes):
    said = rf"{len(sizes)} values for n_components=0\.6, a share .*one number for all components"
    with pytest.raises(ValueError, match=said):
        estimator(0.6, n_nonzero=sizes).fit(data())
