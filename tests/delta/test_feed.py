"""What the log of a table tells of its changes: by its feed, by files that came, or not at all; without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets.core.runs import ChangeAvailability, TablePosition
from sparkassets.delta.change_feed import FeedRange, TableChanges, table_changes
from sparkassets.delta.features import FEED
from sparkassets.delta.log import DeltaLog
from sparkassets.errors import SourceError

ON = {FEED: "true"}


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "orders")


def rows(*numbers, **more):
    return pa.table({"id": pa.array(numbers, pa.int64()), **more})


def write(path, *numbers, **more):
    write_deltalake(path, rows(*numbers), mode="append", **more)


def turn(path, on):
    DeltaTable(path).alter.set_table_properties({FEED: str(on).lower()})


def position(path, version):
    return TablePosition(str(DeltaTable(path).metadata().id), version)


def changes(path, since, version=None):
    return table_changes(path, position(path, since), DeltaTable(path).version() if version is None else version)


def availability(path, since, version=None):
    found = changes(path, since, version).availability
    return found.kind, found.reason


def versions(found: TableChanges):
    return [commit.version for commit in found.appended_commits]


def test_files_that_came_are_told_without_a_feed(path):
    write(path, 1)
    write(path, 2)
    write(path, 3)
    found = changes(path, 0)
    assert (versions(found), found.feed_ranges, found.only_inserts, found.availability) == (
        [1, 2],
        (),
        True,
        ChangeAvailability(),
    )
    assert versions(changes(path, 0, 1)) == [1]
    assert changes(path, 2).is_empty


def test_what_moves_rows_only_is_nothing(path):
    write(path, 1)
    write(path, 2)
    DeltaTable(path).optimize.compact()
    found = changes(path, 1)
    assert found.is_empty
    write(path, 3)
    assert versions(changes(path, 0)) == [1, 3]


def test_without_a_feed_what_else_happened_is_not_told(path):
    write(path, 1, 2)
    write(path, 3)
    DeltaTable(path).delete("id = 1")
    assert availability(path, 0) == ("unrecorded", "version 2 (DELETE) changed or removed rows")
    assert availability(path, 0, 1) == ("available", "")
    write_deltalake(path, rows(9), mode="overwrite")
    assert availability(path, 2) == ("unrecorded", "version 3 (WRITE) changed or removed rows")


def test_a_feed_that_came_later_does_not_tell_what_was_before(path):
    write(path, 1, 2)
    DeltaTable(path).delete("id = 1")
    turn(path, on=True)
    write(path, 3)
    assert availability(path, 0) == ("lost", "version 1 (DELETE) changed rows before its change feed was on")
    assert changes(path, 1).feed_ranges == (FeedRange(3, 3, replaced=False),)


def test_files_that_came_before_the_feed_was_on_are_told_all_the_same(path):
    write(path, 1)
    write(path, 2)
    turn(path, on=True)
    write(path, 3)
    DeltaTable(path).delete("id = 1")
    found = changes(path, 0)
    assert (versions(found), found.feed_ranges, found.only_inserts) == ([1], (FeedRange(3, 4, replaced=False),), False)


def test_a_feed_that_was_off_for_a_while(path):
    write(path, 1, configuration=ON)
    write(path, 2)
    turn(path, on=False)
    write(path, 3)
    turn(path, on=True)
    write(path, 4)
    found = changes(path, 0)
    assert (versions(found), found.feed_ranges) == (
        [3],
        (FeedRange(1, 1, replaced=False), FeedRange(5, 5, replaced=False)),
    )
    turn(path, on=False)
    DeltaTable(path).delete("id = 1")
    assert availability(path, 0) == ("unrecorded", "version 7 (DELETE) changed or removed rows")


def test_versions_that_replace_files_are_apart(path):
    write(path, 1, configuration=ON)
    write(path, 2)
    write_deltalake(path, rows(1, 2, 3), mode="overwrite")
    write(path, 4)
    write(path, 5)
    found = changes(path, 0)
    assert [(each.first, each.last) for each in found.feed_ranges] == [(1, 1), (2, 2), (3, 4)]
    assert [each.replaced for each in found.feed_ranges] == [False, not _has_change_files(path, 2), False]
    assert not found.only_inserts


def _has_change_files(path, version):
    text = Path(path, "_delta_log", f"{version:020d}.json").read_text()
    return any("cdc" in json.loads(line) for line in text.splitlines())


def test_a_column_that_came_is_no_other_table(path):
    write(path, 1)
    write_deltalake(path, rows(2, name=["a"]), mode="append", schema_mode="merge")
    assert versions(changes(path, 0)) == [1]


def test_columns_that_are_others_are_not_told(path):
    write(path, 1, configuration=ON)
    write_deltalake(path, pa.table({"id": ["a"]}), mode="overwrite", schema_mode="overwrite")
    assert availability(path, 0) == ("lost", "its columns changed in version 1")


def test_a_log_that_is_too_short_is_not_told(path):
    write(path, 1)
    write(path, 2)
    write(path, 3)
    since = position(path, 0)
    Path(path, "_delta_log", f"{1:020d}.json").unlink()
    assert table_changes(path, since, 2).availability == ChangeAvailability("lost", "its log no longer has version 1")


def test_files_that_were_vacuumed_are_not_told(path):
    write(path, 1, 2, configuration=ON)
    DeltaTable(path).delete("id = 1")
    write(path, 3)
    assert availability(path, 0) == ("available", "")
    for each in Path(path, "_change_data").glob("*.parquet"):
        each.unlink()
    assert availability(path, 0) == ("lost", "files of version 1 are gone")
    assert availability(path, 1) == ("available", "")


def test_in_a_store_the_first_version_is_asked_for_what_vacuum_takes(path, monkeypatch):
    """By a request for each of its files that are no part of the table."""
    write(path, 1, 2, configuration=ON)
    write(path, 3)
    for number in (1, 2):
        DeltaTable(path).delete(f"id = {number}")
    since, asked, holds = position(path, 0), [], DeltaLog.holds
    monkeypatch.setattr(DeltaLog, "holds", lambda log, place: asked.append(place) or holds(log, place))
    monkeypatch.setattr("sparkassets.delta.change_feed.local_path", lambda _: None)
    assert table_changes(path, since, 3).availability == ChangeAvailability()
    assert asked == [each.path for each in DeltaLog(path).read_after(1)[0].changes]
    Path(path, asked[0]).unlink()
    assert table_changes(path, since, 3).availability == ChangeAvailability("lost", "files of version 2 are gone")


def test_another_table_at_the_path_is_not_told(path):
    write(path, 1)
    other = TablePosition("another", 0)
    write_deltalake(path, rows(2), mode="append")
    assert (
        table_changes(path, other, 1).availability == ChangeAvailability()
    )  # which the pin tells: nothing here names a table
    write_deltalake(path, rows(3, name=["a"]), mode="append", schema_mode="merge")
    assert table_changes(path, other, 2).availability == ChangeAvailability(
        "lost", "the table was replaced by another in version 2"
    )


def test_what_a_table_was_is_read_from_its_checkpoint(path):
    write(path, 1, configuration=ON)
    write(path, 2)
    DeltaTable(path).create_checkpoint()
    Path(path, "_delta_log", f"{0:020d}.json").unlink()
    write(path, 3)
    since = TablePosition(str(DeltaTable(path).metadata().id), 1)
    assert table_changes(path, since, 2).feed_ranges == (FeedRange(2, 2, replaced=False),)
    turn(path, on=False)
    assert table_changes(path, since, 3).feed_ranges == (FeedRange(2, 2, replaced=False),)
    Path(path, "_delta_log", f"{1:020d}.checkpoint.parquet").unlink()
    lost = ChangeAvailability("lost", "its log no longer has the metadata of version 1")
    assert table_changes(path, since, 3).availability == lost


def test_a_damaged_checkpoint_is_an_error(path):
    write(path, 1)
    write(path, 2)
    Path(path, "_delta_log", f"{1:020d}.checkpoint.parquet").write_bytes(b"PAR1")
    with pytest.raises(SourceError, match=r"^the checkpoint 1 of the table at '.*orders' is damaged: "):
        table_changes(path, TablePosition("t", 0), 1)


def test_no_data_file_is_listed(path, monkeypatch):
    write(path, 1)
    write(path, 2)
    since = position(path, 0)
    monkeypatch.setattr("deltalake.DeltaTable", lambda *_, **__: pytest.fail("opened"))
    assert versions(table_changes(path, since, 1)) == [1]
