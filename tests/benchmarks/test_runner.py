"""The comparison with rivals: rows from methods, tables from rows, R through its own process."""

import json
import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.r_rivals import R_METHODS, SCRIPTS, r_method
from benchmarks.rivals import on_support, scikit_learn
from benchmarks.runner import Fit, Method, Suite, Task, measured, measures, read, rows_of, write
from benchmarks.tables import entry_of, memory_table, numbers_of, ratio_table, seconds_table

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6)) * [3, 2.5, 1, 1, 1, 1]
    return X - X.mean(axis=0)


def cut(X, task):
    """The first principal component, cut to size."""
    w = np.linalg.svd(X, full_matrices=False)[2][0]
    w[np.argsort(-np.abs(w))[task.n_nonzero :]] = 0.0
    return 5.0 * w[None, :]


CUT = Method(name="cut", find=cut)
REFUSED = Method(name="refused", find=cut, refuses=lambda X, task: "it does not want to")


def test_measures_are_the_formulas(X):
    W = np.zeros((2, 6))
    W[0, 0] = 2.0
    W[1, :2] = 3.0, -4.0
    found = measures(X, W)
    C = np.cov(X.T)
    second = C[0, 0] * 0.36 + C[1, 1] * 0.64 - 2 * 0.48 * C[0, 1]
    assert found["variance"] == pytest.approx((C[0, 0] + second) / np.trace(C))
    # Both together span the first two features.
    assert found["adjusted"] == pytest.approx(_residual(X) / (len(X) - 1) / np.trace(C))
    assert (found["largest size"], found["inner product"]) == (2, pytest.approx(0.6))
    assert found["most negative"] == pytest.approx(-0.8)


def _residual(X):
    """Squared length of the first score, and of what is new in the second."""
    first, second = X[:, 0], X[:, :2] @ [0.6, -0.8]
    new = second - first * (first @ second) / (first @ first)
    return first @ first + new @ new


def test_a_row_has_values_and_costs_or_a_reason(X):
    row = measured(CUT, X, Task(n_nonzero=2))
    assert row["largest size"] == 2
    assert row["cpu seconds"] >= 0
    assert row["peak megabytes"] > 0
    assert measured(REFUSED, X, Task(n_nonzero=2)) == {"skipped": "it does not want to"}
    own = Method(name="own", find=lambda X, task: Fit(components=cut(X, task), cpu_seconds=7.0))
    assert measured(own, X, Task(n_nonzero=2))["cpu seconds"] == 7.0


def test_rows_become_tables_and_numbers(X, tmp_path):
    worse = Method(name="worse", find=lambda X, task: np.eye(X.shape[1])[[-1]])
    cases = [("x", lambda: X, Task(n_nonzero=2)), ("y", lambda: X, Task(n_nonzero=3))]
    suite = Suite(name="s", cases=cases, methods=[CUT, worse, REFUSED])
    write(tmp_path / "s.json", list(rows_of(suite)))
    kept = read(tmp_path / "s.json")
    assert kept["machine"]["cores"] == os.cpu_count()
    assert kept["versions"]["numpy"] == np.__version__
    rows = kept["rows"]
    assert [row["method"] for row in rows] == ["cut", "worse", "refused"] * 2
    best = ratio_table(rows, "variance", to="best")
    assert best["head"] == ["data", "cut", "worse"]
    assert [line[:2] for line in best["rows"]] == [["x, k = 2", "1.0000"], ["y, k = 3", "1.0000"]]
    share = rows[1]["variance"] / rows[0]["variance"]
    assert float(best["rows"][0][2]) == pytest.approx(share, abs=1e-4)
    assert numbers_of(rows)["x, k = 2: worse / best"] == pytest.approx(share)
    assert seconds_table(rows)["head"] == ["data", "cut, seconds", "worse"]
    assert len(memory_table(rows)["rows"]) == 2
    entry = entry_of("s", tmp_path / "s.json")
    assert entry["tables"][3]["rows"] == [["refused: it does not want to."]]
    assert [row["data"] for row in rows_of(suite, data=["y"], methods=["cut"])] == ["y"]


def test_scikit_learn_has_the_size_and_its_support_the_best_loadings(X):
    task = Task(n_nonzero=2)
    raw = scikit_learn(reoptimised=False).find(X, task)
    assert 1 <= np.count_nonzero(raw) <= 2
    again = on_support(X, raw)
    assert ((again != 0) == (raw != 0)).all()
    assert measures(X, again)["variance"] >= measures(X, raw)["variance"] - 1e-12
    refuses = scikit_learn(reoptimised=True).refuses
    assert "no such constraint" in refuses(X, Task(n_nonzero=2, nonnegative=True))
    assert "one by one" in refuses(np.ones((2, 1001)), task)


#: Stands in for R: reads what R would be sent, and answers as the scripts do.
FAKE = """#!{python}
import sys
import numpy as np
if sys.argv[1] == "-e":
    sys.exit(0)
program, data, n, d, k, r, nonnegative = sys.argv[1:]
assert "nsprcomp" in open(program).read()
X = np.fromfile(data).reshape(int(n), int(d), order="F")
V = np.linalg.svd(X, full_matrices=False)[2][: int(r)]
print(0.25)
print(*(" ".join(map(str, v)) for v in V), sep="\\n")
"""


def test_r_is_sent_data_and_its_loadings_are_read(X, tmp_path, monkeypatch):
    program = tmp_path / "Rscript"
    program.write_text(FAKE.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    method = r_method("nsprcomp", nonnegative=True, several=True)
    task = Task(n_nonzero=6, n_components=2, nonnegative=True)
    assert method.refuses(X, task) == ""
    fit = method.find(X, task)
    assert fit.cpu_seconds == 0.25
    top = np.linalg.svd(X, full_matrices=False)[2][:2]
    np.testing.assert_allclose(np.abs(fit.components @ top.T), np.eye(2), atol=1e-10)


def test_without_r_its_methods_say_how_to_get_it(X, monkeypatch):
    monkeypatch.setenv("PATH", "")
    for method in R_METHODS:
        assert f'install.packages("{method.name}")' in method.refuses(X, Task(n_nonzero=2))
        assert method.name in SCRIPTS
    assert "non-negative" in r_method("PMA").refuses(X, Task(n_nonzero=2, nonnegative=True))


def test_the_command_line_runs_a_part(tmp_path, capsys):
    asked = ["orthogonal", "--data", "mtcars", "--method", "SparsePCA, one pass"]
    assert main([*asked, "--out", str(tmp_path)]) == 0
    (row,) = json.loads((tmp_path / "orthogonal.json").read_text())["rows"]
    assert row["inner product"] < 1e-6
    assert row["variance"] > 0.8
    for words, said in ((asked, "--out DIR"), (["nothing"], "no suite is called 'nothing'")):
        with pytest.raises(SystemExit):
            main(words)
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda p: p.stem)
def test_no_module_changes_where_others_are_looked_for(path):
    assert "sys.path" not in path.read_text(encoding="utf-8")


def test_more_loadings_than_asked_for_are_not_compared(X):
    dense = Method(name="dense", find=lambda X, task: np.ones((1, X.shape[1])))
    row = measured(dense, X, Task(n_nonzero=2))
    assert set(row) == {"skipped"}
    assert f"{X.shape[1]} features" in row["skipped"]
