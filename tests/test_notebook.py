"""What a notebook shows of an estimator: its loadings, and its parameters below them."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_wine

from loadstone import EMPCA, SparsePCA

NASTY = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


def test_a_fitted_estimator_shows_its_loadings_with_names(wine):
    model = SparsePCA(2, n_nonzero=3, standardize=True).fit(wine)
    shown = model._repr_mimebundle_()["text/html"]
    before, _, diagram = shown.partition("</div></div>")
    recovered = (
        f"recover {100 * model.recovered_variance_ratio_[-1]:.3g} % of all features' variance."
    )
    assert f"2 components, 6 of 13 features used, {recovered}" in before
    for w in model.components_:
        for i in np.flatnonzero(w):
            row = before[before.index(f">{wine.columns[i]}</td>") :].partition("</tr>")[0]
            assert f">{w[i]:.3f}<" in row
            width = float(row.partition("width:")[2].partition("em;background")[0].split(":")[-1])
            assert width == pytest.approx(6 * abs(w[i]) / np.abs(w).max(), abs=0.01)
    assert "sk-container-id" in diagram


def test_a_share_that_many_loadings_flatter_is_not_shown_without_a_word(wine):
    few = wine[:20]
    for k, flattered in ((2, False), (3, True)):
        model = SparsePCA(2, n_nonzero=k, standardize=True).fit(few)
        assert (2 * k > len(few) / 4) == flattered
        said = model._repr_mimebundle_()["text/html"].partition("</div>")[0]
        assert ("cross_validated_recovery" in said) == flattered
        assert (f"{2 * k} loadings fit to 20 samples" in said) == flattered


def test_names_are_escaped_and_long_results_are_cut(wine):
    X = wine.rename(columns={"alcohol": NASTY})
    shown = EMPCA(1, n_nonzero=12, standardize=True).fit(X)._repr_html_()
    assert NASTY not in shown
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;" in shown
    assert "and 4 more" in shown
    many = SparsePCA(7, n_nonzero=2).fit(np.random.default_rng(0).standard_normal((20, 16)))
    assert "and 1 more in <code>loadings_table()</code>" in many._repr_html_()
    assert ">x" in many._repr_html_()


def test_before_a_fit_and_as_text_nothing_changes(wine):
    model = SparsePCA(2)
    assert "loadstone-loadings" not in model._repr_html_()
    model.fit(wine.to_numpy() * 1.0)
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}
