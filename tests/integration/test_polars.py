"""Functions that take and return frames of Polars."""

from textwrap import dedent

import pytest

from sparkassets import Project

pytest.importorskip("polars")
pytestmark = pytest.mark.spark

CODE = """
from datetime import date, datetime
from decimal import Decimal

import polars as pl

from sparkassets import asset

numbers = asset("numbers", sql="SELECT CAST(id AS INT) AS id, TIMESTAMP'2025-01-02 03:00' AS at FROM range(3)",
                schedule="@once")


@asset
def eager(numbers: pl.DataFrame) -> pl.DataFrame:
    assert isinstance(numbers, pl.DataFrame)
    return numbers.with_columns(twice=pl.col("id") * 2.0)


@asset
def lazy(numbers: pl.LazyFrame) -> pl.LazyFrame:
    assert isinstance(numbers, pl.LazyFrame)
    return numbers.filter(pl.col("id") > 0).select("id")


@asset
def typed(numbers):
    return pl.DataFrame(
        {
            "word": ["x"],
            "kind": pl.Series(["y"], dtype=pl.Categorical),
            "few": pl.Series(["z"], dtype=pl.Enum(["z"])),
            "words": [["a", None]],
            "both": [{"a": "b", "n": 1}],
            "day": [date(2025, 1, 2)],
            "naive": [datetime(2025, 1, 2, 3)],
            "fine": pl.Series([datetime(2025, 1, 2, 3)], dtype=pl.Datetime("ns")),
            "price": pl.Series([Decimal("1.50")], dtype=pl.Decimal(9, 2)),
            "small": pl.Series([7], dtype=pl.UInt8),
            "raw": [b"r"],
        }
    )


@asset(columns={"id": "bigint", "note": "string"})
def empty(numbers):
    return pl.DataFrame({"id": [], "note": []})


@asset
def unknown(numbers):
    return pl.DataFrame({"id": [1], "note": [None]})
"""


def test_frames_of_polars_both_ways(spark, tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "conf/assets").mkdir(parents=True)
    (tmp_path / "polework").mkdir()
    (tmp_path / "conf/project.yml").write_text("project: poles\npython: [polework]\ndefaults: {retries: 0}\n")
    (tmp_path / "polework/made.py").write_text(dedent(CODE))
    with Project.load(tmp_path / "conf") as project:
        summary = project.run(spark, check=False)
    assert {each.asset: each.error for each in summary.runs if each.error} == {
        "unknown": "unknown: no row has a value in the column 'note', so its type is unknown"
    }
    read = {
        name: spark.read.format("delta").load(f"{tmp_path}/conf/warehouse/{name}")
        for name in ("eager", "lazy", "typed", "empty")
    }
    assert read["eager"].dtypes == [("id", "int"), ("at", "timestamp"), ("twice", "double")]
    rows = {name: sorted(map(tuple, frame.collect())) for name, frame in read.items() if name != "typed"}
    at = rows["eager"][0][1]
    assert rows == {"eager": [(n, at, n * 2.0) for n in range(3)], "lazy": [(1,), (2,)], "empty": []}
    assert read["empty"].dtypes == [("id", "bigint"), ("note", "string")]
    assert dict(read["typed"].dtypes) == {
        "word": "string",
        "kind": "string",
        "few": "string",
        "words": "array<string>",
        "both": "struct<a:string,n:bigint>",
        "day": "date",
        "naive": "timestamp",
        "fine": "timestamp",
        "price": "decimal(9,2)",
        "small": "smallint",
        "raw": "binary",
    }
    (typed,) = read["typed"].collect()
    assert (typed.word, typed.kind, typed.few, list(typed.words), tuple(typed.both)) == (
        "x",
        "y",
        "z",
        ["a", None],
        ("b", 1),
    )
    assert (typed.naive, typed.fine) == (at, at)
