"""Pictures of priors draw formulas that can be solved by hand."""

import numpy as np
import pytest
from scipy.integrate import quad

from loadstone.plotting import plot_prior_contours, plot_prior_penalty, plot_prior_threshold
from loadstone.solvers.variational_bayes.one_loading import (
    penalised_estimate,
    penalty,
    variational_estimate,
)
from loadstone.solvers.variational_bayes.priors import InverseGaussian, Jeffreys, Laplace

THREE = [
    ("laplace", {"lam": 0.5}),
    ("inverse_gaussian", {"a": 0.01, "b": 1.0}),
    ("jeffreys", {}),
]


def test_penalties_are_minus_the_log_density():
    def of_inverse_gaussian(w, a, b):
        """The normal density of variance z, averaged over the law of z."""

        def both(z):
            law = np.sqrt(a / (2 * np.pi * z**3)) * np.exp(-a * (z - b) ** 2 / (2 * b**2 * z))
            return law * np.exp(-(w**2) / (2 * z)) / np.sqrt(2 * np.pi * z)

        return quad(both, 0, np.inf)[0]

    w = np.array([0.3, 1.7])
    np.testing.assert_allclose(penalty(Laplace(0.5), w), 2 * w)
    np.testing.assert_allclose(penalty(Jeffreys(), w), np.log(w))
    density = [of_inverse_gaussian(value, 0.8, 1.3) for value in w]
    np.testing.assert_allclose(np.exp(-penalty(InverseGaussian(0.8, 1.3), w)), density, rtol=1e-6)


def test_thresholds_are_those_of_the_formulas():
    t = np.array([0.5, 1.9, 2.5, 5.0])
    np.testing.assert_allclose(penalised_estimate(Laplace(0.5), t), np.maximum(t - 2, 0), atol=1e-6)
    with np.errstate(invalid="ignore"):
        root = 0.5 * (t + np.sqrt(t**2 - 4))
    expected = np.where(t < 2, 0, root)
    np.testing.assert_allclose(penalised_estimate(Jeffreys(), t), expected, atol=1e-6)
    # A law of z that is nearly one number is a ridge: half of t for variance 1.
    ridge = penalised_estimate(InverseGaussian(1e8, 1.0), t)
    np.testing.assert_allclose(ridge, t / 2, rtol=1e-4)


def test_variational_means_of_jeffreys_vanish_below_one():
    assert variational_estimate(Jeffreys(), np.array([0.8]))[0] < 1e-3
    # At a fixed point <1/z> = 1/<w^2>: m = t w2/(1 + w2) with w2 = m^2 + m/t.
    (mean,) = variational_estimate(Jeffreys(), np.array([5.0]))
    second = mean**2 + mean / 5.0
    assert mean == pytest.approx(5.0 * second / (1 + second), rel=1e-9)
    assert mean == pytest.approx(4.80, abs=0.005)


def test_pictures_draw_every_prior():
    ax = plot_prior_penalty(THREE)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["laplace (lam = 0.5)", "inverse gaussian (a = 0.01, b = 1)", "jeffreys"]
    assert all(np.isfinite(line.get_ydata()).all() for line in ax.get_lines())
    for variational in (False, True):
        ax = plot_prior_threshold(THREE, variational=variational)
        assert len(ax.get_lines()) == 4
        for line in ax.get_lines():
            assert (line.get_ydata() <= line.get_xdata() + 1e-12).all()
    for prior, values in THREE:
        assert plot_prior_contours(prior, values).collections
    with pytest.raises(ValueError, match="no penalty to draw"):
        plot_prior_contours("point_normal", {})
