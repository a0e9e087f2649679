"""Which columns are features, and which have another role."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from loadstone import read_table
from loadstone.files.errors import ColumnError, TableError

NAMES = ["id", "sex", "gene_a", "gene_b", "age, years", "gene_c", "w:1"]
ROWS = [
    ["007", "f", 1.0, 2.0, 30, 0.0, 2],
    ["008", "m", 4.0, 1.0, 41, 3.0, 1],
    ["011", "f", 2.0, 5.0, 52, 1.0, 1],
    ["012", "m", 3.0, 0.0, 23, 7.0, 3],
]


@pytest.fixture
def path(tmp_path):
    pd.DataFrame(ROWS, columns=NAMES).to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


@pytest.mark.parametrize(
    ("columns", "drop", "left"),
    [
        (None, None, ["id", "gene_a", "gene_b", "age, years", "gene_c", "w:1"]),
        ("gene_*", None, ["gene_a", "gene_b", "gene_c"]),
        (["gene_?"], "gene_b", ["gene_a", "gene_c"]),
        ("gene_a:ages, gene_c", None, None),
        (["gene_a:age, years"], None, ["gene_a", "gene_b", "age, years"]),
        ("gene_a,gene_c", None, ["gene_a", "gene_c"]),
        ("age, years", None, ["age, years"]),
        ("w:1", None, ["w:1"]),
        (["gene_b:"], "w:1", ["gene_b", "age, years", "gene_c"]),
        (":gene_b", None, ["id", "gene_a", "gene_b"]),
        ("gene_b:gene_a", None, ["gene_a", "gene_b"]),
        (None, ["id", "gene_[ab]", "sex"], ["age, years", "gene_c", "w:1"]),
        (["gene_c", "gene_a"], None, ["gene_a", "gene_c"]),
    ],
)
def test_names_ranges_and_patterns(columns, drop, left, path):
    if left is None:
        with pytest.raises(ColumnError, match="'ages' is a name that no column has"):
            read_table(path, columns=columns, drop=drop)
        return
    table = read_table(path, columns=columns, drop=drop)
    assert list(table.feature_names) == left
    whole = pd.DataFrame(ROWS, columns=NAMES)[left].astype(float)
    np.testing.assert_array_equal(table.X, whole)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": "gene_aa"}, "columns='gene_aa'.*did you mean 'gene_a'"),
        ({"drop": "SEXX"}, "drop='SEXX'.*did you mean 'sex'"),
        ({"drop": "protein_*"}, "is a pattern that fits no column; there are id"),
        ({"columns": "sex"}, "no feature of columns='sex' is left"),
        ({"columns": "se*"}, "is left.*name a column of numbers; sex holds words such as 'f'"),
        ({"drop": ["id:age, years", "gene_c:"]}, "is left of id.*; name a column of numbers$"),
        ({"drop": "*"}, "no feature without drop='\\*' is left"),
        ({"index": "idd"}, "index='idd'.*did you mean 'id'"),
        ({"weights": "w"}, "weights='w': 'w' is a name that no column has"),
        ({"weights": "sex"}, "weights='sex' is no column of numbers; its first cell is 'f'"),
        ({"labels": "sex", "index": "sex"}, "name one column; give each its own"),
    ],
)
def test_what_is_not_there_is_refused_with_the_nearest(options, words, path):
    with pytest.raises(ColumnError, match=words):
        read_table(path, **options)


def test_roles_take_columns_away_from_the_features(path):
    table = read_table(path, index="id", labels="sex", weights="w:1", columns="gene_*")
    assert list(table.sample_names) == ["007", "008", "011", "012"]
    assert list(table.labels) == ["f", "m", "f", "m"]
    np.testing.assert_array_equal(table.weights, [2, 1, 1, 3])
    assert list(table.feature_names) == ["gene_a", "gene_b", "gene_c"]
    numbered = read_table(path, labels="age, years")
    assert list(numbered.labels) == ["30", "41", "52", "23"]
    assert "age, years" not in numbered.feature_names


def test_no_index_keeps_the_first_column(tmp_path):
    (tmp_path / "t.csv").write_text(",a\n5,1\n6,2\n9,3\n")
    assert read_table(tmp_path / "t.csv").X.shape == (3, 1)
    table = read_table(tmp_path / "t.csv", index="none")
    np.testing.assert_array_equal(table.X, [[5, 1], [6, 2], [9, 3]])


def test_bad_weights_are_explained(tmp_path):
    (tmp_path / "t.csv").write_text("a,w\n1,2\n2,-1\n3,1\n")
    with pytest.raises(TableError, match=r"weights='w' holds -1 in row 2.*at least 0"):
        read_table(tmp_path / "t.csv", weights="w")


def test_missing_values_are_filled_by_weighted_means(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,w\n1,5,3\n5,6,1\n,7,2\n")
    table = read_table(tmp_path / "t.csv", weights="w")
    assert table.X[2, 0] == (3 * 1 + 5) / 4


def test_logarithms(tmp_path):
    X = np.array([[0.0, 3.0], [7.0, 0.0], [1.0, 1.0]])
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(X))
    np.save(tmp_path / "d.npy", X)
    np.testing.assert_allclose(read_table(tmp_path / "s.npz", log1p=True).X.toarray(), np.log1p(X))
    np.testing.assert_allclose(read_table(tmp_path / "d.npy", log1p=True).X, np.log1p(X))
    np.save(tmp_path / "d.npy", X - 1)
    with pytest.raises(TableError, match=r"at least 0, and -1 is the smallest; .* x0, x1"):
        read_table(tmp_path / "d.npy", log1p=True)


def test_features_without_names_are_numbered(tmp_path):
    np.save(tmp_path / "t.npy", np.arange(12.0).reshape(3, 4) ** 2)
    np.testing.assert_array_equal(
        read_table(tmp_path / "t.npy", columns="x1:x2").X, read_table(tmp_path / "t.npy").X[:, 1:3]
    )


def test_rows_of_a_transposed_table_are_named_by_its_index(tmp_path):
    (tmp_path / "t.csv").write_text("chip,gene,s1,s2,s3\n1,A,1,2,3\n2,B,4,6,5\n3,C,7,9,8\n")
    table = read_table(tmp_path / "t.csv", transpose=True, index="gene", drop="B")
    assert list(table.feature_names) == ["A", "C"]
    assert list(table.sample_names) == ["chip", "s1", "s2", "s3"]


COUNTS = (
    '# Program:featureCounts v2.0.3; Command:"featureCounts" "-a" "genes.gtf" "s1.bam" "s2.bam"\n'
    "Geneid\tChr\tStart\tEnd\tStrand\tLength\ts1.bam\ts2.bam\ts3.bam\n"
    "g1\tchr1;chr1\t11;90\t50;99\t+;+\t48\t5\t0\t2\n"
    "g2\tchr1\t200\t300\t-\t101\t7\t1\t9\n"
    "Length\tchr2\t10\t35\t+\t26\t0\t4\t3\n"
    "g4\tchr2\t80\t95\t-\t16\t8\t6\t1\n"
)
TEXTS = "Chr,Start,End,Strand"


@pytest.mark.parametrize("drop", [f"{TEXTS},Len*", [*TEXTS.split(","), "Len*"], "S*,*h*,En?"])
def test_columns_of_a_transposed_table_that_are_no_samples_may_be_left_out(drop, tmp_path):
    (tmp_path / "t.txt").write_text(COUNTS.replace("Length\tchr2", "g3\tchr2"))
    table = read_table(tmp_path / "t.txt", transpose=True, drop=drop)
    assert list(table.sample_names) == ["s1.bam", "s2.bam", "s3.bam"]
    np.testing.assert_array_equal(table.X, [[5, 7, 0, 8], [0, 1, 4, 6], [2, 9, 3, 1]])
    assert any(note.startswith("left out, no samples: ") for note in table.notes)


def test_a_feature_comes_before_a_column_of_its_name(tmp_path):
    (tmp_path / "t.txt").write_text(COUNTS)
    table = read_table(tmp_path / "t.txt", transpose=True, drop=f"{TEXTS},Length,g1")
    assert list(table.feature_names) == ["g2", "g4"]
    assert list(table.sample_names) == ["Length", "s1.bam", "s2.bam", "s3.bam"]


def test_sentences_lead_to_the_columns_that_are_no_samples(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text(COUNTS)
    with pytest.raises(TableError, match=f"Strand; drop='{TEXTS}' leaves them out"):
        read_table(path, transpose=True)
    table = read_table(path, transpose=True, drop=TEXTS)
    assert (
        "samples that look like descriptions of features: Length; drop='Length' leaves them out"
        in table.notes
    )
    for drop, match in [
        ("Chr:Length", "range of columns, .* one by one"),
        (f"{TEXTS},Lengthy", "'Lengthy' is a name that no column has; did you mean 'Length'"),
        (f"{TEXTS},*.bam,L?ngth*", "leaves no column"),
    ]:
        (tmp_path / "t.txt").write_text(COUNTS.replace("Length\tchr2", "g3\tchr2"))
        with pytest.raises(ColumnError, match=match):
            read_table(path, transpose=True, drop=drop)


def test_arrays_that_are_turned_have_no_columns_to_leave_out(tmp_path):
    np.save(tmp_path / "t.npy", np.arange(12.0).reshape(3, 4) ** 2)
    assert read_table(tmp_path / "t.npy", transpose=True, drop="x2").X.shape == (4, 2)
    with pytest.raises(ColumnError, match="'x3' is a name that no column has"):
        read_table(tmp_path / "t.npy", transpose=True, drop="x3")


ANSWERS = "id,q1,q2,sex\n1,agree,never,f\n4,disagree,often,m\n9,agree,never,f\n7,agree,often,m\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {},
            "left out, not numbers, though they could serve as labels with labels='NAME': q1, q2, s",
        ),
        ({"labels": "sex"}, "left out, not numbers: q1, q2"),
        ({"labels": "none"}, "left out, not numbers: q1, q2, sex"),
        ({"columns": "id,q1", "labels": "q2"}, "left out, not numbers: q1, sex"),
        ({"drop": "q?"}, "column 'sex' is used as labels"),
    ],
)
def test_columns_of_words_are_said_to_be_left_out_whoever_names_the_labels(
    options, words, tmp_path
):
    (tmp_path / "t.csv").write_text(ANSWERS)
    table = read_table(tmp_path / "t.csv", index="none", **options)
    assert list(table.feature_names) == ["id"]
    assert [note for note in table.notes if note.startswith(words)]


def test_answers_in_words_are_no_features_and_the_error_says_so(tmp_path):
    (tmp_path / "t.csv").write_text(ANSWERS)
    with pytest.raises(ColumnError, match="q1, q2, sex hold words such as 'agree', which"):
        read_table(tmp_path / "t.csv", index="none", drop="id")
    with pytest.raises(ColumnError, match="; q2 holds words such as 'never', which"):
        read_table(tmp_path / "t.csv", index="none", columns="q2")
