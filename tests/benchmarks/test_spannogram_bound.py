"""The paper's bound that the certificates are compared with."""

import importlib.util
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from loadstone.certificates.problem import SupportProblem
from loadstone.covariance import ExplicitCovariance

SOURCE = Path(__file__).resolve().parents[2] / "benchmarks" / "spannogram_bound.py"


@pytest.fixture(scope="module")
def probabilistic_bound():
    spec = importlib.util.spec_from_file_location("spannogram_bound", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.probabilistic_bound


def best_positive_eigenvalue(block):
    """max x'Ax over unit x >= 0: the best eigenvalue with a positive vector on any face."""
    found = []
    for size in range(1, block.shape[0] + 1):
        for face in combinations(range(block.shape[0]), size):
            values, vectors = np.linalg.eigh(block[np.ix_(face, face)])
            one_sign = (vectors >= -1e-12).all(axis=0) | (vectors <= 1e-12).all(axis=0)
            found += values[one_sign].tolist()
    return max(found)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_it_holds_on_low_rank_matrices_and_calls_itself_probabilistic(
    probabilistic_bound, nonnegative
):
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((8, 3))
    matrix = factors @ factors.T
    problem = SupportProblem.of(8, 3, nonnegative=nonnegative, forced=[1], forbidden=[0])
    bound = probabilistic_bound(ExplicitCovariance(matrix), problem, rng)
    supports = [[1, *others] for others in combinations(range(2, 8), 2)]
    blocks = [matrix[np.ix_(support, support)] for support in supports]
    best = best_positive_eigenvalue if nonnegative else lambda A: np.linalg.eigvalsh(A)[-1]
    optimum = max(best(block) for block in blocks)
    assert optimum <= bound.value <= np.linalg.eigvalsh(matrix)[-1] * 1.001
    assert "probability" in bound.name
