"""Every attribute a fit sets is in the docstring of its estimator."""

import re

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
    # From Python 3.13 on the compiler takes the indentation of docstrings away.
    described = set(re.findall(r"^ *(\w+) : ", cls.__doc__, flags=re.MULTILINE))
    missing = sorted(fitted - described)
    assert not missing
