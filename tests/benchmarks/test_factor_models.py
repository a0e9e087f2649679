"""The tables of the factor models are what was measured."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location(
        "factor_models", ROOT / "benchmarks" / "factor_models.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "name",
    [
        "real_data.md",
        "known_truth.md",
        "imputation.md",
        "imputation_over_truth.md",
        "many_components.md",
        "inclusion.md",
    ],
)
def test_tables_come_from_the_results(benchmark, name):
    rows = benchmark.rows_of(ROOT / "benchmarks" / "factor_models.jsonl")
    made = benchmark.TABLES[name](rows)
    assert made.count("\n") > 3
    assert (ROOT / "docs" / "measured" / name).read_text() == made
