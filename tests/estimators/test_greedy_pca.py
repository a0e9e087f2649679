"""GreedyPCA as an estimator; its paths are tested with the solver."""

import numpy as np
import pytest

from loadstone import GreedyPCA


def test_all_features_by_number_give_the_whole_path():
    X = np.random.default_rng(0).standard_normal((30, 6))
    model = GreedyPCA(n_nonzero=6).fit(X)
    assert model.path_variance_.size == 6
    assert model.path_variance_[-1] == pytest.approx(np.linalg.eigvalsh(np.cov(X.T))[-1])
    assert sorted(model.path_order_) == list(range(6))
