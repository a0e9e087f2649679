"""SparseNoisyPCA: model selection, likelihood, empty models, containers and refusals."""

import warnings

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from loadstone.datasets.make_noisy_factors import make_disjoint_factors, make_overlapping_shapes
from loadstone.estimators.sparse_noisy_pca import SparseNoisyPCA
from loadstone.files.npz_json import decode, encode
from loadstone.loadings import Stop
from loadstone.metrics.recovery import angles, probability_of_error, same_support
from real_data import nci60


@pytest.fixture(scope="module")
def simulation():
    return make_disjoint_factors(random_state=0)


published = SparseNoisyPCA.as_published


@pytest.fixture(scope="module", params=["default", "path"])
def fitted(request, simulation):
    """The estimator as it comes, and along a path with one noise variance."""
    if request.param == "default":
        return SparseNoisyPCA().fit(simulation[0])
    return published(penalty="ebic", n_penalties=20).fit(simulation[0])


@parametrize_with_checks(
    [published(n_penalties=3, tol=1e-4)],
    expected_failed_checks=lambda _: {
        "check_estimators_nan_inf": "the path needs complete data, new data may have holes"
    },
)
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        # Blobs and constant columns of the checks may well hold no component, or stop early.
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)


def test_number_and_size_are_found(simulation, fitted):
    _, loadings = simulation
    assert fitted.n_components_ == 2
    assert same_support(fitted.components_.T, loadings)
    assert angles(fitted.components_.T, loadings).max() < 6
    np.testing.assert_allclose(np.linalg.norm(fitted.components_, axis=1), 1)
    assert fitted.noise_variance_ == pytest.approx(10, rel=0.15)
    np.testing.assert_allclose(fitted.component_strength_**2, [200, 100], rtol=0.4)


def test_overlapping_shapes_are_separated_where_pca_mixes_them():
    X, shapes = make_overlapping_shapes(random_state=1)
    model = SparseNoisyPCA(range(1, 4)).fit(X)
    mixed = angles(PCA(n_components=2).fit(X).components_.T, shapes)
    found = angles(model.components_.T, shapes)
    assert model.n_components_ == 2
    assert np.all(found < [8.5, 15])
    assert np.all(found < mixed - 5)
    assert probability_of_error(model.components_.T, shapes) < 0.01


def test_best_row_is_the_fitted_model(fitted):
    row = fitted.best_
    assert row["criterion"] == pytest.approx(fitted.criterion_["criterion"].min(), rel=1e-8)
    assert row["n_nonzero"] == fitted.cardinality_.sum()
    assert row["penalty"] == fitted.penalty_
    assert row == {name: column[fitted.best_index_] for name, column in fitted.criterion_.items()}
    assert fitted.deviance_ == row["deviance"]
    if not fitted.path_:
        return
    assert {len(column) for column in fitted.criterion_.values()} == {len(fitted.path_)}
    model = fitted.path_[fitted.best_index_]
    np.testing.assert_array_equal((model.loadings != 0).sum(), fitted.cardinality_.sum())
    assert model.noise_variance == fitted.noise_variance_
    assert model.deviance == fitted.deviance_


def test_model_variance_is_the_formula_of_the_paper(simulation, fitted):
    X, _ = simulation
    Y = X - X.mean(axis=0)
    G = fitted.components_.T * fitted.component_strength_
    assert np.ndim(fitted.noise_variance_) == 0
    values, vectors = np.linalg.eigh(G.T @ G + fitted.noise_variance_ * np.eye(2))
    Q = G @ vectors @ np.diag(values**-0.5) @ vectors.T
    expected = np.diag(Q.T @ (Y.T @ Y / len(Y)) @ Q)
    np.testing.assert_allclose(fitted.model_variance_, expected, rtol=1e-10)
    assert np.all(np.diff(fitted.model_variance_) <= 0)


@pytest.mark.parametrize("standardize", [False, True])
def test_likelihood_is_that_of_the_model(simulation, standardize):
    X, _ = simulation
    model = SparseNoisyPCA(2, penalty=0.1, standardize=standardize).fit(X)
    density = multivariate_normal(model.mean_, model.get_covariance())
    np.testing.assert_allclose(model.score_samples(X), density.logpdf(X), rtol=1e-10)
    assert model.score(X) == pytest.approx(density.logpdf(X).mean())
    np.testing.assert_allclose(
        model.get_precision(), np.linalg.inv(model.get_covariance()), rtol=1e-9, atol=1e-12
    )
    if not standardize:
        constant = X.shape[1] * np.log(2 * np.pi)
        assert -2 * model.score(X) == pytest.approx(model.deviance_ + constant, rel=1e-10)


def test_without_penalty_it_is_probabilistic_pca(simulation):
    X, _ = simulation
    model = SparseNoisyPCA(3, penalty=0.0, noise="shared", tol=1e-10, max_iter=5000).fit(X)
    # scikit-learn's noise model has divisor n - 1, the likelihood's maximum has n.
    reference = PCA(n_components=3).fit(X)
    factor = (len(X) - 1) / len(X)
    # A millionth of the variance of the features is a floor under the noise.
    floor = 1e-6 * X.var(axis=0).mean()
    noise = factor * reference.noise_variance_
    assert noise < model.noise_variance_ < noise + 2 * floor
    np.testing.assert_allclose(
        model.get_covariance(), factor * reference.get_covariance(), rtol=1e-5, atol=1e-4
    )
    exact = published(3, penalty=0.0).fit(X)
    assert exact.noise_variance_ == pytest.approx(noise, rel=1e-9)
    np.testing.assert_allclose(
        exact.get_covariance(), factor * reference.get_covariance(), rtol=1e-6, atol=1e-6
    )


def test_scores_are_the_posterior_mean(simulation, fitted):
    X, _ = simulation
    G = fitted.components_.T * fitted.component_strength_
    omega = G @ G.T + fitted.noise_variance_ * np.eye(10)
    expected = (X - X.mean(axis=0)) @ np.linalg.solve(omega, G)
    np.testing.assert_allclose(fitted.transform(X), expected, atol=1e-10)
    back = fitted.inverse_transform(fitted.transform(X))
    np.testing.assert_allclose(back, expected @ G.T + X.mean(axis=0), atol=1e-9)
    span = np.linalg.pinv(fitted.components_) @ fitted.components_
    closest = (X - X.mean(axis=0)) @ span + X.mean(axis=0)
    np.testing.assert_allclose(fitted.reconstruct(X), closest, atol=1e-9)


@pytest.mark.parametrize("options", [{"penalty": 1e5}, {"penalty": 1e5, "n_components": 2}])
def test_a_penalty_that_leaves_nothing_gives_the_empty_model(simulation, options):
    X, _ = simulation
    with pytest.warns(UserWarning, match="0 component"):
        model = SparseNoisyPCA(**options).fit(X)
    assert model.n_components_ == 0
    assert model.transform(X).shape == (100, 0)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X.mean(axis=0) + 0 * X)
    # A millionth of the variance is a floor under the noise.
    assert model.noise_variance_ == pytest.approx(1.000001 * np.mean((X - X.mean(axis=0)) ** 2))
    np.testing.assert_allclose(model.get_covariance(), model.noise_variance_ * np.eye(10))
    np.testing.assert_allclose(model.get_precision(), np.eye(10) / model.noise_variance_)
    density = multivariate_normal(model.mean_, model.get_covariance())
    np.testing.assert_allclose(model.score_samples(X), density.logpdf(X))
    assert model.get_feature_names_out().shape == (0,)


def test_noise_alone_is_called_noise():
    X = np.random.default_rng(0).standard_normal((80, 12))
    for model in (SparseNoisyPCA(), published(penalty="ebic", n_penalties=10)):
        with pytest.warns(UserWarning, match="noise alone describes the data best") as told:
            model.fit(X)
        assert len(told) == 1
        assert model.n_components_ == model.best_["n_components"] == 0


def test_whole_features_go_at_once():
    X, loadings = make_disjoint_factors(random_state=5)
    model = published(2, penalty="ebic", penalize="features", n_penalties=15).fit(X)
    np.testing.assert_array_equal(model.support_.any(axis=0), loadings.any(axis=1))
    np.testing.assert_array_equal(model.support_[0], model.support_[1])


def containers(X):
    return {
        "csr": sparse.csr_array(X),
        "csc": sparse.csc_array(X),
        "dask": da.from_array(X, chunks=(30, -1)),
        "float32": X.astype(np.float32),
    }


@pytest.mark.parametrize("name", ["csr", "csc", "dask", "float32"])
@pytest.mark.parametrize("route", ["gram", "data"])
def test_every_container_gives_the_same_model(simulation, name, route):
    X, _ = simulation
    given = containers(X)[name]
    reference = SparseNoisyPCA(2, penalty=0.1).fit(X)
    model = SparseNoisyPCA(2, penalty=0.1, route=route).fit(given)
    tolerance = 2e-3 if name == "float32" else 1e-8
    np.testing.assert_allclose(model.components_, reference.components_, atol=tolerance)
    np.testing.assert_allclose(
        np.asarray(model.transform(given)), reference.transform(X), atol=20 * tolerance
    )
    np.testing.assert_allclose(
        model.score_samples(given), reference.score_samples(X), rtol=10 * tolerance
    )
    if name == "float32":
        assert model.components_.dtype == np.float32


def test_weights_count_as_copies(simulation):
    X, _ = simulation
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = SparseNoisyPCA(2, penalty=0.1).fit(X, sample_weight=weights)
    copied = SparseNoisyPCA(2, penalty=0.1).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.components_, copied.components_, atol=1e-8)
    assert weighted.deviance_ == pytest.approx(copied.deviance_)


def test_a_covariance_matrix_serves_as_well(simulation, fitted):
    X, _ = simulation
    matrix = np.cov(X, rowvar=False)
    model = clone(fitted).fit_covariance(matrix, n_samples=len(X))
    np.testing.assert_allclose(model.components_, fitted.components_, atol=1e-8)
    with pytest.raises(ValueError, match="give n_samples"):
        clone(fitted).fit_covariance(matrix)
    assert SparseNoisyPCA(2, penalty=0.1).fit_covariance(matrix).n_components_ == 2


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n_components": 10}, "rank"),
        ({"n_components": [2, 30]}, "rank"),
        ({"n_components": [0, 1]}, "at least 1"),
        ({"n_components": [1.5]}, "at least 1"),
        ({"n_components": []}, "at least 1"),
        ({"penalty_range": (1.0, 0.1)}, "0 < low < high"),
        ({"penalty_range": (0.1, 0.2, 0.3)}, "0 < low < high"),
        ({"penalty": -1.0}, "penalty"),
        ({"penalty": np.inf}, "penalty"),
        ({"penalty": "aic"}, "ebic"),
    ],
)
def test_bad_parameters_are_refused_with_the_reason(simulation, options, match):
    with pytest.raises(ValueError, match=match):
        published(**options).fit(simulation[0])


def test_stopping_early_is_told(simulation):
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        SparseNoisyPCA(2, penalty=0.1, max_iter=2).fit(simulation[0])


def test_same_seed_same_model(simulation):
    X, _ = simulation
    options = {"n_components": 2, "init": "random", "n_init": 2, "n_penalties": 4}
    first, second = (published(**options, random_state=4).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.components_, second.components_)
    np.testing.assert_array_equal(first.criterion_["criterion"], second.criterion_["criterion"])


def test_everything_fitted_can_be_saved_without_pickle(fitted):
    arrays = {}
    attributes = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
    again = decode(encode(attributes, arrays), arrays)
    assert again["best_"] == fitted.best_
    for saved, model in zip(again["path_"], fitted.path_, strict=True):
        np.testing.assert_array_equal(saved.loadings, model.loadings)
        assert saved.stop is model.stop


class Listener:
    """A callback that counts models, and asks to stop if told so."""

    def __init__(self, stop):
        self.stop, self.seen = stop, []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        if metadata:
            self.seen.append((metadata["n_components"], metadata.get("penalty")))
        return self.stop


@pytest.mark.parametrize("stop", [False, True])
def test_callbacks_hear_of_every_model_and_can_stop(simulation, stop):
    listener = Listener(stop)
    model = published(range(1, 4), n_penalties=5).set_callbacks(listener)
    model.fit(simulation[0])
    asked = {r for r, _ in listener.seen}
    assert asked == ({1} if stop else {1, 2, 3})
    assert len(listener.seen) >= 5 * len(asked)


def test_a_search_that_was_stopped_says_so_and_nothing_of_noise_alone(simulation):
    model = SparseNoisyPCA().set_callbacks(Listener(stop=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(simulation[0])
    assert model.n_components_ == 0
    assert model.stop_reason_ == [Stop.CALLBACK.value]


def test_first_component_of_wide_data_along_the_path():
    X = nci60()
    model = published(1, n_penalties=12).fit(X)
    Y = X - X.mean(axis=0)
    total = np.sum(Y**2)
    shares = []
    for fit in (fit for fit in model.path_ if fit.n_components):
        w = fit.loadings[:, 0] / np.linalg.norm(fit.loadings)
        shares.append((np.count_nonzero(w), np.sum((Y @ w) ** 2) / total))
    sizes, variances = map(np.array, zip(*shares, strict=True))
    assert np.all(np.diff(sizes) <= 0)
    assert np.all(np.diff(variances) <= 1e-12)
    assert sizes[-1] < 10
    assert variances[0] == pytest.approx(0.149, abs=0.002)
    # The paper's dot on Fig. 6: BIC keeps about 2700 genes and .139 of the variance.
    assert 2000 < model.cardinality_[0] < 3500
    assert model.explained_variance_ratio_[0] == pytest.approx(0.139, abs=0.004)


def test_components_of_the_same_features_are_turned_until_one_needs_fewer():
    # A rotation of two such components is as likely and can leave a feature out of one of them.
    X = np.random.default_rng(20).standard_normal((6, 4))
    model = SparseNoisyPCA(3, noise="shared").fit(X)
    supports = [tuple(np.flatnonzero(w)) for w in model.components_]
    assert len(set(supports)) == len(supports)
