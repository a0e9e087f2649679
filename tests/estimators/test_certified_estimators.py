"""certify, SparsePCA(certify=...) and ExactSparsePCA."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine

from loadstone import ExactSparsePCA, SampleCovariance, SparsePCA, certify
from loadstone.covariance import covariance_of, deflate


@pytest.fixture(scope="module")
def wine():
    return load_wine().data


def test_components_and_their_certificates_agree(wine):
    model = SparsePCA(2, n_nonzero=4, standardize=True, certify="standard").fit(wine)
    S, _ = covariance_of(wine, standardize=True)
    first, second = model.certificates_
    np.testing.assert_allclose(first.loading, model.components_[0], atol=1e-12)
    assert first.verify(S) == pytest.approx(model.upper_bound_[0])
    for data in (S, wine, SampleCovariance.of(wine)):
        assert second.verify(data) == pytest.approx(model.upper_bound_[1])
    w = model.components_[1]
    assert second.value == pytest.approx(w @ (deflate(S, model.components_[0], "schur") @ w))
    assert second.value == pytest.approx(model.explained_variance_[1])
    assert "covariance of the data" in first.relative_to
    assert "left after 1 component" in second.relative_to
    np.testing.assert_allclose(model.gap_, model.upper_bound_ - [c.value for c in (first, second)])
    assert certify(model, 1) is second


def test_disjoint_components_compete_for_the_features_left(wine):
    model = SparsePCA(
        2,
        n_nonzero=4,
        nonnegative=True,
        standardize=True,
        certify="full",
        orthogonality="disjoint",
        refine=False,
    ).fit(wine)
    second = model.certificates_[1]
    assert second.is_optimal
    assert "features free after 1" in second.relative_to
    assert set(np.flatnonzero(model.components_[0])) <= set(second.constraint.forbidden)


def test_a_plain_fit_forgets_older_certificates(wine):
    model = SparsePCA(n_nonzero=4, certify="instant").fit(wine)
    assert len(model.certificates_) == 1
    model.set_params(certify=False).fit(wine)
    assert not hasattr(model, "certificates_")
    with pytest.raises(ValueError, match="without certificates"):
        certify(model)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_exact_components_are_optimal(wine, nonnegative):
    model = ExactSparsePCA(
        2, n_nonzero=[3, 5], nonnegative=nonnegative, standardize=True, forced=[1], forbidden=[0]
    ).fit(wine)
    assert all(certificate.is_optimal for certificate in model.certificates_)
    assert model.marginal_variance_[0] == pytest.approx(model.certificates_[0].value)
    assert (model.components_[:, 0] == 0).all()


def test_without_constraints_the_exact_answer_is_pca(wine):
    model = ExactSparsePCA(2, standardize=True).fit(wine)
    values = np.linalg.eigvalsh(np.corrcoef(wine.T))[::-1]
    np.testing.assert_allclose(model.upper_bound_, values[:2], rtol=1e-9)


def test_a_time_limit_is_not_an_error():
    X = np.random.default_rng(0).standard_normal((60, 30))
    model = ExactSparsePCA(n_nonzero=8, time_limit=1e-3).fit(X)
    assert model.gap_[0] > 0
    assert "time limit" in model.stop_reason_[0]
    assert model.certificates_[0].value <= model.upper_bound_[0]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, np.asfortranarray])
def test_certify_takes_what_estimators_take(wine, container):
    found = certify(container(wine), n_nonzero=3, standardize=True)
    expected = certify(np.corrcoef(wine.T), n_nonzero=3, is_covariance=True)
    assert found.upper_bound == pytest.approx(expected.upper_bound, rel=1e-4)
    assert found.ratio > 0.99


def test_certify_knows_features_by_name():
    frame = load_wine(as_frame=True).data
    asked = {"n_nonzero": 3, "standardize": True}
    named = certify(frame, forced=["alcohol"], forbidden="ash", **asked)
    numbered = certify(frame.to_numpy(), forced=[0], forbidden=[2], **asked)
    assert named.constraint.forced.tolist() == [0]
    assert named.constraint.forbidden.tolist() == [2]
    assert named.value == pytest.approx(numbered.value)
    of_covariance = certify(frame.cov(), forced=["alcohol"], is_covariance=True, **asked)
    assert of_covariance.constraint.forced.tolist() == [0]
    with pytest.raises(ValueError, match="X does not have"):
        certify(frame, forced=["wine"], **asked)


def test_certify_judges_a_given_component(wine):
    loading = np.zeros(13)
    loading[[0, 1]] = np.sqrt(0.5)
    found = certify(wine, loading, n_nonzero=2, standardize=True, effort="full")
    assert found.value == pytest.approx(1 + np.corrcoef(wine.T)[0, 1])
    assert found.ratio < 0.9
    assert found.best_value == pytest.approx(found.upper_bound, rel=1e-6)
    with pytest.raises(ValueError, match="more than n_nonzero=1"):
        certify(wine, loading, n_nonzero=1)


def test_a_component_competes_with_others_of_its_size(wine):
    loading = np.zeros(13)
    loading[[0, 1]] = np.sqrt(0.5)
    found = certify(wine, loading, standardize=True)
    assert found.constraint.n_nonzero == 2
    assert found.upper_bound == pytest.approx(
        certify(wine, loading, n_nonzero=2, standardize=True).upper_bound
    )
    # A forced feature holds a place, whether the component uses it or not.
    forced = certify(wine, loading, forced=[5], standardize=True, effort="instant")
    assert forced.constraint.n_nonzero == 3
    assert certify(wine, standardize=True, effort="instant").constraint.n_nonzero == 13


def test_progress_reaches_the_callbacks():
    told = []

    class Listener:
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, metadata=None):
            told.append(metadata)
            return False

        def teardown(self, estimator, context):
            pass

    X = np.random.default_rng(0).standard_normal((30, 16))
    ExactSparsePCA(n_nonzero=5).set_callbacks(Listener()).fit(X)
    proofs = [status for status in told if status and "gap" in status]
    assert proofs
    assert {"bound", "incumbent", "gap", "open"} <= set(proofs[0])
