"""The table of mutations can be read, and the runner says when it is out of date."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def mutations():
    spec = importlib.util.spec_from_file_location("mutations", ROOT / "tools" / "mutations.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutations"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copy(mutations, tmp_path):
    return mutations.Copy(tmp_path)


def test_every_mutation_names_tests_that_are_there(mutations):
    for mutation in mutations.read_table(mutations.TABLE):
        assert mutation.old != mutation.new
        for test in mutation.tests:
            path, _, name = test.partition("::")
            assert (ROOT / path).is_file(), mutation.name
            assert not name or f"def {name}(" in (ROOT / path).read_text(), mutation.name


def test_every_mutation_finds_its_text_once(mutations):
    for mutation in mutations.read_table(mutations.TABLE):
        file = ROOT / "src" / "loadstone" / mutation.file
        assert file.is_file(), mutation.name
        assert file.read_text().count(mutation.old) == 1, f"update {mutation.name!r}"


@pytest.mark.parametrize(
    ("file", "old", "complaint"),
    [
        ("loadings.py", "no such text", "0 times"),
        ("loadings.py", "def ", "times, not once"),
        ("gone.py", "anything", "there is no gone.py"),
    ],
)
def test_a_text_that_is_gone_is_told(mutations, copy, file, old, complaint):
    mutation = mutations.Mutation("moved", file, old, "new", ("tests/test_architecture.py",))
    word, remark = mutations.verdict(copy, mutation)
    assert word == "STALE"
    assert complaint in remark


def test_a_mutation_is_taken_back(mutations, copy):
    mutation = mutations.Mutation("broken", "loadings.py", "class Stop", "class Halt", ("x",))
    path = copy.folder / "src" / "loadstone" / "loadings.py"
    before = path.read_text()
    assert copy.broken(mutation) is None
    assert "class Halt" in path.read_text()
    copy.mended(mutation)
    assert path.read_text() == before


def test_a_table_with_gaps_is_refused(mutations, tmp_path):
    entry = '[[mutation]]\nname = "a"\nfile = "f"\nold = "x"\nnew = "y"\n'
    table = tmp_path / "table.toml"
    table.write_text(entry)
    with pytest.raises(ValueError, match="neither tests nor a reason"):
        mutations.read_table(table)
    table.write_text((entry + 'equivalent = "why"\n') * 2)
    with pytest.raises(ValueError, match="more than once"):
        mutations.read_table(table)
