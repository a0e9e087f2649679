"""The descent of the dual search: where it leads, and when it stops."""

import numpy as np
import pytest

from loadstone.certificates.search_lbfgs import STEPS_TO_GAIN, Patience, descend


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_quadratic_is_descended_to_its_minimum(dtype):
    curvatures = np.geomspace(1.0, 100.0, 40).astype(dtype)
    start = np.ones(40, dtype=dtype)

    def objective(point):
        return float(point @ (curvatures * point)) / 2.0, curvatures * point

    found = descend(objective, start, 60, Patience(-np.inf, 0.02))
    assert found.dtype == dtype
    assert np.abs(found).max() < 1e-3


@pytest.mark.parametrize(("gain", "n_steps"), [(0.001, 2 * STEPS_TO_GAIN), (0.1, 40)])
def test_steps_that_bring_little_of_what_is_left_are_the_last(gain, n_steps):
    patience, value = Patience(floor=0.0, share=0.02), 1.0
    for step in range(1, 41):  # noqa: B007
        value *= 1.0 - gain
        if patience.ends(value):
            break
    assert step == n_steps


def test_without_a_floor_no_step_is_the_last():
    patience = Patience(floor=-np.inf, share=0.02)
    assert not any(patience.ends(1.0) for _ in range(100))
