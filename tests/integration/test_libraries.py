"""Functions that take and return rows of pandas, Arrow and Polars."""

from textwrap import dedent

import pytest

from sparkassets import Project

pytestmark = pytest.mark.spark

HEAD = """
from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import pandas
import pyarrow as pa

from sparkassets import asset

if TYPE_CHECKING:
    import pandas as pd
    from pandas import DataFrame

numbers = asset("numbers", sql="SELECT CAST(id AS INT) AS id, TIMESTAMP'2025-01-02 03:00' AS at FROM range(3)",
                schedule="@once")
"""


@pytest.fixture
def ran(spark, tmp_path, monkeypatch):
    """Runs a project of one module, and tells its runs and a table's rows with their types."""
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "conf/assets").mkdir(parents=True)
    (tmp_path / "rowwork").mkdir()
    (tmp_path / "conf/project.yml").write_text("project: rows\npython: [rowwork]\ndefaults: {retries: 0}\n")

    def run(code):
        (tmp_path / "rowwork/made.py").write_text(HEAD + dedent(code))
        with Project.load(tmp_path / "conf") as project:
            summary = project.run(spark, check=False)
        frames = {name: spark.read.format("delta").load(path) for name, path in found(tmp_path / "conf/warehouse")}
        rows = {name: (frame.dtypes, sorted(map(tuple, frame.collect()), key=str)) for name, frame in frames.items()}
        return rows, {each.asset: each.error for each in summary.runs if each.error}

    def found(folder):
        return [(each.name, str(each)) for each in folder.iterdir() if (each / "_delta_log").exists()]

    return run


def test_each_library_both_ways(ran):
    rows, errors = ran('''
        @asset
        def in_pandas(numbers: pd.DataFrame):
            assert isinstance(numbers, pandas.DataFrame)
            assert numbers["at"].tolist() == [pandas.Timestamp("2025-01-02 03:00")] * 3
            return numbers.assign(twice=numbers.id * 2.0)

        @asset
        def in_quotes(numbers: "DataFrame", context):
            yield {"rows": len(numbers)}
            yield numbers[["id"]]

        @asset
        def in_arrow(numbers: pa.Table) -> pa.Table:
            ordered = numbers.select(["id"]).sort_by("id")
            return ordered.append_column("word", pa.array(["a", None, "c"]).dictionary_encode())

        @asset
        def a_batch(numbers: pa.Table):
            return numbers.select(["id"]).combine_chunks().to_batches()[0]

        @asset
        def by_duckdb(numbers: pa.Table):
            return duckdb.sql("SELECT max(id) AS most FROM numbers").to_arrow_table()

        @asset
        def typed(numbers: pd.DataFrame):
            """Naive times are those of UTC."""
            return pandas.DataFrame({
                "naive": [pandas.Timestamp("2025-01-02 03:00")], "day": [date(2025, 1, 2)], "price": [Decimal("1.50")],
                "kind": pandas.Categorical(["x"]), "small": pandas.array([7], dtype="uint8"), "flag": [True],
                "many": [[1, 2]],
            })
    ''')  # fmt: skip
    assert errors == {}
    at = rows["numbers"][1][0][1]
    assert rows["in_pandas"] == (
        [("id", "int"), ("at", "timestamp"), ("twice", "double")],
        [(number, at, number * 2.0) for number in range(3)],
    )
    assert rows["in_quotes"] == rows["a_batch"] == ([("id", "int")], [(0,), (1,), (2,)])
    assert rows["in_arrow"] == ([("id", "int"), ("word", "string")], [(0, "a"), (1, None), (2, "c")])
    assert rows["by_duckdb"] == ([("most", "int")], [(2,)])
    kinds, ((naive, *_, many),) = rows["typed"]
    assert dict(kinds) == {
        "naive": "timestamp",
        "day": "date",
        "price": "decimal(3,2)",
        "kind": "string",
        "small": "smallint",
        "flag": "boolean",
        "many": "array<bigint>",
    }
    assert (naive, list(many)) == (at, [1, 2])


def test_declared_columns_are_the_types(ran):
    rows, errors = ran("""
        COLUMNS = {"id": "bigint", "day": "date", "note": "string", "price": "decimal(9,2)"}

        @asset(columns=COLUMNS)
        def empty(numbers):
            return pandas.DataFrame()

        @asset(columns=COLUMNS)
        def no_rows(numbers):
            return pandas.DataFrame({"id": [], "day": [], "note": [], "price": []})

        @asset(columns=COLUMNS)
        def without_values(numbers):
            return pandas.DataFrame({"id": [1, None], "day": ["2025-01-02", None], "note": None, "price": [1, 2]})

        @asset(columns={"at": "timestamp_ntz"})
        def naive(numbers):
            return pandas.DataFrame({"at": [datetime(2025, 1, 2, 3)]})
    """)
    assert errors == {}
    kinds = [("id", "bigint"), ("day", "date"), ("note", "string"), ("price", "decimal(9,2)")]
    assert rows["empty"] == rows["no_rows"] == (kinds, [])
    without = {row[0]: (str(row[1]), row[2], str(row[3])) for row in rows["without_values"][1]}
    assert without == {1: ("2025-01-02", None, "1.00"), None: ("None", None, "2.00")}
    assert rows["naive"][0] == [("at", "timestamp_ntz")]


def test_what_is_no_table_is_one_clear_line(ran):
    _, errors = ran("""
        @asset
        def empty(numbers):
            return pandas.DataFrame()

        @asset
        def unknown(numbers):
            return pandas.DataFrame({"id": [1], "note": [None]})

        @asset
        def mixed(numbers):
            return pandas.DataFrame({"a": [1, "x"]})

        @asset(columns={"a": "int"})
        def unfit(numbers):
            return pandas.DataFrame({"a": [1.5]})

        @asset
        def indexed(numbers):
            return pandas.DataFrame({"day": [1], "n": [2]}).groupby("day").sum()

        @asset
        def numbered(numbers):
            return pandas.DataFrame([[1, 2]])

        @asset
        def doubled(numbers):
            return pandas.DataFrame([[1, 2]], columns=["a", "a"])

        @asset
        def listed(numbers):
            return [(1, 2)]
    """)
    assert errors == {
        "empty": "empty: the function returned rows without columns",
        "unknown": "unknown: no row has a value in the column 'note', so its type is unknown",
        "mixed": errors["mixed"],
        "unfit": (
            "unfit: values of the column 'a' do not fit int: Float value 1.500000 was truncated converting to int32"
        ),
        "indexed": "indexed: the rows have the index 'day', which a table cannot store",
        "numbered": "numbered: the rows have the column 0, whose name is not text",
        "doubled": "doubled: the result has the column 'a' more than once",
        "listed": errors["listed"],
    }
    assert errors["mixed"].startswith("mixed: values of the column 'a' have no common type: ")
    assert "rowwork.made:listed returned a list; expected a DataFrame of Spark, pandas" in errors["listed"]


def test_a_column_without_values_is_as_the_table_has_it(ran):
    code = """
        @asset(schedule="@once")
        def made(numbers):
            return pandas.DataFrame({"id": [1], "note": [%s]})
    """
    assert ran(code % "'x'")[0]["made"][1] == [(1, "x")]
