"""What is done with a saved model: transform, certify, report."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_wine

from loadstone import SparsePCA, load_model, save_model

NEEDS_MODEL = ["transform", "report", "certify"]
WRITES = {"transform": "scores.csv", "report": "report.html"}


def test_transform_projects_matching_features_by_name(run, wine_model, tmp_path, same_numbers):
    X = load_wine(as_frame=True).data.iloc[:20]
    shuffled = X.iloc[:, ::-1].assign(extra=1.0)
    shuffled.to_csv(tmp_path / "new.csv", index=False)
    result = run("transform", wine_model, "new.csv", "-o", "z.csv")
    assert result.exit_code == 0, result.output
    assert "1 feature(s) that the model does not know were left out" in result.stderr
    expected = load_model(wine_model).transform(X)
    same_numbers(tmp_path / "z.csv", expected, ["component 1", "component 2"])


def test_transform_of_one_sample_with_holes_needs_no_other_one(run, wine_model, tmp_path):
    X = load_wine(as_frame=True).data.iloc[[4, 70, 150]].astype(float)
    X.iloc[0, 0] = X.iloc[0, 3] = np.nan
    X["hue"] = np.nan
    model = load_model(wine_model)
    expected = model.transform(X.fillna(dict(zip(X.columns, model.mean_, strict=True))))
    for name, rows in (("one.csv", X.iloc[:1]), ("three.csv", X)):
        rows.to_csv(tmp_path / name, index=False)
        result = run("transform", wine_model, name, "-o", "z.csv", "--force")
        assert result.exit_code == 0, result.output
        assert "means of the data that the model was fitted to" in " ".join(result.stderr.split())
        scores = pd.read_csv(tmp_path / "z.csv").iloc[:, 1:]
        np.testing.assert_allclose(scores, expected[: len(rows)], rtol=1e-12)
    refused = run("transform", wine_model, "three.csv", "--missing", "refuse", "--force")
    assert refused.exit_code == 4
    assert "missing value(s)" in refused.stderr
    lacking = run("transform", wine_model, "three.csv", "--missing", "columns", "--force")
    assert lacking.exit_code == 4
    assert "lacks features of the model" in " ".join(lacking.stderr.split())


def test_transform_with_a_model_of_a_covariance_matrix_says_that_it_knows_no_means(run, tmp_path):
    X = load_wine(as_frame=True).data
    save_model(SparsePCA(1, n_nonzero=3).fit_covariance(X.cov()), tmp_path / "of_matrix.npz")
    X.iloc[:2].assign(hue=np.nan).to_csv(tmp_path / "new.csv", index=False)
    result = run("transform", "of_matrix.npz", "new.csv", "-o", "z.csv")
    assert result.exit_code == 0, result.output
    assert "filled with zeros, the only means" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("refuse", "2 missing value(s) in 1 column(s): column(s) hue; --missing mean fills them"),
        ("rows", "2 missing value(s) in 1 column(s): nothing is left without the rows they are in"),
        ("keep", "X contains NaN, 2 time(s), in feature(s) 'hue'"),
    ],
)
def test_a_column_that_new_samples_leave_empty_is_missing_and_not_lacking(
    rule, said, run, wine_model, tmp_path
):
    X = load_wine(as_frame=True).data.iloc[:2].assign(hue=np.nan)
    X.to_csv(tmp_path / "new.csv", index=False)
    refused = run("transform", wine_model, "new.csv", "--missing", rule)
    assert refused.exit_code == 4
    assert said in " ".join(refused.stderr.split())


@pytest.mark.parametrize("rule", ["mean", "keep"])
@pytest.mark.parametrize("hole", [np.nan, np.inf])
def test_holes_of_new_samples_in_a_sparse_matrix_are_refused_with_a_way_out(
    hole, rule, run, wine_model, tmp_path
):
    X = load_wine().data[:3]
    X[1, 4] = hole
    sparse.save_npz(tmp_path / "new.npz", sparse.csr_matrix(X))
    refused = run("transform", wine_model, "new.npz", "--missing", rule)
    assert refused.exit_code == 4
    assert "the sparse matrix holds NaN or infinite values; remove them" in refused.stderr


def test_transform_json(run, wine_model, wine_csv):
    answer = json.loads(run("transform", wine_model, wine_csv, "--json").stdout)
    assert answer == {
        "schema": 1,
        "command": "transform",
        "n_samples": 178,
        "n_components": 2,
        "files": ["scores.csv"],
    }


def test_report_writes_the_page(run, wine_model, wine_csv, tmp_path):
    result = run("report", wine_model, wine_csv)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("2 components, 8 of 13 features")
    assert "flavanoids" in (tmp_path / "report.html").read_text()
    summary = json.loads(run("report", wine_model, wine_csv, "--json", "--force").stdout)
    assert len(summary["scores"]["labels"]) == 178


def embedded(page):
    start = page.index('id="data">') + len('id="data">')
    return json.loads(page[start : page.index("</script>", start)])


def test_report_draws_what_it_is_asked_for(run, wine_model, wine_csv, tmp_path):
    (tmp_path / "axis.txt").write_text("\n".join(str(400 + 10 * i) for i in range(13)))
    asked = ["--path", "--image-shape", "1x13", "--feature-axis", "axis.txt"]
    result = run("report", wine_model, wine_csv, *asked)
    assert result.exit_code == 0, result.output
    shown = embedded((tmp_path / "report.html").read_text())
    assert shown["summary"]["path"]["n_nonzeros"] == list(range(1, 14))
    assert (shown["images"]["height"], shown["images"]["width"]) == (1, 13)
    assert shown["curves"]["axis"] == [400 + 10 * i for i in range(13)]
    assert len(shown["features"]["values"]) == 8
    assert len(shown["distances"]["score"]) == 178


@pytest.mark.parametrize(
    ("asked", "sentence", "code"),
    [
        (["--image-shape", "3x5"], "--image-shape 3x5 does not hold 13 features; give height", 2),
        (["--image-shape", "wide"], "--image-shape wide does not hold 13 features", 2),
        (["--image-shape", "4x4"], "the number of features, such as --image-shape 1x13", 2),
        (["--feature-axis", "names"], "--feature-axis names gives 0 numbers for 13 features", 2),
        (["--feature-axis", "none.txt"], "none.txt is no file; or did you mean 'names'?", 3),
    ],
)
def test_pictures_that_do_not_fit_are_refused(run, wine_model, wine_csv, asked, sentence, code):
    result = run("report", wine_model, wine_csv, *asked)
    assert result.exit_code == code
    assert sentence in " ".join(result.output.split())


def test_certify_says_what_is_proven(run, wine_model, wine_csv):
    result = run("certify", wine_model, wine_csv)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("component ") >= 2
    answer = json.loads(run("certify", wine_model, wine_csv, "--effort", "full", "--json").stdout)
    for component in answer["components"]:
        assert component["value"] <= component["upper_bound"] * (1 + 1e-9)


def test_a_single_component_is_proven_optimal(run, wine_csv, tmp_path):
    # Several are best together, not each for itself.
    run("fit", wine_csv, "-c", "1", "-k", "4", "--standardize", "-o", tmp_path / "one")
    model = tmp_path / "one" / "model.npz"
    answer = json.loads(run("certify", model, wine_csv, "--effort", "full", "--json").stdout)
    assert [component["is_optimal"] for component in answer["components"]] == [True]


def test_certificates_are_written_and_verified(run, wine_model, wine_csv, tmp_path):
    assert run("certify", wine_model, wine_csv, "-o", "proofs").exit_code == 0
    assert run("certify", wine_model, wine_csv, "-o", "proofs").exit_code == 6
    for number in (1, 2):
        result = run("verify", f"proofs/certificate_{number}.npz", wine_csv)
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("verified: ")
    other = load_wine(as_frame=True).data.iloc[:100]
    other.to_csv(tmp_path / "other.csv", index=False)
    result = run("verify", "proofs/certificate_2.npz", "other.csv")
    assert result.exit_code == 1
    assert "another covariance" in result.stderr


def test_the_certificates_of_a_model_are_verified(run, wine_csv, wine_model):
    run("fit", wine_csv, "-k", "3", "-o", "m", "--certify", "standard", "--time-limit", "20")
    answer = json.loads(run("verify", "m/model.npz", wine_csv, "--json").stdout)
    # One for each component, and one for all of them together.
    assert len(answer["certificates"]) == 4
    assert answer["certificates"][-1]["sentence"].startswith("together at least")
    result = run("verify", wine_model, wine_csv)
    assert result.exit_code == 1
    assert "without certificates" in result.stderr


def test_certify_refuses_an_unknown_effort(run, wine_model, wine_csv):
    result = run("certify", wine_model, wine_csv, "--effort", "heroic")
    assert result.exit_code == 2
    assert "heroic" in result.stderr


@pytest.mark.parametrize("command", NEEDS_MODEL)
def test_lacking_features_are_named(command, run, wine_model, tmp_path, nothing_left):
    load_wine(as_frame=True).data.drop(columns="ash").to_csv(tmp_path / "new.csv", index=False)
    result = run(command, wine_model, "new.csv")
    assert result.exit_code == 4
    assert "lacks features of the model: ash" in result.stderr


@pytest.mark.parametrize("command", NEEDS_MODEL)
def test_the_number_of_features_must_match_without_names(command, run, wine_model, tmp_path):
    np.save(tmp_path / "new.npy", np.ones((4, 5)))
    result = run(command, wine_model, "new.npy")
    assert result.exit_code == 4
    assert "5 features and the model was fitted to 13" in result.stderr


@pytest.mark.parametrize("command", NEEDS_MODEL)
def test_missing_files_are_named(command, run, wine_model, wine_csv):
    assert run(command, wine_model, "nothing.csv").exit_code == 3
    result = run(command, "nothing.npz", wine_csv)
    assert result.exit_code == 3
    assert "no model file nothing.npz" in result.stderr


@pytest.mark.parametrize("command", NEEDS_MODEL)
def test_damaged_and_foreign_models_are_refused(command, run, wine_model, wine_csv, tmp_path):
    (tmp_path / "torn.npz").write_bytes(wine_model.read_bytes()[:500])
    (tmp_path / "foreign.npz").write_bytes(b"not a model")
    torn, foreign = run(command, "torn.npz", wine_csv), run(command, "foreign.npz", wine_csv)
    assert torn.exit_code == foreign.exit_code == 5
    assert "is damaged" in torn.stderr
    assert "is no loadstone model" in foreign.stderr


@pytest.mark.parametrize("command", WRITES)
def test_existing_files_are_kept(command, run, wine_model, wine_csv, tmp_path):
    (tmp_path / WRITES[command]).write_text("mine")
    assert run(command, wine_model, wine_csv).exit_code == 6
    assert (tmp_path / WRITES[command]).read_text() == "mine"
    assert run(command, wine_model, wine_csv, "--force", "-q").exit_code == 0
    assert (tmp_path / WRITES[command]).read_text() != "mine"


@pytest.mark.parametrize("command", WRITES)
def test_a_full_disk_leaves_nothing(command, run, wine_model, wine_csv, full_disk, nothing_left):
    result = run(command, wine_model, wine_csv)
    assert result.exit_code == 7
    assert nothing_left()


@pytest.mark.parametrize("command", WRITES)
def test_an_interruption_leaves_nothing(
    command, run, wine_model, wine_csv, interrupted, nothing_left
):
    assert run(command, wine_model, wine_csv).exit_code == 130
    assert nothing_left()


def test_scores_carry_names_and_labels(run, wine_model, wine_csv, tmp_path):
    run("transform", wine_model, wine_csv, "-q")
    scores = pd.read_csv(tmp_path / "scores.csv")
    assert list(scores.columns) == ["sample", "label", "component 1", "component 2"]


def stop(*_, **__):
    raise KeyboardInterrupt


def test_an_interrupted_certificate_is_an_interruption(
    run, wine_model, wine_csv, monkeypatch, nothing_left
):
    monkeypatch.setattr("loadstone.certificates.prove", stop)
    assert run("certify", wine_model, wine_csv).exit_code == 130
    assert nothing_left()


def test_certify_writes_nothing_and_so_needs_no_disk(
    run, wine_model, wine_csv, full_disk, nothing_left
):
    assert run("certify", wine_model, wine_csv, "--effort", "instant").exit_code == 0
    assert nothing_left()


@pytest.mark.parametrize("method", ["em", "exact", "greedy", "nspca", "elastic-net"])
def test_models_of_other_methods_can_be_certified(method, run, wine_csv):
    assert (
        run(
            "fit", wine_csv, "--method", method, "-c", 2, "-o", "m", "--standardize", "-q"
        ).exit_code
        == 0
    )
    result = run("certify", "m/model.npz", wine_csv, "--effort", "instant", "--json")
    assert result.exit_code == 0, result.output
    for component in json.loads(result.stdout)["components"]:
        assert component["value"] <= component["upper_bound"] * (1 + 1e-9)


@pytest.fixture
def noise_csv(tmp_path):
    X = np.random.default_rng(3).normal(size=(80, 6))
    pd.DataFrame(X, columns=list("abcdef")).to_csv(tmp_path / "noise.csv", index=False)
    return "noise.csv"


@pytest.mark.parametrize("more", [[], ["--no-report"], ["--path"]])
def test_no_component_is_a_result(run, noise_csv, tmp_path, more):
    result = run("fit", noise_csv, "--method", "bayes", "-o", "out", *more)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("No component was found")
    assert pd.read_csv(tmp_path / "out" / "scores.csv").columns.tolist() == ["sample"]
    assert load_model(tmp_path / "out" / "model.npz").n_components_ == 0
    assert pd.read_csv(tmp_path / "out" / "loadings.csv").empty
    page = tmp_path / "out" / "report.html"
    assert page.exists() == ("--no-report" not in more)


def test_what_is_done_with_a_model_without_components(run, noise_csv, tmp_path):
    run("fit", noise_csv, "--method", "bayes", "-o", "out", "--no-report")
    result = run("transform", "out/model.npz", noise_csv, "-o", "z.csv")
    assert result.exit_code == 0, result.output
    assert pd.read_csv(tmp_path / "z.csv").shape == (80, 1)
    result = run("report", "out/model.npz", noise_csv, "--path")
    assert result.exit_code == 0, result.output
    assert "noise alone describes the data best" in (tmp_path / "report.html").read_text()
    result = run("certify", "out/model.npz", noise_csv)
    assert result.exit_code == 5, result.output
    assert "a model with 0 components" in result.stderr


def test_no_component_of_a_covariance_is_a_result(run, noise_csv, tmp_path):
    run("covariance", noise_csv, "-o", "sum.npz")
    result = run("fit", "sum.npz", "--method", "bayes", "-o", "out")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("No component was found")
    assert (tmp_path / "out" / "report.html").exists()
