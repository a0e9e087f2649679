"""Draw the pictures of ``README.md`` and of the first page of the documentation.

::

    python tools/make_pictures.py            # the report (needs chromium) and the path
    python tools/make_pictures.py path       # one of them

The pictures are made from data that comes with scikit-learn, so that everybody gets the same.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import matplotlib as mpl  # noqa: E402
from PIL import Image  # noqa: E402
from sklearn.datasets import load_digits, load_wine  # noqa: E402

import loadstone  # noqa: E402
from loadstone.plotting import plot_variance_path  # noqa: E402

FOLDER = ROOT / "docs" / "images"
#: Larger than this no picture may be: people read the first page on a phone.
MOST_BYTES = 150_000
#: Width and height of the browser window, in pixels.
WINDOW = (1200, 1130)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def draw_report() -> None:
    """Three components of wines, as the browser shows the top of their report."""
    X, labels = load_wine(return_X_y=True, as_frame=True)
    model = loadstone.SparsePCA(3, n_nonzero=4, standardize=True, certify="full").fit(X)
    report = loadstone.report(
        model, X, labels=load_wine().target_names[labels], title="What distinguishes wines"
    )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        report.save(page)
        photograph(page, FOLDER / "report.png")


def draw_path() -> None:
    """Variance against the number of pixels of digits, with what no component can exceed."""
    mpl.use("agg")
    X = load_digits().data
    # Pixels at the border are never inked.
    X = X[:, X.std(axis=0) > 0]
    path = loadstone.cardinality_path(X, standardize=False, certify="instant")
    ax = plot_variance_path(path, chosen=loadstone.suggest_cardinality(path).n_nonzero)
    ax.figure.set_size_inches(6.4, 3.4)
    ax.figure.savefig(FOLDER / "path.png", dpi=130, metadata={"Software": None})
    shrink(FOLDER / "path.png")


def photograph(page: Path, picture: Path) -> None:
    """Save what a browser shows of ``page``."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        msg = f"none of {', '.join(BROWSERS)} is installed; the picture of a report needs one"
        raise SystemExit(msg)
    subprocess.run(
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--hide-scrollbars",
            "--force-color-profile=srgb",
            "--virtual-time-budget=5000",
            f"--window-size={WINDOW[0]},{WINDOW[1]}",
            f"--screenshot={picture}",
            page.as_uri(),
        ],
        check=True,
        capture_output=True,
    )
    shrink(picture)


def shrink(picture: Path) -> None:
    """Keep 96 colours, which figures and text do not miss, and check the size."""
    with Image.open(picture) as image:
        few = image.convert("RGB").quantize(96, dither=Image.Dither.NONE)
    few.save(picture, optimize=True)
    size = picture.stat().st_size
    if size > MOST_BYTES:
        msg = f"{picture.name} has {size} bytes, more than the {MOST_BYTES} a first page may take"
        raise SystemExit(msg)
    print(f"{picture.relative_to(ROOT)}: {size // 1000} kB")


PICTURES = {"report": draw_report, "path": draw_path}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()
