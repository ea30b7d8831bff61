"""``strategy: every_instance`` over partitions: each is a run of its own, beside the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.conditions import TimeLeaf
from sparkassets.core.conditions.parsing import parse_condition
from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.entries import FailureEntry, ObservedEntry, SuccessEntry
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.batch.backfill import plan_backfill
from sparkassets.core.planner.batch.requested_runs import plan_rebuild
from sparkassets.core.planner.explain.explanation import explain_planned_asset
from sparkassets.core.planner.explain.status import asset_status, partition_grid
from sparkassets.core.planner.incremental_planner import IncrementalPlanner
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.spec.model import AssetSpec, Schedule
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.writes import AppendWrite, ReplaceWrite
from sparkassets.errors import InputError
from tests.builders import Story, asset, clock, project, source, timed
from tests.depth import histories

TWO = {"w": ("x", "y")}


def instances(name: str, *inlets: str, **more: object) -> AssetSpec:
    return asset(name, *inlets, **{"by": "hour", "segments": TWO, "strategy": EveryInstance(), **more})  # type: ignore[arg-type]


def story(now: str = "2025-01-02T00:30", **more: object) -> Story:
    """The hours of a day of two warehouses, the first of which is there."""
    made = Story(project(source("s", by="hour", segments=TWO), instances("a", "s", **more)), now=now)
    made.observed("s", "2025-01-01T00,x")
    made.run_all()
    made.observed("s", "2025-01-01T00,y", "2025-01-01T01..2025-01-01T23,*")
    return made


def keys(runs: tuple[PlannedRun, ...]) -> list[str]:
    partitioning = instances("a").partitioning
    return [key for run in runs for key in partitioning.labels(run.partitions)]


class TestRuns:
    @pytest.mark.parametrize("write", [AppendWrite(), ReplaceWrite()])
    def test_each_hour_of_each_warehouse_is_one(self, write):
        runs = story(write=write).plan().runs
        assert len(runs) == len({run.run_slot for run in runs}) == 47
        assert keys(runs)[-2:] == ["2025-01-01T23,x", "2025-01-01T23,y"]
        assert {run.interval for run in runs[-2:]} == {(1735772400, 1735776000)}
        assert all(run.run_slot > 0 for run in runs)

    def test_they_are_claimed_side_by_side(self):
        s = story(write=AppendWrite())
        runs = s.plan().runs
        tokens = [s.claim(run) for run in runs[:3]]
        assert keys(s.plan().runs) == keys(runs[3:])
        assert s.waits("a") == [f"running: a-{tokens[0]} and 2 more since 2025-01-01T00:00Z by test"]
        s.succeed("a", tokens[1])
        assert [link.token for link in s.state.assets["a"].chain] == [tokens[0], tokens[2]]
        assert s.state.assets["a"].coverage.covers(runs[1].partitions)

    def test_a_slot_is_used_again(self):
        s = story(write=AppendWrite())
        runs = s.plan().runs
        tokens = [s.claim(run) for run in runs[:3]]
        s.succeed("a", tokens[1])
        assert [run.run_slot for run in s.plan().runs[:2]] == [runs[1].run_slot, 4]

    def test_until_the_table_is_there_they_are_one_at_a_time(self):
        s = Story(project(source("s", by="hour", segments=TWO), instances("a", "s")), now="2025-01-02")
        s.observed("s", "2025-01-01T00..2025-01-01T01,*")
        (run,) = s.plan().runs
        assert keys((run,)) == ["2025-01-01T00,x"]
        assert s.waits("a") == ["left for the next runs: one at a time until its table exists"]
        token = s.claim(run)
        assert s.plan().runs == ()
        assert s.waits("a")[-1] == "waits for the previous run: one at a time until its table exists"
        s.succeed("a", token)
        assert len(s.plan().runs) == 3

    def test_where_each_may_change_the_columns_they_are_one_at_a_time(self):
        s = story(schema="add_columns")
        assert len(s.plan().runs) == 1
        assert "one at a time, because each may change the columns ('schema: add_columns')" in s.waits("a")[-1]

    def test_a_plan_names_so_many(self):
        s = story()
        s.now = "2025-01-09"
        s.observed("s", "2025-01-02T00..2025-01-08T23,*")
        assert len(s.plan().runs) == 100
        assert s.waits("a") == ["left for the next runs: a plan holds at most 100 of them"]

    def test_what_was_appended_is_not_computed_again(self):
        s = story(write=AppendWrite())
        s.run_all()
        s.observed("s", "2025-01-01T05,x")
        assert s.plan().runs == ()
        with pytest.raises(
            InputError, match=r"'a' appends: 2025-01-01T05,x already exists; its rows would be duplicated"
        ):
            plan_backfill(
                s.context(),
                s.project.assets["a"],
                s.project.assets["a"].partitioning.parse("2025-01-01T05,x"),
                force=True,
            )

    def test_what_is_replaced_is(self):
        s = story()
        s.run_all()
        s.observed("s", "2025-01-01T05,x")
        assert [run.reason for run in s.plan().runs] == ["stale: s changed"]

    def test_consumers_wait_for_those_that_read_them(self):
        spec = project(
            source("s", by="hour", segments=TWO), instances("a", "s"), asset("b", "a", by="day", segments=TWO)
        )
        s = Story(spec, now="2025-01-02")
        s.observed("s", "2025-01-01T00..2025-01-01T23,*")
        s.run("a")
        runs = s.plan().runs
        assert {run.asset for run in runs} == {"a"}
        tokens = [s.claim(run) for run in runs]
        for token in tokens[:-1]:
            s.succeed("a", token)
        assert [run.asset for run in s.plan().runs] == ["b"]
        assert s.due()["b"] == ["2025-01-01,x"]

    def test_a_claim_of_one_among_very_many_does_not_tell_all_others(self):
        made = {f"k{i:04}" for i in range(1500)}
        s = Story(
            project(source("s", by=None, segments={"w": made}), instances("a", "s", by=None, segments={"w": made})),
            now="2025-01-02",
        )
        s.observed("s", "*")
        s.run("a")
        (run, *_) = s.plan().runs
        s.claim(run)
        assert len(s.rows[-1].body) < 1000


class TestFailures:
    def test_one_holds_back_no_other(self):
        s = story()
        runs = s.plan().runs
        s.fail("a", s.claim(runs[0]))
        assert keys(s.plan(invocation="i").runs) == keys(runs[1:])
        assert keys(s.plan(invocation="j").runs) == keys(runs)
        assert s.plan(invocation="j").runs[0].reason == "missing, failed before"

    def test_what_may_still_land_keeps_its_slot(self):
        s = story()
        runs = s.plan().runs
        s.fail("a", s.claim(runs[0]), fenced=False)
        assert keys(s.plan(invocation="i").runs) == keys(runs[1:])
        again = s.plan(invocation="j").runs[0]
        assert (again.run_slot, len(again.recovers), keys((again,))) == (runs[0].run_slot, 1, keys(runs[:1]))

    def test_a_run_that_never_ended_is_taken_over_in_its_slot(self):
        s = story()
        tokens = [s.claim(run) for run in s.plan().runs[:3]]
        runs = s.plan(gone_claims=tokens[1:2]).runs
        assert [(run.run_slot, run.recovers) for run in runs[:2]] == [(2, (f"a-{tokens[1]}",)), (4, ())]
        claim = s.claim(runs[0])
        s.succeed("a", claim)
        assert {link.token for link in s.state.assets["a"].chain} == {tokens[0], tokens[2]}

    def test_what_is_not_due_any_more_is_settled_all_the_same(self):
        s = story(write=AppendWrite())
        token = s.claim(s.plan().runs[0])
        s.change(
            source("s", by="hour", segments={"w": ("x",)}),
            instances("a", "s", segments={"w": ("x",)}, write=AppendWrite()),
        )
        settling = [run for run in s.plan(gone_claims=[token]).runs if run.recovers]
        assert [(bool(run.partitions), run.recovers, run.run_slot) for run in settling] == [(False, (f"a-{token}",), 1)]

    def test_another_strategy_settles_them_first(self):
        s = story()
        tokens = [s.claim(run) for run in s.plan().runs[:2]]
        s.change(source("s", by="hour", segments=TWO), asset("a", "s", by="hour", segments=TWO))
        assert s.plan().runs == ()
        runs = s.plan(gone_claims=tokens).runs
        assert [(bool(run.partitions), run.run_slot) for run in runs] == [(False, 1), (False, 2)]
        assert s.waits("a", gone_claims=tokens) == ["waits for the recovery of 2 unfinished parallel runs"]


class TestTimetables:
    def test_what_ended_in_the_interval_is_due_at_its_tick(self):
        s = story(now="2025-01-02T05:00", schedule=timed("@daily"))
        s.run_all(limit=60)
        assert s.keys("a", s.state.assets["a"].coverage) == [
            "2025-01-01T00..2025-01-01T23,x",
            "2025-01-01T00..2025-01-01T23,y",
        ]
        s.observed("s", "2025-01-02T00..2025-01-02T03,*")
        assert s.plan().runs == ()
        assert s.waits("a") == ["@daily: not before 2025-01-03T00:00Z"]
        s.now = "2025-01-03T01:00"
        assert len(s.plan().runs) == 8

    def test_what_is_left_of_a_tick_stays_due_until_it_ran(self):
        s = story(now="2025-01-02T05:00", schedule=timed("@daily"))
        runs = s.plan().runs
        tokens = [s.claim(run) for run in runs[:5]]
        s.succeed("a", tokens[4])
        s.fail("a", tokens[0])
        assert keys(s.plan(invocation="i").runs) == keys(runs[5:])
        for token in tokens[1:4]:
            s.succeed("a", token)
        while left := s.plan(invocation="i").runs:
            s.succeed("a", s.claim(left[0]))
        assert keys(s.plan(invocation="j").runs) == keys(runs[:1])

    def test_every_missed_interval_is_caught_up_by_default(self):
        s = story(now="2025-01-04T05:00", schedule=timed("@daily"))
        s.observed("s", "2025-01-02T00..2025-01-03T23,*")
        assert len(s.plan().runs) == 100
        assert s.waits("a") == ["left for the next runs: a plan holds at most 100 of them"]

    def test_or_the_newest_alone(self):
        s = story(now="2025-01-02T05:00", schedule=timed({"cron": "0 0 * * *", "catchup": "latest"}))
        s.now = "2025-01-04T05:00"
        s.observed("s", "2025-01-02T00..2025-01-03T23,*")
        runs = s.plan().runs
        assert keys(runs)[0] == "2025-01-03T00,x"
        assert len(runs) == 48
        assert s.waits("a") == ["skipped: older than the newest interval (catchup: latest)"]

    def test_a_backfill_uses_no_tick(self):
        s = story(now="2025-01-02T05:00", schedule=timed("@daily"))
        spec = s.project.assets["a"]
        (run,) = plan_backfill(s.context(), spec, spec.partitioning.parse("2025-01-01T07,x"), force=False).runs
        s.succeed("a", s.claim(run))
        assert len(s.plan().runs) == 46


class TestBackfills:
    def test_each_partition_is_a_run(self):
        s = story()
        spec = s.project.assets["a"]
        partitions = spec.partitioning.parse("2025-01-01T05..2025-01-01T06")
        runs = plan_backfill(s.context(), spec, partitions, force=False).runs
        assert keys(runs) == ["2025-01-01T05,x", "2025-01-01T05,y", "2025-01-01T06,x", "2025-01-01T06,y"]
        assert [run.run_slot for run in runs] == [1, 2, 3, 4]

    def test_it_waits_for_those_that_overlap_alone(self):
        s = story()
        spec = s.project.assets["a"]
        token = s.claim(next(run for run in s.plan().runs if keys((run,)) == ["2025-01-01T05,x"]))
        found = plan_backfill(s.context(), spec, spec.partitioning.parse("2025-01-01T05"), force=True)
        assert keys(found.runs) == ["2025-01-01T05,y"]
        assert found.waiting[0].reason == f"running: a-{token} since 2025-01-01T00:00Z by test"

    def test_a_rebuild_waits_for_all_and_all_for_it(self):
        s = story()
        s.run_all(limit=60)
        s.observed("s", "2025-01-01T05,*")
        spec = s.project.assets["a"]
        token = s.claim(s.plan().runs[0])
        assert plan_rebuild(s.context(), spec, force=False).runs == ()
        (settling,) = plan_rebuild(s.context(gone_claims=[token]), spec, force=False).runs
        assert (bool(settling.partitions), settling.run_slot) == (False, 1)
        s.succeed("a", token)
        (rebuild,) = plan_rebuild(s.context(), spec, force=False).runs
        claim = s.claim(rebuild)
        assert rebuild.run_slot == 0
        assert s.plan().runs == ()
        runs = s.plan(gone_claims=[claim]).runs
        assert [(run.run_slot, bool(run.recovers)) for run in runs] == [(0, True)]


class TestStatus:
    def test_all_that_go_side_by_side_run_now(self):
        s = story()
        told = repr(explain_planned_asset(s.context(), s.plan(), s.project.assets["a"])).splitlines()
        assert told[1:3] == ["  + runs now 2025-01-01T00,y: missing", "  + runs now 2025-01-01T01,x: missing"]

    def test_all_that_run_are_told(self):
        s = story()
        tokens = [s.claim(run) for run in s.plan().runs[:2]]
        spec = s.project.assets["a"]
        assert asset_status(s.context(), spec).running == f"a-{tokens[1]}"
        told = dict(partition_grid(s.context(), spec))
        assert [key for key, status in told.items() if status == "running"] == ["2025-01-01T00,y", "2025-01-01T01,x"]


# ---------------------------------------------------------------------- random histories


@dataclass
class Alive:
    """A run that a driver has claimed."""

    token: int
    run: PlannedRun
    landed: bool = False


class History:
    """Drivers that claim, write, record, fail and go, in any order, and a table that tells what landed in it."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.appends = random.random() < 0.5
        tick = TimeLeaf("@daily", clock("@daily"))
        condition = parse_condition("s | t", clock)
        schedules = [None, None, timed("@daily"), Schedule(None, condition, "s | t"), Schedule(None, tick, "@daily")]
        chosen = random.choice(schedules)
        more = {"schedule": chosen} if chosen is not None else {}
        spec = instances("a", "s", "t", by="day", write=AppendWrite() if self.appends else ReplaceWrite(), **more)
        self.story = Story(project(source("s", segments=TWO), source("t", segments=TWO), spec), now="2025-01-08T01:00")
        self.planner = IncrementalPlanner(self.story.project)
        self.keys = [f"2025-01-0{day},{key}" for day in range(1, 8) for key in ("x", "y")]
        self.table: list[tuple[str, int, int]] = []
        self.changed: dict[str, int] = {}
        self.live: list[Alive] = []
        self.over: list[Alive] = []
        self.invocation = 0
        self.days = 8

    def plan(self) -> list[PlannedRun]:
        gone = frozenset(each.token for each in self.over)
        context = self.story.context(invocation=str(self.invocation), gone_claims=gone)
        found = make_plan(context)
        assert self.planner.plan(replace(context, decisions={})) == found
        assert decode(encode(self.story.state), journal_id="journal") == self.story.state
        explain_planned_asset(context, found, self.story.project.assets["a"])
        slots = [run.run_slot for run in found.runs]
        assert len(slots) == len({*slots})
        return list(found.runs)

    def claim(self, run: PlannedRun) -> None:
        """What the protocol's model asks of every claim."""
        for link in self.story.state.assets["a"].chain:
            assert link.run_slot == run.run_slot or not link.entry.partitions.overlaps(run.partitions)
            assert link.run_slot != run.run_slot or link.entry.run in run.recovers
        token = self.story.claim(run, invocation=str(self.invocation))
        self.live.append(Alive(token, run))

    def step(self) -> None:
        random = self.random
        what = random.choice(
            [
                "event",
                "claim",
                "claim",
                "claim",
                "land",
                "land",
                "record",
                "record",
                "fail",
                "crash",
                "invocation",
                "day",
            ]
        )
        if what == "event":
            self.event()
        elif what == "invocation":
            self.invocation += 1
        elif what == "day" and self.days < 12:
            self.days += 1
            self.story.now = f"2025-01-{self.days:02}T01:00"
        elif what == "claim":
            if runs := self.plan():
                self.claim(random.choice(runs))
        elif self.live:
            self.go_on(random.choice(self.live), what)

    def go_on(self, each: Alive, what: str) -> None:
        if what == "land":
            self.land(each)
        elif what == "record":
            self.record(each)
        elif what == "fail":
            self.fail(each)
        elif what == "crash":
            self.live.remove(each)
            self.over.append(each)

    def event(self) -> None:
        name, key = self.random.choice("st"), self.random.choice(self.keys)
        spec = self.story.project.assets[name]
        seq = self.story.add(ObservedEntry(name, spec.uri, spec.partitioning.parse(key)))
        self.changed[key] = seq

    def chain(self, each: Alive) -> list[Alive]:
        """The claims before it in its slot."""
        tokens = {link.token for link in self.story.state.assets["a"].chains[each.run.run_slot]}
        return [other for other in self.over if other.token in tokens and other.token < each.token]

    def settle(self, each: Alive) -> Alive | None:
        """What is found in the table of the claims before; fenced, none of them lands any more."""
        return next((other for other in self.chain(each) if other.landed), None)

    def land(self, each: Alive) -> None:
        if each.landed or self.settle(each) is not None or not each.run.partitions:
            return
        each.landed = True
        self.table += [(key, each.token, each.run.run_slot) for key in self.labels(each.run.partitions)]

    def labels(self, partitions: PartitionSet) -> list[str]:
        return list(self.story.project.assets["a"].partitioning.keys(partitions))

    def record(self, each: Alive) -> None:
        found = self.settle(each)
        if found is None and not each.run.partitions:
            self.fail(each)
            return
        self.land(each)
        done = found or each
        link = self.story.state.assets["a"].claim_state(done.token)
        assert link is not None
        request = link.entry.request
        self.leave(each)
        self.story.add(
            SuccessEntry(
                "a",
                "a",
                link.entry.run,
                done.token,
                each.token,
                request.partitions,
                "t",
                len(self.table),
                request.interval,
                request.pins,
            )
        )

    def fail(self, each: Alive) -> None:
        """Fenced, as a rule; what landed is found and recorded instead."""
        if each.landed or self.settle(each) is not None:
            self.record(each)
            return
        fenced = self.random.random() < 0.7
        link = self.story.state.assets["a"].claim_state(each.token)
        assert link is not None
        if fenced:
            self.leave(each)
        else:
            self.live.remove(each)
            self.over.append(each)
        self.story.add(
            FailureEntry(
                "a",
                link.entry.run,
                each.token,
                link.entry.partitions,
                "error",
                "boom",
                str(self.invocation),
                fenced=fenced,
            )
        )

    def leave(self, each: Alive) -> None:
        """Its slot is settled."""
        before = self.chain(each)
        self.over = [other for other in self.over if other not in before]
        self.live.remove(each)

    def finish(self) -> None:
        """All that is due is done, a day later, by a driver that knows of all others that they are gone."""
        self.over += self.live
        self.live = []
        self.invocation += 1
        self.days += 1
        self.story.now = f"2025-01-{self.days:02}T02:00"
        for _ in range(200):
            runs = self.plan()
            if not runs:
                break
            self.claim(runs[0])
            self.record(self.live[0])
            if self.random.random() < 0.1:
                self.invocation += 1
        assert not self.plan()

    def check(self) -> None:
        state = self.story.state.assets["a"]
        assert state.chain == ()
        partitioning = self.story.project.assets["a"].partitioning
        times = Counter(key for key, _, _ in self.table)
        newest = {key: token for key, token, _ in self.table}
        there = {name: self.story.state.dataset(f"x-{name}").coverage for name in "st"}
        for key in self.keys:
            partition = partitioning.parse(key)
            if not all(parts.covers(partition) for parts in there.values()):
                continue
            assert state.coverage.covers(partition), f"{key} is lost"
            assert times[key] == 1 if self.appends else newest[key] > self.changed[key], f"{key}: {times[key]} times"


@given(st.randoms(use_true_random=False), st.integers(10, 120))
@histories(150)
def test_whoever_goes_and_whatever_fails_every_instance_is_there_once(random, steps):
    history = History(random)
    for _ in range(steps):
        history.step()
    history.finish()
    history.check()
