"""Every panel in a real browser: what it draws, and what happens when it is touched."""

import base64
import csv
import io

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import loadstone


@pytest.fixture(scope="module")
def page(model, wine, path, opened):
    names = [*wine.data.columns[:-1], "=proline()"]
    samples = [f"wine {i}" for i in range(178)]
    return opened(
        loadstone.report(
            model, wine.data, wine.target, names, path, sample_names=samples, title="Wine"
        )
    )


@pytest.fixture(scope="module")
def standardized(wine):
    return StandardScaler().fit_transform(wine.data)


def tips(page, selector):
    return page.attributes(selector, "data-tip")


def test_no_panel_complains(page):
    assert page.errors() == []
    assert page.count("figure") == 11
    # This search needed one step: there is nothing to draw.
    assert page.count("#convergence") == 0


def test_variance_and_correlations_stand_beside_pca(page, model, standardized):
    assert page.count("#variance rect.mark") == 2 * model.n_components_
    scores = standardized @ model.components_.T
    plain = PCA(3).fit_transform(standardized)
    expected = np.abs(np.corrcoef(scores.T, plain.T)[:3, 3:])
    told = [float(tip.rsplit("= ", 1)[1]) for tip in tips(page, "#correlations .mark")]
    np.testing.assert_allclose(np.abs(told), expected.ravel(), atol=6e-4)
    assert page.count("#comparison path.mark") == page.count("#comparison rect.mark") > 15


def test_scores_have_classes_ellipses_and_names(page, wine):
    assert page.count("#scores .sample") == 178
    shapes = {kind: page.count(f"#scores {kind}.sample") for kind in ("circle", "path")}
    assert shapes == {"circle": int((wine.target == 0).sum()), "path": int((wine.target > 0).sum())}
    assert page.count("#scores polyline") == 3
    assert tips(page, "#scores .sample")[7].startswith("wine 7 (0): ")
    page.click("#axes button")
    assert page.count("#scores polyline") == 0
    page.click("#axes button")
    page.set("#axes select", "2", "change")
    assert "score on component 3" in page.text("#scores svg")
    page.set("#axes select", "0", "change")
    page.click("#classes button")
    assert page.count("#scores .sample") == page.count("#outliers .sample") == shapes["path"]
    page.click("#classes button")
    assert page.count("#biplot .sample") == 178


def test_an_ellipse_holds_what_it_says(page, model, wine, standardized):
    scores = (standardized @ model.components_[:2].T)[wine.target == 0]
    # The estimator divides by n - 1.
    scores *= np.sqrt(177 / 178)
    ask = "return ellipse(arguments[0])"
    outline = np.array(page.run(ask, scores.tolist()))
    away = outline - scores.mean(axis=0)
    inverse = np.linalg.inv(np.cov(scores.T))
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", away, inverse, away), 2.4477**2, rtol=1e-9)


def test_a_sample_shows_what_makes_its_score(page, model, wine):
    tells = [tip.split(" (")[0] for tip in tips(page, "#scores .sample")]
    page.click("#scores .sample", tells.index("wine 11"))
    assert page.count("#scores .sample.chosen") == 1
    assert page.text("#live") == "Sample wine 11 is chosen"
    parts = [float(tip.rsplit(": ", 1)[1]) for tip in tips(page, "#contributions .mark")]
    assert len(parts) == 10
    score = model.transform(wine.data)[11]
    np.testing.assert_allclose([sum(parts[:5]), sum(parts[5:])], score[:2], rtol=2e-3)
    assert page.text("#contributions h4").startswith("Sample wine 11")


def test_a_feature_colours_the_samples(page, wine):
    tell = tips(page, "#bars rect.mark")
    which = next(i for i, tip in enumerate(tell) if tip.startswith("alcohol:"))
    page.click("#bars rect.mark", which)
    assert page.text("#live") == "Samples are coloured by alcohol"
    fills = page.attributes("#scores .sample", "fill")
    low, high = wine.data["alcohol"].argmin(), wine.data["alcohol"].argmax()
    assert fills[low] == "rgb(217,154,0)"
    assert fills[high] == "rgb(0,32,77)"
    value = wine.data["alcohol"][3]
    assert f"alcohol {value:g}" in tips(page, "#scores .sample")[3]
    page.set("#colour", "", "change")
    assert "rgb(0,32,77)" not in page.attributes("#scores .sample", "fill")


def test_arrows_are_for_selected_features_and_names_do_not_meet(page, model, standardized):
    selected = (model.components_[:2] != 0).any(axis=0).sum()
    for panel in ("#biplot", "#circle"):
        assert page.count(f"{panel} .arrow-end") == selected
        boxes = page.run(
            f"return [...document.querySelectorAll('{panel} text.label')].map(e => {{"
            "const b = e.getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom]; })"
        )
        assert len(boxes) > selected / 2
        for i, a in enumerate(boxes):
            for b in boxes[:i]:
                apart = a[0] > b[1] or b[0] > a[1] or a[2] > b[3] - 3 or b[2] > a[3] - 3
                assert apart, (a, b)
    scores = standardized @ model.components_[:2].T
    told = {tip.split(":")[0]: tip for tip in tips(page, "#circle .arrow-end")}
    expected = [np.corrcoef(standardized[:, 0], score)[0, 1] for score in scores.T]
    if "alcohol" in told:
        shown = [float(r) for r in told["alcohol"].rsplit("correlations ", 1)[1].split(", ")]
        np.testing.assert_allclose(shown, expected, atol=0.006)


def test_outliers_are_those_beyond_a_limit(page, model, standardized):
    Z = standardized * np.sqrt(177 / 178)
    scores = Z @ model.components_.T
    inverse = np.linalg.inv(np.cov(scores.T))
    far = np.sqrt(np.einsum("ij,jk,ik->i", scores, inverse, scores))
    missed = Z - scores @ np.linalg.lstsq(scores, Z, rcond=None)[0]
    for i, tip in enumerate(tips(page, "#outliers .sample")[:20]):
        at = int(tip.split("wine ")[1].split(" ")[0])
        shown = [float(v) for v in tip.split("score distance ")[1].split(", orthogonal ")]
        np.testing.assert_allclose(shown, [far[at], np.linalg.norm(missed[at])], rtol=1e-3)
        assert at == i
    page.click("#figure-outliers .link")
    assert page.text("#live").endswith("is chosen")


def test_the_slider_moves_through_the_path(page):
    assert page.count("#path circle.mark") == 6
    assert page.count("#path polygon") == 1
    assert page.text("#size-text").startswith("5 features")
    page.set("#size", "0")
    assert page.text("#size-text").startswith("1 feature: variance 1")
    assert page.count("#path circle[r='7']") == 1
    page.click("#path circle.mark", 5)
    assert page.text("#size-text").startswith("13 features")
    assert page.text("#size-names").count(",") == 12


def test_figures_and_tables_can_be_saved(page, model, tmp_path):
    allow = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", allow)
    page.click("#figure-scores .svg")
    page.click("#figure-scores .png")
    page.click("#figure-loadings-table .csv")
    wanted = {"scores.svg", "scores.png", "loadings.csv"}
    page.until(lambda: {file.name for file in tmp_path.iterdir()} >= wanted)
    page.until(lambda: all((tmp_path / name).stat().st_size for name in wanted))
    svg = (tmp_path / "scores.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert "var(--" not in svg
    assert (tmp_path / "scores.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.reader(io.StringIO((tmp_path / "loadings.csv").read_text("utf-8-sig"))))
    assert rows[0] == ["component", "feature", "loading"]
    assert len(rows) == 1 + model.cardinality_.sum()
    assert {row[1] for row in rows} & {"=proline()", "'=proline()"} == {"'=proline()"}


def test_images_show_loadings_beside_pca(opened):
    X = np.random.default_rng(0).standard_normal((30, 12)) + np.arange(12)
    model = loadstone.EMPCA(2, n_nonzero=3).fit(X)
    page = opened(loadstone.report(model, X, image_shape=(3, 4)))
    assert page.count("#convergence svg") == 0
    page.run("document.getElementById('section-convergence').open = true")
    page.until(lambda: page.count("#convergence circle.mark") == 2)
    assert page.count("#images svg") == 3
    assert page.count("#images image") == 5
    place = int(np.argmax(np.abs(model.components_[0])))
    page.run(
        "const e = document.querySelectorAll('#images image')[1], b = e.getBoundingClientRect();"
        "e.dispatchEvent(new PointerEvent('pointermove', {bubbles: true,"
        "clientX: b.left + b.width * (arguments[1] + 0.5) / 4,"
        "clientY: b.top + b.height * (arguments[0] + 0.5) / 3}))",
        *divmod(place, 4),
    )
    said = page.text("#tip")
    row, column = divmod(place, 4)
    assert said.startswith(f"sparse, row {row + 1}, column {column + 1}: ")
    assert float(said.rsplit(" ", 1)[1]) == pytest.approx(model.components_[0][place], rel=1e-3)
    assert page.errors() == []


def test_curves_and_many_classes(opened):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 20)).cumsum(axis=1)
    model = loadstone.SparsePCA(2, n_nonzero=4).fit(X)
    axis = np.linspace(900, 400, 20)
    labels = [f"class {i % 20}" for i in range(60)]
    page = opened(loadstone.report(model, X, labels, feature_axis=axis))
    assert page.count("#curves svg") == 2
    assert page.count("#curves circle.mark") == page.count("#spectrum rect.mark") == 8
    assert page.count("#curves polyline") == 2
    # The numbers of the components are no numbers of the axis below them.
    rows = page.texts("#spectrum text.row")
    assert rows == ["component 1", "component 2"]
    edge = "return Math.{}(...[...document.querySelectorAll('#spectrum {}')].map({}))"
    low = page.run(edge.format("max", "text.row", "e => e.getBoundingClientRect().right"))
    assert low < page.run(edge.format("min", ".mark", "e => e.getBoundingClientRect().left"))
    looks = set(
        zip(
            page.attributes("#classes .mark", "fill"),
            (d and d.count("L") for d in page.attributes("#classes .mark", "d")),
            (d and d.split("L")[0].split()[1] for d in page.attributes("#classes .mark", "d")),
            strict=True,
        )
    )
    assert len(looks) == 20
    assert page.errors() == []


def test_numbers_beside_bars_do_not_meet_the_names(opened):
    rng = np.random.default_rng(0)
    strong = rng.standard_normal(60)
    X = np.outer(strong, [3, 3, 3, 3, -0.7]) + 0.1 * rng.standard_normal((60, 5))
    names = [f"measurement {i}" for i in range(5)]
    page = opened(loadstone.report(loadstone.SparsePCA(1, n_nonzero=5).fit(X), X, None, names))
    for panel in ("#bars", "#contributions"):
        rows = page.run(
            f"return [...document.querySelectorAll('{panel} svg text')].map(e => {{"
            "const b = e.getBoundingClientRect();"
            "return [e.textContent, b.left, b.right, Math.round(b.top)]; })"
        )
        for name, _, end, top in (row for row in rows if row[0] in names):
            (begin,) = (left for text, left, _, t in rows if t == top and text != name)
            assert begin > end, (panel, name)


def test_one_component_and_missing_values_draw_what_they_can(opened, wine):
    one = loadstone.SparsePCA(1, n_nonzero=3, standardize=True).fit(wine.data)
    page = opened(loadstone.report(one, wine.data, wine.target))
    assert page.count("#scores .sample") == 178
    assert page.count("#biplot, #circle, #correlations") == 0
    assert page.count("#contributions svg") == 1
    assert page.errors() == []
    X = wine.data.to_numpy(copy=True)
    X[::7, 2] = np.nan
    factors = loadstone.ProbabilisticPCA(2, standardize=True).fit(X)
    page = opened(loadstone.report(factors, X))
    assert page.count("#scores .sample") == 178
    assert page.count("#outliers, #contributions, #comparison") == 0
    assert page.errors() == []


def test_contributions_of_a_factor_model_add_up_too(wine):
    from loadstone.report.facts import gather
    from loadstone.report.figures.features import features

    model = loadstone.ProbabilisticPCA(2, standardize=True).fit(wine.data)
    figure = features(gather(model, wine.data))
    X = wine.data[figure.names].to_numpy()
    parts = (X - figure.means) @ np.array(figure.weights, dtype=float)
    np.testing.assert_allclose(parts, model.transform(wine.data), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (loadstone.SparsePCA(2, n_nonzero=3), "distance from its mean, times its loading;"),
        (
            loadstone.SparsePCA(2, n_nonzero=3, standardize=True),
            "distance from its mean in standard deviations, times its loading;",
        ),
        (
            loadstone.SparseProbabilisticPCA(2, standardize=True),
            "times its weight in the score, for which the model weighs all components",
        ),
    ],
)
def test_what_makes_a_score_is_said_as_the_model_has_it(model, words, opened, wine):
    X = wine.data[["alcohol", "ash", "hue", "flavanoids", "total_phenols", "magnesium"]]
    page = opened(loadstone.report(model.fit(X), X))
    said = page.text("#figure-contributions figcaption")
    assert words in said
    assert "together they are the score." in said


def test_many_samples_are_thinned_before_they_are_made_dense():
    from scipy import sparse

    from loadstone.report.facts import MAX_SAMPLES, gather
    from loadstone.report.figures.features import features

    rng = np.random.default_rng(0)
    X = rng.standard_normal((MAX_SAMPLES + 500, 5))
    model = loadstone.SparsePCA(1, n_nonzero=2).fit(X)
    facts = gather(model, sparse.csc_array(X))
    figure = features(facts)
    made = figure.values[0]
    codes = np.frombuffer(base64.b64decode(made.codes), dtype="<i2")
    column = X[facts.drawn, int(figure.names[0][1:])]
    assert codes.size == MAX_SAMPLES
    np.testing.assert_allclose(made.middle + made.half * codes / 32767, column, atol=1e-3)


def test_embedded_numbers_come_back(wine):
    from loadstone.report.figures.packed import packed

    values = np.array([1.5, np.nan, -3.0, 8.25, 0.0])
    for around_zero in (False, True):
        made = packed(values, around_zero=around_zero)
        codes = np.frombuffer(base64.b64decode(made.codes), dtype="<i2").astype(float)
        codes[codes == -32768] = np.nan
        again = made.middle + made.half * codes / 32767
        np.testing.assert_allclose(again, values, atol=8.25 / 32767)
    assert again[-1] == 0


def test_samples_without_a_class_are_grey_and_can_be_hidden(opened, model, wine):
    labels = [None if i % 2 else str(kind) for i, kind in enumerate(wine.target)]
    page = opened(loadstone.report(model, wine.data, labels))
    fills = page.attributes("#scores .sample", "fill")
    assert fills.count("var(--quiet)") == 89
    assert page.texts("#classes button") == ["0", "1", "2", "unlabelled"]
    assert page.count("#scores polyline") == 3
    assert "(unlabelled): " in tips(page, "#scores .sample")[1]
    page.click("#classes button:last-child")
    assert page.count("#scores .sample") == 89
    assert "var(--quiet)" not in page.attributes("#scores .sample", "fill")
    assert page.errors() == []
