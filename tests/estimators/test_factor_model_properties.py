"""What factor models must keep: bounds that never fall, units, order, coverage, calibration."""

import numpy as np
import pytest

from loadstone import SparseNoisyPCA, SparseProbabilisticPCA
from loadstone.covariance import covariance_of
from loadstone.solvers.factor_models.sparse_factors import SparseFactors
from loadstone.solvers.l0_noise_search import L0Search
from loadstone.solvers.variational_bayes.missing import incomplete_observations

FREE = [SparseProbabilisticPCA(noise="free"), SparseNoisyPCA(noise="free")]
BOTH = [SparseProbabilisticPCA(), SparseNoisyPCA()]


def name(model):
    return type(model).__name__


def two_factors(seed, n=100, noise=1.0):
    """Two factors on five of twelve features each, one in common; loadings are returned too."""
    rng = np.random.default_rng(seed)
    W = np.zeros((12, 2))
    W[:5, 0], W[4:9, 1] = [1.5, -1.2, 1.8, 1.0, 1.4], [1.1, 1.6, -1.3, 1.9, 1.0]
    return rng.normal(size=(n, 2)) @ W.T + np.sqrt(noise) * rng.normal(size=(n, 12)), W


@pytest.mark.parametrize("model", BOTH, ids=name)
@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_bounds_never_fall_and_penalised_deviances_never_rise(model, holes):
    X, _ = two_factors(0)
    X[np.random.default_rng(0).random(X.shape) < holes] = np.nan
    model.fit(X)
    up = model.lower_bounds_ if name(model) == "SparseProbabilisticPCA" else -model.objective_[0]
    assert up.size > 1
    assert (np.diff(up) >= -1e-9 * np.abs(up[1:])).all()


@pytest.mark.parametrize("noise", ["shared", "free"])
def test_bounds_never_fall_where_parts_of_a_whole_leave_next_to_no_noise(noise):
    rng = np.random.default_rng(14)
    parts = np.exp(rng.normal(size=(120, 2)) @ rng.normal(size=(2, 6)) + rng.normal(size=(120, 6)))
    X = parts / parts.sum(axis=1, keepdims=True)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = SparseProbabilisticPCA(noise=noise).fit(X)
    assert (model.noise_variance_ < 1e-6 * np.nanvar(X, axis=0).max()).all()
    for bounds in (model.lower_bounds_, model.refit_lower_bounds_):
        assert (np.diff(bounds) >= -1e-9 * np.abs(bounds[1:])).all()


@pytest.mark.parametrize("solver", [SparseFactors(), L0Search()], ids=name)
def test_a_mask_of_ones_is_the_complete_path(solver):
    X, _ = two_factors(1)
    one = solver(covariance_of(X)[0], 2)
    two = solver(incomplete_observations(X, np.ones(len(X)))[0], 2)
    value = "lower_bound" if isinstance(solver, SparseFactors) else "criterion"
    assert getattr(two, value) == pytest.approx(getattr(one, value), rel=1e-10)
    np.testing.assert_array_equal(two.model.loadings != 0, one.model.loadings != 0)
    np.testing.assert_allclose(two.model.loadings, one.model.loadings, atol=1e-6)


@pytest.mark.parametrize("model", FREE, ids=name)
def test_with_free_noise_units_of_features_do_not_matter(model):
    X, _ = two_factors(2)
    units = np.logspace(-2, 3, 12)
    model.fit(X)
    W = model.components_.T * model.component_strength_
    inclusion = vars(model).get("inclusion_")
    other = type(model)(noise="free").fit(X * units)
    np.testing.assert_array_equal(other.support_, model.support_)
    np.testing.assert_allclose(
        np.abs(other.components_.T * other.component_strength_) / units[:, None],
        np.abs(W),
        atol=1e-8,
    )
    np.testing.assert_allclose(other.noise_variance_ / units**2, model.noise_variance_, rtol=1e-8)
    if inclusion is not None:
        np.testing.assert_allclose(other.inclusion_, inclusion, atol=1e-8)
    assert other.score(X * units) == pytest.approx(model.score(X) - np.log(units).sum(), rel=1e-8)


@pytest.mark.parametrize("model", BOTH, ids=name)
def test_the_order_of_features_does_not_matter(model):
    X, _ = two_factors(3)
    order = np.random.default_rng(3).permutation(12)
    one, two = (type(model)().fit(Y) for Y in (X, X[:, order]))
    np.testing.assert_array_equal(two.support_, one.support_[:, order])
    np.testing.assert_allclose(two.get_covariance(), one.get_covariance()[order][:, order], 1e-6)


def test_posterior_deviations_cover_the_truth():
    inside = []
    for seed in range(40):
        X, W = two_factors(1000 + seed)
        model = SparseProbabilisticPCA(2).fit(X)
        units = W / np.linalg.norm(W, axis=0)
        for w, std in zip(model.components_, model.components_std_, strict=True):
            cosines = w @ units
            truth = units[:, np.argmax(np.abs(cosines))] * np.sign(
                cosines[np.abs(cosines).argmax()]
            )
            kept = (w != 0) & (truth != 0)
            inside.extend(np.abs(w - truth)[kept] <= 1.96 * std[kept])
    assert 0.90 <= np.mean(inside) <= 0.99


def test_inclusion_probabilities_are_calibrated():
    # With scores and noise known the Brier score is .061; blocks of 20 data sets differ by .006.
    chances, truths = [], []
    for seed in range(40):
        rng = np.random.default_rng(5000 + seed)
        W = np.zeros((30, 2))
        for j in range(2):
            W[rng.choice(30, 10, replace=False), j] = rng.normal(size=10)
        X = rng.normal(size=(100, 2)) @ W.T + rng.normal(size=(100, 30))
        model = SparseProbabilisticPCA().fit(X)
        matched = np.argmax(np.abs(model.components_ @ W), axis=1)
        chances.append(model.inclusion_.ravel())
        truths.append((W[:, matched].T != 0).ravel())
    P, truth = np.concatenate(chances), np.concatenate(truths)
    bins = np.minimum((10 * P).astype(int), 9)
    gaps = [abs(np.mean(P[bins == b] - truth[bins == b])) * np.mean(bins == b) for b in set(bins)]
    assert np.mean((P - truth) ** 2) <= 0.07
    assert sum(gaps) <= 0.03
