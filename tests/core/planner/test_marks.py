"""Marks: what people say of partitions without a run, and what the plan makes of it."""

from dataclasses import replace

import pytest

from sparkassets.core.instants import Duration
from sparkassets.core.journal.codec import decode, encode, from_row
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.state import State
from sparkassets.core.journal.table_findings import TableFinding, TargetEntry
from sparkassets.core.partitions import EVERYTHING, PartitionSet, WindowMapping
from sparkassets.core.planner.batch.backfill import plan_backfill
from sparkassets.core.planner.explain.explanation import explain_asset
from sparkassets.core.planner.explain.partition_marks import MarkRequest, check_reason, mark_asset
from sparkassets.core.planner.explain.status import asset_status, partition_grid
from sparkassets.core.planner.incremental_planner import IncrementalPlanner
from sparkassets.core.spec.model import InletSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.strategies import DateRange, EveryInstance
from sparkassets.core.writes import AppendWrite, UpsertWrite
from sparkassets.errors import InputError
from tests.builders import Story, asset, at, days, project, source, timed

WEEK = "2025-01-06..2025-01-12"
REGIONS = {"region": ("de", "nl")}


def say(story: Story, name: str, kind: str, *keys: str, reason: str = "as told", **more) -> bool:
    """Marks; returns whether that was news."""
    spec = story.project.assets[name]
    partitions = PartitionSet.union(spec.partitioning.parse(key) for key in keys) if keys else EVERYTHING
    entry = mark_asset(story.context(**more), MarkRequest(spec, partitions, kind, reason, "ann"))
    if entry is not None:
        story.add(entry)
    check(story)
    return entry is not None


def check(story: Story) -> None:
    """What a snapshot holds, and what the whole journal does, is what is known."""
    assert decode(encode(story.state), journal_id="journal") == replace(
        story.state,
        consumers=decode(encode(story.state), journal_id="journal").consumers,
        triggered=decode(encode(story.state), journal_id="journal").triggered,
    )
    again = fold(State("journal"), map(from_row, story.rows), commit=story.state.commit)
    assert again.assets == story.state.assets
    assert again.datasets == story.state.datasets


def statuses(story: Story, name: str) -> dict[str, str]:
    return dict(partition_grid(story.context(), story.project.assets[name]))


@pytest.fixture
def story():
    """A source, what is computed from it by day, and by week from that; a week of it came."""
    story = Story(project(source("s"), asset("a", "s"), asset("w", "a", by="week")), now="2025-01-13")
    story.observed("s", WEEK)
    return story


class TestDone:
    def test_it_is_there_and_its_readers_go_on(self, story):
        assert say(story, "a", "done", "2025-01-06..2025-01-11")
        assert story.due() == {"a": ["2025-01-12"]}
        assert "2025-W02: waits for a 2025-01-12, which runs first" in [
            f"{story.keys('w', item.partitions)[0]}: {item.reason}"
            for item in story.plan().waiting
            if item.asset == "w"
        ]
        story.run("a")
        assert story.due() == {"w": ["2025-W02"]}

    def test_a_partition_that_failed_is_accepted(self, story):
        story.fail("a", story.claim(story.plan().runs[0]))
        say(story, "a", "done", "2025-01-06", reason="loaded by hand")
        assert statuses(story, "a")["2025-01-06"] == "current"
        assert story.due() == {"a": ["2025-01-07..2025-01-12"]}
        assert "marked as done by ann: loaded by hand" in repr(
            explain_asset(story.context(), story.project.assets["a"])
        )

    def test_it_is_stale_once_its_inlet_changes(self, story):
        say(story, "a", "done", WEEK)
        assert story.due() == {"w": ["2025-W02"]}
        story.observed("s", "2025-01-07")
        assert story.due() == {"a": ["2025-01-07"]}

    def test_what_is_current_is_no_news(self, story):
        story.run_all()
        assert not say(story, "a", "done", WEEK)

    def test_what_is_stale_is_accepted_without_news_to_its_readers(self, story):
        story.run_all()
        story.observed("s", "2025-01-07")
        assert say(story, "a", "done", WEEK)
        assert story.due() == {}

    def test_what_is_not_over_cannot_be_done(self, story):
        with pytest.raises(InputError, match="2025-01-13 of 'a' cannot be done: its interval is not over"):
            say(story, "a", "done", "2025-01-13")


class TestMissing:
    def test_it_is_computed_again_and_then_what_reads_it(self, story):
        story.run_all()
        assert say(story, "a", "missing", "2025-01-08", reason="wrong rates")
        (run,) = story.plan().runs
        assert (story.keys("a", run.partitions), run.reason) == (
            ["2025-01-08"],
            "1 partition missing, 1 marked as missing by ann: wrong rates",
        )
        story.run("a")
        assert story.due() == {"w": ["2025-W02"]}
        story.run("w")
        assert story.state.assets["a"].marks == ()

    def test_it_waits_for_no_tick(self):
        story = Story(project(source("s"), asset("a", "s", schedule=timed("@weekly"))), now="2025-01-13")
        story.observed("s", WEEK)
        story.run_all()
        say(story, "a", "missing", "2025-01-08")
        assert story.due() == {"a": ["2025-01-08"]}

    def test_it_waits_for_no_event(self):
        story = Story(project(source("s"), asset("a", "s", schedule="s & x-go://now")), now="2025-01-13")
        story.observed("s", WEEK)
        story.event("x-go://now")
        story.run_all()
        say(story, "a", "missing", "2025-01-08")
        assert story.due() == {"a": ["2025-01-08"]}
        assert story.waits("a") == []

    def test_what_never_was_computed_is_missing_already(self, story):
        assert not say(story, "a", "missing", WEEK)

    def test_the_first_partition_of_an_asset_without_inlets_stays_wanted(self):
        story = Story(project(asset("a", schedule="x-go://now")), now="2025-01-08")
        story.event("x-go://now")
        story.run_all()
        story.now = "2025-01-09"
        story.event("x-go://now")
        story.run_all()
        say(story, "a", "missing", "2025-01-07")
        assert story.due() == {"a": ["2025-01-07"]}

    def test_a_run_that_was_begun_before_does_not_answer_it(self, story):
        story.run_all()
        story.observed("s", "2025-01-08")
        claim = story.claim(story.plan().runs[0])
        assert say(story, "a", "missing", "2025-01-08", gone_claims={claim})
        story.succeed("a", claim)
        assert statuses(story, "a")["2025-01-08"] == "missing"
        assert not story.state.dataset("a").coverage.overlaps(days("2025-01-08"))
        story.run_all()
        assert statuses(story, "a")["2025-01-08"] == "current"

    def test_what_was_made_of_it_and_is_stale_waits_if_it_cannot_be_computed(self):
        story = Story(project(source("s"), source("t"), asset("a", "s"), asset("b", "a", "t")), now="2025-01-13")
        story.observed("t", "2025-01-08")
        say(story, "a", "done", "2025-01-08")
        story.run("b")
        say(story, "a", "missing", "2025-01-08")
        assert statuses(story, "b")["2025-01-08"] == "current"
        story.observed("t", "2025-01-08")
        assert statuses(story, "b")["2025-01-08"] == "stale"
        assert (story.due(), story.waits("b")) == ({}, ["waits for a: no data yet"])
        story.observed("s", "2025-01-08")
        story.run_all()
        assert statuses(story, "b")["2025-01-08"] == "current"

    def test_what_appends_cannot_be_computed_again(self):
        story = Story(project(source("s"), asset("a", "s", write=AppendWrite(), strategy=EveryInstance())))
        with pytest.raises(InputError, match="asset 'a' appends: its rows cannot be recomputed"):
            say(story, "a", "missing", "2025-01-08")


class TestSkip:
    def test_nobody_wants_it_and_nobody_waits_for_it(self, story):
        say(story, "a", "skip", "2025-01-12", reason="the shop was closed")
        assert story.due() == {"a": ["2025-01-06..2025-01-11"]}
        assert "marked as skipped by ann: the shop was closed; `sparkassets mark a --missing` undoes it" in story.waits(
            "a"
        )
        story.run("a")
        (run,) = story.plan().runs
        assert (run.asset, run.reason) == ("w", "1 partition missing, without a 2025-01-12: skipped")
        story.run("w")
        assert story.due() == {}
        assert statuses(story, "a")["2025-01-12"] == "skipped"
        assert asset_status(story.context(), story.project.assets["a"]).skipped == 1

    def test_what_is_made_of_nothing_else_is_not_wanted_either(self):
        assets = [source("s"), asset("a", "s"), asset("b", "a"), asset("w", "b", by="week")]
        story = Story(project(*assets), now="2025-01-13")
        story.observed("s", WEEK)
        planner = IncrementalPlanner(story.project)
        planner.plan(story.context())
        say(story, "a", "skip", "2025-01-08")
        assert planner.plan(story.context()) == story.plan()
        assert [(run.asset, story.keys(run.asset, run.partitions)) for run in story.run_all()] == [
            ("a", ["2025-01-06..2025-01-07", "2025-01-09..2025-01-12"]),
            ("b", ["2025-01-06..2025-01-07", "2025-01-09..2025-01-12"]),
            ("w", ["2025-W02"]),
        ]
        assert statuses(story, "b")["2025-01-08"] == "skipped"
        assert "not wanted: its input is skipped in a" in story.waits("b")
        assert planner.plan(story.context()) == story.plan()

    def test_what_is_there_stays_and_is_not_computed_again(self, story):
        story.run_all()
        say(story, "a", "skip", "2025-01-08")
        story.observed("s", "2025-01-07..2025-01-08")
        assert story.due() == {"a": ["2025-01-07"]}
        assert "without" not in story.plan().runs[0].reason

    def test_it_is_taken_back(self, story):
        say(story, "a", "skip", WEEK)
        assert story.due() == {}
        assert not say(story, "a", "skip", "2025-01-08")
        assert say(story, "a", "missing", "2025-01-08")
        assert story.due() == {"a": ["2025-01-08"]}

    def test_by_force_it_is_computed_and_wanted_again(self, story):
        say(story, "a", "skip", "2025-01-08")
        spec = story.project.assets["a"]
        partitions = spec.partitioning.parse("2025-01-07..2025-01-08")
        soft, hard = (plan_backfill(story.context(), spec, partitions, force=force) for force in (False, True))
        assert story.keys("a", soft.runs[0].partitions) == ["2025-01-07"]
        assert [item.reason for item in soft.waiting] == ["skipped (--force computes it)"]
        assert story.keys("a", hard.runs[0].partitions) == ["2025-01-07..2025-01-08"]
        story.succeed("a", story.claim(hard.runs[0]))
        assert statuses(story, "a")["2025-01-08"] == "current"

    def test_it_counts_for_no_cap_and_no_lookback(self):
        strategy = DateRange(lookback=Duration.parse("2d"), max_partitions_per_run=3)
        story = Story(project(source("s"), asset("a", "s", strategy=strategy)), now="2025-01-13")
        story.observed("s", WEEK)
        story.run_all()
        say(story, "a", "skip", "2025-01-11")
        story.observed("s", "2025-01-13")
        story.now = "2025-01-14"
        assert story.due() == {"a": ["2025-01-12..2025-01-13"]}

    def test_it_holds_after_a_driver_died_over_it(self, story):
        claim = story.claim(story.plan().runs[0])
        say(story, "a", "skip", "2025-01-08", reason="kills its driver", gone_claims={claim})
        assert story.due(gone_claims={claim}) == {"a": ["2025-01-06..2025-01-07", "2025-01-09..2025-01-12"]}

    def test_it_survives_a_move_and_a_lost_table(self, story):
        story.run_all()
        say(story, "a", "skip", "2025-01-08")
        story.add(TargetEntry("a", "a", TableFinding("gone", "its table is gone", EVERYTHING)))
        assert story.due() == {"a": ["2025-01-06..2025-01-07", "2025-01-09..2025-01-12"]}
        moved = replace(story.project.assets["a"], storage=StorageLocation("/data/elsewhere", "elsewhere"))
        story.change(source("s"), moved, asset("w", "a", by="week"))
        assert story.due() == {"a": ["2025-01-06..2025-01-07", "2025-01-09..2025-01-12"]}


class TestSegments:
    def test_a_slice_of_a_product(self):
        story = Story(project(source("s", segments=REGIONS), asset("a", "s", segments=REGIONS), asset("d", "a")))
        story.observed("s", "2025-01-06..2025-01-07,*")
        say(story, "a", "skip", "2025-01-06,de")
        assert [(run.asset, story.keys(run.asset, run.partitions)) for run in story.run_all()] == [
            ("a", ["2025-01-06..2025-01-07,nl", "2025-01-07,de"]),
            ("d", ["2025-01-06..2025-01-07"]),
        ]
        say(story, "a", "missing", "2025-01-06,de", "2025-01-07,nl")
        assert story.due() == {"a": ["2025-01-06,de", "2025-01-07,nl"]}


class TestWhole:
    def make_story(self, **more) -> Story:
        story = Story(project(source("s", by=None), asset("a", "s", by=None, **more), asset("b", "a", by=None)))
        story.observed("s")
        return story

    def test_done_uses_up_what_was_due_and_is_news(self):
        story = self.make_story()
        say(story, "a", "done")
        assert story.due() == {"b": []}
        story.run_all()
        story.observed("s")
        assert story.due() == {"a": []}

    def test_skip_leaves_out_what_is_due_now(self):
        story = self.make_story()
        assert say(story, "a", "skip")
        assert story.due() == {}
        assert not say(story, "a", "skip")
        story.observed("s")
        assert story.due() == {"a": []}

    def test_missing_runs_again(self):
        story = self.make_story()
        assert not say(story, "a", "missing")
        story.run_all()
        assert say(story, "a", "missing", reason="wrong rates")
        assert not say(story, "a", "missing")
        (run,) = story.plan().runs
        assert (run.asset, run.reason) == ("a", "marked as missing by ann: wrong rates")
        assert [run.asset for run in story.run_all()] == ["a", "b"]

    def test_what_failed_is_tried_no_more(self):
        story = self.make_story()
        story.fail("a", story.claim(story.plan().runs[0]))
        say(story, "a", "skip")
        assert story.due(invocation="later") == {}
        assert story.state.assets["a"].failed == ()

    def test_a_tick_that_is_due_is_used_up(self):
        story = self.make_story(schedule=timed("@daily"))
        story.run_all()
        story.now = "2025-02-03"
        assert story.due() == {"a": []}
        say(story, "a", "skip")
        assert story.due() == {}
        story.now = "2025-02-04"
        assert story.due() == {"a": []}

    def test_a_run_that_is_not_settled_comes_first(self):
        story = self.make_story()
        claim = story.claim(story.plan().runs[0])
        with pytest.raises(InputError, match=r"a cannot be marked: a-5 is running since"):
            say(story, "a", "done")
        with pytest.raises(InputError, match=r"a cannot be marked: a-5 never ended"):
            say(story, "a", "done", gone_claims={claim})

    @pytest.mark.parametrize("kind", ["done", "skip"])
    def test_of_instances_it_uses_up_all_that_are_due(self, kind):
        story = instances()
        assert story.plan().runs[0].interval == (at("2025-01-10"), at("2025-01-11"))
        assert say(story, "a", kind)
        assert story.plan().runs == ()
        story.now = "2025-01-14"
        (run,) = story.plan().runs
        assert run.interval == (at("2025-01-13"), at("2025-01-14"))

    def test_instances_cannot_be_missing_as_a_whole(self):
        with pytest.raises(InputError, match="runs once for each instance and cannot be missing") as caught:
            say(instances(), "a", "missing")
        assert caught.value.hint == "`sparkassets backfill a --interval A..B` recomputes one"


def instances() -> Story:
    """A run for each day; three are due."""
    daily = timed({"cron": "0 0 * * *", "start": "2025-01-10", "catchup": "all"})
    write = UpsertWrite(("id",))
    return Story(project(asset("a", by=None, schedule=daily, strategy=EveryInstance(), write=write)), now="2025-01-13")


def test_what_runs_cannot_be_marked(story):
    story.claim(story.plan().runs[0])
    with pytest.raises(InputError, match=r"a 2025-01-08 is running: a-5 since 2025-01-01T00:00Z"):
        say(story, "a", "skip", "2025-01-08")


def test_what_is_outside_the_bounds_cannot_be_marked():
    story = Story(project(source("s"), asset("a", "s", start=at("2025-01-10"))))
    with pytest.raises(InputError, match="a 2025-01-08 is outside the asset's start and end"):
        say(story, "a", "skip", "2025-01-08")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the reason has 0 characters; expected 1 to 1,000"),
        ("x" * 1001, "the reason has 1,001 characters; expected 1 to 1,000"),
        ("password=hunter2 was wrong", "the reason contains"),
    ],
)
def test_a_reason_is_a_sentence_without_credentials(text, said):
    with pytest.raises(InputError, match=said):
        check_reason(text)


def test_windows_go_on_without_what_is_skipped():
    trailing = InletSpec("a", "", WindowMapping.trailing(Duration.parse("3d")))
    story = Story(project(source("s"), asset("a", "s"), asset("m", trailing)), now="2025-01-13")
    story.observed("s", WEEK)
    say(story, "a", "skip", "2025-01-09")
    story.run_all()
    assert statuses(story, "m")["2025-01-10"] == "current"


def test_a_lost_partition_that_is_not_listed_any_more_is_nothing_to_wait_for():
    more = {"region": ("de", "nl", "us")}
    story = Story(project(source("s", segments=more), asset("a", "s", segments=more), asset("b", "a", segments=more)))
    story.observed("s", "2025-01-06,*")
    story.run_all()
    lost = story.project.assets["a"].partitioning.parse("2025-01-06,us")
    story.add(TargetEntry("a", "a", TableFinding("restored", "its table was restored", lost, "t", 2, "m")))
    story.change(source("s", segments=more), asset("a", "s", segments=REGIONS), asset("b", "a", segments=REGIONS))
    assert [note.text for note in story.plan().notes if note.asset == "a"] == []
    assert asset_status(story.context(), story.project.assets["a"]).notes == ()
    story.observed("s", "2025-01-07,*")
    assert {run.asset for run in story.run_all()} == {"a", "b"}


def test_the_cause_of_each_status_is_told(story):
    story.fail("a", story.claim(story.plan().runs[0]), error="no such rate")
    explained = repr(explain_asset(story.context(), story.project.assets["a"], days("2025-01-08")))
    assert "failed 2025-01-08 in a-5: no such rate" in explained
    story.run_all()
    seq = story.observed("s", "2025-01-08")
    explained = repr(explain_asset(story.context(), story.project.assets["a"], days("2025-01-08")))
    assert f"1 partition stale, s changed (event {seq} at 2025-01-01T00:00Z): 2025-01-08" in explained
    claim = story.claim(story.plan().runs[0])
    explained = repr(explain_asset(story.context(), story.project.assets["a"], days("2025-01-08")))
    assert f"2025-01-08: running: a-{claim} since 2025-01-01T00:00Z by test" in explained


class TestMany:
    """A script that marks a partition at a time."""

    @pytest.fixture
    def story(self):
        story = Story(project(source("s"), asset("a", "s")), now="2025-09-01")
        story.observed("s", "2025-01-01..2025-05-31")
        return story

    def test_the_newest_hundred_tell_why(self, story):
        keys = story.project.assets["s"].partitioning.keys(days("2025-01-01..2025-04-20"))
        for key in keys:
            say(story, "a", "done", key)
        assert len(story.state.assets["a"].marks) == 100
        assert story.due() == {"a": ["2025-04-21..2025-05-31"]}

    def test_none_is_forgotten_before_the_run_that_was_claimed_before_it_is_settled(self, story):
        claim = story.claim(story.plan().runs[0])
        keys = story.project.assets["s"].partitioning.keys(days("2025-01-01..2025-04-20"))
        for key in keys:
            say(story, "a", "done", key, gone_claims={claim})
        assert story.due(gone_claims={claim}) == {"a": ["2025-04-21..2025-05-31"]}
        story.fail("a", claim)
        assert story.state.assets["a"].failed_partitions == days("2025-04-21..2025-05-31")
        assert len(story.state.assets["a"].marks) == 110
        say(story, "a", "done", "2025-04-21")
        assert len(story.state.assets["a"].marks) == 100
        assert story.due(invocation="j") == {"a": ["2025-04-22..2025-05-31"]}
