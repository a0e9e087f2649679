"""Theorem C: what one component cannot have alone, several cannot have together."""

from dataclasses import replace

import numpy as np
import pytest

from loadstone import SparsePCA
from loadstone.certificates import CertificateError, Earlier, JointCertificate, prove
from loadstone.certificates.joint_alone import contains, widest
from loadstone.certificates.joint_bound import JointProof
from loadstone.certificates.joint_certificate import JointClaim
from loadstone.certificates.joint_problem import ADJUSTED, RECOVERED, SUM
from loadstone.certificates.joint_statement import LARGEST, Statement
from loadstone.constraints import Groups, LoadingConstraint, Signs
from loadstone.covariance import ExplicitCovariance, covariance_of

from .forgeries import outcomes, stand_alone
from .forgery_kinds import forged
from .joint_kinds import PITPROPS, made
from .small_problems import random_matrix


@pytest.fixture(scope="module")
def tool():
    return stand_alone()


def with_alone(relation="none", quantity=ADJUSTED, size=3, **fields):
    """Two components of the pit props, and the claim that rests on one alone."""
    joint = made(relation, size)
    rule, w = joint.constraints[0], joint.loadings[:, 0]
    alone = prove(ExplicitCovariance(PITPROPS), rule, w)
    claim = JointClaim(
        quantity=quantity,
        value=joint.claim(quantity).value if joint.claim(quantity) else 2 * alone.value,
        upper_bound=2 * alone.upper_bound,
        proof=JointProof(theorem="C", alone=forged(alone, **fields)),
    )
    return replace(joint, claims=(claim,))


def wide_data(seed=0, n=LARGEST + 60):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, n))
    for first in range(0, 60, 20):
        X[:, first : first + 20] += 1.5 * rng.standard_normal((30, 1))
    return X


@pytest.mark.parametrize("how", [{}, {"nonnegative": True}, {"orthogonality": "disjoint"}])
def test_thousands_of_features_get_a_joint_statement(how, tool, tmp_path):
    X = wide_data()
    joint = SparsePCA(2, n_nonzero=5, certify="standard", **how).fit(X).joint_certificate_
    first = joint.claims[0]
    assert 0.5 < joint.ratio <= 1
    assert f"none alone has more than {first.upper_bound / 2:.6g}" in str(joint)
    assert joint.verify(X) == pytest.approx(first.upper_bound, rel=1e-9)
    joint.save(tmp_path / "joint.npz")
    assert JointCertificate.load(tmp_path / "joint.npz").verify(X) == joint.verify(X)
    holds, line = tool.check(tmp_path / "joint.npz", X)
    assert holds, line
    lower = replace(first, upper_bound=max(first.value, 0.99 * first.upper_bound))
    false = replace(joint, claims=(lower,))
    assert set(outcomes(lambda: false, X, tmp_path, tool).values()) == {"refused"}


def test_the_certificate_of_the_first_component_is_not_made_twice(monkeypatch):
    made_anew = []
    monkeypatch.setattr("loadstone.certificates.joint_prove.prove", made_anew.append)
    model = SparsePCA(2, n_nonzero=5, certify="instant").fit(wide_data())
    assert not made_anew
    assert model.joint_certificate_.claims[0].proof.alone is model.certificates_[0]


def test_unequal_sizes_are_held_against_the_largest():
    X = wide_data(1)
    model = SparsePCA(2, n_nonzero=[2, 4], certify="instant").fit(X)
    alone = model.joint_certificate_.claims[0].proof.alone
    assert alone.constraint.n_nonzero == 4
    model.joint_certificate_.verify(X)


@pytest.mark.parametrize("seed", range(20))
def test_no_components_reach_more(seed):
    rng = np.random.default_rng(seed)
    n, k = 6, int(rng.integers(1, 4))
    A = random_matrix(rng, n, "wishart") if seed % 2 else np.cov(rng.standard_normal((9, n)).T)
    S, rule = ExplicitCovariance((A + A.T) / 2), LoadingConstraint(n, k, bool(seed % 3 == 0))
    draw = lambda: np.array([rule.best_loading(rng.standard_normal(n)) for _ in range(3)]).T  # noqa: E731
    W = draw()
    alone = prove(S, rule, W[:, 0] / np.linalg.norm(W[:, 0]), effort="full")
    statement = Statement.of(S, [rule] * 3, "none")
    bound = statement.bound(W, ADJUSTED, JointProof(theorem="C", alone=alone))
    for _ in range(200):
        V = draw()
        assert statement.value(V / np.linalg.norm(V, axis=0), ADJUSTED) <= bound * (1 + 1e-12)


@pytest.mark.parametrize("relation", ["none", "disjoint", "strict", "uncorrelated"])
def test_both_verifiers_accept_it_for_few_features_too(relation, tool, tmp_path):
    joint = with_alone(relation)
    assert set(outcomes(lambda: joint, PITPROPS, tmp_path, tool).values()) == {"accepted"}


def forgeries():
    other = prove(
        ExplicitCovariance(np.cov(np.random.default_rng(1).standard_normal((40, 13)).T)),
        LoadingConstraint(13, 3),
        np.eye(13)[0],
    )
    rule, first = LoadingConstraint(13, 3), np.eye(13)[:, :1]
    earlier = Earlier(loadings=first, relation="none", deflation="schur")
    later = prove(ExplicitCovariance(PITPROPS), rule, np.eye(13)[1], earlier=earlier)
    narrow = prove(ExplicitCovariance(PITPROPS), LoadingConstraint(13, 2), np.eye(13)[0])
    positive = prove(ExplicitCovariance(PITPROPS), LoadingConstraint(13, 3, True), np.eye(13)[0])
    absent = LoadingConstraint(13, 3, forbidden=np.array([12]))
    absent = prove(ExplicitCovariance(PITPROPS), absent, np.eye(13)[0])
    held = LoadingConstraint(13, 3, forced=np.array([12]))
    held = prove(ExplicitCovariance(PITPROPS), held, np.eye(13)[12])
    for alone in (other, later, narrow, positive, absent, held, None):
        yield lambda alone=alone: alone
    for change in ("upper_bound", "value", "best_value"):
        yield lambda change=change: {change: 0.9}


@pytest.mark.parametrize("forge", list(forgeries()))
def test_another_certificate_in_its_place_is_refused(forge, tool, tmp_path):
    joint, told = with_alone(), forge()
    first, alone = joint.claims[0], joint.claims[0].proof.alone
    if isinstance(told, dict):
        told = forged(alone, **{name: share * vars(alone)[name] for name, share in told.items()})
    bound = 2 * told.upper_bound if told is not None else first.value
    proof = replace(first.proof, alone=told)
    claim = replace(first, proof=proof, upper_bound=max(bound, first.value))
    false = replace(joint, claims=(claim,))
    assert set(outcomes(lambda: false, PITPROPS, tmp_path, tool).values()) == {"refused"}


@pytest.mark.parametrize(("quantity", "component"), [(SUM, None), (RECOVERED, 0)])
def test_it_says_nothing_about_what_is_counted_twice_or_recovered(
    quantity, component, tool, tmp_path
):
    joint = made("none", 3, quantity=RECOVERED)
    W, statement = (
        joint.loadings,
        Statement.of(ExplicitCovariance(PITPROPS), joint.constraints, "none"),
    )
    value = statement.value(W, quantity, component)
    proof = with_alone().claims[0].proof
    claim = JointClaim(
        quantity=quantity, value=value, upper_bound=2 * value, proof=proof, component=component
    )
    false = replace(joint, claims=(claim,))
    assert set(outcomes(lambda: false, PITPROPS, tmp_path, tool).values()) == {"refused"}


def test_a_wide_matrix_that_nobody_knows_to_be_a_covariance_is_refused():
    S, _ = covariance_of(wide_data())
    rule = LoadingConstraint(S.n_features, 3)
    every = np.arange(S.n_features)
    matrix = ExplicitCovariance(S.block(every, every))
    alone = prove(matrix, rule, np.eye(S.n_features)[0], effort="instant")
    statement = Statement.of(matrix, [rule] * 2, "none")
    with pytest.raises(CertificateError, match="samples"):
        statement.bound(np.empty((0, 0)), ADJUSTED, JointProof(theorem="C", alone=alone))


def test_which_rules_contain_which():
    rule = LoadingConstraint(5, 3)
    assert contains(rule, LoadingConstraint(5, 2, True, forbidden=np.array([1])))
    assert contains(rule, LoadingConstraint(5, 3, forced=np.array([1])))
    assert not contains(LoadingConstraint(5, 2), rule)
    assert not contains(LoadingConstraint(5, 3, True), rule)
    assert not contains(LoadingConstraint(5, 3, forced=np.array([1])), rule)
    assert not contains(LoadingConstraint(5, 3, forbidden=np.array([1])), rule)
    assert not contains(LoadingConstraint(6, 3), rule)
    assert not contains(rule, Signs({0: 1}, 2, 5))
    groups = Groups(np.array([0, 0, 1, 1, 2]), 2)
    assert contains(groups, Groups(np.array([0, 0, 1, 1, 2]), 2))
    assert not contains(groups, Groups(np.array([0, 0, 1, 1, 1]), 2))
    assert widest([groups, rule]) is None
    both = widest([LoadingConstraint(5, 2), LoadingConstraint(5, 1, forbidden=np.array([1]))])
    assert both.n_nonzero == 2
    mixed = widest([LoadingConstraint(5, 3, True), LoadingConstraint(5, 2)])
    assert (mixed.n_nonzero, mixed.nonnegative) == (3, False)
