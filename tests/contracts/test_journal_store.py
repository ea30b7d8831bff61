"""What every journal store promises, whatever it writes to."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.errors import JournalConflictError, StateError
from sparkassets.ports import HistoryQuery, JournalStore
from sparkassets.state.delta_store import DeltaStore
from sparkassets.state.memory_store import MemoryStore
from tests.depth import examples

AT = datetime(2025, 3, 21, 6, 0, 0, 123456, tzinfo=UTC)


def row(seq: int, **more: object) -> JournalRow:
    return replace(JournalRow(seq=seq, at=AT, driver="host:1", kind="event"), **more)


def snapshot_row(seq: int, **more: object) -> SnapshotRow:
    return replace(SnapshotRow(asset="a", uri=None, segment=None, seq=seq, commit=seq), **more)


@pytest.fixture(params=["delta", "memory"])
def empty(request, tmp_path) -> JournalStore:
    return DeltaStore(str(tmp_path / "state")) if request.param == "delta" else MemoryStore()


@pytest.fixture
def store(empty) -> JournalStore:
    empty.create(project="p")
    return empty


def fill(store: JournalStore, count: int, **more: object) -> None:
    """Commits of one row each, after what is there."""
    image = store.read_image(project="p")
    seq = max([image.snapshot_seq, *(row.seq for row in image.tail)])
    for step in range(count):
        store.append([row(seq + step + 1, **more)], after=image.commit + step)


class TestCreation:
    def test_nothing_is_there_before(self, empty):
        assert not empty.exists()

    def test_a_missing_state_is_refused_with_what_to_do(self, empty):
        for ask in (
            lambda: empty.read_image(project="p"),
            lambda: empty.read_after(0),
            empty.read_history,
            empty.maintain,
            lambda: empty.append([row(1)], after=0),
            lambda: empty.save_snapshot([], seq=1),
        ):
            with pytest.raises(StateError, match=r"no state in .*\n  hint: `sparkassets run` creates it"):
                ask()
        assert not empty.exists()

    def test_an_empty_journal(self, store):
        assert store.exists()
        image = store.read_image(project="p")
        assert (image.commit, list(image.snapshot), image.snapshot_seq, list(image.tail)) == (0, [], 0, [])
        assert image.journal_id
        assert store.read_after(0) == (0, ())
        assert list(store.read_history()) == []

    def test_creating_again_changes_nothing(self, store):
        fill(store, 2)
        before = store.read_image(project="p")
        store.create(project="p")
        assert store.read_image(project="p") == before

    def test_another_project_is_refused(self, store):
        fill(store, 1)
        for ask in (store.create, store.check, store.read_image):
            with pytest.raises(StateError, match="belongs to the project 'p', not to 'q'") as error:
                ask(project="q")
            assert "give each project its own `state`" in error.value.hint
            assert error.value.exit_code == 3
        assert store.read_image(project="p").commit == 1

    def test_the_journal_is_known_by_a_lasting_id(self, store):
        first = store.read_image(project="p").journal_id
        fill(store, 1)
        assert store.read_image(project="p").journal_id == first


class TestAppend:
    def test_every_field_comes_back(self, store):
        rows = [
            row(1),
            row(
                2,
                kind="success",
                asset="flüge",
                uri="x-drop://in/☃?a=1",
                run="r'1\"; --",
                segment="a%2Cb",
                starts=(-(2**62), 5),
                ends=(0, 2**62),
                table_id="t",
                version=0,
                extra='{"é": "\\u0000😀", "n": null}',
                body='{"v": 1,\n "lines": "a\\nb"}',
            ),
            row(3, asset="", uri="", run="", segment="", extra="", body=""),
            row(4, starts=(1, 2, 3), ends=(2, 3, 4)),
        ]
        store.append(rows[:1], after=0)
        store.append(rows[1:], after=1)
        assert list(store.read_image(project="p").tail) == rows
        assert list(store.read_after(0)[1]) == rows
        assert list(store.read_history()) == rows

    def test_commits_are_numbered_one_by_one(self, store):
        store.append([row(1), row(2)], after=0)
        store.append([row(3)], after=1)
        number, rows = store.read_after(1)
        assert (number, [row.seq for row in rows]) == (2, [2, 3])
        assert store.read_after(3) == (2, ())

    @pytest.mark.parametrize("after", [0, 1, 3, 99])
    def test_a_picture_that_is_not_the_newest_is_a_conflict(self, store, after):
        fill(store, 2)
        with pytest.raises(JournalConflictError, match=f"at commit 2, not at {after}") as error:
            store.append([row(3)], after=after)
        assert error.value.retryable
        assert store.read_after(0)[0] == 2
        assert [row.seq for row in store.read_history()] == [1, 2]

    def test_rows_continue_without_a_gap(self, store):
        fill(store, 2)
        with pytest.raises(ValueError, match="row has seq 4, expected 3: the journal ends at 2"):
            store.append([row(4)], after=2)
        with pytest.raises(ValueError, match="row has seq 5, expected 4"):
            store.append([row(3), row(5)], after=2)
        with pytest.raises(ValueError, match="at least one row"):
            store.append([], after=2)
        store.append([row(3)], after=2)

    def test_threads_that_race_lose_and_double_nothing(self, store):
        workers, each = 4, 10
        start = threading.Barrier(workers)

        def work(worker: int) -> int:
            conflicts, done = 0, 0
            start.wait()
            while done < each:
                number, rows = store.read_after(0)
                try:
                    store.append([row(len(rows) + 1, run=f"{worker}-{done}")], after=number)
                except JournalConflictError:
                    conflicts += 1
                else:
                    done += 1
            return conflicts

        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(work, range(workers)))
        rows = store.read_history()
        assert [row.seq for row in rows] == list(range(1, workers * each + 1))
        assert sorted(row.run for row in rows) == sorted(f"{w}-{i}" for w in range(workers) for i in range(each))
        assert store.read_after(0)[0] == workers * each


class TestSnapshot:
    def test_every_field_comes_back(self, store):
        fill(store, 3)
        rows = [
            snapshot_row(2),
            SnapshotRow(
                asset=None,
                uri="s3://b/ü",
                segment="x",
                seq=2,
                commit=7,
                starts=(1, 5),
                ends=(2, 9),
                stale_inlets=("b", "it's"),
                stale_starts=(1, 1),
                stale_ends=(2, 2),
                stale_seqs=(4, 2**40),
                watermarks='{"b": "2013"}',
                cursor='{"f": [1, 2]}',
                body='{"v": 1}',
            ),
        ]
        store.save_snapshot(rows, seq=2)
        image = store.read_image(project="p")
        assert sorted(image.snapshot, key=str) == sorted(rows, key=str)
        assert (image.snapshot_seq, image.commit, [row.seq for row in image.tail]) == (2, 3, [3])

    def test_a_newer_one_replaces_all_rows(self, store):
        fill(store, 3)
        store.save_snapshot([snapshot_row(1, asset=name) for name in "abc"], seq=1)
        store.save_snapshot([snapshot_row(3, asset="b")], seq=3)
        image = store.read_image(project="p")
        assert list(image.snapshot) == [snapshot_row(3, asset="b")]
        assert list(image.tail) == []

    def test_an_older_or_equal_one_changes_nothing(self, store):
        fill(store, 3)
        store.save_snapshot([snapshot_row(2)], seq=2)
        store.save_snapshot([snapshot_row(1, asset="old")], seq=1)
        store.save_snapshot([snapshot_row(2, asset="other")], seq=2)
        image = store.read_image(project="p")
        assert (list(image.snapshot), image.snapshot_seq) == ([snapshot_row(2)], 2)

    def test_one_without_rows(self, store):
        fill(store, 2)
        store.save_snapshot([snapshot_row(1)], seq=1)
        store.save_snapshot([], seq=2)
        image = store.read_image(project="p")
        assert (list(image.snapshot), image.snapshot_seq, list(image.tail)) == ([], 2, [])

    def test_rows_of_another_moment_are_refused(self, store):
        fill(store, 2)
        with pytest.raises(ValueError, match="snapshot row has seq 1, expected 2"):
            store.save_snapshot([snapshot_row(2), snapshot_row(1)], seq=2)
        for seq in (0, 3):
            with pytest.raises(ValueError, match=f"a snapshot of seq {seq}, but the journal ends at 2"):
                store.save_snapshot([], seq=seq)

    def test_the_journal_is_still_read_from_its_beginning(self, store):
        fill(store, 5)
        store.save_snapshot([snapshot_row(4)], seq=4)
        assert [row.seq for row in store.read_history()] == [1, 2, 3, 4, 5]
        assert [row.seq for row in store.read_after(1)[1]] == [2, 3, 4, 5]

    def test_threads_that_race_leave_the_newest(self, store):
        fill(store, 12)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda seq: store.save_snapshot([snapshot_row(seq)], seq=seq), [3, 12, 1, 7, 9, 2, 11, 5]))
        image = store.read_image(project="p")
        assert (list(image.snapshot), image.snapshot_seq) == ([snapshot_row(12)], 12)


class TestHistory:
    @pytest.fixture
    def filled_store(self, store) -> JournalStore:
        store.append([row(1, kind="claim", asset="a", run="r1"), row(2, kind="claim", asset="b", run="r2")], after=0)
        store.append([row(3, kind="success", asset="a", run="r1")], after=1)
        store.append(
            [row(4, kind="failure", asset="b", run="r2"), row(5, asset="it's", uri="x-it's", id="it's 5")],
            after=2,
        )
        return store

    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            ({}, [1, 2, 3, 4, 5]),
            ({"kinds": ["claim"]}, [1, 2]),
            ({"kinds": ["success", "failure", "none such"]}, [3, 4]),
            ({"kinds": []}, []),
            ({"asset": "a"}, [1, 3]),
            ({"asset": "it's"}, [5]),
            ({"asset": "A"}, []),
            ({"uri": "x-it's"}, [5]),
            ({"uri": "x-it's", "last": 2}, [5]),
            ({"uri": "x-it's", "asset": "a"}, []),
            ({"run": "r2"}, [2, 4]),
            ({"run": "r2", "kinds": ["failure"]}, [4]),
            ({"ids": ["it's 5", "6"]}, [5]),
            ({"ids": ["it's 5"], "kinds": ["claim"]}, []),
            ({"ids": ["6"]}, []),
            ({"ids": []}, []),
            ({"after_seq": 2}, [3, 4, 5]),
            ({"after_seq": 99}, []),
            ({"last": 2}, [4, 5]),
            ({"last": 0}, []),
            ({"last": 99}, [1, 2, 3, 4, 5]),
            ({"asset": "a", "last": 1}, [3]),
            ({"kinds": ["claim"], "last": 1, "after_seq": 1}, [2]),
            ({"kinds": ["claim"], "last": 5, "after_seq": 2}, []),
        ],
    )
    def test_filters(self, filled_store, asked, expected):
        assert [row.seq for row in filled_store.read_history(HistoryQuery(**asked))] == expected

    def test_it_sees_what_others_committed(self, filled_store):
        filled_store.append([row(6)], after=3)
        assert [row.seq for row in filled_store.read_history(HistoryQuery(last=1))] == [6]


class TestMaintenance:
    def test_it_changes_nothing_that_is_told(self, store):
        fill(store, 40, asset="a")
        store.save_snapshot([snapshot_row(30)], seq=30)
        before = store.read_image(project="p")
        store.maintain()
        store.maintain()
        after = store.read_image(project="p")
        assert (after.snapshot, after.snapshot_seq, after.tail) == (before.snapshot, before.snapshot_seq, before.tail)
        assert after.commit >= before.commit
        assert [row.seq for row in store.read_history()] == list(range(1, 41))
        assert store.read_after(40) == (after.commit, ())
        fill(store, 2)
        assert [row.seq for row in store.read_history(HistoryQuery(last=3))] == [40, 41, 42]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
longs = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5).map(tuple)
journal_rows = st.builds(
    JournalRow,
    seq=st.just(0),
    at=st.datetimes(datetime(1677, 9, 22), datetime(2262, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001  `timezones` adds the zone
    driver=texts,
    kind=texts,
    asset=st.none() | texts,
    uri=st.none() | texts,
    run=st.none() | texts,
    segment=st.none() | texts,
    starts=longs,
    ends=longs,
    table_id=st.none() | texts,
    version=st.none() | st.integers(-(2**63), 2**63 - 1),
    extra=st.none() | texts,
    body=texts,
)


@given(commits=st.lists(st.lists(journal_rows, min_size=1, max_size=3), max_size=3))
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("kind", ["delta", "memory"])
def test_whatever_is_appended_is_told(kind, commits, tmp_path_factory):
    store = DeltaStore(str(tmp_path_factory.mktemp("state"))) if kind == "delta" else MemoryStore()
    store.create(project="p")
    appended: list[JournalRow] = []
    for number, commit in enumerate(commits):
        rows = [replace(row, seq=len(appended) + place) for place, row in enumerate(commit, start=1)]
        store.append(rows, after=number)
        appended += rows
    assert list(store.read_image(project="p").tail) == appended
    assert list(store.read_history()) == appended
    assert list(store.read_history(HistoryQuery(last=2))) == appended[-2:]
