"""The files around the code agree with each other and with the code."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import loadstone
from without_optional import OPTIONAL, excused, missing_package

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LINTERS = {"ruff check", "ruff format", "mypy", "codespell"}
PAPERS = {
    ("Sigg", "Buhmann"): (2008, "EMPCA"),
    ("Asteris", "Papailiopoulos", "Dimakis"): (2014, "SpannogramPCA"),
    ("Guan", "Dy"): (2009, "SparseProbabilisticPCA"),
    ("Ulfarsson", "Solo"): (None, "SparseNoisyPCA"),
    ("Zass", "Shashua"): (2006, "NSPCA"),
}


def yaml_of(name):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: pip install pyyaml")
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def linter_of(command):
    """The linter a command line starts, without its options and file names."""
    words = [Path(word).name for word in command.split() if not word.startswith("-")]
    return " ".join(words[:2]) if words[0] == "ruff" else words[0]


def noxfile():
    return ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))


def test_the_five_papers_are_cited():
    citation = yaml_of("CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == loadstone.__version__
    assert citation["license"] == PROJECT["project"]["license"]
    found = {
        tuple(author["family-names"] for author in paper["authors"]): paper
        for paper in citation["references"]
    }
    assert found.keys() == PAPERS.keys()
    for authors, (year, estimator) in PAPERS.items():
        paper = found[authors]
        assert paper.get("year") == year
        assert paper["notes"] == estimator
        # The estimator cites the same paper.
        described = " ".join(getattr(loadstone, estimator).__doc__.lower().split())
        assert " ".join(paper["title"].lower().split()) in described


def test_hooks_integration_and_nox_run_the_same_linters():
    hooks = yaml_of(".pre-commit-config.yaml")["repos"]
    assert [(repo["repo"], {h["language"] for h in repo["hooks"]}) for repo in hooks] == [
        ("local", {"system"})
    ]
    by_hooks = {linter_of(hook["entry"]) for repo in hooks for hook in repo["hooks"]}
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    by_integration = {
        linter_of(line)
        for line in re.findall(r"^\.venv/bin/(?!python)(.+)$", script, flags=re.MULTILINE)
    }
    lint = next(node for node in noxfile().body if getattr(node, "name", None) == "lint")
    by_nox = {
        linter_of(" ".join(argument.value for argument in call.args))
        for call in ast.walk(lint)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "session.run"
    }
    assert by_hooks == by_integration == by_nox == LINTERS


def test_the_integration_stops_at_the_first_error():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "\nset -euo pipefail\n" in script
    linters = [line for line in script.splitlines() if line.startswith(".venv/bin/")]
    assert linters
    for line in linters:
        assert not re.search(r"\|\||;|&\s*$", line), line


def test_the_versions_of_python_agree():
    named = [
        found[1]
        for classifier in PROJECT["project"]["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", classifier))
    ]
    assigned = {
        ast.unparse(node.targets[0]): node.value
        for node in noxfile().body
        if isinstance(node, ast.Assign)
    }
    assert named == ast.literal_eval(assigned["PYTHONS"])
    workflow = yaml_of(".github/workflows/ci.yml")["jobs"]["run"]
    assert named == workflow["strategy"]["matrix"]["python"]
    assert workflow["steps"][-1] == {"run": "bash .ci/run"}
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"
    assert PROJECT["tool"]["mypy"]["python_version"] == named[0]


def test_every_file_of_a_hand_made_list_is_there():
    for listed in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]:
        assert (ROOT / listed).exists(), listed
    for page in (ROOT / "CONTRIBUTING.md", ROOT / "README.md"):
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{page.name} points to {target}"


def reasons_of(tree):
    """Every skip in a file: its line, and its reason where one is written down."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called in {"pytest.skip", "pytest.xfail"}:
            yield node.lineno, node.args[0] if node.args else None
        elif called in {
            "pytest.importorskip",
            "pytest.mark.skip",
            "pytest.mark.skipif",
            "pytest.mark.xfail",
        }:
            named = [keyword.value for keyword in node.keywords if keyword.arg == "reason"]
            yield node.lineno, named[0] if named else None


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "tests").rglob("*.py")),
    ids=lambda path: path.relative_to(ROOT / "tests").as_posix(),
)
def test_every_skip_explains_itself(path):
    source = path.read_text(encoding="utf-8")
    assert not re.search(r"^\s*@pytest\.mark\.(skip|xfail)\s*$", source, flags=re.MULTILINE)
    for line, reason in reasons_of(ast.parse(source)):
        assert reason is not None, f"{path.name}:{line} skips without a reason"
        assert len(ast.unparse(reason).split()) >= 3, f"{path.name}:{line} is not a sentence"


def test_a_skip_without_a_sentence_is_found():
    code = "pytest.importorskip('dask')\npytest.skip('no')\npytest.skip('data is missing here')"
    reasons = [reason and ast.unparse(reason) for _, reason in reasons_of(ast.parse(code))]
    assert reasons == [None, "'no'", "'data is missing here'"]


def test_optional_packages_are_those_of_the_extras():
    modules = {"pyyaml": "yaml", "dask[array]": "dask", "python-flint": "flint"}
    always = {"hypothesis", "pytest", "pytest-xdist"}
    extras = PROJECT["project"]["optional-dependencies"]
    brought = {
        re.split(r"[><=]", requirement)[0]
        for extra in ("all", "anndata", "cli", "dask", "report", "test")
        for requirement in extras[extra]
        if not requirement.startswith("loadstone[")
    }
    assert {modules.get(name, name) for name in brought - always} == OPTIONAL


@pytest.mark.parametrize(
    ("sentence", "package"),
    [
        ("No module named 'pandas'", "pandas"),
        ("No module named 'dask.array'", "dask"),
        ("to_frame needs pandas; install it with: pip install pandas", "pandas"),
        ("load_wine with as_frame=True requires pandas.", "pandas"),
        ("No module named 'loadstone.nothing'", None),
        ("No module named 'numba'", None),
    ],
)
def test_only_optional_packages_may_be_missing(sentence, package):
    assert missing_package(sentence) == package


@pytest.mark.parametrize(
    ("files", "allowed"),
    [
        (["tests/test_x.py"], True),
        (["tests/test_x.py", "/env/site-packages/sklearn/datasets/_base.py"], True),
        (["tests/test_x.py", "/env/site-packages/loadstone/plotting/scores.py"], True),
        (["tests/test_x.py", "/env/site-packages/loadstone/estimators/base.py"], False),
        (["tests/test_x.py", "/clone/loadstone/src/loadstone/solvers/em.py"], False),
        (["/clone/loadstone/tests/test_x.py"], True),
    ],
)
def test_the_core_may_not_import_what_is_optional(files, allowed):
    assert excused(files) is allowed
