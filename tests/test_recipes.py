"""The recipes of the documentation, followed literally on a copy of the package.

``docs/recipes`` holds the files that ``docs/add_an_algorithm.md`` shows. Added to the package,
they must be found by everything that lists estimators and solvers, with nothing else edited.
A constraint is a new file and its name in ``constraints/__init__.py``.

Both recipes are followed in one copy: a process that imports everything takes longer than what
it is asked, so that there are four of them and no more.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RECIPES = DOCS / "recipes"
COPIED = ("src/loadstone", "docs", "tests", "tools", "changes")
#: What was compiled comes along, as it would for somebody who edits files in place.
LEFT_OUT = shutil.ignore_patterns(
    "*.pyc.*", "*.tmp.*", "gallery", "generated", "_build", "_made_*", "papers", "recipes"
)


class Copy:
    """A copy of the project."""

    def __init__(self, root):
        for name in COPIED:
            shutil.copytree(ROOT / name, root / name, ignore=LEFT_OUT)
        for name in ("README.md", "pyproject.toml"):
            shutil.copy(ROOT / name, root / name)
        self.root = root

    def follow(self, recipe):
        """Add the files of a recipe; which ones are new, and which are changed."""
        before = self._files()
        shutil.copytree(RECIPES / recipe, self.root, dirs_exist_ok=True)
        after = self._files()
        changed = [name for name in before if after[name] != before[name]]
        return sorted(set(after) - set(before)), changed

    def _files(self):
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }

    def run(self, *arguments):
        folders = [self.root / "src", self.root / "tests", self.root / "docs" / "_ext"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            cwd=self.root,
            env=environment,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def ask(self, code):
        """What a script prints last, as JSON."""
        return json.loads(self.run("-W", "error", "-c", code).splitlines()[-1])


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return Copy(tmp_path_factory.mktemp("recipes"))


@pytest.fixture(scope="module")
def algorithm(copy):
    return copy.follow("new_algorithm")


@pytest.fixture(scope="module")
def constraint(copy, algorithm):
    """The second file of the recipe is edited: an import, and the name in two lists."""
    followed = copy.follow("new_constraint")
    package = copy.root / "src/loadstone/constraints/__init__.py"
    text = package.read_text(encoding="utf-8")
    for before, after in (
        ("#: Every kind", "from loadstone.constraints.single import Single\n\n#: Every kind"),
        ("] = (", "] = (Single, "),
        ("__all__ = [\n", '__all__ = [\n    "Single",\n'),
    ):
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    package.write_text(text, encoding="utf-8")
    return followed


@pytest.fixture(scope="module")
def told(copy, algorithm, constraint):
    """What the package says of both, asked by one process."""
    return copy.ask("""
import dataclasses, json, numpy as np, loadstone, registry
from pathlib import Path
from loadstone.constraints import Single
from loadstone.estimators.attributes import COMPONENTS, INPUT
from registry_tables import api_list, solver_table, write_all
X = np.random.default_rng(0).standard_normal((30, 6))
model = loadstone.ToyPCA(2, n_nonzero=3, n_starts=2).fit(X * [3, 1, 1, 2, 1, 1])
again = loadstone.load_model(loadstone.save_model(model, "toy.npz"))
single = loadstone.ThresholdedPCA(constraint=Single()).fit(X * [1, 1, 3, 1, 1, 1])
write_all(Path("docs"))
print(json.dumps({
    "home": loadstone.__file__,
    "algorithm": {
        "public": "ToyPCA" in loadstone.__all__ and "ToyPCA" in dir(loadstone),
        "cardinality": model.cardinality_.tolist(),
        "class": type(again).__name__,
        "parameters": again.get_params() == model.get_params(),
        "same": bool((again.components_ == model.components_).all()),
    },
    "constraint": {
        "support": single.support_.nonzero()[1].tolist(),
        "examples": sum(type(c) is Single for c in registry.constraints(8)),
        "class": Single in registry.constraint_classes(),
    },
    "names": [field.name for field in dataclasses.fields(loadstone.ToyPCA)],
    "shared": [*COMPONENTS, *INPUT],
    "doc": loadstone.ToyPCA.__doc__,
    "found": [[cls.__name__ for cls in found] for found in (
        registry.estimators(), registry.sequential_estimators(), registry.solvers())],
    "made": {p.stem: p.read_text() for p in Path("docs").glob("_made_*.md")},
    "tables": [api_list(), solver_table()],
}))""")


@pytest.fixture(scope="module")
def passed(copy, told):
    """Tests of the copy that pass, once the tools have brought what is committed up to date."""
    copy.run(
        "-c",
        """
import runpy
for name in ("stub", "readme"):
    runpy.run_path(f"tools/make_{name}.py", run_name="__main__")""",
    )
    tests = ["contracts/test_constraint_contract", "contracts/test_solver_contract"]
    tests += ["test_architecture", "test_docs", "test_documented_attributes", "test_stub"]
    files = [f"tests/{name}.py" for name in tests] + ["src/loadstone/estimators/toy_pca.py"]
    wanted = "toy or single or the_api_page or has_a_page_and or methods_belongs or readme_is"
    said = copy.run(
        "-m", "pytest", "-v", "-p", "no:cacheprovider", "-k", f"{wanted} or stub_is_up", *files
    )
    return [line for line in said.splitlines() if " PASSED" in line]


def test_an_algorithm_is_four_new_files(algorithm):
    added, changed = algorithm
    assert changed == []
    assert added == [
        "changes/+toy.feature.md",
        "docs/methods/toy_pca.md",
        "src/loadstone/estimators/toy_pca.py",
        "src/loadstone/solvers/toy.py",
    ]
    page = (DOCS / "add_an_algorithm.md").read_text(encoding="utf-8")
    for name in added:
        assert f"{{literalinclude}} recipes/new_algorithm/{name}" in page
        assert f"`{name}`" in page


def test_the_class_is_public_and_fits(copy, told):
    assert Path(told["home"]).is_relative_to(copy.root)
    assert told["algorithm"] == {
        "public": True,
        "cardinality": [3, 3],
        "class": "ToyPCA",
        "parameters": True,
        "same": True,
    }


def test_its_docstring_has_all_parameters_and_attributes(told):
    assert {"n_components", "n_nonzero", "deflation", "route", "n_starts"} <= set(told["names"])
    for name in told["names"] + told["shared"]:
        assert re.search(rf"^    {name} : \S", told["doc"], flags=re.MULTILINE), name


def test_the_command_line_takes_it(copy, algorithm, constraint, tmp_path):
    X = np.random.default_rng(1).standard_normal((20, 5))
    table = tmp_path / "table.csv"
    np.savetxt(table, X, delimiter=",", header="a,b,c,d,e", comments="")
    arguments = ["fit", str(table), "--method", "toy", "--components", "2", "--nonzero", "2"]
    arguments += ["--no-report", "--output", str(tmp_path / "out"), "--json"]
    command = """
import json, sys
from typer.testing import CliRunner
from loadstone.commands.app import app
done = [CliRunner().invoke(app, a) for a in (sys.argv[1:], ["fit", "--help"])]
print(json.dumps([[one.exit_code, one.stdout] for one in done]))"""
    (code, said), (helped, help_text) = json.loads(copy.run("-c", command, *arguments))
    assert code == helped == 0
    assert [component["n_nonzero"] for component in json.loads(said)["components"]] == [2, 2]
    assert (tmp_path / "out" / "model.npz").is_file()
    assert "toy" in help_text


def test_contract_tests_find_the_algorithm_and_pass(told, passed):
    estimators, sequential, solvers = told["found"]
    assert "ToyPCA" in estimators
    assert "ToyPCA" in sequential
    assert "Toy" in solvers
    about = [line for line in passed if "toy" in line.lower()]
    assert len(about) > 60
    for name in ("solver_contract", "architecture", "documented_attributes", "toy_pca.py"):
        assert any(name in line for line in about), name


def test_the_documentation_lists_it(told):
    made = told["made"]
    assert "\n   loadstone.ToyPCA\n" in made["_made_api"]
    wish = "| to see how an algorithm is added | [`ToyPCA`](methods/toy_pca.md) |"
    assert wish in made["_made_choose"]
    assert "| `toy` | [`ToyPCA`](methods/toy_pca.md) |" in made["_made_command_line"]
    assert "[`ToyPCA`](toy_pca.md)" in made["_made_methods"]
    assert "\n| `Toy` | yes | " in made["_made_solvers"]


def test_tools_bring_what_is_committed_up_to_date(copy, passed):
    stub = (copy.root / "src/loadstone/__init__.pyi").read_text(encoding="utf-8")
    assert "from loadstone.estimators.toy_pca import ToyPCA as ToyPCA\n" in stub
    readme = (copy.root / "README.md").read_text(encoding="utf-8")
    assert "[`ToyPCA`](docs/methods/toy_pca.md)" in readme
    for name in ("the_api_page", "has_a_page_and", "methods_belongs", "readme_is", "stub_is_up"):
        assert any(name in line for line in passed), name


def test_a_constraint_is_one_new_file_and_its_name(constraint, told):
    added, changed = constraint
    assert changed == []
    assert added == ["src/loadstone/constraints/single.py"]
    assert told["constraint"] == {"support": [2], "examples": 2, "class": True}


def test_tables_and_contract_tests_find_the_constraint(told, passed):
    api, solvers = told["tables"]
    assert "\n   loadstone.constraints.Single\n" in api
    assert "| `Single` |" in solvers.splitlines()[0]
    about = [line for line in passed if "single" in line.lower()]
    assert len(about) > 30
    for name in ("constraint_contract", "solver_contract", "architecture"):
        assert any(name in line for line in about), name
