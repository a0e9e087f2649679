"""Joint certificates of every kind, and what is changed in them."""

import dataclasses
import functools

import numpy as np

from loadstone import SparsePCA
from loadstone.certificates import prove_together
from loadstone.certificates.joint_bound import JointProof, terms_of
from loadstone.certificates.joint_problem import ADJUSTED, RECOVERED, SUM
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


@functools.cache
def every_kind():
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
