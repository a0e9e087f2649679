"""Stability selection: frequencies, the error bound, and recovery."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from joblib import parallel_backend
from sklearn.base import BaseEstimator

from loadstone import FeatureSelector, SparsePCA, stability_selection


def three_factors(seed, n_samples=100, n_features=40, size=5):
    rng = np.random.default_rng(seed)
    W = np.zeros((n_features, 3))
    features = rng.permutation(n_features)[: 3 * size].reshape(3, size)
    for j, inside in enumerate(features):
        W[inside, j] = rng.choice([-1, 1], size) / np.sqrt(size)
    scores = rng.standard_normal((n_samples, 3)) * [4, 3.5, 3]
    return scores @ W.T + rng.standard_normal((n_samples, n_features)), W


def test_true_features_are_chosen_more_often_than_false_ones():
    hits = 0
    for seed in range(20):
        X, W = three_factors(seed)
        model = SparsePCA(3, n_nonzero=5, effort="fast")
        frequency = stability_selection(model, X, n_subsamples=6).frequency
        true = W.any(axis=1)
        hits += frequency[true].min() > frequency[~true].max()
    assert hits >= 16


class ChoosesByPosition(BaseEstimator):
    """Always the first two features, and the third where the first row is positive."""

    def fit(self, X, y=None):
        self.components_ = np.zeros((1, X.shape[1]))
        self.components_[0, :2] = 1
        self.components_[0, 2] = X[0, 0] > 0
        return self


def test_frequencies_and_the_bound_are_those_of_the_paper():
    X = np.random.default_rng(0).standard_normal((30, 10))
    result = stability_selection(ChoosesByPosition(), X, n_subsamples=40, threshold=0.9)
    assert result.frequency[:2].tolist() == [1, 1]
    assert 0 < result.frequency[2] < 1
    assert not result.frequency[3:].any()
    assert result.selected.tolist() == [0, 1]
    q = 2 + result.frequency[2]
    assert result.n_chosen == pytest.approx(q)
    assert result.max_false == pytest.approx(q**2 / (0.8 * 10))


@pytest.mark.parametrize("fitted", [False, True])
def test_a_share_of_variance_is_as_many_components_as_each_half_needs(fitted):
    X, _ = three_factors(2)
    model = SparsePCA(0.35, n_nonzero=5, effort="fast")
    rng, chosen = np.random.RandomState(7), np.zeros(40)
    for _ in range(5):
        half = SparsePCA(0.35, n_nonzero=5, effort="fast").fit(X[rng.permutation(100)[:50]])
        assert half.n_components_ > 1
        chosen += half.support_.any(axis=0)
    model = model.fit(X) if fitted else model
    found = stability_selection(model, X, n_subsamples=5, random_state=7)
    np.testing.assert_array_equal(found.frequency, chosen / 5)


def test_same_seed_same_answer_and_parallel_too():
    X, _ = three_factors(1)
    model = SparsePCA(n_nonzero=5, effort="fast")
    one = stability_selection(model, X, n_subsamples=6, random_state=3)
    with parallel_backend("threading"):
        two = stability_selection(model, X, n_subsamples=6, random_state=3, n_jobs=2)
    np.testing.assert_array_equal(one.frequency, two.frequency)
    unsteady = np.random.default_rng(0).standard_normal((30, 40))
    one = stability_selection(model, unsteady, n_subsamples=6, random_state=3)
    other = stability_selection(model, unsteady, n_subsamples=6, random_state=4)
    assert (one.frequency != other.frequency).any()


def test_selectors_and_names_work_too():
    X, _ = three_factors(2)
    frame = pd.DataFrame(X, columns=[f"gene{i}" for i in range(40)])
    result = stability_selection(FeatureSelector(5, effort="fast"), frame, n_subsamples=4)
    table = result.to_frame()
    assert list(table.columns) == ["feature", "index", "frequency", "standard_error", "stable"]
    assert table["feature"].iloc[0] == f"gene{table['index'].iloc[0]}"
    assert (np.diff(table["frequency"]) <= 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"threshold": 0.5}, "threshold"), ({"n_subsamples": 0}, "n_subsamples")],
)
def test_bad_input_is_refused(options, message):
    X, _ = three_factors(0)
    with pytest.raises(ValueError, match=message):
        stability_selection(SparsePCA(n_nonzero=2), X, **options)
    with pytest.raises(ValueError, match="halved"):
        stability_selection(SparsePCA(n_nonzero=2), X[:3])


def test_the_table_tells_the_binomial_error_of_each_frequency():
    X = np.random.default_rng(3).standard_normal((40, 5))
    found = stability_selection(ChoosesByPosition(), X, n_subsamples=16)
    frame = found.to_frame()
    share = frame["frequency"].to_numpy()
    assert 0 < share[2] < 1
    np.testing.assert_allclose(frame["standard_error"], np.sqrt(share * (1 - share) / 16))


def share_of_fits(halves, X, weights, n_features):
    """How often each feature is chosen by fits of its own on the given rows."""
    chosen = np.zeros(n_features)
    for half in halves:
        model = SparsePCA(n_nonzero=3, effort="fast").fit(X[half], sample_weight=weights[half])
        chosen += model.support_.any(axis=0)
    return chosen / len(halves)


def test_rows_count_by_their_weights():
    X = np.random.default_rng(0).standard_normal((40, 8))
    weights = np.random.default_rng(1).exponential(size=40) ** 2
    model = SparsePCA(n_nonzero=3, effort="fast")
    found = stability_selection(model, X, n_subsamples=8, sample_weight=weights, random_state=5)
    rng = np.random.RandomState(5)
    halves = [rng.permutation(40)[:20] for _ in range(8)]
    np.testing.assert_array_equal(found.frequency, share_of_fits(halves, X, weights, 8))
    assert (found.frequency != share_of_fits(halves, X, np.ones(40), 8)).any()


@pytest.mark.parametrize("n_samples", [16, 41, 200])
def test_rows_of_a_dask_array_are_dealt_out_at_random(n_samples):
    """To 64 blocks, or blocks of two and three; then halves of the blocks are drawn."""
    X = np.random.default_rng(0).standard_normal((n_samples, 8))
    weights = np.random.default_rng(1).uniform(0.5, 2, n_samples)
    model = SparsePCA(n_nonzero=3, effort="fast")
    lazy = da.from_array(X, chunks=(25, 8))
    found = stability_selection(model, lazy, n_subsamples=6, sample_weight=weights, random_state=5)
    n_blocks = min(64, n_samples // 2)
    rng = np.random.RandomState(5)
    block = rng.permutation(np.arange(n_samples) % n_blocks)
    drawn = [rng.permutation(n_blocks)[: n_blocks // 2] for _ in range(6)]
    halves = [np.flatnonzero(np.isin(block, some)) for some in drawn]
    np.testing.assert_array_equal(found.frequency, share_of_fits(halves, X, weights, 8))


def test_dask_arrays_that_cannot_be_dealt_out_are_refused():
    model = SparsePCA(n_nonzero=3, effort="fast")
    square = np.random.default_rng(0).standard_normal((20, 20))
    assert stability_selection(model, da.from_array(square), n_subsamples=2).frequency.size == 20
    with pytest.raises(TypeError, match=r"more features \(20\) than samples \(19\)"):
        stability_selection(model, da.from_array(square[:19]), n_subsamples=2)
    lazy = da.from_array(square, chunks=(5, 20))
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        stability_selection(model, lazy[lazy[:, 0] > -9], n_subsamples=2)


@pytest.mark.parametrize("changes", [{"n_nonzero": -1}, {"effort": "heroic"}, {"n_components": 0}])
def test_parameters_are_checked_as_a_fit_checks_them(changes):
    X, _ = three_factors(0)
    model = SparsePCA(**{"n_nonzero": 3, "effort": "fast", **changes})
    with pytest.raises(ValueError, match=next(iter(changes))) as of_fit:
        model.fit(X)
    with pytest.raises(ValueError, match=next(iter(changes))) as found:
        stability_selection(model, X, n_subsamples=2)
    assert str(found.value) == str(of_fit.value)
