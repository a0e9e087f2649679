"""The framework of the experiments: verdicts from numbers, files from verdicts."""

import ast
import json
from pathlib import Path

import matplotlib as mpl
import pytest
from experiments.__main__ import main
from experiments.claim import (
    Check,
    Judgement,
    Measured,
    Table,
    Verdict,
    at_least,
    at_most,
    claim,
    missed,
    near,
)
from experiments.papers import claims_of, papers
from experiments.results import file_name, rounded, write
from experiments.run import Run, jobs_of, measure

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "experiments").rglob("*.py"))


@pytest.mark.parametrize(
    ("check", "value", "holds"),
    [
        (near("a", 1.0, 0.1), 1.09, True),
        (near("a", 1.0, 0.1), 1.11, False),
        (at_least("a", "b"), 2.0, True),
        (at_least("a", "b"), 1.9, False),
        (at_least("a", "b", 0.2), 1.9, True),
        (at_most("a", 3), 3, True),
        (at_most("a", 3), 3.01, False),
        (at_most("a", 3, 0.1), 3.05, True),
    ],
)
def test_a_check_compares_a_number_with_its_target(check, value, holds):
    assert check.holds({"a": value, "b": 2.0}) is holds
    assert check.describe().startswith("a ")


def test_a_check_of_a_number_that_was_not_measured_is_an_error():
    with pytest.raises(KeyError):
        Check("b", "near", 1.0).holds({"a": 1.0})


@pytest.mark.parametrize(
    ("value", "fitted", "verdict"),
    [
        (1.0, "", Verdict.REPRODUCED),
        (0.6, "", Verdict.IN_KIND),
        (0.4, "", Verdict.NOT),
        (1.0, "one of five", Verdict.FITTED),
        (0.6, "one of five", Verdict.FITTED),
        (0.4, "one of five", Verdict.NOT),
    ],
)
def test_verdicts_follow_from_numbers(value, fitted, verdict):
    rule = Judgement(
        expected=Verdict.OPEN,
        as_printed=(near("a", 1.0, 0.1),),
        in_kind=(at_least("a", 0.5),),
        fitted=fitted,
    )
    assert rule.verdict({"a": value}) is verdict


def test_without_rules_the_verdict_is_the_expected_one():
    assert Judgement(expected=Verdict.DRAWN).verdict({}) is Verdict.DRAWN


@claim(
    "fake.a/b",
    printed="a is 1",
    data="none",
    how="not at all",
    judged=(
        Judgement(expected=Verdict.REPRODUCED, as_printed=(near("a", 1.0, 0.1),)),
        Judgement(expected=Verdict.NOT, of="with b", as_printed=(at_most("b", 0.0),)),
    ),
    reference=(
        near("a", 1.0, 0.01),
        missed(near("b", 0.3, 0.01), "nobody knows b"),
        near("of a full run", 1.0, 0.0),
    ),
    shares="fake",
)
def fake(run):
    from experiments.figures import curve, finish, panels

    figure, axes = panels()
    curve(axes[0, 0], [1, 2], [3, 4], 0, "line")
    finish(axes[0, 0], title="t", x="x", y="y")
    run.once("shared", lambda: 1)
    return Measured(
        numbers={"a": 1.05, "b": 1 / 3},
        timings={"fit": 0.5},
        tables=(Table(head=("k", "a"), rows=((1, 0.123456),)),),
        figures={"": figure, "more": figure},
        remarks=("Mind the gap.",),
    )


def test_a_claim_is_measured_and_written(tmp_path):
    mpl.use("agg")
    run = Run(quick=True)
    entry = measure(fake, run, tmp_path)
    assert run.kept == {"shared": 1}
    assert entry["verdicts"] == entry["expected"] == ["reproduced", "not reproducible with b"]
    assert entry["reference"] == [
        ["a = 1 ± 0.01", False, ""],
        ["b = 0.3 ± 0.01", False, "nobody knows b"],
    ]
    assert entry["numbers"]["b"] == 0.333333
    assert entry["figures"] == ["fake.a_b.png", "fake.a_b-more.png"]
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"fake.a_b{word}.{kind}" for word in ("", "-more") for kind in ("png", "svg")}
    write(tmp_path, "Fake", [entry], ["other", "fake.a/b"], keep=False)
    kept = json.loads((tmp_path / "numbers.json").read_text())
    assert kept["claims"] == [entry]
    text = (tmp_path / "claims.md").read_text()
    for part in ("## fake.a/b", "Mind the gap.", "| 1 | 0.1235 |", "(fake.a_b.png)", "| holds |"):
        assert part in text
    assert "| reference: a = 1 ± 0.01 | missed |" in text
    assert "| reference: b = 0.3 ± 0.01 | missed: nobody knows b |" in text
    assert str(tmp_path) not in text + (tmp_path / "numbers.json").read_text()


def test_figures_are_the_same_files_every_time(tmp_path):
    for name in ("one", "two"):
        measure(fake, Run(), tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_a_run_of_one_claim_keeps_the_others(tmp_path):
    old = {**measure(fake, Run(), tmp_path), "id": "other"}
    write(tmp_path, "Fake", [old], ["other", "fake.a/b"], keep=False)
    new = measure(fake, Run(), tmp_path)
    write(tmp_path, "Fake", [new], ["other", "fake.a/b"], keep=True)
    kept = json.loads((tmp_path / "numbers.json").read_text())["claims"]
    assert [entry["id"] for entry in kept] == ["other", "fake.a/b"]


def test_claims_that_share_something_run_together():
    from dataclasses import replace

    alone = replace(fake, id="alone", shares="")
    last = replace(fake, id="last")
    assert jobs_of([fake, alone, last]) == [["fake.a/b", "last"], ["alone"]]


def test_numbers_are_kept_with_six_digits_and_plain():
    import numpy as np

    assert rounded({"a": (np.float64(1 / 3), np.int64(2), np.True_, "x")}) == {
        "a": [0.333333, 2, True, "x"]
    }
    assert file_name("gd.fig1,3,4", "left") == "gd.fig1_3_4-left"


def test_the_command_line_measures_what_it_is_asked_for(tmp_path, capsys):
    assert (
        main(["sigg_buhmann_2008", "--only", "sigg.prop3.1", "--quick", "--out", str(tmp_path)])
        == 0
    )
    kept = json.loads((tmp_path / "sigg_buhmann_2008" / "numbers.json").read_text())
    assert [entry["id"] for entry in kept["claims"]] == ["sigg.prop3.1"]
    assert "sigg.prop3.1: reproduced" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["sigg_buhmann_2008", "--only", "no.such"])
    assert "no claim is called 'no.such'" in capsys.readouterr().err


@pytest.mark.parametrize("paper", papers())
def test_results_are_what_the_rules_of_today_say(paper):
    from experiments.results import judged_again

    path = ROOT / "experiments" / "results" / paper / "numbers.json"
    if not path.exists():
        pytest.skip(f"{paper} has no results yet: python -m experiments {paper}")
    claims = claims_of(paper)
    for entry in json.loads(path.read_text(encoding="utf-8"))["claims"]:
        assert judged_again(claims[entry["id"]], entry) == entry, (
            f"{entry['id']}: measure it again, or run python -m experiments {paper} --judge"
        )
        assert not entry["quick"]
        for rule, holds, argued in entry["reference"]:
            assert holds != bool(argued), f"{entry['id']}: {rule} is to be met, or argued where not"


def test_numbers_can_be_judged_again(tmp_path):
    asked = ["sigg_buhmann_2008", "--out", str(tmp_path)]
    assert main([*asked, "--only", "sigg.prop3.1"]) == 0
    path = tmp_path / "sigg_buhmann_2008" / "numbers.json"
    kept = json.loads(path.read_text())
    kept["claims"][0]["numbers"]["largest difference"] = 0.5
    path.write_text(json.dumps(kept))
    assert main([*asked, "--judge"]) == 1
    again = json.loads(path.read_text())["claims"][0]
    assert again["verdicts"] == ["not reproducible"]
    assert again["numbers"] == kept["claims"][0]["numbers"]


@pytest.mark.parametrize("paper", papers())
def test_every_claim_says_what_it_is(paper):
    claims = claims_of(paper)
    assert claims
    for found in claims.values():
        assert found.printed.endswith(".")
        assert found.data
        assert found.how
        assert found.judged


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_modules_stay_small(path):
    from test_architecture import functions_of, n_lines

    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert len(text.splitlines()) <= 350
    assert ast.get_docstring(tree)
    assert path.stem not in {"utils", "helpers", "common", "misc"}
    for function in functions_of(tree):
        assert n_lines(function) <= 50, function.name
