"""How live files lie against partitions, against a plain look at every row; and what files say of themselves."""

import json
import tempfile
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkassets.core.instants import to_unix
from sparkassets.core.partitions import (
    EVERYTHING,
    NOTHING,
    UNPARTITIONED,
    Partitioning,
    PartitionSet,
    RangeSet,
    SegmentPartition,
    TimePartition,
    segment_of,
)
from sparkassets.core.partitions.segments import WHOLE
from sparkassets.delta.file_split import TableFiles, make_touch_test, split_files
from sparkassets.delta.live_files import flat_adds, live_files, log_text
from sparkassets.delta.log import DeltaLog
from tests.depth import examples

DAYS = Partitioning(TimePartition("day", "UTC", column="day"))
_TYPES = {
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "string": pa.string(),
}
_GRIDS = [
    ("day", "UTC"),
    ("day", "America/New_York"),
    ("day", "Pacific/Apia"),  # leaves out 2011-12-30
    ("week", "Europe/Amsterdam"),
    ("month", "Asia/Kolkata"),
    ("hour", "America/New_York"),
    ("hour", "UTC"),
]
_AROUND = {
    "UTC": datetime.fromisoformat("1969-12-31T22:00"),
    "America/New_York": datetime.fromisoformat("2024-11-02T22:00"),
    "Pacific/Apia": datetime.fromisoformat("2011-12-28"),
    "Europe/Amsterdam": datetime.fromisoformat("2024-03-30"),
    "Asia/Kolkata": datetime.fromisoformat("2023-12-30"),
}


@st.composite
def tables(draw):
    """A grid, a kind of column, files as lists of values, a set of slots, and whether the column names folders."""
    by, zone = draw(st.sampled_from(_GRIDS))
    kinds = ["timestamp", "string", *(["date"] if by != "hour" else [])]
    kind = draw(st.sampled_from([*kinds, *(["timestamp_ntz"] if by != "hour" or zone == "UTC" else [])]))
    time = TimePartition(by, zone, column="when")
    step = timedelta(minutes=30) if by == "hour" else timedelta(hours=9)
    values = st.none() | st.sampled_from([_value(time, kind, _AROUND[zone] + step * n) for n in range(24)])
    if kind == "string":
        values = values | st.sampled_from(["", "never", "2024-11-03T01", "2024-11-02T22-04:00"])
    physical = draw(st.booleans())
    near = to_unix(_AROUND[zone].replace(tzinfo=ZoneInfo(zone)))
    rows = values.map(lambda value: [value]) if physical else st.lists(values, min_size=1, max_size=4)
    files = draw(st.lists(rows, min_size=1, max_size=4))
    edges = [time.floor(near)]
    while len(edges) < 10:
        edges.append(time.next(edges[-1]))
    chosen = draw(st.sets(st.integers(0, 8)))
    parts = PartitionSet.from_time_pairs((edges[n], edges[n + 1]) for n in chosen)
    return time, kind, files, parts, physical


def _value(time, kind, local):
    zone = ZoneInfo(time.timezone)
    match kind:
        case "date":
            return local.date()
        case "timestamp":
            return local.replace(tzinfo=zone).astimezone(UTC) + timedelta(microseconds=999_999)
        case "timestamp_ntz":
            return local + timedelta(microseconds=999_999)
        case _:
            return time.key(time.floor(to_unix(local.replace(tzinfo=zone))))


def _belongs(value, time, kind, parts):
    """What the predicate of `spark.predicates.belonging` says of one row."""
    if value is None:
        return False
    slots = list(time.slots(parts.time))
    if kind == "string":
        return value in {time.key(start) for start, _ in slots}
    for start, end in slots:
        match kind:
            case "date":
                low, high = time.local_start(start).date(), time.local_start(end).date()
            case "timestamp":
                low, high = datetime.fromtimestamp(start, UTC), datetime.fromtimestamp(end, UTC)
            case _:
                low, high = time.local_start(start), time.local_start(end)
        if low <= value < high:
            return True
    return False


@given(tables())
@settings(max_examples=examples(150), deadline=None)
def test_files_lie_as_their_rows_do(table):
    time, kind, files, parts, physical = table
    with tempfile.TemporaryDirectory() as folder:
        for rows in files:
            data = pa.table({"when": pa.array(rows, _TYPES[kind]), "n": [1] * len(rows)})
            write_deltalake(folder, data, mode="append", partition_by=["when"] if physical else None)
        opened = DeltaTable(folder)
        found = split_files(opened, parts, partitioning=Partitioning(time))
        near = TableFiles.load_files(opened).find_holding(parts, partitioning=Partitioning(time))
        actual = {file.path: _rows(opened, file, physical=physical) for file in live_files(flat_adds(opened))}
    told = {path: {_belongs(value, time, kind, parts) for value in rows} for path, rows in actual.items()}
    assert sorted(told) == sorted(file.path for each in (found.inside, found.mixed, found.outside) for file in each)
    assert {file.path for file in near} == {file.path for file in (*found.inside, *found.mixed)}
    assert all(told[file.path] == {True} for file in found.inside)
    assert all(told[file.path] == {False} for file in found.outside)


def _rows(table, file, *, physical):
    from pyarrow import parquet

    if physical:
        return [file.partition["when"]]
    return parquet.read_table(Path(table.table_uri.removeprefix("file://"), file.place)).column("when").to_pylist()


DAY = 86_400
SEGMENTS = {
    "word": (pa.string(), ["a", "b", "b" * 40, "b" * 40 + "c"]),
    "n": (pa.int8(), [-3, 2, 10]),
    "price": (pa.decimal128(9, 2), [Decimal("1.50"), Decimal("-2.00"), Decimal("10.25")]),
    "long": (pa.decimal128(20, 2), [Decimal("1234567890123456.78"), Decimal("1234567890123456.79")]),
    "since": (pa.date32(), [date(2013, 1, 1), date(2013, 1, 2)]),
    "flag": (pa.bool_(), [True, False]),
}
"""Columns of segments: their types and values."""
_KINDS = {
    "word": "string",
    "n": "byte",
    "price": "decimal(9,2)",
    "long": "decimal(20,2)",
    "since": "date",
    "flag": "boolean",
}


@st.composite
def products(draw):
    """A partitioning, files as lists of rows, a set of partitions, and the columns that name folders."""
    names = draw(st.lists(st.sampled_from([*SEGMENTS]), min_size=1, max_size=2, unique=True))
    time = draw(st.sampled_from([None, TimePartition("day", "UTC", column="when")]))
    values = {name: st.none() | st.sampled_from(SEGMENTS[name][1]) for name in names}
    values["when"] = st.none() | st.integers(1, 4).map(lambda n: date(1970, 1, n))
    folders = draw(st.lists(st.sampled_from([*values]), max_size=2, unique=True))
    row = st.fixed_dictionaries(values)
    files = []
    for _ in range(draw(st.integers(1, 5))):
        first, *others = draw(st.lists(row, min_size=1, max_size=3))
        same = {name: first[name] for name in folders}
        files.append([first, *({**each, **same} for each in others)])
    keys = {name: [segment_of(value, _KINDS[name]) for value in SEGMENTS[name][1]] for name in names}
    dimensions = tuple(SegmentPartition(name.upper(), tuple(sorted(keys[name]))) for name in names)
    spans = st.sets(st.integers(0, 3)).map(lambda days: RangeSet.from_pairs((n * DAY, n * DAY + DAY) for n in days))
    ranges = st.just(RangeSet.always()) | (spans if time else st.just(RangeSet()))
    times = draw(st.dictionaries(st.tuples(*(st.sampled_from(keys[name]) for name in names)), ranges, max_size=4))
    parts = PartitionSet.by_segment(times, draw(st.just(RangeSet()) | ranges))
    return Partitioning(time, dimensions), files, parts, folders


def _holds(row, partitioning, parts):
    """What the predicate says of one row."""
    segment = tuple(segment_of(row[each.column.lower()], _KINDS[each.column.lower()]) for each in partitioning.segments)
    ranges = parts.time_of(segment) if None not in segment else parts.time if not parts.apart else RangeSet()
    if partitioning.time is None or ranges == RangeSet.always():
        return bool(ranges)
    return row["when"] is not None and ranges.covers(
        RangeSet.span(_midnight(row["when"]), _midnight(row["when"]) + DAY)
    )


def _midnight(day):
    return (day - date(1970, 1, 1)).days * DAY


@given(products())
@settings(max_examples=examples(80), deadline=None)
def test_files_of_segments_lie_as_their_rows_do_and_are_told_apart_where_they_hold_one(table):
    partitioning, files, parts, folders = table
    names = [each.column.lower() for each in partitioning.segments]
    schema = pa.schema([(name, SEGMENTS[name][0]) for name in names] + [("when", pa.date32()), ("no", pa.int32())])
    with tempfile.TemporaryDirectory() as folder:
        for number, rows in enumerate(files):
            data = pa.Table.from_pylist([{**row, "no": number} for row in rows], schema)
            write_deltalake(folder, data, mode="append", partition_by=folders or None)
        opened = DeltaTable(folder)
        found = split_files(opened, parts, partitioning=partitioning)
        near = TableFiles.load_files(opened).find_holding(parts, partitioning=partitioning)
        touches = make_touch_test(opened, parts, partitioning=partitioning, split=found)
        touched = {file.path: touches(file) for commit in DeltaLog(folder).read_after(-1) for file in commit.files}
    told = {path: {_holds(row, partitioning, parts) for row in rows} for path, rows in zip(touched, files, strict=True)}
    judged = {file.path: held for held in ("inside", "mixed", "outside") for file in getattr(found, held)}
    assert judged.keys() == told.keys()
    assert {file.path for file in near} == {path for path, held in judged.items() if held != "outside"}
    for (path, held), rows in zip(
        sorted(judged.items()), [files[[*touched].index(path)] for path in sorted(judged)], strict=True
    ):
        assert held == "mixed" or told[path] == {held == "inside"}
        assert touched[path] == (held != "outside")
        plain = all(None not in row.values() for row in rows) and len(set(map(repr, rows))) == 1
        unsure = [name for name in names if name == "long" and name not in folders]
        assert held != "mixed" or not plain or unsure or any(len(row.get("word", "")) > 32 for row in rows)


def test_bounds_of_long_decimals_that_writers_round_tell_nothing(path):
    for value in ("99999999999999.99", "1.50"):
        price = pa.array([Decimal(value)], pa.decimal128(16, 2))
        write_deltalake(path, pa.table({"price": price, "n": [1]}), mode="append")
    prices = Partitioning(None, (SegmentPartition("price", ("1.5", "99999999999999.99")),))
    assert counts(split_files(DeltaTable(path), prices.parse("99999999999999.99"), partitioning=prices)) == [0, 2, 0]


def days(*numbers):
    return pa.array([None if n is None else date(2013, 1, n) for n in numbers], pa.date32())


def save(path, *files, **options):
    for each in files:
        write_deltalake(path, pa.table({"day": each, "n": list(range(len(each)))}), mode="append", **options)
    return DeltaTable(path)


def counts(found):
    return [len(found.inside), len(found.mixed), len(found.outside)]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "table")


def test_a_file_lies_inside_beside_or_across_by_its_statistics(path):
    table = save(path, days(1), days(2, 3), days(3, 4), days(9))
    found = split_files(table, DAYS.parse("2013-01-01..2013-01-03"), partitioning=DAYS)
    assert counts(found) == [2, 1, 1]


def test_rows_of_excluded_time_are_in_no_partition(path):
    workdays = Partitioning(TimePartition("day", "UTC", column="day", exclude="* * * * SAT,SUN"))
    table = save(path, days(3, 4), days(4, 5, 7), days(4), days(7))  # from Thursday to Monday, with a Saturday
    found = split_files(table, workdays.parse("2013-01-03..2013-01-07"), partitioning=workdays)
    assert [sorted(file.rows for file in files) for files in (found.inside, found.mixed)] == [[1, 1, 2], [3]]


def test_rows_without_a_time_are_in_no_partition(path):
    table = save(path, days(1, None), days(None, None))
    assert counts(split_files(table, DAYS.parse("2013-01-01"), partitioning=DAYS)) == [0, 1, 1]


def test_a_version_is_that_which_is_loaded(path):
    save(path, days(1), days(1))
    old = DeltaTable(path, version=0)
    assert counts(split_files(old, DAYS.parse("2013-01-01"), partitioning=DAYS)) == [1, 0, 0]


def test_all_files_hold_everything_and_none_nothing(path):
    table = save(path, days(1, None), days(2))
    assert counts(split_files(table, EVERYTHING, partitioning=DAYS)) == [2, 0, 0]
    assert counts(split_files(table, EVERYTHING, partitioning=UNPARTITIONED)) == [2, 0, 0]
    assert counts(split_files(table, NOTHING, partitioning=DAYS)) == [0, 0, 2]


@pytest.mark.parametrize("column", ["n", "nowhere", None])
def test_where_no_column_tells_the_partition_any_file_may_hold_it(path, column):
    by_other = Partitioning(TimePartition("day", "UTC", column=column))
    table = save(path, days(1))
    assert counts(split_files(table, DAYS.parse("2013-01-01"), partitioning=by_other)) == [0, 1, 0]


def test_the_case_of_a_column_does_not_matter(path):
    upper = Partitioning(TimePartition("day", "UTC", column="DAY"))
    assert counts(split_files(save(path, days(1)), DAYS.parse("2013-01-01"), partitioning=upper)) == [1, 0, 0]


@pytest.mark.parametrize("folders", [["p"], None])
def test_a_file_of_any_segment_may_hold_the_whole_of_a_dimension_on_its_days(path, folders):
    for day, segment in ((1, "a"), (1, None), (2, "b")):
        data = pa.table({"day": days(day), "p": pa.array([segment], pa.string())})
        write_deltalake(path, data, mode="append", partition_by=folders)
    table = DeltaTable(path)
    whole = Partitioning(DAYS.time, (SegmentPartition("p", (WHOLE,), is_open=True),))
    parts = whole.parse("2013-01-01,*")
    found = split_files(table, parts, partitioning=whole)
    assert counts(found) == [0, 2, 1]
    assert sorted(
        TableFiles.load_files(table).find_holding(parts, partitioning=whole), key=lambda file: file.path
    ) == sorted(found.mixed, key=lambda file: file.path)
    touches = make_touch_test(table, parts, partitioning=whole, split=found)
    assert [touches(file) for commit in DeltaLog(path).read_after(-1) for file in commit.files] == [True, True, False]


def test_without_statistics_a_file_may_hold_any_partition(path):
    table = save(path, days(1))
    log = Path(path, "_delta_log", f"{0:020d}.json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    log.write_text("\n".join(json.dumps(_without_stats(line)) for line in lines))
    table = DeltaTable(path)
    assert [file.rows for file in live_files(flat_adds(table))] == [None]
    assert counts(split_files(table, DAYS.parse("2013-01-05"), partitioning=DAYS)) == [0, 1, 0]


def _without_stats(line):
    return {"add": {key: value for key, value in line["add"].items() if key != "stats"}} if "add" in line else line


def test_a_folder_of_no_slot_may_hold_any_for_who_replaces_and_for_who_looks_at_others(path):
    write_deltalake(path, pa.table({"day": ["2013-01-01", "some day", None], "n": [1, 2, 3]}), partition_by=["day"])
    table, parts = DeltaTable(path), DAYS.parse("2013-01-01")
    assert counts(split_files(table, parts, partitioning=DAYS)) == [1, 1, 1]
    touches = make_touch_test(table, parts, partitioning=DAYS, split=split_files(table, parts, partitioning=DAYS))
    (commit,) = DeltaLog(path).read_after(-1)
    assert {file.partition["day"]: touches(file) for file in commit.files} == {
        "2013-01-01": True,
        "some day": True,
        None: False,
    }


def test_what_others_took_is_judged_by_what_was_there_when_the_table_has_moved_on(path):
    table, parts = save(path, days(1, 3), days(2), days(4)), DAYS.parse("2013-01-01")
    touches = make_touch_test(table, parts, partitioning=DAYS, split=split_files(table, parts, partitioning=DAYS))
    DeltaTable(path).delete("day = '2013-01-03'")
    DeltaTable(path).delete("day = '2013-01-04'")
    table.update_incremental()
    gone = [file for commit in DeltaLog(path).read_after(2) for file in commit.files if not file.added]
    assert [touches(file) for file in gone] == [True, False]


def test_folders_named_by_odd_text_are_told_as_they_are(path):
    odd = ["a b", "a%20b", "x=1", "ü", ":c", "a/b", "a+b", "#h?", 'q"', "{}", None]
    write_deltalake(path, pa.table({"p": odd, "n": range(len(odd))}), partition_by=["p"])
    files = live_files(flat_adds(DeltaTable(path)))
    assert sorted(str(file.partition["p"]) for file in files) == sorted(map(str, odd))
    assert all(Path(path, file.place).stat().st_size == file.size for file in files)


def test_the_text_of_partition_values_is_deltas_own(path):
    values = {
        "d": date(2013, 1, 5),
        "t": datetime(2013, 1, 5, 6, 7, 8, 90, tzinfo=UTC),
        "b": True,
        "i": -3,
        "s": "ü",
        "z": None,
    }
    schema = pa.schema([("d", pa.date32()), ("t", pa.timestamp("us", "UTC")), ("b", pa.bool_()), ("i", pa.int32())])
    schema = pa.schema([*schema, pa.field("s", pa.string()), pa.field("z", pa.string()), pa.field("n", pa.int64())])
    write_deltalake(path, pa.table({name: [values.get(name)] for name in schema.names}, schema), partition_by=[*values])
    log = Path(path, "_delta_log", f"{0:020d}.json").read_text().splitlines()
    (added,) = [entry["add"] for entry in map(json.loads, log) if "add" in entry]
    (file,) = live_files(flat_adds(DeltaTable(path)))
    assert {name: log_text(value) for name, value in file.partition.items()} == added["partitionValues"]


@pytest.mark.parametrize("folders", [["region"], None])
def test_rows_of_a_segment_that_left_the_list_lie_in_a_partition_that_holds_it(path, folders):
    write_deltalake(path, pa.table({"region": ["de", "de"], "x": [1, 2]}), partition_by=folders)
    listed = Partitioning(None, (SegmentPartition("region", ("nl",)),))
    partition = PartitionSet.by_segment({("de",): RangeSet.always()})
    assert len(split_files(DeltaTable(path), partition, partitioning=listed).inside) == 1
