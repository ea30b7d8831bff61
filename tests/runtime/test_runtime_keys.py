"""Runs of segments that come to be known: what comes out of a run of all is recorded with it, also by who finds it."""

from datetime import UTC, datetime
from itertools import count

import pytest

from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.entries import SegmentEntry
from sparkassets.core.journal.known_segments import with_known_segments
from sparkassets.core.partitions import Partitioning, PartitionSet, SegmentPartition
from sparkassets.core.partitions.json_form import encode_partitions
from sparkassets.errors import RunError, RunSkipped
from sparkassets.ports import NewSegmentsError, RunOrder
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.builders import asset, project, source
from tests.core.spec.in_memory import compiled
from tests.runtime.fakes import World, dying, raising, raising_once

RUNTIME = {"customer": "runtime"}


def world() -> World:
    """A whole of which customers come out, and what is computed of each."""
    model = asset("a", "s", by=None, segments=RUNTIME, retries=0)
    w = World(project(source("s"), model, asset("each", "a", by=None, segments=RUNTIME)), MemoryStore())
    w.engine.segments = {"customer": ["x", "y"]}
    return w


def known(w: World, name: str) -> tuple[str, ...]:
    driver = w.driver()
    return with_known_segments(w.project, driver.ledger.open()).assets[name].partitioning.segments[0].keys


def computed(w: World, name: str) -> list[list[str]]:
    return [commit.order.asset.partitioning.labels(commit.order.partitions) for commit in w.engine.data(name)]


def test_what_came_out_is_known_and_read_by_key():
    w = world()
    w.tell("s", "2025-01-01")
    assert w.driver().run_works([DueWork()]).ok
    assert (computed(w, "a"), computed(w, "each")) == ([["*"]], [["x", "y"]])
    assert known(w, "a") == known(w, "each") == ("x", "y")
    assert w.driver().run_works([DueWork()]).runs == ()


def test_what_a_run_of_some_adds_is_computed_next():
    w = world()
    w.tell("s", "2025-01-01")
    w.driver().run_works([DueWork()])
    w.engine.measures["a"] = {"keys": {"customer": ["z"]}}
    w.tell("s", "2025-01-02")
    assert w.driver().run_works([DueWork()]).ok
    assert computed(w, "a") == [["*"], ["x", "y"], ["z"]]


def finding(*keys: str) -> dict[str, object]:
    """What a run measures whose function adds these, all of which may have rows."""
    found = Partitioning(None, (SegmentPartition("customer", (), is_open=True),))
    parts = PartitionSet.union(found.parse(key, recorded=True) for key in keys)
    return {"keys": {"customer": list(keys)}, "found": encode_partitions(parts)}


def test_what_a_run_of_some_adds_with_rows_is_computed_by_it():
    w = world()
    w.tell("s", "2025-01-01")
    w.driver().run_works([DueWork()])
    w.engine.measures["a"], w.engine.segments = finding("z"), {"customer": ["z"]}
    w.tell("s", "2025-01-02")
    summary = w.driver().run_works([DueWork()])
    assert (known(w, "a"), known(w, "each")) == (("x", "y", "z"), ("x", "y", "z"))
    assert (computed(w, "a"), computed(w, "each")) == ([["*"], ["x", "y"]], [["x", "y"], ["x", "y", "z"]])
    assert [w.project.assets["a"].partitioning.labels(run.partitions) for run in summary.runs] == [["x", "y", "z"]] * 2


def test_what_came_while_a_run_computed_what_nobody_knew_makes_that_stale():
    w = world()
    w.tell("s", "2025-01-01")
    w.driver().run_works([DueWork()])
    w.engine.measures["a"], w.engine.segments = finding("z"), {"customer": ["z"]}
    w.tell("s", "2025-01-02")
    told = iter([lambda: w.tell("s", "2025-01-03")])
    w.engine.hooks["a", "write"] = lambda _: next(told, lambda: None)()
    assert w.driver().run_works([DueWork()]).ok
    assert computed(w, "a") == [["*"], ["x", "y"], ["x", "y", "z"]]


@pytest.mark.parametrize("moment", ["write", "written", "segments"])
def test_the_next_driver_records_what_nobody_knew_of_a_run_that_died(moment):
    w = world()
    w.tell("s", "2025-01-01")
    w.driver().run_works([DueWork()])
    w.engine.measures["a"], w.engine.segments = finding("z"), {"customer": ["z"]}
    w.tell("s", "2025-01-02")
    dying(w, moment)
    assert w.driver().run_works([DueWork()]).ok
    assert (computed(w, "a"), known(w, "a")) == ([["*"], ["x", "y"]], ("x", "y", "z"))


def test_rows_of_what_nobody_knew_have_the_run_done_with_them_and_that_is_no_retry():
    w = world()
    w.tell("s", "2025-01-01")
    w.driver().run_works([DueWork()])
    unknown = NewSegmentsError("rows outside", keys={"customer": ("z",)})
    w.engine.hooks["a", "write"] = raising_once(unknown)
    w.tell("s", "2025-01-02")
    assert w.driver().run_works([DueWork()]).ok
    assert computed(w, "a") == [["*"], ["x", "y", "z"]]


def test_a_function_that_makes_up_segments_fails_in_the_end():
    w = world()
    w.tell("s", "2025-01-01")
    w.driver().run_works([DueWork()])
    made_up = count()

    def another(_: object) -> None:
        raise NewSegmentsError("rows outside", keys={"customer": (f"z{next(made_up)}",)})

    w.engine.hooks["a", "write"] = another
    w.tell("s", "2025-01-02")
    (result,) = (run for run in w.driver().run_works([DueWork()]).runs if run.asset == "a")
    assert (result.status, result.error, next(made_up)) == ("failed", "rows outside", 4)


def test_what_a_run_of_all_adds_is_computed_by_it():
    w = world()
    w.engine.segments = {}
    w.engine.measures["a"] = {"keys": {"customer": ["z"]}}
    w.tell("s", "2025-01-01")
    assert w.driver().run_works([DueWork()]).ok
    assert (computed(w, "a"), known(w, "a")) == ([["*"]], ("z",))


@pytest.mark.parametrize("moment", ["compute", "write", "written", "segments"])
def test_the_next_driver_records_what_came_out_of_a_run_that_died(moment):
    w = world()
    w.tell("s", "2025-01-01")
    dying(w, moment)
    summary = w.driver().run_works([DueWork()])
    assert summary.ok
    assert (summary.runs[0].adopted is not None) == (moment in ("written", "segments"))
    assert (computed(w, "a"), known(w, "a")) == ([["*"]], ("x", "y"))


def test_what_cannot_be_read_yet_is_read_by_the_next_claim():
    w = world()
    w.engine.hooks["a", "segments"] = raising_once(RunError("out of reach"))
    w.tell("s", "2025-01-01")
    assert not w.driver().run_works([DueWork()]).ok
    assert w.driver().run_works([DueWork()]).ok
    assert (computed(w, "a"), known(w, "a")) == ([["*"]], ("x", "y"))


def test_a_failed_run_makes_nothing_known():
    w = world()
    w.engine.hooks["a", "write"] = raising(RunError("boom"))
    w.engine.measures["a"] = {"keys": {"customer": ["z"]}}
    w.tell("s", "2025-01-01")
    assert not w.driver().run_works([DueWork()]).ok
    assert known(w, "a") == ("\x00",)


DAILY = "asset: a\nschedule: '@daily'\n"
BY_CUSTOMER = "partition: {segments: runtime, column: customer}\n"
BY_DAY = "partition: [{by: day, column: day}, {segments: runtime, column: customer}]\nstart: 2025-01-01\n"


class Discovering(World):
    """A world of an asset by customers at each midnight, which has found x."""

    def __init__(self, rest: str = BY_CUSTOMER) -> None:
        sql = "SELECT DATE '2025-01-01' AS day, 'x' AS customer"
        super().__init__(compiled({"a.yml": DAILY + rest, "a.sql": sql}), MemoryStore())
        self.engine.segments = {"customer": ["x"]}
        assert self.at(2)
        self.engine.segments = {}

    def at(self, day: int, hour: int = 0) -> list[tuple[str, int]]:
        """What runs then, and the day with which its data interval begins."""
        self.clock.instant = datetime(2025, 1, day, hour, tzinfo=UTC)
        labels = self.project.assets["a"].partitioning.labels
        runs = [(labels(run.partitions), run.interval) for run in self.driver().run_works([DueWork()]).runs]
        return [(" ".join(keys), datetime.fromtimestamp(interval[0], UTC).day) for keys, interval in runs if interval]

    def adds(self, *keys: str) -> None:
        self.engine.measures["a"] = {"keys": {"customer": list(keys)}}

    def makes_up(self) -> None:
        """Each call adds a segment of its own."""
        number = count()
        self.engine.hooks["a", "compute"] = lambda _: self.adds(f"z{next(number)}")


@pytest.mark.parametrize(
    ("rest", "then", "after"),
    [
        ("", ["z"], ["x z"]),
        ("strategy: full_refresh\n", ["x z"], ["x z"]),
        ("strategy: {segments: {max_partitions_per_run: 1}}\n", ["z"], ["x", "z"]),
        ("strategy: every_instance\n", ["z"], ["x", "z"]),
    ],
)
def test_what_a_run_at_a_tick_adds_is_computed_at_once_for_that_tick(rest, then, after):
    w = Discovering(BY_CUSTOMER + rest)
    w.adds("z")
    assert w.at(3) == [("x", 2), *((keys, 2) for keys in then)]
    assert w.at(3, 12) == []
    assert (sorted(w.at(4)), w.at(4, 12)) == ([(keys, 3) for keys in after], [])


def test_all_days_of_what_a_run_at_a_tick_adds_are_computed_at_once():
    w = Discovering(BY_DAY)
    w.adds("z")
    assert w.at(3) == [("2025-01-02,x", 2), ("2025-01-01..2025-01-02,z", 2)]
    assert (w.at(3, 12), w.at(4)) == ([], [("2025-01-03,x 2025-01-03,z", 3)])


def test_what_a_person_adds_after_a_tick_waits_for_the_next():
    w = Discovering()
    w.at(3)
    w.driver().ledger.commit(lambda _: [SegmentEntry("a", "customer", added=("z",))])
    assert (w.at(3, 12), w.at(4)) == ([], [("x z", 3)])


def test_what_is_added_by_a_run_of_what_was_added_waits_for_the_next_tick():
    w = Discovering()
    w.makes_up()
    assert w.at(3) == [("x", 2), ("z0", 2)]
    assert w.at(3, 12) == []
    assert w.at(4) == [("x z0 z1", 3), ("z2", 3)]


@pytest.mark.parametrize("rest", ["strategy: every_instance\n", "strategy: every_instance\nwrite: append\n"])
def test_instances_that_make_up_segments_come_to_an_end(rest):
    w = Discovering(BY_CUSTOMER + rest)
    w.makes_up()
    assert [len(w.at(3)), len(w.at(3, 12)), len(w.at(3, 13))] == [2, 2, 2]


def test_a_function_that_makes_up_segments_at_an_update_comes_to_an_end():
    w = world()
    w.tell("s", "2025-01-01")
    w.driver().run_works([DueWork()])
    number = count()

    def another(_: object) -> None:
        w.engine.measures["a"] = {"keys": {"customer": [f"z{next(number)}"]}}

    w.engine.hooks["a", "compute"] = another
    w.tell("s", "2025-01-02")
    summary = w.driver().run_works([DueWork()])
    assert computed(w, "a")[1:] == [["x", "y"], ["z0"]]
    assert [each.reason for each in summary.waiting if each.asset == "a"] == [
        "left for the next invocation: added by the run of a partition that this one had added"
    ]
    w.driver().run_works([DueWork()])
    assert computed(w, "a")[3:] == [["z1"], ["z2"]]


def test_what_failed_of_what_was_added_is_tried_again_by_the_next_driver_and_is_in_the_snapshot():
    w = Discovering()
    w.adds("z")

    def fail(order: RunOrder) -> None:
        if order.asset.partitioning.labels(order.partitions) == ["z"]:
            raise RunError("boom")

    w.engine.hooks["a", "compute"] = fail
    assert w.at(3) == [("x", 2), ("z", 2)]
    state = w.driver().ledger.open()
    assert w.project.assets["a"].partitioning.labels(state.assets["a"].additions.due) == ["z"]
    assert decode(encode(state), journal_id=state.journal_id).assets["a"] == state.assets["a"]
    del w.engine.hooks["a", "compute"]
    assert (w.at(3, 1), w.at(3, 2)) == ([("z", 2)], [])


def test_what_is_skipped_of_what_was_added_rests_until_the_next_tick():
    w = Discovering()
    w.adds("z")

    def skip(order: RunOrder) -> None:
        if order.asset.partitioning.labels(order.partitions) == ["z"]:
            raise RunSkipped("nothing")

    w.engine.hooks["a", "compute"] = skip
    assert (w.at(3), w.at(3, 12), w.at(4)) == ([("x", 2), ("z", 2)], [], [("x z", 3)])
