"""The (r, h) surface: right model, honest table, ties and the empty model."""

import numpy as np
import pytest

from loadstone.covariance import covariance_of
from loadstone.datasets.make_noisy_factors import make_disjoint_factors
from loadstone.metrics.recovery import same_support
from loadstone.solvers.criterion_surface import ROW, SurfaceSearch, _choose
from loadstone.solvers.l0_noise_model import L0NoiseModel, SecondMoment
from loadstone.solvers.l0_noise_start import NoisyPCA


def surface_of(X, candidates=range(1, 5), *, exactly=None, give_up=True, **search):
    moment = SecondMoment.of(covariance_of(X)[0])
    spectrum = NoisyPCA.of(moment, max(candidates))
    rng = np.random.default_rng(0)
    found = SurfaceSearch(**search)(
        moment, spectrum, candidates, rng, exactly=exactly, give_up=give_up
    )
    return found, moment


def test_extended_criterion_finds_the_supports_at_least_as_often_as_bic():
    chosen = {"ebic": [], "bic": []}
    for seed in range(8):
        X, loadings = make_disjoint_factors(random_state=seed)
        for name, hits in chosen.items():
            surface, _ = surface_of(X, range(1, 4), criterion=name, n_penalties=12)
            hits.append(same_support(surface.models[surface.best].loadings, loadings))
    assert sum(chosen["ebic"]) >= 7
    assert sum(chosen["ebic"]) >= sum(chosen["bic"])


def test_table_says_what_the_models_are():
    X, _ = make_disjoint_factors(random_state=1)
    surface, moment = surface_of(X, n_penalties=8, give_up=False)
    assert len(surface.models) == len(surface.table) == 1 + 4 * 8
    for model, row in zip(surface.models, surface.table, strict=True):
        nonzero = np.count_nonzero(model.loadings)
        assert row["n_nonzero"] == nonzero == model.n_parameters
        assert row["n_components"] == model.n_components <= row["n_components_asked"]
        assert row["bic"] == pytest.approx(model.deviance + nonzero * np.log(100) / 100)
        price = 2 * nonzero * np.log(max(1, 10 * model.n_components)) / 100
        assert row["ebic"] == row["criterion"] == pytest.approx(row["bic"] + price)
    chosen = surface.table["criterion"][surface.best]
    assert chosen == pytest.approx(surface.table["criterion"].min(), rel=1e-8)
    assert surface.table["deviance"][0] == moment.empty_deviance


def test_noise_alone_has_no_components():
    X = np.random.default_rng(0).standard_normal((100, 10))
    surface, _ = surface_of(X, n_penalties=10)
    assert surface.models[surface.best].n_components == 0
    assert set(surface.table["n_components_asked"]) == {0, 1, 2}, "the search did not end"


def test_a_fixed_penalty_compares_by_the_penalised_likelihood():
    X, loadings = make_disjoint_factors(random_state=2)
    surface, _ = surface_of(X, criterion=0.12, n_penalties=8)
    best = surface.models[surface.best]
    assert best.penalty == 0.12
    assert same_support(best.loadings, loadings)
    expected = [model.penalised_deviance for model in surface.models]
    np.testing.assert_allclose(surface.table["criterion"], expected)


def test_whole_features_count_once_in_the_price():
    X, loadings = make_disjoint_factors(random_state=3)
    solver = L0NoiseModel(penalize="features")
    surface, _ = surface_of(X, solver=solver, n_penalties=15)
    best, row = surface.models[surface.best], surface.table[surface.best]
    np.testing.assert_array_equal(best.loadings.any(axis=1), loadings.any(axis=1))
    assert row["ebic"] - row["bic"] == pytest.approx(2 * 8 * np.log(10) / 100)


def test_more_starts_are_never_worse():
    X, _ = make_disjoint_factors(random_state=4)
    one, _ = surface_of(X, range(3, 4), n_penalties=6, exactly=3)
    many, _ = surface_of(X, range(3, 4), n_penalties=6, n_init=3, exactly=3)
    for first, second in zip(one.models, many.models, strict=True):
        assert second.penalised_deviance <= first.penalised_deviance


def test_ties_go_to_the_smaller_model():
    table = np.zeros(4, dtype=ROW)
    table["criterion"] = [1.0, 1.0, 1.0, 2.0]
    table["n_nonzero"] = [5, 4, 4, 1]
    table["penalty"] = [0.1, 0.1, 0.2, 0.3]
    assert _choose(table) == 2


def test_an_order_is_kept_where_it_can_be():
    X, _ = make_disjoint_factors(random_state=5)
    surface, _ = surface_of(X, range(4, 5), n_penalties=10, exactly=4)
    assert surface.models[surface.best].n_components == 4
    assert surface.table["n_components"].min() < 4
    values = surface.table["criterion"][surface.table["n_components"] == 4]
    assert surface.table["criterion"][surface.best] == pytest.approx(values.min(), rel=1e-8)
