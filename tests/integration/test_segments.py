"""Runs over partitions of segments and products: which rows are theirs, against a plain look at every row."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sparkassets.core.partitions import (
    Dependency,
    OverlapMapping,
    Partitioning,
    PartitionSet,
    RangeSet,
    SegmentPartition,
    TimePartition,
    segment_of,
)
from sparkassets.core.partitions.segments import decode_segment
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.writes import PublishWrite
from sparkassets.delta.live_files import flat_adds, live_files
from sparkassets.errors import RunError
from sparkassets.spark.own_session import copy_for_run
from sparkassets.spark.predicates import partition_predicate
from sparkassets.spark.writes import layout_of
from tests.depth import deep
from tests.integration.orders import execute, held, newest, order, rows, save, segmented, sql, table

pytestmark = pytest.mark.spark

DAY = 86_400
FIRST = datetime(2013, 1, 1, tzinfo=UTC)
START = int(FIRST.timestamp())
KINDS = {
    "text": ("string", ["a", "A", "it's", "\\n", "${x}", "", "é"]),
    "small": ("tinyint", [-128, 0, 127]),
    "short": ("smallint", [-(2**15), 7]),
    "number": ("int", [-1, 5, 2**31 - 1]),
    "long": ("bigint", [-(2**63), 2**63 - 1]),
    "price": ("decimal(9,2)", [Decimal("1.50"), Decimal("-0.01"), Decimal("9999999.99")]),
    "big": ("decimal(38,0)", [Decimal(10**38 - 1), Decimal(0)]),
    "since": ("date", [date(1, 1, 1), date(2013, 1, 1), date(9999, 12, 31)]),
    "flag": ("boolean", [True, False]),
}
"""Columns of segments: type and values."""
TIMES = {"day": "date", "at": "timestamp", "local": "timestamp_ntz", "code": "string"}
SCHEMA = ", ".join(
    f"{name} {kind}" for name, kind in ({name: kind for name, (kind, _) in KINDS.items()} | TIMES).items()
)


def in_time(name, moment):
    """A row's time as the column has it."""
    local = moment.replace(tzinfo=None)
    return {"day": moment.date(), "at": moment, "local": local, "code": str(moment.date())}[name]


moments = st.none() | st.integers(0, 4 * 24 - 1).map(lambda hour: FIRST + timedelta(hours=hour))


@st.composite
def some_rows(draw):
    segments = {name: st.none() | st.sampled_from(values) for name, (_, values) in KINDS.items()}
    times = dict.fromkeys(TIMES, moments)
    return draw(st.lists(st.fixed_dictionaries({**segments, **times}), min_size=10, max_size=40))


@st.composite
def some_parts(draw):
    """A partitioning and a set of its partitions."""
    names = draw(st.lists(st.sampled_from([*KINDS]), min_size=1, max_size=3, unique=True))
    time = draw(st.none() | st.sampled_from([*TIMES]).map(lambda name: TimePartition("day", "UTC", column=name)))
    keys = [[segment_of(value, KINDS[name][0]) for value in KINDS[name][1]] for name in names]
    named = zip(names, keys, strict=True)
    dimensions = tuple(SegmentPartition(name.upper(), tuple(sorted(each))) for name, each in named)
    spans = st.sets(st.integers(0, 3)).map(
        lambda days: RangeSet.from_pairs((START + n * DAY, START + n * DAY + DAY) for n in days)
    )
    ranges = st.just(RangeSet.always()) | (spans if time is not None else st.just(RangeSet()))
    tuples = st.tuples(*(st.sampled_from(each) for each in keys))
    times = draw(st.dictionaries(tuples, ranges, max_size=6))
    return Partitioning(time, dimensions), PartitionSet.by_segment(times, draw(st.just(RangeSet()) | ranges))


def belongs(row, partitioning, parts):
    """What is said of one row, without a predicate."""
    if parts.is_everything:
        return True
    columns = [each.column.lower() for each in partitioning.segments]
    segment = tuple(segment_of(row[column], KINDS[column][0]) for column in columns)
    ranges = parts.time_of(segment) if None not in segment else RangeSet() if parts.apart else parts.time
    if partitioning.time is None or ranges == RangeSet.always():
        return bool(ranges)
    moment = row[partitioning.time.column]
    return moment is not None and ranges.covers(RangeSet.span(int(moment.timestamp()), int(moment.timestamp()) + 1))


@given(some_rows(), st.lists(some_parts(), min_size=20, max_size=60))
@settings(max_examples=3, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
def test_a_predicate_holds_for_the_rows_of_its_partitions_and_no_others(spark, given_rows, drawn):
    own = copy_for_run(spark)
    own.conf.set("spark.sql.session.timeZone", "UTC")
    data = [{**row, **{name: row[name] and in_time(name, row[name]) for name in TIMES}} for row in given_rows]
    frame = own.createDataFrame([tuple(row[name] for name in (*KINDS, *TIMES)) for row in data], SCHEMA)
    told = [
        partition_predicate(frame.schema, parts, partitioning=partitioning, owner="x") for partitioning, parts in drawn
    ]
    found = frame.selectExpr(*(f"coalesce(({each or 'true'}), false) AS p{n}" for n, each in enumerate(told))).collect()
    wrong = [
        (row, parts, predicate)
        for row, answers in zip(given_rows, found, strict=True)
        for answer, (partitioning, parts), predicate in zip(answers, drawn, told, strict=True)
        if answer != belongs(row, partitioning, parts)
    ]
    assert wrong[:1] == []


HOURS = "2025-03-01T05..2025-03-01T06"
SPEND = (
    Path(__file__, "../../examples/08_hour_x_warehouse/dwh_spend_analysis.sql").resolve().read_text(encoding="utf-8")
)


@pytest.fixture
def daily(spark, tmp_path):
    """What two warehouses cost on two days, and a third that is none of the asset's."""
    asset = segmented(table("dwh_daily_spend", tmp_path, by="day"), warehouse=["eng", "mkt"])
    found = [
        (date(2025, 3, day), name, 24.0 * day * n) for day in (1, 2) for n, name in enumerate(("eng", "mkt", "x"), 1)
    ]
    save(spark.createDataFrame(found, "day date, warehouse string, cost double"), asset)
    return asset


def hourly(tmp_path, query=SPEND, *inlets, **more):
    asset = table("spend", tmp_path, by="hour", column="hour", **sql(query, *(inlets or ["dwh_daily_spend"])), **more)
    return segmented(asset, warehouse=["eng", "mkt"])


def pinned(daily, asset, keys):
    """The run, whose inlet is pinned to what its partitions need."""
    inlet = Dependency(OverlapMapping(), asset.partitioning, daily.partitioning)
    run = order(asset, daily, keys=keys)
    return replace(run, pins={daily.name: newest(daily, parts=inlet.required_partitions(run.partitions))})


@pytest.mark.parametrize("commit", ["auto", deep("spark")])
def test_a_fused_run_replaces_exactly_its_partitions(engine, spark, daily, tmp_path, commit):
    asset = hourly(tmp_path, commit=commit)
    execute(engine, pinned(daily, asset, [f"{HOURS},*"]))
    shown = ("date_format(hour, 'HH')", "warehouse", "cost")
    assert rows(spark, asset, *shown) == [("05", "eng", 1), ("05", "mkt", 2), ("06", "eng", 1), ("06", "mkt", 2)]
    spark.sql(f"UPDATE delta.`{daily.storage.path}` SET cost = 240 WHERE day = '2025-03-01'")  # noqa: S608 - the test's own
    execute(engine, pinned(daily, asset, ["2025-03-01T06,eng", "2025-03-01T07,mkt"]))
    assert rows(spark, asset, *shown) == [
        ("05", "eng", 1),
        ("05", "mkt", 2),
        ("06", "eng", 10),
        ("06", "mkt", 2),
        ("07", "mkt", 10),
    ]
    now = DeltaTable(asset.storage.path)
    assert now.metadata().partition_columns == []
    assert now.history(1)[0]["engineInfo"].startswith("delta-rs") is (commit == "auto")


def test_rows_outside_the_partitions_are_told_by_all_columns_and_those_without_a_segment_are_counted(engine, tmp_path):
    query = sql(
        "SELECT hour, CASE id WHEN 2 THEN NULL WHEN 3 THEN 'x' ELSE warehouse END AS warehouse"
        " FROM {{ partitions }}, range(4)"
    )
    asset = segmented(table("spend", tmp_path, by="hour", column="hour", **query), warehouse=["eng", "mkt"])
    with pytest.raises(RunError) as error:
        execute(engine, order(asset, keys=["2025-03-01T05,eng", "2025-03-01T06,mkt"]))
    assert str(error.value) == (
        "spend: rows outside the run's partitions 2025-03-01T05,eng, 2025-03-01T06,mkt: hour, warehouse is "
        "2025-03-01 05:00:00, NULL; 2025-03-01 05:00:00, x; 2025-03-01 06:00:00, NULL; 2025-03-01 06:00:00, x; "
        "warehouse is NULL in 2 rows; nothing was written\n  hint: NULL belongs to no partition: filter these "
        "rows, or give them a key, as in coalesce(warehouse, …); filter them in the query, or join {{ partitions }}"
    )
    only = segmented(
        table("only", tmp_path, **sql("SELECT IF(id = 1, NULL, 'eng') AS warehouse FROM range(2)")), warehouse=["eng"]
    )
    with pytest.raises(RunError, match=r"partitions eng: warehouse is NULL in 1 row; nothing was") as error:
        execute(engine, order(only, keys=["eng"]))
    assert error.value.hint == (
        "NULL belongs to no partition: filter these rows, or give them a key, as in coalesce(warehouse, …)"
    )


def test_a_segment_that_its_column_cannot_hold_is_refused_before_anything_is_computed(engine, tmp_path):
    query = "SELECT CAST(raise_error('computed') AS INT) AS store, 1 AS n"
    asset = segmented(table("spend", tmp_path, **sql(query)), store=["1", "north"])
    with pytest.raises(RunError) as error:
        engine.compute(order(asset, keys=["*"]), attempt=1)
    assert (
        str(error.value)
        == "the segment 'north' is not a value of the column 'store' of the result of spend, which is INT"
    )


@pytest.mark.parametrize(
    ("by", "keys", "query", "layout"),
    [
        ("day", ["2025-03-01,a"], "DATE'2025-03-01' AS day, 'a' AS seg", ["day"]),
        deep("hour", ["2025-03-01T00,a"], "TIMESTAMP'2025-03-01T00:00:00Z' AS day, 'a' AS seg", []),
        (None, ["7"], "7 AS seg", ["seg"]),
        deep(None, ["true"], "true AS seg", ["seg"]),
        deep(None, ["1.5"], "1.50 AS seg", ["seg"]),
        deep(None, ["2025-03-01"], "DATE'2025-03-01' AS seg", ["seg"]),
        (None, ["%"], "'' AS seg", []),
        deep(None, ["__HIVE_DEFAULT_PARTITION__"], "'__HIVE_DEFAULT_PARTITION__' AS seg", []),
        (None, ["a/b %252C"], "'a/b %2C' AS seg", ["seg"]),
        deep(None, ["é" * 50], f"'{'é' * 50}' AS seg", []),
        (None, ["NL", "nl"], "'nl' AS seg", []),
        deep(None, ["E\u0301", "é"], "'é' AS seg", []),
    ],
)
def test_a_new_table_has_folders_by_days_or_else_by_segments_that_name_some(
    engine, spark, tmp_path, by, keys, query, layout
):
    segments = [decode_segment(key.rpartition(",")[2]) for key in keys]
    asset = segmented(table("spend", tmp_path, by=by, **sql(f"SELECT {query}, 1 AS n")), seg=segments)
    for _ in range(2):
        execute(engine, order(asset, keys=keys))
    assert DeltaTable(asset.storage.path).metadata().partition_columns == layout
    assert len(rows(spark, asset)) == 1
    assert spark.read.format("delta").load(asset.storage.path).filter("seg IS NULL").count() == 0


@pytest.mark.parametrize(
    ("more", "layout"),
    [
        ({}, ["day"]),
        ({"strategy": EveryInstance()}, ["day", "seg"]),
        ({"write": PublishWrite(10)}, ["day", "seg"]),
        ({"properties": {"delta.enableChangeDataFeed": "true"}}, ["day", "seg"]),
        ({"followed": True}, ["day", "seg"]),
        ({"partitioned_by": ("SEG", "day")}, ["seg", "day"]),
        ({"partitioned_by": ()}, []),
        ({"write": PublishWrite(10), "partitioned_by": ()}, []),
    ],
    ids=str,
)
def test_segments_beside_time_get_folders_where_they_are_written_alone_or_somebody_says_so(tmp_path, more, layout):
    from pyspark.sql.types import StructType

    asset = replace(segmented(table("spend", tmp_path, by="day"), seg=["a", "b"]), **more)
    schema = StructType().add("day", "date").add("seg", "string").add("n", "integer")
    assert layout_of(asset, schema, None) == layout


@pytest.mark.parametrize(
    ("query", "folders", "message"),
    [
        ("1 AS n, 2 AS m", ("day",), "the result of spend has no column 'day'"),
        ("array(1) AS n, 2 AS m", ("n",), "spend: Delta cannot partition by the column 'n', which is ARRAY<INT>"),
        ("1 AS n", ("N",), "spend: 'partitioned_by' names every column, but the files need at least one"),
    ],
)
def test_folders_that_a_new_table_cannot_have_are_refused_before_anything_is_computed(
    engine, tmp_path, query, folders, message
):
    asset = table("spend", tmp_path, partitioned_by=folders, **sql(f"SELECT {query}"))
    with pytest.raises(RunError, match=re.escape(message)):
        engine.compute(order(asset), attempt=1)


@pytest.mark.parametrize("commit", ["auto", deep("spark")])
def test_of_a_file_of_several_segments_each_is_replaced_without_the_others(engine, spark, tmp_path, commit):
    """Also where one that left the list is among its rows."""
    made = segmented(table("spend", tmp_path, by="day", commit=commit), seg=["a", "b", "c"])

    def run(asset, n, keys):
        lines = ", ".join(f"(DATE'{day}', '{seg}')" for day, seg in (key.split(",") for key in keys))
        query = sql(f"SELECT day, seg, {n} AS n FROM VALUES {lines} AS t(day, seg)")  # noqa: S608
        execute(engine, order(replace(asset, **query), keys=keys))
        found = [(f"{row.day},{row.seg}", row.n) for row in held(spark, asset.storage.path).collect()]
        assert len(found) == len(dict(found))
        return dict(found)

    keys = [f"2025-01-0{day},{seg}" for day in (1, 2) for seg in "abc"]
    assert run(made, 1, keys) == dict.fromkeys(keys, 1)
    assert len(DeltaTable(made.storage.path).file_uris()) == 2
    assert run(made, 2, ["2025-01-01,b"]) == dict.fromkeys(keys, 1) | {"2025-01-01,b": 2}
    assert run(made, 3, keys) == dict.fromkeys(keys, 3)
    assert len(DeltaTable(made.storage.path).file_uris()) == 2
    some = [key for key in keys if not key.endswith("b")]
    assert run(segmented(made, seg=["a", "c"]), 4, some) == dict.fromkeys(keys, 3) | dict.fromkeys(some, 4)


def test_very_many_segments_get_no_folder_each(engine, tmp_path):
    asset = segmented(table("spend", tmp_path, **sql("SELECT 1 AS seg, 1 AS n")), seg=[str(n) for n in range(1001)])
    execute(engine, order(asset, keys=["1"]))
    assert DeltaTable(asset.storage.path).metadata().partition_columns == []


def test_a_run_knows_its_partitions(engine, spark, daily, tmp_path):
    query = "SELECT *, '{{ partition.warehouse }}' AS one, '{{ partition.hour }}' AS at FROM {{ partitions }}"
    asset = hourly(tmp_path, query)
    found = engine.compute(pinned(daily, asset, ["2025-03-01T05,mkt"]), attempt=1)
    assert found.frame.columns == ["hour", "warehouse", "start", "end", "one", "at"]
    (row,) = found.frame.collect()
    assert (row.warehouse, row.one, row.at) == ("mkt", "mkt", "2025-03-01 05:00:00+00:00")
    (partition,) = found.context.partitions
    assert (partition.key, partition.end - partition.start, partition.segments) == (
        "2025-03-01T05,mkt",
        timedelta(hours=1),
        {"warehouse": "mkt"},
    )
    with pytest.raises(RunError, match="'partition' has no single value: the run has 2 partitions; join"):
        engine.compute(pinned(daily, asset, ["2025-03-01T05,*"]), attempt=1)
    typed = segmented(
        table("typed", tmp_path, columns={"Seg": "INT"}, **sql("SELECT seg FROM {{ partitions }}")), seg=["7"]
    )
    computed = engine.compute(order(typed, keys=["7"]), attempt=1)
    assert (computed.frame.dtypes, computed.context.partitions[0].start) == ([("seg", "int")], None)


@pytest.fixture
def whole_plans(spark):
    """Sessions made meanwhile tell all conditions of a plan, however long."""
    spark.conf.set("spark.sql.maxMetadataStringLength", "10000")
    yield
    spark.conf.unset("spark.sql.maxMetadataStringLength")


@pytest.mark.usefixtures("whole_plans")
@pytest.mark.parametrize(
    ("deletes", "layout"),
    [
        ("true", ["day", "warehouse"]),
        deep("true", ["warehouse"]),
        ("true", []),
        deep("false", ["day", "warehouse"]),
        ("false", ["warehouse"]),
        deep("false", []),
    ],
)
def test_spark_reads_of_an_inlet_what_the_partitions_need(engine, spark, tmp_path, deletes, layout):
    """A table with deletion vectors is Delta's to read."""
    source = segmented(table("dwh_daily_spend", tmp_path, by="day"), warehouse=["eng", "mkt", "x"])
    spark.sql(
        f"CREATE TABLE delta.`{source.storage.path}` (day DATE, warehouse STRING, cost DOUBLE) USING delta "
        + (f"PARTITIONED BY ({', '.join(layout)}) " if layout else "")
        + f"TBLPROPERTIES ('delta.enableDeletionVectors' = '{deletes}')"
    )
    for day in (1, 2, 3):
        found = [(date(2025, 3, day), name, 24.0 * day) for name in ("eng", "mkt", "x")]
        save(spark.createDataFrame(found, "day date, warehouse string, cost double").coalesce(1), source)
    frame = engine.compute(pinned(source, hourly(tmp_path), ["2025-03-01T05..2025-03-01T06,*"]), attempt=1).frame
    assert sorted((row.warehouse, row.cost) for row in frame.collect()) == [
        ("eng", 1),
        ("eng", 1),
        ("mkt", 1),
        ("mkt", 1),
    ]
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert len(frame.inputFiles()) == (2 if layout else 1)
    told = re.search(r"PartitionFilters: \[(.*?)\], PushedFilters: \[(.*?)\], Read", plan)
    assert told is not None
    if deletes == "false" and layout:  # whole files: nothing is left to be asked
        return
    pruned, pushed = told.groups()
    assert ("day" in pruned) == ("day" in layout)
    assert (re.search(r"warehouse#\d+ IN \(eng,mkt\)", pruned) is not None) == ("warehouse" in layout)
    assert ("In(warehouse, [eng,mkt])" in pushed) == ("warehouse" not in layout)
    assert ("GreaterThanOrEqual(day,2025-03-01)" in pushed) == ("day" not in layout)


@pytest.mark.parametrize("commit", ["auto", deep("spark")])
def test_files_of_other_partitions_stay(engine, tmp_path, commit):
    query = "SELECT day, warehouse, '{{ run_id }}' AS run FROM {{ partitions }}"
    folders = ("day", "warehouse")
    asset = table("spend", tmp_path, by="day", commit=commit, partitioned_by=folders, **sql(query))
    asset = segmented(asset, warehouse=["eng", "mkt"])
    execute(engine, order(asset, keys=["2025-03-01..2025-03-04,*"]))
    before = live_files(flat_adds(DeltaTable(asset.storage.path)))
    execute(engine, order(asset, keys=["2025-03-02,eng", "2025-03-03..2025-03-04,mkt"]))
    after = {file.path for file in live_files(flat_adds(DeltaTable(asset.storage.path)))}
    gone = [(str(file.partition["day"]), file.partition["warehouse"]) for file in before if file.path not in after]
    assert sorted(gone) == [("2025-03-02", "eng"), ("2025-03-03", "mkt"), ("2025-03-04", "mkt")]
    assert len(after) == len(before) == 8
