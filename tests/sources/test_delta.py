import contextlib
import json
import shutil
import struct
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sparkassets.core.partitions import NOTHING, Partitioning, SegmentPartition, TimePartition
from sparkassets.delta import rows as delta_rows
from sparkassets.delta import rows as delta_values
from sparkassets.errors import SourceError
from sparkassets.sources import table_inspection as module
from tests.depth import examples
from tests.sources.looks import DAYS, Source, write


def rows(*days, value=1):
    return pa.table({"day": [date(2013, 1, day) for day in days], "x": pa.array([value] * len(days), pa.int64())})


def add(path, *days, **options):
    write_deltalake(path, rows(*days), mode="append", **options)


def rewrite(path, version, edit):
    """Changes the actions of one commit, as another writer would have written them."""
    file = Path(path, "_delta_log", f"{version:020d}.json")
    actions = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("\n".join(json.dumps(action) for action in edit(actions)))


def _without(entry, kind, keys):
    return {
        name: {key: action[key] for key in action if name != kind or key not in keys} for name, action in entry.items()
    }


@pytest.fixture(params=["", "file://"], ids=["local", "store"])
def place(request, tmp_path):
    """A table's path as people write it, and as deltalake writes it here."""
    path = str(tmp_path / "table")
    return request.param + path, path


@pytest.fixture(params=[["day"], None], ids=["partitioned", "statistics"])
def layout(request):
    """Whether the table is physically partitioned by the partition's column."""
    return request.param


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "table")


def delta(path, partition=DAYS):
    return Source(path, kind="delta", partition=partition)


@pytest.fixture
def opened(monkeypatch):
    """The versions that tables were opened at; empty when the log's end was enough."""
    versions = []
    real = module.TableInspection._open
    monkeypatch.setattr(
        module.TableInspection, "_open", lambda look, version=None: (versions.append(version), real(look, version))[1]
    )
    return versions


# --------------------------------------------------------------------------- what is new


def test_the_first_look_tells_all_that_the_table_holds(place, layout):
    uri, path = place
    add(path, 1, 2, partition_by=layout)
    add(path, 5, partition_by=layout)
    source = delta(uri)
    seen = source.look()
    assert source.keys(seen.changed) == ["2013-01-01", "2013-01-02", "2013-01-05"]
    assert seen.whole is False
    assert (seen.table_id, seen.version) == (DeltaTable(path).metadata().id, 1)
    assert seen.extra == ({"files": 3} if layout else {"files": 2, "files_read": 1})


def test_nothing_new_is_none_and_neither_lists_nor_opens_a_table(place, layout, opened, monkeypatch):
    uri, path = place
    add(path, 1, partition_by=layout)
    source = delta(uri)
    source.look()
    opened.clear()
    monkeypatch.setattr(module, "is_table", None)
    assert source.look() is None
    assert opened == []


def test_an_append_tells_its_days_and_opens_no_table(place, layout, opened):
    uri, path = place
    add(path, 1, partition_by=layout)
    source = delta(uri)
    source.look()
    add(path, 2, partition_by=layout)
    add(path, 4, partition_by=layout)
    opened.clear()
    seen = source.look()
    assert source.keys(seen.changed) == ["2013-01-02", "2013-01-04"]
    assert (seen.version, seen.whole) == (2, False)
    assert seen.extra == {"operations": ["WRITE"], "versions": 2, "files_added": 2, "files_removed": 0}
    assert opened == []
    assert source.look() is None


def test_replaced_and_updated_days_are_changed(path, layout):
    add(path, 1, partition_by=layout)
    add(path, 2, partition_by=layout)
    add(path, 3, partition_by=layout)
    source = delta(path)
    source.look()
    write_deltalake(path, rows(2, value=5), mode="overwrite", predicate="day = '2013-01-02'")
    DeltaTable(path).update({"x": "7"}, predicate="day = '2013-01-03'")
    seen = source.look()
    assert source.keys(seen.changed) == ["2013-01-02", "2013-01-03"]
    assert not seen.removed
    told = {"operations": ["WRITE", "UPDATE"], "versions": 2, "files_added": 2, "files_removed": 2}
    assert seen.extra == (told if layout else told | {"files_read": 2})  # deltalake's removes have no statistics


def test_a_merge_tells_the_days_of_the_files_that_it_rewrote(path, layout):
    add(path, 1, partition_by=layout)
    add(path, 2, partition_by=layout)
    source = delta(path)
    source.look()
    merge = DeltaTable(path).merge(rows(2, 3, value=9), "t.day = s.day", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    seen = source.look()
    assert source.keys(seen.changed) == ["2013-01-02", "2013-01-03"]
    assert seen.extra["operations"] == ["MERGE"]


def test_deleted_days_are_removed(path, layout):
    for day in (1, 2, 3):
        add(path, day, partition_by=layout)
    source = delta(path)
    source.look()
    DeltaTable(path).delete("day = '2013-01-02'")
    seen = source.look()
    assert not seen.changed
    assert source.keys(seen.removed) == ["2013-01-02"]
    assert source.look() is None


def test_a_day_that_loses_one_of_its_files_is_changed(path, layout):
    add(path, 1, partition_by=layout)
    write_deltalake(path, rows(1, value=5), mode="append", partition_by=layout)
    source = delta(path)
    source.look()
    DeltaTable(path).delete("x = 5")
    seen = source.look()
    assert source.keys(seen.changed) == ["2013-01-01"]
    assert not seen.removed


def test_what_came_and_went_between_two_looks_did_nothing(path, layout):
    add(path, 1, partition_by=layout)
    source = delta(path)
    source.look()
    add(path, 2, partition_by=layout)
    DeltaTable(path).delete("day = '2013-01-02'")
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed), seen.version) == ([], [], 2)
    assert source.look() is None


def test_an_overwrite_removes_what_it_does_not_bring(path, layout):
    add(path, 1, 2, 3, partition_by=layout)
    source = delta(path)
    source.look()
    write_deltalake(path, rows(2), mode="overwrite", partition_by=layout)
    seen = source.look()
    assert source.keys(seen.changed) == ["2013-01-02"]
    assert source.keys(seen.removed) == ["2013-01-01", "2013-01-03"]


@pytest.mark.parametrize("verb", ["optimize", "vacuum", "properties", "transaction"])
def test_a_commit_without_new_data_only_moves_the_position(path, layout, verb):
    add(path, 1, partition_by=layout)
    add(path, 1, partition_by=layout)
    source = delta(path)
    source.look()
    table = DeltaTable(path)
    if verb == "optimize":
        table.optimize.compact()
    elif verb == "vacuum":
        table.vacuum(dry_run=False, retention_hours=0, enforce_retention_duration=False, full=True)
        table.optimize.compact()
    elif verb == "properties":
        table.alter.set_table_properties({"delta.appendOnly": "false"})
    else:
        table.create_write_transaction(
            [], "append", table.schema(), layout, commit_properties=CommitProperties({"a": "b"})
        )
    seen = source.look()
    assert not seen.changed
    assert not seen.removed
    assert seen.whole is False
    assert seen.version == DeltaTable(path).version() > 1
    assert source.look() is None
    add(path, 4, partition_by=layout)
    assert source.keys(source.look().changed) == ["2013-01-04"]


def test_without_partition_any_change_of_data_is_the_whole(path):
    add(path, 1)
    source = delta(path, partition=None)
    seen = source.look()
    assert seen.whole is True
    assert not seen.changed
    assert source.look() is None
    DeltaTable(path).optimize.compact()
    DeltaTable(path).alter.set_table_properties({"delta.appendOnly": "false"})
    assert source.look().whole is False
    add(path, 2)
    seen = source.look()
    assert (seen.whole, seen.version) == (True, 2)
    assert not seen.changed


# --------------------------------------------------------------------------- when the log does not tell


def test_a_restored_table_tells_what_came_back_and_what_went(path, layout):
    add(path, 1, partition_by=layout)
    DeltaTable(path).delete("day = '2013-01-01'")
    add(path, 2, 3, partition_by=layout)
    source = delta(path)
    source.look()
    DeltaTable(path).restore(0)
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed)) == (["2013-01-01"], ["2013-01-02", "2013-01-03"])
    assert (seen.whole, seen.extra["operations"]) == (False, ["RESTORE"])
    assert source.look() is None


def test_a_table_made_anew_is_looked_at_as_a_whole(place):
    uri, path = place
    add(path, 1)
    add(path, 2)
    source = delta(uri)
    first = source.look()
    shutil.rmtree(path)
    add(path, 3)
    seen = source.look()
    assert seen.whole is True
    assert seen.table_id != first.table_id
    assert (source.keys(seen.changed), source.keys(seen.removed)) == (["2013-01-03"], ["2013-01-01", "2013-01-02"])
    assert seen.extra == {"reason": "the table was replaced by another", "files": 1}
    assert source.look() is None


def test_a_table_made_anew_with_more_versions_is_not_taken_for_the_old_one(path):
    add(path, 1)
    source = delta(path)
    source.look()
    shutil.rmtree(path)
    add(path, 3)
    add(path, 4)
    seen = source.look()
    assert seen.extra["reason"] == "the table was replaced by another"
    assert source.keys(seen.changed) == ["2013-01-03", "2013-01-04"]


def test_a_table_that_went_back_is_looked_at_as_a_whole(path):
    add(path, 1)
    shutil.copytree(path, path + ".backup")
    add(path, 2)
    source = delta(path)
    source.look()
    shutil.rmtree(path)
    shutil.move(path + ".backup", path)
    seen = source.look()
    assert seen.whole is True
    assert (source.keys(seen.changed), source.keys(seen.removed)) == (["2013-01-01"], ["2013-01-02"])
    assert seen.extra == {"reason": "the table went back from version 1 to 0", "files": 1}


def test_a_table_that_was_copied_back_is_the_same(path, opened):
    add(path, 1)
    source = delta(path)
    source.look()
    shutil.copytree(path, path + ".moved", copy_function=shutil.copy)
    shutil.rmtree(path)
    shutil.move(path + ".moved", path)
    seen = source.look()
    assert not seen.changed
    assert seen.whole is False
    opened.clear()
    assert source.look() is None
    assert opened == []


def test_a_log_that_was_cleaned_is_looked_at_as_a_whole(path):
    add(path, 1)
    source = delta(path)
    source.look()
    for day in (2, 3, 4):
        add(path, day)
    DeltaTable(path).create_checkpoint()
    for version in (0, 1, 2):
        Path(path, "_delta_log", f"{version:020d}.json").unlink()
    seen = source.look()
    assert seen.whole is True
    assert source.keys(seen.changed) == ["2013-01-01", "2013-01-02", "2013-01-03", "2013-01-04"]
    assert seen.extra == {"reason": "the log no longer has every version after 0", "files": 4}


def test_what_was_deleted_while_nobody_looked_is_removed_although_the_log_was_cleaned(path):
    add(path, 1, 2, partition_by=["day"])
    source = delta(path)
    source.look()
    DeltaTable(path).delete("day = '2013-01-02'")
    add(path, 3)
    DeltaTable(path).create_checkpoint()
    for version in (0, 1):
        Path(path, "_delta_log", f"{version:020d}.json").unlink()
    seen = source.look()
    assert seen.extra["reason"] == "the log no longer has every version after 0"
    assert source.keys(seen.removed) == ["2013-01-02"]
    assert source.keys(source.coverage) == ["2013-01-01", "2013-01-03"]


def test_a_log_that_lost_the_very_version_after_is_looked_at_as_a_whole(path):
    add(path, 1)
    source = delta(path)
    source.look()
    add(path, 2)
    add(path, 3)
    DeltaTable(path).create_checkpoint()
    Path(path, "_delta_log", f"{1:020d}.json").unlink()
    assert source.look().extra["reason"] == "the log no longer has every version after 0"


def test_a_cleaned_log_without_news_is_nothing_new_again_and_again(path):
    add(path, 1)
    source = delta(path)
    source.look()
    DeltaTable(path).create_checkpoint()
    Path(path, "_delta_log", f"{0:020d}.json").unlink()
    seen = source.look()
    assert seen.whole is False
    assert not seen.changed
    assert source.look() is None


@pytest.mark.parametrize(
    "settings_", [{"delta.dataSkippingNumIndexedCols": "0"}, {"delta.dataSkippingStatsColumns": "x"}]
)
def test_a_file_without_statistics_of_the_column_is_read(path, settings_):
    add(path, 1, 3, configuration=settings_)
    source = delta(path)
    seen = source.look()
    assert source.keys(seen.changed) == ["2013-01-01", "2013-01-03"]
    assert (seen.whole, seen.extra) == (False, {"files": 1, "files_read": 1})
    add(path, 5)
    DeltaTable(path).delete("day = '2013-01-03'")
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed)) == (["2013-01-05"], ["2013-01-03"])


def test_a_column_past_the_first_32_is_read(path):
    table = rows(1, 3)
    for number in range(40):
        table = table.add_column(0, f"c{number}", pa.array([1, 1]))
    write_deltalake(path, table)
    assert delta(path).keys(delta(path).look().changed) == ["2013-01-01", "2013-01-03"]


def test_a_file_that_tells_nothing_and_cannot_be_read_is_named(path):
    add(path, 1, 3)
    (file,) = Path(path).glob("*.parquet")
    file.unlink()
    assert message(delta(path)) == (
        f"the days in '{file.name}' of the source 'landed' are in neither its log nor a readable file: No such "
        "file or directory\n  hint: collect statistics of 'day' (delta.dataSkippingStatsColumns), or partition the "
        "table by it"
    )
    file.write_bytes(b"PAR1 no longer")
    assert "nor a readable file: " in message(delta(path))


def test_a_file_that_was_vacuumed_and_told_nothing_may_have_held_all_that_was_there(path):
    """Its days are changed or removed, by what was there before and what is there now."""
    add(path, 1, 2, 3, configuration={"delta.dataSkippingNumIndexedCols": "0"})
    add(path, 4)
    source = delta(path)
    source.look()
    first = next(action["add"] for action in _actions(path, 0) if "add" in action)
    DeltaTable(path).delete("day = '2013-01-02'")
    Path(path, first["path"]).unlink()
    delta_rows.row_cache.clear()
    seen = source.look()
    assert source.keys(seen.removed) == ["2013-01-02"]
    assert source.keys(seen.changed) == ["2013-01-01", "2013-01-03", "2013-01-04"]
    assert (seen.extra["untold"], seen.extra["reason"]) == (
        1,
        "the rows of removed files are unknown; not so in a table partitioned by 'day'",
    )


def test_what_a_vacuumed_file_held_is_changed_as_far_as_it_is_there_where_nothing_else_is_known(path):
    """As where several assets share the dataset, so that its coverage tells nothing of this one."""
    add(path, 1, 2, 3, configuration={"delta.dataSkippingNumIndexedCols": "0"})
    source = delta(path)
    source.look()
    source.coverage = NOTHING
    DeltaTable(path).delete("day = '2013-01-02'")
    DeltaTable(path).vacuum(dry_run=False, retention_hours=0, enforce_retention_duration=False)
    delta_rows.row_cache.clear()
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed)) == (["2013-01-01", "2013-01-03"], [])


def test_a_vacuumed_file_is_known_by_the_version_that_held_it(path):
    add(path, 1)
    add(path, 2)
    source = delta(path)
    source.look()
    DeltaTable(path).delete("day = '2013-01-02'")
    DeltaTable(path).vacuum(dry_run=False, retention_hours=0, enforce_retention_duration=False)
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed)) == ([], ["2013-01-02"])
    assert "untold" not in seen.extra


def test_what_was_compacted_and_then_deleted_between_two_looks_is_removed(path):
    """The rows left by way of a file that the look never saw come."""
    add(path, 1)
    add(path, 5)
    source = delta(path)
    source.look()
    add(path, 5)
    DeltaTable(path).optimize.compact()
    DeltaTable(path).delete("day = '2013-01-05'")
    seen = source.look()
    assert source.keys(seen.removed) == ["2013-01-05"]
    assert source.keys(source.coverage) == ["2013-01-01"]


def test_only_the_days_that_lost_rows_are_changed_by_a_delete(path):
    write_deltalake(path, pa.table({"day": [date(2013, 1, day) for day in (1, 1, 2, 3)], "x": [1, 2, 1, 1]}))
    source = delta(path)
    source.look()
    DeltaTable(path).delete("x = 2 or day = '2013-01-03'")
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed)) == (["2013-01-01"], ["2013-01-03"])


def test_all_rows_deleted_are_all_days_removed(path, layout):
    add(path, 1, 2, partition_by=layout)
    add(path, 3, partition_by=layout)
    source = delta(path)
    source.look()
    DeltaTable(path).delete()
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed)) == ([], ["2013-01-01", "2013-01-02", "2013-01-03"])


def test_a_column_that_is_stored_in_another_way_starts_over(path):
    add(path, 1)
    source = delta(path)
    source.look()
    table = pa.table({"day": ["2013-01-02"], "x": [1]})
    write_deltalake(path, table, mode="overwrite", schema_mode="overwrite")
    seen = source.look()
    assert seen.extra["reason"] == "the type of the partition's column changed"
    assert (source.keys(seen.changed), source.keys(seen.removed)) == (["2013-01-02"], ["2013-01-01"])
    assert source.look() is None


def test_another_partition_column_starts_over(path):
    table = pa.table({"day": [date(2013, 1, 1)], "due": [date(2013, 2, 1)]})
    write_deltalake(path, table)
    source = delta(path)
    source.look()
    source.asset = delta(path, TimePartition("day", "UTC", column="due")).asset
    seen = source.look()
    assert seen.extra == {"reason": "the partition's column changed", "files": 1}
    assert source.keys(seen.changed) == ["2013-02-01"]


# --------------------------------------------------------------------------- how time is stored

LOCAL = datetime(2024, 11, 3, 1)  # noqa: DTZ001 - a timestamp without a zone
STAMPS = [datetime(2024, 11, 3, 5, 30, tzinfo=UTC), datetime(2024, 11, 3, 6, 30, tzinfo=UTC)]


@pytest.mark.parametrize("layout", [["t"], None], ids=["partitioned", "statistics"])
@pytest.mark.parametrize(
    ("values", "type_", "by", "expected"),
    [
        ([STAMPS[0]], pa.timestamp("us", "UTC"), "hour", ["2024-11-03T01-04:00"]),
        ([STAMPS[1]], pa.timestamp("us", "UTC"), "hour", ["2024-11-03T01-05:00"]),
        ([STAMPS[0]], pa.timestamp("us", "UTC"), "day", ["2024-11-03"]),
        ([LOCAL], pa.timestamp("us"), "hour", ["2024-11-03T01-04:00", "2024-11-03T01-05:00"]),
        ([LOCAL.replace(hour=5)], pa.timestamp("us"), "hour", ["2024-11-03T05"]),
        (["2024-11-03"], pa.string(), "day", ["2024-11-03"]),
        (["2024-W44"], pa.string(), "week", ["2024-W44"]),
        (["2024-11-03T01-05:00"], pa.string(), "hour", ["2024-11-03T01-04:00", "2024-11-03T01-05:00"]),
        ([date(2024, 12, 31)], pa.date32(), "week", ["2025-W01"]),
        ([date(2024, 12, 31)], pa.date32(), "quarter", ["2024-Q4"]),
        ([date(2024, 12, 31), None], pa.date32(), "month", ["2024-12"]),
        ([None], pa.date32(), "day", []),
    ],
)
def test_the_column_tells_the_slot(tmp_path, layout, values, type_, by, expected):
    path = str(tmp_path / "table")
    table = pa.table({"t": pa.array(values, type_), "x": list(range(len(values)))})
    write_deltalake(path, table, partition_by=layout)
    source = delta(path, TimePartition(by, "America/New_York", column="t"))
    seen = source.look()
    assert source.keys(seen.changed) == expected
    assert seen.whole is False
    write_deltalake(path, table, mode="append", partition_by=layout)
    seen = source.look()
    assert source.keys(seen.changed) == expected
    assert seen.whole is False


def test_days_between_the_least_and_the_greatest_are_not_there_for_that(path):
    add(path, 1, 4)
    assert delta(path).keys(delta(path).look().changed) == ["2013-01-01", "2013-01-04"]


def test_of_a_file_only_the_footer_is_read_where_its_row_groups_tell(path, monkeypatch):
    add(path, 1, 4)
    (file,) = Path(path).glob("*.parquet")
    pq.write_table(rows(1, 1, 4, 4), file, row_group_size=2)
    monkeypatch.setattr(delta_values, "count_slots", None)
    assert delta(path).keys(delta(path).look().changed) == ["2013-01-01", "2013-01-04"]


def test_a_file_is_read_once(path, monkeypatch):
    add(path, 1, 4)
    delta(path).look()
    monkeypatch.setattr(delta_rows, "_read_file", None)
    assert delta(path).keys(delta(path).look().changed) == ["2013-01-01", "2013-01-04"]


@pytest.mark.parametrize(
    ("values", "type_", "by", "expected"),
    [
        ([*STAMPS, STAMPS[1]], pa.timestamp("us", "UTC"), "hour", ["2024-11-03T01-04:00", "2024-11-03T01-05:00"]),
        (
            [STAMPS[0], datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)],
            pa.timestamp("us", "UTC"),
            "day",
            ["1969-12-31", "2024-11-03"],
        ),
        (
            [LOCAL, LOCAL.replace(hour=5), None],
            pa.timestamp("us"),
            "hour",
            ["2024-11-03T01-04:00", "2024-11-03T01-05:00", "2024-11-03T05"],
        ),
        (["2024-11-03", "2024-11-05", "later"], pa.string(), "day", ["2024-11-03", "2024-11-05"]),
        ([date(2024, 12, 30), date(2024, 1, 1), None], pa.date32(), "month", ["2024-01", "2024-12"]),
    ],
)
@pytest.mark.parametrize("statistics", [True, False])
def test_the_values_of_a_file_tell_its_slots(tmp_path, values, type_, by, expected, statistics):
    path = str(tmp_path / "table")
    write_deltalake(path, pa.table({"t": pa.array(values, type_)}))
    if not statistics:
        (file,) = Path(path).glob("*.parquet")
        table = pa.table({"t": pa.array(values, type_)})
        pq.write_table(table, file, write_statistics=False, use_dictionary=True, use_deprecated_int96_timestamps=True)
    source = delta(path, TimePartition(by, "America/New_York", column="t"))
    seen = source.look()
    assert source.keys(seen.changed) == expected
    left = ["later"] if "later" in values else ["NULL"] if None in values else None
    assert seen.extra.get("ignored") == left
    assert [note.rpartition(": ")[2] for note in source.notes] == (left or [])


def test_partition_values_that_are_no_keys_are_named_and_skipped(path):
    table = pa.table({"day": ["2013-01-05", "unknown"], "x": [1, 2]})
    write_deltalake(path, table, partition_by=["day"])
    source = delta(path)
    for _ in range(2):
        seen = source.look()
        assert source.keys(seen.changed) == ["2013-01-05"]
        assert (seen.whole, seen.extra["ignored"], seen.extra["ignored_count"]) == (False, ["unknown"], 1)
        write_deltalake(path, table, mode="append", partition_by=["day"])


LEFT = "rows left out whose 'day' is no day of the years 1000 to 8999: "


def test_what_cannot_be_planned_is_told_at_every_look_while_it_is_there(path, layout, opened):
    days = [date(1, 1, 1), date(2013, 1, 5), date(9999, 12, 31), None]
    write_deltalake(path, pa.table({"day": days, "x": [1, 2, 3, 4]}), partition_by=layout)
    source = delta(path)
    assert source.keys(source.look().changed) == ["2013-01-05"]
    told = (f"{LEFT}0001-01-01, 9999-12-31, NULL",)
    assert source.notes == told
    opened.clear()
    assert source.look() is None
    assert source.notes == told
    add(path, 6, partition_by=layout)
    assert source.keys(source.look().changed) == ["2013-01-06"]
    assert source.notes == told
    write_deltalake(path, pa.table({"day": [date(9000, 1, 1)], "x": [5]}), mode="append", partition_by=layout)
    assert not source.look().changed
    assert source.notes == (f"{LEFT}0001-01-01, 9000-01-01, 9999-12-31, NULL",)
    assert opened == []
    DeltaTable(path).delete("day > '8999-12-31'")
    source.look()
    assert source.notes == (f"{LEFT}0001-01-01, NULL",)
    DeltaTable(path).optimize.compact()
    source.look()
    assert source.notes == (f"{LEFT}0001-01-01, NULL",)
    DeltaTable(path).delete("day IS NULL OR day < '1000-01-01'")
    source.look()
    assert source.notes == ()
    assert source.look() is None


@pytest.mark.parametrize("by", ["hour", "day"])
@pytest.mark.parametrize("type_", [pa.timestamp("us", "UTC"), pa.timestamp("us")])
def test_so_are_instants(path, by, type_):
    zone = UTC if type_.tz else None
    ends = [datetime(9999, 12, 31, 23, 59, 59, tzinfo=zone), datetime(2013, 1, 5, tzinfo=zone)]
    write_deltalake(path, pa.table({"t": pa.array(ends, type_)}))
    source = delta(path, TimePartition(by, "Asia/Tokyo", column="t"))
    assert len(source.keys(source.look().changed)) == 1
    (note,) = source.notes
    assert note.startswith(f"rows left out whose 't' is no {by} of the years 1000 to 8999: 9999-12-31")


def test_text_that_is_no_key_is_told_until_it_is_gone(path):
    write_deltalake(path, pa.table({"day": ["2013-01-05", "2013-01-05x", "2013-01-06"], "x": [1, 2, 3]}))
    source = delta(path)
    source.look()
    assert source.notes == (f"{LEFT}2013-01-05x",)
    DeltaTable(path).delete("x = 1")
    source.look()
    assert source.notes == (f"{LEFT}2013-01-05x",)
    DeltaTable(path).delete("x = 2")
    source.look()
    assert source.notes == ()


def test_the_ends_of_the_calendar_are_days_or_nothing_but_no_accident(path):
    days = [date(1, 1, 1), date(2013, 1, 5), date(9999, 12, 31)]
    write_deltalake(path, pa.table({"day": days, "x": [1, 2, 3]}), partition_by=["day"])
    assert "2013-01-05" in delta(path).keys(delta(path).look().changed)


def _actions(path, version):
    return [json.loads(line) for line in Path(path, "_delta_log", f"{version:020d}.json").read_text().splitlines()]


def _commit_actions(path, version, *actions):
    write(path, f"_delta_log/{version:020d}.json", "\n".join(json.dumps(action) for action in actions))


def _vector(*numbers):
    """A deletion vector of these rows: one array container of a roaring bitmap, inline, in Z85."""
    head = struct.pack("<IqIIIHHI", 1681511377, 1, 0, 12346, 1, 0, len(numbers) - 1, 16)
    data = head + b"".join(struct.pack("<H", number) for number in numbers)
    padded = data + bytes(-len(data) % 4)
    words = [word for (word,) in struct.iter_unpack(">I", padded)]
    text = "".join(Z85[word // 85**digit % 85] for word in words for digit in (4, 3, 2, 1, 0))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": len(numbers)}


Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
WITH_VECTORS = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors"],
    }
}


def _delete_by_vector(path, version, *numbers, before=None, operation="DELETE"):
    """As Spark writes it: the same path leaves and comes, and the remove has no bounds."""
    (named,) = [action["add"] for action in _actions(path, 0) if "add" in action]
    gone = {"path": named["path"], "dataChange": True, "partitionValues": {}, "stats": '{"numRecords":4}'}
    _commit_actions(
        path,
        version,
        WITH_VECTORS,
        {"add": named | {"deletionVector": _vector(*numbers)}},
        {"remove": gone | ({"deletionVector": _vector(*before)} if before else {})},
        {"commitInfo": {"operation": operation}},
    )


@pytest.mark.parametrize("operation", ["DELETE", "UPDATE", "MERGE"])
def test_a_deletion_vector_tells_the_days_of_the_rows_that_it_deletes(path, operation):
    add(path, 1, 1, 2, 3)
    source = delta(path)
    source.look()
    _delete_by_vector(path, 1, 0, operation=operation)
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed)) == (["2013-01-01"], [])
    _delete_by_vector(path, 2, 0, 2, before=[0], operation=operation)
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed)) == ([], ["2013-01-02"])
    assert delta(path).keys(delta(path).look().changed) == ["2013-01-01", "2013-01-03"]
    _delete_by_vector(path, 3, 0, before=[0, 2], operation="RESTORE")
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed)) == (["2013-01-01", "2013-01-02", "2013-01-03"], [])


def test_a_deletion_vector_tells_the_products_of_the_rows_that_it_deletes(path):
    write_deltalake(path, cells((1, "de"), (1, "nl"), (2, "de"), (2, "de")))
    source = delta(path, Partitioning(DAYS, (REGION,)))
    source.look()
    _delete_by_vector(path, 1, 1)
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed)) == ([], ["2013-01-01,nl"])
    _delete_by_vector(path, 2, 1, 3, before=[1])
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed)) == (["2013-01-02,de"], [])
    again = delta(path, Partitioning(None, (REGION,)))
    assert again.keys(again.look().changed) == ["de"]


def test_a_file_all_of_whose_rows_are_deleted_by_a_vector_holds_no_day(path):
    add(path, 1, 1, 1, 1)
    add(path, 2)
    source = delta(path)
    source.look()
    _delete_by_vector(path, 2, 0, 1, 2, 3)
    assert source.keys(source.look().removed) == ["2013-01-01"]
    assert delta(path).keys(delta(path).look().changed) == ["2013-01-02"]


def test_where_vectors_are_not_told_the_days_of_the_whole_file_count(path):
    """A reader feature that deltalake opens, but reads no rows of."""
    add(path, 1, 1, 2, 3)
    source = delta(path)
    source.look()
    _delete_by_vector(path, 1, 2)
    features = ["deletionVectors", "vacuumProtocolCheck"]
    _commit_actions(
        path, 2, {"protocol": WITH_VECTORS["protocol"] | {"readerFeatures": features, "writerFeatures": features}}
    )
    seen = source.look()
    assert (source.keys(seen.changed), source.keys(seen.removed)) == (["2013-01-01", "2013-01-02", "2013-01-03"], [])
    assert seen.extra["deletion_vectors"].startswith("deltalake cannot read deletion vectors: ")


@pytest.mark.parametrize(
    ("feature", "said"),
    [
        ("teleportation", "Feature 'teleportation' is not supported"),
        (
            "catalogManaged",
            "its newest commits are in its catalog: read and write it by its name, 'table: catalog.schema.name'",
        ),
    ],
)
def test_a_table_that_comes_to_need_what_deltalake_does_not_know_is_an_error(path, feature, said):
    add(path, 1)
    source = delta(path)
    source.look()
    features = {"readerFeatures": [feature], "writerFeatures": [feature]}
    _commit_actions(path, 1, {"protocol": WITH_VECTORS["protocol"] | features})
    assert message(source).startswith(f"cannot read the Delta table at '{path}': ")
    assert said in message(source)
    assert said in message(delta(path))


def test_a_path_that_deltalake_cannot_have_is_an_error(path):
    shutil.copytree(Path(path).parent, f"{path}\nb")
    assert message(delta(f"{path}\nb")).startswith(f"cannot read the Delta table at '{path}\nb': ")


def test_a_clone_has_the_files_of_its_source(tmp_path):
    """As Spark writes a shallow clone: URIs of one slash, and ``readVersion`` -1."""
    origin, path = str(tmp_path / "origin table"), str(tmp_path / "clone")
    add(origin, 1, 1, 2, 3)
    actions = _actions(origin, 0)
    for action in actions:
        if "add" in action:
            action["add"] |= {
                "path": f"file:{tmp_path}/origin%20table/{action['add']['path']}",
                "deletionVector": _vector(2),
            }
        if "commitInfo" in action:
            action["commitInfo"] |= {"readVersion": -1, "operation": "CLONE"}
    _commit_actions(path, 0, *(WITH_VECTORS if "protocol" in action else action for action in actions))
    assert delta(path).keys(delta(path).look().changed) == ["2013-01-01", "2013-01-03"]


@pytest.mark.parametrize("layout", [["day"], None], ids=["partitioned", "statistics"])
def test_removes_that_tell_nothing_are_looked_up_in_the_version_before(path, layout, opened):
    add(path, 1, partition_by=layout)
    add(path, 2, partition_by=layout)
    source = delta(path)
    source.look()
    opened.clear()
    DeltaTable(path).delete("day = '2013-01-02'")
    bare = {"extendedFileMetadata", "partitionValues", "stats"}
    rewrite(path, 2, lambda actions: [_without(action, "remove", bare) for action in actions])
    seen = source.look()
    assert source.keys(seen.removed) == ["2013-01-02"]
    assert opened == [1, 2]


def test_mapped_columns_are_found_by_their_physical_name(tmp_path):
    path = str(tmp_path / "table")
    schema = {
        "type": "struct",
        "fields": [
            {
                "name": "day",
                "type": "date",
                "nullable": True,
                "metadata": {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-6665"},
            }
        ],
    }
    metadata = {
        "id": "c035eb7c-cf4a-4497-9562-bc0681d9bd7b",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": [],
        "configuration": {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"},
        "createdTime": 0,
    }
    protocol = {"minReaderVersion": 2, "minWriterVersion": 5}

    def commit(version, day, *actions):
        stats = {
            "numRecords": 1,
            "minValues": {"col-6665": day},
            "maxValues": {"col-6665": day},
            "nullCount": {"col-6665": 0},
        }
        file = {
            "path": f"{version}.parquet",
            "partitionValues": {},
            "size": 1,
            "modificationTime": 0,
            "dataChange": True,
            "stats": json.dumps(stats),
        }
        lines = [json.dumps(action) for action in (*actions, {"add": file})]
        write(path, f"_delta_log/{version:020d}.json", "\n".join(lines))

    commit(0, "2013-01-05", {"protocol": protocol}, {"metaData": metadata})
    source = delta(path)
    assert source.keys(source.look().changed) == ["2013-01-05"]
    commit(1, "2013-01-07")
    assert source.keys(source.look().changed) == ["2013-01-07"]


# --------------------------------------------------------------------------- trouble


def message(source):
    with pytest.raises(SourceError) as error:
        source.look()
    return str(error.value)


def test_a_table_that_is_not_there_yet_is_nothing_new(place):
    uri, path = place
    source = delta(uri)
    assert source.look() is None
    assert source.notes == (f"no Delta table at '{uri}' yet",)
    Path(path).mkdir()
    assert source.look() is None


def test_a_table_in_a_folder_that_is_not_there_is_an_error(tmp_path):
    (tmp_path / "lake").mkdir()
    assert message(delta(f"{tmp_path}/laek/flights")) == (
        f"the source 'landed' has no folder '{tmp_path}/laek'\n  hint: did you mean '{tmp_path}/lake'? if not, "
        "create the folder: the source then waits for its data"
    )


def test_a_table_that_vanished_is_an_error(place):
    uri, path = place
    add(path, 1)
    source = delta(uri)
    source.look()
    shutil.rmtree(path)
    assert message(source) == (
        f"the source 'landed' vanished: the Delta table at '{uri}' no longer exists\n  hint: restore it, or remove "
        "the asset and its readers from the project"
    )


def test_a_folder_of_files_is_no_table(path):
    write(path, "part-0.parquet")
    assert message(delta(path)) == (
        f"the source 'landed' is not a Delta table: '{path}' has no _delta_log\n"
        "  hint: write 'source: csv', 'json' or 'parquet' for a folder of files"
    )


@pytest.mark.parametrize(
    ("column", "by", "expected"),
    [
        ("dya", "day", "the source 'landed' has no column 'dya'; it has day, x, s\n  hint: did you mean 'day'?"),
        ("when", "day", "the source 'landed' has no column 'when'; it has day, x, s"),
        (
            "x",
            "day",
            (
                "the column 'x' of the source 'landed' is long; a partition by day needs a date, a timestamp or "
                "the key as text"
            ),
        ),
        (
            "s",
            "day",
            (
                "the column 's' of the source 'landed' is struct; a partition by day needs a date, a timestamp or "
                "the key as text"
            ),
        ),
        (
            "day",
            "hour",
            (
                "the column 'day' of the source 'landed' is date; a partition by hour needs a timestamp or the key "
                "as text"
            ),
        ),
        (
            None,
            "day",
            (
                "the partition of the source 'landed' lacks its column\n  hint: write 'partition: {by: …, column: "
                "…}': a Delta table needs a partition column"
            ),
        ),
    ],
)
def test_a_column_that_tells_no_slot_is_an_error(path, column, by, expected):
    write_deltalake(path, pa.table({"day": [date(2013, 1, 5)], "x": [1], "s": [{"a": 1}]}))
    assert message(delta(path, TimePartition(by, "UTC", column=column))) == expected


def test_a_damaged_commit_is_an_error(path):
    add(path, 1)
    source = delta(path)
    source.look()
    write(path, f"_delta_log/{1:020d}.json", '{"add": {"pa')
    assert message(source).startswith(f"version 1 of the Delta table at '{path}' is damaged: Unterminated string")
    assert message(delta(path)).startswith(f"cannot read the Delta table at '{path}': ")


# --------------------------------------------------------------------------- any sequence of commits

REGION = SegmentPartition("region", ("de", "nl"))
PARTITIONINGS = {
    "day": Partitioning(DAYS),
    "region": Partitioning(None, (REGION,)),
    "day and region": Partitioning(DAYS, (REGION,)),
    "number and day": Partitioning(DAYS, (SegmentPartition("x", ("1", "3", "4")),), 1),
}
ROWS = st.lists(
    st.tuples(st.sampled_from([1, 2, 3, 4, 5, None]), st.sampled_from(["de", "de", "nl", "nl", "zz", None])),
    min_size=1,
    max_size=4,
)
VERBS = [
    "append",
    "append",
    "overwrite",
    "replace",
    "delete",
    "delete",
    "delete_region",
    "delete_one",
    "update",
    "move",
    "move_region",
    "merge",
    "truncate",
    "restore",
    "compact",
    "compact",
    "vacuum",
    "checkpoint",
]
COMMITS = st.lists(st.tuples(st.sampled_from(VERBS), ROWS), max_size=4)
LAYOUTS = {
    "by day": {"partition_by": ["day"]},
    "by region": {"partition_by": ["region"]},
    "by both": {"partition_by": ["region", "day"]},
    "statistics": {},
    "none": {"configuration": {"delta.dataSkippingNumIndexedCols": "0"}},
}


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(PARTITIONINGS)), st.sampled_from(sorted(LAYOUTS)), st.lists(COMMITS, max_size=4))
@example("day", "none", [[("append", [(2, "de")]), ("compact", [(1, "de")]), ("overwrite", [(1, "de")])]])  # passed by
@example("day", "none", [[("append", [(1, "de")]), ("compact", [(1, "de")]), ("vacuum", [(1, "de")])]])  # unreadable
def test_the_observations_add_up_to_what_is_there(tmp_path, partitioned, layout, rounds):
    path, partitioning = str(tmp_path / "table"), PARTITIONINGS[partitioned]
    shutil.rmtree(path, ignore_errors=True)
    write_deltalake(path, cells((1, "de")), **LAYOUTS[layout])
    source, before, value = delta(path, partitioning), {}, 1
    for steps in [[], *rounds]:
        for verb, drawn in steps:
            value += 1
            _commit(path, verb, drawn, value, LAYOUTS[layout])
        after = _by_key(path, partitioning)
        delta_rows.row_cache.clear()  # as another process looks
        seen = source.look()
        changed = set(source.keys(seen.changed)) if seen else set()
        assert {key for key in after if after[key] != before.get(key)} <= changed <= set(after)
        assert set(source.keys(seen.removed) if seen else ()) == before.keys() - after.keys()
        assert set(source.keys(source.coverage)) == set(after)
        assert source.version == DeltaTable(path).version()
        assert seen is None or not seen.whole
        assert source.look() is None
        before = after


def cells(*drawn, value=1):
    """A row for each day and region."""
    return pa.table(
        {
            "day": pa.array([day and date(2013, 1, day) for day, _ in drawn], pa.date32()),
            "region": pa.array([region for _, region in drawn], pa.string()),
            "x": pa.array([value] * len(drawn), pa.int64()),
        }
    )


def _commit(path, verb, drawn, value, layout):
    table, (day, region) = DeltaTable(path), drawn[0]
    on_day = f"day = '2013-01-0{day}'" if day else "day IS NULL"
    in_region = f"region = '{region}'" if region else "region IS NULL"
    last_day, last_region = drawn[-1]
    {
        "append": lambda: write_deltalake(path, cells(*drawn), mode="append", **layout),
        "overwrite": lambda: write_deltalake(path, cells(*drawn, value=value), mode="overwrite", **layout),
        "replace": lambda: write_deltalake(path, cells(drawn[0], value=value), mode="overwrite", predicate=on_day),
        "delete": lambda: table.delete(on_day),
        "delete_region": lambda: table.delete(in_region),
        "delete_one": lambda: table.delete(f"{on_day} and x = {value - 1}"),
        "update": lambda: table.update({"x": str(value)}, predicate=on_day),
        "move": lambda: table.update({"day": f"date '2013-01-0{last_day or 1}'"}, predicate=on_day),
        "move_region": lambda: table.update({"region": f"'{last_region or 'zz'}'"}, predicate=in_region),
        "merge": lambda: _merge(table, cells(*dict.fromkeys(drawn), value=value)),
        "truncate": table.delete,
        "restore": lambda: _restore(table, day or 1),
        "compact": table.optimize.compact,
        "vacuum": lambda: table.vacuum(dry_run=False, retention_hours=0, enforce_retention_duration=False),
        "checkpoint": table.create_checkpoint,
    }[verb]()


def _merge(table, new):
    merge = table.merge(new, "t.day = s.day and t.region = s.region", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()


def _restore(table, steps):
    """To an earlier version, unless its files were vacuumed."""
    with contextlib.suppress(DeltaError, FileNotFoundError):
        table.restore(max(0, table.version() - steps))


def _by_key(path, partitioning):
    """The rows of each partition, by its key; those that are in none are nowhere."""
    found, dimensions = {}, [each.column for each in partitioning.segments]
    if partitioning.time:
        dimensions.insert(partitioning.time_at, "day")
    known = {each.column: each.keys for each in partitioning.segments}
    for row in DeltaTable(path).to_pyarrow_table().to_pylist():
        key = [str(row[column]) for column in dimensions]
        if all(row[column] is not None for column in dimensions) and all(
            str(row[column]) in keys for column, keys in known.items()
        ):
            found.setdefault(",".join(key), []).append(tuple(map(str, row.values())))
    return {key: sorted(values) for key, values in found.items()}
