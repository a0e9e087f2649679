"""Callbacks hear every fit begin and end, and may stop it without leaving half of it."""

import copy

import numpy as np
import pytest
from sklearn.base import clone

from fitted_state import differences, state
from loadstone import SparsePCA
from registry import small_data, subjects

SUBJECTS = subjects()


class Recorder:
    """Writes down what it hears, and stops or breaks a fit at a step of a given number."""

    def __init__(self, stop_at=None, break_at=None):
        self.heard, self.stop_at, self.break_at = [], stop_at, break_at

    def setup(self, estimator, context):
        self.heard.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.heard.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        self.heard.append(f"end {context.task_name}")
        n_done = self.steps()
        if context.parent is not None and n_done == self.break_at:
            raise KeyboardInterrupt
        return context.parent is not None and n_done == self.stop_at

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def steps(self):
        return sum(text.startswith("end ") and text != "end fit" for text in self.heard)


def has_steps(subject):
    # Entropy is one decomposition.
    return subject.get_params().get("method") != "svd_entropy"


@pytest.mark.parametrize("subject", SUBJECTS)
def test_begin_and_end_are_heard(subject):
    recorder = Recorder()
    model = clone(subject).set_callbacks(recorder).fit(small_data())
    assert recorder.heard[:2] == ["setup", "begin fit"]
    assert recorder.heard[-2:] == ["end fit", "teardown"]
    assert bool(recorder.steps()) == has_steps(subject)
    # Steps do not overlap: each ends before the next begins.
    steps = recorder.heard[2:-2]
    assert [text.split(" ", 1)[1] for text in steps[::2]] == [
        text.split(" ", 1)[1] for text in steps[1::2]
    ]
    assert all(text.startswith("begin") for text in steps[::2])
    assert not differences(state(clone(subject).fit(small_data())), state(model))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("subject", SUBJECTS)
def test_stopping_leaves_a_whole_estimator(subject):
    model = clone(subject).set_callbacks(Recorder(stop_at=1)).fit(small_data())
    whole = clone(subject).fit(small_data())
    assert set(state(model)) == set(state(whole))
    assert model.transform(small_data()).shape[0] == 60
    if hasattr(model, "components_"):
        n = model.n_components_
        assert 1 <= n <= whole.n_components_
        assert model.components_.shape == (n, 12)
        assert model.explained_variance_.shape == (n,)
        np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_callback_that_breaks_off_leaves_what_was_there(subject):
    if not has_steps(subject):
        return
    model = clone(subject).fit(small_data())
    recorder = Recorder(break_at=1)
    model.set_callbacks(recorder)
    before, copies = dict(vars(model)), copy.deepcopy(state(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(small_data(2))
    assert recorder.heard[-1] == "teardown"
    assert list(vars(model)) == list(before)
    assert all(vars(model)[name] is value for name, value in before.items())
    assert not differences(copies, state(model))
    unfitted = clone(subject).set_callbacks(Recorder(break_at=1))
    with pytest.raises(KeyboardInterrupt):
        unfitted.fit(small_data())
    assert not state(unfitted)


@pytest.mark.parametrize("stop_at", [None, 1, 2])
def test_one_long_component_is_not_silent(stop_at):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 700))
    X[:, :30] += rng.normal(size=(40, 1))
    recorder = Recorder(stop_at=stop_at)
    model = SparsePCA(2, n_nonzero=8).set_callbacks(recorder).fit(X)
    stages = [text for text in recorder.heard if text.startswith("end search: ")]
    assert len(set(stages)) >= (3 if stop_at is None else 1)
    assert model.n_components_ == (2 if stop_at is None else 1)
    assert (model.cardinality_ == 8).all()
    stopped = "a callback asked to stop" in model.stop_reason_[0]
    assert stopped == (stop_at is not None)
