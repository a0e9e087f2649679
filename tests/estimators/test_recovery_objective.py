"""objective="recovery": a regression on the scores recovers as much of all features as can be."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine

from loadstone import SparsePCA
from loadstone.constraints import Groups

X = load_wine().data


def recovered_by_hand(X, W):
    """Share of the variance of all columns that least squares on the scores explains."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    T = Z @ W.T
    fitted = T @ np.linalg.lstsq(T, Z, rcond=None)[0]
    return np.sum(fitted**2) / np.sum(Z**2)


@pytest.mark.parametrize(("r", "k"), [(1, 3), (2, 4), (3, 4)])
def test_what_is_reported_is_least_squares_and_never_below_the_variance_answer(r, k):
    recovery = SparsePCA(r, n_nonzero=k, objective="recovery", standardize=True).fit(X)
    variance = SparsePCA(r, n_nonzero=k, standardize=True).fit(X)
    assert recovery.recovered_variance_ratio_[-1] == pytest.approx(
        recovered_by_hand(X, recovery.components_)
    )
    assert recovery.recovered_variance_ratio_[-1] >= variance.recovered_variance_ratio_[-1] - 1e-12
    assert (recovery.cardinality_ <= k).all()
    eigenvalues = np.linalg.eigvalsh(np.corrcoef(X.T))[::-1]
    assert recovery.recovered_variance_ratio_[-1] <= eigenvalues[:r].sum() / 13 + 1e-12


def test_one_component_is_the_best_of_all_supports():
    Y = X[:, :7]
    R = np.corrcoef(Y.T)
    best = 0.0
    for support in combinations(range(7), 2):
        T = list(support)
        best = max(
            best,
            np.linalg.eigvals(np.linalg.solve(R[np.ix_(T, T)], (R @ R)[np.ix_(T, T)])).real.max(),
        )
    model = SparsePCA(1, n_nonzero=2, objective="recovery", standardize=True).fit(Y)
    assert model.recovered_variance_ratio_[0] == pytest.approx(best / 7, rel=1e-6)


@pytest.mark.filterwarnings("ignore:.*fewer than asked for")
@pytest.mark.parametrize(("r", "k"), [(3, 4), (5, 4), (4, 10)])
def test_disjoint_components_share_no_feature_and_recover_no_more_than_free_ones(r, k):
    asked = {"n_components": r, "n_nonzero": k, "standardize": True}
    free = SparsePCA(**asked, objective="recovery").fit(X)
    apart = SparsePCA(**asked, objective="recovery", orthogonality="disjoint").fit(X)
    groups = SparsePCA(**asked, orthogonality="disjoint").fit(X)
    assert ((apart.components_ != 0).sum(axis=0) <= 1).all()
    assert (apart.cardinality_ <= k).all()
    assert apart.recovered_variance_ratio_[-1] == pytest.approx(
        recovered_by_hand(X, apart.components_)
    )
    assert apart.recovered_variance_ratio_[-1] >= groups.recovered_variance_ratio_[-1] - 1e-12
    assert free.recovered_variance_ratio_[-1] >= apart.recovered_variance_ratio_[-1] - 1e-12


# Problems in which free components alone ended below disjoint ones.
@pytest.mark.parametrize("seed", [10_017, 10_136])
def test_more_freedom_recovers_no_less(seed):
    rng = np.random.default_rng(seed)
    p, n, r, k = (int(rng.integers(*limits)) for limits in ((6, 30), (15, 80), (2, 5), (2, 6)))
    Y = rng.standard_normal((n, p))
    if seed % 2:
        factors = rng.standard_normal((n, 3)) @ rng.standard_normal((3, p))
        Y = factors + Y * rng.uniform(0.3, 1.5)
    asked = {"n_components": r, "n_nonzero": k, "objective": "recovery", "standardize": True}
    free, apart = (
        SparsePCA(**asked, orthogonality=relation).fit(Y).recovered_variance_ratio_[-1]
        for relation in ("none", "disjoint")
    )
    assert free >= apart * (1 - 1e-12)


def test_disjoint_recovery_keeps_forced_features_and_is_certified():
    model = SparsePCA(
        2,
        n_nonzero=3,
        objective="recovery",
        orthogonality="disjoint",
        standardize=True,
        forced=[1],
        certify="standard",
    ).fit(X)
    assert model.components_[0, 1] != 0
    assert model.components_[1, 1] == 0
    assert model.joint_certificate_.ratio <= 1
    model.joint_certificate_.verify((X - X.mean(axis=0)) / X.std(axis=0, ddof=1))


def test_sparse_and_wide_data_give_the_same():
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 80)) + rng.standard_normal(
        (30, 80)
    )
    wide[np.abs(wide) < 0.5] = 0
    settings = {"n_nonzero": 4, "objective": "recovery"}
    answers = [
        SparsePCA(2, route=route, **settings).fit(container(wide)).recovered_variance_ratio_
        for route, container in product(("gram", "data"), (np.asarray, sparse.csr_array))
    ]
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], rtol=1e-6)


def test_no_component_is_added_to_those_found_together():
    model = SparsePCA(2, n_nonzero=3, objective="recovery", standardize=True).fit(X)
    before = model.components_.copy()
    with pytest.raises(ValueError, match="finds all components together"):
        model.add_components(X)
    np.testing.assert_array_equal(model.components_, before)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"orthogonality": "strict", "n_nonzero": 3}, "orthogonality='strict'"),
        ({"constraint": Groups([0, 1] * 6 + [0], n_groups=1)}, "Groups has none"),
    ],
)
def test_what_cannot_be_had_together_is_said(parameters, message):
    with pytest.raises(ValueError, match=message):
        SparsePCA(2, objective="recovery", **parameters).fit(X)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_random_start_that_nothing_beats_has_unit_length(seed):
    units = 10.0 ** np.array([2, -2, 4, 1, -6, 4])
    Y = np.random.default_rng(seed).standard_normal((15, 6)) * units
    with pytest.warns(UserWarning, match="standardize"):
        model = SparsePCA(2, objective="recovery", n_nonzero=2, forced=[1]).fit(Y)
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize(("seed", "power"), [(5, -240), (8, 240)])
def test_the_unit_does_not_decide_what_is_recovered(seed, power):
    # Powers of two change no digit; fourth powers of the data left the range of numbers.
    Y = np.random.default_rng(seed).standard_normal((40, 16))
    found = [
        SparsePCA(1, objective="recovery", n_nonzero=4).fit(Y * unit) for unit in (1.0, 2.0**power)
    ]
    np.testing.assert_array_equal(found[0].support_, found[1].support_)
    np.testing.assert_allclose(*(m.recovered_variance_ratio_ for m in found), rtol=1e-12)


def test_a_forced_feature_takes_its_place_also_with_a_loading_of_zero():
    rng = np.random.default_rng(9)
    p = int(rng.integers(3, 9))
    units = rng.standard_normal((20, p)) * 10 ** rng.uniform(-1, 1, p)
    Y = rng.standard_normal((20, 2)) @ rng.standard_normal((2, p)) + 0.3 * units
    model = SparsePCA(2, n_nonzero=3, forced=[1], objective="recovery").fit(Y)
    assert (np.delete(model.components_, 1, axis=1) != 0).sum(axis=1).max() <= 2


@pytest.mark.parametrize("orthogonality", ["none", "disjoint"])
def test_loadings_of_one_sign_recover_between_the_variance_answer_and_free_signs(orthogonality):
    asked = {"n_components": 3, "n_nonzero": 4, "standardize": True}
    asked |= {"orthogonality": orthogonality}
    parts = SparsePCA(**asked, nonnegative=True, objective="recovery").fit(X)
    groups = SparsePCA(**asked, nonnegative=True).fit(X)
    free = SparsePCA(**asked, objective="recovery").fit(X)
    assert (parts.components_ >= 0).all()
    assert (parts.cardinality_ <= 4).all()
    share = parts.recovered_variance_ratio_[-1]
    assert share == pytest.approx(recovered_by_hand(X, parts.components_))
    assert groups.recovered_variance_ratio_[-1] - 1e-12 <= share
    assert share <= free.recovered_variance_ratio_[-1] + 1e-12


def test_recovery_of_one_sign_is_certified():
    model = SparsePCA(
        2,
        n_nonzero=3,
        objective="recovery",
        nonnegative=True,
        standardize=True,
        certify="standard",
    ).fit(X)
    assert model.joint_certificate_.ratio <= 1
    model.joint_certificate_.verify((X - X.mean(axis=0)) / X.std(axis=0, ddof=1))


@pytest.mark.parametrize("seed", [505_830, 506_680])
def test_a_component_beside_which_nothing_is_left_ends_no_fit(seed):
    # Taken out of three, the others settle on all the variance there is.
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(3, 30)), int(rng.integers(2, 10))
    Y = rng.standard_normal((n, p)) * 10 ** rng.uniform(-2, 2, p)
    if seed % 3 == 0:
        Y[:, rng.integers(p)] = Y[:, rng.integers(p)]
    r, k = int(rng.integers(1, 4)), int(rng.integers(1, p + 1))
    asked = {"n_components": r, "n_nonzero": k, "effort": "fast", "standardize": False}
    fits = [
        SparsePCA(**asked, objective=objective).fit(Y) for objective in ("variance", "recovery")
    ]
    shares = [model.recovered_variance_ratio_[-1] for model in fits]
    assert shares[1] >= shares[0] * (1 - 1e-9)


@pytest.mark.parametrize("relation", ["none", "disjoint"])
def test_a_forced_feature_that_leaves_no_component_is_told(relation):
    X = np.random.default_rng(0).standard_normal((20, 3))
    # What is forced is lost in the rounding of the others.
    X[4, 2] = 1e8
    asked = SparsePCA(
        1, n_nonzero=1, forced=[1], standardize=False, objective="recovery", orthogonality=relation
    )
    with pytest.warns(UserWarning, match="0 component"):
        assert asked.fit(X).components_.shape == (0, 3)


@pytest.mark.parametrize("refine", [False, "warm", "full"])
def test_a_component_that_recovers_nothing_more_is_not_returned(refine):
    # Of two pairs of twins one is forbidden: a second component of one feature repeats the first.
    pair = np.random.default_rng(0).integers(2, size=(6, 2)).astype(float)
    X = pair[:, [0, 1, 1, 0]]
    model = SparsePCA(
        2,
        n_nonzero=1,
        objective="recovery",
        deflation="projection",
        forbidden=[1, 2],
        refine=refine,
    )
    with pytest.warns(UserWarning, match=r"1 component\(s\) found, fewer than asked for"):
        model.fit(X)
    assert np.abs(model.components_).tolist() in ([[1, 0, 0, 0]], [[0, 0, 0, 1]])


@pytest.mark.parametrize("noise", [0.0, 1e-3])
@pytest.mark.parametrize("seed", range(4))
def test_rounding_of_single_precision_is_not_recovered(seed, noise):
    # Nearly collinear scores seemed to recover what was rounding of float32 data of low rank.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 25)) + noise * rng.normal(size=(60, 25))
    single = X.astype(np.float32)
    found = SparsePCA(2, n_nonzero=10, objective="recovery").fit(single)
    variance = SparsePCA(2, n_nonzero=10).fit(single)
    # Judged on the data in double precision, by least squares.
    shares = []
    for model in (found, variance):
        scores = (X - X.mean(axis=0)) @ model.components_.T.astype(float)
        fitted = scores @ np.linalg.lstsq(scores, X - X.mean(axis=0), rcond=None)[0]
        shares.append(np.square(fitted).sum() / np.square(X - X.mean(axis=0)).sum())
    reported = found.recovered_variance_ratio_[-1]
    assert reported >= variance.recovered_variance_ratio_[-1] * (1 - 1e-5)
    assert shares[0] >= shares[1] * (1 - 1e-5)
    assert reported == pytest.approx(shares[0], abs=1e-4)
