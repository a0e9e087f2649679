"""The pages about the papers are what the results say."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Pages on which no decimal stands that was not generated, and what the paper itself prints: its
#: numbers, and those of its propositions.
GENERATED = {
    "baselines": set(),
    "em_pca": {"3.2"},
    "feature_selector": set(),
    "spannogram_pca": {".58", ".446", ".86", ".93"},
    "ns_pca": set(),
    "elastic_net_pca": set(),
    "sparse_noisy_pca": set(),
    "several_components": set(),
    "sparse_probabilistic_pca": set(),
}
#: Decimals that are parameters or formulas, not measurements.
NOT_MEASURED = re.compile(r"```.*?```|`[^`]*`|https?://\S+|\[[^\]]*\]\([^)]*\)", re.DOTALL)


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("make_papers", ROOT / "tools" / "make_papers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_what_the_results_say(tool):
    made = tool.pages()
    assert len(made) > 2
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path.name}: run python -m tools.make_papers"
        )


def test_claims_md_is_what_the_results_say(tool):
    from experiments.results import page

    for paper, found in tool.results().items():
        text = (tool.RESULTS / paper / "claims.md").read_text(encoding="utf-8")
        assert text == page(found["paper"], found["claims"])


def test_a_changed_result_changes_the_pages(tool, tmp_path, monkeypatch):
    paper, found = next(iter(tool.results().items()))
    found["claims"][0]["verdicts"] = ["not reproducible"]
    (tmp_path / paper).mkdir()
    (tmp_path / paper / "numbers.json").write_text(json.dumps(found))
    before = tool.paper_page(paper), tool.front_page()
    monkeypatch.setattr(tool, "RESULTS", tmp_path)
    assert tool.paper_page(paper) != before[0]
    assert tool.front_page() != before[1]


def test_marked_parts_are_filled_in(tool, monkeypatch):
    entry = {
        "printed": "p",
        "numbers": {"a b": 0.12345},
        "timings": {},
        "figures": ["x.png"],
        "tables": [{"head": ["k"], "rows": [[1]]}],
    }
    monkeypatch.setattr(tool, "entries", lambda: {"c.1": ("paper", entry)})
    text = "is <!-- number c.1; a b; .2f -->9<!-- end -->, <!-- number c.1; a b --><!-- end -->"
    assert re.sub("<!--.*?-->", "", tool.method_page(text)) == "is 0.12, 0.1235"
    table = tool.method_page("<!-- table c.1 -->old<!-- end -->")
    assert "| k |\n|---|\n| 1 |\n" in table
    assert "old" not in table
    figure = tool.method_page("<!-- figure c.1; 0 --><!-- end -->")
    assert "![p](../../experiments/results/paper/x.png)" in figure
    with pytest.raises(KeyError):
        tool.method_page("<!-- number c.2; a --><!-- end -->")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs" / "methods").glob("*.md")), ids=lambda p: p.stem
)
def test_no_line_begins_with_a_number_that_was_filled_in(path):
    """Markdown takes a line that begins with a comment for the end of the paragraph."""
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"^\s*<!-- number", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", GENERATED)
def test_no_decimal_is_written_by_hand(tool, name):
    text = (ROOT / "docs" / "methods" / f"{name}.md").read_text(encoding="utf-8")
    text = NOT_MEASURED.sub("", tool.MARKED.sub("", text))
    assert set(re.findall(r"(?<![\w.])\d*\.\d+\b", text)) == GENERATED[name]
