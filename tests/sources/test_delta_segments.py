"""Delta sources of segments and of products with time: typed columns, what is in none, how tables are laid out."""

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets.core.partitions import Partitioning, SegmentPartition, TimePartition
from sparkassets.delta import rows as delta_rows
from sparkassets.delta import rows as delta_values
from sparkassets.errors import SourceError
from sparkassets.sources.table_inspection import TableInspection
from tests.sources.looks import DAYS, Source

REGIONS = SegmentPartition("region", ("de", "nl"))
BOTH = Partitioning(DAYS, (REGIONS,))
LAYOUTS = {
    "partitioned": {"partition_by": ["k"]},
    "statistics": {},
    "none": {"configuration": {"delta.dataSkippingNumIndexedCols": "0"}},
}


def table(*rows):
    """Of days of 2013-01 and regions."""
    days = [day and date(2013, 1, day) for day, _ in rows]
    regions = pa.array([each for _, each in rows], pa.string())
    return pa.table({"day": pa.array(days, pa.date32()), "region": regions, "x": range(len(rows))})


def add(path, *rows, **options):
    write_deltalake(path, table(*rows), mode="append", **options)


def delta(path, partitioning=BOTH):
    return Source(path, kind="delta", partition=partitioning)


def by(*keys, column="k"):
    return Partitioning(None, (SegmentPartition(column, keys),))


def message(source):
    with pytest.raises(SourceError) as error:
        source.look()
    return str(error.value)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "table")


# --------------------------------------------------------------------------- the values of a column

TYPED = [
    (pa.string(), ["de", "a/b=c %20 ü", "__HIVE_DEFAULT_PARTITION__"], ["de", "a/b=c %20 ü"]),
    (pa.int8(), [1, -2, 3], ["1", "-2"]),
    (pa.int32(), [1, 0, 3], ["1", "0"]),
    (pa.int64(), [2**60, 2**60 + 1], [str(2**60)]),
    (pa.decimal128(10, 2), [Decimal("1.50"), Decimal("0.00"), Decimal("7.25")], ["1.5", "0"]),
    (
        pa.decimal128(30, 2),
        [Decimal("1234567890123456789.51"), Decimal("1234567890123456789.52")],
        ["1234567890123456789.51"],
    ),
    (pa.date32(), [date(2013, 1, 5), date(2013, 1, 6)], ["2013-01-05"]),
    (pa.bool_(), [True, False], ["true"]),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("type_", "values", "keys"), TYPED, ids=[str(each[0]) for each in TYPED])
def test_values_of_any_type_are_segments(path, type_, values, keys, layout):
    write_deltalake(
        path, pa.table({"k": pa.array([*values, None], type_), "x": range(len(values) + 1)}), **LAYOUTS[layout]
    )
    source = delta(path, by(*sorted(keys)))
    assert source.keys(source.look().changed) == source.keys(source.asset.partitioning.known_partitions)
    for value, key in zip(values, keys, strict=False):
        write_deltalake(path, pa.table({"k": pa.array([value], type_), "x": [9]}), mode="append")
        seen = source.look()
        assert source.keys(seen.changed) == source.keys(source.asset.partitioning.parse(key.replace("%", "%25")))
        assert ("files_read" in seen.extra) == (layout == "none" or (layout == "statistics" and "30" in str(type_)))
    write_deltalake(path, pa.table({"k": pa.array([values[-1], None], type_), "x": [9, 9]}), mode="append")
    assert not source.look().changed


def test_the_empty_text_is_a_segment_but_where_it_names_a_folder(path):
    """There Delta's protocol has it for no value."""
    write_deltalake(path, pa.table({"k": ["", ""]}))
    assert delta(path, by("")).keys(delta(path, by("")).look().changed) == ["%"]
    write_deltalake(f"{path}.by", pa.table({"k": ["", ""], "x": [1, 2]}), partition_by=["k"])
    source = delta(f"{path}.by", by(""))
    assert not source.look().changed
    assert source.notes == ("rows left out whose 'k' is none of its segments: NULL",)


@pytest.mark.parametrize("length", [31, 32])
def test_bounds_that_may_be_cut_off_are_not_believed(path, length):
    write_deltalake(path, pa.table({"k": ["x" * length]}))
    seen = delta(path, by("x" * length)).look()
    assert delta(path, by("x" * length)).keys(seen.changed) == ["x" * length]
    assert seen.extra.get("files_read") == (None if length == 31 else 1)


@pytest.mark.parametrize(
    ("column", "keys", "expected"),
    [
        (
            "rgion",
            ("de",),
            "the source 'landed' has no column 'rgion'; it has day, region, x\n  hint: did you mean 'region'?",
        ),
        (
            "at",
            ("de",),
            (
                "the column 'at' of the source 'landed' is double; segments need a string, integer, decimal, date "
                "or boolean"
            ),
        ),
        (
            "amount",
            ("1.50",),
            (
                "the segment '1.50' is not a value of the column 'amount' of the source 'landed', which is "
                "decimal(9,2)\n  hint: write '1.5'"
            ),
        ),
        (
            "amount",
            ("de",),
            "the segment 'de' is not a value of the column 'amount' of the source 'landed', which is decimal(9,2)",
        ),
    ],
)
def test_a_column_that_tells_no_segment_is_an_error(path, column, keys, expected):
    rows = table((1, "de"))
    if column != "rgion":
        rows = rows.append_column("at", pa.array([0.5]))
        rows = rows.append_column("amount", pa.array([Decimal("1.50")], pa.decimal128(9, 2)))
    write_deltalake(path, rows)
    assert message(delta(path, by(*keys, column=column))) == expected


# --------------------------------------------------------------------------- what is in no partition


@pytest.mark.parametrize("layout", [{"partition_by": ["region", "day"]}, {"partition_by": ["day"]}, {}])
def test_rows_of_other_segments_and_of_none_are_told_while_they_are_there(path, layout):
    add(path, (1, "de"), (1, "be"), (2, None), (None, "nl"), **layout)
    source = delta(path)
    assert source.keys(source.look().changed) == ["2013-01-01,de"]
    days = "rows left out whose 'day' is no day of the years 1000 to 8999: NULL"
    assert source.notes == (days, "rows left out whose 'region' is none of its segments: NULL, be")
    assert source.look() is None
    assert len(source.notes) == 2
    add(path, (1, "fr"), **layout)
    assert not source.look().changed
    assert source.notes == (days, "rows left out whose 'region' is none of its segments: NULL, be, fr")
    DeltaTable(path).delete("region IN ('be', 'fr') OR day IS NULL")
    assert source.look() is not None
    assert source.notes == ("rows left out whose 'region' is none of its segments: NULL",)
    DeltaTable(path).delete("region IS NULL")
    source.look()
    assert source.notes == ()


@pytest.mark.parametrize("whole", [(), ((1, "nl"),)])
def test_rows_that_each_lack_another_dimension_are_in_no_partition(path, whole):
    add(path, (1, None), (None, "nl"), *whole)
    source = delta(path)
    assert source.keys(source.look().changed) == ["2013-01-01,nl"] * len(whole)
    assert source.notes == (
        "rows left out whose 'day' is no day of the years 1000 to 8999: NULL",
        "rows left out whose 'region' is none of its segments: NULL",
    )
    add(path, (2, "de"))
    assert source.keys(source.look().changed) == ["2013-01-02,de"]


def test_segments_that_come_to_be_known_are_changed_and_no_others(path):
    add(path, (1, "de"), (1, "be"), (2, "nl"), partition_by=["region"])
    source = delta(path)
    source.look()
    source.asset = delta(path, Partitioning(DAYS, (SegmentPartition("region", ("be", "de", "nl")),))).asset
    seen = source.look()
    assert (source.keys(seen.changed), seen.whole) == (["2013-01-01,be"], False)
    assert source.notes == ()
    assert source.look() is None


def test_segments_that_are_known_no_more_are_left_where_they_are(path):
    add(path, (1, "de"), (2, "nl"), partition_by=["region"])
    source = delta(path)
    source.look()
    source.asset = delta(path, Partitioning(DAYS, (SegmentPartition("region", ("de",)),))).asset
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed), seen.whole) == ([], [], False)
    assert source.notes == ("rows left out whose 'region' is none of its segments: nl",)
    add(path, (3, "de"), (3, "nl"))
    assert source.keys(source.look().changed) == ["2013-01-03,de"]


@pytest.mark.parametrize("looked", [True, False])
@pytest.mark.parametrize("partition_by", [["region"], None])
def test_segments_that_are_listed_again_tell_what_happened_meanwhile(path, partition_by, looked):
    add(path, (1, "de"), (1, "nl"), (2, "nl"), (3, "nl"), partition_by=partition_by)
    source = delta(path)
    both, one = source.asset, delta(path, Partitioning(DAYS, (SegmentPartition("region", ("de",)),))).asset
    source.look()
    source.asset = one
    source.look()
    DeltaTable(path).delete("region = 'nl' AND day = '2013-01-01'")
    add(path, (2, "nl"), (4, "nl"))
    if looked:
        source.look()
    source.asset = both
    seen = source.look()
    assert source.keys(seen.changed) == ["2013-01-02,nl", "2013-01-03,nl", "2013-01-04,nl"]
    assert (source.keys(seen.removed), seen.whole) == (["2013-01-01,nl"], False)
    assert "unlisted" not in source.cursor
    assert source.look() is None


def test_other_dimensions_start_over(path):
    add(path, (1, "de"), partition_by=["region"])
    source = delta(path, Partitioning(DAYS))
    source.look()
    source.asset = delta(path).asset
    seen = source.look()
    assert seen.extra["reason"] == "the partition's column changed"
    assert source.keys(seen.changed) == ["2013-01-01,de"]


# --------------------------------------------------------------------------- how the table is laid out


def test_a_table_laid_out_by_its_dimensions_tells_all_by_its_log(path, monkeypatch):
    monkeypatch.setattr(delta_rows, "_read_file", None)
    add(path, (1, "de"), (1, "nl"), (2, "de"), partition_by=["day", "region"])
    source = delta(path)
    assert source.keys(source.look().changed) == ["2013-01-01,de", "2013-01-01,nl", "2013-01-02,de"]
    monkeypatch.setattr(TableInspection, "_open", None)
    add(path, (2, "nl"), (1, "de"))
    seen = source.look()
    assert source.keys(seen.changed) == ["2013-01-01,de", "2013-01-02,nl"]
    monkeypatch.undo()
    monkeypatch.setattr(delta_rows, "_read_file", None)
    DeltaTable(path).delete("region = 'nl' AND day = '2013-01-01'")
    assert source.keys(source.look().removed) == ["2013-01-01,nl"]


def test_of_a_table_laid_out_by_segment_alone_only_the_time_is_read(path, monkeypatch):
    add(path, (1, "de"), (3, "de"), (2, "nl"), partition_by=["region"])
    columns = []
    real = delta_rows._RowGroup._read_values
    monkeypatch.setattr(
        delta_rows._RowGroup, "_read_values", lambda each, names: (columns.append(names), real(each, names))[1]
    )
    source = delta(path)
    seen = source.look()
    assert source.keys(seen.changed) == ["2013-01-01,de", "2013-01-02,nl", "2013-01-03,de"]
    assert seen.extra["files_read"] == 1
    assert columns == [["day"]]


def test_of_a_file_only_the_footer_is_read_where_its_row_groups_tell(path, monkeypatch):
    add(path, (1, "de"), (4, "nl"))
    (file,) = Path(path).glob("*.parquet")
    pq.write_table(table((1, "de"), (1, "de"), (4, "nl"), (4, "nl")), file, row_group_size=2)
    monkeypatch.setattr(delta_values, "count_slots", None)
    source = delta(path)
    assert source.keys(source.look().changed) == ["2013-01-01,de", "2013-01-04,nl"]


def test_a_file_from_before_the_column_has_no_segment(path):
    write_deltalake(path, pa.table({"day": [date(2013, 1, 1)]}))
    write_deltalake(path, table((2, "de")), mode="append", schema_mode="merge")
    source = delta(path)
    assert source.keys(source.look().changed) == ["2013-01-02,de"]
    assert source.notes == ("rows left out whose 'region' is none of its segments: NULL",)


def test_a_file_that_tells_nothing_and_cannot_be_read_is_named(path):
    add(path, (1, "de"), (3, "nl"))
    (file,) = Path(path).glob("*.parquet")
    file.unlink()
    assert message(delta(path)) == (
        f"the days and 'region' in '{file.name}' of the source 'landed' are in neither its log nor a readable "
        "file: No such file or directory\n  hint: collect statistics of 'day' and 'region' "
        "(delta.dataSkippingStatsColumns), or partition the table by them"
    )


def test_what_files_held_that_are_gone_is_all_that_their_bounds_allow(path):
    add(path, (1, "de"), (3, "de"))
    add(path, (2, "nl"))
    source = delta(path)
    source.look()
    (gone,) = _adds(path, 0)
    DeltaTable(path).delete("day = '2013-01-03'")
    Path(path, gone["path"]).unlink()
    delta_rows.row_cache.clear()
    seen = source.look()
    assert source.keys(seen.removed) == ["2013-01-03,de"]
    assert source.keys(seen.changed) == ["2013-01-01,de"]
    assert seen.extra["untold"] == 1
    assert seen.extra["reason"] == (
        "the rows of removed files are unknown; not so in a table partitioned by 'day' and 'region'"
    )


def test_what_was_read_of_files_takes_no_more_room_than_there_is(path, monkeypatch):
    monkeypatch.setattr(delta_rows, "row_cache", delta_rows._RowCache(5))
    reads = []
    real = delta_rows._read_file
    monkeypatch.setattr(delta_rows, "_read_file", lambda *given: (reads.append(given), real(*given))[1])
    for regions in (("de", "nl"), ("de", "be"), ("nl", "be")):
        add(path, *((1, region) for region in regions))
    source = delta(path)
    assert source.keys(source.look().changed) == ["2013-01-01,de", "2013-01-01,nl"]
    assert len(reads) == 3
    assert delta(path).look().changed == source.coverage
    assert 3 < len(reads) <= 6


def test_hours_of_a_local_clock_are_counted_by_segment(path):
    stamps = ["2013-01-01T05:30", "2013-01-01T05:45", "2013-01-01T06:10"]
    at = pa.array([int(pa.scalar(each).cast(pa.timestamp("us")).value) for each in stamps]).cast(
        pa.timestamp("us", "UTC")
    )
    write_deltalake(path, pa.table({"at": at, "region": ["nl", "de", "de"]}))
    hours = TimePartition("hour", "UTC", column="at")
    source = delta(path, Partitioning(hours, (REGIONS,)))
    assert source.keys(source.look().changed) == ["2013-01-01T05,de", "2013-01-01T05,nl", "2013-01-01T06,de"]


def _adds(path, version):
    lines = Path(path, "_delta_log", f"{version:020d}.json").read_text().splitlines()
    return [action["add"] for action in map(json.loads, lines) if "add" in action]
