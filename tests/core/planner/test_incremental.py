"""Planning from what changed gives the plan that planning from nothing gives, whatever happened in between."""

import threading
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner import incremental_planner
from sparkassets.core.planner.explain.partition_marks import MarkRequest, build_mark_entries
from sparkassets.core.planner.incremental_planner import IncrementalPlanner
from sparkassets.core.planner.planner import make_plan
from sparkassets.core.spec.model import InletSpec, Schedule
from sparkassets.core.validations import RuleVerdict
from sparkassets.errors import InputError
from tests.builders import Story, asset, at, clock, project, source
from tests.depth import examples


def timed(text):
    return Schedule(clock(text), None, text)


PROJECT = project(
    source("raw"),
    source("hourly", by="hour"),
    source("dim", by=None),
    asset("daily", "raw", "dim"),
    asset("rolled", "hourly"),
    asset("joined", "daily", "rolled"),
    asset("report", "joined", by=None, schedule="@daily & joined | dim"),
    asset("nightly", "joined", schedule=timed("0 3 * * *")),
    asset("dump", by=None, schedule=timed("@hourly")),
    asset("late", InletSpec("raw", "", None, tolerance=Duration(seconds=3600)), by=None, schedule="raw"),
    asset("patient", InletSpec("hourly", "", None, tolerance=Duration.parse("5h")), "raw", schedule="hourly & raw"),
    asset("fresh", InletSpec("raw", "", None, fresh_within=Duration.parse("1d")), "dim"),
    asset("aligned", InletSpec("dump", "", None, aligned=True), by=None, schedule=timed("30 * * * *")),
    asset("quiet", InletSpec("dim", "", None, settle_seconds=7200), by=None, schedule="dim"),
)
COMPUTED = [name for name, item in PROJECT.assets.items() if item.source is None]

steps = st.one_of(
    st.tuples(st.just("pass"), st.integers(1, 40)),
    st.tuples(st.just("raw"), st.integers(1, 9)),
    st.tuples(st.just("hourly"), st.integers(1, 9)),
    st.tuples(st.just("dim"), st.just(0)),
    st.tuples(st.just("run"), st.sampled_from(COMPUTED)),
    st.tuples(st.just("fail"), st.sampled_from(COMPUTED)),
    st.tuples(st.just("claim"), st.sampled_from(COMPUTED)),
    st.tuples(st.just("withhold"), st.sampled_from(COMPUTED)),
    st.tuples(st.just("accept"), st.sampled_from(COMPUTED)),
)


def do(story, what, which, hour):
    if what == "raw":
        story.observed(what, f"2025-01-{which:02d}")
    elif what == "hourly":
        story.observed(what, f"2025-01-{which:02d}T00..2025-01-{which:02d}T23")
    elif what == "dim":
        story.observed(what)
    elif what == "accept":
        with suppress(InputError):  # nothing of it is withheld
            asked = MarkRequest(PROJECT.assets[which], EVERYTHING, "accept", "why", "ann")
            story.add(*build_mark_entries(story.context(invocation="i"), asked))
    elif what in ("run", "fail", "claim", "withhold"):
        run = next((run for run in make_plan(story.context(invocation="i")).runs if run.asset == which), None)
        if run is not None:
            token = story.claim(run)
            if what == "run":
                story.succeed(which, token)
            elif what == "fail":
                story.fail(which, token)
            elif what == "withhold":
                withhold(story, run, token)


def withhold(story, run, token):
    """The last of the run's partitions is withheld, and rests from then on."""
    partitioning = PROJECT.assets[run.asset].partitioning
    partitions = run.partitions if run.partitions.is_everything else [*partitioning.each_partition(run.partitions)][-1]
    story.succeed(
        run.asset, token, withheld=partitions, verdicts=(RuleVerdict("rule", "fail", "withheld", partitions, 9, 1),)
    )
    again = [each for each in make_plan(story.context(invocation="i")).runs if each.asset == run.asset]
    if not run.partitions.is_everything:
        assert not any(each.partitions.overlaps(partitions) for each in again)
    assert story.state.assets[run.asset].withheld


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(steps, max_size=25), st.sampled_from([0, 5]))
def test_equal_to_planning_from_nothing(actions, ahead):
    """``ahead``: hours that the planner's time is ahead of the clock."""
    story, planner, queueing = Story(PROJECT), IncrementalPlanner(PROJECT), IncrementalPlanner(PROJECT)
    now = at("2025-01-03")
    for what, which in actions:
        if what == "pass":
            now += which * 1800
        story.now, story.clock = _iso(now + ahead * 3600), _iso(now)
        do(story, what, which, now)
        context = story.context(invocation="i")
        found = make_plan(replace(context, decisions={}))
        queue = queueing.queue_runs(replace(context, decisions={}))
        assert (queue.count, queue.waiting) == (len(found.runs), sum(not item.quiet for item in found.waiting))
        assert tuple(queue.runs) == found.runs
        assert planner.plan(context) == found


def decisions(monkeypatch):
    """Names of the assets decided from now on, in this thread: drivers that another test left may still plan."""
    names, here, real = [], threading.get_ident(), incremental_planner.decide_asset

    def count_decision(context, item):
        if threading.get_ident() == here:
            names.append(item.name)
        return real(context, item)

    monkeypatch.setattr(incremental_planner, "decide_asset", count_decision)
    return names


def test_only_what_an_event_reaches_is_decided_again(monkeypatch):
    story, planner = Story(PROJECT, now="2025-01-03"), IncrementalPlanner(PROJECT)
    planner.plan(story.context(invocation="i"))
    decided = decisions(monkeypatch)
    planner.plan(story.context(invocation="i"))
    assert not decided
    story.now = "2025-01-03T00:00:01"
    planner.plan(story.context(invocation="i"))
    assert set(decided) == {"dump"}  # it is due, and its run holds the time of the plan
    story.run("dump")
    planner.plan(story.context(invocation="i"))
    decided.clear()
    story.observed("dim")
    planner.plan(story.context(invocation="i"))
    assert set(decided) == {"dim", "daily", "report", "fresh", "quiet"}


def test_runs_of_a_wave_are_decided_when_they_are_taken(monkeypatch):
    many = [f"a{n}" for n in range(20)]
    spec = project(source("s", by=None), *(asset(name, "s", by=None) for name in many))
    story, planner = Story(spec, now="2025-01-03"), IncrementalPlanner(spec)
    story.observed("s")
    planner.queue_runs(story.context(invocation="i"))
    decided, ran = decisions(monkeypatch), []
    for second in range(10):
        story.now = f"2025-01-03T00:00:{second + 1:02}"
        queue = planner.queue_runs(story.context(invocation="i"))
        assert queue.count == len(many) - len(ran)
        for run in islice(queue.runs, 2):
            assert run.request.schedule_date == at(story.now)
            story.succeed(run.asset, story.claim(run))
            ran.append(run.asset)
    assert ran == many
    assert len(decided) <= 2 * len(many)  # when it is taken, and after it ran


def test_only_timetables_whose_next_instant_has_come_are_asked(monkeypatch):
    crons = {f"c{minute}": f"{minute} * * * *" for minute in range(60)}
    spec = project(*(asset(name, by=None, schedule=timed(cron)) for name, cron in crons.items()))
    story, planner = Story(spec, now="2025-01-03T12:30:30"), IncrementalPlanner(spec)
    while runs := planner.plan(story.context(invocation="i")).runs:
        for run in runs:
            story.succeed(run.asset, story.claim(run))
    asked = decisions(monkeypatch)
    for minute in range(31, 60):
        story.now = f"2025-01-03T12:{minute}:30"
        (run,) = planner.plan(story.context(invocation="i")).runs
        assert asked == [run.asset] == [f"c{minute}"]
        story.succeed(run.asset, story.claim(run))
        planner.plan(story.context(invocation="i"))
        asked.clear()


def _iso(token):
    from sparkassets.core.instants import format_instant, from_unix

    return format_instant(from_unix(token))
