"""Angles, supports and errors against hand-made cases."""

import numpy as np
import pytest

from loadstone.metrics.information_criteria import bic, ebic
from loadstone.metrics.recovery import (
    angles,
    match_components,
    probability_of_error,
    same_support,
)

REFERENCE = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])


def test_order_sign_and_scale_do_not_matter():
    found = -3 * REFERENCE[:, ::-1]
    np.testing.assert_array_equal(match_components(found, REFERENCE), [1, 0])
    np.testing.assert_allclose(angles(found, REFERENCE), 0, atol=1e-12)
    assert same_support(found, REFERENCE)
    assert probability_of_error(found, REFERENCE) == 0


@pytest.mark.parametrize("degrees", [1e-9, 0.5, 44.0, 90.0])
def test_a_known_angle_is_found(degrees):
    t = np.radians(degrees)
    found = np.array([[np.cos(t)], [np.sin(t)]])
    assert angles(found, np.array([[1.0], [0.0]]))[0] == pytest.approx(degrees, rel=1e-7)


def test_missing_components_are_ninety_degrees_away():
    found = REFERENCE[:, :1]
    np.testing.assert_array_equal(match_components(found, REFERENCE), [0, -1])
    np.testing.assert_allclose(angles(found, REFERENCE), [0, 90])
    np.testing.assert_allclose(angles(np.zeros((4, 0)), REFERENCE), 90)
    assert not same_support(found, REFERENCE)


def test_probability_of_error_is_the_formula_of_the_paper():
    found = np.array([[1.0, 0.5], [0.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    true, hit = REFERENCE != 0, found != 0
    share_of_zeros = 1 - true.mean()
    p_false, p_detect = hit[~true].mean(), hit[true].mean()
    expected = share_of_zeros * p_false + (1 - share_of_zeros) * (1 - p_detect)
    assert probability_of_error(found, REFERENCE) == pytest.approx(expected)
    assert expected == pytest.approx(2 / 8)


def test_features_in_the_wrong_place_are_refused():
    with pytest.raises(ValueError, match="give both as"):
        angles(REFERENCE.T, REFERENCE)


def test_ebic_is_bic_plus_the_price_of_choosing():
    assert bic(10.0, 3, 100) == pytest.approx(10 + 3 * np.log(100) / 100)
    extended = ebic(10.0, 3, 100, n_chosen=3, n_candidates=20, gamma=0.5)
    assert extended - bic(10.0, 3, 100) == pytest.approx(3 * np.log(20) / 100)
    assert ebic(10.0, 0, 100, n_chosen=0, n_candidates=0) == 10.0
