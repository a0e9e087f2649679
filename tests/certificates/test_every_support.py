"""Groups and some signs on few features: every support is solved, and the bound is the optimum."""

from math import comb

import numpy as np
import pytest

from loadstone.certificates import Certificate, CertificateError, prove
from loadstone.certificates import bound_every_support as few
from loadstone.certificates.bound_every_support import (
    largest_supports,
    n_largest_supports,
    signed_optimum,
)
from loadstone.constraints import Groups, L1Budget, Signs
from loadstone.covariance import ExplicitCovariance

from .forgeries import stand_alone
from .forgery_kinds import forged
from .random_proofs import best_on, supports_of


def drawn(seed):
    rng = np.random.default_rng([5, seed])
    n = int(rng.integers(4, 8))
    A = rng.standard_normal((n + 4, n)) @ rng.standard_normal((n, n))
    A = np.cov(A.T) if seed % 3 else (A[:n] + A[:n].T) / 2
    if seed % 2:
        rule = Groups(
            rng.integers(0, 3, n),
            int(rng.integers(1, 3)),
            per_group=int(rng.integers(1, 3)) if rng.random() < 0.5 else None,
            nonnegative=bool(rng.random() < 0.5),
        )
    else:
        signed = rng.permutation(n)[: rng.integers(1, n)]
        rule = Signs({int(i): int(rng.choice([-1, 1])) for i in signed}, int(rng.integers(2, n)), n)
    return A, rule


@pytest.mark.parametrize("seed", range(24))
def test_the_bound_is_the_optimum(seed, tmp_path):
    A, rule = drawn(seed)
    w = rule.best_loading(np.random.default_rng(seed).standard_normal(len(A)))
    optimum = max(best_on(A, T, rule.signs) for T in supports_of(rule, len(A)) if T.size)
    found = prove(ExplicitCovariance(A), rule, w)
    assert found.upper_bound == pytest.approx(optimum, rel=1e-8, abs=1e-9)
    assert found.best_value == pytest.approx(optimum, rel=1e-6)
    assert rule.broken_rule(found.best_loading) is None
    assert found.verify(A) == pytest.approx(found.upper_bound)
    path = tmp_path / "c.npz"
    found.save(path)
    assert Certificate.load(path).verify(A) == pytest.approx(found.upper_bound)
    tool = stand_alone()
    assert tool.check(path, A)[0]
    forged(found, upper_bound=optimum - 1e-4 * abs(optimum), value=-9.0).save(path)
    assert not tool.check(path, A)[0]


@pytest.mark.parametrize("seed", range(12))
def test_supports_are_counted_as_they_are_listed(seed):
    _, rule = drawn(seed)
    listed = [tuple(T) for T in largest_supports(rule)]
    assert len(listed) == len(set(listed)) == n_largest_supports(rule)
    # A group that is chosen counts even where two choices of groups give one support.
    expected = [tuple(np.sort(T)) for T in supports_of(rule, rule.n_features) if T.size]
    assert set(listed) == set(expected)


def test_many_supports_are_counted_and_left_alone():
    rule = Signs({0: 1}, 20, 60)
    assert n_largest_supports(rule) == comb(60, 20)
    assert n_largest_supports(L1Budget(5, 1.5)) is None
    A = np.cov(np.random.default_rng(0).standard_normal((80, 60)).T)
    found = prove(ExplicitCovariance(A), rule, rule.best_loading(A[:, 0]))
    assert found.proof == "dual bound"
    claimed = forged(found, cases=(few_cases(),), upper_bound=found.value)
    with pytest.raises(CertificateError, match="too many supports"):
        claimed.verify(A)


def few_cases():
    from loadstone.certificates.proof_cases import ProofCase

    return ProofCase(listed=True)


def test_equal_eigenvalues_are_never_taken_for_less():
    """The plane of the leading eigenvectors holds a vector of the signs, the basis may not."""
    A = np.diag([2.0, 2.0, 1.0])
    for signs in ([1, 1, 0], [1, -1, 1], [-1, -1, -1]):
        assert signed_optimum(A, np.array(signs), -np.inf)[0] == pytest.approx(2.0)
    assert signed_optimum(-np.ones((2, 2)) + 3 * np.eye(2), np.ones(2), 0.0)[0] >= 2.0 - 1e-12


def test_too_many_faces_are_not_gone_through(monkeypatch):
    monkeypatch.setattr(few, "MOST_FACES", 3)
    A = -np.ones((8, 8)) + 9 * np.eye(8)
    assert signed_optimum(A, np.ones(8), 0.0) is None
