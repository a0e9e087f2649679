"""scikit-learn's own checks, and what all of our estimators promise on top."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from loadstone import SampleCovariance, SparsePCACV
from registry import estimators, sequential_estimators

ESTIMATORS = estimators()
SEQUENTIAL = sequential_estimators()


# Some checks fit pure noise, in which an honest noise model finds nothing and says so.
@pytest.mark.filterwarnings("ignore:0 component:UserWarning")
@parametrize_with_checks([cls() for cls in ESTIMATORS])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def data(seed=0, shape=(60, 15)):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1]))
    X += 0.5 * rng.standard_normal(shape) + 2
    X[rng.random(shape) < 0.2] = 0
    return X


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("n_nonzero", [1, 4, 0.5, [3, 2]])
@pytest.mark.parametrize("cls", SEQUENTIAL)
def test_components_keep_their_promises(cls, n_nonzero, nonnegative):
    X = data(2)
    model = cls(2, n_nonzero=n_nonzero, nonnegative=nonnegative).fit(X)
    W = model.components_
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1, atol=1e-12)
    asked = n_nonzero if isinstance(n_nonzero, list) else [8 if n_nonzero == 0.5 else n_nonzero] * 2
    assert (model.cardinality_ <= asked).all()
    if not nonnegative:
        assert model.cardinality_.tolist() == asked
        assert (W[np.arange(2), np.abs(W).argmax(axis=1)] > 0).all()
    else:
        assert W.min() >= 0
    np.testing.assert_array_equal(model.support_, W != 0)
    S = np.cov(X.T)
    np.testing.assert_allclose(model.marginal_variance_, np.einsum("ij,jk,ik->i", W, S, W))
    top = np.linalg.eigvalsh(S)[::-1]
    assert (np.cumsum(model.explained_variance_) <= np.cumsum(top[:2]) * (1 + 1e-12)).all()
    assert model.total_variance_ == pytest.approx(np.trace(S))


@pytest.mark.parametrize("cls", SEQUENTIAL)
def test_without_constraints_it_is_pca(cls):
    from sklearn.decomposition import PCA

    X = data(3)
    model, pca = cls(4, n_nonzero=None, nonnegative=False).fit(X), PCA(4).fit(X)
    flip = np.sign(pca.components_[np.arange(4), np.abs(pca.components_).argmax(axis=1)])
    np.testing.assert_allclose(model.components_, pca.components_ * flip[:, None], atol=1e-8)
    np.testing.assert_allclose(model.explained_variance_, pca.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(
        model.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-9
    )
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(X)),
        pca.inverse_transform(pca.transform(X)),
        atol=1e-8,
    )


@pytest.mark.parametrize("cls", SEQUENTIAL)
def test_disjoint_components_share_no_feature(cls):
    model = cls(3, n_nonzero=4, orthogonality="disjoint").fit(data(6))
    assert model.support_.sum(axis=0).max() == 1


@pytest.mark.parametrize(
    "deflation",
    ["projection", "hotelling", "schur", "orthogonalized_projection", "orthogonalized_hotelling"],
)
@pytest.mark.parametrize("cls", SEQUENTIAL)
def test_every_deflation_gives_distinct_components(cls, deflation):
    model = cls(3, n_nonzero=6, deflation=deflation).fit(data(7))
    overlap = np.abs(model.components_ @ model.components_.T) - np.eye(3)
    assert overlap.max() < 0.98


@pytest.mark.parametrize("cls", SEQUENTIAL)
def test_reconstruction_is_least_squares(cls):
    X = data(8)
    model = cls(3, n_nonzero=5).fit(X)
    Xc = X - X.mean(axis=0)
    B, *_ = np.linalg.lstsq(model.components_.T, Xc.T, rcond=None)
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(X)), (model.components_.T @ B).T + X.mean(axis=0)
    )
    error = np.sum((X - model.inverse_transform(model.transform(X))) ** 2) / np.sum(Xc**2)
    assert model.score(X) == pytest.approx(1 - error)


@pytest.mark.parametrize("door", ["fit", "fit_covariance"])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_a_sample_covariance_stands_for_its_rows(cls, standardize, door):
    X = pd.DataFrame(data(8) + 3, columns=[f"f{i}" for i in range(15)])
    weights = np.random.default_rng(8).uniform(0.5, 2, len(X))
    rows, kept = (cls(standardize=standardize) for _ in range(2))
    if cls is SparsePCACV:
        C = SampleCovariance.of(X, weights)
        with pytest.raises(TypeError, match=r"list of .*SampleCovariance|give a list of them"):
            getattr(kept, door)(C)
        return
    rows.fit(X, sample_weight=weights)
    C = SampleCovariance.of(X[:20], weights[:20]).partial_fit(X[20:], weights[20:])
    getattr(kept, door)(C)
    assert kept.feature_names_in_.tolist() == X.columns.tolist()
    for name, value in vars(rows).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            np.testing.assert_allclose(vars(kept)[name], value, rtol=1e-6, atol=1e-7, err_msg=name)
    np.testing.assert_allclose(kept.transform(X), rows.transform(X), rtol=1e-6, atol=1e-6)
    with pytest.raises(ValueError, match=r"SampleCovariance\.of"):
        kept.fit(C, sample_weight=weights)
    with pytest.raises(ValueError, match="leave it out"):
        kept.fit_covariance(C, n_samples=7)
    with pytest.raises(ValueError, match="route='data'"):
        clone(kept).set_params(route="data").fit(C)
