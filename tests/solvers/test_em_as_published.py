"""Algorithm 2 of Sigg & Buhmann (2008), written out from the paper, on data that is always here."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from loadstone import EMPCA
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import covariance_of
from loadstone.datasets import load_mtcars
from loadstone.solvers.em import EM
from loadstone.solvers.renormalise import renormalise

DATA = {
    "breast cancer": lambda: load_breast_cancer().data,
    "cars": lambda: load_mtcars().data,
    "digits": lambda: load_digits().data[:, load_digits().data.std(axis=0) > 0],
    "random": lambda: np.random.default_rng(7).standard_normal((60, 20)) @ np.diag(range(1, 21)),
    "wine": lambda: load_wine().data,
}


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def soft(w_star, n_nonzero):
    """``s_k - s_{K+1}`` for the K largest elements, with their signs."""
    order = np.argsort(-np.abs(w_star))
    s = np.append(np.abs(w_star)[order], 0.0)
    w = np.zeros_like(w_star)
    for k in range(n_nonzero):
        w[order[k]] = s[k] - s[n_nonzero]
    return w * np.sign(w_star)


def hard(w_star, n_nonzero):
    """The K largest elements as they are: truncated power, which is another algorithm."""
    return np.where(soft(w_star, n_nonzero) != 0, w_star, 0.0)


def algorithm_2(X, n_nonzero, *, start, threshold=soft, nonnegative=False, epsilon=1e-10):
    w = start
    for _ in range(10_000):
        y = X @ w
        w_star = y @ X / (y @ y)
        if nonnegative:
            w_star = np.maximum(w_star, 0.0)  # Eq. 17
        new = threshold(w_star, n_nonzero)
        new /= np.linalg.norm(new)
        if abs(new @ w) > 1 - epsilon:
            return new
        w = new
    raise AssertionError("Algorithm 2 did not settle")


def first_component(X):
    return np.linalg.svd(X, full_matrices=False)[2][0]


def fitted(X, n_nonzero, **kwargs):
    model = EMPCA(n_nonzero=n_nonzero, renormalize=False, tol=1e-10, max_iter=10_000, **kwargs)
    return model.fit(X).components_[0]


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("name", DATA)
def test_em_is_the_published_soft_threshold(name, share):
    X = standardised(DATA[name]())
    n_nonzero = round(share * X.shape[1])
    published = algorithm_2(X, n_nonzero, start=first_component(X))
    found = fitted(X, n_nonzero)
    np.testing.assert_allclose(found * np.sign(found @ published), published, atol=1e-6)
    assert np.count_nonzero(found) == n_nonzero


@pytest.mark.parametrize("name", DATA)
def test_nonnegative_em_is_the_published_soft_threshold(name):
    X = standardised(DATA[name]())
    # Off the first component loadings of both signs compete, as in the paper's section 5.
    v = first_component(X)
    X = X - np.outer(X @ v, v)
    n_nonzero = X.shape[1] // 3
    first = first_component(X)
    published = [algorithm_2(X, n_nonzero, start=s * first, nonnegative=True) for s in (1, -1)]
    best = max(published, key=lambda w: np.linalg.norm(X @ w))
    found = fitted(X, n_nonzero, nonnegative=True, init="pca")
    np.testing.assert_allclose(found, best, atol=1e-6)


@pytest.mark.parametrize("name", DATA)
def test_a_hard_threshold_would_be_noticed(name):
    """Guards the tests above: on this data the two algorithms end far apart."""
    X = standardised(DATA[name]())
    n_nonzero = X.shape[1] // 2
    start = first_component(X)
    truncated = algorithm_2(X, n_nonzero, start=start, threshold=hard)
    published = algorithm_2(X, n_nonzero, start=start)
    assert np.abs(np.abs(truncated) - np.abs(published)).max() > 0.01


def test_more_starts_begin_with_principal_components_and_never_find_less():
    rng = np.random.default_rng(0)
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(40, 12))
        X[:, :5] += 1.5 * rng.normal(size=(40, 1))
        S, _ = covariance_of(X)
        constraint = LoadingConstraint(12, 3)
        one = EM()(S, constraint, np.random.default_rng(0))
        block = EM(n_init=7).starts(S, constraint, np.random.default_rng(0))
        assert block.shape == (12, 7)
        V = np.linalg.eigh(np.cov(X.T))[1][:, ::-1][:, :4]
        np.testing.assert_allclose(np.abs(np.sum(block[:, :4] * V, axis=0)), 1, atol=1e-5)
        many = EM(n_init=7)(S, constraint, np.random.default_rng(0))
        best = max(renormalise(S, w, constraint)[1] for w in many.matrix.T)
        assert best >= renormalise(S, one.matrix[:, 0], constraint)[1] * (1 - 1e-6)


def test_directions_can_be_given():
    X = np.random.default_rng(1).normal(size=(40, 6))
    X[:, 3:] += 2 * np.random.default_rng(2).normal(size=(40, 1))
    start = np.zeros(6)
    start[3:] = 1
    by_hand = EMPCA(1, n_nonzero=2, init=start).fit(X)
    again = EMPCA(1, n_nonzero=2, init=[start, -start]).fit(X)
    np.testing.assert_array_equal(by_hand.support_, again.support_)
    assert set(np.flatnonzero(by_hand.support_)) <= {3, 4, 5}
    with pytest.raises(ValueError, match=r"init has shape \(1, 5\); expected .* \(1, 6\)"):
        EMPCA(1, n_nonzero=2, init=start[:5]).fit(X)
    with pytest.raises(ValueError, match="row of zeros"):
        EMPCA(1, n_nonzero=2, init=np.zeros((1, 6))).fit(X)


def test_iterations_without_a_limit_take_no_memory():
    X = np.random.default_rng(0).standard_normal((30, 6))
    usual, endless = (EMPCA(n_nonzero=3, max_iter=n).fit(X) for n in (1000, 10**15))
    np.testing.assert_array_equal(endless.components_, usual.components_)
    np.testing.assert_array_equal(endless.objective_[0], usual.objective_[0])
