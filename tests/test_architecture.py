"""The rules of the house, checked."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from loadstone.registry import entries

SRC = Path(__file__).resolve().parents[1] / "src" / "loadstone"
FILES = sorted(SRC.rglob("*.py"))
#: From the top down; a folder may import only what stands after it.
LAYERS = [
    "cli",
    "commands",
    "anndata",
    "report",
    "plotting",
    "selection",
    "estimators",
    "extraction",
    "solvers",
    "certificates",
    "metrics",
    "constraints",
    "covariance",
    "datasets",
    "files",
    "notebook",
    "loadings",
    "registry",
    "blas_threads",
    "_sklearn_compat",
    "_version",
]
MAX_LINES = 350


def module_of(path):
    return path.relative_to(SRC).with_suffix("").parts[0]


def imports_at(tree):
    """Modules of this package imported anywhere in a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("loadstone"):
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("loadstone"))


def names_imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[0] for a in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_imports_point_downwards(path):
    here = module_of(path)
    if here in {"__init__", "__main__"}:
        return
    for target in imports_at(ast.parse(path.read_text())):
        parts = target.split(".")
        if len(parts) < 2:
            continue
        assert LAYERS.index(here) <= LAYERS.index(parts[1]), (
            f"{path.name} imports upwards: {target}"
        )


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_numba_lives_in_kernels_only(path):
    if path.stem.endswith("_kernels"):
        return
    assert "numba" not in set(names_imported(ast.parse(path.read_text())))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_modules_stay_small_and_well_named(path):
    assert len(path.read_text().splitlines()) <= MAX_LINES
    assert path.stem not in {"utils", "helpers", "common", "misc"}
    assert ast.get_docstring(ast.parse(path.read_text()))


def functions_of(tree):
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def n_lines(function):
    """Lines of a function without its docstring."""
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    doc = first.end_lineno - first.lineno + 1 if documented else 0
    return function.end_lineno - function.lineno + 1 - doc


#: The options of a command are its signature; what it does is short.
LONG_SIGNATURES = {"commands/app.py"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_functions_stay_small(path):
    if str(path.relative_to(SRC)) in LONG_SIGNATURES:
        return
    for function in functions_of(ast.parse(path.read_text())):
        assert n_lines(function) <= 50, f"{function.name} is too long"
        if module_of(path) == "estimators":
            assert function.end_lineno - function.lineno < 50, f"{function.name} is too long"


def classes_below_estimators():
    """What each class below the estimators is made of, by its name."""
    below = LAYERS[LAYERS.index("estimators") + 1 :]
    return {
        node.name: {ast.unparse(base).partition("[")[0] for base in node.bases}
        for path in FILES
        if module_of(path) in below
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    }


def test_nothing_is_inherited_below_the_estimators():
    found = classes_below_estimators()
    assert len(found) > 200
    shared = {name for name, bases in found.items() if "Protocol" in bases} | {"ByValue"}
    for name, bases in found.items():
        assert name.endswith("Error") or bases & found.keys() <= shared, f"{name}({bases})"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_nobody_guesses_what_self_has_or_imports_the_root(path):
    for node in ast.walk(ast.parse(path.read_text())):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if called == "hasattr" or (called == "getattr" and len(node.args) == 3):
            assert ast.unparse(node.args[0]) != "self", f"line {node.lineno}"
        if isinstance(node, ast.Import):
            assert "loadstone" not in {alias.name for alias in node.names}, f"line {node.lineno}"
        if isinstance(node, ast.ImportFrom):
            assert node.module != "loadstone", f"line {node.lineno}"


@pytest.mark.parametrize("entry", entries(), ids=lambda e: e.name)
def test_estimators_are_at_most_three_classes_deep(entry):
    classes = [c for c in entry.load().__mro__ if c.__module__.startswith("loadstone")]
    assert len([c for c in classes if not c.__name__.endswith("Mixin")]) <= 3


def test_importing_the_package_is_light():
    heavy = ["numba", "pandas", "matplotlib", "dask", "sklearn", "scipy", "typer", "rich"]
    code = f"import sys, loadstone; print([m for m in {heavy} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_help_is_light():
    heavy = ["numba", "pandas", "matplotlib", "dask", "sklearn", "scipy", "numpy"]
    code = (
        "import sys; from loadstone.commands.app import app\n"
        "app(['fit', '--help'], standalone_mode=False)\n"
        f"print([m for m in {heavy} if m in sys.modules], file=sys.stderr)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "--nonnegative" in found.stdout
    assert found.stderr.strip() == "[]"


def test_an_estimator_does_not_need_optional_packages():
    # scikit-learn itself imports pandas and rich where they are installed.
    heavy = ["matplotlib", "dask", "typer", "numba"]
    code = (
        "import sys, numpy as np; from loadstone import SparsePCA\n"
        "SparsePCA(n_nonzero=2).fit(np.random.default_rng(0).standard_normal((9, 5)))\n"
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_every_public_name_resolves():
    import loadstone

    for name in loadstone.__all__:
        assert getattr(loadstone, name) is not None
    with pytest.raises(AttributeError, match="has no attribute"):
        _ = loadstone.nothing_of_the_kind
