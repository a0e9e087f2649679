"""Models, paths and a browser to report on."""

import shutil
import time
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_wine

from loadstone import SparsePCA

NASTY = "<script>window.hit=1</script>\"'&</script><!--"
BINARY = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
DRIVER = shutil.which("chromedriver")
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--window-size=1200,1000",
]  # fmt: skip


class Page:
    """A page in a browser, asked by selectors."""

    def __init__(self, driver, file):
        self.driver, self.file = driver, file

    def load(self):
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(self.file.as_uri())
        self.until(lambda: self.run("return document.documentElement.dataset.ready"))
        return self

    def until(self, is_so):
        deadline = time.monotonic() + 20
        while not is_so():
            assert time.monotonic() < deadline, self.driver.get_log("browser")
            time.sleep(0.02)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def one(self, selector):
        return self.driver.find_element("css selector", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def texts(self, selector):
        """What every element that is meant says."""
        ask = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
        return self.run(ask, selector)

    def attributes(self, selector, name):
        ask = "return [...document.querySelectorAll(arguments[0])].map(e => e.getAttribute(arguments[1]))"
        return self.run(ask, selector, name)

    def click(self, selector, which=0):
        """Click what may lie under something else, as SVG often does."""
        click = "dispatchEvent(new MouseEvent('click', {bubbles: true}))"
        self.run(f"document.querySelectorAll(arguments[0])[arguments[1]].{click}", selector, which)

    def set(self, selector, value, event="input"):
        self.run(
            "const e = document.querySelector(arguments[0]); e.value = arguments[1];"
            "e.dispatchEvent(new Event(arguments[2], {bubbles: true}));",
            selector,
            value,
            event,
        )

    def errors(self):
        return self.driver.get_log("browser")


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
def opened(browser, tmp_path_factory):
    """Open a report in the browser."""

    def open_report(report):
        file = report.save(tmp_path_factory.mktemp("report") / "report.html")
        return Page(browser, file).load()

    return open_report


@pytest.fixture(scope="session")
def wine():
    return load_wine(as_frame=True)


@pytest.fixture(scope="session")
def model(wine):
    return SparsePCA(3, n_nonzero=5, standardize=True).fit(wine.data)


@pytest.fixture(scope="session")
def path(wine):
    """What a cardinality path looks like to the report."""
    sizes = np.array([1, 2, 3, 5, 8, 13])
    fits = [SparsePCA(n_nonzero=int(k), standardize=True).fit(wine.data) for k in sizes]
    values = np.array([fit.explained_variance_[0] for fit in fits])
    return SimpleNamespace(
        n_nonzeros=sizes,
        values=values,
        ratio=values / values[-1],
        bounds=np.append(1.02 * values[:-1], np.nan),
        supports=[np.flatnonzero(fit.components_[0]) for fit in fits],
    )


@pytest.fixture(scope="session")
def nasty_names():
    return [NASTY, *(f"feature {i}" for i in range(1, 13))]
