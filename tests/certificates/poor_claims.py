"""Poor components that are called the best: whatever is offered as a proof, it cannot be one.

A better component is known, so that every certificate here is false. Its proof is drawn at random:
trees, slices, duals on some features, of all magnitudes that doubles have, listed supports; for
several components every theorem, with matrices, levels and prices. As a script:

    cd tests && python -m certificates.poor_claims 2000
"""

import dataclasses
import sys
import tempfile
from pathlib import Path

import numpy as np

from loadstone.certificates.bound_dual import Dual
from loadstone.certificates.certificate_about import covariance_for
from loadstone.certificates.certificate_value import variance_on_support
from loadstone.certificates.joint_bound import THEOREMS, JointProof
from loadstone.certificates.joint_certificate import JointClaim
from loadstone.certificates.joint_problem import ADJUSTED, RECOVERED, SUM
from loadstone.certificates.joint_statement import Statement
from loadstone.certificates.proof_cases import ProofCase

from .certificate_kinds import FIRST_SLICED, good_loading, made
from .forgeries import outcomes, stand_alone
from .forgery_kinds import forged
from .joint_forgery_kinds import made_together

#: Exponents of the numbers of a proof: usual ones, squares that overflow or vanish, anything.
MAGNITUDES = ((-2, 1), (-2, 1), (70, 150), (100, 308), (-320, -150), (-320, 308))
#: What is known to be better is so by more than single precision may hide.
BETTER = 1 + 1e-3


def numbers(rng, *shape):
    """Random numbers of one magnitude or of many, some of them zero."""
    low, high = MAGNITUDES[rng.integers(len(MAGNITUDES))]
    powers = rng.uniform(low, high, shape if rng.random() < 0.5 else (1,) * len(shape))
    found = np.clip(rng.standard_normal(shape), -1, 1) * 10.0**powers
    found = np.where(rng.random(shape) < rng.choice([0.0, 0.5]), 0.0, found)
    return np.abs(found) if rng.random() < 0.3 else found


def random_dual(rng, features, n_slices):
    m = features.size
    P = numbers(rng, m, m)
    if rng.random() < 0.6:
        # What cancels in P + P' stays out of sight of the eigenvalue.
        P = np.triu(P, 1) - np.triu(P, 1).T
    return Dual(
        features,
        P,
        numbers(rng, m),
        numbers(rng, m, int(rng.integers(0, 3))),
        np.abs(numbers(rng, m)) if rng.random() < 0.5 else None,
        np.abs(numbers(rng, int(rng.integers(n_slices + 1)))) if n_slices else None,
    )


def random_cases(rng, n, n_slices=0, depth=0):
    """A random proof: a case before its children."""
    duals = []
    for _ in range(int(rng.integers(1, 3)) if rng.random() < 0.8 else 0):
        whole = np.arange(n)
        some = np.sort(rng.permutation(n)[: int(rng.integers(1, n + 1))])
        duals.append(random_dual(rng, whole if rng.random() < 0.6 else some, n_slices))
    split = rng.random() if depth < 2 else 1.0
    if split < 0.25:
        rest = [random_cases(rng, n, n_slices, depth + 1) for _ in range(2)]
        return [ProofCase(tuple(duals), int(rng.integers(n))), *rest[0], *rest[1]]
    if split < 0.4:
        lines = numbers(rng, n, int(rng.integers(2, 4)))
        rest = [random_cases(rng, n, n_slices + 1, depth + 1) for _ in range(lines.shape[1])]
        return [ProofCase(tuple(duals), lines=lines), *(case for part in rest for case in part)]
    return [ProofCase(tuple(duals), listed=bool(rng.random() < 0.5))]


def poor_claim(seed):
    """A false certificate of one component and its data; ``None`` where nothing better is known."""
    rng = np.random.default_rng([11, seed])
    certificate, X = made(int(rng.integers(FIRST_SLICED + 40)))
    if certificate.earlier.is_linear:
        return None, X
    S = covariance_for(X, certificate.about)
    measured, rule = certificate.earlier.measured_in(S), certificate.constraint
    w = np.asarray(rule.best_loading(rng.standard_normal(w_size(S)).astype(S.dtype)), dtype=float)
    w = w / np.linalg.norm(w)
    best = max(certificate.best_value, known_value(measured, rule, rng))
    value = variance_on_support(measured, w)
    if best < value * BETTER or value <= 0:
        return None, X
    cases = random_cases(rng, w.size)
    if not any(case.lines is not None for case in cases):
        plain = [dataclasses.replace(d, multipliers=None) for case in cases for d in case.duals]
        duals = iter(plain)
        cases = [dataclasses.replace(c, duals=tuple(next(duals) for _ in c.duals)) for c in cases]
    nobody = np.zeros(0, dtype=np.intp)
    stated = {"value": value, "best_value": value, "upper_bound": value * (1 + 1e-4)}
    stated |= {"loading": w, "best_loading": w, "fixed_in": nobody, "fixed_out": nobody}
    return forged(certificate, cases=tuple(cases), **stated), X


def w_size(S):
    return S.n_features


def known_value(measured, rule, rng):
    """What a few power steps reach."""
    return variance_on_support(measured, np.asarray(good_loading(measured, rule, rng), float))


def poor_claim_together(seed):
    """A false joint certificate and its data; ``None`` where nothing better is known."""
    rng = np.random.default_rng([12, seed])
    joint, X = made_together(int(rng.integers(60)))
    S = covariance_for(X, joint.about)
    statement = Statement.of(S, joint.constraints, joint.relation)
    n, r = joint.loadings.shape
    W = poor_loadings(joint, rng)
    quantity = (ADJUSTED, SUM, RECOVERED)[rng.integers(3)]
    j = int(rng.integers(r)) if quantity == RECOVERED else None
    better, value = (statement.value(V, quantity, j) for V in (joint.loadings, W))
    same_before = quantity != RECOVERED or j == 0
    if W is joint.loadings or value <= 0 or better < value * BETTER or not same_before:
        return None, X
    full, few = np.arange(n), rng.random() < 0.3
    dual = dataclasses.replace(random_dual(rng, full, 0), limits=None)
    matrix = numbers(rng, n, n)
    proof = JointProof(
        theorem="E" if quantity == RECOVERED else str(rng.choice(THEOREMS)),
        dual=None if few else dual,
        matrix=matrix + matrix.T if few and np.isfinite(matrix + matrix.T).all() else None,
        level=float(np.abs(numbers(rng, 1))[0]),
        prices=np.abs(numbers(rng, r)) if rng.random() < 0.5 else None,
    )
    claim = JointClaim(
        quantity=quantity, value=value, upper_bound=value * (1 + 1e-4), proof=proof, component=j
    )
    return dataclasses.replace(joint, loadings=W, claims=(claim,)), X


def poor_loadings(joint, rng):
    """Components that keep the rules and the relation, and explain less."""
    n, r = joint.loadings.shape
    if joint.relation in ("disjoint", "strict", "uncorrelated"):
        if joint.relation == "uncorrelated":
            return joint.loadings
        return np.eye(n)[:, rng.permutation(n)[:r]]
    found = [rule.best_loading(rng.standard_normal(n)) for rule in joint.constraints]
    W = np.array(found).T
    return W / np.linalg.norm(W, axis=0)


def trial(seed, folder, tool):
    """Outcomes of one false claim, in memory and through a file, by both verifiers."""
    make = poor_claim_together if seed % 3 == 2 else poor_claim
    false, X = make(seed)
    with np.errstate(all="ignore"):
        return {} if false is None else outcomes(lambda: false, X, Path(folder), tool)


def main(count, first=0):
    tool, tried, bad, seed = stand_alone(), 0, 0, first
    with tempfile.TemporaryDirectory() as folder:
        while tried < count:
            found = trial(seed, folder, tool)
            tried += bool(found)
            for how, what in found.items():
                if what != "refused":
                    bad += 1
                    print(f"seed {seed}, {how}: {what}", flush=True)
            seed += 1
    print(f"{tried} poor claims (seeds {first} to {seed - 1}), {bad} checks that did not refuse")
    return bad


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])) > 0)
