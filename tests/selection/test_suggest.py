"""Sizes suggested from a path."""

import numpy as np
import pytest

from loadstone import cardinality_path, suggest_cardinality
from loadstone.selection.suggest import knee


def three_factors(seed, n_samples=200, n_features=60, size=10, *, equal=True):
    rng = np.random.default_rng(seed)
    W = np.zeros((n_features, 3))
    features = rng.permutation(n_features)[: 3 * size].reshape(3, size)
    for j, inside in enumerate(features):
        w = rng.choice([-1, 1], size) * (1 if equal else rng.uniform(0.5, 1.5, size))
        W[inside, j] = w / np.linalg.norm(w)
    scores = rng.standard_normal((n_samples, 3)) * [4, 3.5, 3]
    return scores @ W.T + rng.standard_normal((n_samples, n_features)), W


@pytest.mark.parametrize("equal", [True, False])
def test_knee_recovers_the_true_size(equal):
    hits = 0
    for seed in range(20):
        X, _ = three_factors(seed, equal=equal)
        size = suggest_cardinality(cardinality_path(X, effort="fast")).n_nonzero
        hits += abs(size - 10) <= 2
    assert hits >= 16


def test_knee_of_two_lines_is_where_they_meet():
    sizes = np.arange(1.0, 41)
    for corner in (5, 12, 30):
        values = np.minimum(sizes, corner) + 0.1 * np.maximum(sizes - corner, 0)
        assert sizes[knee(sizes, values)] == corner


def test_knee_does_not_depend_on_the_spacing():
    every = np.arange(1.0, 401)
    some = np.unique(np.r_[np.arange(1.0, 30), np.round(np.geomspace(30, 400, 30))])

    def curve(sizes):
        return np.minimum(sizes, 20) + 0.05 * np.maximum(sizes - 20, 0)

    assert every[knee(every, curve(every))] == some[knee(some, curve(some))] == 20


def test_variance_rule_takes_the_smallest_size():
    X, _ = three_factors(0)
    path = cardinality_path(X)
    size, reason = suggest_cardinality(path, "variance", share=0.8)
    index = path.n_nonzeros.tolist().index(size)
    assert path.values[index] >= 0.8 * path.values[-1] > path.values[index - 1]
    assert str(size) in reason
    assert "80%" in reason
    assert int(suggest_cardinality(path, "variance", share=1.0)) == path.n_nonzeros[-1]


def test_sparseness_index_is_maximal():
    X, _ = three_factors(1)
    path = cardinality_path(X)
    size = suggest_cardinality(path, "sparseness_index").n_nonzero
    index = path.ratio**2 * (1 - path.n_nonzeros / 60)
    assert size == path.n_nonzeros[np.argmax(index)]


def test_bad_rules_are_refused():
    X, _ = three_factors(0)
    path = cardinality_path(X, [3, 10])
    with pytest.raises(ValueError, match="knee"):
        suggest_cardinality(path, "guess")
    with pytest.raises(ValueError, match="share"):
        suggest_cardinality(path, "variance", share=1.5)
    with pytest.raises(ValueError, match="at least 2"):
        suggest_cardinality(cardinality_path(X, [3]))
    with pytest.raises(TypeError, match=r"suggest_cardinality\(cardinality_path\(X\)\)"):
        suggest_cardinality(X)


@pytest.mark.parametrize("sizes", ["auto", [1, 2], [1, 5]])
def test_flat_paths_need_one_feature(sizes):
    size, reason = suggest_cardinality(cardinality_path(covariance=np.eye(6), n_nonzeros=sizes))
    assert size == 1
    assert reason.endswith("have no more variance than 1: the path is flat")


def test_two_sizes_are_compared_with_none():
    S = np.diag([4.0, 1, 1, 1, 1])
    S[0, 1] = S[1, 0] = 0.5
    size, reason = suggest_cardinality(cardinality_path(covariance=S, n_nonzeros=[1, 2]))
    top = np.linalg.eigvalsh(S)[-1]
    assert size == 1
    assert reason == (
        f"up to 1 feature each one more adds 4 to the variance on average, beyond that "
        f"{top - 4:.4g}: {4 / (top - 4):.1f} times less"
    )


def test_a_path_that_ends_flat_says_so():
    S = np.zeros((9, 9))
    S[:4, :4] = 1
    S += 0.1 * np.diag([0.0] * 4 + [1.0] * 5)
    size, reason = suggest_cardinality(cardinality_path(covariance=S))
    assert size == 4
    assert reason.endswith("beyond that nothing")


@pytest.mark.parametrize("sizes", ["auto", [2, 6]])
def test_a_path_without_a_drop_has_no_knee(sizes):
    size, reason = suggest_cardinality(
        cardinality_path(covariance=np.ones((6, 6)), n_nonzeros=sizes)
    )
    assert size == 6
    assert "no knee" in reason
