"""Certificates in files: exactly where they were asked for, and refused in one sentence."""

import json

import numpy as np
import pytest

from hostile import forged_archive, forged_array, outcomes
from loadstone import SparsePCA, save_model
from loadstone.certificates import Certificate, CertificateError, prove
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance


@pytest.fixture(scope="module")
def certificate():
    A = np.random.default_rng(0).standard_normal((40, 7))
    w = np.zeros(7)
    w[[1, 2]] = 0.6, 0.8
    return prove(ExplicitCovariance(np.cov(A.T), 40), LoadingConstraint(7, 2), w, effort="full")


def test_the_file_is_where_it_was_asked_for(certificate, tmp_path):
    certificate.save(tmp_path / "cert.bin")
    assert [path.name for path in tmp_path.iterdir()] == ["cert.bin"]
    again = Certificate.load(tmp_path / "cert.bin")
    assert again.value == certificate.value
    assert str(again) == str(certificate)
    np.testing.assert_array_equal(again.loading, certificate.loading)


def test_damaged_certificates_and_models_end_in_a_sentence(certificate, tmp_path):
    certificate.save(tmp_path / "certificate.npz")
    X = np.random.default_rng(0).standard_normal((40, 13))
    save_model(SparsePCA(2, n_nonzero=3, certify="instant").fit(X), tmp_path / "model.npz")
    found = outcomes([tmp_path / "certificate.npz", tmp_path / "model.npz"], 60, 30)
    assert set(found["certificate.npz"]) <= {"read", "CertificateError"}, found
    assert set(found["model.npz"]) <= {"read", "ModelFileError"}, found
    # What was cut off is never read.
    assert min(each.total() - each["read"] for each in found.values()) >= 30


def rewritten(path, **changes):
    with np.load(path) as stored:
        members = {name: stored[name] for name in stored.files}
    members.update({name: change(members) for name, change in changes.items()})
    np.savez(path, **members)


def nested(_):
    return np.array("[" * 100_000 + "]" * 100_000)


def shallow_nested(_):
    value = 1
    for _ in range(300):
        value = [value]
    return np.array(json.dumps(value))


@pytest.mark.parametrize(
    "changes",
    [
        {"format": lambda m: np.array(99)},
        {"format": lambda m: np.array("two")},
        {"numbers": lambda m: m["numbers"] * np.nan},
        {"numbers": lambda m: m["numbers"][:2]},
        {"loading": lambda m: m["loading"][:3]},
        {"loading": lambda m: m["loading"] + 1j},
        {"texts": lambda m: m["texts"][:1]},
        {"node_features": lambda m: np.full_like(m["node_features"], 3)},
        {"node_features": lambda m: m["node_features"] + 99},
        {"node_duals": lambda m: m["node_duals"] + 1},
        {"node_duals": lambda m: m["node_duals"] - 10**9},
        {
            "node_duals": lambda m: (
                np.append(m["node_duals"], -1) + (np.arange(len(m["node_duals"]) + 1) == 0)
            ),
            "node_features": lambda m: np.append(m["node_features"], -1),
            "node_listed": lambda m: np.append(m["node_listed"], m["node_listed"][:1]),
        },
        {"dual_sizes": lambda m: np.full((1, 3), 2**62)},
        {"dual_sizes": lambda m: np.zeros((0, 2), dtype=int)},
        {"constraint": nested},
        {"constraint": shallow_nested},
        {"constraint": lambda m: np.array("NaN")},
        {"constraint": lambda m: np.array(b"\xff")},
        {"fixed_in": lambda m: np.array([10**9])},
    ],
)
def test_edited_certificates_are_refused_with_a_sentence(changes, certificate, tmp_path):
    path = tmp_path / "certificate.npz"
    certificate.save(path)
    rewritten(path, **changes)
    with pytest.raises(CertificateError) as caught:
        Certificate.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"PK\x03\x04",
        forged_archive(format=forged_array((10**12,))),
        forged_archive(numbers=forged_array((5,), content=b"\0" * 40)),
    ],
)
def test_other_files_are_no_certificates(content, tmp_path):
    (tmp_path / "c.npz").write_bytes(content)
    with pytest.raises(CertificateError):
        Certificate.load(tmp_path / "c.npz")
    with pytest.raises(FileNotFoundError):
        Certificate.load(tmp_path / "nothing.npz")


def test_a_failed_save_leaves_the_old_file(certificate, tmp_path, monkeypatch):
    path = tmp_path / "c.npz"
    certificate.save(path)
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space left"):
        certificate.save(path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1
