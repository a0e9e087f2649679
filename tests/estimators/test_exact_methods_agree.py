"""On matrices of low rank three independent exact methods must give one answer."""

import numpy as np
import pytest

from loadstone import ExactSparsePCA, SpannogramPCA


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_spannogram_cones_and_branch_and_bound_agree(seed, rank, nonnegative):
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((25, rank)) * np.array([2.0, 1.4, 1.0])[:rank]
    S, options = V @ V.T, {"n_nonzero": 5, "nonnegative": nonnegative}
    proven = ExactSparsePCA(**options).fit_covariance(S)
    assert proven.gap_[0] <= 1e-6
    for method in ("exact", "cones"):
        model = SpannogramPCA(rank=rank, method=method, epsilon=1e-9, **options).fit_covariance(S)
        assert model.marginal_variance_[0] == pytest.approx(proven.marginal_variance_[0], rel=1e-9)
