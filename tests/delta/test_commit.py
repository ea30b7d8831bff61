"""Commits of a driver's beside other writers, without Spark: which are made, made again, skipped, refused."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Schema, Transaction, write_deltalake
from deltalake.transaction import AddAction

from sparkassets.core.partitions import EVERYTHING, Partitioning, TimePartition
from sparkassets.delta import commit as committing
from sparkassets.delta import durability
from sparkassets.delta.commit import CommitConflictError, CommitRequest, commit, create
from sparkassets.delta.file_split import make_touch_test, split_files
from sparkassets.errors import RunError

DAYS = Partitioning(TimePartition("day", "UTC", column="day"))
APP = "journal/daily"


def rows(*values):
    return pa.table(
        {"day": pa.array([date(2013, 1, n) for n in values], pa.date32()), "n": pa.array(values, pa.int32())}
    )


def theirs(path, *values, **more):
    """Another writer's append."""
    write_deltalake(path, rows(*values), mode="append", **more)


def ours(path: str, *values: int) -> list[AddAction]:
    """A file of ours that is not committed yet, by another table's folder."""
    written = f"{path}/staged-{len(list(Path(path).iterdir()))}"
    write_deltalake(written, rows(*values))
    (file,) = Path(written).glob("*.parquet")
    entry = [json.loads(line) for line in (Path(written) / "_delta_log" / f"{0:020d}.json").read_text().splitlines()]
    (add,) = (each["add"] for each in entry if "add" in each)
    name = str(file.relative_to(path))
    return [AddAction(name, add["size"], {}, add["modificationTime"], data_change=True, stats=add["stats"])]


@pytest.fixture
def path(tmp_path):
    """A table with the first three days, a file each."""
    place = str(tmp_path / "table")
    for day in (1, 2, 3):
        theirs(place, day)
    return place


def change(path, *values, version=5, **more):
    return CommitRequest("daily", APP, version, "{}", adds=ours(path, *values), **more)


def replacing(path, key, *values, **more):
    """Takes the place of a day."""
    table, parts = DeltaTable(path), DAYS.parse(key)
    found = split_files(table, parts, partitioning=DAYS)
    assert not found.mixed
    made = change(
        path,
        *values,
        removes=found.inside,
        conflicts_with=make_touch_test(table, parts, partitioning=DAYS, split=found),
        **more,
    )
    return table, made


def days(path):
    return sorted(each.day for each in DeltaTable(path).to_pyarrow_table()["day"].to_pylist())


def test_files_come_and_go_in_one_commit(path):
    table, made = replacing(path, "2013-01-02", 2, 2, metrics={"numOutputRows": 2})
    commit(path, table, made)
    assert days(path) == [1, 2, 2, 3]
    now = DeltaTable(path)
    assert (now.version(), now.transaction_version(APP)) == (3, 5)
    (told,) = now.history(1)
    assert (told["operationMetrics"], told["isBlindAppend"], told["userMetadata"]) == (
        {"numOutputRows": "2"},
        False,
        "{}",
    )


def test_over_what_touches_nothing_of_it_the_commit_is_made_again(path):
    table, made = replacing(path, "2013-01-02", 2, 2)
    theirs(path, 3)
    theirs(path, 4)
    commit(path, table, made)
    assert days(path) == [1, 2, 2, 3, 3, 4]
    assert DeltaTable(path).version() == 5


def test_rows_that_came_into_what_is_replaced_refuse_it(path):
    table, made = replacing(path, "2013-01-02", 2, 2)
    theirs(path, 4)
    theirs(path, 2)
    with pytest.raises(CommitConflictError) as refused:
        commit(path, table, made)
    assert str(refused.value) == (
        "daily: another writer changed rows that the run replaces or read in version 4 during the run"
    )
    assert refused.value.retryable
    assert days(path) == [1, 2, 2, 3, 4]


def test_rows_that_left_what_is_replaced_refuse_it(path):
    table, made = replacing(path, "2013-01-02", 2, 2)
    DeltaTable(path).delete("day = '2013-01-02'")
    with pytest.raises(CommitConflictError):
        commit(path, table, made)
    assert days(path) == [1, 3]


def test_an_append_is_made_beside_any_rows(path):
    table, made = DeltaTable(path), change(path, 9)
    theirs(path, 9)
    DeltaTable(path).delete("day = '2013-01-01'")
    commit(path, table, made)
    assert days(path) == [2, 3, 9, 9]


def test_a_run_that_read_its_own_table_is_refused_by_any_rows_since(path):
    table, made = DeltaTable(path), replace(change(path, 9), conflicts_with=lambda _: True)
    commit(path, table, made, since=2)
    theirs(path, 4)
    with pytest.raises(CommitConflictError):
        commit(path, DeltaTable(path), replace(change(path, 9, version=7), conflicts_with=lambda _: True), since=3)
    assert days(path) == [1, 2, 3, 4, 9]


def test_rows_that_were_moved_to_other_files_refuse_their_replacement_and_nothing_else(path):
    (table, made), (other, append) = replacing(path, "2013-01-02", 2, 2), (DeltaTable(path), change(path, 9, version=4))
    DeltaTable(path).optimize.compact()
    commit(path, other, append)
    with pytest.raises(CommitConflictError, match=r"^daily: another writer committed for the same asset in version 4 "):
        commit(path, table, made)
    table, made = replacing(path, "2013-01-09", 9, 9)
    theirs(path, 8)
    DeltaTable(path).optimize.compact()
    with pytest.raises(CommitConflictError, match=r"^daily: another writer moved rows that the run replaces to other"):
        commit(path, table, made)


def test_a_restore_refuses_what_was_made_of_later_rows(path):
    table, made = replacing(path, "2013-01-03", 3, 3)
    DeltaTable(path).restore(1)
    with pytest.raises(CommitConflictError):
        commit(path, table, made)
    assert days(path) == [1, 2]


def test_commits_that_the_log_no_longer_tells_refuse_it(path):
    table, made = replacing(path, "2013-01-02", 2, 2)
    theirs(path, 4)
    theirs(path, 5)
    DeltaTable(path).create_checkpoint()
    Path(path, "_delta_log", f"{3:020d}.json").unlink()
    with pytest.raises(CommitConflictError) as refused:
        commit(path, table, made)
    assert str(refused.value) == "daily: another writer made more commits than the log still has during the run"
    assert days(path) == [1, 2, 3, 4, 5]


def test_a_table_that_was_changed_refuses_it(path):
    table, made = DeltaTable(path), change(path, 9)
    DeltaTable(path).alter.set_table_properties({"delta.logRetentionDuration": "interval 3 days"})
    with pytest.raises(
        CommitConflictError, match=r"^daily: another writer changed the table itself in version 3 during the run"
    ):
        commit(path, table, made)


@pytest.mark.parametrize(("version", "lands"), [(4, False), (5, False), (6, True)])
def test_only_a_higher_version_of_the_transaction_lands(path, version, lands):
    commit(path, DeltaTable(path), change(path, 8, version=5))
    stale = DeltaTable(path)
    commit(path, stale, change(path, 9, version=version))
    assert days(path) == [1, 2, 3, 8, *([9] if lands else [])]


def test_one_that_was_overtaken_while_it_was_made_is_skipped(path):
    table, made = DeltaTable(path), change(path, 9, version=5)
    theirs(path, 4, commit_properties=CommitProperties(app_transactions=[Transaction(APP, 8)]))
    commit(path, table, made)
    assert days(path) == [1, 2, 3, 4]


def test_an_answer_that_is_lost_is_found_in_the_log(path, monkeypatch):
    put = committing._write_commit

    def lost(*arguments):
        put(*arguments)
        raise OSError("connection reset")

    monkeypatch.setattr(committing, "_write_commit", lost)
    commit(path, DeltaTable(path), change(path, 9))
    assert days(path) == [1, 2, 3, 9]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no space left on device\nsecond line", "no space left on device"),
        (
            "Generic LocalFileSystem error\n \x1b[31m↳\x1b[0m Unable to copy data to file\n ↳ No space left on device",
            "Generic LocalFileSystem error: Unable to copy data to file: No space left on device",
        ),
    ],
)
def test_a_commit_that_did_not_happen_is_told(path, monkeypatch, text, told):
    def fails(*_):
        raise OSError(text)

    monkeypatch.setattr(committing, "_write_commit", fails)
    with pytest.raises(RunError) as refused:
        commit(path, DeltaTable(path), change(path, 9))
    assert str(refused.value) == f"daily: cannot commit to its table: {told}"
    assert refused.value.retryable


def flushed(monkeypatch, path) -> list[str]:
    """What is flushed from now on, each before it returns."""
    kept: list[str] = []
    monkeypatch.setattr(durability, "_sync_path", lambda each: kept.append(str(each.relative_to(path))))
    return kept


def test_rows_are_on_the_disk_before_the_commit_names_them_and_that_when_it_returns(path, monkeypatch):
    kept, put, made = flushed(monkeypatch, path), committing._write_commit, change(path, 9)
    (name,) = (add.path for add in made.adds)
    monkeypatch.setattr(committing, "_write_commit", lambda *arguments: (kept.append("put"), put(*arguments)))
    commit(path, DeltaTable(path), made)
    entry = f"_delta_log/{3:020d}.json"
    assert kept == [name, str(Path(name).parent), "put", entry, "_delta_log"]


def test_a_commit_that_is_found_in_the_log_is_on_the_disk_when_that_is_told(path, monkeypatch):
    kept, put = flushed(monkeypatch, path), committing._write_commit

    def lost(*arguments):
        put(*arguments)
        raise OSError("connection reset")

    monkeypatch.setattr(committing, "_write_commit", lost)
    commit(path, DeltaTable(path), change(path, 9))
    assert kept[-2:] == [f"_delta_log/{3:020d}.json", "_delta_log"]


def test_a_table_that_is_made_is_on_the_disk_when_that_is_told(tmp_path, monkeypatch):
    path = str(tmp_path / "new")
    kept = flushed(monkeypatch, path)
    create(path, CommitRequest("daily", APP, 4, "{}", schema=Schema.from_arrow(rows(1).schema)), layout=["day"])
    assert kept == [f"_delta_log/{0:020d}.json", "_delta_log"]


@pytest.mark.parametrize(("suffix", "lands"), [(".parquet", False), (".json", True)])
def test_a_disk_that_does_not_keep_what_is_written(path, monkeypatch, suffix, lands):
    def failing(each: Path) -> None:
        if each.suffix == suffix:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(durability, "_sync_path", failing)
    with pytest.raises(RunError) as refused:
        commit(path, DeltaTable(path), change(path, 9))
    assert str(refused.value) == ("daily: the disk lost writes to its table: [Errno 5] Input/output error")
    assert refused.value.retryable
    assert days(path) == [1, 2, 3, *([9] if lands else [])]


def test_a_table_that_was_made_anew_or_removed_is_not_committed_to(path, tmp_path):
    table, made = DeltaTable(path), change(path, 9)
    Path(path).rename(tmp_path / "away")
    with pytest.raises(CommitConflictError, match=r"^daily: another writer removed the table during the run$"):
        commit(path, table, made)
    for _ in range(5):
        theirs(path, 7)
    with pytest.raises(CommitConflictError, match=r"^daily: another writer re-created the table during the run$"):
        commit(path, table, made)


def test_a_fence_lands_over_anything_but_a_changed_table(path):
    table = DeltaTable(path)
    theirs(path, 1)
    commit(path, table, CommitRequest("daily", APP, 6, "{}"))
    assert (DeltaTable(path).transaction_version(APP), days(path)) == (6, [1, 1, 2, 3])


def test_all_is_replaced_with_other_columns_in_one_commit(path):
    fields = [{"name": "k", "type": "string", "nullable": True, "metadata": {"comment": "key"}}]
    schema = Schema.from_json(json.dumps({"type": "struct", "fields": fields}))
    table = DeltaTable(path)
    everything = make_touch_test(
        table, EVERYTHING, partitioning=DAYS, split=split_files(table, EVERYTHING, partitioning=DAYS)
    )
    commit(
        path, table, CommitRequest("daily", APP, 5, "{}", replaces_all=True, schema=schema, conflicts_with=everything)
    )
    now = DeltaTable(path)
    assert (json.loads(now.schema().to_json())["fields"], now.file_uris(), now.version()) == (fields, [], 3)


def test_a_table_is_made_by_one_writer_only(tmp_path):
    path = str(tmp_path / "new")
    schema = Schema.from_arrow(rows(1).schema)
    create(path, CommitRequest("daily", APP, 4, "{}", schema=schema), layout=["day"])
    create(path, CommitRequest("daily", APP, 4, "{}", schema=schema), layout=["day"])
    with pytest.raises(CommitConflictError, match=r"^daily: another writer created the table during the run$"):
        create(path, CommitRequest("daily", APP, 6, "{}", schema=schema), layout=["day"])
    now = DeltaTable(path)
    assert (now.version(), now.metadata().partition_columns, now.transaction_version(APP)) == (0, ["day"], 4)


@pytest.mark.parametrize(("properties", "expected"), [({}, [10, 20]), ({"delta.checkpointInterval": "7"}, [7, 14, 21])])
def test_checkpoints_are_written_in_time(tmp_path, properties, expected):
    path = str(tmp_path / "table")
    write_deltalake(path, rows(1), configuration=properties)
    for number in range(22):
        commit(path, DeltaTable(path), CommitRequest("daily", APP, number, "{}"))
    checkpoints = Path(path, "_delta_log").glob("*.checkpoint.parquet")
    assert sorted(int(each.name.partition(".")[0]) for each in checkpoints) == expected
    assert days(path) == [1]


def test_the_log_is_cleaned_as_the_table_says(tmp_path):
    kept = {"delta.logRetentionDuration": "interval 0 seconds"}
    paths = {clean: str(tmp_path / clean) for clean in ("true", "false")}
    for clean, path in paths.items():
        write_deltalake(path, rows(1), configuration={**kept, "delta.enableExpiredLogCleanup": clean})
        for number in range(12):
            commit(path, DeltaTable(path), CommitRequest("daily", APP, number, "{}"))
    left = {clean: len(list(Path(path, "_delta_log").glob("*.json"))) for clean, path in paths.items()}
    assert left["false"] == 13
    assert left["true"] < 5
    assert days(paths["true"]) == [1]
