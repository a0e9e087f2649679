"""The drawn spannogram: curves, interval, refusal."""

import numpy as np
import pytest

from loadstone import SpannogramPCA
from loadstone.plotting.spannogram import constant_interval, plot_spannogram
from solvers.spannogram_oracles import selected_support


def fitted(nonnegative=True, n_nonzero=3, rank=2):
    X = np.random.default_rng(0).standard_normal((30, 9))
    return SpannogramPCA(n_nonzero=n_nonzero, rank=rank, nonnegative=nonnegative).fit(X)


def test_draws_one_curve_per_feature_and_returns_the_axes():
    model = fitted()
    ax = plot_spannogram(model, feature_names=[f"f{i}" for i in range(9)])
    assert len([line for line in ax.lines if len(line.get_xdata()) > 2]) == 9
    labels = {text.get_text() for text in ax.get_legend().get_texts()}
    V, c = model.low_rank_factors_[0], model.directions_[0]
    assert labels == {f"f{i}" for i in selected_support(V, c, 3, True)}
    assert plot_spannogram(model, ax=ax) is ax


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("n_nonzero", [1, 3, 8])
def test_support_is_constant_inside_the_interval_and_changes_at_its_ends(n_nonzero, nonnegative):
    rng = np.random.default_rng(1)
    for _ in range(20):
        V = rng.standard_normal((9, 2))
        angle = rng.uniform(-np.pi, np.pi)

        def support(phi, V=V):
            c = np.array([np.sin(phi), np.cos(phi)])
            return selected_support(V, c, n_nonzero, nonnegative)

        chosen = np.array(sorted(support(angle)), dtype=int)
        if chosen.size == 0:
            continue
        c = np.array([np.sin(angle), np.cos(angle)])
        low, high = constant_interval(V, c, chosen, n_nonzero, nonnegative=nonnegative)
        assert low <= angle <= high
        inside = np.linspace(low, high, 52)[1:-1]
        assert {support(phi) for phi in inside} == {support(angle)}
        assert support(low - 1e-6) != support(angle)
        assert support(high + 1e-6) != support(angle)


def test_other_ranks_are_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"rank 3; .*fit SpannogramPCA\(rank=2\)"):
        plot_spannogram(fitted(rank=3))
