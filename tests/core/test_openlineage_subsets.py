"""Conditions of subsets are true of the rows of their partitions and of no others; nothing is told that is not so."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import pytest

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import (
    EVERYTHING,
    NOTHING,
    Partitioning,
    PartitionSet,
    RangeSet,
    SegmentPartition,
    TimePartition,
)
from sparkassets.core.runs import InletPin, TablePosition
from sparkassets.core.spec.model import InletSpec, ReadAfter, ReadChanges, SourceSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.features.openlineage import subset_conditions
from sparkassets.features.openlineage.names import DatasetName, dataset_name
from sparkassets.features.openlineage.subset_conditions import (
    compare_condition,
    input_condition,
    join_conditions,
    output_condition,
    partition_condition,
)
from tests.builders import asset, at, days, source
from tests.depth import examples

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "subset_conditions.json").read_text())

BEGIN, DAYS = at("2025-02-26T00:00Z"), 6
SHOPS = SegmentPartition("shop", ("a", "b", "c"))
KINDS = {
    "days": Partitioning(TimePartition("day", "UTC", column="day")),
    "hours": Partitioning(TimePartition("hour", "UTC", column="at")),
    "weeks": Partitioning(TimePartition("week", "UTC", column="week")),
    "zone": Partitioning(TimePartition("day", "Europe/Berlin", column="day")),
    "working days": Partitioning(TimePartition("day", "UTC", column="day", exclude="* * * * SAT,SUN")),
    "shops": Partitioning(None, (SHOPS,)),
    "both": Partitioning(TimePartition("day", "UTC", column="day"), (SHOPS,)),
    "shops first": Partitioning(TimePartition("day", "UTC", column="day"), (SHOPS,), time_at=1),
}


def rows(partitioning):
    """What may stand in the columns of a row, with the partition that it is of."""
    time = partitioning.time
    slots = list(time.slots(time.cover(RangeSet.span(BEGIN, BEGIN + DAYS * 86400)))) if time else [(None, None)]
    for (start, end), shop in product(slots, ("a", "b", "c") if partitioning.segments else (None,)):
        row = {time.column: time.key(start)} if time else {}
        row |= {"shop": shop} if shop else {}
        span = RangeSet.span(start, end) if time else RangeSet.always()
        yield row, PartitionSet.by_segment({(shop,): span}) if shop else PartitionSet(span)


def holds(condition, row):
    """Whether a row fulfils a condition; keys compare as they do in a column of text."""
    match condition["type"]:
        case "partition":
            return any(each["dimensions"] == row for each in condition["partitions"])
        case "compare":
            value, literal = row[condition["left"]["field"]], condition["right"]["value"]
            return {
                "EQUAL": value == literal,
                "GREATER_EQUAL_THAN": value >= literal,
                "LESS_THAN": value < literal,
            }[condition["comparison"]]
        case "binary":
            sides = [holds(condition[side], row) for side in ("left", "right")]
            return all(sides) if condition["operator"] == "AND" else any(sides)


@pytest.mark.parametrize("listed", [0, 400])
@pytest.mark.parametrize("kind", KINDS)
def test_the_rows_of_partitions_and_no_others_fulfil_their_condition(kind, listed, monkeypatch):
    monkeypatch.setattr(subset_conditions, "MOST_LISTED", listed)
    partitioning, random, told = KINDS[kind], Random(7), 0  # noqa: S311
    every = list(rows(partitioning))
    for _ in range(examples(40)):
        own = random.sample(every, random.randint(1, len(every)))
        parts = PartitionSet.union(part for _, part in own)
        condition = partition_condition(parts, partitioning)
        told += condition is not None
        if condition is not None:
            assert [holds(condition, row) for row, _ in every] == [part in [own for _, own in own] for _, part in every]
    assert told or (listed == 0 and kind in ("weeks", "working days"))


def test_what_no_column_tells_has_no_condition():
    days_without = Partitioning(TimePartition("day", "UTC"))
    both = KINDS["both"]
    assert partition_condition(days("2025-01-01"), days_without) is None
    assert partition_condition(EVERYTHING, both) is None
    assert partition_condition(EVERYTHING - both.parse("2025-01-01,a"), both) is None
    assert partition_condition(NOTHING, KINDS["days"]) == {"type": "partition", "partitions": []}
    open_shops = Partitioning(KINDS["days"].time, (SegmentPartition("shop", ("*",), is_open=True),))
    assert partition_condition(days("2025-01-01"), open_shops)["partitions"] == [
        {"identifier": "2025-01-01", "dimensions": {"day": "2025-01-01"}}
    ]


def shape(value):
    """A condition without its literals: its keys, and the type of each value."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items() if key not in ("dimensions", "identifier")}
    if isinstance(value, list):
        return [shape(each) for each in value][:1]
    return value if value in ("partition", "location", "binary", "compare", "field", "literal") else type(value)


def test_conditions_have_the_shape_of_the_examples():
    parts = KINDS["both"].parse("2024-10-15,a")
    assert shape(partition_condition(parts, KINDS["both"])) == shape(VECTORS["partition"])
    both = join_conditions(
        "AND", [compare_condition("first_name", "EQUAL", "John"), compare_condition("last_name", "EQUAL", "Smith")]
    )
    assert both == VECTORS["binary"]
    assert shape(read(FILES, pin(days("2025-01-01..2025-01-02")))) == shape(VECTORS["location"])


FILES = replace(
    source("f"),
    storage=StorageLocation("/data/landing/{day:%Y%m%d}/*.csv", "landing"),
    source=SourceSpec("csv"),
)
TABLE = source("t")


def pin(parts=EVERYTHING, **more):
    return InletPin("x-t", 1, "table", 7, parts, **more)


def read(of, pinned, reading=None, *, high=None):
    return input_condition(InletSpec(of.name, of.uri, None, read=reading), of, pinned, high=high)


def text(condition):
    """A condition as a person would write it."""
    match condition and condition["type"]:
        case None:
            return ""
        case "binary":
            return f"({text(condition['left'])} {condition['operator']} {text(condition['right'])})"
        case "compare":
            signs = {"GREATER_THAN": ">", "LESS_EQUAL_THAN": "<="}
            return f"{condition['left']['field']} {signs[condition['comparison']]} {condition['right']['value']}"
        case "partition":
            return " ".join(each["identifier"] for each in condition["partitions"])
        case "location":
            return " ".join(condition["locations"])


def test_all_of_an_inlet_has_no_condition_and_its_partitions_have():
    assert read(TABLE, pin()) is None
    assert text(read(TABLE, pin(days("2025-01-01..2025-01-02")))) == "2025-01-01 2025-01-02"
    assert read(source("w", by=None), pin()) is None
    without = replace(TABLE, partitioning=Partitioning(TimePartition("day", "UTC")))
    assert read(without, pin(days("2025-01-01"))) is None


def test_files_are_told_by_where_they_are():
    assert text(read(FILES, pin(days("2025-01-01..2025-01-02")))) == (
        "file:///data/landing/20250101 file:///data/landing/20250102"
    )
    assert dataset_name(FILES, namespace="x") == DatasetName("file", "/data/landing")
    for path, told in {
        "s3://lake/in/{day:%Y-%m-%d}.csv": "s3://lake/in/2025-01-01.csv",
        "/data/my files/{day:%Y/%m/%d}/part-*.csv": "file:///data/my%20files/2025/01/01",
        "/data/*/{day}.csv": "2025-01-01",  # no folder is of that day alone
    }.items():
        files = replace(FILES, storage=StorageLocation(path, "landing"))
        assert text(read(files, pin(days("2025-01-01")))) == told


def test_rows_above_a_watermark_are_told_by_its_bounds():
    after = ReadAfter("at")
    assert text(read(TABLE, pin(low="5"), after, high="9")) == "(at > 5 AND at <= 9)"
    assert text(read(TABLE, pin(), after, high="9")) == "at <= 9"
    assert text(read(TABLE, pin(low="5"), after)) == "at > 5"
    assert read(TABLE, pin(), after) is None
    assert read(TABLE, pin(low="5"), ReadAfter("at", Duration(seconds=3600)), high="9") is None
    both = read(TABLE, pin(days("2025-01-01"), low="5"), after, high="9")
    assert text(both) == "((2025-01-01 AND at > 5) AND at <= 9)"


def test_changes_are_told_by_the_versions_that_were_read():
    low = str(TablePosition("table", 3))
    assert text(read(TABLE, pin(low=low), ReadChanges())) == "(_commit_version > 3 AND _commit_version <= 7)"
    assert read(TABLE, pin(), ReadChanges()) is None
    assert read(TABLE, pin(low=str(TablePosition("another", 3))), ReadChanges()) is None  # all was read again


def test_an_iteration_is_told_by_its_folder():
    found = output_condition(asset("m", by=None), EVERYTHING, iteration="m-1.7.1")
    assert text(found) == "file:///data/m/_iterations/m-1.7.1"
    assert text(read(TABLE, pin(iteration="t-1.7.1"))) == "file:///data/t/_iterations/t-1.7.1"
    assert output_condition(asset("m", by=None), EVERYTHING) is None


@pytest.mark.parametrize(
    ("location", "namespace", "name"),
    [
        ("/data/a", "file", "/data/a"),
        ("s3://bucket/a/b", "s3://bucket", "a/b"),
        ("s3a://bucket/a/b/", "s3://bucket", "a/b"),
        ("gs://bucket/a", "gs://bucket", "a"),
        ("abfss://c@acc.dfs.core.windows.net/a/b", "abfss://c@acc.dfs.core.windows.net", "a/b"),
        ("hdfs://nn:8020/a", "hdfs://nn:8020", "/a"),
        ("file:///data/a", "file", "/data/a"),
        ("https://u:pw@h/x", "https://u:pw@h", "x"),  # `events` hides it
    ],
)
def test_datasets_are_named_by_where_they_are(location, namespace, name):
    item = replace(source("s"), storage=StorageLocation(location, "s"))
    assert dataset_name(item, namespace="x") == DatasetName(namespace, name)


@pytest.mark.parametrize(
    ("uri", "namespace", "name"),
    [
        ("x-drop://inbox/new", "x-drop://inbox", "new"),
        ("postgres://db:5432/shop/public/orders", "postgres://db:5432", "shop.public.orders"),
        ("kafka://broker:9092/clicks", "kafka://broker:9092", "clicks"),
        ("orders", "prod", "orders"),
    ],
)
def test_what_is_known_by_its_events_is_named_by_its_identity(uri, namespace, name):
    item = replace(source("s"), storage=None, uri=uri, source=SourceSpec("events"))
    assert dataset_name(item, namespace="prod") == DatasetName(namespace, name)
