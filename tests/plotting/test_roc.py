"""The curves are those of every threshold, and their areas are the chance of a right order."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from loadstone.plotting import plot_roc
from loadstone.plotting.roc import roc_points


def drawn(ax, name):
    (line,) = [line for line in ax.get_lines() if line.get_label().startswith(name)]
    return line


def test_areas_count_pairs_in_the_right_order():
    rng = np.random.default_rng(0)
    truth = rng.random(60) < 0.4
    # Whole numbers, so that there are ties, which count half.
    scores = {"good": np.round(2 * truth + rng.normal(size=60)), "none": rng.integers(0, 3, 60)}
    ax = plot_roc(truth, scores)
    for name, values in scores.items():
        pairs = values[truth][:, None] - values[~truth][None, :]
        area = np.mean((pairs > 0) + 0.5 * (pairs == 0))
        assert drawn(ax, name).get_label() == f"{name}: area {area:.3f}"
        assert area == pytest.approx(roc_auc_score(truth, values))
    assert ax.get_xlabel() == "% false positives"


def test_points_are_shares_above_a_threshold():
    false, true = roc_points(np.array([1, 0, 1, 0], bool), np.array([3.0, 2.0, 2.0, 1.0]))
    np.testing.assert_allclose(false, [0, 0, 0.5, 1])
    np.testing.assert_allclose(true, [0, 0.5, 1, 1])


def test_one_kind_of_samples_is_refused():
    with pytest.raises(ValueError, match="all 3 samples are positive"):
        plot_roc([1, 1, 1], {"any": [1, 2, 3]})
    with pytest.raises(ValueError, match="2 scores were given for 3"):
        plot_roc([1, 0, 1], {"any": [1, 2]})
