"""Quick runs of all papers: every verdict they can decide is the expected one.

Not among the default tests, because it takes minutes: ``python -m pytest experiments -m papers``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.papers import claims_of, papers
from experiments.run import run_claims
from loadstone.datasets.fetch import DataNotHereError

pytestmark = pytest.mark.papers


@pytest.mark.parametrize("paper", papers())
def test_quick_verdicts_are_the_expected_ones(paper: str, tmp_path: Path) -> None:
    """One run for each paper, in this process."""
    ids = [name for name, claim in claims_of(paper).items() if claim.quick]
    try:
        found = {entry["id"]: entry for entry in run_claims(paper, ids, tmp_path, quick=True)}
    except DataNotHereError as error:
        pytest.skip(f"the data of the papers is not here: {error}")
    assert set(found) == set(ids)
    assert {name: e["verdicts"] for name, e in found.items()} == {
        name: e["expected"] for name, e in found.items()
    }
