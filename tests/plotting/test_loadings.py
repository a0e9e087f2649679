"""What the bars and the heat map show."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from loadstone import SparseNoisyPCA, SparsePCA
from loadstone.plotting import plot_biplot, plot_loadings, plot_loadings_heatmap

NOISE = np.random.default_rng(3).normal(size=(80, 6))


@pytest.fixture(scope="module")
def model():
    X = load_wine(as_frame=True).data
    return SparsePCA(2, n_nonzero=[4, 3], standardize=True).fit(X)


def test_one_bar_per_loading_largest_first(model):
    ax = plot_loadings(model)
    assert len(ax.patches) == 7
    expected = model.loadings_table()
    assert [label.get_text() for label in ax.get_yticklabels()] == expected["feature"].tolist()
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], expected["loading"])
    heights = [bar.get_y() for bar in ax.patches]
    assert heights == sorted(heights)
    assert ax.yaxis_inverted()
    headings = [text.get_text() for text in ax.texts]
    assert [h.split(":")[0] for h in headings] == ["Component 1", "Component 2"]


def test_components_share_no_colour_and_one_can_be_chosen(model):
    colours = [bar.get_facecolor() for bar in plot_loadings(model).patches]
    assert colours[0] == colours[3] != colours[4] == colours[6]
    assert len(plot_loadings(model, 1).patches) == 3
    with pytest.raises(ValueError, match="there are 2"):
        plot_loadings(model, 2)


def test_what_is_left_out_is_said(model):
    ax = plot_loadings(model, 0, max_features=3)
    assert len(ax.patches) == 3
    assert "1 smaller loadings not shown" in ax.texts[0].get_text()


def test_names_are_text_and_never_formulas(model):
    names = [f"$x_{i}$" for i in range(13)]
    ax = plot_loadings(model, feature_names=names)
    ax.figure.canvas.draw()
    assert ax.get_yticklabels()[0].get_text() in names
    assert not ax.get_yticklabels()[0].get_parse_math()
    with pytest.raises(ValueError, match="2 feature names"):
        plot_loadings(model, feature_names=["a", "b"])


def test_heat_map_shows_the_features_in_use_and_no_others(model):
    ax = plot_loadings_heatmap(model)
    drawn = ax.images[0].get_array()
    names = [label.get_text() for label in ax.get_yticklabels()]
    used = model.support_.any(axis=0)
    assert set(names) == set(model.feature_names_in_[used])
    assert drawn.shape == (used.sum(), 2)
    row = list(model.feature_names_in_).index(names[0])
    np.testing.assert_allclose(drawn[0], model.components_[:, row])


def test_heat_map_of_signed_components_has_zero_in_the_middle():
    model = SparsePCA(2, n_nonzero=None, standardize=True).fit(load_wine().data)
    low, high = plot_loadings_heatmap(model).images[0].get_clim()
    assert low == -high


def test_heat_map_of_nonnegative_components_starts_at_zero():
    X = load_wine().data
    model = SparsePCA(2, n_nonzero=4, nonnegative=True, standardize=True).fit(X)
    ax = plot_loadings_heatmap(model, max_features=5)
    assert ax.images[0].get_clim()[0] == 0
    assert len(ax.get_yticklabels()) == 5


@pytest.mark.parametrize("plot", [plot_loadings_heatmap, lambda m: plot_biplot(m, NOISE)])
def test_no_component_is_refused_in_a_sentence(plot):
    with pytest.warns(UserWarning, match="noise alone"):
        model = SparseNoisyPCA().fit(NOISE)
    with pytest.raises(ValueError, match="there are 0 components, and this picture needs"):
        plot(model)
