"""Tables typed, exported and patched in a hurry: nothing of them is read wrongly in silence."""

import numpy as np
import pytest

from loadstone import read_table
from loadstone.files.errors import TableError

NARROW = "\N{NARROW NO-BREAK SPACE}"

#: What the file holds; names of features and samples, numbers, and what the notes must say.
TABLES = {
    "one decimal comma in each line": (
        "Ort;Wert\nA;1,5\nB;2,5\nC;3,75\n",
        ["Wert"],
        ["A", "B", "C"],
        [[1.5], [2.5], [3.75]],
        "",
    ),
    "a mark at the beginning, and decimal commas": (
        "\ufeffProbe;Höhe (cm);Preis\r\nA;1,5;1.200,00\r\nB;2,5;950,50\r\nC;3,25;12.000,00\r\n",
        ["Höhe (cm)", "Preis"],
        ["A", "B", "C"],
        [[1.5, 1200], [2.5, 950.5], [3.25, 12000]],
        "cells such as '1.200,00' were read as 1200",
    ),
    "commas in one column and dots in the next": (
        "a;b\n1,5;2.5\n2,5;3.5\n3,5;4.75\n",
        ["a", "b"],
        None,
        [[1.5, 2.5], [2.5, 3.5], [3.5, 4.75]],
        "cells such as '1,5' were read as 1.5",
    ),
    "a delimiter at the end of every line but the first": (
        "a;b;c\n1;2;3;\n4;5;6;\n7;8;10;\n",
        ["a", "b", "c"],
        None,
        [[1, 2, 3], [4, 5, 6], [7, 8, 10]],
        "",
    ),
    "a heading that lacks a name for the rows": (
        '"a","b"\n"r1",1,2\n"r2",3,4\n"r3",4,6\n',
        ["a", "b"],
        ["r1", "r2", "r3"],
        [[1, 2], [3, 4], [4, 6]],
        "",
    ),
    "empty columns at the end": (
        "a,b,,,\n1,2,,,\n4,5,,,\n7,9,,,\n",
        ["a", "b"],
        None,
        [[1, 2], [4, 5], [7, 9]],
        "left out, empty columns",
    ),
    "numbers in writing below the heading": (
        'account,q1,q2\nsales,"1,200","(350)"\ncosts,"(1,100.50)",20\nrent,-5,"(7)"\ntax,3,4\n',
        ["q1", "q2"],
        ["sales", "costs", "rent", "tax"],
        [[1200, -350], [-1100.5, 20], [-5, -7], [3, 4]],
        "cells such as '(350)' were read as -350",
    ),
    "percentiles as names": (
        "name,5%,50%\na,1,2\nb,2,4\nc,1,3\n",
        ["5%", "50%"],
        ["a", "b", "c"],
        [[1, 2], [2, 4], [1, 3]],
        "",
    ),
    "two columns of one name": (
        "id,weight,weight\na,1,2\nb,4,5\nc,7,9\n",
        ["weight", "weight.1"],
        ["a", "b", "c"],
        [[1, 2], [4, 5], [7, 9]],
        "columns of one name were numbered: weight",
    ),
    "one name twice in two rows of headings": (
        "x,2023,,2024\n,Q1,Q1,Q2\na,1,2,4\nb,5,6,9\nc,1,1,2\n",
        ["2023 Q1", "2023 Q1.1", "2024 Q2"],
        ["a", "b", "c"],
        [[1, 2, 4], [5, 6, 9], [1, 1, 2]],
        "columns of one name were numbered: 2023 Q1",
    ),
    "narrow spaces in thousands": (
        f"name;pop;area\nA;1{NARROW}234{NARROW}567;12,5\nB;89{NARROW}000;3,25\nC;999;1{NARROW}000,75\n",
        ["pop", "area"],
        ["A", "B", "C"],
        [[1234567, 12.5], [89000, 3.25], [999, 1000.75]],
        "were read as 1234567",
    ),
    "footnotes, and the marks that lead to them": (
        "country,gdp,pop\nA,1.5,10\nB,2.5*,20\nC,3.5 †,30\nD,4.0,15\n* estimate\nSource: own\n",
        ["gdp", "pop"],
        ["A", "B", "C", "D"],
        [[1.5, 10], [2.5, 20], [3.5, 30], [4, 15]],
        "rows that fill the first column alone: * estimate, Source: own",
    ),
    "signs of statistical offices for no value": (
        "a,b\n1,2\n:,3\n4,…\n6,\N{EN DASH}\n5,..\n7,9\n",
        ["a", "b"],
        None,
        [[1, 2], [np.nan, 3], [4, np.nan], [6, np.nan], [5, np.nan], [7, 9]],
        "4 missing value(s) in 2 column(s)",
    ),
    "below the limit of detection": (
        "s,Pb,Cd\na,<0.5,1\nb,0.7,2\nc,1.1,3\nd,0.9,4\ne,1,5\n",
        ["Pb", "Cd"],
        ["a", "b", "c", "d", "e"],
        [[np.nan, 1], [0.7, 2], [1.1, 3], [0.9, 4], [1, 5]],
        "column 'Pb': 1 cell(s) such as '<0.5' are no numbers, taken as missing",
    ),
    "names of two lines": (
        'name,"height\n(cm)",remark\n"Smith\nJohn",180,"fine,\nreally"\nDoe,170,ok\nRoe,165,"""no"""\n',
        ["height (cm)"],
        ["Smith John", "Doe", "Roe"],
        [[180], [170], [165]],
        "left out, not numbers: remark",
    ),
    "sums of parts and of all": (
        "r,a,b\nx,1,2\ny,3,4\nSubtotal,4,6\nz,5,6\nw,7,9\nSubtotal,12,15\nTotal,16,21\n",
        ["a", "b"],
        None,
        [[1, 2], [3, 4], [5, 6], [7, 9]],
        "totals are no samples: 'Subtotal', 'Subtotal', 'Total'",
    ),
    "dots for thousands, as one of them tells": (
        "Ort;Einwohner\nA;1.234\nB;12.345\nC;999\nD;1.000.000\n",
        ["Einwohner"],
        ["A", "B", "C", "D"],
        [[1234], [12345], [999], [1e6]],
        "cells such as '1.000.000' were read as 1000000",
    ),
    "dates in any order": (
        'when,x,y\n2024-01-05,1,2\n05.02.2024,3,5\n"April 4, 2024",2,8\n2024-01-05,7,7\n',
        ["x", "y"],
        None,
        [[1, 2], [3, 5], [2, 8], [7, 7]],
        "left out, dates: when",
    ),
}


@pytest.mark.parametrize("what", TABLES)
def test_it_is_read_right_and_said_how(what, tmp_path):
    text, names, samples, X, words = TABLES[what]
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    table = read_table(tmp_path / "t.csv", missing="keep")
    assert list(table.feature_names) == names
    assert (None if table.sample_names is None else list(table.sample_names)) == samples
    np.testing.assert_allclose(table.X, X, rtol=1e-15)
    notes = " | ".join(table.notes)
    assert words in notes if words else not notes


def test_what_is_said_of_dots_does_not_contradict_what_was_read(tmp_path):
    text = TABLES["dots for thousands, as one of them tells"][0]
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    assert "decimal points" not in " | ".join(read_table(tmp_path / "t.csv").notes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n3,4,5\n6,7\n8,9\n", "line 3 has 3 cells, and the lines before it have 2; take"),
        ("n,len\na,12 cm\nb,13 cm\nc,15 cm\n", "'12 cm'}; write units into the names"),
    ],
)
def test_it_is_refused_with_the_place_and_the_way_out(text, words, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(TableError, match=words) as caught:
        read_table(tmp_path / "t.csv")
    assert "\n" not in str(caught.value)
