"""Days that are none, on Spark: what a run reads and replaces, and predicates over years of them."""

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from sparkassets import Project
from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.spark.predicates import time_predicate

pytestmark = pytest.mark.spark
ZONE, WEEKENDS = "Europe/Berlin", "* * * * SAT,SUN"
VALUES = {
    "timestamp": "at",
    "timestamp_ntz": f"CAST(from_utc_timestamp(at, '{ZONE}') AS TIMESTAMP_NTZ)",
    "date": f"CAST(from_utc_timestamp(at, '{ZONE}') AS DATE)",
}


@pytest.mark.parametrize(
    ("by", "exclude", "kind", "most"),
    [
        *(("day", WEEKENDS, kind, 1) for kind in VALUES),
        ("hour", WEEKENDS, "timestamp", 1),
        ("day", "* * * * SAT", "date", 1),
        ("hour", "* 0-7 * * *", "timestamp", 1),
        ("hour", "* 0-7,22 * * *; * * * * SUN; 2024-12-25", "timestamp", 1),
    ],
)
def test_years_of_working_days_are_a_short_predicate_of_the_same_rows(spark, by, exclude, kind, most):
    partition = TimePartition(by, ZONE, exclude=exclude)
    first, hole, last = (partition.parse_keys(key) for key in KEYS[by])
    ranges = RangeSet.span(first[0], last[1]) - RangeSet.span(*hole)
    predicate = time_predicate("value", kind, partition=partition, ranges=ranges, owner="x")
    assert predicate.count(" OR ") <= most
    hours = range(first[0] - 40 * 86400, last[1] + 40 * 86400, 3600)
    told = spark.range(hours.start, hours.stop, 3600).selectExpr("id", "timestamp_seconds(id) AS at")
    found = told.selectExpr("id", f"{VALUES[kind]} AS value").filter(predicate)
    exact = partition.exact(ranges)
    assert sorted(row.id for row in found.collect()) == [
        unix for unix in hours if exact.covers(RangeSet.span(unix, unix + 1))
    ]


KEYS = {
    "day": ("2023-01-02", "2024-03-01..2024-03-29", "2024-12-31"),
    "hour": ("2023-01-02T09", "2024-03-01T09..2024-03-29T21", "2024-12-31T20"),
}


@pytest.mark.alike
def test_orders_of_a_weekend_are_nobodys(spark, tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    files = {
        "project.yml": "project: p\nassets: [assets/]\n",
        "assets/orders.yml": "asset: orders\nsource: csv\npath: landing/{day}.csv\ncolumns: {amount: int}\n"
        "partition: {by: day, column: day, exclude: '* * * * SAT,SUN'}\nstart: 2025-03-06\n",
        "assets/daily.yml": "asset: daily\npartition: {by: day, column: day, exclude: '* * * * SAT,SUN'}\n",
        "assets/daily.sql": "SELECT day, sum(amount) AS total FROM {{ inlets.orders }} GROUP BY day",
        "assets/weekly.yml": "asset: weekly\npartition: {by: week, column: week}\n",
        "assets/weekly.sql": "SELECT CAST(date_trunc('week', day) AS DATE) AS week, sum(total) AS total\n"
        "FROM {{ inlets.daily }} GROUP BY 1",
    }
    files |= {f"landing/2025-03-{day:02}.csv": f"amount\n{day}\n" for day in range(6, 15)}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    project = Project.load(tmp_path, env={})
    (note,) = next(each for each in project.status(at="2025-03-17") if each.asset == "orders").notes
    assert note.startswith("2 files of an excluded day left out: ")
    ran = project.run(spark, at="2025-03-17").runs
    assert [(each.asset, each.partition_keys, each.status) for each in ran] == [
        ("daily", ("2025-03-06..2025-03-14",), "success"),
        ("weekly", ("2025-W10..2025-W11",), "success"),
    ]
    assert sorted(rows(tmp_path, "daily").values()) == [6, 7, 10, 11, 12, 13, 14]
    assert sorted(rows(tmp_path, "weekly").values()) == [13, 60]
    (tmp_path / "landing" / "2025-03-08.csv").write_text("amount\n100\n")
    assert project.run(spark, at="2025-03-17").runs == ()
    (tmp_path / "landing" / "2025-03-07.csv").write_text("amount\n70\n")
    ran = project.run(spark, at="2025-03-17").runs
    assert [(each.asset, each.partition_keys) for each in ran] == [
        ("daily", ("2025-03-07",)),
        ("weekly", ("2025-W10",)),
    ]
    assert sorted(rows(tmp_path, "weekly").values()) == [60, 76]


def rows(folder, asset):
    table = pa.table(DeltaTable(folder / "warehouse" / asset).scan()).to_pylist()
    return dict(tuple(row.values()) for row in table)
