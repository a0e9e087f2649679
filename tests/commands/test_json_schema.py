"""What ``--json`` prints is what its page says: every key is there, with its type."""

import json
import re
from pathlib import Path

from loadstone.commands.terminal import SCHEMA

PAGE = Path(__file__).resolve().parents[2] / "docs" / "json_output.md"
TYPES = {
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "string": lambda v: isinstance(v, str),
    "null": lambda v: v is None,
    "object": lambda v: isinstance(v, dict),
    "list of string": lambda v: isinstance(v, list) and all(isinstance(e, str) for e in v),
    "any": lambda v: True,
}


def described():
    """The keys of each section of the page, with their types."""
    sections = {}
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        rows = re.findall(r"^\| `([^`]+)` \| ([a-z ]+) \|", body, flags=re.MULTILINE)
        names = re.findall(r"`([^`]+)`", title) or [title]
        for name in names:
            sections[name] = dict(rows)
    return sections


def entries(value, path=""):
    """Every value with the path the page gives it."""
    if isinstance(value, dict):
        yield path, value
        for key, inner in value.items():
            yield from entries(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        yield path, value
        for inner in value:
            yield from entries(inner, f"{path}[]")
    else:
        yield path, value


def rule_of(path, rules):
    if path in rules:
        return rules[path]
    for pattern, rule in rules.items():
        if pattern.endswith("*") and path.startswith(pattern[:-1]):
            return rule
    return None


def checked(answer, rules):
    """Compare an answer with the page; what contains others need not be listed itself."""
    seen = set()
    for path, value in entries(answer):
        rule = rule_of(path, rules)
        if rule is None:
            assert isinstance(value, dict | list), f"{path} is not on the page"
            continue
        seen.add(path)
        assert any(TYPES[kind](value) for kind in rule.split(" or ")), (path, value, rule)
    return seen


def test_every_key_is_on_the_page_and_every_key_of_the_page_is_printed(run, wine_csv):
    sections = described()
    shared = sections["Every command"]
    fit = ["fit", wine_csv, "-c", 2, "-k", 3, "--standardize", "--certify", "instant", "-o", "o"]
    commands = {
        "fit": fit,
        "path": ["path", wine_csv, "--standardize"],
        "transform": ["transform", "o/model.npz", wine_csv],
        "certify": ["certify", "o/model.npz", wine_csv, "--effort", "instant"],
        "verify": ["verify", "o/model.npz", wine_csv],
        "report": ["report", "o/model.npz", wine_csv],
        "covariance": ["covariance", wine_csv],
        "datasets list": ["datasets", "list"],
        "datasets show": ["datasets", "show", "glass"],
        "demo": ["demo"],
    }
    assert set(commands) == set(sections) - {"Every command", "An error"}
    for command, arguments in commands.items():
        answer = json.loads(run(*arguments, "--json").stdout)
        assert answer["schema"] == SCHEMA == 1
        assert answer["command"] == command
        seen = checked(answer, {**shared, **sections[command]})
        missing = {
            path
            for path, rule in sections[command].items()
            if path not in seen and "null" not in rule and rule != "any" and ".group" not in path
        }
        # What is in an object that may be null is there only together with it.
        absent = [key for key, value in answer.items() if value is None]
        assert not {path for path in missing if path.split(".")[0] not in absent}, command


def test_errors_are_on_the_page(run):
    answer = json.loads(run("fit", "nothing.csv", "--json").stdout)
    shared = {k: v for k, v in described()["Every command"].items() if k != "files[]"}
    assert checked(answer, {**shared, **described()["An error"]}) == set(answer)
