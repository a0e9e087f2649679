"""Damaged files through whole commands; ``damaged_files.py`` tries hundreds of each kind."""

import subprocess
import sys
from pathlib import Path

import pytest


def test_damaged_and_forged_files_end_in_an_answer_or_a_sentence():
    pytest.importorskip("pyarrow", reason="Parquet files need pyarrow to be written")
    pytest.importorskip("anndata", reason="H5AD files need anndata to be written")
    script = Path(__file__).with_name("damaged_files.py")
    done = subprocess.run(
        [sys.executable, str(script), "4", "2"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout.count("flips") == 22
