"""Runs with two outlets: all are published, or none, whoever ends first (docs/design/run-protocol.md#write)."""

import threading

import pytest

from sparkassets.core.journal.codec import from_row
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.writes import AppendWrite
from sparkassets.errors import RunError
from sparkassets.ports import FenceConflictError, HistoryQuery
from sparkassets.runtime import attempt_threads
from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.observation import look_at_targets
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, days, multi, project, source
from tests.runtime.fakes import FakeTarget, World, dying, raising, raising_once, ticking

BOTH = ("train", "test")


def world(**more) -> World:
    """The asset ``a`` is written to two tables; its inlet has its first day."""
    made = multi(asset("a", "s", **{"retries": 0, **more}), *BOTH)
    w = World(project(source("s"), *made), MemoryStore())
    w.tell("s", "2025-01-01")
    return w


def kinds(w: World) -> list[list[str]]:
    return [[commit.stamp.kind for commit in w.engine.tables.get(name, [])] for name in BOTH]


def orders(w: World) -> list[list[tuple[str, str]]]:
    """Of every outlet the runs and partitions that are in it."""
    return [[(c.stamp.run, str(c.order.partitions)) for c in w.engine.data(name)] for name in BOTH]


def recorded(w: World) -> list[tuple[str, str | None]]:
    return [
        (row.kind, row.run)
        for row in w.store.read_history(HistoryQuery(asset="a"))
        if row.kind in ("success", "failure", "unfenced")
    ]


def test_one_run_is_one_commit_in_every_outlet():
    w = world()
    (result,) = w.driver().run_works([DueWork()]).runs
    assert (result.status, result.adopted) == ("success", None)
    (train,), (test,) = (w.engine.data(name) for name in BOTH)
    assert train == test
    assert recorded(w) == [("success", "a-1")]


@pytest.mark.parametrize(("name", "moment"), [("train", "written"), ("test", "write")])
def test_who_finds_a_run_in_some_outlets_publishes_it_in_the_others_from_its_own_pins(name, moment):
    w = world()
    dying(w, moment, name)
    pinned = w.engine.data("train")[0].order.pins
    w.tell("s", "2025-01-01", "2025-01-02")
    results = w.driver().run_works([DueWork()]).runs
    assert [(result.status, result.adopted) for result in results] == [("success", "a-1"), ("success", None)]
    first, second = orders(w)
    assert first == second
    assert [run for run, _ in first] == ["a-1", "a-3"]
    assert w.engine.data("test")[0].order.pins == pinned
    assert w.engine.data("test")[0].stamp.token > w.engine.data("train")[0].stamp.token
    assert recorded(w) == [("success", "a-1"), ("success", "a-3")]


def test_a_run_that_is_in_every_outlet_is_recorded_without_computing():
    w = world()
    dying(w, "written", "test")
    computed = []
    w.engine.hooks["a", "compute"] = computed.append
    (result,) = w.driver().run_works([DueWork()]).runs
    assert (result.adopted, computed) == ("a-1", [])
    assert kinds(w) == [["data", "fence"], ["data", "fence"]]


def test_a_run_that_is_in_no_outlet_leaves_fences_in_all():
    w = world()
    dying(w, "write", "train")
    assert w.driver().run_works([DueWork()]).ok
    assert kinds(w) == [["fence", "data"], ["fence", "data"]]
    assert recorded(w) == [("success", "a-2")]


def test_a_fence_whose_answer_is_lost_is_found_to_be_ones_own():
    w = world()
    dying(w, "write", "train")
    w.engine.hooks["train", "fenced"] = raising(FenceConflictError("another writer committed first"))
    assert w.driver().run_works([DueWork()]).ok
    assert kinds(w) == [["fence", "data"], ["fence", "data"]]


def test_a_fence_is_in_place_when_it_is_seen_whatever_it_answers():
    w = world()
    dying(w, "write", "train")
    acknowledged = []

    def nowhere(order):
        if not acknowledged:
            acknowledged.append(w.engine.tables["train"].pop())

    w.engine.hooks["train", "fenced"] = nowhere
    assert w.driver().run_works([DueWork()]).ok
    assert [commit.stamp.kind for commit in acknowledged] == ["fence"]
    assert kinds(w) == [["fence", "data"], ["fence", "data"]]


def staged(w: World) -> list[list[tuple[str, int]]]:
    """Of every outlet the run and attempt of what is staged there."""
    return [[(run, attempt) for run, _, attempt in w.engine.staged.get(name, [])] for name in BOTH]


@pytest.mark.parametrize(
    ("name", "moment", "left"),
    [
        ("train", "write", [[("a-2", 1)], [("a-2", 1)]]),
        ("train", "written", [[("a-1", 1)], [("a-1", 1)]]),
        ("test", "write", [[("a-1", 1)], [("a-1", 1)]]),
        ("test", "written", [[("a-1", 1)], [("a-1", 1)]]),
    ],
)
def test_who_takes_over_removes_what_was_staged_in_vain_and_nothing_that_is_in(name, moment, left):
    w = world()
    dying(w, moment, name)
    assert w.driver().run_works([DueWork()]).ok
    assert staged(w) == left
    tokens = [[commit.stamp.token for commit in w.engine.data(name)] for name in BOTH]
    assert [[token for _, token, _ in w.engine.staged[name]] for name in BOTH] == tokens


def test_nothing_is_removed_before_the_outlet_is_fenced_and_looked_into():
    w = world()
    dying(w, "write", "train")
    seen = []

    def look(order):
        seen.append((kinds(w)[0], staged(w)[0]))

    w.engine.hooks["train", "fenced"] = w.engine.hooks["train", "committed"] = look
    assert w.driver().run_works([DueWork()]).ok
    assert seen[:2] == [(["fence"], [("a-1", 1)])] * 2
    assert (["fence"], [("a-1", 1)]) not in seen[2:]


@pytest.mark.parametrize(("retries", "left"), [(0, []), (1, [("a-1", 2)])])
def test_a_run_that_ends_leaves_no_files_of_its_failed_attempts(retries, left):
    w = world(retries=retries, retry_delay_seconds=0)
    w.engine.hooks["train", "write"] = raising_once(OSError("gone for a moment"))
    assert w.driver().run_works([DueWork()]).ok == bool(retries)
    assert staged(w)[0] == left


def test_who_fails_without_knowing_that_it_was_taken_over_removes_nothing_of_the_newer_claims():
    w = world()
    slow, failing, staging, failed = w.engine.beside(), *(threading.Event() for _ in range(3))

    def fails(order):
        failing.set()
        assert staging.wait(10)
        raise OSError("disk full")

    def stages(order):
        w.alive = True
        staging.set()
        assert failed.wait(10)

    slow.hooks["test", "write"] = fails
    w.engine.hooks["test", "write"] = stages
    first = ticking(w.driver(engine=slow))
    assert failing.wait(10)
    second = ticking(w.driver())
    first.join(10)
    assert not first.is_alive()
    failed.set()
    second.join(10)
    assert not second.is_alive()
    assert recorded(w) == [("success", "a-1")]
    assert staged(w) == [[("a-1", 1)], [("a-1", 1)]]
    (committed,) = w.engine.data("test")
    assert [token for _, token, _ in w.engine.staged["test"]] == [committed.stamp.token]


def test_what_cannot_be_removed_disturbs_no_run():
    w = world()
    dying(w, "write", "train")
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(FakeTarget, "remove_staged")
        assert w.driver().run_works([DueWork()]).ok
    assert staged(w)[0] == [("a-1", 1), ("a-2", 1)]


def test_the_next_attempt_writes_only_what_is_missing():
    w = world(retries=1, retry_delay_seconds=0)
    w.engine.hooks["test", "write"] = raising_once(OSError("gone for a moment"))
    (result,) = w.driver().run_works([DueWork()]).runs
    assert (result.status, result.attempts) == ("success", 2)
    assert kinds(w) == [["data"], ["data"]]
    assert [w.engine.data(name)[0].stamp.attempt for name in BOTH] == [1, 2]


def test_a_run_that_fails_between_its_outlets_stays_for_the_next_claim():
    w = world()
    w.engine.hooks["test", "write"] = raising(OSError("disk full"))
    (result,) = w.driver().run_works([DueWork()]).runs
    assert result.status == "failed"
    assert kinds(w) == [["data"], ["fence"]]
    assert recorded(w) == [("unfenced", "a-1")]
    w.engine.hooks.clear()
    (result,) = w.driver().run_works([DueWork()]).runs
    assert (result.status, result.adopted) == ("success", "a-1")
    assert [[run for run, _ in each] for each in orders(w)] == [["a-1"], ["a-1"]]
    assert recorded(w) == [("unfenced", "a-1"), ("success", "a-1")]
    assert w.driver().run_works([DueWork()]).runs == ()


def test_completing_a_run_may_fail_as_well_and_is_tried_again():
    w = world()
    dying(w, "written", "train")
    w.engine.hooks["a", "compute"] = raising(OSError("not now"))
    assert [result.status for result in w.driver().run_works([DueWork()]).runs] == ["failed"]
    w.engine.hooks.clear()
    assert [result.adopted for result in w.driver().run_works([DueWork()]).runs] == ["a-1"]
    assert recorded(w) == [("unfenced", "a-2"), ("success", "a-1")]
    assert [[run for run, _ in each] for each in orders(w)] == [["a-1"], ["a-1"]]


def test_a_failure_before_the_first_commit_is_fenced_in_every_outlet():
    w = world()
    w.engine.hooks["train", "write"] = raising(OSError("disk full"))
    w.driver().run_works([DueWork()])
    assert kinds(w) == [["fence"], ["fence"]]
    assert recorded(w) == [("failure", "a-1")]


def test_a_zombie_that_is_skipped_in_one_outlet_begins_in_no_other():
    w = world()
    go, waiting, begun, zombie = threading.Event(), threading.Event(), [], w.engine.beside()

    def late(order):
        waiting.set()
        go.wait(10)

    zombie.hooks["train", "write"] = late
    zombie.hooks["test", "write"] = begun.append
    driver = ticking(w.driver(engine=zombie))
    assert waiting.wait(10)
    assert w.driver().run_works([DueWork()]).ok
    go.set()
    driver.join(10)
    assert begun == []
    assert [[run for run, _ in each] for each in orders(w)] == [["a-2"], ["a-2"]]


def test_an_attempt_that_was_given_up_begins_in_no_other_outlet(monkeypatch):
    monkeypatch.setattr(attempt_threads, "GRACE_SECONDS", 0.05)
    w = world(timeout_seconds=0.05)
    go, begun, threads = threading.Event(), [], []

    def slow(order):
        threads.append(threading.current_thread())
        go.wait(10)

    w.engine.hooks["train", "written"] = slow
    w.engine.hooks["test", "write"] = begun.append
    (result,) = w.driver().run_works([DueWork()]).runs
    assert (result.status, result.error) == ("failed", "a: no result within its timeout of 0.05 s")
    go.set()
    threads[0].join(10)
    assert begun == []
    assert kinds(w) == [["data"], ["fence"]]
    assert recorded(w) == [("unfenced", "a-1")]


def test_what_fails_before_the_first_commit_is_in_no_outlet_and_leaves_no_files():
    w = world()
    w.engine.hooks["test", "prepare"] = raising(RunError("rows outside"))
    (result,) = w.driver().run_works([DueWork()]).runs
    assert (result.status, result.error) == ("failed", "rows outside")
    assert kinds(w) == [[], []]
    assert w.engine.staged == {"train": [], "test": []}
    assert recorded(w) == [("failure", "a-1")]


def test_the_bad_day_of_one_outlet_is_found_and_all_others_are_in_both():
    w = world(retries=1, retry_delay_seconds=0)
    w.tell("s", "2025-01-02..2025-01-04")

    def bad(order):
        if order.partitions.overlaps(days("2025-01-03")):
            error = RunError("bad")
            error.is_data_error = True
            raise error

    w.engine.hooks["test", "prepare"] = bad
    assert not w.driver().run_works([DueWork()]).ok
    found = [PartitionSet.union(c.order.partitions for c in w.engine.data(name)) for name in BOTH]
    assert found == [days("2025-01-01..2025-01-02", "2025-01-04")] * 2
    assert orders(w)[0] == orders(w)[1]


def test_what_each_outlet_is_told_is_in_its_own_event():
    w = world()
    w.engine.measures["a"] = {"extra": {"seed": 7}, "outlets": {"test": {"share": 0.2}}}
    w.driver().run_works([DueWork()])
    entries = {
        row.asset: from_row(row).entry for row in w.store.read_history(HistoryQuery(kinds=["outlet", "success"]))
    }
    assert entries["train"].extra == {"rows": 5, "seed": 7}
    assert entries["test"].extra == {"rows": 5, "seed": 7, "share": 0.2}
    assert entries["a"].extra == {"rows": 10, "seed": 7}
    assert (entries["a"].table_id, entries["a"].outlets, entries["test"].written_by) == (None, BOTH, "a")


def test_instances_side_by_side_are_in_both_outlets():
    made = asset("a", "s", by="hour", strategy=EveryInstance(), write=AppendWrite(), retries=0)
    w = World(project(source("s", by="hour"), *multi(made, *BOTH), max_parallel_runs=4), MemoryStore())
    w.tell("s", "2025-01-01T00..2025-01-01T11")
    summary = w.driver().run_works([DueWork()])
    assert (len(summary.runs), summary.ok) == (12, True)
    assert sorted(orders(w)[0]) == sorted(orders(w)[1])
    assert len(orders(w)[0]) == 12


def test_the_tables_of_outlets_are_looked_at_but_while_a_run_of_the_asset_lives():
    w = world()
    w.driver().run_works([DueWork()])
    w.driver().run_works([DueWork(["a"])])
    assert w.targets.looked[-2:] == list(BOTH)
    w.alive = True
    w.tell("s", "2025-01-02")
    dying(w, "write", "test")
    w.targets.looked.clear()
    ledger = w.driver().ledger
    look_at_targets(w.project, ledger.open(), w.targets, gone_claims=(), knows_run=ledger.knows_run)
    assert w.targets.looked == []


def test_a_segment_that_came_out_in_one_outlet_alone_is_known():
    split = asset("a", "s", by=None, segments={"customer": "runtime"}, retries=0)
    w = World(project(source("s"), *multi(split, *BOTH)), MemoryStore())
    for name, key in zip(BOTH, ("x", "y"), strict=True):
        w.engine.hooks[name, "segments"] = lambda _, key=key: w.engine.__setattr__("segments", {"customer": [key]})
    w.tell("s", "2025-01-01")
    assert w.driver().run_works([DueWork()]).ok
    assert w.driver().ledger.open().assets["a"].keys["customer"].known == ("x", "y")
    assert w.driver().run_works([DueWork()]).runs == ()
