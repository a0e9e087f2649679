"""Forged certificates are refused: by verify, from a file, and by the verifier that stands alone."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_wine

from loadstone import SparsePCA
from loadstone.certificates import CertificateError, Earlier, prove
from loadstone.certificates.joint_file import save_joint
from loadstone.constraints import Groups, LoadingConstraint, Signs
from loadstone.covariance import ExplicitCovariance

from .certificate_kinds import FIRST_SLICED, SHAPES, made
from .forgeries import TOOL, joint_trial, single_trial, stand_alone
from .forgery_kinds import FORGERIES
from .random_proofs import fault

N_KINDS = len(FORGERIES) + 2


@pytest.fixture(scope="module")
def tool():
    return stand_alone()


@pytest.mark.parametrize("kind", range(N_KINDS))
def test_no_forgery_is_accepted_and_none_ends_in_another_exception(kind, tool, tmp_path):
    tried = [single_trial(kind + N_KINDS * i, tmp_path, tool) for i in range(4)]
    assert {what for _, found in tried for what in found.values()} <= {"refused"}, tried
    assert any(found for _, found in tried)


@pytest.mark.parametrize("seed", range(6))
def test_no_joint_forgery_is_accepted(seed, tool, tmp_path):
    _, found = joint_trial(seed, tmp_path, tool)
    assert set(found.values()) <= {"refused"}, found


@pytest.mark.parametrize("seed", [*range(3 * len(SHAPES)), FIRST_SLICED, FIRST_SLICED + 1])
def test_both_verifiers_accept_what_is_proven_and_agree(seed, tool, tmp_path):
    certificate, X = made(seed)
    certificate.save(tmp_path / "c.npz")
    holds, line = tool.check(tmp_path / "c.npz", X)
    assert holds, line
    bound = float(re.search("no rival above ([^ ]+)", line)[1])
    tolerance = 1e-9 if X.dtype == np.float64 else 1e-5
    # Bounds without a stored dual are its own, and some of them are smaller.
    assert bound <= certificate.verify(X) * (1 + tolerance)
    assert bound >= certificate.best_value * (1 - tolerance)
    if any(case.duals for case in certificate.cases) and len(certificate.cases) == 1:
        assert bound == pytest.approx(certificate.verify(X), rel=1e3 * tolerance)


def test_the_stand_alone_verifier_needs_numpy_alone(tmp_path):
    certificate, X = made(0)
    certificate.save(tmp_path / "c.npz")
    np.save(tmp_path / "X.npy", X)
    np.savetxt(tmp_path / "X.csv", X, delimiter=",", header="a,b", comments="")
    code = (
        "import runpy, sys; sys.modules['scipy'] = sys.modules['loadstone'] = None\n"
        f"sys.argv = ['verify', {str(tmp_path / 'c.npz')!r}, sys.argv[1]]\n"
        f"runpy.run_path({str(TOOL)!r}, run_name='__main__')"
    )
    for name in ("X.npy", "X.csv"):
        command = [sys.executable, "-c", code, str(tmp_path / name)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert ended.stdout.startswith("proven: variance")
    np.save(tmp_path / "X.npy", X**2)
    ended = subprocess.run(
        [sys.executable, str(TOOL), str(tmp_path / "c.npz"), str(tmp_path / "X.npy")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stdout.startswith("NOT PROVEN: made for other data")


@pytest.mark.parametrize("first", range(0, 60, 12))
def test_nothing_false_is_said_of_random_problems(first):
    for seed in range(first, first + 12):
        assert fault(seed) is None, seed


def test_fixed_features_do_not_come_from_a_gap_that_closed_by_tolerance():
    S = ExplicitCovariance(np.diag([1.0, 1.0 + 1e-8, 0.5]))
    found = prove(S, LoadingConstraint(3, 1), np.eye(3)[0], effort="full")
    assert 1 not in found.fixed_out
    coarse = np.diag([1.0, 1.2, 0.5])
    found = prove(
        ExplicitCovariance(coarse),
        LoadingConstraint(3, 1),
        np.eye(3)[0],
        effort="full",
        gap_tol=0.5,
    )
    assert found.best_value == pytest.approx(1.2) or 1 not in found.fixed_out


def test_a_share_of_less_than_nothing_is_not_stated():
    S = ExplicitCovariance(-np.diag([1.0, 2.0, 3.0]))
    found = prove(S, LoadingConstraint(3, 2), np.eye(3)[2], effort="instant")
    assert found.upper_bound < 0
    assert np.isnan(found.ratio)
    assert "%" not in str(found)


@pytest.mark.parametrize("kind", ["strict", "uncorrelated"])
def test_rivals_that_keep_equations_are_compared_with_no_others(kind):
    """Against brute force: the best vector on every support that keeps the equations."""
    from itertools import combinations

    rng = np.random.default_rng(3)
    for _ in range(6):
        n, k = 7, 4
        X = rng.standard_normal((30, n)) @ rng.standard_normal((n, n))
        A = np.cov(X.T)
        W = np.linalg.qr(rng.standard_normal((n, 2)))[0]
        Q = W if kind == "strict" else A @ W
        best, loading = -np.inf, None
        for T in combinations(range(n), k):
            basis = np.linalg.svd(Q[list(T)].T)[2][2:].T
            values, vectors = np.linalg.eigh(basis.T @ A[np.ix_(T, T)] @ basis)
            if values[-1] > best:
                best, loading = values[-1], np.zeros(n)
                loading[list(T)] = basis @ vectors[:, -1]
        earlier = Earlier(loadings=W, relation=kind)
        found = prove(ExplicitCovariance(A), LoadingConstraint(n, k), loading, earlier=earlier)
        assert found.value == pytest.approx(loading @ A @ loading)
        assert found.upper_bound >= best * (1 - 1e-12)
        assert found.ratio > 0.8
        assert found.verify(X) == pytest.approx(found.upper_bound)
        with pytest.raises(ValueError, match="misses"):
            prove(ExplicitCovariance(A), LoadingConstraint(n, k), np.eye(n)[0], earlier=earlier)


def test_verify_refuses_what_is_no_data():
    certificate, _ = made(0)
    for data in (None, "X", np.ones(3), object()):
        with pytest.raises(CertificateError):
            certificate.verify(data)


def test_what_a_constraint_remembers_is_not_trusted():
    X = np.random.default_rng(0).standard_normal((40, 6)) * np.arange(1, 7)
    for rule in (Groups([0, 0, 1, 1, 2, 2], 2, per_group=1), Signs({0: 1, 1: -1}, 3, 6)):
        S = ExplicitCovariance(np.cov(X.T))
        certificate = prove(S, rule, rule.best_loading(np.arange(6.0)), effort="instant")
        bound = certificate.verify(S)
        remembered = {"_codes": np.zeros(6, dtype=np.intp), "_given": np.ones(6, dtype=np.int8)}
        for name in set(remembered) & set(vars(rule)):
            rule.__dict__[name] = remembered[name]
        assert set(remembered) & set(vars(rule))
        assert certificate.verify(S) == bound


def test_joint_certificates_are_checked_without_the_package_too(tool, tmp_path):
    X = load_wine().data
    model = SparsePCA(2, n_nonzero=3, standardize=True, certify="instant").fit(X)
    path = tmp_path / "joint.npz"
    save_joint(model.joint_certificate_, path)
    holds, line = tool.check(path, X)
    assert holds, line
    assert line.startswith("proven: adjusted variance")
    with np.load(path) as stored:
        members = {name: stored[name] for name in stored.files}
    claims = json.loads(str(members["claims"]))
    claims[0]["upper_bound"] *= 1 - 1e-4
    np.savez(path, **{**members, "claims": np.array(json.dumps(claims))})
    assert not tool.check(path, X)[0]
    assert not tool.check(path, X[:, ::-1])[0]
