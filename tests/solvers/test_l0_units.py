"""What ends a search of the l0 model does not depend on the unit of the data."""

import numpy as np
import pytest

from loadstone.covariance.route import covariance_of
from loadstone.loadings import Stop
from loadstone.solvers.factor_models.samples import samples_of
from loadstone.solvers.l0_noise_descent import Descent, L0Descent


@pytest.mark.parametrize("unit", [2.0**-20, 1.0, 2.0**20])
def test_a_rival_is_lower_in_every_unit_or_in_none(unit):
    """The deviance moves with the logarithm of the unit, the gain over noise alone does not."""
    X = np.random.default_rng(0).normal(size=(20, 6)) * unit
    samples, solver = samples_of(covariance_of(X)[0]), L0Descent(tol=1e-3)
    empty = solver.empty(samples)

    def ends(below):
        return Descent(empty, np.array([empty.deviance - below]), Stop.CONVERGED)

    # The tolerance is 1e-3 * (1 + 2).
    assert solver.is_lower(samples, ends(2.004), ends(2.0))
    assert not solver.is_lower(samples, ends(2.002), ends(2.0))
