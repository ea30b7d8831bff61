"""Inlets whose partitions are mapped by keys, by the newest, or all, run on Delta tables."""

import shutil
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import Project

pytestmark = pytest.mark.spark


def make_project(folder: Path, files: dict[str, str]) -> Project:
    (folder / "project.yml").write_text("project: shops\nassets: [assets/]\n")
    (folder / "assets").mkdir()
    for name, text in files.items():
        (folder / "assets" / name).write_text(text)
    return Project.load(folder, env={})


def rows(folder: Path, asset: str) -> list[tuple]:
    table = pa.table(DeltaTable(folder / "warehouse" / asset).scan())
    return sorted(tuple(row.values()) for row in table.to_pylist())


def due(project: Project) -> dict[str, list[str]]:
    plan = project.plan()
    return {run.asset: project.spec.assets[run.asset].partitioning.labels(run.partitions) for run in plan.runs}


@pytest.mark.alike
def test_the_newest_and_named_partitions_are_read_without_partitions_of_ones_own(spark, tmp_path):
    read = "sql: SELECT max(day) AS day, sum(n) AS n FROM {{ inlets.sales }}\n"
    project = make_project(
        tmp_path,
        {
            "sales.yml": "asset: sales\nsource: delta\npath: sales\npartition: {by: day, column: day}\n",
            "today.yml": f"asset: today\ninlets: {{sales: {{partitions: latest}}}}\n{read}",
            "first.yml": f"asset: first\ninlets: {{sales: {{partitions: [2025-01-01..2025-01-02]}}}}\n{read}",
        },
    )
    first, second, third = (date(2025, 1, day) for day in (1, 2, 3))

    def add(*rows: tuple[date, int]) -> None:
        table = pa.table({"day": [day for day, _ in rows], "n": [n for _, n in rows]})
        write_deltalake(tmp_path / "sales", table, mode="append", partition_by=["day"])

    def tables() -> list[list[tuple]]:
        return [rows(tmp_path, name) for name in ("today", "first")]

    add((first, 1))
    assert [run.asset for run in project.run(spark).runs] == ["today"]
    add((second, 20))
    assert project.run(spark).ok
    assert tables() == [[(second, 20)], [(second, 21)]]
    add((third, 300), (third, 300))
    assert [run.asset for run in project.run(spark).runs] == ["today"]
    assert tables() == [[(third, 600)], [(second, 21)]]
    add((first, 5))
    assert [run.asset for run in project.run(spark).runs] == ["first"]
    assert tables() == [[(third, 600)], [(second, 26)]]


@pytest.mark.alike
def test_a_map_of_regions_and_the_newest_rates(spark, tmp_path):
    project = make_project(
        tmp_path,
        {
            "sales.yml": (
                "asset: sales\nsource: delta\npath: sales\n"
                "partition: [{by: day, column: day}, {segments: [de, jp, nl], column: country}]\n"
            ),
            "rates.yml": "asset: rates\nsource: delta\npath: rates\npartition: {by: day, column: asof}\n",
            "revenue.yml": (
                "asset: revenue\n"
                "partition: [{by: day, column: day}, {segments: [apac, emea], column: region}]\n"
                "inlets:\n"
                "  sales: {partitions: {emea: [de, nl], apac: [jp]}}\n"
                "  rates: {partitions: latest}\n"
            ),
            "revenue.sql": (
                "SELECT s.day, if(s.country = 'jp', 'apac', 'emea') AS region, sum(s.amount * r.rate) AS amount,\n"
                "  max(r.asof) AS asof\n"
                "FROM {{ inlets.sales }} s CROSS JOIN {{ inlets.rates }} r GROUP BY ALL\n"
            ),
            "total.yml": (
                "asset: total\npartition: {segments: [apac, emea], column: region}\n"
                "inlets: {revenue: {partitions: all}}\n"
                "sql: |\n"
                "  SELECT p.region, sum(r.amount) AS amount FROM {{ partitions }} p\n"
                "  CROSS JOIN {{ inlets.revenue }} r GROUP BY ALL\n"
            ),
        },
    )

    def sell(*some):
        columns = dict(zip(["day", "country", "amount"], map(list, zip(*some, strict=True)), strict=True))
        write_deltalake(tmp_path / "sales", pa.table(columns), mode="append", partition_by=["day", "country"])

    def rate(*some):
        columns = dict(zip(["asof", "rate"], map(list, zip(*some, strict=True)), strict=True))
        write_deltalake(tmp_path / "rates", pa.table(columns), mode="append", partition_by=["asof"])

    first, second = date(2025, 1, 1), date(2025, 1, 2)
    sell((first, "de", 1), (first, "nl", 2), (first, "jp", 4), (second, "jp", 8))
    rate((date(2024, 12, 30), 3), (date(2024, 12, 31), 10))
    assert due(project) == {"revenue": ["2025-01-01,emea", "2025-01-01..2025-01-02,apac"]}
    project.run(spark)
    newest = date(2024, 12, 31)
    assert rows(tmp_path, "revenue") == [
        (first, "apac", 40, newest),
        (first, "emea", 30, newest),
        (second, "apac", 80, newest),
    ]
    assert rows(tmp_path, "total") == [("apac", 150), ("emea", 150)]
    rate((date(2025, 1, 5), 100))  # a dimension: what was computed stays as it is
    assert due(project) == {}
    sell((first, "nl", 1))
    assert due(project) == {"revenue": ["2025-01-01,emea"]}
    project.run(spark)
    assert rows(tmp_path, "revenue")[1] == (first, "emea", 400, date(2025, 1, 5))
    assert rows(tmp_path, "total") == [("apac", 520), ("emea", 520)]
    assert due(project) == {}


def test_a_late_file_makes_exactly_its_event_days_stale(spark, tmp_path):
    project = make_project(
        tmp_path,
        {
            "raw.yml": "asset: raw\nsource: delta\npath: raw\n",
            "events.yml": (
                "asset: events\npartition: {by: day, column: event_day}\n"
                "inlets: {raw: {partitions: {from: happened}}}\n"
                "sql: SELECT to_date(happened) AS event_day, sum(amount) AS amount FROM {{ inlets.raw }} GROUP BY ALL\n"
            ),
        },
    )

    def arrive(*some):
        times = [datetime.fromisoformat(f"{day}T12:00:00+00:00") if day else None for day, _ in some]
        write_deltalake(
            tmp_path / "raw", pa.table({"happened": times, "amount": [amount for _, amount in some]}), mode="append"
        )

    arrive(("2025-01-01", 1), ("2025-01-02", 2), ("2025-03-31", 4))
    arrive(("2025-04-01", 8), (None, 1000))
    assert due(project) == {"events": ["2025-01-01..2025-01-02", "2025-03-31..2025-04-01"]}
    project.run(spark)
    first = [(date(2025, 1, 1), 1), (date(2025, 1, 2), 2), (date(2025, 3, 31), 4), (date(2025, 4, 1), 8)]
    assert rows(tmp_path, "events") == first
    assert due(project) == {}
    arrive(("2025-01-01", 100), ("2025-01-05", 200))  # 90 days late, between days that it does not touch
    assert due(project) == {"events": ["2025-01-01", "2025-01-05"]}
    project.run(spark)
    assert rows(tmp_path, "events") == [
        (date(2025, 1, 1), 101),
        (date(2025, 1, 2), 2),
        (date(2025, 1, 5), 200),
        *first[2:],
    ]
    DeltaTable(tmp_path / "raw").delete("amount = 2")
    assert due(project) == {"events": ["2025-01-02"]}
    project.run(spark)
    assert [day for day, _ in rows(tmp_path, "events")] == [
        date(2025, 1, 1),
        date(2025, 1, 5),
        *[d for d, _ in first[2:]],
    ]
    assert due(project) == {}
    shutil.rmtree(tmp_path / "raw")
    arrive(("2025-01-01", 7))
    assert due(project) == {"events": ["2025-01-01", "2025-01-05", "2025-03-31..2025-04-01"]}
    project.run(spark)
    assert rows(tmp_path, "events") == [(date(2025, 1, 1), 7)]


def test_a_late_file_of_text_makes_exactly_its_event_days_stale(spark, tmp_path):
    project = make_project(
        tmp_path,
        {
            "raw.yml": (
                "asset: raw\nsource: csv\npath: raw/{arrived}.csv\ncolumns: {happened: timestamp, amount: int}\n"
                "partition: {by: day, column: arrived}\n"
            ),
            "events.yml": (
                "asset: events\npartition: {by: day, column: event_day}\n"
                "inlets: {raw: {partitions: {from: happened}}}\n"
                "sql: |\n  SELECT to_date(happened) AS event_day, sum(amount) AS amount, max(arrived) AS arrived\n"
                "  FROM {{ inlets.raw }} GROUP BY ALL\n"
            ),
        },
    )

    def arrive(day, *some):
        (tmp_path / "raw").mkdir(exist_ok=True)
        lines = [f"2025-01-{happened:02}T10:00:00,{amount}" for happened, amount in some]
        (tmp_path / "raw" / f"2025-04-0{day}.csv").write_text("\n".join(["happened,amount", *lines, ""]))

    def computed():
        return [(day.day, amount, arrived.day) for day, amount, arrived in rows(tmp_path, "events")]

    arrive(1, (1, 1), (2, 2))
    arrive(2, (2, 20), (9, 90))
    assert due(project) == {"events": ["2025-01-01..2025-01-02", "2025-01-09"]}
    project.run(spark)
    assert computed() == [(1, 1, 1), (2, 22, 2), (9, 90, 2)]
    assert due(project) == {}
    arrive(1, (2, 3), (3, 4))  # the first day is in it no more
    assert due(project) == {"events": ["2025-01-01..2025-01-03"]}
    project.run(spark)
    assert computed() == [(2, 23, 2), (3, 4, 1), (9, 90, 2)]
    (tmp_path / "raw" / "2025-04-02.csv").unlink()  # it aged out: what it alone held stays
    assert due(project) == {"events": ["2025-01-02"]}
    project.run(spark)
    assert computed() == [(2, 3, 1), (3, 4, 1), (9, 90, 2)]
    assert due(project) == {}


@pytest.mark.alike
def test_what_an_own_asset_wrote_by_the_day_of_arrival_is_computed_by_the_day_of_the_event(spark, tmp_path):
    project = make_project(
        tmp_path,
        {
            "landing.yml": "asset: landing\nsource: csv\npath: landing/{day}.csv\npartition: {by: day, column: day}\n",
            "bronze.yml": (
                "asset: bronze\npartition: {by: day, column: day}\n"
                "sql: SELECT day, to_date(happened) AS event_day, int(amount) AS amount FROM {{ inlets.landing }}\n"
            ),
            "events.yml": (
                "asset: events\npartition: {by: day, column: event_day}\n"
                "inlets: {bronze: {partitions: {from: event_day}}}\n"
                "sql: SELECT event_day, sum(amount) AS amount FROM {{ inlets.bronze }} GROUP BY ALL\n"
            ),
        },
    )
    (tmp_path / "landing").mkdir()

    def land(day, *some):
        lines = [f"{happened},{amount}" for happened, amount in some]
        (tmp_path / "landing" / f"{day}.csv").write_text("\n".join(["happened,amount", *lines, ""]))

    land("2025-04-01", ("2025-03-31", 1), ("2025-04-01", 2))
    project.run(spark)
    assert rows(tmp_path, "events") == [(date(2025, 3, 31), 1), (date(2025, 4, 1), 2)]
    land("2025-04-02", ("2025-04-01", 4), ("2025-01-01", 8))
    assert due(project) == {"bronze": ["2025-04-02"]}
    summary = project.run(spark)
    assert [run.asset for run in summary.runs] == ["bronze", "events"]
    first, second, third = date(2025, 1, 1), date(2025, 3, 31), date(2025, 4, 1)
    assert rows(tmp_path, "events") == [(first, 8), (second, 1), (third, 6)]
    land("2025-04-02", ("2025-03-31", 16))  # a correction: what it held before counts as well
    project.run(spark)
    assert rows(tmp_path, "events") == [(second, 17), (third, 2)]
    assert due(project) == {}
