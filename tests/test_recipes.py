"""The recipes of the documentation, followed literally on a copy of the package.

``docs/recipes`` holds the files that ``docs/add_an_algorithm.md`` shows. Added to the package,
they must be found by everything that lists estimators and solvers, with nothing else edited.
A constraint is a new file and its name in ``constraints/__init__.py``.
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
LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", "gallery", "generated", "_build", "_made_*", "papers", "recipes"
)


class Copy:
    """A copy of the project with the files of a recipe added."""

    def __init__(self, root, recipe):
        for name in COPIED:
            shutil.copytree(ROOT / name, root / name, ignore=LEFT_OUT)
        for name in ("README.md", "pyproject.toml"):
            shutil.copy(ROOT / name, root / name)
        self.root = root
        before = self._files()
        shutil.copytree(recipe, root, dirs_exist_ok=True)
        after = self._files()
        self.added = sorted(set(after) - set(before))
        self.changed = [name for name in before if after[name] != before[name]]

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
def algorithm(tmp_path_factory):
    return Copy(tmp_path_factory.mktemp("algorithm"), RECIPES / "new_algorithm")


def test_the_recipe_is_four_new_files(algorithm):
    assert algorithm.changed == []
    assert algorithm.added == [
        "changes/+toy.feature.md",
        "docs/methods/toy_pca.md",
        "src/loadstone/estimators/toy_pca.py",
        "src/loadstone/solvers/toy.py",
    ]
    page = (DOCS / "add_an_algorithm.md").read_text(encoding="utf-8")
    for name in algorithm.added:
        assert f"{{literalinclude}} recipes/new_algorithm/{name}" in page
        assert f"`{name}`" in page


def test_the_class_is_public_and_fits(algorithm, tmp_path):
    answer = algorithm.ask(f"""
import json, numpy as np, loadstone
X = np.random.default_rng(0).standard_normal((30, 6)) * [3, 1, 1, 2, 1, 1]
model = loadstone.ToyPCA(2, n_nonzero=3, n_starts=2).fit(X)
again = loadstone.load_model(loadstone.save_model(model, {str(tmp_path / "toy.npz")!r}))
print(json.dumps({{
    "home": loadstone.__file__,
    "public": "ToyPCA" in loadstone.__all__ and "ToyPCA" in dir(loadstone),
    "cardinality": model.cardinality_.tolist(),
    "class": type(again).__name__,
    "parameters": again.get_params() == model.get_params(),
    "same": bool((again.components_ == model.components_).all()),
}}))""")
    assert Path(answer.pop("home")).is_relative_to(algorithm.root)
    assert answer == {
        "public": True,
        "cardinality": [3, 3],
        "class": "ToyPCA",
        "parameters": True,
        "same": True,
    }


def test_its_docstring_has_all_parameters_and_attributes(algorithm):
    answer = algorithm.ask("""
import dataclasses, json, loadstone
from loadstone.estimators.attributes import COMPONENTS, INPUT
doc = loadstone.ToyPCA.__doc__
names = [field.name for field in dataclasses.fields(loadstone.ToyPCA)]
print(json.dumps({"names": names, "shared": [*COMPONENTS, *INPUT], "doc": doc}))""")
    assert {"n_components", "n_nonzero", "deflation", "route", "n_starts"} <= set(answer["names"])
    for name in answer["names"] + answer["shared"]:
        assert re.search(rf"^    {name} : \S", answer["doc"], flags=re.MULTILINE), name


def test_the_command_line_takes_it(algorithm, tmp_path):
    X = np.random.default_rng(1).standard_normal((20, 5))
    table = tmp_path / "table.csv"
    np.savetxt(table, X, delimiter=",", header="a,b,c,d,e", comments="")
    command = "from loadstone.cli import main; main()"
    arguments = ["fit", str(table), "--method", "toy", "--components", "2", "--nonzero", "2"]
    arguments += ["--no-report", "--output", str(tmp_path / "out"), "--json"]
    summary = json.loads(algorithm.run("-c", command, *arguments))
    assert [component["n_nonzero"] for component in summary["components"]] == [2, 2]
    assert (tmp_path / "out" / "model.npz").is_file()
    assert "toy" in algorithm.run("-c", command, "fit", "--help")


def test_contract_tests_find_it_and_pass(algorithm):
    answer = algorithm.ask("""
import json, registry
print(json.dumps([[cls.__name__ for cls in found] for found in (
    registry.estimators(), registry.sequential_estimators(), registry.solvers())]))""")
    estimators, sequential, solvers = answer
    assert "ToyPCA" in estimators
    assert "ToyPCA" in sequential
    assert "Toy" in solvers
    tests = ["tests/contracts/test_solver_contract.py", "tests/test_architecture.py"]
    tests += ["tests/test_documented_attributes.py", "src/loadstone/estimators/toy_pca.py"]
    said = algorithm.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "toy", *tests)
    assert int(re.search(r"(\d+) passed", said).group(1)) > 60


def test_the_documentation_lists_it(algorithm):
    made = algorithm.ask("""
import json
from pathlib import Path
from registry_tables import write_all
write_all(Path("docs"))
print(json.dumps({p.stem: p.read_text() for p in Path("docs").glob("_made_*.md")}))""")
    assert "\n   loadstone.ToyPCA\n" in made["_made_api"]
    wish = "| to see how an algorithm is added | [`ToyPCA`](methods/toy_pca.md) |"
    assert wish in made["_made_choose"]
    assert "| `toy` | [`ToyPCA`](methods/toy_pca.md) |" in made["_made_command_line"]
    assert "[`ToyPCA`](toy_pca.md)" in made["_made_methods"]
    assert "| `Toy` |" in made["_made_solvers"].splitlines()[0]


def test_tools_bring_what_is_committed_up_to_date(algorithm):
    algorithm.run("tools/make_stub.py")
    algorithm.run("tools/make_readme.py")
    stub = (algorithm.root / "src/loadstone/__init__.pyi").read_text(encoding="utf-8")
    assert "from loadstone.estimators.toy_pca import ToyPCA as ToyPCA\n" in stub
    readme = (algorithm.root / "README.md").read_text(encoding="utf-8")
    assert "[`ToyPCA`](docs/methods/toy_pca.md)" in readme
    tests = ["tests/test_docs.py", "tests/test_stub.py", "-k"]
    tests += ["the_api_page or has_a_page_and or methods_belongs or readme_is or stub_is_up"]
    algorithm.run("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)


@pytest.fixture(scope="module")
def constraint(tmp_path_factory):
    """The second file of the recipe is edited: an import, and the name in two lists."""
    copy = Copy(tmp_path_factory.mktemp("constraint"), RECIPES / "new_constraint")
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
    return copy


def test_a_constraint_is_one_new_file_and_its_name(constraint):
    assert constraint.added == ["src/loadstone/constraints/single.py"]
    answer = constraint.ask("""
import json, numpy as np, loadstone, registry
from loadstone.constraints import Single
X = np.random.default_rng(0).standard_normal((30, 6)) * [1, 1, 3, 1, 1, 1]
model = loadstone.ThresholdedPCA(constraint=Single()).fit(X)
print(json.dumps({
    "support": model.support_.nonzero()[1].tolist(),
    "examples": sum(type(c) is Single for c in registry.constraints(8)),
    "class": Single in registry.constraint_classes(),
}))""")
    assert answer == {"support": [2], "examples": 2, "class": True}


def test_tables_and_contract_tests_find_the_constraint(constraint):
    made = constraint.ask("""
import json
from registry_tables import api_list, solver_table
print(json.dumps([api_list(), solver_table()]))""")
    assert "\n   loadstone.constraints.Single\n" in made[0]
    assert "\n| `Single` | " in made[1]
    tests = ["tests/contracts/test_constraint_contract.py"]
    tests += ["tests/contracts/test_solver_contract.py", "tests/test_architecture.py"]
    said = constraint.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "single", *tests)
    assert int(re.search(r"(\d+) passed", said).group(1)) > 30
