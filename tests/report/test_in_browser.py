"""The page in a real browser: silent, safe, readable, and its tables at work."""

import base64
import itertools
import json
import re
import time

import numpy as np
import pytest

import loadstone
from loadstone.constraints import Groups

NASTY = "<script>window.hit=1</script>"
LARGEST = 6_000_000


@pytest.fixture(scope="module")
def page(model, wine, path, opened):
    names = [NASTY, *wine.data.columns[1:]]
    labels = np.where(wine.target == 0, NASTY, wine.target.astype(str))
    return opened(loadstone.report(model, wine.data, labels, names, path, title=NASTY))


def test_nothing_is_reported_and_nothing_leaves_the_page(page):
    time.sleep(0.3)
    assert page.errors() == []
    here = page.file.as_uri()
    logged = page.driver.get_log("performance")
    sent = [json.loads(entry["message"])["message"] for entry in logged]
    asked = [
        m["params"]["request"]["url"]
        for m in sent
        if m["method"] == "Network.requestWillBeSent" and m["params"]["documentURL"] == here
    ]
    assert here in asked
    assert [url for url in asked if url != here and not url.startswith("data:")] == []
    assert page.file.stat().st_size < LARGEST


def test_markup_in_names_is_not_run(page):
    assert page.run("return window.hit") is None
    assert page.driver.title == NASTY
    assert page.text("h1") == NASTY
    assert NASTY in page.text("#classes")


def test_every_chart_has_a_name_and_every_heading_its_place(page):
    assert page.count("svg[role=img][aria-label][tabindex='0']") == page.count("svg:not(.icon)")
    assert page.count("figure[aria-labelledby]") == page.count("figure")
    levels = page.run(
        "return [...document.querySelectorAll('h1,h2,h3,h4')].map(e => +e.tagName[1])"
    )
    assert max(b - a for a, b in itertools.pairwise(levels)) == 1
    unnamed = (
        "return [...document.querySelectorAll('button,select,input')].filter(e => "
        "!(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length"
    )
    assert page.run(unnamed) == 0
    ids = page.attributes("[id]", "id")
    assert len(ids) == len(set(ids))


def test_bars_are_as_long_as_their_loadings(page, model):
    assert page.count("#bars svg") == model.n_components_
    assert page.count("#bars rect.mark") == model.cardinality_.sum()
    widths = np.array(page.attributes("#bars .card:first-child rect.mark", "width"), dtype=float)
    loadings = np.sort(np.abs(model.components_[0][model.support_[0]]))[::-1]
    np.testing.assert_allclose(widths / widths[0], loadings / loadings[0], rtol=1e-6)


def test_hovering_and_arrow_keys_name_what_is_there(page):
    page.run(
        "document.querySelector('#bars rect.mark')"
        ".dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))"
    )
    assert page.one("#tip").is_displayed()
    assert ":" in page.text("#tip")
    page.run(
        "const s = document.querySelector('#variance svg'); s.focus();"
        "s.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))"
    )
    assert page.text("#live").startswith("Component 1: ")
    assert page.count("#variance .mark.on") == 1


def test_components_can_be_toggled(page):
    buttons = page.all("#toggles button")
    assert len(buttons) == 3
    buttons[1].click()
    assert buttons[1].get_attribute("aria-pressed") == "false"
    assert page.count("#bars svg") == 2
    assert page.count("#comparison svg") == 2
    assert page.count("#loadings tbody tr") == 10
    buttons[1].click()
    assert page.count("#bars svg") == 3


def test_search_filters_and_headings_sort(page):
    assert page.count("#loadings tbody tr") == 15
    page.set("#search", "COLOR")
    rows = page.count("#loadings tbody tr")
    assert 0 < rows < 15
    assert page.text("#found") == f"{rows} of 15 loadings"
    page.set("#search", "")
    heading = page.all("#loadings thead button")[2]
    for order in ("descending", "ascending"):
        heading.click()
        values = page.run(
            "return [...document.querySelectorAll('#loadings tbody tr td:last-child')]"
            ".map(e => Number(e.textContent))"
        )
        assert values == sorted(values, reverse=order == "descending")
        assert heading.find_element("xpath", "..").get_attribute("aria-sort") == order


def test_copy_takes_what_is_shown(page):
    page.driver.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
    )
    page.set("#search", "proline")
    page.click("#figure-loadings-table .copy")
    page.until(lambda: page.text("#figure-loadings-table .copied") == "Copied")
    copied = page.driver.execute_async_script(
        "const done = arguments[0]; navigator.clipboard.readText().then(done, e => done('refused ' + e))"
    )
    lines = copied.splitlines()
    assert lines[0] == "component\tfeature\tloading"
    assert all("proline" in line for line in lines[1:])
    assert len(lines) == 1 + page.count("#loadings tbody tr")
    page.set("#search", "")


def luminance(colour):
    channels = [c / 255 for c in colour]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_colours_can_be_told_apart(page, theme):
    page.run("document.documentElement.dataset.theme = arguments[0]", theme)
    ask = (
        "const out = {}; const probe = document.createElement('span'); document.body.append(probe);"
        "for (const v of arguments[0]) { probe.style.color = `var(--${v})`;"
        "out[v] = getComputedStyle(probe).color.match(/\\d+/g).slice(0, 3); } probe.remove(); return out;"
    )
    wanted = ["paper", "card", "ink", "quiet", "pca", *(f"c{i}" for i in range(8))]
    shown = {k: np.array(v, dtype=float) for k, v in page.run(ask, wanted).items()}
    full = page.run("return FULL_COLOUR")
    for mark in wanted[5:]:
        shown[f"table of {mark}"] = full * shown[mark] + (1 - full) * shown["card"]
    colours = {k: luminance(v) for k, v in shown.items()}

    def contrast(a, b):
        low, high = sorted((colours[a], colours[b]))
        return (high + 0.05) / (low + 0.05)

    for ground in ("paper", "card"):
        assert contrast("ink", ground) > 7
        assert contrast("quiet", ground) > 4.5
        for mark in wanted[4:]:
            assert contrast(mark, ground) > 3, (mark, ground)
    for mark in wanted[5:]:
        assert contrast("ink", f"table of {mark}") > 4.5, mark


def test_the_theme_button_switches(page):
    ask = "return getComputedStyle(document.body).backgroundColor"
    before = page.run(ask)
    page.one("#theme").click()
    assert page.run(ask) != before
    page.one("#theme").click()


def test_groups_stand_beside_their_features_where_there_are_any(page, wine, opened):
    headings = (
        "return [...document.querySelectorAll('#loadings thead button')]"
        ".map(e => e.textContent.split(' ')[0])"
    )
    assert page.run(headings) == ["component", "feature", "loading"]
    labels = [f"<b>{i % 3}</b>" for i in range(13)]
    model = loadstone.SparsePCA(2, standardize=True, constraint=Groups(labels, 1)).fit(wine.data)
    other = opened(loadstone.report(model, wine.data))
    assert other.run(headings) == ["component", "feature", "group", "loading"]
    cells = other.run(
        "return [...document.querySelectorAll('#loadings tbody td')].map(e => e.textContent)"
    )
    names = list(wine.data.columns)
    shown = list(zip(cells[1::4], cells[2::4], strict=True))
    assert len(shown) == model.cardinality_.sum()
    for feature, group in shown:
        assert group == labels[names.index(feature)]
    assert other.errors() == []
    page.load()


def test_a_phone_needs_no_sideways_scrolling(page):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.load()
        assert page.run("return document.documentElement.scrollWidth") <= 390
        wider = (
            "return [...document.querySelectorAll('.scroll')]"
            ".filter(e => e.scrollWidth > e.clientWidth + 1).length"
        )
        assert page.run(wider) == 0
        assert page.count("#scores .sample") == 178
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_wine_is_printed_on_two_pages(page):
    made = page.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    assert len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(made["data"]))) == 2
    assert not page.run("return document.documentElement.classList.contains('printing')")
