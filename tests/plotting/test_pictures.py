"""What each picture shows: labels, counts, order and values."""

from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from loadstone import (
    EMPCA,
    NSPCA,
    ElasticNetPCA,
    GreedyPCA,
    SparseNoisyPCA,
    SparsePCA,
    cardinality_path,
)
from loadstone.plotting import (
    plot_biplot,
    plot_convergence,
    plot_images,
    plot_scores,
    plot_scree,
    plot_support_overlap,
    plot_variance_path,
)
from loadstone.plotting.style import COLOURS, MUTED


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True)


@pytest.fixture(scope="module")
def model(wine):
    return SparsePCA(3, n_nonzero=5, standardize=True).fit(wine.data)


class Fitted(BaseEstimator):
    """Anything with the attributes a picture reads."""

    def fit(self, X, y=None):
        return self


def fitted(**attributes):
    estimator = Fitted()
    vars(estimator).update(attributes)
    return estimator


def path(**more):
    return SimpleNamespace(n_nonzeros=np.array([1, 2, 4]), values=np.array([1.0, 1.5, 2.0]), **more)


def labels_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_path_draws_values_pca_and_the_chosen_size():
    ax = plot_variance_path(path(), pca_variance=2.5, chosen=2)
    line = ax.lines[0]
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 4])
    np.testing.assert_array_equal(line.get_ydata(), [1.0, 1.5, 2.0])
    assert labels_of(ax) == ["sparse component", "PCA, all features", "chosen"]
    assert ax.texts[0].get_text() == "2 features"
    assert not ax.collections
    with pytest.raises(ValueError, match="not a size"):
        plot_variance_path(path(), chosen=3)


def test_path_band_lies_between_value_and_bound_and_never_above_pca():
    ax = plot_variance_path(path(bounds=[1.0, 1.75, np.nan], ratio=[0.5, 0.75, 1.25]))
    corners = ax.collections[0].get_paths()[0].vertices
    assert corners[:, 0].max() == 2
    assert corners[:, 1].min() == 1.0
    assert corners[:, 1].max() == 1.6
    assert "band" in labels_of(ax)[0]


def test_what_is_recovered_can_be_drawn_instead(wine):
    found = cardinality_path(wine.data, standardize=True, certify="instant")
    ax = plot_variance_path(found, recovered=True)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), 100 * found.recovered)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), 100 * found.pca_recovered)
    assert not ax.collections
    assert "recovered" in ax.get_ylabel()


def test_bounds_may_come_as_certificates():
    certificates = [SimpleNamespace(upper_bound=b) for b in (1.0, 1.6, 2.0)]
    assert plot_variance_path(path(certificates=certificates)).collections


def test_scree_beside_pca(model, wine):
    ax = plot_scree(model, wine.data)
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights[:3], 100 * model.explained_variance_ratio_)
    pca = PCA(3).fit(StandardScaler().fit_transform(wine.data))
    np.testing.assert_allclose(heights[3:], 100 * pca.explained_variance_ratio_, rtol=1e-4)
    assert labels_of(ax) == ["adjusted variance", "PCA, all features"]
    together = plot_scree(model, wine.data, cumulative=True)
    expected = [
        np.cumsum(model.explained_variance_ratio_),
        model.recovered_variance_ratio_,
        np.cumsum(pca.explained_variance_ratio_),
    ]
    np.testing.assert_allclose(
        [bar.get_height() for bar in together.patches], 100 * np.concatenate(expected), rtol=1e-4
    )
    assert labels_of(together) == ["adjusted variance", "recovered variance", "PCA, all features"]
    assert together.get_ylabel().endswith("together")


def test_scores_are_coloured_by_label(model, wine):
    ax = plot_scores(model, wine.data, labels=wine.target, components=(2, 0))
    assert [len(points.get_offsets()) for points in ax.collections] == [59, 71, 48]
    assert labels_of(ax) == ["0 (59)", "1 (71)", "2 (48)"]
    Z = model.transform(wine.data)
    np.testing.assert_allclose(ax.collections[0].get_offsets(), Z[wine.target == 0][:, [2, 0]])
    assert ax.get_xlabel() == "score on component 3"
    with pytest.raises(ValueError, match="3 labels"):
        plot_scores(model, wine.data, labels=[1, 2, 3])
    with pytest.raises(ValueError, match="must be two"):
        plot_scores(model, wine.data, components=(0, 1, 2))


def test_scores_of_one_component_are_drawn_over_the_samples(wine):
    one = SparsePCA(1, n_nonzero=3).fit(wine.data)
    ax = plot_scores(one, wine.data)
    np.testing.assert_array_equal(ax.collections[0].get_offsets()[:, 0], np.arange(178))
    with pytest.raises(ValueError, match="two components"):
        plot_biplot(one, wine.data)


def test_more_classes_than_colours_are_not_told_apart(model, wine):
    ax = plot_scores(model, wine.data, labels=np.arange(178))
    assert labels_of(ax) == ["178 classes"]


def test_biplot_has_arrows_for_selected_features_only(model, wine):
    ax = plot_biplot(model, wine.data, components=(1, 2))
    written = [text.get_text() for text in ax.texts if text.get_text()]
    used = model.support_[1:].any(axis=0)
    assert set(written) == set(model.feature_names_in_[used])
    arrows = [text for text in ax.texts if not text.get_text()]
    assert len(arrows) == used.sum()
    assert (
        len([t for t in plot_biplot(model, wine.data, max_features=3).texts if t.get_text()]) == 3
    )


def test_names_on_one_axis_do_not_cover_each_other(model, wine):
    ax = plot_biplot(model, wine.data)
    alone = model.feature_names_in_[model.support_[0] & ~model.support_[1]]
    places = sorted(t.get_position()[0] for t in ax.texts if t.get_text() in set(alone))
    left, right = ax.get_xlim()
    assert np.diff(places).min() > 0.03 * (right - left)


def test_overlap_prints_the_number_of_shared_features(model):
    ax = plot_support_overlap(model)
    shared = model.support_.astype(int) @ model.support_.T.astype(int)
    assert [int(t.get_text()) for t in ax.texts] == shared.ravel().tolist()
    np.testing.assert_allclose(ax.images[0].get_array(), shared / 5)


def test_images_stand_in_order_with_their_pixels():
    V = np.zeros((3, 6))
    V[0, 0], V[1, 5], V[2, [1, 2]] = 1, 0.5, [0.6, 0.8]
    ax = plot_images(fitted(components_=V), (2, 3), n_columns=2)
    sheet = ax.images[0].get_array()
    assert sheet.shape == (5, 7)
    np.testing.assert_array_equal(sheet[:2, :3], [[1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(sheet[:2, 4:], [[0, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(sheet[3:, :3], [[0, 0.75, 1], [0, 0, 0]])
    assert np.isnan(sheet.filled(np.nan)[2]).all()
    assert [t.get_text() for t in ax.texts] == ["1", "2", "3"]
    again = plot_images(fitted(components_=V), np.array([2, 3]), n_columns=2)
    np.testing.assert_array_equal(again.images[0].get_array().filled(-9), sheet.filled(-9))
    for shape in ((4, 4), 6, (2, 3, 1), (2.5, 2.4), (-2, -3), ("2", "3"), (np.nan, 6), V):
        with pytest.raises(ValueError, match="does not hold 6 features; give height and width"):
            plot_images(fitted(components_=V), shape)
    with pytest.raises(ValueError, match=r"number of features, such as \(12, 12\)"):
        plot_images(fitted(components_=np.eye(1, 144)), (12, 11))


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int16, np.float32])
def test_narrow_numbers_hold_the_shape_of_an_image(kind):
    (sheet,) = plot_images(fitted(components_=np.eye(1, 96 * 90)), np.array([96, 90], kind)).images
    assert sheet.get_array().shape == (96, 90)
    pair = (np.uint8(96), np.uint8(90))
    assert plot_images(fitted(components_=np.eye(1, 96 * 90)), pair).images


def test_convergence_draws_one_trace_per_component(model):
    ax = plot_convergence(model)
    assert labels_of(ax) == ["component 1", "component 2", "component 3"]
    for line, trace in zip(ax.lines, model.objective_, strict=True):
        np.testing.assert_allclose(line.get_ydata(), np.atleast_1d(trace))


@pytest.mark.parametrize(
    "joint",
    [
        NSPCA(2),
        ElasticNetPCA(2, n_nonzero=3),
        SparseNoisyPCA(2),
        SparsePCA(3, n_nonzero=3, objective="recovery"),
        SparsePCA(2, n_nonzero=3, objective="sum", orthogonality="disjoint", certify="instant"),
    ],
    ids=str,
)
def test_a_trace_of_all_components_is_called_that(joint, wine):
    joint = clone(joint).set_params(standardize=True).fit(wine.data)
    ax = plot_convergence(joint)
    assert labels_of(ax) == ["all components"]
    assert ax.get_ylabel() == "objective"
    (line,) = ax.lines
    np.testing.assert_allclose(line.get_ydata(), joint.objective_[0])


@pytest.mark.parametrize("standardize", [False, True])
def test_scree_of_a_weighted_fit_is_beside_weighted_pca(standardize, wine):
    X = wine.data.to_numpy() / wine.data.to_numpy().std(axis=0) * np.linspace(1, 2, 13)
    weights = np.random.default_rng(0).integers(0, 4, len(X)) + 5 * (wine.target == 1)
    # A whole weight is that many samples of one kind.
    repeated = np.repeat(X, weights, axis=0)
    if standardize:
        repeated = StandardScaler().fit_transform(repeated)
    expected = 100 * PCA(2).fit(repeated).explained_variance_ratio_
    model = SparsePCA(2, n_nonzero=4, standardize=standardize).fit(X, sample_weight=weights)
    ax = plot_scree(model, X, sample_weight=list(weights))
    np.testing.assert_allclose([b.get_height() for b in ax.patches][2:], expected, rtol=1e-4)
    unweighted = plot_scree(model, X)
    assert not np.allclose([b.get_height() for b in unweighted.patches][2:], expected, rtol=0.02)
    with pytest.raises(ValueError, match="weight"):
        plot_scree(model, X, sample_weight=weights[:9])


@pytest.mark.parametrize(
    ("single", "said"),
    [
        (NSPCA(1), "objective"),
        (SparsePCA(1, n_nonzero=3, objective="recovery"), "objective"),
        (SparsePCA(1, n_nonzero=3), "variance"),
        (GreedyPCA(1, n_nonzero=3), "variance"),
        (EMPCA(1, n_nonzero=3), "variance"),
    ],
    ids=str,
)
def test_the_trace_of_a_single_component_is_called_what_it_is(single, said, wine):
    single = clone(single).set_params(standardize=True).fit(wine.data)
    ax = plot_convergence(single)
    assert labels_of(ax) == ["component 1"]
    assert ax.get_ylabel() == said
    low, high = ax.get_xlim()
    ticks = [tick for tick in ax.get_xticks() if low <= tick <= high]
    assert ticks
    assert ticks == [round(tick) for tick in ticks]


def test_convergence_of_a_joint_search_and_its_bounds():
    joint = fitted(components_=np.eye(2), objective_=[1.0, 2.0, 3.0])
    ax = plot_convergence(joint)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [1, 2, 3])
    assert labels_of(ax) == ["all components"]
    bounded = fitted(
        components_=np.eye(2), objective_=[[1.0, 2.0], [1.0]], upper_bound_=[2.5, np.nan]
    )
    assert [line.get_linestyle() for line in plot_convergence(bounded).lines] == ["-", ":", "-"]
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_convergence(fitted(components_=np.eye(2)))


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT, ""])
def test_samples_without_a_label_are_grey_and_of_no_class(model, wine, nothing):
    labels = [nothing if i % 10 == 0 else kind for i, kind in enumerate("ab" * 89)]
    ax = plot_scores(model, wine.data, labels=labels)
    assert labels_of(ax) == ["unlabelled (18)", "a (71)", "b (89)"]
    grey, first = (points.get_facecolor()[0][:3] for points in ax.collections[:2])
    np.testing.assert_allclose(grey, mpl.colors.to_rgb(MUTED))
    np.testing.assert_allclose(first, mpl.colors.to_rgb(COLOURS[0]))
    many = [None if i == 5 else i for i in range(178)]
    assert labels_of(plot_scores(model, wine.data, labels=many)) == [
        "unlabelled (1)",
        "177 classes",
    ]
    codes = np.array([np.nan if i % 2 else 1.0 for i in range(178)])
    assert labels_of(plot_scores(model, wine.data, labels=codes)) == ["unlabelled (89)", "1.0 (89)"]
