"""A fit happens as a whole or not at all, and a fitted estimator travels without a loss."""

import copy
import inspect
import pickle  # noqa: TID251  # users pickle estimators, whatever we save ourselves

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fitted_state import differences, state
from loadstone import load_model, save_model
from loadstone.covariance import ExplicitCovariance
from registry import small_data, subjects

SUBJECTS = subjects()
EXTENDABLE = subjects("add_components")
NAMES = [f"f{i}" for i in range(12)]


class Unchanged:
    """Sees whether anything of an estimator changes, down to the entries of its arrays."""

    def __init__(self, model):
        self.model = model
        self.before = dict(vars(model))
        self.copies = copy.deepcopy(self.before)

    def check(self):
        after = vars(self.model)
        assert list(after) == list(self.before)
        assert all(after[name] is value for name, value in self.before.items())
        assert not differences(self.copies, after)


def interrupted(*_, **__):
    raise KeyboardInterrupt


def interrupts(monkeypatch):
    """Ways to be interrupted: in a product, at the very end, and while attributes are made."""
    for target, name in [
        ("loadstone.estimators.base", "tell"),
        ("loadstone.estimators.found", "is_fitted_name"),
        (ExplicitCovariance, "__matmul__"),
        (ExplicitCovariance, "diagonal"),
    ]:
        with monkeypatch.context() as patch:
            if isinstance(target, str):
                patch.setattr(f"{target}.{name}", interrupted)
            else:
                patch.setattr(target, name, interrupted)
            yield


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_refused_or_interrupted_fit_changes_nothing(subject, monkeypatch):
    X = small_data()
    model = clone(subject).fit(pd.DataFrame(X, columns=NAMES))
    unchanged = Unchanged(model)
    infinite = np.where(X.max() == X, np.inf, X)
    for bad in (infinite, X[:1], X[0], X * 1j, np.zeros_like(X), [["a"] * 12] * 60):
        with pytest.raises((ValueError, TypeError)):
            model.fit(bad)
        unchanged.check()
    for bad in (-np.eye(12), np.ones((3, 4)), np.diag([np.nan] * 12)):
        with pytest.raises((ValueError, TypeError)):
            model.fit_covariance(bad, n_samples=60)
        unchanged.check()
    with pytest.raises(ValueError, match="weight"):
        model.fit(X, sample_weight=-np.ones(60))
    unchanged.check()
    if "svd_entropy" not in subject.get_params().values():
        for _ in interrupts(monkeypatch):
            with pytest.raises(KeyboardInterrupt):
                model.fit(small_data(2))
            unchanged.check()


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_bad_parameter_changes_nothing(subject):
    model = clone(subject).fit(small_data())
    for name, good in subject.get_params().items():
        vars(model)[name] = ...
        unchanged = Unchanged(model)
        with pytest.raises((ValueError, TypeError, AttributeError)):
            model.fit(small_data(2))
        unchanged.check()
        vars(model)[name] = good


def one_after_another(model):
    """Neither a size nor loadings that depend on how many components there are."""
    if "refine" in model.get_params():
        model.set_params(refine=False)
        if model.n_nonzero == "auto":
            model.set_params(n_nonzero=4)
    return model


@pytest.mark.parametrize("subject", EXTENDABLE)
def test_refused_or_interrupted_additions_change_nothing(subject, monkeypatch):
    X = small_data()
    model = clone(subject).fit(X)
    unchanged = Unchanged(model)
    for arguments, words in [
        ({"X": X + 1}, "not the data"),
        ({"X": X[:, :5]}, "features"),
        ({"covariance": np.cov(X.T)}, "its mean"),
        ({"covariance": np.cov(X.T)[:5, :5]}, "5 features"),
        ({"X": X, "n_components": 0}, "n_components=0"),
        ({"X": X, "n_nonzero": 99}, "n_nonzero=99"),
        ({}, "either"),
        ({"X": X, "covariance": np.cov(X.T)}, "either"),
        ({"X": np.where(X.max() == X, np.nan, X)}, "NaN"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.add_components(**arguments)
        unchanged.check()
    for _ in interrupts(monkeypatch):
        monkeypatch.setattr("loadstone.estimators.extendable.tell", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.add_components(X)
        unchanged.check()
    monkeypatch.undo()
    model = one_after_another(model).fit(X).add_components(X)
    at_once = clone(model).set_params(n_components=3).fit(X)
    assert not differences(state(at_once), state(model), 1e-9)


@pytest.mark.parametrize("subject", EXTENDABLE)
def test_additions_from_a_covariance_keep_names_and_notice_another_order(subject):
    X = small_data()
    S = np.cov(X.T)
    frame = pd.DataFrame(S, index=NAMES, columns=NAMES)
    subject = one_after_another(clone(subject).set_params(forbidden=["f2"]))
    model = clone(subject).fit_covariance(frame)
    model.add_components(covariance=S)
    at_once = clone(subject).set_params(n_components=3).fit_covariance(frame)
    assert not differences(state(at_once), state(model), 1e-9)
    unchanged = Unchanged(model)
    with pytest.raises(ValueError, match="another variance"):
        model.add_components(covariance=S[::-1, ::-1])
    with pytest.raises(ValueError, match=r"about \['f11'"):
        model.add_components(covariance=frame.iloc[::-1, ::-1])
    unchanged.check()


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_second_fit_leaves_nothing_of_the_first(subject):
    model = clone(subject).set_params(standardize=True)
    model.fit(pd.DataFrame(small_data(2), columns=NAMES))
    model.set_params(standardize=False).fit(small_data()[:, :11])
    fresh = clone(subject).fit(small_data()[:, :11])
    assert not differences(state(fresh), state(model))
    assert set(vars(model)) == set(vars(fresh))


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_same_fit_gives_the_same(subject):
    model = clone(subject).fit(small_data())
    first = copy.deepcopy(state(model))
    tol = 1e-9 if subject.get_params().get("warm_start") else 0.0
    assert not differences(first, state(model.fit(small_data())), tol)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_data_is_never_modified(subject):
    X = small_data()
    kept = X.copy()
    X.flags.writeable = False
    weights = np.ones(60)
    weights.flags.writeable = False
    entropy = "svd_entropy" in subject.get_params().values()
    model = clone(subject).fit(X, sample_weight=None if entropy else weights)
    model.transform(X)
    np.testing.assert_array_equal(X, kept)
    if entropy:
        return
    # Indices out of order and repeated entries are legal, and putting them right is a change.
    twice = np.tile(X[:, ::-1] / 2, 2)
    parts = [twice.ravel(), np.tile(np.arange(12)[::-1], 120), np.arange(61) * 24]
    given = sparse.csr_array(tuple(part.copy() for part in parts), shape=X.shape)
    np.testing.assert_array_equal(given.toarray(), X)
    again = clone(subject).fit(given)
    np.testing.assert_allclose(dense(again.transform(given)), dense(model.transform(X)), atol=1e-6)
    assert not given.has_canonical_format
    for part, now in zip(parts, (given.data, given.indices, given.indptr), strict=True):
        np.testing.assert_array_equal(part, now)


def dense(found):
    return found.toarray() if sparse.issparse(found) else found


@pytest.mark.parametrize("subject", SUBJECTS)
def test_parameters_go_round_and_clones_are_not_fitted(subject):
    model = clone(subject).fit(small_data())
    assert model.get_params() == subject.get_params()
    again = type(subject)().set_params(**model.get_params())
    assert again.get_params() == subject.get_params()
    assert not state(again)
    twin = clone(model)
    assert not state(twin)
    with pytest.raises(NotFittedError):
        twin.transform(small_data())
    assert set(inspect.signature(type(subject)).parameters) == set(vars(twin))
    text = repr(model)
    assert text.startswith(type(subject).__name__)
    assert len(text) < 250
    assert repr(type(subject)()) == f"{type(subject).__name__}()"


@pytest.mark.parametrize("subject", SUBJECTS)
def test_fitted_estimators_travel(subject, tmp_path):
    X = pd.DataFrame(small_data(), columns=NAMES)
    model = clone(subject).set_params(standardize=True).fit(X)
    joblib.dump(model, tmp_path / "model.joblib")
    for again in (
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model.joblib"),
        copy.deepcopy(model),
        load_model(save_model(model, tmp_path / "model.npz")),
    ):
        assert type(again) is type(model)
        assert not differences(state(model), state(again))
        assert again.get_params() == model.get_params()
        np.testing.assert_array_equal(again.transform(X), model.transform(X))
