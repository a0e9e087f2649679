"""Calls that several processes share are answered in order, whoever does them."""

import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import starmap

import pytest
from joblib import Parallel, delayed

from loadstone.certificates.proof_processes import SharedCalls, shared_by


class Asleep(Executor):
    """Another process that has not started yet; it starts when it is told to."""

    def __init__(self):
        self.asked = []

    def submit(self, f, /, *arguments):
        self.asked.append((f, arguments, Future()))
        return self.asked[-1][2]

    def do_one(self):
        f, arguments, future = self.asked.pop(0)
        try:
            future.set_result(f(*arguments))
        except ArithmeticError as error:
            future.set_exception(error)


def test_one_process_needs_no_other():
    with shared_by(1) as each:
        assert each is starmap


def test_more_processes_than_any_machine_holds_are_refused():
    with pytest.raises(ValueError, match="n_jobs=1000000000"), shared_by(10**9):
        pass


def test_processes_of_joblib_are_left_alone():
    with shared_by(2) as each:
        assert list(each(pow, [(2, 3), (3, 2)])) == [8, 9]
    assert Parallel(n_jobs=2)(delayed(pow)(2, n) for n in range(3)) == [1, 2, 4]


def test_a_process_that_failed_is_not_asked_again():
    with shared_by(2) as each:
        first = each.executor
    with pytest.raises(ZeroDivisionError), shared_by(2) as each:
        list(each(divmod, [(1, 0)]))
    with shared_by(2) as each:
        assert each.executor is not first
        again = each.executor
    with shared_by(2) as each:
        assert each.executor is again


def test_nobody_waits_for_a_process_that_has_not_started():
    other = Asleep()
    shared = SharedCalls(other, 1)
    assert list(shared(pow, [(2, i) for i in range(5)])) == [1, 2, 4, 8, 16]
    assert len(other.asked) == 1


def test_a_process_that_has_started_is_given_two_calls_and_the_next_ones_in_time():
    other = Asleep()
    shared = SharedCalls(other, 1)
    answers = shared(pow, [(2, i) for i in range(5)])
    other.do_one()
    assert [arguments for _, arguments, _ in other.asked] == [(2, 0), (2, 1)]
    other.do_one()
    assert [arguments for _, arguments, _ in other.asked] == [(2, 1), (2, 2)]
    for _ in range(4):
        other.do_one()
    assert not other.asked
    assert list(answers) == [1, 2, 4, 8, 16]


def test_rounds_overlap_and_are_answered_in_order():
    here = set()

    def slow_square(i):
        here.add(threading.get_ident())
        threading.Event().wait(0.002)
        return i * i

    with ThreadPoolExecutor(2) as executor:
        shared = SharedCalls(executor, 2)
        rounds = [shared(slow_square, [(i,) for i in range(start, start + 4)]) for start in (0, 4)]
        found = [list(answers) for answers in rounds]
    assert found == [[0, 1, 4, 9], [16, 25, 36, 49]]
    assert len(here) > 1


@pytest.mark.parametrize("by_another", [False, True])
def test_errors_are_raised_by_whoever_did_the_call(by_another):
    other = Asleep()
    shared = SharedCalls(other, 1)
    answers = shared(divmod, [(1, 0)])
    if by_another:
        other.do_one()
        other.do_one()
    with pytest.raises(ZeroDivisionError):
        list(answers)


def test_what_nobody_has_begun_is_forgotten_at_the_end():
    other = Asleep()
    shared = SharedCalls(other, 1)
    shared(pow, [(2, i) for i in range(5)])
    other.do_one()
    shared.close()
    other.do_one()
    other.do_one()
    assert not other.asked
