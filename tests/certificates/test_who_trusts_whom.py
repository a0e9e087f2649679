"""Checking a proof needs no search: the promise of the folder's first page."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import loadstone.certificates as certificates

FOLDER = Path(certificates.__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
CHECKING = [
    name
    for name in NAMES
    if name.startswith(("bound_", "certificate", "problem", "proof_", "joint_"))
    and not name.startswith(("joint_search", "joint_prove"))
]


@pytest.mark.parametrize("name", CHECKING)
def test_what_checks_does_not_import_what_searches(name):
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    searching = (".search_", ".joint_search")
    assert not [module for module in imported if module and any(s in module for s in searching)]


def test_the_first_page_names_every_file():
    page = certificates.__doc__
    for name in NAMES:
        if name != "search_dual_kernels":
            assert f"``{name}``" in page, name


def test_a_replay_loads_no_search_and_no_optimiser():
    # The folder's first page imports prove; the checking files by themselves do not.
    code = (
        "import sys, types; import loadstone\n"
        "package = types.ModuleType('loadstone.certificates')\n"
        f"package.__path__ = [{str(FOLDER)!r}]\n"
        "sys.modules['loadstone.certificates'] = package\n"
        "import loadstone.certificates.certificate, loadstone.certificates.joint_file\n"
        "import loadstone.certificates.joint_certificate\n"
        "print([m for m in sys.modules if 'search_' in m or m == 'numba'])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
