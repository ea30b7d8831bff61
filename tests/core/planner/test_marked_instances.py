"""Marks of single instances of an asset that has a run for each interval or event (``every_instance``)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.journal.table_findings import TableFinding, TargetEntry
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.explain.explanation import explain_asset
from sparkassets.core.planner.explain.partition_marks import MarkRequest, build_mark_entries, mark_asset
from sparkassets.core.spec.model import InletSpec
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.writes import AppendWrite, UpsertWrite
from sparkassets.errors import InputError
from tests.builders import Story, asset, at, multi, project, source, timed
from tests.core.planner.test_marks import check

DAILY = {"cron": "0 0 * * *", "start": "2025-01-10"}


def days(first: str, last: str = "") -> tuple[int, int]:
    """The day of January, or the interval from the one to the other."""
    return at(f"2025-01-{first}"), at(f"2025-01-{last or int(first) + 1:0>2}")


def make_story(*more, write=None, **given) -> Story:
    """A run for each day since the 10th of January, of which three are due; and what reads them."""
    made = asset(
        "a", by=None, schedule=timed({**DAILY, **given}), strategy=EveryInstance(), write=write or UpsertWrite(("id",))
    )
    return Story(project(made, asset("b", "a", by=None), *more), now="2025-01-13")


def say(story: Story, kind: str, asked: tuple[int, int], name: str = "a", **more) -> MarkEntry | None:
    """Marks; returns what was recorded."""
    marking = MarkRequest(story.project.assets[name], EVERYTHING, kind, "as told", "ann", asked)
    entry = mark_asset(story.context(**more), marking)
    if entry is not None:
        story.add(entry)
    check(story)
    return entry


def due(story: Story, name: str = "a") -> list[tuple[int, int] | None]:
    return [run.interval for run in story.plan().runs if run.asset == name]


def refused(story: Story, kind: str, asked: tuple[int, int], name: str = "a", **more) -> tuple[str, str | None]:
    with pytest.raises(InputError) as caught:
        say(story, kind, asked, name, **more)
    return str(caught.value.args[0]), caught.value.hint


class TestOfTicks:
    @pytest.mark.parametrize("kind", ["done", "skip"])
    @pytest.mark.parametrize("day", ["10", "11", "12"])
    def test_only_that_one_is_used_up(self, kind, day):
        story = make_story()
        entry = say(story, kind, days(day))
        others = [days(each) for each in ("10", "11", "12") if each != day]
        assert (entry.instance, due(story)) == (days(day), others)
        assert bool(entry.made_present) == (kind == "done")
        for _ in others:
            story.succeed("a", story.claim(next(run for run in story.plan().runs if run.asset == "a")))
        assert due(story) == []
        story.now = "2025-01-14"
        assert due(story) == [days("13")]

    def test_it_is_named_by_where_it_starts(self):
        story = make_story()
        assert say(story, "skip", (at("2025-01-11"), at("2025-01-11"))).instance == days("11")

    def test_the_mark_is_told_until_its_turn_has_passed_and_explained_ever_after(self):
        story = make_story()
        say(story, "skip", days("11"))
        span = "2025-01-11T00:00Z..2025-01-12T00:00Z"
        said = f"{span} marked as skipped by ann: as told"
        assert f"{said}; `sparkassets mark a --interval {span} --missing` undoes it" in story.waits("a")
        assert f"instances\n    {said} (at 2025-01-01T00:00Z)" in str(
            explain_asset(story.context(), story.project.assets["a"])
        )
        story.run_all()
        assert not [each for each in story.waits("a") if "skipped" in each]
        assert f"{said} (at" in str(explain_asset(story.context(), story.project.assets["a"]))

    def test_the_next_one_is_told_with_what_is_to_come_skipped(self):
        story = make_story()
        say(story, "skip", days("13"))
        story.run_all()
        assert story.waits("a")[0].endswith("not before 2025-01-15T00:00Z")
        story.now = "2025-01-14"
        assert due(story) == []
        story.now = "2025-01-15"
        assert due(story) == [days("14")]

    def test_what_is_still_to_come_is_skipped_but_not_done(self):
        story = make_story()
        say(story, "skip", days("14"))
        story.now = "2025-01-16"
        assert due(story) == [days(each) for each in ("10", "11", "12", "13", "15")]
        called = "a 2025-01-17T00:00Z..2025-01-18T00:00Z"
        assert refused(story, "done", days("17")) == (
            f"{called} cannot be done: it is not due before 2025-01-18T00:00Z",
            None,
        )

    def test_it_is_taken_back_while_it_is_ahead(self):
        story = make_story()
        say(story, "skip", days("11"))
        say(story, "missing", days("11"))
        assert due(story) == [days(each) for each in ("10", "11", "12")]
        assert story.state.assets["a"].instance_marks == ()
        message, hint = refused(story, "missing", days("12"))
        assert message == (
            "a 2025-01-12T00:00Z..2025-01-13T00:00Z cannot be missing: only a marked instance in the future can"
        )
        assert hint == "`sparkassets backfill a --interval A..B` computes one again"

    def test_what_appends_is_wanted_again_only_where_it_was_skipped(self):
        story = make_story(write=AppendWrite())
        say(story, "skip", days("11"))
        assert say(story, "missing", days("11"))
        say(story, "done", days("11"))
        assert refused(story, "missing", days("11"))[0] == ("asset 'a' appends: its rows cannot be recomputed")

    def test_the_same_again_is_no_news_and_another_word_takes_its_place(self):
        story = make_story()
        say(story, "skip", days("11"))
        assert say(story, "skip", days("11")) is None
        assert say(story, "done", days("11")).made_present.is_everything
        assert [each.kind for each in story.state.assets["a"].instance_marks] == ["done"]
        assert due(story) == [days("10"), days("12")]

    def test_a_failure_of_the_first_is_forgotten_and_the_others_go_on(self):
        story = make_story()
        story.fail("a", story.claim(story.plan().runs[0]))
        say(story, "skip", days("11"))
        assert story.plan(invocation="i").runs == ()
        say(story, "skip", days("10"))
        assert [run.interval for run in story.plan(invocation="i").runs] == [days("12")]
        assert due(story) == [days("12")]

    def test_more_are_due_than_a_plan_names(self):
        story = make_story(start="2024-01-01")
        say(story, "skip", days("12"))
        assert len(due(story)) == 100
        for _ in range(4):
            for run in [run for run in story.plan().runs if run.asset == "a"]:
                story.succeed("a", story.claim(run))
        assert (due(story), story.state.assets["a"].cursor) == ([], days("11"))

    def test_what_was_passed_is_not_due(self):
        story = make_story()
        story.run_all()
        assert refused(story, "skip", days("11")) == (
            "a 2025-01-11T00:00Z..2025-01-12T00:00Z is not due: the asset already ran up to 2025-01-13T00:00Z",
            "`sparkassets backfill a --interval A..B` computes one again",
        )

    def test_what_is_no_interval_of_the_schedule_is_refused_with_the_one_near_it(self):
        story = make_story()
        asked = at("2025-01-11T06:00"), at("2025-01-11T09:00")
        assert refused(story, "skip", asked) == (
            "a 2025-01-11T06:00Z..2025-01-11T09:00Z is not an interval of its schedule 0 0 * * *",
            "the next interval is 2025-01-11T00:00Z..2025-01-12T00:00Z",
        )
        assert refused(story, "skip", (asked[0], asked[0]))[0].startswith("a 2025-01-11T06:00Z is not an interval")

    def test_those_at_an_instant_are_named_by_it(self):
        story = Story(
            project(
                asset(
                    "a",
                    by=None,
                    schedule=timed({"at": "0 6 * * *", "start": "2025-01-10"}),
                    strategy=EveryInstance(),
                    write=AppendWrite(),
                )
            ),
            now="2025-01-13",
        )
        six = at("2025-01-11T06:00")
        say(story, "skip", (six, six))
        assert due(story) == [(at(f"2025-01-{day}T06:00"),) * 2 for day in ("10", "12")]
        assert any("--interval 2025-01-11T06:00Z --missing" in each for each in story.waits("a"))

    def test_only_the_newest_is_one_where_others_are_left_out(self):
        story = make_story(catchup="latest")
        assert refused(story, "skip", days("11"))[0].endswith("is not due")
        say(story, "skip", days("12"))
        assert due(story) == []

    def test_what_is_lost_is_due_again_but_for_what_is_skipped(self):
        story = make_story()
        story.now = "2025-01-12"
        say(story, "done", days("10"))
        say(story, "skip", days("11"))
        story.add(TargetEntry("a", "a", TableFinding("gone", "its table is gone", EVERYTHING)))
        assert due(story) == [days("10")]

    def test_a_run_that_is_not_settled_comes_first(self):
        story = make_story()
        claim = story.claim(story.plan().runs[0])
        assert "a cannot be marked: a-" in refused(story, "skip", days("12"))[0]
        assert "never ended" in refused(story, "skip", days("12"), gone_claims={claim})[0]

    def test_those_who_are_aligned_to_it_read_the_run_before_one_that_is_skipped(self):
        reader = asset(
            "c", InletSpec("a", "", None, aligned=True), by=None, schedule=timed({**DAILY, "catchup": "all"})
        )
        story = make_story(reader)
        story.succeed("a", story.claim(story.plan().runs[0]))
        say(story, "done", days("12"))
        assert [each.start for each in story.state.assets["a"].instances] == [days("10")[0], days("12")[0]]
        say(story, "skip", days("11"))
        story.now = "2025-01-13"
        reads = [run.request.pins["a"].seq for run in story.run_all() if run.asset == "c"]
        first, _, done = story.state.assets["a"].instances
        assert reads == [first.seq, first.seq, done.seq]

    def test_those_who_are_aligned_to_it_wait_again_once_a_skip_is_taken_back(self):
        reader = asset(
            "c", InletSpec("a", "", None, aligned=True), by=None, schedule=timed({**DAILY, "catchup": "all"})
        )
        story = make_story(reader)
        story.succeed("a", story.claim(story.plan().runs[0]))
        say(story, "skip", days("12"))
        say(story, "missing", days("12"))
        assert not any(each.skipped for each in story.state.assets["a"].instances)


@pytest.mark.parametrize("asked", [None, (at("2025-01-10"), at("2025-01-10"))])
def test_what_runs_once_is_skipped(asked):
    made = asset("a", by=None, schedule=timed({"cron": "@once", "start": "2025-01-10"}), strategy=EveryInstance())
    story = Story(project(replace(made, write=AppendWrite())), now="2025-01-13")
    assert due(story) == [(at("2025-01-10"), at("2025-01-10"))]
    assert say(story, "skip", asked)
    assert due(story) == []
    assert story.waits("a")[0].startswith("@once: marked as done")


class TestOfEvents:
    def make_story(self) -> Story:
        """An asset that has a run for each update of another, which ran for two days and was updated by hand once."""
        made = asset("a", "s", by=None, strategy=EveryInstance(), write=AppendWrite())
        upstream = asset("s", by=None, schedule=timed(DAILY), strategy=EveryInstance(), write=AppendWrite())
        story = Story(project(upstream, made), now="2025-01-12")
        for _ in range(2):
            story.succeed("s", story.claim(next(run for run in story.plan().runs if run.asset == "s")))
        return story

    @pytest.mark.parametrize("kind", ["done", "skip"])
    @pytest.mark.parametrize(("day", "other"), [("10", "11"), ("11", "10")])
    def test_only_that_one_is_used_up(self, kind, day, other):
        story = self.make_story()
        assert due(story) == [days("10"), days("11")]
        assert say(story, kind, days(day)).instance == days(day)
        assert due(story) == [days(other)]
        assert say(story, kind, days(day)) is None
        story.run_all()
        assert due(story) == []
        assert story.state.assets["a"].partly_used == {}

    def test_only_its_own_failure_is_forgotten(self):
        story = self.make_story()
        first, second = story.plan().runs
        story.fail("a", story.claim(first))
        story.fail("a", story.claim(second))
        say(story, "skip", days("10"))
        assert [each.events for each in story.state.assets["a"].failed] == [tuple(ref.seq for ref in second.events)]
        assert [run.interval for run in story.plan(invocation="later").runs] == [days("11")]

    def test_what_is_not_due_is_refused_with_what_is(self):
        story = self.make_story()
        message, hint = refused(story, "skip", days("12"))
        assert message == "a 2025-01-12T00:00Z..2025-01-13T00:00Z is not due"
        assert hint == (
            "these intervals are due: 2025-01-10T00:00Z..2025-01-11T00:00Z and 2025-01-11T00:00Z..2025-01-12T00:00Z"
        )
        story.run_all()
        assert refused(story, "skip", days("10"))[0].endswith("is not due: no interval is")

    def test_events_without_an_interval_cannot_be_named(self):
        made = asset("a", "s", by=None, strategy=EveryInstance(), write=AppendWrite())
        story = Story(project(source("s", by=None), made), now="2025-01-12")
        story.observed("s")
        message, hint = refused(story, "skip", days("10"))
        assert message.endswith("is not due: the asset's pending events have no data interval")
        assert hint == "without --interval the mark covers everything that is due"


def test_assets_without_instances_have_none_to_name():
    story = Story(project(source("s", by=None), asset("a", "s", by=None), asset("m", by=None)), now="2025-01-12")
    message, hint = refused(story, "skip", days("10"))
    assert message == "asset 'a' has no instances that --interval could name"
    assert hint == (
        "only `strategy: every_instance` has instances; without --interval the mark covers everything that is due"
    )


def test_outlets_have_the_event_and_not_the_mark_of_all():
    writer = asset("m", by=None, schedule=timed(DAILY), strategy=EveryInstance(), write=AppendWrite())
    story = Story(project(*multi(writer, "train"), asset("b", "train", by=None)), now="2025-01-13")
    marking = MarkRequest(story.project.assets["m"], EVERYTHING, "done", "as told", "ann", days("10"))
    story.add(*build_mark_entries(story.context(), marking))
    check(story)
    assert due(story, "m") == [days("11"), days("12")]
    assert story.state.dataset(story.project.assets["train"].uri).seq > 0
    assert (story.state.assets["train"].marks, story.state.assets["m"].marks) == ((), ())
