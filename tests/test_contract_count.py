"""Contract tests that silently find nothing to test would look green."""

import subprocess
import sys
from pathlib import Path

#: Raised whenever contracts grow; a fall means something is no longer discovered.
AT_LEAST = 3500


def test_contracts_are_collected():
    folder = Path(__file__).parent / "contracts"
    listing = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "--collect-only",
            "-q",
            "-p",
            "no:cacheprovider",
            str(folder),
        ],
        capture_output=True,
        text=True,
        cwd=folder.parents[1],
        check=True,
    ).stdout
    collected = sum("::" in line for line in listing.splitlines())
    assert collected >= AT_LEAST, f"only {collected} contract tests were collected"
