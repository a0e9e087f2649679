"""What a certificate says, refuses, stores and survives."""

from dataclasses import replace

import numpy as np
import pytest

from loadstone.certificates import Certificate, CertificateError, prove
from loadstone.certificates.certificate import refuse_impossible
from loadstone.certificates.proof_cases import ProofCase
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance, covariance_of
from loadstone.datasets import load_pitprops


@pytest.fixture
def matrix():
    return np.cov(np.random.default_rng(0).standard_normal((30, 16)).T)


def leading(matrix, support):
    loading = np.zeros(matrix.shape[0])
    loading[support] = np.linalg.eigh(matrix[np.ix_(support, support)])[1][:, -1]
    return loading


@pytest.fixture
def certificate(matrix):
    constraint = LoadingConstraint(16, 5)
    return prove(
        ExplicitCovariance(matrix), constraint, leading(matrix, np.arange(5)), effort="full"
    )


@pytest.mark.parametrize("effort", ["instant", "standard", "full"])
def test_more_effort_never_proves_less(matrix, effort):
    S, constraint = ExplicitCovariance(matrix), LoadingConstraint(16, 5)
    loading = leading(matrix, np.arange(5))
    found = prove(S, constraint, loading, effort=effort)
    instant = prove(S, constraint, loading, effort="instant")
    assert found.upper_bound <= instant.upper_bound
    assert found.value == pytest.approx(loading @ matrix @ loading)
    assert found.ratio == pytest.approx(found.value / found.upper_bound)
    assert found.verify(S) == pytest.approx(found.upper_bound)


def test_a_better_component_is_handed_out(matrix, certificate):
    assert certificate.best_value > certificate.value * 1.01
    better = prove(
        ExplicitCovariance(matrix),
        LoadingConstraint(16, 5),
        certificate.best_loading,
        effort="full",
    )
    assert better.is_optimal
    assert str(better).startswith("proven optimal")
    assert set(better.fixed_in) == set(np.flatnonzero(certificate.best_loading))
    assert better.fixed_in.size + better.fixed_out.size == 16


def test_a_certificate_survives_the_disk(certificate, matrix, tmp_path):
    certificate.save(tmp_path / "certificate.npz")
    again = Certificate.load(tmp_path / "certificate.npz")
    assert str(again) == str(certificate)
    assert again.n_nodes == certificate.n_nodes
    assert again.verify(matrix) == certificate.verify(matrix)
    np.testing.assert_array_equal(again.best_loading, certificate.best_loading)


def test_a_certificate_of_an_instant_bound_survives_the_disk(matrix, tmp_path):
    constraint = LoadingConstraint(16, 5, forced=np.array([1]), forbidden=np.array([7]))
    found = prove(
        ExplicitCovariance(matrix), constraint, leading(matrix, [0, 1, 2, 3]), effort="instant"
    )
    found.save(tmp_path / "instant.npz")
    assert Certificate.load(tmp_path / "instant.npz").verify(matrix) == found.verify(matrix)


@pytest.mark.parametrize("field", ["value", "upper_bound", "best_value"])
def test_verification_notices_a_changed_number(certificate, matrix, field):
    factor = {"value": 1.001, "upper_bound": 0.9999, "best_value": 0.999}[field]
    changed = replace(certificate, **{field: getattr(certificate, field) * factor})
    with pytest.raises(CertificateError):
        changed.verify(matrix)


def test_verification_notices_another_covariance(certificate, matrix):
    for other in (1.01 * matrix, matrix[::-1, ::-1], matrix[:15, :15]):
        with pytest.raises(CertificateError, match="another covariance"):
            certificate.verify(other)


def test_verification_notices_a_worthless_proof(certificate, matrix):
    with pytest.raises(CertificateError, match="stored proof"):
        replace(certificate, cases=(ProofCase(),)).verify(matrix)


def test_a_bound_below_the_value_is_refused_loudly(certificate):
    with pytest.raises(CertificateError, match="report"):
        refuse_impossible(1.0, 0.99)
    with pytest.raises(CertificateError, match="report"):
        replace(certificate, upper_bound=certificate.value * 0.9)


@pytest.mark.parametrize(
    ("loading", "nonnegative", "rule"),
    [
        (np.ones(16) / 4, False, "more than n_nonzero"),
        (np.eye(16)[0] * 2, False, "norm is 2"),
        (-np.eye(16)[0], True, "below 0"),
        (np.eye(16)[7], False, "forbidden"),
        (np.full(16, np.nan), False, "not finite"),
        (np.ones(15) / np.sqrt(15), False, "16 features"),
    ],
)
def test_an_infeasible_component_is_refused_by_name(matrix, loading, nonnegative, rule):
    constraint = LoadingConstraint(16, 5, nonnegative, forbidden=np.array([7]))
    with pytest.raises(ValueError, match=rule):
        prove(ExplicitCovariance(matrix), constraint, loading)


@pytest.mark.parametrize("option", [{"effort": "much"}, {"time_limit": 0.0}])
def test_bad_options_are_refused(matrix, option):
    with pytest.raises(ValueError, match=next(iter(option))):
        prove(ExplicitCovariance(matrix), LoadingConstraint(16, 5), np.eye(16)[0], **option)


def test_single_precision_data_can_be_certified():
    X = np.random.default_rng(2).standard_normal((40, 12)).astype(np.float32)
    S, _ = covariance_of(X, route="data")
    loading = np.eye(12, dtype=np.float32)[0]
    found = prove(S, LoadingConstraint(12, 4), loading, effort="full")
    best = found.best_loading.astype(np.float32)
    again = prove(S, LoadingConstraint(12, 4), best / np.linalg.norm(best), effort="full")
    assert again.ratio > 1 - 1e-5
    assert again.verify(S) == pytest.approx(again.upper_bound)


def test_a_covariance_of_zeros_is_optimal_at_once():
    found = prove(
        ExplicitCovariance(np.zeros((4, 4))), LoadingConstraint(4, 2), np.eye(4)[1], effort="full"
    )
    assert found.value == found.upper_bound == 0.0
    assert type(found.upper_bound) is float
    assert found.ratio == 1.0
    assert found.is_optimal


@pytest.mark.parametrize("nonnegative", [False, True])
def test_scale_changes_nothing_but_the_unit(matrix, nonnegative):
    loading = np.abs(leading(matrix, np.arange(5)))
    constraint = LoadingConstraint(16, 5, nonnegative)
    for scale in (1e-12, 1e9):
        one = prove(ExplicitCovariance(matrix), constraint, loading)
        other = prove(ExplicitCovariance(scale * matrix), constraint, loading)
        assert other.ratio == pytest.approx(one.ratio, rel=1e-4)


@pytest.mark.parametrize("n_nonzero", [3, 8, 10, 12])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_pit_props_are_proven_optimal(n_nonzero, nonnegative):
    known = {3: 2.4753, 8: 4.0686, 10: 4.1726, 12: 4.2182}[n_nonzero]
    matrix = load_pitprops().correlation
    first = prove(
        ExplicitCovariance(matrix),
        LoadingConstraint(13, n_nonzero, nonnegative),
        np.eye(13)[0],
        effort="full",
    )
    assert first.upper_bound == pytest.approx(first.best_value, rel=1e-6)
    expected = min(known, 4.1441) if nonnegative else known
    assert first.best_value == pytest.approx(expected, abs=1e-4)
