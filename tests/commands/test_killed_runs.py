"""A kill at any moment leaves the old results or the new ones; many more by the script itself."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not hasattr(__import__("os"), "fork"), reason="this system has no fork"
)


def test_killed_commands_leave_no_mixture():
    script = Path(__file__).with_name("killed_runs.py")
    done = subprocess.run(
        [sys.executable, str(script), "4"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout
