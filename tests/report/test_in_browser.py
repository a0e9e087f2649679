"""The report in a real browser: drawn, interactive, silent on the network."""

import html
import json
import re
import shutil
import subprocess
import time

import numpy as np
import pytest

import loadstone
from loadstone.constraints import Groups

NASTY = "<script>window.hit=1</script>"
BINARY = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
DRIVER = shutil.which("chromedriver")
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--window-size=1200,1000",
]  # fmt: skip
LARGEST = 6_000_000


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if not (BINARY and DRIVER):
        pytest.skip("Chromium is not installed: apt-get install chromium chromium-driver")
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    options = selenium.ChromeOptions()
    options.binary_location = BINARY
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = selenium.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def file(model, wine, path, tmp_path_factory):
    names = [NASTY, *wine.data.columns[1:]]
    labels = np.where(wine.target == 0, NASTY, wine.target.astype(str))
    report = loadstone.report(model, wine.data, labels, names, path, title=NASTY)
    return report.save(tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture
def page(browser, file):
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(file.as_uri())
    deadline = time.monotonic() + 20
    while not browser.execute_script("return document.documentElement.dataset.ready"):
        assert time.monotonic() < deadline, browser.get_log("browser")
        time.sleep(0.05)
    return browser


def count(page, selector):
    return page.execute_script("return document.querySelectorAll(arguments[0]).length", selector)


def text(page, selector):
    return page.execute_script("return document.querySelector(arguments[0]).textContent", selector)


def by_css(page, selector):
    return page.find_element("css selector", selector)


def set_value(page, selector, value):
    page.execute_script(
        "const e = document.querySelector(arguments[0]); e.value = arguments[1];"
        "e.dispatchEvent(new Event('input', {bubbles: true}));",
        selector,
        value,
    )


def test_nothing_is_reported_and_nothing_leaves_the_page(page, file):
    time.sleep(0.3)
    assert page.get_log("browser") == []
    sent = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = [
        m["params"]["request"]["url"]
        for m in sent
        if m["method"] == "Network.requestWillBeSent"
        and m["params"]["documentURL"] == file.as_uri()
    ]
    assert file.as_uri() in asked
    assert [url for url in asked if url != file.as_uri() and not url.startswith("data:")] == []
    assert file.stat().st_size < LARGEST


def test_markup_in_names_is_not_run(page):
    assert page.execute_script("return window.hit") is None
    assert page.title == NASTY
    assert text(page, "h1") == NASTY


def test_charts_are_drawn(page, model):
    assert count(page, "#variance rect.mark") == 2 * model.n_components_
    assert count(page, "#panels svg") == model.n_components_
    assert count(page, "#panels rect.mark") == model.cardinality_.sum()
    assert count(page, "#scores circle.mark") == 178
    assert count(page, "#path circle.mark") == 6
    assert count(page, "#path polygon") == 1
    assert count(page, "svg[role=img][aria-label]") == count(page, "svg")


def test_bars_are_as_long_as_their_loadings(page, model):
    widths = page.execute_script(
        "return [...document.querySelectorAll('#panels .panel:first-child rect.mark')]"
        ".map(e => Number(e.getAttribute('width')))"
    )
    loadings = np.sort(np.abs(model.components_[0][model.support_[0]]))[::-1]
    np.testing.assert_allclose(np.array(widths) / widths[0], loadings / loadings[0], rtol=1e-6)


def test_hovering_and_arrow_keys_name_what_is_there(page):
    page.execute_script(
        "document.querySelector('#panels rect.mark')"
        ".dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))"
    )
    assert by_css(page, "#tip").is_displayed()
    assert ":" in text(page, "#tip")
    page.execute_script(
        "const s = document.querySelector('#variance svg'); s.focus();"
        "s.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))"
    )
    assert text(page, "#live").startswith("Component 1: ")
    assert count(page, "#variance .mark.on") == 1


def test_components_can_be_toggled(page, model):
    buttons = page.find_elements("css selector", "#toggles button")
    assert len(buttons) == 3
    buttons[1].click()
    assert buttons[1].get_attribute("aria-pressed") == "false"
    assert count(page, "#panels svg") == 2
    assert count(page, "#loadings tbody tr") == 10
    buttons[1].click()
    assert count(page, "#panels svg") == 3


def test_search_filters_and_headings_sort(page, model):
    assert count(page, "#loadings tbody tr") == 15
    set_value(page, "#search", "COLOR")
    rows = count(page, "#loadings tbody tr")
    assert 0 < rows < 15
    assert text(page, "#found") == f"{rows} of 15 loadings"
    set_value(page, "#search", "")
    heading = page.find_elements("css selector", "#loadings thead button")[2]
    for order in ("descending", "ascending"):
        heading.click()
        values = page.execute_script(
            "return [...document.querySelectorAll('#loadings tbody tr td:last-child')]"
            ".map(e => Number(e.textContent))"
        )
        assert values == sorted(values, reverse=order == "descending")
        assert heading.find_element("xpath", "..").get_attribute("aria-sort") == order


def test_copy_takes_what_is_shown(page):
    page.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
    )
    set_value(page, "#search", "proline")
    by_css(page, "#copy").click()
    deadline = time.monotonic() + 5
    while text(page, "#copied") != "Copied":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    copied = page.execute_async_script(
        "const done = arguments[0]; navigator.clipboard.readText().then(done, e => done('refused ' + e))"
    )
    lines = copied.splitlines()
    assert lines[0] == "component\tfeature\tloading"
    assert all("proline" in line for line in lines[1:])
    assert len(lines) == 1 + count(page, "#loadings tbody tr")
    set_value(page, "#search", "")


def test_the_slider_moves_through_the_path(page, path):
    assert text(page, "#size-text").startswith("5 features")
    set_value(page, "#size", "0")
    assert text(page, "#size-text").startswith("1 features: variance 1")
    assert count(page, "#path circle[r='7']") == 1
    set_value(page, "#size", "5")
    assert text(page, "#size-text").startswith("13 features")
    assert text(page, "#size-names").count(",") == 12


def test_axes_and_classes_can_be_chosen(page):
    selects = page.find_elements("css selector", "#axes select")
    page.execute_script(
        "arguments[0].value = '2'; arguments[0].dispatchEvent(new Event('change'))", selects[0]
    )
    assert "score on component 3" in text(page, "#scores svg")
    page.find_elements("css selector", "#classes button")[0].click()
    assert count(page, "#scores circle.mark") < 178


def luminance(colour):
    channels = [int(c) / 255 for c in colour]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_can_be_told_apart(page, theme):
    page.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
    ask = (
        "const out = {}; const probe = document.createElement('span'); document.body.append(probe);"
        "for (const v of arguments[0]) { probe.style.color = `var(--${v})`;"
        "out[v] = getComputedStyle(probe).color.match(/\\d+/g).slice(0, 3); } probe.remove(); return out;"
    )
    wanted = ["paper", "card", "ink", "quiet", "pca", *(f"c{i}" for i in range(8))]
    colours = {k: luminance(v) for k, v in page.execute_script(ask, wanted).items()}

    def contrast(a, b):
        low, high = sorted((colours[a], colours[b]))
        return (high + 0.05) / (low + 0.05)

    for ground in ("paper", "card"):
        assert contrast("ink", ground) > 7
        assert contrast("quiet", ground) > 4.5
        for mark in wanted[4:]:
            assert contrast(mark, ground) > 3, (mark, ground)


def test_the_theme_button_switches(page):
    before = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    by_css(page, "#theme").click()
    assert page.execute_script("return getComputedStyle(document.body).backgroundColor") != before


def test_a_phone_needs_no_sideways_scrolling(page):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.refresh()
    try:
        assert page.execute_script("return document.documentElement.scrollWidth") <= 390
        assert count(page, "#scores circle.mark") == 178
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.skipif(BINARY is None, reason="Chromium is not installed: apt-get install chromium")
@pytest.mark.parametrize("grouped", [True, False])
def test_groups_stand_beside_their_features_where_there_are_any(grouped, wine, tmp_path):
    labels = [f"<b>{i % 3}</b>" for i in range(13)]
    asked = {"constraint": Groups(labels, 1)} if grouped else {"n_nonzero": 5}
    model = loadstone.SparsePCA(2, standardize=True, **asked).fit(wine.data)
    file = loadstone.report(model, wine.data).save(tmp_path / "report.html")
    call = [BINARY, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", file.as_uri()]
    page = subprocess.run(call, capture_output=True, text=True, check=True, timeout=60).stdout
    table = page[page.index('<table id="loadings"') :].partition("</table>")[0]
    headings = re.findall(r"<button[^>]*>([^<]*)</button>", table)
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", table)
    if not grouped:
        assert headings == ["component", "feature", "loading"]
        return
    assert headings == ["component", "feature", "group", "loading"]
    names = list(wine.data.columns)
    shown = list(zip(cells[1::4], cells[2::4], strict=True))
    assert len(shown) == model.cardinality_.sum()
    for feature, group in shown:
        assert html.unescape(group) == labels[names.index(feature)]
