"""Messy files: missing values, decimal commas, thousands, dates and bad price lists are read or explained."""

import numpy as np
import pandas as pd
import pytest

from sparing.tables import read_prices, read_table


@pytest.mark.parametrize("mark", ["?", " ?", "", "NA", "NaN", "nan", "null"])
def test_marks_of_missing_values(tmp_path, mark):
    (tmp_path / "data.csv").write_text(f"a,b,y\n1,x,1\n{mark},{mark},2\n3,z,{mark}\n4,x,3\n")
    table = read_table(tmp_path / "data.csv", "y", as_is=True)
    assert table.X["a"].isna().tolist() == table.X["b"].isna().tolist() == [False, True, False]
    assert table.X["a"].dtype == np.float64
    assert (table.y.tolist(), table.n_dropped) == ([1.0, 2.0, 3.0], 1)


@pytest.mark.parametrize(("separator", "suffix"), [(";", ".csv"), ("\t", ".tsv")])
def test_decimal_commas(tmp_path, separator, suffix):
    """They were text."""
    lines = ["a,b,c,y", "1.5,2,1.5x,0.25", "-0.5,?,2.5,1", "3,7,x,2.75", ",1,x,3.5"]
    text = "\n".join(line.replace(",", separator).replace(".", ",") for line in lines)
    (tmp_path / f"data{suffix}").write_text(text)
    table = read_table(tmp_path / f"data{suffix}", "y", as_is=True)
    assert table.X["a"].tolist()[:3] == [1.5, -0.5, 3.0]
    assert table.y.tolist() == [0.25, 1.0, 2.75, 3.5]
    assert table.X["c"].tolist() == ["1,5x", "2,5", "x", "x"]  # not all of it is numbers
    quoted = tmp_path / "quoted.csv"
    quoted.write_text('a,y\n"1,5",1\n"2,5",2\n"3,5",4\n')
    assert read_table(quoted, "y", as_is=True).X["a"].tolist() == [1.5, 2.5, 3.5]  # thousands have three digits


@pytest.mark.parametrize(
    ("separator", "texts", "numbers"),
    [
        (",", ["$1,200", "$950", "-$3.50"], [1200, 950, -3.5]),
        (",", ["12.5%", "3 %", "0"], [12.5, 3, 0]),
        (",", ["1,234,567", "12", "unknown"], [1234567, 12, np.nan]),
        (",", ["-", "4", "n.a."], [np.nan, 4, np.nan]),
        (",", ["-", "--", "-"], [np.nan] * 3),
        (",", ["3,25", "4", "5,5"], [3.25, 4, 5.5]),
        (";", ["1.234,50", "12", "1 000,5"], [1234.5, 12, 1000.5]),
        (";", ["1.200 €", "950 €", "3.000 €"], [1200, 950, 3000]),
        (";", ["1.5e3", "−2", "#DIV/0!"], [1500, -2, np.nan]),
        (",", ["$5", "€5", "$6"], None),
        (",", ["50%", "0.5", "2%"], None),
        (",", ["1,2,3", "4", "5"], None),
        (",", ["12 a", "4", "5"], None),
        (",", ["030 123 456", "4", "5"], None),
    ],
)
def test_numbers_as_people_write_them(tmp_path, separator, texts, numbers):
    """Each was a category, and the column next to useless; as a target it was refused for having too many classes."""
    lines = [f'"{text}"{separator}{y}' for text, y in zip(texts, (1, 2, 4), strict=True)]
    (tmp_path / "data.csv").write_text("\n".join([f"a{separator}y", *lines]), encoding="utf-8")
    found = read_table(tmp_path / "data.csv", "y", as_is=True).X["a"].tolist()
    np.testing.assert_array_equal(found, texts if numbers is None else numbers)


def test_thousands_that_are_taken_for_decimals_are_pointed_out(tmp_path):
    (tmp_path / "data.tsv").write_text("a\ty\n1,200\t1\n950\t2\n2,500\t4\n")
    with pytest.warns(UserWarning, match=r"column 'a': '1,200' is read as 1.2; write it without a comma if that is wr"):
        assert read_table(tmp_path / "data.tsv", "y", as_is=True).X["a"].tolist() == [1.2, 950.0, 2.5]


def test_only_dates_that_cannot_be_mistaken_are_dates(tmp_path):
    (tmp_path / "data.csv").write_text(
        "iso,stamp,zone,other,bad,y\n"
        "2021-03-01,2021-03-01 12:30,2021-03-01T00:00:00Z,1.3.2021,2021-13-01,1\n"
        ",2021-03-02 12:30,2021-03-02T00:00:00+01:00,2.3.2021,2021-03-02,2\n"
        "2021-03-04,2021-03-03 12:30,2021-03-03T00:00:00Z,3.3.2021,2021-03-03,4\n"
    )
    kinds = read_table(tmp_path / "data.csv", "y", as_is=True).X.dtypes
    assert [kind.kind == "M" for kind in kinds] == [True, True, True, False, False]


def test_a_hint_drops_all_columns_that_it_speaks_of(tmp_path):
    """It named five and dropped three; the next run then refused the other two."""
    names = [f"word{i}" for i in range(7)]
    pd.DataFrame({name: ["a", "b", "c"] for name in names} | {"x": [1, 2, 3], "y": [1, 2, 4]}).to_csv(
        tmp_path / "data.csv", index=False
    )
    with pytest.raises(ValueError, match="are not numeric") as refused:
        read_table(tmp_path / "data.csv", "y")
    assert refused.value.arguments["drop"] == names
    assert read_table(tmp_path / "data.csv", "y", drop=refused.value.arguments["drop"]).names == ["x"]
    far = pd.DataFrame({name: [1.0, np.inf, 3.0] for name in names} | {"x": [1, 2, 3], "y": [1, 2, 4]})
    far.to_csv(tmp_path / "far.csv", index=False)
    for as_is in (True, False):
        with pytest.raises(ValueError, match="infinite in some rows") as refused:
            read_table(tmp_path / "far.csv", "y", as_is=as_is)
        assert refused.value.arguments["drop"] == names


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_text_target_with_a_blank(tmp_path, kind):
    frame = pd.DataFrame({"a": range(6), "y": pd.array(["yes", "no", None, "yes", "no", "no"], "string")})
    path = tmp_path / f"data.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    table = read_table(path, "y", as_is=True)
    assert (table.classes, table.n_dropped, table.y.tolist()) == (("no", "yes"), 1, [1.0, -1.0, 1.0, -1.0, -1.0])
    frame.assign(y=None).to_csv(tmp_path / "none.csv", index=False)
    with pytest.raises(ValueError, match="the target 'y' is missing in every row; choose another"):
        read_table(tmp_path / "none.csv", "y", as_is=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("attribute,cost\nage,1\nglocose,2\n", "no price for 'glucose'; is the line 'glocose' meant\\?$"),
        ("attribute,cost\nglocose,2\n", "no price for 'glucose' and 1 more; is the line 'glocose' meant"),
        ("attribute,cost\nage,1\n", "no price for 'glucose'; add a line for it"),
        ("attribute,cost\nx,1\n", "no price for 'age' and 1 more; add a line for each"),
        ("attribute,cost\nage,-1\nglucose,2\n", "line 2 of prices.csv has the cost '-1'; give a number such as 6.50"),
    ],
)
def test_bad_price_lists_say_what_is_meant(tmp_path, text, message):
    (tmp_path / "prices.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_prices(tmp_path / "prices.csv", ["age", "glucose"])
