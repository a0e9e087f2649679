"""SparseProbabilisticPCA: what users see, on every kind of input."""

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.callback import FitCallback
from sklearn.exceptions import ConvergenceWarning

from loadstone import SparseProbabilisticPCA
from loadstone.datasets.make_sparse_factors import make_sparse_factors

PRIORS = ["inverse_gaussian", "laplace", "jeffreys"]
published = SparseProbabilisticPCA.as_published


@pytest.fixture(params=["default", "published"])
def make(request):
    """The estimator as it comes, and the model of the paper, which starts from a number."""
    if request.param == "published":
        return published
    return lambda _, **options: SparseProbabilisticPCA(**options)


@pytest.fixture(scope="module")
def X():
    return make_sparse_factors(factor_std=(3.0, 2.0), random_state=0)[0]


def with_holes(X, share=0.2, seed=0):
    holes = np.random.default_rng(seed).random(X.shape) < share
    Y = X.copy()
    Y[holes] = np.nan
    return Y, holes


@pytest.mark.parametrize("prior", PRIORS)
def test_components_are_unit_norm_ordered_and_signed(X, prior):
    model = published(5, prior=prior).fit(X)
    assert model.n_components_ == len(model.components_) == 2
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1.0)
    assert (np.diff(model.component_strength_) <= 0).all()
    peaks = np.abs(model.components_).argmax(axis=1)
    assert (model.components_[np.arange(2), peaks] > 0).all()
    np.testing.assert_array_equal(model.support_, model.components_ != 0)
    assert (model.components_std_[model.support_] > 0).all()
    assert (model.components_std_[~model.support_] == 0).all()
    assert model.inclusion_.shape == model.components_.shape
    assert model.inclusion_[model.support_].min() > 0.9
    assert ((model.inclusion_ >= 0) & (model.inclusion_ <= 1)).all()
    assert model.lower_bound_ == model.refit_lower_bounds_[-1]
    assert len(model.lower_bounds_) == model.n_iter_
    assert (
        set(model.hyperparameters_)
        == {"inverse_gaussian": {"a", "b"}, "laplace": {"lam"}, "jeffreys": set()}[prior]
    )


def test_posterior_deviations_are_those_of_repeated_experiments():
    loadings, claimed = [], []
    for seed in range(40):
        X, _ = make_sparse_factors(100, factor_std=(3.0, 2.0), random_state=seed)
        model = published(2, prior="laplace").fit(X)
        loadings.append(model.components_[0, :4])
        claimed.append(model.components_std_[0, :4])
    # Unit norm takes one of four degrees of freedom from the four loadings.
    observed = np.sqrt(np.mean((np.array(loadings) - 0.5) ** 2) * 4 / 3)
    assert np.mean(claimed) == pytest.approx(observed, rel=0.3)


@pytest.mark.parametrize("standardize", [False, True])
def test_likelihood_covariance_and_precision_are_one_model(X, standardize, make):
    model = make(4, standardize=standardize).fit(X * np.arange(1, 11) + 7)
    Y = X[:20] * np.arange(1, 11) + 7
    density = multivariate_normal(model.mean_, model.get_covariance())
    np.testing.assert_allclose(model.score_samples(Y), density.logpdf(Y), rtol=1e-9)
    assert model.score(Y) == pytest.approx(density.logpdf(Y).mean())
    np.testing.assert_allclose(
        model.get_precision() @ model.get_covariance(), np.eye(10), atol=1e-8
    )
    hole = Y.copy()
    hole[:, 3] = np.nan
    seen = np.arange(10) != 3
    marginal = multivariate_normal(model.mean_[seen], model.get_covariance()[np.ix_(seen, seen)])
    np.testing.assert_allclose(model.score_samples(hole), marginal.logpdf(Y[:, seen]), rtol=1e-9)
    draws = model.sample(20_000, random_state=0)
    C = model.get_covariance()
    np.testing.assert_allclose(np.cov(draws.T), C, atol=0.06 * C.max())


def test_transform_with_one_missing_value_is_the_conditional_mean(X, make):
    model = make(4).fit(X)
    complete, std = model.transform(X[:5]), model.latent_std(X[:5])
    Y = X[:5].copy()
    Y[1, 0] = np.nan
    scores, hole_std = model.transform(Y), model.latent_std(Y)
    np.testing.assert_allclose(scores[[0, 2, 3, 4]], complete[[0, 2, 3, 4]], atol=1e-12)
    np.testing.assert_allclose(hole_std[[0, 2]], std[[0, 2]], atol=1e-12)
    assert (hole_std[1] >= std[1] * (1 - 1e-12)).all()
    assert (hole_std[1] > std[1]).any()
    assert hole_std[1].max() > std[1].max() * 1.01 or hole_std[1].min() > std[1].min() * 1.01
    W = model.components_.T * model.component_strength_
    seen = np.arange(10) != 0
    C = (W @ W.T + model.noise_variance_ * np.eye(10))[np.ix_(seen, seen)]
    expected = W[seen].T @ np.linalg.solve(C, (X[1] - model.mean_)[seen])
    np.testing.assert_allclose(scores[1], expected)


@pytest.mark.parametrize("prior", PRIORS)
def test_imputation_is_as_good_as_the_noise_allows(prior):
    X, _ = make_sparse_factors(random_state=21)
    Y, holes = with_holes(X)
    model = published(9, prior=prior).fit(Y)
    imputed = model.inverse_transform(model.transform(Y))
    rmse = np.sqrt(np.mean((imputed - X)[holes] ** 2))
    assert rmse < 1.4
    assert rmse < np.sqrt(np.mean((np.nanmean(Y, axis=0) - X)[holes] ** 2)) / 5
    filled = model.impute(Y)
    np.testing.assert_array_equal(filled[~holes], Y[~holes])
    np.testing.assert_allclose(filled[holes], imputed[holes])
    assert np.min(np.diff(model.lower_bounds_) / np.abs(model.lower_bounds_[1:])) > -1e-8


def test_one_hole_hardly_changes_anything(X, make):
    Y = X.copy()
    Y[0, 0] = np.nan
    one, two = make(4).fit(X), make(4).fit(Y)
    np.testing.assert_allclose(one.components_, two.components_, atol=5e-3)
    assert one.noise_variance_ == pytest.approx(two.noise_variance_, rel=5e-3)
    np.testing.assert_allclose(one.explained_variance_, two.explained_variance_, rtol=2e-2)


@pytest.mark.parametrize(
    "container",
    [
        sparse.csr_array,
        sparse.csc_array,
        lambda X: da.from_array(X, chunks=(60, 4)),
        np.asfortranarray,
    ],
    ids=["csr", "csc", "dask", "fortran"],
)
def test_containers_agree(X, container, make):
    reference = make(4).fit(X)
    Y = container(X)
    model = make(4).fit(Y)
    np.testing.assert_allclose(model.components_, reference.components_, atol=1e-9)
    np.testing.assert_allclose(model.score_samples(Y), reference.score_samples(X), rtol=1e-9)
    np.testing.assert_allclose(np.asarray(model.transform(Y)), reference.transform(X), atol=1e-9)


def test_float32_stays_float32(X, make):
    model = make(4).fit(X.astype(np.float32))
    assert model.components_.dtype == model.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(model.components_, make(4).fit(X).components_, atol=1e-5)


def test_float32_with_holes_stays_float32(X, make):
    Y = with_holes(X, 0.1)[0]
    model = make(4).fit(Y.astype(np.float32))
    assert model.components_.dtype == model.transform(Y.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(model.components_, make(4).fit(Y).components_, atol=1e-4)


def test_dask_blocks_with_holes_are_projected_and_not_scored(X, make):
    model = make(4).fit(X)
    Y = with_holes(X, 0.1)[0]
    lazy = da.from_array(Y, chunks=(70, 5))
    np.testing.assert_allclose(model.transform(lazy).compute(), model.transform(Y), atol=1e-10)
    for says in (model.score, model.latent_std):
        with pytest.raises(ValueError, match="compute"):
            says(lazy)
    whole = da.from_array(X, chunks=(70, 5))
    np.testing.assert_array_equal(model.latent_std(whole), model.latent_std(X))


@pytest.mark.parametrize("holes", [False, True])
def test_sample_weights_count_repetitions(X, holes, make):
    Y = with_holes(X, 0.1)[0] if holes else X
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    one = make(4).fit(Y, sample_weight=weights)
    two = make(4).fit(np.repeat(Y, weights, axis=0))
    np.testing.assert_allclose(one.components_, two.components_, atol=1e-8)
    assert one.lower_bound_ == pytest.approx(two.lower_bound_, rel=1e-8)
    np.testing.assert_allclose(one.explained_variance_, two.explained_variance_, rtol=1e-8)


def test_shift_and_scale_equivariance(X):
    one = published(4).fit(X)
    two = published(4).fit(64.0 * X + 5.0)
    np.testing.assert_allclose(one.components_, two.components_, atol=1e-6)
    assert two.noise_variance_ == pytest.approx(64.0**2 * one.noise_variance_, rel=1e-6)
    np.testing.assert_allclose(two.mean_, 64.0 * one.mean_ + 5.0, atol=1e-9)
    for name, value in one.hyperparameters_.items():
        assert two.hyperparameters_[name] == pytest.approx(64.0**2 * value, rel=1e-4)
    assert two.lower_bound_ == pytest.approx(one.lower_bound_ - X.size * np.log(64.0), rel=1e-6)


def test_wide_data_without_a_square_matrix():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(30, 2)) * 3
    X = rng.normal(size=(30, 3000))
    X[:, :60] += factors[:, :1]
    X[:, 60:120] += factors[:, 1:]
    model = published(3).fit(X)
    assert model.n_components_ == 2
    truth = np.zeros((2, 3000), dtype=bool)
    truth[0, :60] = truth[1, 60:120] = True
    hits = np.array([[np.sum(a & b) for b in truth] for a in model.support_]).max(axis=1)
    assert (hits >= 58).all()
    assert model.cardinality_.sum() < 130


def test_fit_covariance_equals_fit(X, make):
    one = make(4).fit(X)
    two = make(4).fit_covariance(np.cov(X.T), n_samples=len(X))
    np.testing.assert_allclose(one.components_, two.components_, atol=1e-9)
    with pytest.raises(ValueError, match="n_samples=nan"):
        make(4).fit_covariance(np.cov(X.T))


def test_options_do_what_they_say(X):
    loose = published(5, zero_threshold=0.0, component_threshold=0.0).fit(X)
    assert loose.n_components_ == 5
    assert loose.cardinality_.sum() == 50
    raw = published(5, refit=False).fit(X)
    assert raw.lower_bound_ == raw.lower_bounds_[-1]
    assert raw.refit_lower_bounds_.size == 0
    fixed = published(5, prior="laplace", hyperparameters={"lam": 0.5}).fit(X)
    assert fixed.hyperparameters_["lam"] == pytest.approx(0.5)
    best = published(5, n_init=3).fit(X)
    assert best.lower_bounds_[-1] >= published(5).fit(X).lower_bounds_[-1]
    assert published(5, init="pca").fit(X).n_components_ == 2


@pytest.mark.parametrize("scale", [1e-70, 1.0, 1e70])
@pytest.mark.parametrize("hyperparameters", [{"a": 1e-90, "b": 1e90}, {"a": 1e90}, {"b": 1e-90}])
@pytest.mark.filterwarnings("ignore:0 component", "ignore:the maximum number")
def test_extreme_values_stay_finite(X, scale, hyperparameters):
    Y = X * scale
    model = published(4, hyperparameters=hyperparameters, max_iter=40).fit(Y)
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.lower_bounds_).all()
    assert np.isfinite(model.score(Y))
    rises = np.diff(model.lower_bounds_) / np.abs(model.lower_bounds_[1:])
    assert rises.min(initial=0.0) >= -1e-8


def test_no_component_in_noise_is_said():
    X = np.random.default_rng(0).normal(size=(100, 6))
    with pytest.warns(UserWarning, match="0 component.*noise alone"):
        model = published(3, prior="jeffreys").fit(X)
    assert model.n_components_ == 0
    assert model.noise_variance_ == pytest.approx(X.var(axis=0).mean())
    assert np.isfinite(model.score(X))


def test_more_components_than_a_search_starts_with_is_said():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(200, 22)) * 5, 2, axis=1) + rng.normal(size=(200, 44)) * 0.5
    with pytest.warns(UserWarning, match="set n_components"):
        published(max_iter=60, tol=1e-4).fit(X)


def test_constant_features_are_warned_of_and_left_out(X, make):
    Y = np.column_stack([X, np.full(len(X), 3.0)])
    reference = make(4).fit(X)
    for Z in (Y, np.where(np.arange(Y.size).reshape(Y.shape) == 0, np.nan, Y)):
        with pytest.warns(UserWarning, match="constant feature"):
            model = make(4).fit(Z)
        assert (model.components_[:, 10] == 0).all()
        assert np.mean(model.noise_variance_) == pytest.approx(
            np.mean(reference.noise_variance_), rel=1e-2
        )


def test_a_constant_feature_changes_nothing_where_others_have_holes(X):
    Y = with_holes(X[:40], 0.1)[0]
    reference = SparseProbabilisticPCA(2).fit(Y)
    with pytest.warns(UserWarning, match="constant feature"):
        model = SparseProbabilisticPCA(2).fit(np.column_stack([Y, np.full(40, 3.0)]))
    np.testing.assert_allclose(model.components_[:, :10], reference.components_, atol=1e-8)
    np.testing.assert_allclose(
        np.broadcast_to(model.noise_variance_, 11)[:10],
        np.broadcast_to(reference.noise_variance_, 10),
        rtol=1e-8,
    )


def test_iteration_limit_is_warned_of(X):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        published(4, max_iter=2).fit(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 11}, "n_components=11 exceeds 10"),
        ({"prior": "cauchy"}, "cauchy"),
        ({"hyperparameters": {"lam": 1.0}}, "has a and b"),
        ({"prior": "laplace", "hyperparameters": {"lam": -1.0}}, "lam.*-1.0"),
        ({"prior": "jeffreys", "hyperparameters": {"lam": 1.0}}, "has none"),
        ({"zero_threshold": -1.0}, "zero_threshold"),
        ({"component_threshold": "none"}, "component_threshold"),
    ],
)
def test_bad_parameters_are_refused(X, options, message):
    with pytest.raises(ValueError, match=message):
        published(**options).fit(X)


def test_bad_data_is_refused_by_name(X, make):
    empty_row, empty_column = X.copy(), X.copy()
    empty_row[[3, 7]] = np.nan
    empty_column[:, 4] = np.nan
    with pytest.raises(ValueError, match=r"row\(s\) 3, 7"):
        make(2).fit(empty_row)
    with pytest.raises(ValueError, match=r"feature\(s\) 4"):
        make(2).fit(empty_column)
    with pytest.raises(ValueError, match="rank of the data, which is 1"):
        published(2).fit(np.outer(np.arange(9.0), np.ones(4)))
    with pytest.raises(ValueError, match="sparse matrix"):
        make(2).fit(sparse.csr_array(empty_column))
    with pytest.raises(ValueError, match="Dask"):
        make(2).fit(da.from_array(empty_column, chunks=(50, 10)))
    with pytest.raises(ValueError, match="do not fit 2 component"):
        make(4).fit(X).inverse_transform(np.ones((3, 5)))


class Recorder(FitCallback):
    """Keeps what the fit tells; asks to stop at an iteration."""

    def __init__(self, stop_at=None):
        self.stop_at = stop_at
        self.seen = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, metadata):
        if metadata:
            self.seen.append((metadata["iteration"], metadata["lower_bound"]))
        return bool(metadata) and metadata["iteration"] == self.stop_at


def test_callbacks_hear_every_iteration_and_its_bound(X):
    recorder = Recorder()
    model = clone(published(4)).set_callbacks(recorder).fit(X)
    assert [iteration for iteration, _ in recorder.seen] == list(range(1, model.n_iter_ + 1))
    np.testing.assert_array_equal([bound for _, bound in recorder.seen], model.lower_bounds_)


def test_callbacks_can_stop_the_search(X, make):
    model = make(4).set_callbacks(Recorder(stop_at=3)).fit(X)
    # A search in several runs ends each of them with the next round it is told of.
    assert 3 <= model.n_iter_ <= 6
    assert "callback" in model.stop_reason_[0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"hyperparameters=.* belongs to the other priors\. Otherwise leave it at None"),
        ({"prior": "laplace"}, "names 'a', but the prior 'laplace' has lam; name only these"),
        ({"prior": "jeffreys"}, "names 'a', but the prior 'jeffreys' has none"),
        ({"prior": "inverse_gaussian", "hyperparameters": {"a": -1.0}}, "'a'.*=-1.0 must be"),
    ],
)
def test_no_hyperparameter_is_ignored(X, given, message):
    model = SparseProbabilisticPCA(2, **{"hyperparameters": {"a": 1.0}, **given})
    with pytest.raises(ValueError, match=message):
        model.fit(X)


@pytest.mark.parametrize("given", [{"a": 0.5}, {"b": 2.0}, {}])
def test_hyperparameters_that_are_given_stay(X, given):
    model = SparseProbabilisticPCA(2, prior="inverse_gaussian", hyperparameters=given).fit(X)
    for name, value in given.items():
        assert model.hyperparameters_[name] == pytest.approx(value)


def test_probabilities_are_not_above_one_by_rounding():
    for seed in range(3):
        X, _ = make_sparse_factors(random_state=seed)
        inclusion = SparseProbabilisticPCA().fit(X).inclusion_
        assert inclusion.min() >= 0.0
        assert inclusion.max() <= 1.0
