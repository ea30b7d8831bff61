"""A tick is a cause of its own: each segment answers it once, whatever fails, is cut off, is withheld or is killed."""

from datetime import UTC, datetime

import pytest

from sparkassets.app.backfills import BackfillRequest
from sparkassets.core.instants import from_unix
from sparkassets.core.journal.codec import from_row, to_row
from sparkassets.core.journal.entries import NumberedEntry, TickPassedEntry
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.validations import RuleVerdict, RunJudgement
from sparkassets.errors import RunError
from sparkassets.runtime.driver_work import DueWork
from sparkassets.state.memory_store import MemoryStore
from tests.core.spec.in_memory import compiled
from tests.runtime.fakes import World, dying

SALES = "asset: sales\nsource: delta\npath: sales\n"
BY_SEGMENT = {"sales.yml": SALES + "partition: {segments: [e, m, s], column: w}\n"}


class Shop(World):
    """A world of an asset `a` by the segments e, m and s, of which some may fail or be withheld."""

    def __init__(self, schedule, rest="", **files):
        text = f"asset: a\npartition: {{segments: [e, m, s], column: w}}\nschedule: {schedule}\n{rest}"
        super().__init__(compiled({"a.yml": text, "a.sql": "SELECT 'm' AS w", **files}), MemoryStore())
        self.bad = self.unfit = ""
        self.engine.hooks["a", "compute"] = self.fail

    @property
    def open_target(self):
        """The segment of each key."""
        return {key: self.project.assets["a"].partitioning.parse(key) for key in "ems"}

    def fail(self, order):
        """Runs with the bad segment fail of their data."""
        if self.bad and order.partitions.overlaps(self.open_target[self.bad]):
            error = RunError(f"{self.bad} is bad")
            error.is_data_error = True
            raise error

    def judge(self, key):
        """The rules withhold that segment."""
        withheld = self.open_target[key] if key else PartitionSet.union([])
        rule = RuleVerdict("unfit", "fail", "withheld", withheld, 1, 1)
        self.engine.judged["a"] = RunJudgement(withheld, (rule,)) if key else RunJudgement()

    def at(self, day, hour=0):
        """What runs then: its segments, and the day with which its data interval begins; a failure has a mark."""
        self.clock.instant = datetime(2025, 1, day, hour, tzinfo=UTC)
        return sorted(map(self.run_text, self.driver().run_works([DueWork()]).runs))

    def run_text(self, run):
        keys = "".join(key for key, parts in self.open_target.items() if run.partitions.overlaps(parts))
        day = from_unix(run.interval[0]).day if run.interval else "-"
        return f"{keys}{'!' if run.error else ''} {day}"


def test_each_run_has_the_interval_of_its_tick():
    shop = Shop('"@daily"')
    assert [shop.at(2), shop.at(2, 12), shop.at(3), shop.at(3), shop.at(6)] == [["ems 1"], [], ["ems 2"], [], ["ems 5"]]


def test_every_missed_tick_is_a_run_where_that_is_asked_for():
    shop = Shop("{cron: '@daily', catchup: all}")
    shop.at(2)
    assert shop.at(5) == ["ems 2", "ems 3", "ems 4"]


def test_what_exceeds_a_run_answers_the_tick_in_the_next():
    shop = Shop('"@daily"', "strategy: {segments: {max_partitions_per_run: 2}}\n")
    assert shop.at(2) == ["em 1", "s 1"]
    assert [shop.at(3), shop.at(3, 6)] == [["em 2", "s 2"], []]


def test_what_fails_is_tried_again_for_its_tick_and_the_others_are_not():
    shop = Shop('"@daily"')
    shop.at(2)
    shop.bad = "e"
    assert shop.at(3) == ["e! 2", "em! 2", "ems! 2", "m 2", "s 2"]  # in halves
    assert shop.at(3, 6) == ["e! 2"]
    shop.bad = ""
    assert [shop.at(3, 12), shop.at(3, 13)] == [["e 2"], []]
    assert shop.at(4) == ["ems 3"]


def test_one_instance_that_fails_holds_back_no_other_and_is_made_good_in_order():
    shop = Shop('"@daily"', "strategy: every_instance\nwrite: append\n")
    assert shop.at(2) == ["e 1", "m 1", "s 1"]
    shop.bad = "e"
    assert shop.at(4) == ["e! 2", "m 2", "m 3", "s 2", "s 3"]
    shop.bad = ""
    assert shop.at(4, 12) == ["e 2", "e 3"]
    assert shop.at(4, 13) == []


def test_only_the_newest_tick_is_an_instance_under_catchup_latest():
    shop = Shop("{cron: '@daily', catchup: latest}", "strategy: every_instance\n")
    shop.at(2)
    assert [shop.at(5), shop.at(5)] == [["e 4", "m 4", "s 4"], []]


def test_instances_begin_with_the_start_of_the_schedule():
    shop = Shop("{cron: '@daily', start: 2025-01-01}", "strategy: every_instance\n")
    assert shop.at(3) == ["e 1", "e 2", "m 1", "m 2", "s 1", "s 2"]


@pytest.mark.parametrize("strategy", ["", "strategy: full_refresh\n"])
def test_what_is_withheld_at_a_tick_is_judged_again_at_the_next(strategy):
    shop = Shop('"@daily"', strategy)
    shop.at(2)
    shop.judge("e")
    assert [shop.at(3), shop.at(3, 6)] == [["ems 2"], []]
    shop.judge("")
    assert shop.at(4) == ["ems 3"]


@pytest.mark.parametrize("strategy", ["", "strategy: full_refresh\n", "strategy: every_instance\nwrite: append\n"])
@pytest.mark.parametrize("moment", ["compute", "written"])
def test_a_killed_run_is_settled_and_no_tick_is_answered_twice(strategy, moment):
    shop = Shop('"@daily"', strategy)
    shop.at(2)
    shop.clock.instant = datetime(2025, 1, 3, tzinfo=UTC)
    dying(shop, moment)
    shop.at(3)
    assert shop.at(3, 6) == []
    done = [commit.order.partitions for commit in shop.engine.data("a")]
    assert all(sum(parts.overlaps(own) for parts in done) == 2 for own in shop.open_target.values())


def test_what_changes_after_a_tick_waits_for_the_next():
    shop = Shop('"@daily"', "inlets: [sales]\n", **BY_SEGMENT)
    shop.tell("sales", "e", "m", "s")
    assert [shop.at(2), shop.at(3)] == [["ems 1"], []]
    shop.tell("sales", "m")
    assert shop.at(3, 12) == []
    (waits,) = [each for each in shop.opened().plan().waiting if each.asset == "a"]
    assert waits.reason == "@daily: not before 2025-01-04T00:00Z"
    assert shop.at(4) == ["m 3"]


def test_a_segment_that_comes_after_a_tick_waits_for_the_next():
    shop = Shop('"@daily"', "inlets: [sales]\n", **BY_SEGMENT)
    assert shop.at(2) == []
    shop.tell("sales", "m")
    assert [shop.at(2, 12), shop.at(3)] == [[], ["m 2"]]


def test_a_passed_tick_is_stored_as_it_is():
    entry = NumberedEntry(TickPassedEntry("a", (0, 86_400)), 7, datetime(2025, 1, 1, tzinfo=UTC), "d")
    assert from_row(to_row(entry)) == entry


def test_full_refresh_computes_all_once_one_segment_changed():
    shop = Shop("sales", "inlets: [sales]\nstrategy: full_refresh\n", **BY_SEGMENT)
    shop.tell("sales", "e", "m", "s")
    shop.at(2)
    shop.tell("sales", "m")
    assert [shop.at(3), shop.at(3)] == [["ems -"], []]


def test_an_update_of_a_whole_inlet_makes_all_segments_stale():
    shop = Shop("sales", "inlets: [sales]\n", **{"sales.yml": SALES})
    shop.tell("sales")
    shop.at(2)
    shop.tell("sales")
    assert shop.at(3) == ["ems -"]


def test_a_tick_waits_for_all_that_runs_first():
    """Runs of an inlet that come one after the other, as its table is not there yet."""
    up = "asset: up\npartition: {segments: [e, m, s], column: w}\nstrategy: every_instance\nwrite: append\n"
    files = {"up.yml": up + 'schedule: "@daily"\n', "up.sql": "SELECT 'm' AS w"}
    shop = Shop('"@daily"', "inlets: [up]\n", **files)
    ran = shop.at(2)
    assert sum("m" in run for run in ran) == 2
    assert [shop.at(2), shop.at(2, 12)] == [[], []]


def test_what_exceeds_a_run_follows_also_where_nothing_ticks_again():
    for schedule in ("'@once'", "'@continuous'"):
        shop = Shop(schedule, "strategy: {segments: {max_partitions_per_run: 2}}\n")
        assert shop.at(2) == ["em 2", "s 2"]


def test_a_backfill_appends_what_changed_and_nothing_that_did_not():
    shop = Shop("sales", "inlets: [sales]\nstrategy: every_instance\nwrite: append\n", **BY_SEGMENT)
    shop.tell("sales", "e", "m", "s")
    shop.at(2)
    shop.tell("sales", "m")
    shop.driver().run_works([DueWork(select=())])
    looking = shop.opened()
    (run,) = looking.backfills.plan(BackfillRequest("a", "m")).runs
    assert run.partitions == shop.open_target["m"]
    assert looking.backfills.plan(BackfillRequest("a", "e")).runs == ()


@pytest.mark.parametrize("schedule", ["", 'schedule: "@daily"\n', "schedule: sales\n"])
def test_a_day_that_fails_holds_back_no_other_of_a_full_refresh(schedule):
    text = f"asset: a\npartition: {{by: day, column: day}}\nstrategy: full_refresh\n{schedule}"
    files = {"sales.yml": SALES + "partition: {by: day, column: day}\nstart: 2025-01-01\n"}
    world = World(compiled({"a.yml": text, "a.sql": "SELECT day FROM {{ inlets.sales }}", **files}), MemoryStore())
    days = world.project.assets["a"].partitioning
    bad = [""]

    def fail(order):
        if bad[0] and order.partitions.overlaps(days.parse(bad[0])):
            error = RunError("it is bad")
            error.is_data_error = True
            raise error

    def at(day, hour=0, *, came=False):
        world.clock.instant = datetime(2025, 1, day, hour, tzinfo=UTC)
        if came:
            world.tell("sales", f"2025-01-0{day - 1}")
        runs = world.driver().run_works([DueWork()]).runs
        return [label for run in runs if not run.error for label in days.labels(run.partitions)]

    world.engine.hooks["a", "compute"] = fail
    assert at(2, came=True) == ["2025-01-01"]
    assert at(3, came=True) == ["2025-01-01..2025-01-02"]
    bad[0] = "2025-01-01"
    assert sorted(at(4, came=True)) == ["2025-01-02", "2025-01-03"]
    assert at(4, 6) == []
    bad[0] = ""
    assert [at(4, 12), at(4, 13)] == [["2025-01-01"], []]
    assert at(5, came=True) == ["2025-01-01..2025-01-04"]


def test_a_plan_tells_of_a_tick_for_which_nothing_came():
    text = "asset: a\npartition: {by: day, column: day}\nschedule: '@daily'\n"
    files = {"sales.yml": SALES + "partition: {by: day, column: day}\nstart: 2025-01-01\n"}
    world = World(compiled({"a.yml": text, "a.sql": "SELECT day FROM {{ inlets.sales }}", **files}), MemoryStore())
    world.tell("sales", "2025-01-01")
    for day in (2, 3):
        world.clock.instant = datetime(2025, 1, day, tzinfo=UTC)
        world.driver().run_works([DueWork()])
    (waits,) = world.opened().plan().waiting
    then = "@daily had nothing to do at 2025-01-03T00:00Z, next at 2025-01-04T00:00Z"
    assert waits.reason == f"up to date since a-1; {then}"
