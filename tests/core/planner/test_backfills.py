"""Backfills of many runs, killed, limited, resumed, beside a schedule: each partition as often as it was asked for."""

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkassets.core.journal.codec.snapshot import decode, encode
from sparkassets.core.journal.entries import BackfillEntry
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.partitions import NOTHING
from sparkassets.core.results import RunResult
from sparkassets.core.spec.model import Schedule
from sparkassets.core.strategies import DateRange, EveryInstance
from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.requested_works import BackfillWork
from tests.builders import Story, asset, days, project, source, timed
from tests.depth import examples

STORES = {"store": ("be", "de")}
SCHEDULES = {"default": None, "daily": timed("@daily"), "manual": Schedule()}
FIRST, LAST = 1, 8


def make_story(*, schedule="default", stores=False, cap=2, computed=True):
    """Days 1 to 8 of a source, and what is computed of them."""
    segments = STORES if stores else {}
    strategy = DateRange(max_partitions_per_run=cap)
    made = asset("a", "s", segments=segments, strategy=strategy, schedule=SCHEDULES[schedule])
    story = Story(project(source("s", segments=segments), made), now="2025-01-09")
    story.observed("s", f"2025-01-0{FIRST}..2025-01-0{LAST}")
    if computed:
        Simulated(story).drive(BackfillWork(story.project.assets["a"], all_days(story)))
    return story


def all_days(told):
    return told.project.assets["a"].partitioning.parse(f"2025-01-0{FIRST}..2025-01-0{LAST}")


@dataclass
class Simulated:
    """Drivers of a story, one after the other.

    Attributes:
        done: How often each key was computed.
        order: (Kind, partitions) of the runs that succeeded.
        gone: Claims whose driver was killed.
        came: The keys of all days that came.
        waiting: Of those that came in this invocation, the ones that are not computed yet.
        passed: How many backfill runs in a row ended while something waited.
        most: The most of all invocations.
    """

    story: Story
    done: Counter = field(default_factory=Counter)
    order: list = field(default_factory=list)
    gone: list = field(default_factory=list)
    waiting: set = field(default_factory=set)
    came: set = field(default_factory=set)
    passed: int = 0
    most: int = 0
    invocations: int = 0

    def context(self):
        return self.story.context(gone_claims=self.gone, invocation=f"i{self.invocations}")

    def drive(self, work, *, kill_at=None, landed=False, arrivals=()):
        """Runs until nothing is due; ``arrivals`` says after which runs a new day comes; None when it was killed."""
        self.invocations += 1
        self.waiting, self.passed = set(), 0  # what is due by now is the schedule's own driver's
        if entries := work.begin(self.context()):
            self.story.add(*entries)
        for number in range(60):
            runs = work.plan(self.context()).runs
            if not runs:
                return number
            before = self.story.state.assets["a"]
            claim = self.story.claim(runs[0], invocation=f"i{self.invocations}")
            if kill_at == number:
                self.gone.append(claim)
                self.landed = claim if landed else None
                return None
            self.end(work, runs[0], claim, before)
            if number in arrivals:
                self.arrive()
        raise AssertionError("never idle")

    landed: int | None = None

    def end(self, work, run, claim, before):
        adopted = None
        if self.landed is not None and run.recovers:
            link = next(link for link in self.story.state.assets["a"].chain if link.token == self.landed)
            partitions, adopted, token = link.entry.partitions, link.entry.run, self.landed
            self.story.succeed("a", token)
        else:
            partitions = run.partitions
            self.story.succeed("a", claim, watermarks={"s": f"high-{claim}"})
        self.landed = None
        partitioning = self.story.project.assets["a"].partitioning
        self.done.update(partitioning.keys(partitions))
        self.order.append((run.kind, partitions))
        if run.kind == "backfill" and adopted is None:
            after = self.story.state.assets["a"]
            assert (after.cursor, after.watermarks, after.ticks) == (before.cursor, before.watermarks, before.ticks)
            self.passed += bool(self.waiting)
            self.most = max(self.most, self.passed)
        else:
            self.passed = 0
        self.waiting.difference_update(self.done)
        work.record_result(run, RunResult(run.request, run=f"r{claim}", status="success", seconds=0.0, adopted=adopted))

    def arrive(self):
        """Another day is over, and its input there."""
        day = int(self.story.now[-2:])
        self.story.now = f"2025-01-{day + 1:02}"
        key = f"2025-01-{day:02}"
        self.story.observed("s", key)
        keys = set(self.story.project.assets["a"].partitioning.keys(self.parse(key)))
        self.came |= keys
        self.waiting |= keys

    def parse(self, text):
        return self.story.project.assets["a"].partitioning.parse(text)


ranges = st.tuples(st.integers(FIRST, LAST), st.integers(FIRST, LAST)).map(
    lambda pair: "..".join(f"2025-01-{day:02}" for day in sorted(pair))
)


@settings(max_examples=examples(60), deadline=None)
@given(
    schedule=st.sampled_from(sorted(SCHEDULES)),
    stores=st.booleans(),
    cap=st.integers(1, 4),
    force=st.booleans(),
    asked=ranges,
    store=st.sampled_from(["", ",be"]),
    newest_first=st.booleans(),
    max_runs=st.none() | st.integers(1, 3),
    kills=st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), max_size=3),
    arrivals=st.sets(st.integers(0, 6), max_size=3),
)
def test_each_partition_is_computed_as_often_as_it_was_asked(  # noqa: PLR0913, PLR0917  a world of its own
    schedule, stores, cap, force, asked, store, newest_first, max_runs, kills, arrivals
):
    story = make_story(schedule=schedule, stores=stores, cap=cap, computed=force)
    it = Simulated(story)
    partitions = it.parse(asked + (store if stores else ""))

    keys = list(story.project.assets["a"].partitioning.keys(partitions))

    def command():
        return BackfillWork(
            story.project.assets["a"], partitions, force=force, newest_first=newest_first, max_runs=max_runs
        )

    it.drive(command(), kill_at=kills[0][0] if kills else None, landed=bool(kills) and kills[0][1], arrivals=arrivals)
    for kill_at, landed, tick_next in [*kills[1:], *[(None, False, False)] * 12]:
        if tick_next:
            it.drive(DueWork())
        if set(keys) <= set(it.done) and not story.state.assets["a"].chain:
            break
        story.state = decode(encode(story.state), journal_id="journal")  # another driver reads what was written
        before = len(it.order)
        it.drive(command(), kill_at=kill_at, landed=landed, arrivals=arrivals)
        runs = [kind for kind, _ in it.order[before:]].count("backfill")
        assert max_runs is None or runs <= max_runs + 1  # one more is another driver's, which this one settled
    assert {key: it.done[key] for key in keys} == dict.fromkeys(keys, 1)
    came = it.came
    assert not force or set(it.done) <= {*keys, *came}
    assert set(it.done.values()) == {1}
    if schedule == "default":
        assert it.most <= 1
        it.drive(DueWork())
        assert {day: it.done[day] for day in came} == dict.fromkeys(came, 1)
    assert not story.state.assets["a"].redo_requests


def test_a_long_backfill_beside_an_hourly_schedule_takes_turns_with_it():
    hours = [f"2025-01-{day:02}T{hour:02}" for day in (1, 2, 3, 4) for hour in range(24)]
    story = Story(
        project(source("s", by="hour"), asset("a", "s", by="hour", strategy=DateRange(max_partitions_per_run=4))),
        now="2025-01-05",
    )
    story.observed("s", f"{hours[0]}..{hours[-1]}")
    story.run_all()
    made = story.project.assets["a"]
    work, seen = BackfillWork(made, made.partitioning.parse(f"{hours[0]}..{hours[-1]}"), force=True), []
    story.add(*work.begin(story.context()))
    for hour in range(60):
        runs = work.plan(story.context()).runs
        if not runs:
            break
        story.succeed("a", story.claim(runs[0]))
        work.record_result(runs[0], RunResult(runs[0].request, run="r", status="success", seconds=60.0))
        seen.append(runs[0].kind)
        if hour < 20:
            story.now = f"2025-01-05T{hour + 1:02}:00"
            story.observed("s", f"2025-01-05T{hour:02}")
    assert seen == ["backfill", "scheduled"] * 11 + ["backfill"] * 13
    assert seen.count("backfill") == 24


class TestARequest:
    def make_backfill(self, story, text="2025-01-01..2025-01-06", **more):
        made = story.project.assets["a"]
        work = BackfillWork(made, made.partitioning.parse(text), force=True, **more)
        if entries := work.begin(story.context()):
            story.add(*entries)
        return work

    def one_run(self, story, work):
        run = work.plan(story.context()).runs[0]
        story.succeed("a", story.claim(run))
        work.record_result(run, RunResult(run.request, run="r", status="success", seconds=1.0))
        return story.keys("a", run.partitions)

    def test_that_lost_its_driver_is_in_the_plan_and_is_gone_on_with_by_the_next(self):
        story = make_story()
        work = self.make_backfill(story)
        self.one_run(story, work)
        (run,) = story.plan().runs
        assert (run.kind, story.keys("a", run.partitions)) == ("backfill", ["2025-01-03..2025-01-04"])
        assert run.reason == "backfill of 2 partitions, asked 2025-01-01T00:00Z"
        assert [story.keys("a", run.partitions) for run in story.run_all()] == [
            ["2025-01-03..2025-01-04"],
            ["2025-01-05..2025-01-06"],
        ]
        assert all(reason.startswith("up to date") for reason in story.waits("a"))

    def test_comes_after_what_is_due(self):
        story = make_story()
        self.make_backfill(story)
        story.now = "2025-01-10"
        story.observed("s", "2025-01-09")
        assert [(run.kind, story.keys("a", run.partitions)) for run in story.run_all()] == [
            ("scheduled", ["2025-01-09"]),
            ("backfill", ["2025-01-01..2025-01-02"]),
            ("backfill", ["2025-01-03..2025-01-04"]),
            ("backfill", ["2025-01-05..2025-01-06"]),
        ]

    def test_keeps_its_order(self):
        story = make_story()
        self.one_run(story, self.make_backfill(story, newest_first=True))
        assert [story.keys("a", run.partitions) for run in story.run_all()] == [
            ["2025-01-03..2025-01-04"],
            ["2025-01-01..2025-01-02"],
        ]

    def test_of_so_many_runs_is_left_to_who_asks_again(self):
        story = make_story()
        work = self.make_backfill(story, max_runs=1)
        self.one_run(story, work)
        plan = work.plan(story.context())
        assert plan.runs == ()
        assert [(item.reason, story.keys("a", item.partitions)) for item in plan.waiting] == [
            ("left by --max-runs 1; run the same command again to continue", ["2025-01-03..2025-01-06"])
        ]
        assert story.plan().runs == ()
        assert "4 partitions left of a backfill with --max-runs; run the same command again to continue" in story.waits(
            "a"
        )
        again = self.make_backfill(story)
        assert [note.text for note in again.plan(story.context()).notes] == [
            "continues the backfill requested at 2025-01-01T00:00Z: 4 partitions left"
        ]
        assert self.one_run(story, again) == ["2025-01-03..2025-01-04"]
        assert [story.keys("a", run.partitions) for run in story.run_all()] == [["2025-01-05..2025-01-06"]]

    def test_of_the_same_partitions_is_not_asked_twice_but_a_later_one_takes_over(self):
        story = make_story()
        self.one_run(story, self.make_backfill(story))
        entries = len(story.entries)
        self.make_backfill(story)
        assert len(story.entries) == entries
        self.make_backfill(story, "2025-01-05..2025-01-07")
        assert [story.keys("a", each.left) for each in story.state.assets["a"].redo_requests] == [
            ["2025-01-03..2025-01-04"],
            ["2025-01-05..2025-01-07"],
        ]

    def test_is_not_answered_by_a_run_that_was_claimed_before(self):
        story = make_story()
        story.observed("s", "2025-01-01")
        claim = story.claim(story.plan().runs[0])
        self.make_backfill(story, "2025-01-01")
        story.succeed("a", claim)
        assert [(run.kind, story.keys("a", run.partitions)) for run in story.plan().runs] == [
            ("backfill", ["2025-01-01"])
        ]

    def test_that_fails_is_tried_again_by_another_invocation(self):
        story = make_story()
        self.make_backfill(story, "2025-01-01")
        story.fail("a", story.claim(story.plan(invocation="i").runs[0]))
        assert story.plan(invocation="i").runs == ()
        assert "failed: boom" in story.waits("a", invocation="i")
        assert [story.keys("a", run.partitions) for run in story.plan(invocation="j").runs] == [["2025-01-01"]]

    def test_that_is_given_up_asks_for_nothing(self):
        story = make_story()
        self.make_backfill(story)
        story.add(BackfillEntry("a", NOTHING, story.state.assets["a"].redo_requests[0].left))
        assert story.plan().runs == ()
        assert story.state.assets["a"].redo_requests == ()

    def test_of_what_cannot_be_computed_asks_for_the_rest(self):
        story = make_story()
        self.make_backfill(story, "2024-12-30..2025-01-01")
        assert [story.keys("a", each.left) for each in story.state.assets["a"].redo_requests] == [["2025-01-01"]]

    def test_of_what_is_marked_as_done_asks_for_the_rest(self):
        story = make_story()
        self.make_backfill(story, "2025-01-01..2025-01-03")
        story.add(MarkEntry("a", "a", "done", days("2025-01-02"), "seen to", "ann"))
        assert [story.keys("a", run.partitions) for run in story.run_all()] == [["2025-01-01", "2025-01-03"]]

    def test_waits_while_the_asset_is_paused(self):
        from sparkassets.core.journal.entries import PauseEntry

        story = make_story()
        self.make_backfill(story)
        story.add(PauseEntry("a", paused=True))
        assert story.waits("a") == ["paused"]

    def test_holds_its_consumers_until_it_is_done(self):
        story = make_story()
        strategy = DateRange(max_partitions_per_run=2)
        story.change(source("s"), asset("a", "s", strategy=strategy), asset("b", "a", strategy=DateRange()))
        story.run_all()
        self.make_backfill(story, "2025-01-01..2025-01-03")
        assert [(run.asset, story.keys(run.asset, run.partitions)) for run in story.run_all()] == [
            ("a", ["2025-01-01..2025-01-02"]),
            ("a", ["2025-01-03"]),
            ("b", ["2025-01-01..2025-01-03"]),
        ]


def test_what_was_due_before_a_backfill_is_left_to_the_schedule():
    story = make_story(cap=1, computed=False)
    it = Simulated(story)
    it.drive(BackfillWork(story.project.assets["a"], it.parse("2025-01-05..2025-01-06"), newest_first=True))
    assert [story.keys("a", partitions) for _, partitions in it.order] == [["2025-01-06"], ["2025-01-05"]]


def test_partitions_side_by_side_are_asked_for_and_limited_likewise():
    story = Story(project(source("s"), asset("a", "s", strategy=EveryInstance())), now="2025-01-09")
    story.observed("s", "2025-01-01..2025-01-04")
    story.run_all()
    made = story.project.assets["a"]
    work = BackfillWork(
        made, made.partitioning.parse("2025-01-01..2025-01-04"), force=True, newest_first=True, max_runs=2
    )
    story.add(*work.begin(story.context()))
    first, second = work.plan(story.context(invocation="i")).runs
    assert [story.keys("a", run.partitions) for run in (first, second)] == [["2025-01-04"], ["2025-01-03"]]
    story.claim(first)
    assert [story.keys("a", run.partitions) for run in work.plan(story.context(invocation="i")).runs] == [
        ["2025-01-03"]
    ]
    story.succeed("a", story.claim(second))
    work.record_result(second, RunResult(second.request, run="r", status="success", seconds=1.0))
    assert work.plan(story.context(invocation="i")).runs == ()
    assert story.plan().runs == ()  # with --max-runs the rest is left to who asks again
    gone = [link.token for link in story.state.assets["a"].chain]
    again = BackfillWork(made, made.partitioning.parse("2025-01-01..2025-01-04"), force=True)
    story.add(*again.begin(story.context(gone_claims=gone)))
    found = [story.keys("a", run.partitions) for run in story.plan(gone_claims=gone).runs]
    assert found == [["2025-01-04"]]


def test_of_a_manual_asset_what_the_next_driver_completes_is_up_to_date():
    story = make_story(schedule="manual", computed=False)
    it = Simulated(story)
    work = BackfillWork(story.project.assets["a"], it.parse("2025-01-01"))
    it.drive(work, kill_at=0)
    it.drive(DueWork())
    assert it.done == {"2025-01-01": 1}
    again = BackfillWork(story.project.assets["a"], it.parse("2025-01-01"))
    again.begin(it.context())
    assert again.plan(it.context()).runs == ()


def test_what_comes_after_the_run_that_takes_over_is_named():
    story = make_story(computed=True)
    it = Simulated(story)
    work = BackfillWork(story.project.assets["a"], it.parse("2025-01-01..2025-01-08"), force=True)
    it.drive(work, kill_at=1)
    waits = story.waits("a", gone_claims=it.gone)
    assert any(each.startswith("left for the next runs: backfill of ") for each in waits), waits
