"""Every command that reads data has the same options about reading, and minds them."""

import json

import numpy as np
import pandas as pd
import pytest

from loadstone import SampleCovariance, SparsePCA, load_model
from workbook_writer import write_xlsx

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(RNG.gamma(2.0, 3.0, (40, 1)) * [1, 2, 3, 4, 1, 2]).astype(float)
NAMES = ["gene_a", "gene_b", "gene_c", "gene_d", "age", "batch_no"]
WEIGHTS = RNG.integers(1, 4, 40)
OPTIONS = [
    "--columns", "gene_*", "--drop", "gene_d", "--index", "patient", "--labels", "sex",
    "--weights", "w", "--log1p", "--sheet", "data",
]  # fmt: skip


@pytest.fixture
def workbook(tmp_path):
    frame = pd.DataFrame(COUNTS, columns=NAMES)
    frame.insert(0, "sex", ["f", "m"] * 20)
    frame.insert(0, "w", WEIGHTS.astype(float))
    frame.insert(0, "patient", [f"p{i:03d}" for i in range(40)])
    rows = [list(frame.columns), *frame.to_numpy().tolist()]
    return write_xlsx(tmp_path / "t.xlsx", {"readme": [["x"], [1]], "data": rows})


def expected():
    X = np.log1p(COUNTS[:, :3])
    return X, SparsePCA(1, n_nonzero=2).fit(X, sample_weight=WEIGHTS)


def test_all_commands_read_alike(run, workbook, tmp_path):
    X, model = expected()
    fit = run("fit", workbook, "-c", 1, "-k", 2, "-o", "out", "--certify", "instant", *OPTIONS)
    assert fit.exit_code == 0, fit.output
    found = load_model(tmp_path / "out/model.npz")
    np.testing.assert_allclose(found.components_, model.components_, rtol=1e-6)
    assert list(found.feature_names_in_) == NAMES[:3]
    scores = pd.read_csv(tmp_path / "out/scores.csv")
    np.testing.assert_allclose(scores["component 1"], model.transform(X).ravel())
    assert scores["sample"].iloc[7] == "p007"
    assert set(scores["label"]) == {"f", "m"}
    assert run("transform", "out/model.npz", workbook, "-o", "z.csv", *OPTIONS).exit_code == 0
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "z.csv"), scores)
    for command in ("certify", "verify", "report"):
        result = run(command, "out/model.npz", workbook, *OPTIONS)
        assert result.exit_code == 0, result.output
    # Without the weights the data is another, and the proof does not hold.
    without = OPTIONS[:8] + OPTIONS[10:]
    assert run("verify", "out/model.npz", workbook, *without).exit_code == 1
    path = json.loads(run("path", workbook, "--json", *OPTIONS).stdout)
    best = path["values"][path["n_nonzeros"].index(2)]
    np.testing.assert_allclose(best, model.explained_variance_[0], rtol=1e-9)


def test_a_covariance_keeps_what_was_said(run, workbook, tmp_path):
    X, _ = expected()
    result = run("covariance", workbook, workbook, "-o", "c.npz", *OPTIONS)
    assert result.exit_code == 0, result.output
    C = SampleCovariance.load(tmp_path / "c.npz")
    assert C.n_samples == 2 * WEIGHTS.sum()
    np.testing.assert_allclose(C.mean, np.average(X, axis=0, weights=WEIGHTS))
    refused = run("fit", "c.npz", "--log1p")
    assert refused.exit_code == 2
    assert "--log1p is about rows, and c.npz is a covariance" in refused.stderr


def test_notes_are_in_the_words_of_the_shell(run, tmp_path):
    frame = pd.DataFrame(COUNTS, columns=NAMES).assign(u=["a", "b"] * 20, v=["c", "d"] * 20)
    frame.to_csv(tmp_path / "t.csv", index=False)
    said = run("fit", "t.csv", "-c", 1, "-k", 2, "-o", "out").stderr
    assert "could serve as labels with --labels NAME: u, v" in said
    assert "look like identifiers: batch_no; --drop batch_no leaves them out" in said
    assert "--drop batch_no leaves them out" in (tmp_path / "out/report.html").read_text()


def test_missing_labels_are_empty_cells(run, tmp_path):
    rows = "".join(f"{kind},{i},{i * i % 7}\n" for i, kind in enumerate(["x", "", "y"] * 5))
    (tmp_path / "t.csv").write_text(f"kind,a,b\n{rows}")
    result = run("fit", "t.csv", "--labels", "kind", "-c", 1, "-o", "out")
    assert result.exit_code == 0, result.output
    assert "gives no class to 5 sample(s)" in result.stderr
    assert (tmp_path / "out/scores.csv").read_text().splitlines()[2].startswith("2,,")
