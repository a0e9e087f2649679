"""Groups and signs on the command line: from two columns of text to components that keep them."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_wine

from loadstone import SparsePCA, load_model
from loadstone.constraints import Groups, Signs
from loadstone.registry import methods

FAMILIES = {
    "alcohol": "must",
    "malic_acid": "acids",
    "ash": "minerals",
    "alcalinity_of_ash": "minerals",
    "magnesium": "minerals",
    "total_phenols": "phenols",
    "flavanoids": "phenols",
    "nonflavanoid_phenols": "phenols",
    "proanthocyanins": "phenols",
    "color_intensity": "colour",
    "hue": "colour",
    "od280/od315_of_diluted_wines": "colour",
    "proline": "must",
}


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


@pytest.fixture
def groups_csv(tmp_path):
    rows = [f"{feature},{family}" for feature, family in sorted(FAMILIES.items())]
    (tmp_path / "groups.csv").write_text("\n".join(["feature,group", *rows]))
    return "groups.csv"


@pytest.fixture
def signs_csv(tmp_path):
    (tmp_path / "signs.csv").write_text("flavanoids,-\nproline,+\nhue,Negative\nash,+1\n")
    return "signs.csv"


def turned(frame, groups=FAMILIES):
    """Features in rows, with a column of text beside their values."""
    rows = frame.T.set_axis([f"wine{i}" for i in range(frame.shape[0])], axis=1)
    rows.insert(0, "family", [groups.get(name) for name in rows.index])
    return rows


def wine_h5ad(path, frame, **var):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    cells = pd.DataFrame(index=pd.Index([f"cell{i}" for i in range(len(frame))], dtype=object))
    genes = pd.DataFrame(var, index=pd.Index(frame.columns, dtype=object))
    anndata.AnnData(sparse.csr_matrix(frame.to_numpy()), obs=cells, var=genes).write_h5ad(path)


def same_loadings(one, other):
    """Up to the order of loadings that are equal but for rounding."""
    tables = [
        pd.read_csv(folder / "loadings.csv").sort_values(["component", "feature"])
        for folder in (one, other)
    ]
    pd.testing.assert_frame_equal(*(table.reset_index(drop=True) for table in tables), atol=1e-8)


def best_group(frame):
    """The group whose correlation matrix has the largest eigenvalue: the answer for one group."""
    R = frame.corr()
    largest = {}
    for family in set(FAMILIES.values()):
        members = [name for name in frame.columns if FAMILIES[name] == family]
        largest[family] = np.linalg.eigvalsh(R.loc[members, members].to_numpy())[-1]
    return max(largest, key=largest.get)


def test_a_whole_group_is_the_one_of_largest_variance(run, wine, wine_csv, groups_csv, tmp_path):
    result = run("fit", wine_csv, "--groups", groups_csv, "-c", 1, "--standardize", "-o", "out")
    assert result.exit_code == 0, result.output
    best = best_group(wine)
    members = {name for name, family in FAMILIES.items() if family == best}
    loadings = pd.read_csv(tmp_path / "out/loadings.csv")
    assert list(loadings.columns) == ["component", "feature", "loading", "group"]
    assert set(loadings["feature"]) == members
    assert set(loadings["group"]) == {best}
    assert result.stdout.split("\n")[0].endswith("Allowed were components of 1 group.")
    assert best in result.stdout.split("\n", 1)[1]


def test_nonzero_limits_each_group_and_nonnegative_goes_into_the_constraint(
    run, wine, wine_csv, groups_csv, tmp_path
):
    options = ["--n-groups", 2, "-k", 2, "--nonnegative", "--standardize", "-c", 2]
    result = run("fit", wine_csv, "--groups", groups_csv, *options, "-o", "out")
    assert result.exit_code == 0, result.output
    allowed = "non-negative components of 2 groups with at most 2 features each"
    assert f"Allowed were {allowed}." in result.stdout
    model = load_model(tmp_path / "out/model.npz")
    labels = np.array([FAMILIES[name] for name in wine.columns])
    for w in model.components_:
        used, sizes = np.unique(labels[w != 0], return_counts=True)
        assert used.size <= 2
        assert sizes.max() <= 2
        assert w.min() >= 0
    constraint = Groups(labels, 2, per_group=2, nonnegative=True)
    expected = SparsePCA(2, constraint=constraint, standardize=True).fit(wine)
    np.testing.assert_allclose(model.components_, expected.components_)
    assert isinstance(model.constraint, Groups)
    assert model.constraint.labels.tolist() == labels.tolist()
    assert model.constraint.describe() == allowed
    np.testing.assert_allclose(model.fit(wine).components_, expected.components_)


def test_a_column_of_a_turned_table_names_the_groups(run, wine, groups_csv, tmp_path):
    turned(wine).to_csv(tmp_path / "turned.csv")
    wine.to_csv(tmp_path / "straight.csv", index=False)
    refused = run("fit", "turned.csv", "--transpose")
    assert refused.exit_code == 4
    assert "cannot be turned round: family" in refused.stderr
    options = ["-c", 2, "-k", 2, "--standardize"]
    result = run("fit", "turned.csv", "--transpose", "--groups", "family", "-o", "a", *options)
    assert result.exit_code == 0, result.output
    assert "column 'family' gives the groups of the features" in result.stderr
    assert run("fit", "straight.csv", "--groups", groups_csv, "-o", "b", *options).exit_code == 0
    same_loadings(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize("rule", ["mean", "columns"])
@pytest.mark.parametrize("source", ["family", "groups.csv"])
def test_groups_stay_with_their_features_when_others_are_left_out(
    rule, source, run, wine, groups_csv, tmp_path
):
    holes = wine.copy()
    holes["alcohol"] = np.nan
    holes.loc[3, "ash"] = np.nan
    turned(holes).to_csv(tmp_path / "turned.csv")
    options = ["--groups", source, "--missing", rule, "--labels", "malic_acid", "--n-groups", 3]
    result = run("fit", "turned.csv", "--transpose", *options, "--standardize", "-o", "out")
    assert result.exit_code == 0, result.output
    model = load_model(tmp_path / "out/model.npz")
    left = set(FAMILIES) - {"alcohol", "malic_acid"} - ({"ash"} if rule == "columns" else set())
    assert set(model.feature_names_in_) == left
    expected = [FAMILIES[name] for name in model.feature_names_in_]
    assert model.constraint.labels.tolist() == expected
    loadings = pd.read_csv(tmp_path / "out/loadings.csv")
    assert loadings["group"].tolist() == [FAMILIES[name] for name in loadings["feature"]]


def test_a_column_of_var_names_the_groups(run, wine, wine_csv, groups_csv, tmp_path):
    wine_h5ad(tmp_path / "t.h5ad", wine, family=pd.Series(FAMILIES)[wine.columns].to_numpy(object))
    options = ["-c", 2, "-k", 2, "--n-groups", 2, "--standardize", "-q"]
    assert run("fit", "t.h5ad", "--groups", "family", "-o", "a", *options).exit_code == 0
    assert run("fit", wine_csv, "--groups", groups_csv, "-o", "b", *options).exit_code == 0
    same_loadings(tmp_path / "a", tmp_path / "b")
    answer = json.loads(run("certify", "a/model.npz", "t.h5ad", "--json").stdout)
    for component in answer["components"]:
        assert component["value"] <= component["upper_bound"] * (1 + 1e-9)


def test_data_without_names_are_called_as_in_the_results(run, wine, tmp_path):
    np.save(tmp_path / "t.npy", wine.to_numpy()[:, :4])
    (tmp_path / "g.tsv").write_text("x3\tb\nx0\ta\nx1\ta\nx2\tb\n")
    (tmp_path / "s.csv").write_text("x3,-\n")
    result = run("fit", "t.npy", "--groups", "g.tsv", "-c", 1, "--standardize", "-o", "g")
    assert result.exit_code == 0, result.output
    loadings = pd.read_csv(tmp_path / "g/loadings.csv")
    pairs = set(zip(loadings["feature"], loadings["group"], strict=True))
    assert pairs in [{("x0", "a"), ("x1", "a")}, {("x2", "b"), ("x3", "b")}]
    result = run("fit", "t.npy", "--signs", "s.csv", "-k", "all", "-c", 1, "-o", "s")
    assert result.exit_code == 0, result.output
    assert load_model(tmp_path / "s/model.npz").components_[0, 3] <= 0


def test_signs_are_kept(run, wine, wine_csv, signs_csv, tmp_path):
    result = run(
        "fit", wine_csv, "--signs", signs_csv, "-c", 2, "-k", 6, "--standardize", "-o", "s"
    )
    assert result.exit_code == 0, result.output
    assert "Allowed were components of 6 features with 4 given signs." in result.stdout
    model = load_model(tmp_path / "s/model.npz")
    table = pd.DataFrame(model.components_, columns=wine.columns)
    assert (table[["flavanoids", "hue"]] <= 0).all(axis=None)
    assert (table[["proline", "ash"]] >= 0).all(axis=None)
    assert (model.cardinality_ <= 6).all()
    pattern = {"flavanoids": -1, "proline": 1, "hue": -1, "ash": 1}
    expected = SparsePCA(2, constraint=Signs(pattern, 6), standardize=True).fit(wine)
    np.testing.assert_allclose(model.components_, expected.components_)
    np.testing.assert_allclose(model.fit(wine).components_, expected.components_)
    assert "group" not in pd.read_csv(tmp_path / "s/loadings.csv").columns


@pytest.mark.parametrize(("size", "expected"), [([], 5), (["-k", "0.5"], 6), (["-k", "all"], 13)])
def test_the_size_beside_signs(size, expected, run, wine_csv, signs_csv, tmp_path):
    result = run("fit", wine_csv, "--signs", signs_csv, *size, "-c", 1, "-o", "s", "-q")
    assert result.exit_code == 0, result.output
    assert load_model(tmp_path / "s/model.npz").constraint.n_nonzero == expected


def test_json_and_the_report_quote_the_constraint_in_words(run, wine_csv, groups_csv, tmp_path):
    options = ["--groups", groups_csv, "-k", 2, "-c", 2, "--standardize", "-o", "out"]
    summary = json.loads(run("fit", wine_csv, *options, "--json", "--certify", "instant").stdout)
    words = "components of 1 group with at most 2 features each"
    assert summary["constraint"] == words
    assert summary["parameters"]["constraint"] == words
    for component in summary["components"]:
        for entry in component["loadings"]:
            assert entry["group"] == FAMILIES[entry["feature"]]
        assert words in component["certificate"]["sentence"]
    page = (tmp_path / "out/report.html").read_text()
    assert f"Allowed were {words}." in page
    assert "array(" not in page


def test_without_groups_nothing_is_said_of_them(run, wine_csv, tmp_path):
    summary = json.loads(run("fit", wine_csv, "-c", 1, "--json", "-o", "out").stdout)
    assert summary["constraint"] is None
    assert all("group" not in entry for entry in summary["components"][0]["loadings"])
    assert "Allowed were" not in summary["headline"]


@pytest.mark.parametrize("kind", ["groups", "signs", "turned"])
def test_models_with_a_constraint_are_certified_and_reported(
    kind, run, wine, wine_csv, groups_csv, signs_csv, tmp_path
):
    turned(wine).to_csv(tmp_path / "turned.csv")
    data, asked = {
        "groups": ([wine_csv], ["--groups", groups_csv, "-k", 3]),
        "signs": ([wine_csv], ["--signs", signs_csv]),
        "turned": (["turned.csv", "--transpose"], ["--groups", "family"]),
    }[kind]
    assert run("fit", *data, *asked, "-c", 2, "--standardize", "-o", "m", "-q").exit_code == 0
    proven = run("certify", "m/model.npz", *data, "--json")
    assert proven.exit_code == 0, proven.output
    words = load_model(tmp_path / "m/model.npz").constraint.describe()
    for component in json.loads(proven.stdout)["components"]:
        assert component["value"] <= component["upper_bound"] * (1 + 1e-9)
        assert words in component["sentence"]
    result = run("report", "m/model.npz", *data)
    assert result.exit_code == 0, result.output
    assert f"Allowed were {words}." in result.stdout
    assert ('"group":' in (tmp_path / "report.html").read_text()) == (kind != "signs")
    assert run("transform", "m/model.npz", *data).exit_code == 0


@pytest.mark.parametrize("method", methods())
@pytest.mark.parametrize("flag", ["groups", "signs"])
def test_every_method_serves_a_constraint_or_says_why_not(
    method, flag, run, wine_csv, groups_csv, signs_csv, tmp_path
):
    file = {"groups": groups_csv, "signs": signs_csv}[flag]
    result = run("fit", wine_csv, "--method", method, f"--{flag}", file, "-c", 1, "-o", "out")
    if method in {"sparse", "threshold"}:
        assert result.exit_code == 0, result.output
        model = load_model(tmp_path / "out/model.npz")
        bound = model.constraint.bound_to(13)
        assert bound.broken_rule(model.components_[0]) is None
        return
    assert result.exit_code == 2, result.output
    error = result.stderr.rpartition("error: ")[2]
    assert "SparsePCA" in error or f"--{flag} is no option of method {method!r}" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--groups", "groups.csv", "--signs", "signs.csv"], 2, "give one of them"),
        (["--signs", "signs.csv", "--nonnegative"], 2, "leave out --nonnegative"),
        (["--n-groups", "2"], 2, "add --groups"),
        (["--groups", "groups.csv", "--n-groups", "6"], 2, "more than the 5 group(s) there are"),
        (["--groups", "groups.csv", "--n-groups", "0"], 2, "--n-groups"),
        (["--groups", "groups.csv", "-k", "0.5"], 2, "--nonzero 0.5 with --groups has to be"),
        (["--groups", "groups.csv", "-k", "1,all,3"], 2, "--nonzero 1,all,3 with --groups"),
        (["--groups", "groups.csv", "-k", "0"], 4, "per_group=0 must be a whole number"),
        (["--groups", "groups.csv", "--path"], 2, "leave out --path or --groups"),
        (["--groups", "cultivar"], 2, "is a column about samples"),
        (["--groups", "nothing"], 3, "neither a file nor a column that describes features"),
        (["--signs", "signs.csv", "-k", "1,2,3"], 2, "one size for all components"),
        (["--signs", "signs.csv", "-k", "99"], 2, "--nonzero 99 must be between 1 and 13"),
        (["--signs", "signs.csv", "--orthogonality", "uncorrelated"], 2, "both signs"),
        (["--signs", "nothing.csv"], 3, "there is no file nothing.csv"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(
    options, code, words, run, wine_csv, groups_csv, signs_csv, tmp_path
):
    result = run("fit", wine_csv, *options, "-o", "out")
    assert result.exit_code == code, result.output
    assert words in " ".join(result.stderr.replace("│", " ").split())
    assert not (tmp_path / "out").exists()


def test_features_without_a_group_are_named(run, wine, wine_csv, tmp_path):
    rows = [f"{name},{FAMILIES[name]}" for name in FAMILIES if name not in {"ash", "hue"}]
    (tmp_path / "g.csv").write_text("\n".join([*rows, "vintage,must", "price,trade"]))
    result = run("fit", wine_csv, "--groups", "g.csv")
    assert result.exit_code == 4
    assert "g.csv gives no group to 2 of 13 feature(s): ash, hue; write one" in result.stderr
    turned(wine, {**FAMILIES, "ash": None}).to_csv(tmp_path / "turned.csv")
    result = run("fit", "turned.csv", "--transpose", "--groups", "family")
    assert result.exit_code == 4
    assert "column 'family' gives no group to 1 of 13 feature(s): ash" in result.stderr


def test_features_the_data_lacks_are_noted(run, wine_csv, groups_csv, tmp_path):
    with (tmp_path / groups_csv).open("a") as file:
        file.write("\nvintage,must\nprice,trade\n")
    result = run("fit", wine_csv, "--groups", groups_csv, "-c", 1, "-o", "out")
    assert result.exit_code == 0, result.output
    note = "2 feature(s) of groups.csv are not in the data: vintage, price"
    assert note in result.stderr
    assert note in (tmp_path / "out/report.html").read_text()


def test_a_column_of_numbers_is_no_column_of_groups(run, wine, tmp_path):
    table = turned(wine)
    table.insert(1, "cluster", [1, 2, 3] * 4 + [1])
    table.to_csv(tmp_path / "turned.csv")
    result = run("fit", "turned.csv", "--transpose", "--groups", "cluster")
    assert result.exit_code == 2
    assert "is a column of numbers, so it was read as a sample" in result.stderr
