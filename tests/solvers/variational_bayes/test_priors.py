"""Expectations against quadrature, hyperparameters against direct maximisation, extremes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import k0e, k1e

from loadstone.solvers.variational_bayes.bessel import bessel_ratio_and_log
from loadstone.solvers.variational_bayes.priors import PRIORS, InverseGaussian, Jeffreys, Laplace

PROPER = [Laplace(0.7), Laplace(1e-3), InverseGaussian(0.3, 2.0), InverseGaussian(5.0, 0.2)]
SECONDS = [1e-4, 0.02, 0.5, 9.0]


def log_mixing_density(prior, z):
    if isinstance(prior, Laplace):
        return -np.log(prior.lam) - z / prior.lam
    spread = prior.a * (z - prior.b) ** 2 / (2 * z * prior.b**2)
    return 0.5 * np.log(prior.a / (2 * np.pi * z**3)) - spread


def moment(prior, w2, power):
    """Integral of z^power N(w; 0, z) p(z) with w^2 = w2, over ln z."""

    def integrand(u):
        z = np.exp(u)
        exponent = log_mixing_density(prior, z) - 0.5 * (np.log(2 * np.pi) + u + w2 / z)
        return np.exp(exponent + (1 + power) * u)

    # The peak is narrow for extreme parameters: integrate piece by piece.
    edges = np.linspace(-45, 12, 58)
    return sum(quad(integrand, a, b, epsrel=1e-11, epsabs=0)[0] for a, b in pairwise(edges))


@pytest.mark.parametrize("w2", SECONDS)
@pytest.mark.parametrize("prior", PROPER, ids=str)
def test_expectations_and_bound_term_match_quadrature(prior, w2):
    evidence = moment(prior, w2, 0)
    variance, precision = prior.expectations(np.array([w2]))
    assert variance[0] == pytest.approx(moment(prior, w2, 1) / evidence, rel=1e-9)
    assert precision[0] == pytest.approx(moment(prior, w2, -1) / evidence, rel=1e-9)
    assert prior.bound_term(np.array([w2]))[0] == pytest.approx(np.log(evidence), abs=1e-9)


@pytest.mark.parametrize("prior", [*PROPER, Jeffreys()], ids=str)
def test_precision_is_minus_twice_the_slope_of_the_bound_term(prior):
    w2 = np.array(SECONDS)
    step = 1e-5 * w2
    slope = (prior.bound_term(w2 + step) - prior.bound_term(w2 - step)) / (2 * step)
    np.testing.assert_allclose(prior.expectations(w2)[1], -2 * slope, rtol=1e-6)


def test_laplace_converges_to_the_maximum_likelihood_scale():
    w2 = np.random.default_rng(0).exponential(size=(30, 4))
    prior = Laplace(1.0)
    for _ in range(200):
        prior = prior.update_hyperparameters(*prior.expectations(w2), frozenset())
    assert prior.lam == pytest.approx(2 * np.mean(np.sqrt(w2)) ** 2, rel=1e-9)
    assert prior.lam == pytest.approx(Laplace.start(w2).lam, rel=1e-9)


def test_inverse_gaussian_hyperparameters_reach_a_maximum():
    rng = np.random.default_rng(1)
    w2 = rng.normal(size=(60, 4)) ** 2 * np.where(rng.random((60, 4)) < 0.2, 4.0, 1e-3)
    prior = InverseGaussian.start(w2)
    values = []
    for _ in range(3000):
        values.append(prior.bound_term(w2).sum())
        prior = prior.update_hyperparameters(*prior.expectations(w2), frozenset())
    assert np.diff(values).min() > -1e-9
    for name in ("a", "b"):
        best = minimize_scalar(
            lambda u, name=name: -_with(prior, name, np.exp(u)).bound_term(w2).sum(),
            bounds=(np.log(getattr(prior, name)) - 3, np.log(getattr(prior, name)) + 3),
            method="bounded",
        )
        assert -best.fun <= values[-1] + 1e-6 * abs(values[-1])


def _with(prior, name, value):
    return InverseGaussian(**{"a": prior.a, "b": prior.b, name: value})


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_fixed_hyperparameter_stays_and_the_other_one_still_climbs(name):
    w2 = np.random.default_rng(2).exponential(size=(20, 3))
    prior = InverseGaussian(0.3, 2.0)
    values = []
    for _ in range(50):
        values.append(prior.bound_term(w2).sum())
        prior = prior.update_hyperparameters(*prior.expectations(w2), frozenset({name}))
    assert getattr(prior, name) == {"a": 0.3, "b": 2.0}[name]
    assert np.diff(values).min() > -1e-9
    assert values[-1] > values[0]


@pytest.mark.parametrize("a", [1e-80, 1e-8, 1.0, 1e8, 1e80])
@pytest.mark.parametrize("b", [1e-80, 1.0, 1e80])
def test_inverse_gaussian_is_finite_at_extreme_hyperparameters(a, b):
    prior = InverseGaussian(a, b)
    w2 = np.array([0.0, 1e-60, 1.0, 1e60])
    for values in (*prior.expectations(w2), prior.bound_term(w2)):
        assert np.isfinite(values).all()
    assert (prior.expectations(w2)[1] > 0).all()


@given(st.floats(-600, 60))
def test_bessel_functions_match_scipy(log_argument):
    s = np.exp(np.array([log_argument]))
    ratio, log_k1e = bessel_ratio_and_log(s)
    np.testing.assert_allclose(ratio, k0e(s) / k1e(s), rtol=2e-13)
    np.testing.assert_allclose(log_k1e, np.log(k1e(s)), rtol=2e-13, atol=2e-13)


def test_every_prior_is_convex_in_the_squared_loading():
    w2 = np.geomspace(1e-6, 1e3, 200)
    for prior_class in PRIORS.values():
        precision = prior_class.start(np.ones(3)).expectations(w2)[1]
        assert (np.diff(precision) < 0).all()
