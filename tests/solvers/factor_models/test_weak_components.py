"""Weak components: two ends of the same updates, and which of them counts as a model of its size."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from loadstone.covariance import covariance_of
from loadstone.solvers.factor_models.growth import Growth
from loadstone.solvers.factor_models.held_out import held_out_likelihood, row_folds
from loadstone.solvers.factor_models.sparse_factors import SparseFactors
from small_factors import samples_from


def weak_factors(seed):
    """Simulation 1 of Ulfarsson & Solo with an eighth of its signal."""
    rng = np.random.default_rng(seed)
    W = np.zeros((10, 2))
    W[:4, 0], W[4:8, 1] = np.sqrt(200 / 32), np.sqrt(100 / 32)
    noise = rng.normal(size=(100, 10))
    sd = np.sqrt(10.0) * np.exp(0.0 * rng.normal(size=10))
    return rng.normal(size=(100, 2)) @ W.T + sd * noise, W


#: Data on which the model of two components with the higher bound has lost one of them.
LOST = (21017, 21058)


@pytest.mark.parametrize("seed", LOST)
def test_a_number_that_was_ordered_is_found_where_a_higher_bound_has_fewer(seed):
    X, W = weak_factors(seed)
    samples, solver = samples_from(X), SparseFactors()
    plain = solver.growth()
    lost = next(islice(plain.sequence(samples), 2, None))
    assert plain.cleaned(samples, lost).n_components == 1
    fit = solver(covariance_of(X)[0], 2)
    assert fit.model.n_components == 2
    # What is expected of the loadings, before those that are not sure are cut.
    expected = fit.predictive.loadings / np.linalg.norm(fit.predictive.loadings, axis=0)
    assert np.abs(expected.T @ (W / np.linalg.norm(W, axis=0))).max(axis=0).min() > 0.85
    # The bound still decides between numbers.
    assert solver(covariance_of(X)[0]).model.n_components == 1


def test_held_out_rows_see_components_that_the_bound_gives_up():
    X, _ = weak_factors(21017)
    folds = row_folds(X, 5, np.random.default_rng(21017))
    assert held_out_likelihood(folds, Growth().models).best == 2


def test_a_component_is_there_where_samples_can_tell_it():
    """``k`` features with loadings of variance ``s`` are told from noise where ``s sqrt(k N) > 1``."""
    samples = samples_from(np.random.default_rng(0).normal(size=(25, 4)))
    W = np.ones((3, 2, 4))
    for scale, found in ((0.11, True), (0.09, False)):
        growth = Growth(insists=True)
        state = growth.started(samples, W, np.ones((3, 4)))
        state = replace(state, law=replace(state.law, scale=np.full((3, 2), scale)))
        np.testing.assert_array_equal(growth.there(samples, state), np.full((3, 2), found))
        assert Growth().there(samples, state).all()


def test_what_has_come_to_nothing_ranks_behind_lower_bounds():
    samples = samples_from(np.random.default_rng(0).normal(size=(25, 4)))
    start = Growth().started(samples, np.ones((1, 2, 4)), np.ones((1, 4)))
    gone = start.law.inclusion.copy()
    gone[0, 1] = 0.1
    null = replace(start, law=replace(start.law, inclusion=gone), bound=np.array([-1.0]))
    whole = replace(start, bound=np.array([-3.0]))
    assert Growth(insists=True)._first(samples, null, whole) is whole
    assert Growth()._first(samples, null, whole) is null
    # Very strong evidence against a component is heard.
    assert (
        Growth(insists=True)._first(samples, null, replace(whole, bound=np.array([-7.0]))) is null
    )
