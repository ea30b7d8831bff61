from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from sparkassets.core.instants import parse_instant, to_unix
from sparkassets.core.partitions import NOTHING
from sparkassets.core.runs import InletPin
from sparkassets.errors import RunError, SourceError
from tests.integration.orders import computed, newest, order, save, save_by_spark, span, sql, table

pytestmark = pytest.mark.spark

ALL = "SELECT * FROM {{ inlets.flights }}"


def reading(tmp_path, query="SELECT * FROM {{ inlets.source }}", name="source", **more):
    return table("report", tmp_path, **sql(query, name, **more))


def test_an_inlet_is_read_at_its_pinned_version(engine, spark, flights, tmp_path):
    report = reading(tmp_path, "SELECT count(*) FROM {{ inlets.flights }}", "flights")
    pinned = order(report, flights)
    save(spark.sql("SELECT DATE'2013-01-04' AS day, 'LGA' AS origin, 1 AS delay"), flights)
    assert computed(engine, pinned) == [(6,)]
    assert computed(engine, order(report, flights)) == [(7,)]


def test_a_recreated_inlet_is_not_read(engine, spark, flights, tmp_path):
    run = order(reading(tmp_path, ALL, "flights"), flights)
    shutil.rmtree(flights.storage.path)
    with pytest.raises(SourceError, match=r"^the inlet 'flights' vanished: no Delta table at .*/flights$"):
        engine.compute(run, attempt=1)
    save(spark.sql("SELECT DATE'2013-01-04' AS day"), flights)
    with pytest.raises(SourceError, match=r"^the inlet 'flights' was re-created since the run was planned$"):
        engine.compute(run, attempt=1)


def test_a_shallow_clone_is_read_although_deltalake_cannot_tell_its_history(engine, flights, tmp_path):
    clone = table("clone", tmp_path, by="day")
    origin, log = Path(flights.storage.path), Path(clone.storage.path, "_delta_log", f"{0:020d}.json")
    actions = [json.loads(line) for line in (origin / "_delta_log" / log.name).read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["path"] = f"file:{origin}/{action['add']['path']}"
        if "commitInfo" in action:
            action["commitInfo"] |= {"operation": "CLONE", "readVersion": -1}
    log.parent.mkdir(parents=True)
    log.write_text("\n".join(json.dumps(action) for action in actions))
    report = reading(tmp_path, "SELECT count(*) FROM {{ inlets.clone }}", "clone")
    assert computed(engine, order(report, clone)) == [(6,)]


def test_an_inlet_that_was_never_written_is_empty_if_its_columns_are_declared(engine, tmp_path):
    source = table("source", tmp_path)
    report = reading(tmp_path)
    pins = {"source": InletPin("x", 0)}
    with pytest.raises(RunError) as error:
        engine.compute(order(report, source, pins=pins), attempt=1)
    assert str(error.value) == (
        "the inlet 'source' has not been written yet, so its columns are unknown\n  hint: declare its 'columns'"
    )
    assert computed(engine, order(report, replace(source, columns={"a": "int"}), pins=pins)) == []


AMSTERDAM = "Europe/Amsterdam"


@pytest.mark.parametrize(
    ("slots", "kind", "key", "values", "kept"),
    [
        (("day", "UTC"), "date", "2013-01-02", ["2013-01-01", "2013-01-02", "2013-01-03", None], ["2013-01-02"]),
        (("month", "UTC"), "date", "2013-01", ["2012-12-31", "2013-01-01", "2013-01-31", "2013-02-01"], None),
        (("week", "UTC"), "string", "2013-W01", ["2012-W53", "2013-W01", "2013-W01x", "2013-W02"], ["2013-W01"]),
        # a spring day of 23 hours and an autumn day of 25: the local day, whatever its length
        (
            ("day", AMSTERDAM),
            "timestamp",
            "2013-03-31",
            ["2013-03-30T22:59:59Z", "2013-03-30T23:00:00Z", "2013-03-31T21:59:59Z", "2013-03-31T22:00:00Z"],
            ["2013-03-30T23:00:00Z", "2013-03-31T21:59:59Z"],
        ),
        (
            ("day", AMSTERDAM),
            "timestamp",
            "2013-10-27",
            ["2013-10-26T21:59:59Z", "2013-10-26T22:00:00Z", "2013-10-27T22:59:59Z", "2013-10-27T23:00:00Z"],
            ["2013-10-26T22:00:00Z", "2013-10-27T22:59:59Z"],
        ),
        (
            ("day", AMSTERDAM),
            "timestamp_ntz",
            "2013-10-27",
            ["2013-10-26T23:59:59", "2013-10-27T00:00:00", "2013-10-27T23:59:59", "2013-10-28T00:00:00"],
            ["2013-10-27T00:00:00", "2013-10-27T23:59:59"],
        ),
        (
            ("hour", AMSTERDAM),
            "timestamp",
            "2013-10-27T02+01:00",
            ["2013-10-27T00:30:00Z", "2013-10-27T01:30:00Z", "2013-10-27T02:00:00Z"],
            ["2013-10-27T01:30:00Z"],
        ),
        (("hour", AMSTERDAM), "string", "2013-10-27T02+01:00", ["2013-10-27T02+02:00", "2013-10-27T02+01:00"], None),
    ],
)
def test_only_the_mapped_partitions_are_read(engine, spark, tmp_path, slots, kind, key, values, kept):
    source = table("source", tmp_path, by=slots[0], zone=slots[1], column="at")
    literals = ", ".join("(NULL)" if value is None else f"('{value}')" for value in values)
    save_by_spark(spark.sql(f"SELECT CAST(v AS {kind}) AS at, v FROM VALUES {literals} AS t(v)"), source)  # noqa: S608
    pins = {"source": newest(source, parts=span(source, key))}
    read = computed(engine, order(reading(tmp_path, "SELECT v FROM {{ inlets.source }}"), source, pins=pins))
    expected = kept or (values[1:3] if len(values) > 2 else values[1:])
    assert [value for (value,) in read] == sorted(expected)


def test_no_mapped_partition_is_no_row(engine, flights, tmp_path):
    pins = {"flights": newest(flights, parts=NOTHING)}
    assert computed(engine, order(reading(tmp_path, ALL, "flights"), flights, pins=pins)) == []


def test_a_column_that_cannot_hold_the_partition_is_refused(engine, spark, tmp_path):
    source = table("source", tmp_path, by="day")
    save(spark.sql("SELECT 5 AS day"), source)
    pins = {"source": newest(source, parts=span(source, "2013-01-05"))}
    with pytest.raises(RunError) as error:
        engine.compute(order(reading(tmp_path), source, pins=pins), attempt=1)
    assert str(error.value) == (
        "the column 'day' of the inlet 'source' is INT, which cannot hold a partition by day\n"
        "  hint: make it DATE, TIMESTAMP or STRING"
    )


def test_a_missing_partition_column_is_named(engine, spark, tmp_path):
    source = table("source", tmp_path, by="day")
    save(spark.sql("SELECT 5 AS dya"), source)
    pins = {"source": newest(source, parts=span(source, "2013-01-05"))}
    with pytest.raises(RunError) as error:
        engine.compute(order(reading(tmp_path), source, pins=pins), attempt=1)
    assert str(error.value) == "the inlet 'source' has no column 'day'\n  hint: did you mean 'dya'?"


@pytest.mark.parametrize(
    ("kind", "values", "high"),
    [
        ("timestamp", ["2013-01-01T00:00:00.000001Z", "2013-01-01T00:00:00.000002Z"], "2013-01-01T00:00:00.000002Z"),
        ("timestamp_ntz", ["2013-01-01T00:00:00", "2013-01-01T00:00:00.5"], "2013-01-01T00:00:00.500000"),
        ("date", ["2013-01-01", "2013-01-02"], "2013-01-02"),
        ("bigint", ["9007199254740992", "9007199254740993"], "9007199254740993"),
        ("decimal(38,18)", ["0.000000000000000001", "0.000000000000000002"], "0.000000000000000002"),
        ("string", ["a", "it's \\\\ b"], "it's \\ b"),
    ],
)
def test_a_watermark_is_exact(engine, spark, tmp_path, kind, values, high):
    source = table("source", tmp_path)
    literals = ", ".join(f'("{value}")' for value in [*values])
    frame = spark.sql(f"SELECT CAST(v AS {kind}) AS c, v FROM VALUES {literals}, (NULL) AS t(v)")  # noqa: S608
    save(frame, source)
    report = reading(tmp_path, "SELECT v FROM {{ inlets.source }}", after={"source": "C"})
    first = engine.compute(order(report, source), attempt=1)
    assert first.measures == {"watermarks": {"source": high}}
    assert first.frame.count() == 2
    again = engine.compute(order(report, source, pins={"source": newest(source, low=high)}), attempt=1)
    assert again.measures == {"watermarks": {"source": high}}
    assert again.frame.count() == 0


def test_rows_above_the_watermark_only(engine, spark, tmp_path):
    source = table("source", tmp_path)
    save(spark.range(5).toDF("n"), source)
    query = "SELECT n, '{{ watermark.low }}' AS low, '{{ watermark.high }}' AS high FROM {{ inlets.source }}"
    report = reading(tmp_path, query, after={"source": "n"})
    run = order(report, source, pins={"source": newest(source, low="2")})
    assert computed(engine, run) == [(3, "2", "4"), (4, "2", "4")]


def test_files_that_hold_nothing_above_the_watermark_are_not_opened(engine, spark, tmp_path):
    source = table("source", tmp_path)
    for first in (0, 10, 20):
        save(spark.range(first, first + 10).toDF("n"), source)
    report = reading(tmp_path, after={"source": "n"})
    read = engine.compute(order(report, source, pins={"source": newest(source, low="14")}), attempt=1).frame
    assert sorted(row.n for row in read.collect()) == [*range(15, 30)]
    assert len(read.inputFiles()) == len(spark.read.format("delta").load(source.storage.path).inputFiles()) * 2 // 3
    nothing = engine.compute(order(report, source, pins={"source": newest(source, low="29")}), attempt=1)
    assert (nothing.frame.inputFiles(), nothing.frame.count()) == ([], 0)
    assert nothing.measures == {"watermarks": {"source": "29"}}


def test_an_empty_inlet_has_no_watermark(engine, spark, tmp_path):
    source = table("source", tmp_path)
    save(spark.range(0).toDF("n"), source)
    report = reading(tmp_path, after={"source": "n"})
    assert engine.compute(order(report, source), attempt=1).measures == {}


def test_a_type_that_is_not_exact_is_no_watermark(engine, spark, tmp_path):
    source = table("source", tmp_path)
    save(spark.sql("SELECT 1.5D AS x"), source)
    with pytest.raises(RunError) as error:
        engine.compute(order(reading(tmp_path, after={"source": "x"}), source), attempt=1)
    assert str(error.value) == (
        "the column 'x' of the inlet 'source' is DOUBLE, which cannot be a watermark\n  hint: use a date, a "
        "timestamp, a whole number, a decimal or a string"
    )


def test_an_inlet_that_is_only_waited_for_is_not_read(engine, flights, tmp_path):
    report = table("report", tmp_path, **sql("SELECT 1 AS n", "flights"))
    waits = {"flights": replace(report.inlets["flights"], waits_only=True)}
    run = order(replace(report, inlets=waits), flights, pins={"flights": InletPin("x", 0)})
    assert computed(engine, run) == [(1,)]


def test_the_values_of_hours_and_days(engine, tmp_path):
    query = "SELECT * FROM {{ partitions }}"
    hourly = table("hourly", tmp_path, by="hour", zone=AMSTERDAM, column="at", **sql(query))
    (one,) = computed(engine, order(hourly, keys="2013-10-27T02+01:00"))
    assert one == (datetime(2013, 10, 27, 1), datetime(2013, 10, 27, 1), datetime(2013, 10, 27, 2))  # noqa: DTZ001
    daily = table("daily", tmp_path, by="day", zone=AMSTERDAM, **sql(query.replace("*", "day, end")))
    assert computed(engine, order(daily, keys="2013-10-27..2013-10-28")) == [
        (date(2013, 10, 27), datetime(2013, 10, 27, 23)),  # noqa: DTZ001
        (date(2013, 10, 28), datetime(2013, 10, 28, 23)),  # noqa: DTZ001
    ]
    assert to_unix(parse_instant("2013-10-27T23:00Z", zone="UTC")) == daily.partitioning.time.parse_key("2013-10-27")[1]


def test_decimals_stay_decimals(engine, spark, tmp_path):
    source = table("source", tmp_path)
    save(spark.sql("SELECT 1.10BD AS price"), source)
    assert computed(engine, order(reading(tmp_path), source)) == [(Decimal("1.10"),)]
