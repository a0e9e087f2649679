"""What a search found, as it is told to people and to callbacks."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from loadstone.estimators.found import Found, Task, tell
from loadstone.loadings import Loadings, Stop


def search(stop):
    return Loadings(np.eye(3)[:, :1], np.array([1.0, 2.5]), 1, stop)


@pytest.mark.parametrize(
    ("stops", "told"),
    [
        ([Stop.CONVERGED, Stop.CALLBACK], []),
        ([Stop.MAX_ITER, Stop.CONVERGED, Stop.MAX_ITER], [Stop.MAX_ITER]),
        ([Stop.WORK_LIMIT, Stop.MAX_ITER], [Stop.MAX_ITER, Stop.WORK_LIMIT]),
    ],
)
def test_every_way_not_to_finish_is_told_once(stops, told):
    found = Found(loadings=np.eye(3), searches=tuple(map(search, stops)))
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        tell(found)
    assert [str(warning.message) for warning in record] == [stop.value for stop in told]
    assert all(warning.category is ConvergenceWarning for warning in record)
    assert all(warning.filename == __file__ for warning in record)


def test_components_are_counted_from_one_and_anybody_may_stop_at_one():
    heard = []

    def listen(name, **facts):
        heard.append((name, facts))
        return len(heard) == 2

    task = Task(None, np.random.default_rng(0), listen)
    assert task.known([search(Stop.CONVERGED)] * 3) == 2
    assert [name for name, _ in heard] == ["component 1", "component 2"]
    assert [facts["component"] for _, facts in heard] == [0, 1]
    assert [facts["n_iter"] for _, facts in heard] == [1, 1]
    assert Task(None, task.rng).known([search(Stop.CONVERGED)] * 3) == 3


def test_stages_are_told_with_what_they_reached_and_their_answer_is_heard():
    heard = []

    def listen(name, **facts):
        heard.append((name, facts))
        return facts["variance"] > 2

    task = Task(None, np.random.default_rng(0), listen)
    for each in (task, task.with_stages_alone()):
        assert [each.stage("again", variance) for variance in (1.0, 3.0)] == [False, True]
    assert heard == [("search: again", {"variance": v}) for v in (1.0, 3.0)] * 2
    assert not task.with_stages_alone().component(0, search(Stop.CONVERGED))
    assert len(heard) == 4
