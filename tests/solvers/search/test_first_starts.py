"""Where the search begins, compared with eigenvectors computed elsewhere."""

import numpy as np
import pytest

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance
from loadstone.solvers.search.search import Search

P, K = 40, 3


@pytest.mark.parametrize("nonnegative", [False, True])
def test_without_negative_loadings_both_ends_of_an_eigenvector_are_starts(nonnegative):
    X = np.random.default_rng(3).standard_normal((90, P)) * np.linspace(1, 2, P)
    S = np.cov(X.T)
    v = np.linalg.eigh(S)[1][:, -1]
    constraint = LoadingConstraint(P, K, nonnegative=nonnegative)
    blocks = Search(ExplicitCovariance(S), constraint)._first_starts(1, 0)
    found = {tuple(sorted(row.tolist())) for block in blocks[:-1] for row in block.indices}
    ends = [np.argsort(-v)[:K], np.argsort(v)[:K]] if nonnegative else [np.argsort(-np.abs(v))[:K]]
    assert {tuple(sorted(end.tolist())) for end in ends} <= found
