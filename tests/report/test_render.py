"""The page holds everything, escapes everything and asks for nothing."""

import html.parser
import json
import re
from importlib import import_module

import numpy as np
import pytest

import loadstone
from loadstone.files.errors import ExistingFileError, UnwritableFileError

NASTY = "<script>window.hit=1</script>\"'&</script><!--"


class Reader(html.parser.HTMLParser):
    """Collects tags, ids and addresses."""

    def __init__(self):
        super().__init__()
        self.tags, self.ids, self.addresses, self.inline = [], [], [], []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        if "id" in found:
            self.ids.append(found["id"])
        self.addresses += [found[k] for k in ("src", "href", "srcset", "action") if k in found]
        self.inline += [k for k in found if k.startswith("on")]


@pytest.fixture(scope="module")
def page(model, wine, path, nasty_names):
    labels = [NASTY if t == 0 else str(t) for t in wine.target]
    return loadstone.report(
        model, wine.data, labels, nasty_names, path, title=NASTY, notes=[NASTY]
    ).html


def test_names_from_the_data_stay_text(page):
    assert "<script>window.hit" not in page
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert "<!--" not in page
    assert "&lt;script&gt;window.hit=1&lt;/script&gt;" in page


def test_the_page_needs_nothing_else(page):
    reader = Reader()
    reader.feed(page)
    assert set(reader.addresses) <= {"#main", "data:,"}
    assert not reader.inline
    assert {"link", "script", "style"} >= {
        t for t in reader.tags if t in {"link", "script", "style"}
    }
    assert len(reader.ids) == len(set(reader.ids))
    assert "default-src 'none'" in page
    assert not re.search(r"@import|url\(", page)


#: What people without one kind of cone see (Machado, Oliveira & Fernandes 2009), in linear light.
VISIONS = {
    "all cones": np.eye(3),
    "no red": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "no green": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "no blue": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}


def perceived(colours, vision):
    """Oklab coordinates of colours (Ottosson 2020) as somebody sees them."""
    share = np.array([[int(c[i : i + 2], 16) / 255 for i in (0, 2, 4)] for c in colours])
    light = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    light = np.clip(light @ np.transpose(vision), 0, 1)
    cones = light @ np.transpose(
        [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]
    )
    return np.cbrt(cones) @ np.transpose(
        [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
    )


@pytest.mark.parametrize("vision", VISIONS)
def test_colours_differ_for_every_eye(page, vision):
    themes = [m.split(";") for m in re.findall(r"--c0: #[^}]*", page)]
    palettes = [re.findall(r"--c\d: #(\w{6})", ";".join(theme)) for theme in themes]
    assert [len(palette) for palette in palettes] == [8, 8, 8]
    for palette in palettes:
        seen = perceived(palette, VISIONS[vision])
        apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1)
        assert apart[np.triu_indices(8, 1)].min() > 0.07
        assert apart[:4, :4][np.triu_indices(4, 1)].min() > 0.1


def test_scripts_never_parse_text_as_markup(page):
    script = page[page.rindex("<script>") :]
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert forbidden not in script


def test_the_embedded_data_is_the_summary(model, wine, nasty_names):
    report = loadstone.report(model, wine.data, feature_names=nasty_names)
    start = report.html.index('id="data">') + len('id="data">')
    embedded = report.html[start : report.html.index("</script>", start)]
    assert json.loads(embedded)["summary"] == report.summary


def test_a_report_without_data_or_with_one_component(wine):
    model = loadstone.SparsePCA(1, n_nonzero=2).fit(wine.data)
    page = loadstone.report(model).html
    start = page.index('id="data">') + len('id="data">')
    embedded = json.loads(page[start : page.index("</script>", start)])
    assert embedded["summary"]["scores"] is embedded["summary"]["path"] is None
    assert embedded["distances"] is embedded["features"] is embedded["comparison"] is None
    assert "Features in common" not in page


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"image_shape": (3, 5)}, r"image_shape=\(3, 5\) does not hold 13 features; give height"),
        ({"image_shape": 13}, "image_shape=13 does not hold 13 features"),
        ({"image_shape": (4, 4)}, r"is the number of features, such as \(1, 13\)"),
        ({"feature_axis": [1, 2]}, "feature_axis has 2 entries for 13 features"),
        ({"feature_axis": [*"abcdefghijklm"]}, "some that are no numbers; give one number"),
    ],
)
def test_shapes_and_axes_that_do_not_fit_are_refused(model, asked, sentence):
    with pytest.raises(ValueError, match=sentence):
        loadstone.report(model, **asked)


@pytest.mark.parametrize(("n_nonzero", "shared"), [(2, False), (6, True)])
def test_features_in_common_are_shown_where_there_are_any(wine, n_nonzero, shared):
    model = loadstone.SparsePCA(3, n_nonzero=n_nonzero, standardize=True).fit(wine.data)
    report = loadstone.report(model)
    counts = np.array(report.summary["overlap"])
    assert bool(np.triu(counts, 1).any()) == shared
    assert ("Features in common" in report.html) == shared


def test_save_is_all_or_nothing(model, wine, tmp_path, monkeypatch):
    report = loadstone.report(model, wine.data)
    path = report.save(tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == report.html
    with pytest.raises(ExistingFileError, match="exists already"):
        report.save(path, overwrite=False)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("loadstone.files.atomic._store_durably", full)
    with pytest.raises(UnwritableFileError, match="No space left"):
        report.save(tmp_path / "other.html")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_notebooks_show_the_page_in_a_frame(model, wine):
    report = loadstone.report(model, wine.data)
    shown = report._repr_html_()
    assert shown.startswith("<iframe sandbox=")
    assert "<script" not in shown
    assert "3 components" in repr(report)


def test_the_module_can_be_called_however_it_was_imported(model):
    import loadstone.report
    from loadstone.report import build_report

    assert loadstone.report(model).summary == build_report(model).summary


def test_without_jinja_one_sentence_says_what_to_install(model, monkeypatch):
    import sys

    render = import_module("loadstone.report.render")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    render._environment.cache_clear()
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'loadstone\[report\]'"):
        _ = loadstone.report(model).html
    monkeypatch.undo()
    render._environment.cache_clear()
