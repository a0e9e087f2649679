"""No forged joint certificate is accepted, and none is refused by anything but CertificateError."""

import dataclasses

import numpy as np
import pytest

from loadstone.certificates import CertificateError
from loadstone.certificates.joint_problem import ADJUSTED, RECOVERED, RELATIONS, SUM
from loadstone.constraints import LoadingConstraint

from .joint_kinds import LOWER, PITPROPS, changed, every_kind, lowered, wrong_numbers


@pytest.fixture(scope="module")
def certificates():
    return every_kind()


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
