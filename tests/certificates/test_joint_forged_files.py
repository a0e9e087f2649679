"""No spoilt or forged file of a joint certificate is accepted, by the package or without it."""

import json
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

from loadstone.certificates import CertificateError, JointCertificate

from .forgeries import stand_alone
from .joint_kinds import PITPROPS, changed, every_kind, lowered, wrong_numbers


@pytest.fixture(scope="module")
def certificates():
    return every_kind()


def members(path):
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def spoilt_members(parts, rng):
    """Files with one member changed, lost or replaced."""
    for name, array in parts.items():
        if name == "seconds":
            continue
        yield {k: v for k, v in parts.items() if k != name}
        for other in (np.array("text"), np.zeros(3), np.array(7), np.array([[1j]]), np.zeros(0)):
            yield {**parts, name: other}
        if array.dtype.kind == "f" and array.size > 1:
            for other in wrong_numbers(array):
                if isinstance(other, np.ndarray) and other.dtype != object:
                    yield {**parts, name: other}
        if array.dtype.kind == "U":
            text = str(array)
            for _ in range(10):
                at = int(rng.integers(len(text)))
                yield {**parts, name: np.array(text[:at])}
                yield {**parts, name: np.array(text[:at] + "9" + text[at + 1 :])}


def claims_too_much(joint, original):
    """Whether an accepted file says anything better than the original does."""
    for claim in joint.claims:
        same = [c for c in original.claims if c.quantity == claim.quantity]
        if not same or claim.upper_bound < min(c.upper_bound for c in same) * (1 - 1e-8):
            return True
        if claim.value > max(c.value for c in same) * (1 + 1e-8):
            return True
    return False


def test_spoilt_files_are_refused_or_say_the_same(certificates, tmp_path):
    rng = np.random.default_rng(1)
    tool, count = stand_alone(), 0
    for name in ("D, dual", "A", "E", "D, all supports"):
        joint = certificates[name]
        path = tmp_path / "joint.npz"
        joint.save(path)
        whole = members(path)
        for parts in spoilt_members(whole, rng):
            np.savez(path, **parts)
            count += 1
            try:
                again = JointCertificate.load(path)
                again.verify(PITPROPS)
            except CertificateError:
                pass
            else:
                assert not claims_too_much(again, joint), name
            holds, _ = tool.check(path, PITPROPS)
            # The last digits may be others; a value, or a bound, that is better may not.
            assert not holds or not claims_too_much(told_by(parts), joint), name
    assert count > 200


def told_by(parts):
    """The claims in a file as a person reads them."""
    claims = [SimpleNamespace(**claim) for claim in json.loads(str(parts["claims"]))]
    return SimpleNamespace(claims=claims)


def test_the_verifier_that_stands_alone_agrees(certificates, tmp_path):
    tool, path = stand_alone(), tmp_path / "joint.npz"
    for name, joint in certificates.items():
        joint.save(path)
        holds, text = tool.check(path, PITPROPS)
        assert holds, (name, text)
        assert text.count("proven:") == len(joint.claims)
        changed(joint, lowered(joint)).save(path)
        holds, text = tool.check(path, PITPROPS)
        assert not holds, name
        assert text.startswith("NOT PROVEN: the proof gives")
        assert not tool.check(path, PITPROPS * 1.001)[0]


def test_bytes_that_were_changed_are_noticed(certificates, tmp_path):
    rng = np.random.default_rng(2)
    path = tmp_path / "joint.npz"
    certificates["D, dual"].save(path)
    whole = path.read_bytes()
    for _ in range(150):
        spoilt = bytearray(whole)
        at = int(rng.integers(len(whole)))
        spoilt[at] ^= int(rng.integers(1, 256))
        path.write_bytes(spoilt if rng.random() < 0.7 else spoilt[:at])
        try:
            again = JointCertificate.load(path)
            again.verify(PITPROPS)
        except CertificateError:
            continue
        assert not claims_too_much(again, certificates["D, dual"])


def test_a_file_of_something_else_is_refused(certificates, tmp_path):
    path = tmp_path / "other.npz"
    np.savez(path, a=np.arange(3))
    with pytest.raises(CertificateError, match="no joint certificate"):
        JointCertificate.load(path)
    path.write_text("hello")
    with pytest.raises(CertificateError, match="no joint certificate"):
        JointCertificate.load(path)
    certificates["A"].save(path)
    parts = members(path)
    np.savez(path, **{**parts, "joint_format": np.array(99)})
    with pytest.raises(CertificateError, match="format 99"):
        JointCertificate.load(path)


def test_infinities_do_not_come_back_from_json(certificates, tmp_path):
    path = tmp_path / "joint.npz"
    certificates["A"].save(path)
    parts = members(path)
    claims = json.loads(str(parts["claims"]))
    for text in ("NaN", "Infinity", "-Infinity", "1e999", '"many"', "true", "3"):
        spoilt = json.dumps([{**claims[0], "upper_bound": 0.5}]).replace("0.5", text, 1)
        np.savez(path, **{**parts, "claims": np.array(spoilt)})
        with pytest.raises(CertificateError):
            JointCertificate.load(path).verify(PITPROPS)


def test_a_file_is_plain(certificates, tmp_path):
    path = tmp_path / "joint.npz"
    certificates["A"].save(path)
    assert zipfile.is_zipfile(path)
    stated = json.loads(str(members(path)["stated"]))
    assert set(stated["items"]) == {"constraints", "about"}
