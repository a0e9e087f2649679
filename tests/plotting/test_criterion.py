"""The criterion plot shows every number of components and marks the choice."""

import numpy as np
import pytest

from loadstone.datasets.make_noisy_factors import make_disjoint_factors
from loadstone.estimators.sparse_noisy_pca import SparseNoisyPCA
from loadstone.plotting.criterion import plot_criterion


@pytest.fixture
def pyplot():
    plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")
    plt.switch_backend("Agg")
    yield plt
    plt.close("all")


def marks(axes):
    return [line for line in axes.get_lines() if str(line.get_color()) == "crimson"]


@pytest.mark.parametrize("penalty", ["ebic", "bic", 0.1])
def test_curves_and_choice(pyplot, penalty):
    X, _ = make_disjoint_factors(random_state=0)
    model = SparseNoisyPCA.as_published(range(1, 4), penalty=penalty, n_penalties=6).fit(X)
    axes = plot_criterion(model)
    labels = [line.get_label() for line in axes.get_lines()]
    assert {"r = 1", "r = 2", "r = 3", "none"} <= set(labels)
    curve = axes.get_lines()[labels.index("r = 2")]
    penalties = model.criterion_["penalty"][model.criterion_["n_components_asked"] == 2]
    np.testing.assert_allclose(np.sort(curve.get_xdata()), np.sort(penalties))
    (mark,) = marks(axes)
    assert mark.get_xdata()[0] == model.penalty_
    assert mark.get_ydata()[0] == model.best_["criterion"]
    low, high = axes.get_ylim()
    assert low < model.best_["criterion"] < high


def test_draws_where_it_is_told(pyplot):
    X = np.random.default_rng(0).standard_normal((60, 8))
    with pytest.warns(UserWarning, match="0 component"):
        model = SparseNoisyPCA.as_published(n_penalties=5).fit(X)
    axes = pyplot.subplots()[1]
    assert plot_criterion(model, ax=axes) is axes
    assert not marks(axes)


def test_without_a_path_it_is_drawn_over_the_number_of_components(pyplot):
    X, _ = make_disjoint_factors(random_state=0)
    model = SparseNoisyPCA().fit(X)
    axes = plot_criterion(model)
    labels = [line.get_label() for line in axes.get_lines()]
    for kind in ("shared noise", "free noise"):
        rows = model.criterion_["noise"] == kind.split()[0]
        curve = axes.get_lines()[labels.index(kind)]
        np.testing.assert_array_equal(curve.get_xdata(), model.criterion_["n_components"][rows])
        np.testing.assert_array_equal(curve.get_ydata(), model.criterion_["criterion"][rows])
    (mark,) = marks(axes)
    assert mark.get_xdata()[0] == model.n_components_ == 2


def test_sizes_stand_on_a_second_axis(pyplot):
    X, _ = make_disjoint_factors(random_state=0)
    model = SparseNoisyPCA.as_published(2, n_penalties=6).fit(X)
    axes = plot_criterion(model, sizes=True)
    (right,) = [other for other in axes.figure.axes if other is not axes]
    (steps,) = right.get_lines()
    rows = model.criterion_["n_components_asked"] == 2
    order = np.argsort(model.criterion_["penalty"][rows])
    np.testing.assert_array_equal(steps.get_ydata(), model.criterion_["n_nonzero"][rows][order])
    assert "r = 2" in right.get_ylabel()
