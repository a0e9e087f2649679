"""Order, units and origin of the data are conventions; an answer must not depend on them."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from fitted_state import answer, differences
from registry import small_data, subjects

SUBJECTS = subjects()
#: Attributes that hold indices of features.
INDICES = {"ranking_", "path_order_"}
#: How attributes change with the unit of the data, by its power.
POWERS = {
    "mean_": 1,
    "component_strength_": 1,
    "predictive_loadings_": 1,
    "predictive_noise_": 2,
    **dict.fromkeys(
        ["explained_variance_", "marginal_variance_", "total_variance_", "noise_variance_"], 2
    ),
    **dict.fromkeys(["model_variance_", "path_variance_", "hyperparameters_", "penalties_"], 2),
    **dict.fromkeys(["upper_bound_", "gap_", "low_rank_gap_", "shift_"], 2),
}
#: Hyperparameters of laws in units of the noise.
WITHOUT_UNIT = {"share", "scale", "noise_shape", "noise_apart"}
#: Densities have the inverse unit of the data, and change by its logarithm.
DENSITIES = {"lower_bound_", "deviance_", "criterion_", "best_"}
#: Iterations that go through the features in their order, or start from random directions, come
#: to rest at slightly different points; the optimum itself must not depend on it.
SETTLED = {"NSPCA": {"tol": 1e-13}, "SparseProbabilisticPCA": {"tol": 1e-8, "max_iter": 3000}}
#: Variational Bayes converges linearly, and slowly: this is how far from rest it stops.
LOOSE = {"SparseProbabilisticPCA": 1e-4}


@cache
def fitted(subject):
    return answer(settled(subject).fit(small_data()))


def settled(subject):
    return clone(subject).set_params(**SETTLED.get(type(subject).__name__, {}))


def holds_out(subject):
    return "cv" in subject.get_params()


def test_tables_name_attributes_that_exist():
    known = {name for (subject,) in (p.values for p in SUBJECTS) for name in fitted(subject)}
    assert known >= (INDICES | set(POWERS) | DENSITIES)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_permuting_the_features_permutes_the_answer(subject):
    order = np.random.default_rng(0).permutation(12)
    place = np.argsort(order)

    def moved(name, value):
        if name in INDICES:
            # Features dropped one by one have no order; the path is then the support itself.
            nested = subject.get_params().get("direction") != "backward"
            return place[value] if nested else np.sort(place[value])
        of_features = isinstance(value, np.ndarray) and value.shape[-1:] == (12,)
        return value[..., order] if of_features else value

    expected = {name: moved(name, value) for name, value in fitted(subject).items()}
    model = settled(subject).fit(small_data()[:, order])
    assert not differences(expected, answer(model), LOOSE.get(type(subject).__name__, 1e-6))


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_order_of_samples_does_not_matter(subject):
    order = np.random.default_rng(0).permutation(60)
    model, expected = settled(subject), fitted(subject)
    if holds_out(subject):
        # Folds are made of neighbours: the same samples must be held out together.
        folds = np.arange(60) % 3
        expected = answer(clone(subject).set_params(cv=splits(folds)).fit(small_data()))
        model.set_params(cv=splits(folds[order]))
    assert not differences(expected, answer(model.fit(small_data()[order])), 1e-6)


def splits(folds):
    return [(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in range(3)]


@pytest.mark.parametrize("unit", [1e-3, 1e3])
@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_unit_changes_variances_and_nothing_else(subject, unit):
    model = settled(subject)
    if "ridge" in subject.get_params():
        # The penalty of the elastic net is in the units of the covariance, as documented; its
        # ridge is made for variances of ordinary size.
        model.set_params(penalty=subject.penalty * unit**2)
        reference = clone(subject).set_params(ridge=float("inf"))
        model.set_params(ridge=float("inf"))
        expected = answer(reference.fit(small_data()))
    else:
        expected = fitted(subject)
    found = answer(model.fit(unit * small_data()))
    kept = {
        name: divided(value, unit ** POWERS.get(name, 0))
        for name, value in found.items()
        if name not in DENSITIES
    }
    expected = {name: value for name, value in expected.items() if name not in DENSITIES}
    assert not differences(expected, kept, 1e-6)


def divided(value, factor):
    if factor == 1:
        return value
    if isinstance(value, dict):
        return {n: v if n in WITHOUT_UNIT else v / factor for n, v in value.items()}
    return tuple(v / factor for v in value) if isinstance(value, tuple) else value / factor


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_origin_changes_the_mean_and_nothing_else(subject):
    if subject.get_params().get("method") == "svd_entropy":
        # The entropy is of the data as it comes, as published: the origin is part of it.
        moved = clone(subject).fit(small_data() + 50).ranking_
        assert sorted(moved) != sorted(fitted(subject)["ranking_"])
        return
    found = answer(settled(subject).fit(small_data() + 50))
    if "mean_" in found:
        found["mean_"] = found["mean_"] - 50
    assert not differences(fitted(subject), found, 1e-6)
