"""Covariances of some features, and which of them cost passes over a file."""

import numpy as np
import pytest

from loadstone.covariance import DeflatedCovariance, ExplicitCovariance, covariance_of
from loadstone.solvers.search.restricted import formed_where_few, in_memory, restricted
from solvers.search.covariances import data, deflated, kinds, matrix_of

FEATURES = np.array([1, 2, 7, 20, 39])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rule", [None, "schur", "projection"])
@pytest.mark.parametrize("kind", ["C", "F", "csr", "csc", "gram", "low rank"])
def test_some_features_are_a_part_of_the_matrix(kind, rule, weighted, tmp_path):
    X = data()
    weights = np.linspace(0.5, 2, len(X)) if weighted else None
    S = kinds(X, tmp_path, weights)[kind]
    S = S if rule is None else deflated(S, rule)
    part = restricted(S, FEATURES)
    expected = matrix_of(S)[np.ix_(FEATURES, FEATURES)]
    np.testing.assert_allclose(part @ np.eye(FEATURES.size), expected, atol=1e-10)
    base = part.base if isinstance(part, DeflatedCovariance) else part
    if kind in {"csr", "csc"}:
        assert base.rows.is_sparse


@pytest.mark.parametrize("rule", [None, "schur"])
def test_only_rows_in_a_file_are_out_of_memory(rule, tmp_path):
    for kind, S in kinds(data(), tmp_path).items():
        S = S if rule is None else deflated(S, rule)
        assert in_memory(S) == (kind != "mapped")


@pytest.mark.parametrize(("n_features", "formed"), [(512, True), (513, False)])
def test_few_features_are_formed(n_features, formed):
    X = np.random.default_rng(0).standard_normal((5, n_features))
    S, _ = covariance_of(X, route="data")
    found = formed_where_few(S)
    assert isinstance(found, ExplicitCovariance) == formed
    assert formed or found is S
    if formed:
        np.testing.assert_allclose(found.matrix, np.cov(X.T), atol=1e-12)
