"""Bounds of wide data out of core hold for every support, and verify in memory."""

from itertools import combinations

import dask.array as da
import numpy as np
import pytest

from loadstone import SparsePCA, cardinality_path, certify
from loadstone.certificates import bound_instant
from loadstone.certificates.bound_sample_space import CUTS, sample_space_bounds
from loadstone.certificates.problem import SupportProblem
from loadstone.covariance import covariance_of, deflate, route, working_set
from passes.counting import planted


def wide(seed, n_features=14):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((8, n_features)) + 1.5 * rng.standard_normal((8, 1)) * (
        rng.random(n_features) < 0.4
    )


def best_value(matrix, size, forced=(), forbidden=()):
    allowed = [i for i in range(matrix.shape[0]) if i not in forbidden]
    return max(
        np.linalg.eigvalsh(matrix[np.ix_(T, T)])[-1]
        for T in map(list, combinations(allowed, size))
        if set(forced) <= set(T)
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rule", [None, "schur", "projection"])
def test_no_support_beats_the_bounds(seed, rule):
    X = wide(seed)
    S, _ = covariance_of(da.from_array(X, chunks=(8, 5)), route="wide", standardize=seed % 2 == 0)
    if rule is not None:
        w = np.zeros(14)
        w[[1, 4, 9]] = [0.6, 0.64, 0.48]
        S = deflate(S, w, rule)
    everything = np.arange(14)
    matrix = S.block(everything, everything)
    apart = {"forced": [2], "forbidden": [5]} if seed > 2 else {}
    problems = [SupportProblem.of(14, size, **apart) for size in (1, 2, 4, 6)]
    for problem, bounds in zip(problems, sample_space_bounds(S, problems), strict=True):
        assert min(bounds) >= best_value(matrix, problem.n_nonzero, **apart) - 1e-12


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_the_bound_above_an_eigenvalue_is_the_formula(unit):
    X = unit * wide(3)
    S, _ = covariance_of(X, route="wide")
    matrix = np.cov(X.T)
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], vectors[:, ::-1]
    for size in (2, 5):
        expected = min(
            values[m] + np.sort(np.square(vectors[:, :m]) @ (values[:m] - values[m]))[-size:].sum()
            for m in CUTS
            if m < 7
        )
        (bounds,) = sample_space_bounds(S, [SupportProblem.of(14, size)])
        assert bounds.above_an_eigenvalue == pytest.approx(expected, rel=1e-10)
        assert bounds.eigenvalue == pytest.approx(values[0], rel=1e-10)
        assert bounds.trace == pytest.approx(np.sort(matrix.diagonal())[-size:].sum())


@pytest.fixture
def _large(monkeypatch):
    monkeypatch.setattr(route, "READ_BYTES", 0)
    monkeypatch.setattr(working_set, "FIRST_SIZE", 128)
    monkeypatch.setattr(bound_instant, "SPECTRAL_LIMIT", 100)


@pytest.mark.usefixtures("_large")
@pytest.mark.filterwarnings("ignore:the search looked at")
def test_certificates_out_of_core_verify_in_memory():
    data = planted(40, 900, strength=2.0)
    X = da.from_array(data, chunks=(40, 200))
    S, _ = covariance_of(data)
    (certificate,) = SparsePCA(1, n_nonzero=6, certify="standard").fit(X).certificates_
    assert certificate.verify(S) <= certificate.upper_bound * (1 + 1e-9)
    assert certificate.value <= certificate.upper_bound
    again = certify(X, certificate.loading, n_nonzero=6)
    assert again.value == pytest.approx(certificate.value)
    path = cardinality_path(X, [1, 3, 6, 12], certify="instant")
    assert (path.bounds >= path.values).all()
    at_once = certify(X, certificate.loading, n_nonzero=6, effort="instant")
    assert path.bounds[2] == pytest.approx(at_once.upper_bound)
    # A dual proves more than the reduction.
    assert certificate.upper_bound < 0.95 * at_once.upper_bound
