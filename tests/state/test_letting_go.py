"""Entries that are let go of: what is known stays, beside merges, other drivers, and whoever is killed in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.errors import StateError
from sparkassets.ports import HistoryQuery, JournalStore
from sparkassets.state import maintenance
from sparkassets.state.delta_store import DeltaStore
from sparkassets.state.memory_store import MemoryStore
from tests.depth import examples

AT = datetime(2025, 3, 21, tzinfo=UTC)


def row(seq: int) -> JournalRow:
    return JournalRow(seq=seq, at=AT + timedelta(days=seq), driver="d", kind="event", run=f"r{seq}")


def known(seq: int) -> list[SnapshotRow]:
    return [SnapshotRow(asset="a", uri=None, segment=None, seq=seq, commit=seq, watermarks=f'{{"upto": {seq}}}')]


@pytest.fixture(params=["delta", "memory"])
def store(request, tmp_path) -> JournalStore:
    made = DeltaStore(str(tmp_path / "state")) if request.param == "delta" else MemoryStore()
    made.create(project="p")
    return made


def fill(store: JournalStore, count: int) -> None:
    commit, rows = store.read_after(0)
    last = rows[-1].seq if rows else 0
    for step in range(count):
        store.append([row(last + step + 1)], after=commit + step)


def seqs(store: JournalStore) -> list[int]:
    return [each.seq for each in store.read_history()]


def test_a_new_journal_begins_with_its_first_entry(store):
    assert (store.oldest_seq(), store.read_base()) == (1, ((), 0))
    fill(store, 2)
    assert (store.oldest_seq(), store.read_base()) == (1, ((), 0))


def test_entries_go_and_what_they_came_to_stays(store):
    fill(store, 20)
    store.maintain()  # sixteen of them are in one file
    store.expire(known(10), seq=10)
    assert seqs(store) == list(range(11, 21))
    assert store.oldest_seq() == 11
    assert (list(store.read_base()[0]), store.read_base()[1]) == (known(10), 10)
    image = store.read_image(project="p")
    assert (list(image.snapshot), image.snapshot_seq) == (known(10), 10)
    assert [each.seq for each in image.tail] == list(range(11, 21))
    assert [each.seq for each in store.read_after(0)[1]] == list(range(11, 21))
    assert [each.seq for each in store.read_after(15)[1]] == list(range(16, 21))
    assert store.find_damages() == () or list(store.find_damages()) == []


def test_it_goes_on_after(store):
    fill(store, 20)
    store.expire(known(10), seq=10)
    fill(store, 30)
    store.maintain(fully=True)
    store.save_snapshot(known(45), seq=45)
    store.expire(known(40), seq=40)
    assert seqs(store) == list(range(41, 51))
    image = store.read_image(project="p")
    assert (image.snapshot_seq, [each.seq for each in image.tail]) == (45, list(range(46, 51)))
    fill(store, 1)
    assert seqs(store) == list(range(41, 52))


def test_the_newest_entry_stays(store):
    fill(store, 3)
    with pytest.raises(ValueError, match="the newest entry, 3, stays"):
        store.expire(known(3), seq=3)
    with pytest.raises(ValueError, match="a snapshot of seq 4, but the journal ends at 3"):
        store.expire(known(4), seq=4)
    assert seqs(store) == [1, 2, 3]


def test_who_is_late_with_an_older_base_changes_nothing(store):
    fill(store, 9)
    store.expire(known(6), seq=6)
    store.expire(known(4), seq=4)
    assert (store.oldest_seq(), store.read_base()[1]) == (7, 6)


def test_parts_of_the_history(store):
    fill(store, 9)
    assert [each.seq for each in store.read_history(HistoryQuery(after_seq=2, up_to_seq=5))] == [3, 4, 5]
    assert [each.seq for each in store.read_history(HistoryQuery(up_to_seq=5, last=2))] == [4, 5]


@settings(max_examples=examples(25), deadline=None)
@given(steps=st.lists(st.tuples(st.integers(1, 20), st.booleans(), st.floats(0, 1)), min_size=1, max_size=5))
def test_whatever_is_done_in_between(steps, tmp_path_factory):
    """Delta and memory tell the same, and together with the base nothing is missing."""
    stores: list[JournalStore] = [DeltaStore(str(tmp_path_factory.mktemp("state"))), MemoryStore()]
    for each in stores:
        each.create(project="p")
    last = 0
    for count, merges, part in steps:
        last += count
        upto = int(part * (last - 1))
        for each in stores:
            fill(each, count)
            if merges:
                each.maintain(fully=True)
            if upto:
                each.expire(known(upto), seq=upto)
        assert seqs(stores[0]) == seqs(stores[1]) == list(range(stores[0].read_base()[1] + 1, last + 1))
        images = [replace(each.read_image(project="p"), journal_id="", commit=0) for each in stores]
        assert [list(image.snapshot) for image in images] == [list(images[0].snapshot)] * 2
        assert [list(image.tail) for image in images] == [list(images[0].tail)] * 2


class TestOnDelta:
    @pytest.fixture
    def state(self, tmp_path) -> str:
        uri = str(tmp_path / "state")
        DeltaStore(uri).create(project="p")
        fill(DeltaStore(uri), 20)
        return uri

    def test_killed_before_the_entries_go(self, state, monkeypatch):
        def dies(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(maintenance, "expire", dies)
        with pytest.raises(KeyboardInterrupt):
            DeltaStore(state).expire(known(10), seq=10)
        monkeypatch.undo()
        store = DeltaStore(state)
        assert (store.oldest_seq(), store.read_base()[1]) == (1, 10)
        assert len(store.read_image(project="p").tail) == 20
        store.expire(known(10), seq=10)
        assert store.oldest_seq() == 11

    def test_a_merge_comes_in_between(self, state, monkeypatch):
        commit = maintenance.commit_replacement

        def merged_first(*args: object, **more: object) -> bool:
            monkeypatch.setattr(maintenance, "commit_replacement", commit)
            DeltaStore(state).maintain(fully=True)
            return commit(*args, **more)

        monkeypatch.setattr(maintenance, "commit_replacement", merged_first)
        DeltaStore(state).expire(known(10), seq=10)
        assert seqs(DeltaStore(state)) == list(range(11, 21))

    def test_another_driver_reads_on(self, state):
        sleeper = DeltaStore(state)
        sleeper.read_image(project="p")
        driver = DeltaStore(state)
        driver.expire(known(15), seq=15)
        fill(driver, 5)
        assert [each.seq for each in sleeper.read_after(12)[1]] == list(range(16, 26))
        assert [each.seq for each in sleeper.read_image(project="p").tail] == list(range(16, 26))

    def test_the_snapshot_may_be_removed(self, state, tmp_path):
        import shutil

        store = DeltaStore(state)
        store.save_snapshot(known(18), seq=18)
        store.expire(known(10), seq=10)
        shutil.rmtree(tmp_path / "state" / "watermarks")
        image = DeltaStore(state).read_image(project="p")
        assert (image.snapshot_seq, [each.seq for each in image.tail]) == (10, list(range(11, 21)))

    @pytest.mark.parametrize("lost", [("base", "watermarks")])
    def test_without_both_it_is_damaged(self, state, tmp_path, lost):
        import shutil

        DeltaStore(state).expire(known(10), seq=10)
        for name in lost:
            shutil.rmtree(tmp_path / "state" / name)
        with pytest.raises(StateError, match="damaged: entry 1 is missing"):
            DeltaStore(state).read_image(project="p")


class TestDamages:
    @pytest.fixture
    def state(self, tmp_path):
        uri = tmp_path / "state"
        store = DeltaStore(str(uri))
        store.create(project="p")
        fill(store, 20)
        store.maintain()
        store.save_snapshot(known(20), seq=20)
        return uri

    def damages(self, state) -> list[tuple[str, str]]:
        return [(each.problem.replace(str(state), "…"), each.repair) for each in DeltaStore(str(state)).find_damages()]

    def harm(self, state, table: str, how: Callable[[object], object]) -> str:
        files = sorted((state / table).glob("*.parquet"), key=lambda path: path.stat().st_size)
        live = [each for each in files if each.name.startswith(("level-1", "snapshot"))]
        how(live[-1])
        return live[-1].name

    def test_none(self, state):
        assert self.damages(state) == []

    def test_a_file_is_missing(self, state):
        name = self.harm(state, "journal", lambda path: path.unlink())
        what = f"the file …/journal/{name} is missing (entries 1 to 16)"
        assert self.damages(state) == [(what, "restore the file, or the whole state, from a backup")]

    def test_a_file_is_broken(self, state):
        name = self.harm(state, "journal", lambda path: path.write_bytes(b"PAR1 nothing"))
        (what, repair), *rest = self.damages(state)
        assert what.startswith(f"the file …/journal/{name} is broken (entries 1 to 16): ")
        assert (repair, rest) == ("restore the file, or the whole state, from a backup", [])

    def test_the_snapshot_is_missing(self, state):
        name = self.harm(state, "watermarks", lambda path: path.unlink())
        what = f"the file …/watermarks/{name} is missing (it held rows)"
        repair = "remove the folder watermarks; it is rebuilt from the journal"
        assert self.damages(state)[0][0].startswith(what[:-15])
        assert [repair for _, repair in self.damages(state)] == [repair]
