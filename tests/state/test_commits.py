"""What happens around one commit: answers that get lost, other programs in between, a driver that slept."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.errors import JournalConflictError, StateError
from sparkassets.state import maintenance, numbered_table
from sparkassets.state.delta_store import DeltaStore

AT = datetime(2025, 3, 21, tzinfo=UTC)


class Disturbed:
    """A Delta table to which something happens before and after its next commit."""

    def __init__(
        self, table: Any, *, before: Callable[[], object] | None = None, after: Callable[[], object] | None = None
    ) -> None:
        self._table = table
        self._before = before
        self._after = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def create_write_transaction(self, *args: Any, **options: Any) -> None:
        before, self._before = self._before, None
        after, self._after = self._after, None
        if before is not None:
            before()
        self._table.create_write_transaction(*args, **options)
        if after is not None:
            after()


def row(seq: int, run: str = "ours") -> JournalRow:
    return JournalRow(seq, AT, "d", "event", run=run)


def lose_the_answer() -> None:
    raise DeltaError("Generic S3 error: connection reset")


@pytest.fixture
def state(tmp_path) -> Path:
    DeltaStore(str(tmp_path / "state")).create(project="p")
    return tmp_path / "state"


@pytest.fixture
def store(state) -> DeltaStore:
    store = DeltaStore(str(state))
    store.append([row(1)], after=0)
    return store


def disturb(store: DeltaStore, table: str = "journal", **moments: Callable[[], object]) -> None:
    numbered = store._journal if table == "journal" else store._watermarks.table
    numbered._table = Disturbed(numbered._table, **moments)


def runs(state: Path) -> list[str | None]:
    return [row.run for row in DeltaStore(str(state)).read_history()]


def other(state: Path, count: int = 1) -> Callable[[], object]:
    """Another driver commits, and merges."""

    def work() -> None:
        driver = DeltaStore(str(state))
        commit, rows = driver.read_after(0)
        for step in range(count):
            driver.append([row(len(rows) + step + 1, "theirs")], after=commit + step)
        driver.maintain()

    return work


def touched(state: Path, table: str = "journal") -> Callable[[], object]:
    """Another program commits something that is none of ours."""
    return lambda: DeltaTable(str(state / table)).alter.set_table_properties({"delta.appendOnly": "false"})


def files(state: Path) -> int:
    return len(list((state / "journal").glob("*.parquet")))


def test_a_commit_whose_answer_is_lost_is_in(state, store):
    disturb(store, after=lose_the_answer)
    store.append([row(2)], after=1)
    assert runs(state) == ["ours", "ours"]
    assert store.read_after(2) == (2, ())


def test_also_when_others_committed_since(state, store):
    disturb(store, after=lambda: (other(state, 3)(), lose_the_answer()))
    store.append([row(2)], after=1)
    assert runs(state) == ["ours", "ours", "theirs", "theirs", "theirs"]


def test_and_when_it_was_merged_meanwhile(state, store):
    disturb(store, after=lambda: (other(state, 30)(), lose_the_answer()))
    store.append([row(2)], after=1)
    assert runs(state) == ["ours", "ours", *["theirs"] * 30]


@pytest.mark.parametrize("times", [1, 3])
def test_a_newest_commit_that_tells_no_number_has_that_of_the_one_before(state, store, times):
    for _ in range(times):
        touched(state)()
    later = DeltaStore(str(state))
    assert (later.read_after(1), store.read_after(1)) == ((1, ()), (1, ()))
    later.append([row(2, "theirs")], after=1)
    store.append([row(3)], after=2)
    assert later.read_after(2)[0] == 3
    assert runs(state) == ["ours", "theirs", "ours"]


def test_who_comes_second_leaves_no_file(state, store):
    disturb(store, before=other(state))
    with pytest.raises(JournalConflictError, match="at commit 2, not at 1"):
        store.append([row(2)], after=1)
    assert runs(state) == ["ours", "theirs"]
    assert files(state) == 2


def test_another_programs_commit_does_not_matter(state, store):
    disturb(store, before=touched(state))
    store.append([row(2)], after=1)
    assert runs(state) == ["ours", "ours"]
    assert store.read_after(0)[0] == 2
    assert DeltaStore(str(state)).read_image(project="p").commit == 2


@pytest.mark.parametrize(
    ("failure", "hint"),
    [
        ("No space left on device (os error 28)", "free some space"),
        ("Unable to rename file: Function not implemented (os error 38)", "its file system has no hard links"),
    ],
)
def test_a_write_that_fails_changes_nothing(state, store, failure, hint):
    def fail() -> None:
        raise OSError(failure)

    disturb(store, before=fail)
    with pytest.raises(StateError, match=rf"cannot write to the table .*/journal: {failure[:20]}") as raised:
        store.append([row(2)], after=1)
    assert hint in (raised.value.hint or "")
    assert runs(state) == ["ours"]
    store.append([row(2)], after=1)
    assert runs(state) == ["ours", "ours"]


def test_a_driver_that_slept_through_its_own_commits_answer(state, store, monkeypatch):
    for module in (maintenance, numbered_table):
        monkeypatch.setattr(module, "LOG_KEPT", 20)
    monkeypatch.setattr(maintenance, "TIDY_EVERY", 20)

    def sleep() -> None:
        for _ in range(3):
            other(state, 25)()
        lost = state / "journal" / "_delta_log" / f"{2:020d}.json"
        assert not lost.exists()

    disturb(store, after=sleep)
    with pytest.raises(StateError, match=r"the outcome of commit 2 of .* is unknown: this driver slept"):
        store.append([row(2)], after=1)
    assert runs(state)[:3] == ["ours", "ours", "theirs"]


def test_a_snapshot_that_comes_second_is_not_an_error(state, store):
    def newer() -> None:
        driver = DeltaStore(str(state))
        driver.append([row(2)], after=1)
        driver.save_snapshot([SnapshotRow("a", None, None, 2, 2)], seq=2)

    store.read_image(project="p")
    disturb(store, "watermarks", before=newer)
    store.save_snapshot([SnapshotRow("a", None, None, 1, 1)], seq=1)
    assert DeltaStore(str(state)).read_image(project="p").snapshot_seq == 2
    assert len(list((state / "watermarks").glob("*.parquet"))) == 1


def test_a_snapshot_beside_another_programs_commit(state, store):
    store.read_image(project="p")
    disturb(store, "watermarks", before=touched(state, "watermarks"))
    store.save_snapshot([SnapshotRow("a", None, None, 1, 1)], seq=1)
    assert DeltaStore(str(state)).read_image(project="p").snapshot_seq == 1


def test_a_commit_after_which_nothing_can_be_read_stands(state, store, tmp_path):
    def vanish() -> None:
        state.rename(tmp_path / "gone")

    disturb(store, after=vanish)
    store.append([row(2)], after=1)
    with pytest.raises(StateError, match="was removed while this process used it"):
        store.read_after(0)
    (tmp_path / "gone").rename(state)
    assert store.read_after(0)[0] == 2


def test_a_snapshot_without_rows_that_comes_second(state, store):
    def newer() -> None:
        driver = DeltaStore(str(state))
        driver.append([row(2)], after=1)
        driver.save_snapshot([], seq=2)

    store.read_image(project="p")
    disturb(store, "watermarks", before=newer)
    store.save_snapshot([], seq=1)
    image = DeltaStore(str(state)).read_image(project="p")
    assert (image.snapshot_seq, list(image.snapshot), list(image.tail)) == (2, [], [])


def test_a_checkpoint_that_fails_leaves_the_commit(state, store, monkeypatch):
    for seq in range(2, 20):
        store.append([row(seq)], after=seq - 1)

    def fail(_: object) -> None:
        raise DeltaError("no")

    monkeypatch.setattr(DeltaTable, "create_checkpoint", fail)
    store.append([row(20)], after=19)
    assert store.read_after(20) == (20, ())
    monkeypatch.undo()
    store.maintain()
    assert (state / "journal" / "_delta_log" / "_last_checkpoint").exists()
