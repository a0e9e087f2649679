"""What a forger may change in a joint certificate: every change makes it false or malformed."""

import dataclasses

import numpy as np

from loadstone import SparsePCA
from loadstone.certificates import prove_together
from loadstone.certificates.joint_problem import ADJUSTED, RECOVERED, RELATIONS, SUM
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import covariance_of

from .certificate_kinds import table
from .joint_kinds import LOWER, changed, lowered, wrong_numbers


def made_together(seed):
    """A joint certificate of random data, and the data."""
    rng = np.random.default_rng([9, seed])
    n, r, size = (int(rng.integers(*ends)) for ends in ((6, 11), (2, 4), (2, 4)))
    X, relation = table(rng, n), RELATIONS[seed % len(RELATIONS)]
    nonnegative = bool(relation in ("none", "quasi", "disjoint") and rng.random() < 0.4)
    standardize = bool(rng.random() < 0.3)
    rule = LoadingConstraint(n, size, nonnegative)
    model = SparsePCA(
        min(r, n // size) if relation == "disjoint" else r,
        n_nonzero=max(size, 3) if relation in ("strict", "uncorrelated") else size,
        nonnegative=nonnegative,
        orthogonality=relation,
        standardize=standardize,
        effort="fast",
    ).fit(X)
    rule = LoadingConstraint(n, int(model.cardinality_.max()), nonnegative)
    S, _ = covariance_of(X, standardize=standardize)
    W = model.components_.T.astype(np.float64)
    quantity = RECOVERED if rng.random() < 0.2 else None
    return prove_together(S, [rule] * W.shape[1], W, relation, quantity=quantity), X


def leaves_room(joint):
    """Whether more can be claimed than is proven: not of what is optimal."""
    return bool(joint.claims) and joint.claims[0].value < joint.claims[0].upper_bound * LOWER


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
    for W in (
        joint.loadings * 1.001,
        np.eye(len(joint.loadings))[:, [0, 0]],
        np.roll(joint.loadings, 1, axis=0),
    ):
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
    rule, n = joint.constraints[0], len(joint.loadings)
    others = [
        LoadingConstraint(n, 1),
        LoadingConstraint(n - 1, rule.n_nonzero),
        LoadingConstraint(n, n),
        LoadingConstraint(n, rule.n_nonzero, forbidden=np.flatnonzero(joint.loadings[:, 0])),
    ]
    for other in (*others, None, "any"):
        yield lambda other=other: changed(joint, low, constraints=(other, *joint.constraints[1:]))
    yield lambda: changed(joint, low, constraints=joint.constraints[:1])
    yield lambda: changed(joint, low, constraints=())
    yield lambda: changed(joint, low, constraints=joint.constraints * 3)
    for field, value in (
        ("trace", joint.about.trace * 1.1),
        ("n_features", n - 1),
        ("probe", 0.0),
        ("precision", "f"),
    ):
        about = dataclasses.replace(joint.about, **{field: value})
        yield lambda about=about: changed(joint, low, about=about)
    yield lambda: changed(joint, low, about=None)
    # A wide tolerance must not be had by calling the data coarse.
    about = dataclasses.replace(joint.about, precision="float32")
    yield lambda: changed(joint, low, about=about)
    yield lambda: dataclasses.replace(joint, claims=(None,))
    yield lambda: dataclasses.replace(joint, claims="all")


def _proof_forgeries(joint, low):
    proof, n = joint.claims[0].proof, len(joint.loadings)
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
        for features in (
            np.arange(n - 1),
            np.arange(1, n + 1),
            np.zeros(n, dtype=int),
            None,
            "all",
        ):
            yield lambda features=features: changed(joint, low, dual={"features": features})
        eights = (proof.dual.pairing * 100).astype(np.int8)
        yield lambda: changed(joint, low, dual={"pairing": eights})
