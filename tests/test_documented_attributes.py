"""Every attribute a fit sets is in the docstring of its estimator."""

import numpy as np
import pytest
from sklearn.base import clone

import registry


@pytest.mark.parametrize("cls", registry.estimators())
@pytest.mark.filterwarnings("ignore")
def test_fitted_attributes_are_documented(cls):
    X = np.random.default_rng(0).standard_normal((30, 6))
    model = clone(cls()).fit(X)
    fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    missing = sorted(name for name in fitted if f"    {name} : " not in cls.__doc__)
    assert not missing
