"""Tables as people have them: read right, or refused with a sentence that leads on."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

import loadstone
from loadstone import read_table
from loadstone.files.errors import TableError
from workbook_writer import write_xlsx

RNG = np.random.default_rng(0)


def said(table):
    return " | ".join(table.notes)


def test_a_european_csv(tmp_path):
    rows = ["Nord;1.234,50;1.200;12,5 %", "Süd;987,25;950;8 %", "Ost;-12,00;1.000.000;100 %"]
    text = "\n".join(["Region;Umsatz;Menge;Quote", *rows])
    (tmp_path / "t.csv").write_bytes(text.encode("cp1252"))
    table = read_table(tmp_path / "t.csv")
    np.testing.assert_allclose(
        table.X, [[1234.5, 1200, 0.125], [987.25, 950, 0.08], [-12, 1e6, 1]], rtol=1e-15
    )
    assert list(table.feature_names) == ["Umsatz", "Menge", "Quote"]
    assert list(table.sample_names) == ["Nord", "Süd", "Ost"]
    assert "'Umsatz': cells such as '1.234,50' were read as 1234.5" in said(table)


def test_a_row_of_units_is_no_sample(tmp_path):
    (tmp_path / "t.csv").write_text("wine,alcohol,ash\n,vol%,g/l\na,12.5,2\nb,13,2.5\nc,11,1\n")
    table = read_table(tmp_path / "t.csv")
    assert list(table.feature_names) == ["alcohol vol%", "ash g/l"]
    np.testing.assert_array_equal(table.X, [[12.5, 2], [13, 2.5], [11, 1]])


@pytest.mark.parametrize("lost", ["n.d.", "failed", "see note"])
def test_a_sample_of_words_is_no_heading(lost, tmp_path):
    rows = ["site,lead,zinc,iron", "a,1,2,3", f"b,{lost},{lost},{lost}"]
    rows += [f"{name},4,5,{i}" for i, name in enumerate("cdefghijkl", 6)]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    table = read_table(tmp_path / "t.csv", missing="keep")
    assert list(table.feature_names) == ["lead", "zinc", "iron"]
    assert list(table.sample_names) == list("abcdefghijkl")
    np.testing.assert_array_equal(table.X[:3], [[1, 2, 3], [np.nan] * 3, [4, 5, 6]])


WAVES = [f"{1100.5 + 4 * i}" for i in range(8)]
SPECTRA = [[f"{x:.4f}" for x in row] for row in np.random.default_rng(3).random((9, 8))]


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
@pytest.mark.parametrize(
    ("first", "names", "n"),
    [
        (["sample", *WAVES], True, 8),
        (["Sample ID", *WAVES[:2]], True, 2),
        (["wine", *WAVES], True, 8),
        (["wine", *WAVES[::-1]], True, 8),
        (WAVES, False, 8),
        (["wine", "2019", "2020", "2021"], True, 3),
        (["2019", "2020", "2021"], False, 3),
    ],
)
def test_numbers_that_name_columns_are_no_sample(first, names, n, ending, tmp_path):
    rows = [[f"w{i}", *row[:n]] if names else row[:n] for i, row in enumerate(SPECTRA)]
    if ending == "csv":
        (tmp_path / "t.csv").write_text("\n".join(",".join(row) for row in [first, *rows]))
    else:
        cells = [[float(c) if c[0].isdigit() else c for c in row] for row in [first, *rows]]
        write_xlsx(tmp_path / "t.xlsx", {"data": cells})
    table = read_table(tmp_path / f"t.{ending}")
    assert list(table.feature_names) == first[names:]
    assert table.X.shape == (9, n)
    assert f"numbers of the first row were taken for names: {first[int(names)]}" in said(table)


@pytest.mark.parametrize(
    "rows",
    [
        # Features that rise in every sample, too few to tell, and years of every sample.
        [[i + j * j for j in range(8)] for i in (3, 1, 2)],
        [[1, 2, 3], [5, 4, 6], [2, 9, 1]],
        [[1990, 2010], [1985, 2001], [1970, 1969]],
    ],
)
def test_numbers_without_names_are_samples(rows, tmp_path):
    (tmp_path / "t.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    table = read_table(tmp_path / "t.csv")
    assert table.feature_names is None
    np.testing.assert_array_equal(table.X, rows)


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
@pytest.mark.parametrize("name", ["sample{}", "Sample {}", "row_{}", "ID-{}", "sample ({})"])
@pytest.mark.parametrize("numbers", ["123456789", "abcdefghi"])
def test_samples_that_are_called_samples_are_no_heading(name, numbers, ending, tmp_path):
    called = [name.format(n) for n in numbers]
    if ending == "csv":
        lines = [",".join([who, *row]) for who, row in zip(called, SPECTRA, strict=True)]
        (tmp_path / "t.csv").write_text("\n".join(lines))
    else:
        cells = [[who, *map(float, row)] for who, row in zip(called, SPECTRA, strict=True)]
        write_xlsx(tmp_path / "t.xlsx", {"data": cells})
    table = read_table(tmp_path / f"t.{ending}")
    assert table.feature_names is None
    assert list(table.sample_names) == called
    np.testing.assert_array_equal(table.X, np.array(SPECTRA, dtype=float))


@pytest.mark.parametrize("corner", ["sample", "Sample ID", "Row names", "sample / nm"])
def test_a_word_for_the_names_of_rows_may_be_part_of_them(corner, tmp_path):
    waves = ["410", "620", "530"]
    rows = [
        [f"{'bottle' if '/' in corner else 'sample'} {i}", *row[:3]]
        for i, row in enumerate(SPECTRA)
    ]
    (tmp_path / "t.csv").write_text("\n".join(",".join(row) for row in [[corner, *waves], *rows]))
    table = read_table(tmp_path / "t.csv")
    assert list(table.feature_names) == waves
    assert table.X.shape == (9, 3)


def test_a_table_of_the_world_bank(tmp_path):
    lines = ['"Data Source","Indicators",', '"Last Updated Date","2024-03-28",']
    lines += ['"Country Name","Country Code","1960","1961","1962",']
    lines += [f'"{c}","{c[:3]}","{i}.5","{"" if i == 2 else i}","{i * i}",' for i, c in
              enumerate(["Aruba", "Kenya", "Chad", "Peru", "Fiji"])]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n\n".join(lines))
    table = read_table(tmp_path / "t.csv")
    assert list(table.feature_names) == ["1960", "1961", "1962"]
    assert list(table.sample_names) == ["Aruba", "Kenya", "Chad", "Peru", "Fiji"]
    np.testing.assert_array_equal(table.X[:, 0], [0.5, 1.5, 2.5, 3.5, 4.5])
    assert "left out, not numbers: Country Code" in said(table)
    # The empty column behind the last delimiter is left out, and not counted.
    assert "1 missing value(s) in 1 column(s) were filled" in said(table)


def test_years_between_two_rows_of_words_are_names(tmp_path):
    (tmp_path / "t.csv").write_text(
        ",sales,,costs,\n,2019,2020,2019,2020\n,EUR,EUR,EUR,EUR\na,1,2,3,4\nb,5,7,6,8\nc,1,1,2,0\n"
    )
    table = read_table(tmp_path / "t.csv")
    assert list(table.feature_names)[:2] == ["sales 2019 EUR", "sales 2020 EUR"]
    assert table.X.shape == (3, 4)


def test_a_total_without_a_name_is_recognised_by_its_sums(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\n1,2,0\n3,4,0\n5,5,1\n7,1,2\n16,12,3\n")
    table = read_table(tmp_path / "t.csv")
    assert table.X.shape == (4, 3)
    assert "totals are no samples: row 5" in said(table)


@pytest.mark.parametrize(
    ("encoding", "marked"),
    [
        ("utf-16", True),
        ("utf-16-le", True),
        ("utf-16-be", True),
        ("utf-16-le", False),
        ("utf-16-be", False),
        ("utf-32", True),
        ("utf-8-sig", True),
        ("cp1252", False),
    ],
)
def test_utf_16_and_others(encoding, marked, tmp_path):
    text = "größe\tbreite\n1.5\t2\n2.5\t3\n0\t4\n"
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    (tmp_path / "t.csv").write_bytes(mark * marked + text.encode(encoding))
    table = read_table(tmp_path / "t.csv")
    assert list(table.feature_names) == ["größe", "breite"]
    np.testing.assert_array_equal(table.X, [[1.5, 2], [2.5, 3], [0, 4]])


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (['"1,234.5"', "999", '"12,345,678"'], [1234.5, 999, 12345678]),
        (['"$1,234"', "$5.50", "($3.00)"], [1234, 5.5, -3]),
        (["1 234 567", "89", "1\N{NO-BREAK SPACE}000"], [1234567, 89, 1000]),
        (["1'234.50", "10", "2'000'000"], [1234.5, 10, 2e6]),
        (['"1,5"', '"2,25"', '"-3,0"'], [1.5, 2.25, -3]),
        (["12%", "3.5 %", "-100%"], [0.12, 0.035, -1]),
        (["\N{MINUS SIGN}5", "7", "3-"], [-5, 7, -3]),
        (["12 EUR", "€ 7", "n/a"], None),
        (["5 €", "7 €", "n/a"], [5, 7, np.nan]),
        (['"12,34,567"', '"1,000"', "50"], [1234567, 1000, 50]),
    ],
)
def test_numbers_as_people_write_them(cells, values, tmp_path):
    rows = "".join(f"{i},{cell}\n" for i, cell in enumerate(cells, 5))
    (tmp_path / "t.csv").write_text(f"x,v\n{rows}", encoding="utf-8")
    table = read_table(tmp_path / "t.csv", missing="keep")
    if values is None:
        assert "mixes currencies (EUR, €)" in said(table)
        assert list(table.feature_names) == ["x"]
    else:
        np.testing.assert_allclose(table.X[:, 1], values, rtol=1e-15)
        assert "column 'v': cells such as" in said(table)


def test_percentages_among_plain_numbers_are_not_guessed(tmp_path):
    (tmp_path / "t.csv").write_text("x,v\n1,5%\n2,7\n3,9%\n")
    table = read_table(tmp_path / "t.csv")
    assert "'v' mixes percentages with plain numbers, left out" in said(table)


def test_dates_ids_and_years_are_named_with_the_way_out(tmp_path):
    n = 12
    frame = pd.DataFrame(
        {
            "height": RNG.random(n),
            "customer_id": RNG.permutation(np.arange(40_000, 40_000 + n)),
            "year": RNG.integers(1990, 2020, n),
            "day": [20240100 + i for i in range(1, n + 1)],
            "when": [f"{i:02d}.03.2024" for i in range(1, n + 1)],
            "count": RNG.integers(0, 50, n),
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    assert "look like identifiers: customer_id; drop='customer_id' leaves them out" in said(table)
    assert "look like years: year; drop='year'" in said(table)
    assert "look like dates: day; drop='day'" in said(table)
    assert "left out, dates: when" in said(table)
    assert "count" not in said(table)
    less = read_table(tmp_path / "t.csv", drop=["customer_id", "year", "day", "when"])
    assert list(less.feature_names) == ["height", "count"]
    assert less.notes == ()


def test_12582_columns(tmp_path):
    X = np.round(RNG.standard_normal((8, 12_582)), 3)
    names = [f"g{i}_at" for i in range(12_582)]
    frame = pd.DataFrame(X, columns=names, index=[f"p{i}" for i in range(8)])
    frame.insert(0, "kind", list("abababab"))
    frame.to_csv(tmp_path / "t.csv")
    table = read_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(table.X, X)
    assert list(table.feature_names) == names
    assert list(table.labels) == list("abababab")
    few = read_table(tmp_path / "t.csv", columns="g10_at:g12_at,g125??_at")
    assert few.X.shape == (8, 3 + 82)


@pytest.mark.parametrize("kind", ["parquet", "feather", "arrow", "arrows"])
def test_parquet_feather_and_arrow(kind, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import feather, ipc, parquet

    X = RNG.standard_normal((6, 2))
    data = pa.table(
        {
            "x": X[:, 0],
            "n": pa.array([1, None, 3, 4, 5, 6], pa.int64()),
            "flag": [True, False, True, True, False, False],
            "kind": pa.array(list("aabbab")).dictionary_encode(),
            "when": pa.array([date(2024, 1, 1 + i) for i in range(6)]),
            "price": [f"$1,00{i}" for i in range(6)],
            "list": [[i] for i in range(6)],
        }
    )
    path = tmp_path / f"t.{kind}"
    if kind == "parquet":
        parquet.write_table(data, path)
    elif kind == "feather":
        feather.write_feather(data, path)
    else:
        with (ipc.new_file if kind == "arrow" else ipc.new_stream)(path, data.schema) as writer:
            writer.write_table(data)
    table = read_table(path, missing="keep")
    expected = np.column_stack(
        [X[:, 0], [1, np.nan, 3, 4, 5, 6], [1, 0, 1, 1, 0, 0], 1000 + np.arange(6)]
    )
    np.testing.assert_array_equal(table.X, expected)
    assert list(table.feature_names) == ["x", "n", "flag", "price"]
    assert list(table.labels) == list("aabbab")
    assert "dates: when" in said(table)


@pytest.mark.parametrize(
    "text",
    [
        "a b  c\n1 2   3\n4 5 6\n 7 8 10\n",
        "# measured on Monday\n# by hand\na,b,c\n1,2,3\n4,5,6\n7,8,10\n",
        "Exported table\n\na;b;c\n1;2;3\n4;5;6\n7;8;10\n\nSource: own counts;;\n",
        "a|b|c\n1|2|3\n4|5|6\n7|8|10\nall of it is estimated||\n",
        "Results, by hand\na;b;c\n1;2;3\n4;5;6\n7;8;10\n",
        "Results; by hand\na,b,c\n1,2,3\n4,5,6\n7,8,10\n",
        '# counts v2; "counts" "-a"\na\tb\tc\n1\t2\t3\n4\t5\t6\n7\t8\t10\n',
        "# Monday, Tuesday, or, even, later\n# by hand\na,b,c\n1,2,3\n4,5,6\n7,8,10\n",
    ],
)
def test_blanks_titles_and_remarks(text, tmp_path):
    (tmp_path / "t.txt").write_text(text)
    table = read_table(tmp_path / "t.txt")
    np.testing.assert_array_equal(table.X, [[1, 2, 3], [4, 5, 6], [7, 8, 10]])
    assert list(table.feature_names) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("header", "n_above"),
    [("a{}b{}c", 0), ("by Anna, in May\na{}b{}c", 1), ("by Anna\non Monday\na{}b{}c", 2)],
)
@pytest.mark.parametrize("delimiter", [" ", ",", ";", "\t", ", "])
@pytest.mark.parametrize("n", [2, 9])
def test_what_savetxt_writes(n, delimiter, header, n_above, tmp_path):
    X = np.random.default_rng(n).normal(size=(n, 3))
    header = header.format(delimiter, delimiter)
    np.savetxt(tmp_path / "t.csv", X, delimiter=delimiter, header=header)
    table = read_table(tmp_path / "t.csv")
    np.testing.assert_allclose(table.X, X, rtol=1e-14)
    assert list(table.feature_names) == ["a", "b", "c"]
    assert table.sample_names is None
    above = ", ".join(f"# {line}" for line in header.split("\n")[:n_above])
    assert table.notes == ((f"left out above the table: {above}",) if n_above else ())


@pytest.mark.parametrize("delimiter", [" ", ",", "\t"])
@pytest.mark.parametrize(
    ("above", "left_out"),
    [
        ('# pipes of 5" in May', True),
        ('# pipes of 5" in May\n# a{0}b{0}c', True),
        ('# a"{0}b{0}c', False),
        ('# "pipes" of 5"\n# and of 6"\n# a{0}b{0}c', True),
    ],
)
def test_a_sign_for_inches_above_a_table_begins_no_quotation(above, left_out, delimiter, tmp_path):
    lines = [above.format(delimiter), *(delimiter.join(row) for row in ("123", "457", "981"))]
    (tmp_path / "t.txt").write_text("\n".join(lines))
    table = read_table(tmp_path / "t.txt")
    np.testing.assert_array_equal(table.X, [[1, 2, 3], [4, 5, 7], [9, 8, 1]])
    assert any(note.startswith("left out above the table") for note in table.notes) == left_out


def test_names_without_their_mark_have_roles(tmp_path):
    text = "# kind,a,b\n007,1,2\n008,2,1\n007,4,9\n"
    (tmp_path / "t.csv").write_text(text)
    assert list(read_table(tmp_path / "t.csv", labels="kind").labels) == ["007", "008", "007"]
    (tmp_path / "t.txt").write_text(text.replace(",", " "))
    assert list(read_table(tmp_path / "t.txt", labels="kind").labels) == ["007", "008", "007"]
    (tmp_path / "t.csv").write_text('"# a","b, c",d\n1,2,3,\n2,1,4,\n4,9,5,\n')
    assert list(read_table(tmp_path / "t.csv").feature_names) == ["a", "b, c", "d"]


@pytest.mark.parametrize("first", ["# of rooms", "#rooms", "#"])
def test_a_mark_that_belongs_to_a_name_stays(first, tmp_path):
    (tmp_path / "t.csv").write_text(f"{first},b\n3,2.5\n7,1.5\n5,4\n")
    table = read_table(tmp_path / "t.csv", index="none")
    assert list(table.feature_names) == [first, "b"]


@pytest.mark.parametrize("remark", ["of it all", "counts by hand of all in May", "x"])
def test_remarks_above_numbers_between_blanks(remark, tmp_path):
    (tmp_path / "t.txt").write_text(f"# {remark}\n1 2 3\n2 1 4\n4 9 5\n")
    table = read_table(tmp_path / "t.txt")
    np.testing.assert_array_equal(table.X, [[1, 2, 3], [2, 1, 4], [4, 9, 5]])
    assert table.feature_names is None
    assert table.notes == (f"left out above the table: # {remark}",)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_of_many_columns_written_alike_a_few_are_told(ending, tmp_path):
    cells = {f"{500 + i} nm": ["0,1", "0,2", "n.d.", "0,4", "0,5", "7,0"] for i in range(40)}
    frame = pd.DataFrame(cells)
    if ending == "csv":
        frame.to_csv(tmp_path / "t.csv", sep=";", index=False)
    else:
        frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / f"t.{ending}", missing="keep")
    assert table.X.shape == (6, 40)
    assert np.isnan(table.X[2]).all()
    assert "column '500 nm': cells such as '0,1' were read as 0.1" in table.notes
    assert (
        "column '500 nm': 1 cell(s) such as 'n.d.' are no numbers, taken as missing" in table.notes
    )
    assert "34 more column(s) read alike" in table.notes
    assert "34 more column(s) with such cells" in table.notes
    assert len(table.notes) == 2 * 7 + 1


def test_a_table_of_empty_columns_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("name,x,y\na,,\nb,,\n")
    with pytest.raises(TableError, match="all columns of numbers are empty: x, y; name a file"):
        read_table(tmp_path / "t.csv")


def test_dots_that_might_be_thousands_are_told(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1.234;5\n2.500;6\n3.125;9\n")
    table = read_table(tmp_path / "t.csv")
    assert "dots were read as decimal points: '1.234' is 1.234" in said(table)


def test_numbers_of_obs_may_have_a_role(tmp_path):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    cells = pd.DataFrame(
        {"cluster": [3, 4, 3], "w": [1.0, 2.0, 1.0]}, index=pd.Index(list("abc"), dtype=object)
    )
    genes = pd.DataFrame(index=pd.Index(["g1", "g2"], dtype=object))
    X = np.array([[1.0, 2], [3, 4], [5, 7]])
    anndata.AnnData(X, obs=cells, var=genes).write_h5ad(tmp_path / "t.h5ad")
    table = read_table(tmp_path / "t.h5ad", labels="cluster", weights="w")
    assert list(table.labels) == ["3", "4", "3"]
    np.testing.assert_array_equal(table.weights, [1, 2, 1])
    np.testing.assert_array_equal(table.X, X)


def test_json_lines(tmp_path):
    text = (
        '{"id": "a", "x": 1, "in": {"y": 2.5}}\n{"id": "b", "x": null, "in": {"y": 3}}\n\n'
        '{"id": "c", "in": {"y": 4}, "x": 7}\n'
    )
    (tmp_path / "t.jsonl").write_text(text)
    table = read_table(tmp_path / "t.jsonl")
    np.testing.assert_array_equal(table.X, [[1, 2.5], [4, 3], [7, 4]])
    assert list(table.feature_names) == ["x", "in.y"]
    assert list(table.sample_names) == ["a", "b", "c"]
    (tmp_path / "list.json").write_text('[{"x": 1, "y": 2}, {"x": 3, "y": 4}]')
    np.testing.assert_array_equal(read_table(tmp_path / "list.json").X, [[1, 2], [3, 4]])
    (tmp_path / "columns.json").write_text('{"x": [1, 3],\n "y": [2, 4]}')
    np.testing.assert_array_equal(read_table(tmp_path / "columns.json").X, [[1, 2], [3, 4]])
    (tmp_path / "bad.jsonl").write_text('{"x": 1}\n{"x": \n')
    with pytest.raises(TableError, match="line 2 is no JSON"):
        read_table(tmp_path / "bad.jsonl")
    (tmp_path / "number.jsonl").write_text('{"x": 1}\n5\n')
    with pytest.raises(TableError, match="entry 2 is '5'; every sample has to be an object"):
        read_table(tmp_path / "number.jsonl")


def test_stata(tmp_path):
    frame = pd.DataFrame({"x": [1.5, 2, 3, 5], "n": [1, 2, 4, 3], "kind": list("abab")})
    frame.to_stata(tmp_path / "t.dta", write_index=False)
    table = read_table(tmp_path / "t.dta")
    np.testing.assert_array_equal(table.X, frame[["x", "n"]])
    assert list(table.labels) == list("abab")


def test_spss(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat", reason="pyreadstat is not installed")
    frame = pd.DataFrame({"x": [1.5, 2, 3, 5], "n": [1.0, 2, 4, 3], "kind": list("abab")})
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"))
    table = read_table(tmp_path / "t.sav")
    np.testing.assert_array_equal(table.X, frame[["x", "n"]])
    assert list(table.labels) == list("abab")


def test_spss_files_lead_on_without_their_reader(tmp_path):
    (tmp_path / "t.sav").write_bytes(b"$FL2" + bytes(200))
    with pytest.raises(TableError, match=r"save the file as \.csv|cannot be read as SPSS"):
        read_table(tmp_path / "t.sav")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "protected by a password"),
        ("t.xlsx", b"nothing", "cannot be read as XLSX"),
        ("t.ods", b"PK\x05\x06" + bytes(18), "is no ODS file"),
        ("t.xls", b"x", r"\.xls files are not read; save it as \.xlsx"),
        ("t.rds", b"x", "write.csv in R"),
        ("t.pkl", b"x", "pickles of strangers are not opened"),
        ("t.arrow", b"ARROW1" + bytes(50), "cannot be read as Arrow"),
        ("t.feather", b"FEA1" + bytes(50), "Feather of the first version"),
        ("t.dta", b"<stata_dta>" + bytes(50), "cannot be read as Stata"),
    ],
)
def test_other_files_lead_on(name, content, words, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=words) as caught:
        read_table(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_the_table_goes_to_an_estimator(tmp_path):
    X = RNG.standard_normal((30, 4)) @ RNG.standard_normal((4, 4))
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["w"] = RNG.integers(1, 4, 30)
    frame["kind"] = ["u", "v", "v"] * 10
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv", weights="w")
    model = loadstone.SparsePCA(1, n_nonzero=2).fit(table.to_frame(), sample_weight=table.weights)
    repeated = np.repeat(X, frame["w"], axis=0)
    expected = loadstone.SparsePCA(1, n_nonzero=2).fit(repeated)
    np.testing.assert_allclose(model.components_, expected.components_, rtol=1e-6)
    assert list(model.feature_names_in_) == list("abcd")
    assert str(table).startswith("30 samples of 4 features\n- ")


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
def test_texts_of_a_parquet_file_may_be_written_as_differences(encoding, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    kinds = ["red", "redder", "red", "blue"]
    table = pa.table({"x": [1.0, 2.0, 4.0, 3.0], "kind": kinds})
    written = {"use_dictionary": False, "column_encoding": {"kind": encoding, "x": "PLAIN"}}
    parquet.write_table(table, tmp_path / "t.parquet", **written)
    read = read_table(tmp_path / "t.parquet", labels="kind")
    assert read.X.ravel().tolist() == [1.0, 2.0, 4.0, 3.0]
    assert list(read.labels) == kinds
