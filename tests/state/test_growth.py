"""What would grow and does not: live files, log entries, files nobody refers to; and that merging breaks nothing."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable

from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.errors import JournalConflictError
from sparkassets.ports import HistoryQuery
from sparkassets.state import maintenance
from sparkassets.state.data_files import FileAccess
from sparkassets.state.delta_store import DeltaStore
from sparkassets.state.numbered_table import NumberedTable
from sparkassets.state.table_columns import JOURNAL_COLUMNS

AT = datetime(2025, 3, 21, tzinfo=UTC)
TWO_HOURS = 7200


@pytest.fixture
def state(tmp_path) -> Path:
    DeltaStore(str(tmp_path / "state")).create(project="p")
    return tmp_path / "state"


def append(store: DeltaStore, count: int) -> None:
    commit, rows = store.read_after(0)
    for step in range(count):
        store.append([JournalRow(len(rows) + step + 1, AT, "d", "event", run=f"r{step}")], after=commit + step)


def opened(state: Path) -> NumberedTable:
    table = NumberedTable(str(state / "journal"), app_id="sparkassets.journal", columns=JOURNAL_COLUMNS, options={})
    assert table.open()
    return table


def seqs(state: Path) -> list[int]:
    return [row.seq for row in DeltaStore(str(state)).read_history()]


def data_files(state: Path, table: str = "journal") -> set[str]:
    return {path.name for path in (state / table).glob("*.parquet")}


class TestMerging:
    def test_sixteen_files_of_a_level_become_one_of_the_next(self, state):
        store = DeltaStore(str(state))
        append(store, 15)
        store.maintain()
        assert store.read_after(15)[0] == 15
        append(store, 1)
        store.maintain()
        assert store.read_after(16)[0] == 17
        files = opened(state).live_files()
        assert [(file.path[:8], file.first_seq, file.last_seq, file.count) for file in files] == [
            ("level-1-", 1, 16, 16)
        ]
        assert seqs(state) == list(range(1, 17))

    def test_the_number_is_the_version_of_the_transaction(self, state):
        store = DeltaStore(str(state))
        append(store, 40)
        store.maintain()
        table = DeltaTable(str(state / "journal"))
        assert table.transaction_version("sparkassets.journal") == table.version() == store.read_after(0)[0] == 42

    def test_data_does_not_change(self, state):
        store = DeltaStore(str(state))
        append(store, 16)
        store.maintain()
        entry = (state / "journal" / "_delta_log" / f"{17:020d}.json").read_text()
        assert '"dataChange":true' not in entry
        assert entry.count('"dataChange":false') == 17

    def test_live_files_grow_with_the_logarithm(self, state):
        store = DeltaStore(str(state))
        for _ in range(6):
            append(store, 48)
            store.maintain()
        levels = [file.path[:8] for file in opened(state).live_files()]
        assert levels == ["level-2-", "level-1-", "level-1-"]
        assert seqs(state) == list(range(1, 289))

    def test_merged_files_are_pruned_by_seq(self, state):
        store = DeltaStore(str(state))
        append(store, 40)
        store.maintain()
        files = opened(state).live_files()
        assert [(file.first_seq, file.last_seq) for file in files] == [
            (1, 16),
            (17, 32),
            *((n, n) for n in range(33, 41)),
        ]
        for file in files[:2]:
            (state / "journal" / file.path).unlink()
        assert [row.seq for row in DeltaStore(str(state)).read_after(32)[1]] == list(range(33, 41))
        assert [row.seq for row in DeltaStore(str(state)).read_history(HistoryQuery(after_seq=32))] == list(
            range(33, 41)
        )
        assert [row.seq for row in DeltaStore(str(state)).read_history(HistoryQuery(last=5))] == [36, 37, 38, 39, 40]

    def test_a_driver_that_knows_the_commit_before_a_merge_is_told(self, state):
        store, other = DeltaStore(str(state)), DeltaStore(str(state))
        append(store, 16)
        commit, _ = store.read_after(0)
        other.maintain()
        with pytest.raises(JournalConflictError, match="at commit 17, not at 16"):
            store.append([JournalRow(17, AT, "d", "event")], after=commit)
        commit, rows = store.read_after(16)
        assert (commit, list(rows)) == (17, [])
        store.append([JournalRow(17, AT, "d", "event")], after=commit)

    def test_a_merge_of_files_that_are_merged_already_is_dropped(self, state):
        store = DeltaStore(str(state))
        append(store, 16)
        table = opened(state)
        inputs = table.live_files()
        store.maintain()
        before = data_files(state)
        assert not maintenance._merge(table, inputs, level=0)
        assert data_files(state) == before
        assert seqs(state) == list(range(1, 17))
        assert table.number == 17

    def test_a_merge_that_slept_is_dropped(self, state):
        append(DeltaStore(str(state)), 16)
        table = opened(state)
        written = table.files.write(table.files.read_table(table.live_files()[0].path), name="level-1")
        assert not maintenance.commit_replacement(table, [written], table.live_files(), began_at=time.time() - 3000)
        assert table.number == 16


class TestLog:
    def test_entries_and_checkpoints_are_held_and_who_slept_through_many_commits_goes_on(self, state, monkeypatch):
        monkeypatch.setattr(maintenance, "LOG_KEPT", 50)
        monkeypatch.setattr(maintenance, "TIDY_EVERY", 25)
        sleeper = DeltaStore(str(state))
        sleeper.read_image(project="p")
        store = DeltaStore(str(state))
        for _ in range(7):
            append(store, 25)
            store.maintain()
        names = sorted(path.name for path in (state / "journal" / "_delta_log").iterdir())
        assert len(names) < 120
        checkpoints = [int(name[:20]) for name in names if "checkpoint.parquet" in name]
        newest = DeltaTable(str(state / "journal")).version()
        assert newest - checkpoints[-1] < 40
        assert checkpoints[0] == int(names[0][:20]) > 1
        assert checkpoints[0] <= newest - 50
        assert seqs(state) == list(range(1, 176))
        with pytest.raises(JournalConflictError):
            sleeper.append([JournalRow(1, AT, "d", "event")], after=0)
        commit, rows = sleeper.read_after(0)
        assert [row.seq for row in rows] == list(range(1, 176))
        sleeper.append([JournalRow(176, AT, "d", "event")], after=commit)
        assert seqs(state)[-1] == 176

    @pytest.mark.deep
    def test_the_log_of_the_snapshots_is_held(self, state):
        store = DeltaStore(str(state))
        store.append([JournalRow(seq, AT, "d", "event") for seq in range(1, 331)], after=0)
        for seq in range(1, 331):
            store.save_snapshot([SnapshotRow("a", None, None, seq, seq)], seq=seq)
            if seq % 110 == 0:
                store.maintain()
        log = [path.name for path in (state / "watermarks" / "_delta_log").iterdir()]
        assert len(log) < 340
        assert f"{0:020d}.json" not in log
        assert store.read_image(project="p").snapshot_seq == 330


class TestFilesNobodyRefersTo:
    @pytest.fixture
    def merged(self, state) -> Path:
        """Sixteen files that were merged, and one that a killed process left behind."""
        store = DeltaStore(str(state))
        append(store, 16)
        store.maintain()
        (state / "journal" / "level-0-lost.parquet").write_bytes(b"lost")
        return state

    def tidy(self, state: Path) -> None:
        from sparkassets.state.maintenance import clean_up

        table = opened(state)
        clean_up(table)

    def age(self, state: Path) -> None:
        for path in (state / "journal").glob("*.parquet"):
            os.utime(path, (time.time() - TWO_HOURS, time.time() - TWO_HOURS))

    def forget(self, state: Path) -> None:
        """As if the merge were hours ago."""
        table = DeltaTable(str(state / "journal"))
        table.alter.set_table_properties({"delta.deletedFileRetentionDuration": "interval 0 seconds"})

    def test_they_stay_for_an_hour(self, merged):
        before = data_files(merged)
        self.tidy(merged)
        assert data_files(merged) == before
        self.forget(merged)
        self.tidy(merged)
        assert data_files(merged) == before

    def test_those_of_a_fresh_merge_stay_however_old_they_are(self, merged):
        self.age(merged)
        before = data_files(merged)
        self.tidy(merged)
        assert data_files(merged) == before - {"level-0-lost.parquet"}

    def test_they_go_after_an_hour(self, merged):
        self.age(merged)
        self.forget(merged)
        self.tidy(merged)
        assert data_files(merged) == {file.path for file in opened(merged).live_files()}
        assert seqs(merged) == list(range(1, 17))
        append(DeltaStore(str(merged)), 1)
        assert seqs(merged) == list(range(1, 18))


class TestFileAccess:
    def test_a_missing_file(self, state):
        files = FileAccess(str(state / "journal"), {})
        with pytest.raises(FileNotFoundError):
            files.read_bytes("none.parquet")
        files.delete(["none.parquet"])
        assert files.modification_times(["none.parquet"]) == {}
        assert files.list_names("none") == []


def test_a_state_that_another_program_rewrote_still_works(state):
    store = DeltaStore(str(state))
    append(store, 20)
    store.save_snapshot([SnapshotRow("a", None, None, 20, 20)], seq=20)
    for table in ("journal", "watermarks"):
        DeltaTable(str(state / table)).optimize.compact()
    append(store, 20)
    store.save_snapshot([SnapshotRow("a", None, None, 40, 40)], seq=40)
    store.maintain()
    assert seqs(state) == list(range(1, 41))
    image = DeltaStore(str(state)).read_image(project="p")
    assert (image.snapshot_seq, list(image.tail)) == (40, [])
