"""What a joint certificate says, to whom it can be shown, and what it survives."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from loadstone import ExactSparsePCA, SampleCovariance, SparsePCA
from loadstone.certificates import (
    CertificateError,
    JointCertificate,
    prove_together,
)
from loadstone.certificates.joint_eigenvalues import below_zero
from loadstone.certificates.joint_problem import ADJUSTED, RECOVERED, SUM
from loadstone.constraints import Groups, LoadingConstraint, Signs
from loadstone.covariance import ExplicitCovariance
from loadstone.datasets import load_pitprops

from .forgeries import stand_alone

PITPROPS = load_pitprops().correlation
WINE = load_wine(as_frame=True).data


def certified(sizes=(3, 3), relation="disjoint", *, nonnegative=False, **options):
    """Pit props, with components that any search would find."""
    model = SparsePCA(
        len(sizes), n_nonzero=list(sizes), orthogonality=relation, nonnegative=nonnegative
    ).fit_covariance(PITPROPS)
    rules = [LoadingConstraint(13, size, nonnegative=nonnegative) for size in sizes]
    S = ExplicitCovariance(PITPROPS)
    return prove_together(S, rules, model.components_.T, relation, **options)


def test_the_sentence_can_be_quoted():
    sentence = str(certified((4, 4, 4), "none"))
    assert sentence.startswith(
        "together at least 98.0 % of the adjusted variance any 3 components of 4 features could "
        "explain: 6.96"
    )
    sums = certified((3, 3, 3), "strict")
    assert "of the sum of variances any 3 orthogonal components of 3 features" in str(sums)
    assert sums.claims[0].quantity == SUM
    assert 0 < sums.claim(ADJUSTED).ratio <= 1


def test_shares_are_rounded_down():
    certificate = certified((4, 4, 4), "none")
    said = float(str(certificate).split("at least ")[1].split(" %")[0])
    assert 100 * certificate.ratio - 0.1 < said <= 100 * certificate.ratio


def test_the_value_is_what_the_estimator_reports():
    model = SparsePCA(3, n_nonzero=4, standardize=True, certify="standard").fit(WINE)
    joint = model.joint_certificate_
    assert joint.value == pytest.approx(model.explained_variance_.sum(), rel=1e-9)
    assert joint.ratio > 0.97
    assert joint.claim(SUM) is None


@pytest.mark.parametrize("relation", ["none", "quasi", "disjoint", "strict", "uncorrelated"])
def test_every_relation_has_a_statement_that_holds(relation):
    model = SparsePCA(
        2, n_nonzero=3, orthogonality=relation, standardize=True, certify="standard"
    ).fit(WINE)
    joint = model.joint_certificate_
    assert joint.relation == relation
    assert joint.verify(WINE) <= joint.upper_bound * (1 + 1e-9)
    assert (joint.claim(SUM) is None) == (relation in {"none", "quasi"})
    assert joint.claim(ADJUSTED).value == pytest.approx(model.explained_variance_.sum())


def test_non_negative_orthogonal_components_are_disjoint():
    model = SparsePCA(
        2, n_nonzero=3, orthogonality="strict", nonnegative=True, certify="standard"
    ).fit_covariance(PITPROPS)
    assert model.joint_certificate_.relation == "disjoint"


def test_data_frames_sums_and_matrices_are_all_the_data():
    model = SparsePCA(2, n_nonzero=3, standardize=True, certify="standard").fit(WINE)
    joint = model.joint_certificate_
    X = WINE.to_numpy()
    sums = SampleCovariance.of(X)
    shown = [WINE, X, sums, np.corrcoef(X.T), ExplicitCovariance(np.corrcoef(X.T))]
    for data in shown:
        assert joint.verify(data) == pytest.approx(joint.upper_bound, rel=1e-9)
    with pytest.raises(CertificateError, match="another covariance"):
        joint.verify(pd.DataFrame(X[:, ::-1]))


def test_single_precision_is_known_and_allowed_for():
    X = WINE.to_numpy().astype(np.float32)
    model = SparsePCA(2, n_nonzero=3, standardize=True, certify="standard").fit(X)
    joint = model.joint_certificate_
    assert joint.about.precision == "float32"
    assert joint.verify(X) == pytest.approx(joint.upper_bound, rel=1e-5)
    assert joint.verify(X.astype(np.float64)) == pytest.approx(joint.upper_bound, rel=1e-4)


def test_wide_tables_in_single_precision_are_covariances_up_to_rounding(tmp_path):
    # Rounding grows with the largest eigenvalue, which is many variances of a feature.
    X = np.random.default_rng(0).normal(size=(4, 500)).astype(np.float32)
    model = SparsePCA(2, n_nonzero=3, standardize=True, refine=False, certify="instant").fit(X)
    joint = model.joint_certificate_
    assert joint.claims[0].quantity == ADJUSTED
    assert joint.verify(X) == pytest.approx(joint.upper_bound, rel=1e-6)
    joint.save(tmp_path / "joint.npz")
    assert stand_alone().check(tmp_path / "joint.npz", X)[0]


def test_a_matrix_that_is_no_covariance_has_no_joint_statement_of_adjusted_variance():
    matrix = np.diag([3.0, 2.0, 1.0, -3e-5])
    assert below_zero(matrix + np.diag([0, 0, 0, 2.9e-5])) == pytest.approx(1e-6)
    with pytest.raises(CertificateError, match="no covariance"):
        below_zero(matrix)


def test_sizes_may_differ():
    joint = certified((5, 3, 2), "none")
    assert joint.verify(PITPROPS) <= joint.upper_bound
    assert "any 3 components (components of 5 features; components of 3 features;" in str(joint)
    assert joint.upper_bound < certified((5, 5, 5), "none").upper_bound


def test_forced_and_forbidden_features_are_obeyed():
    rules = [LoadingConstraint(13, 3, forced=np.array([0]), forbidden=np.array([5]))] * 2
    W = np.zeros((13, 2))
    W[[0, 1, 8], 0] = W[[0, 2, 3], 1] = 1.0
    S = ExplicitCovariance(PITPROPS)
    joint = prove_together(S, rules, W)
    free = prove_together(S, [LoadingConstraint(13, 3)] * 2, W)
    assert joint.verify(PITPROPS) < free.verify(PITPROPS)
    assert ", 1 of them forced could explain" in str(joint)


@pytest.mark.parametrize("relation", ["none", "disjoint"])
def test_components_of_different_signs_compete_with_their_own(relation):
    A = np.eye(4)
    A[0, 1] = A[1, 0] = -0.9
    A[2, 3] = A[3, 2] = 0.9
    rules = [Signs(dict(enumerate(signs)), 2, 4) for signs in ([1, 1, 1, 1], [1, -1, 1, 1])]
    # Poor components, of which a bound that is too low would still be above.
    joint = prove_together(ExplicitCovariance(A), rules, np.eye(4)[:, [0, 2]], relation)
    assert joint.value == pytest.approx(2.0)
    # The best use features 2 and 3, and 0 against 1.
    assert joint.verify(A) >= 3.8


def test_other_constraints_are_relaxed_to_their_size():
    labels = np.repeat(["a", "b", "c"], [4, 4, 5])
    model = SparsePCA(2, constraint=Groups(labels, 1), certify="standard")
    joint = model.fit_covariance(PITPROPS).joint_certificate_
    assert joint.verify(PITPROPS) >= joint.value
    assert "of 1 group" in str(joint)
    signs = {i: 1 if i % 2 else -1 for i in range(13)}
    model = SparsePCA(2, constraint=Signs(signs, n_nonzero=3), certify="standard")
    joint = model.fit_covariance(PITPROPS).joint_certificate_
    assert joint.value <= joint.verify(PITPROPS) <= joint.upper_bound * (1 + 1e-9)


def test_one_component_and_many_features_get_a_sentence():
    model = SparsePCA(1, n_nonzero=3, certify="instant").fit_covariance(PITPROPS)
    joint = model.joint_certificate_
    assert str(joint).startswith("no joint statement: one component alone")
    assert joint.upper_bound == joint.verify(PITPROPS) == np.inf
    assert (joint.value, joint.ratio, joint.is_optimal) == (0.0, 0.0, False)


def test_principal_components_are_the_best_together():
    model = SparsePCA(3, n_nonzero=None, certify="instant").fit_covariance(PITPROPS)
    joint = model.joint_certificate_
    assert joint.is_optimal
    assert str(joint).startswith("together all of the adjusted variance any 3 components could")


def test_instant_statements_take_no_search():
    joint = certified((4, 4, 4), "none", effort="instant")
    assert joint.claims[0].proof.theorem == "KF"
    assert joint.verify(PITPROPS) == pytest.approx(np.linalg.eigvalsh(PITPROPS)[-3:].sum())


def test_a_time_limit_keeps_what_is_proven():
    joint = certified((4, 4, 4), "none", time_limit=1e-9)
    assert joint.verify(PITPROPS) <= np.linalg.eigvalsh(PITPROPS)[-3:].sum() * (1 + 1e-9)


def test_a_disjoint_sum_is_known_exactly():
    joint = certified((4, 4, 4), "disjoint")
    assert joint.claim(SUM).upper_bound == pytest.approx(7.25015, abs=1e-5)
    assert "all disjoint supports tried" in joint.sentences()[1]


def test_recovered_variance_is_one_component_at_a_time():
    joint = certified((4, 4), "none", quantity=RECOVERED)
    first, second = joint.claim(RECOVERED, 0), joint.claim(RECOVERED, 1)
    assert first.ratio < 1
    assert second.ratio < 1
    assert joint.claims[0] is first
    assert str(joint).startswith("component 1 recovers at least 93.3 % of the variance any ")
    assert "could add to the 1 before it" in joint.sentences()[1]
    assert joint.verify(PITPROPS) == pytest.approx(first.upper_bound)


def test_files_come_back_as_they_were(tmp_path):
    for name, joint in enumerate(
        [
            certified((3, 2), "disjoint"),
            certified((3, 3), "strict"),
            certified((4, 4), "none", quantity=RECOVERED),
            certified((3,), "none"),
        ]
    ):
        path = tmp_path / f"{name}.npz"
        joint.save(path)
        again = JointCertificate.load(path)
        assert again.sentences() == joint.sentences()
        assert again.verify(PITPROPS) == joint.verify(PITPROPS)


def test_what_does_not_fit_is_refused():
    S = ExplicitCovariance(PITPROPS)
    rules = [LoadingConstraint(13, 2)] * 2
    W = np.eye(13)[:, :2]
    with pytest.raises(ValueError, match="do not fit 2 constraints"):
        prove_together(S, rules, W[:, :1])
    with pytest.raises(ValueError, match="relation='friends' is unknown"):
        prove_together(S, rules, W, "friends")
    with pytest.raises(ValueError, match="not finite"):
        prove_together(S, rules, W * np.nan)
    with pytest.raises(CertificateError, match="breaks its constraint"):
        prove_together(S, rules, np.linalg.qr(np.ones((13, 2)) + W)[0])
    with pytest.raises(CertificateError, match="belong to several"):
        prove_together(S, rules, np.column_stack([W[:, 0], W[:, 0]]), "disjoint")


@pytest.mark.parametrize("effort", ["instant", "standard"])
@pytest.mark.parametrize("relation", ["none", "disjoint", "strict"])
@pytest.mark.parametrize("matrix", [[[1.0, 3.0], [3.0, 1.0]], [[-1.0, 0.0], [0.0, -1.0]]])
def test_an_indefinite_matrix_is_refused_in_words_of_its_own(matrix, relation, effort):
    """Eigenvalues 4 and -2, and -1 twice; a single component is refused where it recovers."""
    S, rules = ExplicitCovariance(np.array(matrix)), [LoadingConstraint(2, 1)] * 2
    with pytest.raises(ValueError, match=r"down to -[12] .*it is no covariance"):
        prove_together(S, rules, np.eye(2), relation, effort=effort)
    with pytest.raises(ValueError, match=r"down to -[12] .*it is no covariance"):
        prove_together(S, rules[:1], np.eye(2)[:, :1], effort=effort, quantity=RECOVERED)


@pytest.mark.parametrize("radians", [0.9, 1.1])
def test_negative_eigenvalues_that_are_rounding_change_next_to_nothing(radians):
    """Two single features of a matrix of rank one adjust to the larger of its variances."""
    c, s = np.cos(radians), np.sin(radians)
    rounded = np.outer([c, s], [c, s]) - 5e-7 * np.outer([s, -c], [s, -c])
    rules = [LoadingConstraint(2, 1)] * 2
    # The other one first, so that the search for a bound goes on.
    claim = prove_together(ExplicitCovariance(rounded), rules, np.eye(2)).claim(ADJUSTED)
    assert claim.value == pytest.approx(c**2, rel=1e-5)
    assert s**2 * (1 - 1e-5) < claim.upper_bound < 1.001 * s**2


def test_forced_features_of_disjoint_components_belong_to_the_first():
    X = np.random.default_rng(0).standard_normal((30, 7))
    model = ExactSparsePCA(2, n_nonzero=3, orthogonality="disjoint", forced=[1]).fit(X)
    assert model.support_[0, 1]
    assert not model.support_[1, 1]
    for claim in model.joint_certificate_.claims:
        assert claim.value <= claim.upper_bound
    model.joint_certificate_.verify(X)


def test_a_dual_that_begins_definite_is_searched():
    # Sizes of one: the first dual leaves no direction positive, and the level has a logarithm.
    rng = np.random.default_rng(50032)
    X = rng.integers(0, 100, size=(30, 2)).astype(float)
    for seed in range(5):
        X[:, 0] += rng.standard_normal(30)
        ExactSparsePCA(2, n_nonzero=1, random_state=seed).fit(X).joint_certificate_.verify(X)
