"""No forged joint certificate is accepted, and none is refused by anything but CertificateError."""

import dataclasses
import importlib.util
import json
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from loadstone import SparsePCA
from loadstone.certificates import CertificateError, JointCertificate, prove_together
from loadstone.certificates.joint_bound import JointProof, terms_of
from loadstone.certificates.joint_problem import ADJUSTED, RECOVERED, RELATIONS, SUM
from loadstone.certificates.joint_recovery import recovery_form
from loadstone.certificates.joint_search import propose_joint_dual
from loadstone.certificates.problem import SupportProblem
from loadstone.certificates.search_dual import propose_dual
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance
from loadstone.datasets import load_pitprops

PITPROPS = load_pitprops().correlation
#: A share that nobody can prove away by changing numbers at random.
LOWER = 0.999


def made(relation, size, *, theorem=None, nonnegative=False, quantity=None):
    """A certificate of two components; with a ``theorem`` its claims rest on a dual."""
    model = SparsePCA(2, n_nonzero=size, orthogonality=relation, nonnegative=nonnegative)
    W = model.fit_covariance(PITPROPS).components_.T
    rules = [LoadingConstraint(13, size, nonnegative=nonnegative)] * 2
    S = ExplicitCovariance(PITPROPS)
    joint = prove_together(S, rules, W, relation, quantity=quantity)
    if theorem is None:
        return joint
    place = SupportProblem.of(13, size, nonnegative=nonnegative)
    found = propose_joint_dual(PITPROPS, place, place.features, 2, "B")
    if theorem != "B":
        start = {"start": found.point}
        found = propose_joint_dual(PITPROPS, place, place.features, 2, theorem, **start)
    prices = np.full(2, np.sort(terms_of(found.dual, place))[-2 * size])
    proof = JointProof(
        theorem=theorem,
        dual=found.dual,
        level=found.level,
        prices=prices if theorem == "A" else None,
    )
    return reproved(joint, proof, ADJUSTED if theorem == "D" else SUM)


def reproved(joint, proof, quantity):
    """The same components with a claim that rests on ``proof``."""
    claim = dataclasses.replace(joint.claim(quantity), proof=proof, upper_bound=100.0)
    loose = dataclasses.replace(joint, claims=(claim,))
    bound = loose.verify(PITPROPS)
    return dataclasses.replace(joint, claims=(dataclasses.replace(claim, upper_bound=bound),))


def recovered_by_a_dual():
    """What the first component recovers, by a dual that proves a little too much."""
    joint = made("none", 3, quantity=RECOVERED)
    first = joint.claims[0]
    theta = 1.02 * first.upper_bound
    form = recovery_form(PITPROPS, 0.0, theta)[0]
    dual = propose_dual(form, SupportProblem.of(13, 3)).dual
    claim = dataclasses.replace(first, proof=JointProof(theorem="E", level=theta, dual=dual))
    claim = dataclasses.replace(claim, upper_bound=theta * (1 + 1e-6))
    return dataclasses.replace(joint, claims=(claim,))


@pytest.fixture(scope="module")
def certificates():
    return {
        "D, all supports": made("none", 3),
        "D, dual": made("none", 3, theorem="D"),
        "A": made("disjoint", 3, theorem="A"),
        "B": made("strict", 3, theorem="B"),
        "disjoint sums": made("disjoint", 3),
        "non-negative": made("none", 3, nonnegative=True),
        "E": made("none", 3, quantity=RECOVERED),
        "E, dual": recovered_by_a_dual(),
    }


def changed(joint, claim=None, proof=None, dual=None, **fields):
    """The certificate with parts of it, of its first claim, proof and dual replaced."""
    first = joint.claims[0]
    kept = first.proof
    if dual:
        kept = dataclasses.replace(kept, dual=dataclasses.replace(kept.dual, **dual))
    if proof:
        kept = dataclasses.replace(kept, **proof)
    first = dataclasses.replace(first, proof=kept, **(claim or {}))
    return dataclasses.replace(joint, claims=(first, *joint.claims[1:]), **fields)


def lowered(joint):
    """What the first claim becomes when a little more is claimed than is proven."""
    first = joint.claims[0]
    return {"upper_bound": max(first.upper_bound * LOWER, first.value)}


def wrong_numbers(array):
    """Arrays in the place of another one that must never be used."""
    yield array.astype(np.int8)
    yield array.astype(np.complex128)
    yield array.astype(np.float32)
    yield array.astype(np.float16)
    yield array.astype(object)
    yield array.astype(str)
    yield array.ravel()[:-1]
    yield array[..., None]
    yield np.zeros((0, *array.shape[1:]))
    yield array.tolist()
    for value in (np.nan, np.inf, -np.inf):
        spoilt = array.astype(np.float64).copy()
        spoilt.flat[0] = value
        yield spoilt


def object_forgeries(joint):
    """Certificates that claim what they should not."""
    low, first = lowered(joint), joint.claims[0]
    yield lambda: changed(joint, low)
    for value in (np.nan, np.inf, -1.0, 0.0, first.upper_bound * 1.01, "many", None, 1j):
        yield lambda value=value: changed(joint, {"value": value})
    for bound in (np.nan, -np.inf, np.inf, -1.0, None, "none", 0.5 * first.value):
        yield lambda bound=bound: changed(joint, {"upper_bound": bound})
    for loadings in wrong_numbers(joint.loadings):
        yield lambda loadings=loadings: changed(joint, low, loadings=loadings)
    for W in (joint.loadings * 1.001, np.eye(13)[:, [0, 0]], np.roll(joint.loadings, 1, axis=0)):
        yield lambda W=W: changed(joint, loadings=W)
    for relation in (*RELATIONS, "friends", None, 3):
        if relation != joint.relation:
            yield lambda relation=relation: changed(joint, low, relation=relation)
    for theorem in ("KF", "A", "B", "D", "E", "DP", "Z", None, 1):
        if theorem != first.proof.theorem:
            yield lambda theorem=theorem: changed(joint, low, proof={"theorem": theorem})
    for level in (np.nan, np.inf, -1.0, 0.0, 1e300, None, "c"):
        if first.proof.theorem in {"D", "E"} and first.proof.matrix is None:
            yield lambda level=level: changed(joint, low, proof={"level": level})
    for quantity in (ADJUSTED, SUM, RECOVERED, "beauty", None):
        if quantity != first.quantity:
            yield lambda quantity=quantity: changed(joint, {**low, "quantity": quantity})
    for component in (0, 1, 2, -1, "1", 0.5, True):
        if component != first.component:
            yield lambda component=component: changed(joint, {**low, "component": component})
    yield from _stated_forgeries(joint, low)
    yield from _proof_forgeries(joint, low)


def _stated_forgeries(joint, low):
    rule = joint.constraints[0]
    others = [
        LoadingConstraint(13, 1),
        LoadingConstraint(12, rule.n_nonzero),
        LoadingConstraint(13, 13),
        LoadingConstraint(13, rule.n_nonzero, forbidden=np.flatnonzero(joint.loadings[:, 0])),
    ]
    for other in (*others, None, "any"):
        yield lambda other=other: changed(joint, low, constraints=(other, *joint.constraints[1:]))
    yield lambda: changed(joint, low, constraints=joint.constraints[:1])
    yield lambda: changed(joint, low, constraints=())
    yield lambda: changed(joint, low, constraints=joint.constraints * 3)
    for field, value in (("trace", 14.0), ("n_features", 12), ("probe", 0.0), ("precision", "f")):
        about = dataclasses.replace(joint.about, **{field: value})
        yield lambda about=about: changed(joint, low, about=about)
    yield lambda: changed(joint, low, about=None)
    # A wide tolerance must not be had by calling the data coarse.
    about = dataclasses.replace(joint.about, precision="float32")
    yield lambda: changed(joint, low, about=about)
    yield lambda: dataclasses.replace(joint, claims=(None,))
    yield lambda: dataclasses.replace(joint, claims="all")


def _proof_forgeries(joint, low):
    proof = joint.claims[0].proof
    yield lambda: changed(joint, low, proof={"dual": None, "matrix": None})
    if proof.matrix is not None:
        for matrix in wrong_numbers(proof.matrix):
            yield lambda matrix=matrix: changed(joint, low, proof={"matrix": matrix})
        yield lambda: changed(joint, low, proof={"matrix": -proof.matrix})
        yield lambda: changed(joint, low, proof={"matrix": proof.matrix * 1e-300})
    if proof.prices is not None:
        for prices in (*wrong_numbers(proof.prices), -proof.prices * 1e6):
            yield lambda prices=prices: changed(joint, low, proof={"prices": prices})
    if proof.dual is not None:
        for name in ("pairing", "shift", "factor"):
            for part in wrong_numbers(vars(proof.dual)[name]):
                yield lambda name=name, part=part: changed(joint, low, dual={name: part})
        for features in (np.arange(12), np.arange(1, 14), np.zeros(13, dtype=int), None, "all"):
            yield lambda features=features: changed(joint, low, dual={"features": features})
        eights = (proof.dual.pairing * 100).astype(np.int8)
        yield lambda: changed(joint, low, dual={"pairing": eights})


def is_refused(forge, data=PITPROPS):
    """Whether a forgery ends in a CertificateError, when it is made or when it is checked."""
    try:
        forge().verify(data)
    except CertificateError:
        return True
    return False


def test_what_is_forged_is_refused(certificates):
    count = 0
    for name, joint in certificates.items():
        joint.verify(PITPROPS)
        # Of what is optimal nothing more could be claimed.
        assert joint.claims[0].value < joint.claims[0].upper_bound * LOWER
        for number, forge in enumerate(object_forgeries(joint)):
            assert is_refused(forge), f"{name}: forgery {number}"
            count += 1
    assert count > 500


def test_other_data_is_told_from_a_forgery(certificates):
    rng = np.random.default_rng(0)
    for joint in certificates.values():
        order = rng.permutation(13)
        for data in (
            PITPROPS[np.ix_(order, order)],
            PITPROPS * 1.001,
            np.eye(13),
            PITPROPS[:12, :12],
            rng.standard_normal((50, 13)),
            np.full((13, 13), np.nan),
            "pit props",
            None,
        ):
            with pytest.raises(CertificateError):
                joint.verify(data)
        with pytest.raises(CertificateError, match="another covariance"):
            joint.verify(PITPROPS * 1.001)


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
    count = 0
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
            holds, _ = stand_alone().check(path, PITPROPS)
            # The last digits may be others; a value, or a bound, that is better may not.
            assert not holds or not claims_too_much(told_by(parts), joint), name
    assert count > 200


def told_by(parts):
    """The claims in a file as a person reads them."""
    claims = [SimpleNamespace(**claim) for claim in json.loads(str(parts["claims"]))]
    return SimpleNamespace(claims=claims)


def stand_alone():
    """The verifier that imports nothing of this package."""
    path = Path(__file__).resolve().parents[2] / "tools" / "verify_joint_certificate.py"
    spec = importlib.util.spec_from_file_location("verify_joint_certificate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
        assert text.startswith("refused: the proof gives")
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
