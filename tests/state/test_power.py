"""Power that fails: what a driver acted upon is on the disk, and what is torn at the end of a log is put aside."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.delta import durability
from sparkassets.delta.durability import find_torn_files, put_aside_torn
from sparkassets.errors import StateError
from sparkassets.state.delta_store import DeltaStore

AT = datetime(2025, 3, 21, tzinfo=UTC)
NEWEST = 45
"""Behind checkpoints at 20 and 40."""

Tear = Callable[[Path], object]
TEARS: dict[str, Tear] = {
    "empty": lambda path: os.truncate(path, 0),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
}


@pytest.fixture(scope="module")
def state_of_template(tmp_path_factory) -> Path:
    state = tmp_path_factory.mktemp("made") / "state"
    store = DeltaStore(str(state))
    store.create(project="p")
    for number in range(NEWEST):
        store.append([JournalRow(number + 1, AT, "d", "event")], after=number)
    store.save_snapshot([SnapshotRow("a", None, None, 25, 25)], seq=25)
    return state


@pytest.fixture
def state(state_of_template, tmp_path) -> Path:
    return Path(shutil.copytree(state_of_template, tmp_path / "state"))


def log(state: Path, name: str, table: str = "journal") -> Path:
    return state / table / "_delta_log" / name


def entry(state: Path, version: int, table: str = "journal") -> Path:
    return log(state, f"{version:020d}.json", table)


def seqs(store: DeltaStore) -> list[int]:
    return [row.seq for row in store.read_history()]


@pytest.mark.parametrize("tear", TEARS.values(), ids=TEARS)
@pytest.mark.parametrize("count", [1, 2])
def test_a_log_that_ends_torn_goes_on_from_what_is_whole(state, tear, count):
    for version in range(NEWEST - count + 1, NEWEST + 1):
        tear(entry(state, version))
    with pytest.raises(StateError) as error:
        DeltaStore(str(state)).read_image(project="p")
    said, hint = str(error.value).splitlines()
    assert said.startswith(f"the table {state}/journal is damaged: its newest entry {NEWEST:020d}.json is truncated")
    assert hint == "  hint: the next `sparkassets run` moves it aside and continues; nothing was changed"
    store = DeltaStore(str(state))
    store.create(project="p")
    left = NEWEST - count
    assert store.read_image(project="p").commit == left
    store.append([JournalRow(left + 1, AT, "d", "event")], after=left)
    assert seqs(DeltaStore(str(state))) == list(range(1, left + 2))
    assert len(list((state / "journal" / "_delta_log").glob(".*.torn"))) == count


@pytest.mark.parametrize("tear", TEARS.values(), ids=TEARS)
def test_a_checkpoint_that_is_torn_is_one_that_was_never_made(state, tear):
    tear(log(state, f"{40:020d}.checkpoint.parquet"))
    store = DeltaStore(str(state))
    store.create(project="p")
    assert seqs(store) == list(range(1, NEWEST + 1))
    store.append([JournalRow(NEWEST + 1, AT, "d", "event")], after=NEWEST)
    store.maintain()
    assert seqs(DeltaStore(str(state)))[-1] == NEWEST + 1


@pytest.mark.parametrize("tear", TEARS.values(), ids=TEARS)
def test_a_hint_at_a_checkpoint_that_is_torn(state, tear):
    tear(log(state, "_last_checkpoint"))
    store = DeltaStore(str(state))
    store.create(project="p")
    assert seqs(store) == list(range(1, NEWEST + 1))


def test_a_hint_at_a_checkpoint_that_is_missing(state):
    for path in (state / "journal" / "_delta_log").glob("*.checkpoint.parquet"):
        path.unlink()
    with pytest.raises(StateError) as error:
        DeltaStore(str(state)).read_image(project="p")
    assert str(error.value) == (
        f"the table {state}/journal is damaged: its _last_checkpoint names a missing checkpoint\n  hint: the next "
        "`sparkassets run` moves it aside and continues; nothing was changed"
    )
    store = DeltaStore(str(state))
    store.create(project="p")
    assert seqs(store) == list(range(1, NEWEST + 1))


@pytest.mark.parametrize("tear", TEARS.values(), ids=TEARS)
def test_a_snapshot_that_is_torn(state, tear):
    tear(entry(state, 1, "watermarks"))
    store = DeltaStore(str(state))
    store.create(project="p")
    image = store.read_image(project="p")
    assert (image.snapshot_seq, len(image.tail)) == (0, NEWEST)
    store.save_snapshot([SnapshotRow("a", None, None, NEWEST, NEWEST)], seq=NEWEST)
    assert DeltaStore(str(state)).read_image(project="p").snapshot_seq == NEWEST


@pytest.mark.parametrize("table", ["journal", "watermarks"])
@pytest.mark.parametrize("tear", TEARS.values(), ids=TEARS)
def test_a_creation_that_is_torn(tmp_path, tear, table):
    state = tmp_path / "state"
    DeltaStore(str(state)).create(project="p")
    tear(entry(state, 0, table))
    if table == "journal":  # which is on the disk before the other is begun
        shutil.rmtree(state / "watermarks")
    store = DeltaStore(str(state))
    store.create(project="p")
    assert store.read_image(project="p").commit == 0


def test_an_entry_that_is_torn_before_whole_ones_is_damage(state):
    os.truncate(entry(state, 44), 0)
    (state / "journal" / "_delta_log" / f"{40:020d}.checkpoint.parquet").stat()
    assert find_torn_files(state / "journal") == []


def test_a_log_of_which_much_is_torn_is_left_for_a_person(state):
    for version in range(30, NEWEST + 1):
        os.truncate(entry(state, version), 0)
    assert find_torn_files(state / "journal") == []


def test_of_drivers_that_put_aside_at_once_none_takes_what_another_has_committed(state):
    os.truncate(entry(state, NEWEST), 0)
    looked, go = threading.Barrier(2, timeout=10), threading.Event()
    real = durability._lock_folder

    def late() -> None:
        looked.wait()
        go.wait(10)
        put_aside_torn(state / "journal")

    thread = threading.Thread(target=late)
    thread.start()
    looked.wait()
    with real(state / "journal" / "_delta_log"):
        go.set()
        entry(state, NEWEST).rename(log(state, ".torn"))
        entry(state, NEWEST).write_text('{"commitInfo": {}}')
    thread.join()
    assert entry(state, NEWEST).read_text() == '{"commitInfo": {}}'


def test_a_commit_returns_when_it_is_on_the_disk(state, monkeypatch):
    kept: list[str] = []
    monkeypatch.setattr(durability, "_sync_path", lambda path: kept.append(str(path.relative_to(state))))
    store = DeltaStore(str(state))
    store.create(project="p")
    assert store.read_image(project="p").commit == NEWEST
    for number in (NEWEST, NEWEST + 1):
        kept.clear()
        store.append([JournalRow(number + 1, AT, "d", "event")], after=number)
        assert kept[0].startswith("journal/level-0-")
        assert kept[1] == "journal"
        assert kept[-2:] == [f"journal/_delta_log/{number + 1:020d}.json", "journal/_delta_log"]
    assert len(kept) == 4


def test_a_disk_that_does_not_keep_a_commit(state, monkeypatch):
    store = DeltaStore(str(state))
    store.create(project="p")
    store.read_image(project="p")

    def failing(path: Path) -> None:
        if path.suffix == ".json":
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(durability, "_sync_path", failing)
    with pytest.raises(StateError, match=r"the disk lost writes to the table .*: .*Input/output") as it:
        store.append([JournalRow(NEWEST + 1, AT, "d", "event")], after=NEWEST)
    assert it.value.hint == "check the disk, and start again; committed entries are kept"
    monkeypatch.undo()
    assert DeltaStore(str(state)).read_image(project="p").commit == NEWEST + 1


def whole(state: Path) -> dict[str, bytes]:
    return {str(path.relative_to(state)): path.read_bytes() for path in state.rglob("*") if path.is_file()}


def refused(state: Path, *, project: str = "p") -> str:
    """What who reads and who writes is told alike, while nothing changes."""
    before, said = whole(state), set()
    for step in ("check", "read_image", "create"):
        with pytest.raises(StateError) as error:
            getattr(DeltaStore(str(state)), step)(project=project)
        said.add(str(error.value))
    assert whole(state) == before
    assert len(said) == 1
    return said.pop()


@pytest.mark.parametrize("tear", TEARS.values(), ids=TEARS)
def test_nothing_is_put_aside_where_the_snapshot_stands_for_what_is_torn(state, tear):
    DeltaStore(str(state)).save_snapshot([SnapshotRow("a", None, None, NEWEST, NEWEST)], seq=NEWEST)
    tear(entry(state, NEWEST))
    said = refused(state)
    assert f"it ends at entry {NEWEST - 1}, but the snapshot is of entry {NEWEST}" in said


@pytest.mark.parametrize("tear", TEARS.values(), ids=TEARS)
def test_nothing_is_put_aside_of_another_project(state, tear):
    tear(entry(state, NEWEST))
    assert "belongs to the project 'p'" in refused(state, project="other")
