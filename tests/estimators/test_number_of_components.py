"""Numbers of components in both factor models: any, one, several, by held-out rows, none."""

from itertools import permutations

import numpy as np
import pytest
from scipy import sparse

from loadstone import SparseNoisyPCA, SparseProbabilisticPCA
from loadstone.datasets import make_sparse_factors

BOTH = pytest.mark.parametrize("cls", [SparseProbabilisticPCA, SparseNoisyPCA])


@pytest.fixture(scope="module")
def X():
    return make_sparse_factors(100, factor_std=(3.0, 2.0), random_state=0)[0]


def table_of(model):
    """Sizes and what chose among them, the higher the better."""
    if isinstance(model, SparseProbabilisticPCA):
        return model.criterion_["n_components"], model.criterion_["lower_bound"]
    return model.criterion_["n_components"], -model.criterion_["criterion"]


@BOTH
def test_what_chose_is_what_is_reported(cls, X):
    model = cls().fit(X)
    sizes, values = table_of(model)
    assert model.n_components_ == sizes[np.argmax(values)] == 2
    reported = model.lower_bound_ if cls is SparseProbabilisticPCA else -model.best_["criterion"]
    assert reported == values.max()


def test_a_component_that_is_found_and_not_shown_is_spoken_of():
    rng = np.random.default_rng(0)
    W = 1.5 * rng.normal(size=(12, 2)) * (rng.random((12, 2)) < 0.4)
    X = rng.normal(size=(100, 2)) @ W.T + rng.normal(size=(100, 12))
    model = SparseProbabilisticPCA(noise="free")
    with pytest.warns(UserWarning, match=r"^1 more component.* lower inclusion_threshold") as told:
        sizes, bounds = table_of(model.fit(X))
    assert len(told) == 1
    assert sizes[np.argmax(bounds)] == 2
    assert model.n_components_ == 1
    strict = SparseProbabilisticPCA(prior="jeffreys", zero_threshold=1e3)
    # The highest bound is not that of noise alone, and nobody says so.
    with pytest.warns(UserWarning, match=r"^2 more component.* zero_threshold") as told:
        assert strict.fit(X).n_components_ == 0
    assert len(told) == 1
    loose = SparseProbabilisticPCA(noise="free", inclusion_threshold=0.5).fit(X)
    assert loose.n_components_ == 2


@BOTH
def test_several_numbers_are_compared_with_noise_alone(cls, X):
    model = cls(range(1, 4)).fit(X)
    sizes, _ = table_of(model)
    assert model.n_components_ == 2
    assert set(sizes) >= {0, 1, 2}
    noise = np.random.default_rng(0).standard_normal((80, 8))
    with pytest.warns(UserWarning, match="noise alone"):
        assert cls(range(1, 3)).fit(noise).n_components_ == 0


@BOTH
def test_several_numbers_may_come_in_an_array(cls, X):
    sizes = np.array([1, 2])
    one, two = cls(sizes).fit(X), cls(sizes.tolist()).fit(X)
    np.testing.assert_array_equal(one.components_, two.components_)


@pytest.fixture(scope="module")
def two_factors():
    g = np.random.default_rng(0)
    W = np.zeros((12, 2))
    W[:4, 0], W[4:8, 1] = 1 + g.random(4), 1 + g.random(4)
    return g.normal(size=(100, 2)) @ W.T + 0.3 * g.normal(size=(100, 12))


@BOTH
@pytest.mark.parametrize("sizes", [[3], range(3, 6), [1, 3], [6]])
def test_a_candidate_that_shrank_still_counts(cls, two_factors, sizes):
    with pytest.warns(UserWarning, match=r"2 component.* fewer than asked for: further") as told:
        assert cls(sizes).fit(two_factors).n_components_ == 2
    assert len(told) == 1


def test_where_a_number_is_not_reached_the_lower_criterion_decides_between_noises(two_factors):
    with pytest.warns(UserWarning, match=r"2 component.* fewer than asked for"):
        model = SparseNoisyPCA(11).fit(two_factors)
    assert set(model.criterion_["noise"]) == {"free", "shared"}
    assert model.best_["criterion"] == model.criterion_["criterion"].min()


@BOTH
def test_a_candidate_that_shrank_must_be_better_than_noise_alone(cls):
    noise = np.random.default_rng(0).standard_normal((80, 8))
    with pytest.warns(UserWarning, match="noise alone"):
        assert cls([3, 4]).fit(noise).n_components_ == 0


@BOTH
def test_a_number_is_an_order(cls, X):
    assert cls(1).fit(X).n_components_ == 1
    with pytest.warns(UserWarning, match="2 component.*come to nothing"):
        assert cls(4).fit(X).n_components_ == 2


@BOTH
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, "holes"])
def test_held_out_rows_choose(cls, X, container):
    if container == "holes":
        Y = np.where(np.random.default_rng(1).random(X.shape) < 0.05, np.nan, X)
    else:
        Y = container(X)
    model = cls("cv").fit(Y)
    assert model.n_components_ == 2
    table = model.held_out_
    assert set(table) == {"n_components", "held_out", "standard_error"}
    np.testing.assert_array_equal(table["n_components"], np.arange(table["held_out"].size))
    assert table["held_out"][2] > table["held_out"][1] > table["held_out"][0]
    if container is np.asarray:
        # Folds are drawn before the container is looked at.
        again = cls("cv", random_state=0).fit(Y)
        np.testing.assert_array_equal(again.held_out_["held_out"], table["held_out"])


@BOTH
def test_where_nothing_was_held_out_the_table_is_empty(cls, X):
    for model in (cls(2), cls.as_published(2)):
        assert model.fit(X).held_out_ == {}


@BOTH
def test_held_out_densities_are_in_units_of_the_data(cls, X):
    one, two = (cls("cv", standardize=s, noise="free").fit(X * 7.0) for s in (False, True))
    np.testing.assert_allclose(one.held_out_["held_out"], two.held_out_["held_out"], atol=1e-3)
    assert one.held_out_["held_out"][2] == pytest.approx(one.score(X * 7.0), abs=0.5)


@BOTH
def test_rows_do_not_find_components_in_noise(cls):
    noise = np.random.default_rng(3).standard_normal((100, 10))
    with pytest.warns(UserWarning, match="0 component") as told:
        model = cls("cv").fit(noise)
    assert len(told) == 1
    assert model.n_components_ == 0
    assert model.components_.shape == (0, 10)
    assert model.component_strength_.shape == model.explained_variance_.shape == (0,)
    assert model.score_correlation_.shape == (0, 0)
    assert model.transform(noise).shape == (100, 0)
    np.testing.assert_allclose(np.diag(model.get_covariance()), noise.var(axis=0), rtol=0.4)
    assert np.isfinite(model.score(noise))


@BOTH
def test_folds_without_room_for_a_component_leave_the_choice_to_the_whole(cls):
    x = np.random.default_rng(0).standard_normal(20)
    copies = np.column_stack([x, x])
    # Without this row, as in some folds, the features are the same.
    copies[3, 1] += 1.0
    model = cls("cv").fit(copies)
    np.testing.assert_array_equal(model.held_out_["n_components"], [0])
    assert model.n_components_ == cls().fit(copies).n_components_ == 1


@BOTH
def test_a_covariance_has_no_rows_to_hold_out(cls, X):
    with pytest.raises(ValueError, match="holds rows out"):
        cls("cv").fit_covariance(np.cov(X.T), n_samples=len(X))


@BOTH
def test_too_few_rows_to_hold_out_are_refused(cls, X):
    with pytest.raises(ValueError, match=r"needs at least 5.*'auto'"):
        cls("cv").fit(X[:4])
    with pytest.raises(ValueError, match="there are 3"):
        cls("cv").fit(X[:8], sample_weight=[1, 1, 1, 0, 0, 0, 0, 0])


@BOTH
@pytest.mark.parametrize("n_components", ["auto", "cv"])
def test_data_without_room_for_noise_is_told_from_noise(cls, X, n_components):
    """Copies of one feature are no noise; nor is a table of small numbers and one huge row."""
    copies = X[:, :1] * np.arange(1, 6)
    huge = np.vstack([X, 1e6 * np.arange(1, 11)])
    for data in (copies, huge):
        with pytest.warns(UserWarning, match="multiples of one another") as told:
            assert cls(n_components).fit(data).n_components_ == 0
        assert len(told) == 1


def test_more_components_than_features_bear_are_not_single_features(X):
    """Steps that do not settle leave columns of one feature, which are noise of that feature."""
    rng = np.random.default_rng(3)
    W = np.zeros((12, 2))
    W[:4, 0], W[4:8, 1] = 2.0, 1.5
    Y = rng.normal(size=(60, 2)) @ W.T + rng.normal(size=(60, 12))
    with pytest.warns(UserWarning, match="come to nothing"):
        model = SparseNoisyPCA(11).fit(Y)
    assert (model.cardinality_ > 1).all()


@BOTH
@pytest.mark.parametrize("bad", [[0, 1], [1.5], []])
def test_other_numbers_are_refused(cls, X, bad):
    with pytest.raises(ValueError, match="at least 1"):
        cls(bad).fit(X)
    with pytest.raises(ValueError, match="leave no noise"):
        cls(range(8, 12)).fit(X)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SparseProbabilisticPCA(init="pca"), "init='pca' belongs to the published model"),
        (SparseProbabilisticPCA(zero_threshold=2.0), "zero_threshold=2.0 belongs to the other"),
        (SparseProbabilisticPCA(prior="laplace", inclusion_threshold=0.5), "point_normal"),
        (SparseProbabilisticPCA.as_published("cv"), "starts from one number"),
        (SparseNoisyPCA(penalize="features"), "penalize='features' belongs to the published"),
        (SparseNoisyPCA(penalty_range=(0.1, 0.2)), "penalty_range=.* belongs to the published"),
        (SparseNoisyPCA(n_penalties=5), "noise='auto' with n_penalties=5"),
        (SparseNoisyPCA.as_published("cv"), "not part of the published search"),
    ],
)
def test_no_parameter_is_ignored(X, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X)


def test_the_rank_of_single_precision_does_not_hang_on_the_order_of_features():
    # Two dimensions and rounding, which is larger than that of double precision.
    X = (np.tile(np.eye(3), (7, 1))[:20] - 1 / 3).astype(np.float32)
    for seed in range(10):
        weights = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0, 3.0], size=20)
        for order in permutations(range(3)):
            with pytest.raises(ValueError, match="leave no noise"):
                SparseNoisyPCA(2).fit(X[:, order], sample_weight=weights)


def told_of(model, data):
    with pytest.warns(UserWarning, match="component") as told:
        model.fit(data)
    return " ".join(str(one.message) for one in told)


def test_where_nothing_is_found_the_way_out_leads_somewhere():
    noise = np.random.default_rng(3).normal(size=(80, 6))
    free = SparseNoisyPCA()
    assert "give a number of components" in told_of(free, noise)
    assert "noise alone describes the data best" in free.stop_reason_[0]
    assert SparseNoisyPCA(2).fit(noise).n_components_ == 2
    # A number that is ordered comes to nothing here: neither sentence may send to the other.
    for n_components in ("auto", 2, [1, 2]):
        said = told_of(SparseProbabilisticPCA(n_components), noise)
        assert "noise alone" in said
        assert "SparsePCA finds" in said
        assert "give a number" not in said
        assert "let the search choose" not in said


@BOTH
def test_refusals_name_the_same_smallest_number(cls, X):
    with pytest.raises(ValueError, match=r"n_components=10 must be from 1 to 9: "):
        cls(10).fit(X)
    with pytest.raises(ValueError, match=r"n_components=\[9, 10\] must be from 1 to 9: "):
        cls([9, 10]).fit(X)
    with pytest.raises(ValueError, match=r"so is every other number: .*; SparsePCA needs none"):
        cls(1).fit(X[:, :1] * np.arange(1, 6))


def test_what_is_right_already_is_no_way_out(X):
    Y = X.copy()
    Y[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"n_penalties=50: .*; fill the holes, or leave"):
        SparseNoisyPCA.as_published().fit(Y)
    with pytest.raises(ValueError, match="; set noise='shared' and fill the holes, or leave"):
        SparseNoisyPCA.as_published(noise="free").fit(Y)
