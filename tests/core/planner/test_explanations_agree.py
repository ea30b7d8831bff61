"""What `status`, `partitions`, `explain` and `impact` say is what the plan does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.entries import BackfillEntry
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.partitions import NOTHING, NewestMapping, OverlapMapping
from sparkassets.core.planner.batch.backfill import backfillable_partitions, plan_backfill
from sparkassets.core.planner.explain.code_changes import find_code_changes
from sparkassets.core.planner.explain.explanation import explain_asset
from sparkassets.core.planner.explain.impact import trace_impact
from sparkassets.core.planner.explain.status import asset_status, status_stretches
from sparkassets.core.spec.model import AssetSpec, InletSpec, PartitionRequirement
from sparkassets.core.strategies import DateRange
from tests.builders import Story, asset, at, days, project, source


def grid(story: Story, name: str) -> dict[str, str]:
    """Label to status."""
    spec = story.context().asset(name)
    return {spec.partitioning.labels(parts)[0]: status for parts, status in status_stretches(story.context(), spec)}


def explained(story: Story, name: str, key: str | None = None) -> str:
    spec = story.context().asset(name)
    return repr(explain_asset(story.context(), spec, *([spec.partitioning.parse(key)] if key else [])))


class TestARequestedBackfill:
    def story(self, *asked: str, **more: bool) -> Story:
        story = Story(project(source("s"), asset("a", "s")), now="2025-01-10")
        story.observed("s", "2025-01-01..2025-01-04")
        story.run_all()
        story.add(BackfillEntry("a", days(*asked), days(*asked), **more))
        return story

    def test_is_no_current_partition(self):
        story = self.story("2025-01-02..2025-01-03")
        assert grid(story, "a") == {
            "2025-01-01": "current",
            "2025-01-02..2025-01-03": "requested",
            "2025-01-04": "current",
        }
        status = asset_status(story.context(), story.project.assets["a"])
        assert (status.current, status.requested) == (2, 2)
        told = explained(story, "a")
        assert "+ 2 partitions requested (backfill asked 2025-01-01T00:00Z): 2025-01-02..2025-01-03" in told
        assert "2 partitions current: 2025-01-01, 2025-01-04" in told
        story.run_all()
        assert grid(story, "a") == {"2025-01-01..2025-01-04": "current"}

    def test_of_so_many_runs_alone_is_told_too(self):
        assert grid(self.story("2025-01-04", limited=True), "a")["2025-01-04"] == "requested"

    def test_that_failed_is_failed(self):
        story = self.story("2025-01-02..2025-01-03")
        story.fail("a", story.claim(story.plan().runs[0]))
        assert grid(story, "a")["2025-01-02..2025-01-03"] == "failed"
        status = asset_status(story.context(), story.project.assets["a"])
        assert (status.current, status.requested, status.failed) == (2, 0, 2)

    def test_what_is_stale_anyway_is_stale_and_what_was_skipped_is_computed(self):
        story = self.story("2025-01-02..2025-01-03")
        story.add(MarkEntry("a", "a", "skip", days("2025-01-04"), "why", "ann"))
        story.add(BackfillEntry("a", days("2025-01-04"), days("2025-01-04")))
        story.observed("s", "2025-01-02")
        assert grid(story, "a") == {
            "2025-01-01": "current",
            "2025-01-02": "stale",
            "2025-01-03..2025-01-04": "requested",
        }
        assert asset_status(story.context(), story.project.assets["a"]).skipped == 0


def test_what_is_skipped_is_no_partition_of_changed_code():
    old, new = (
        AssetDefinition.build(text="SELECT 1 AS x", params={}),
        AssetDefinition.build(text="SELECT 2 AS x", params={}),
    )
    spec = asset("a", "s", definition=old, on_code_change="warn")
    story = Story(project(source("s"), spec), now="2025-01-10")
    story.observed("s", "2025-01-01..2025-01-04")
    story.run_all()
    story.change(source("s"), replace(spec, definition=new))
    story.add(MarkEntry("a", "a", "skip", days("2025-01-02"), "why", "ann"))
    context, own = story.context(), story.project.assets["a"]
    (change,) = find_code_changes(context)
    (run,) = plan_backfill(context, own, backfillable_partitions(context, own), force=False, other_code=True).runs
    assert change.partitions == run.partitions == days("2025-01-01", "2025-01-03..2025-01-04")
    (note,) = asset_status(context, own).notes
    assert note.startswith("2025-01-01, 2025-01-03..2025-01-04: the code changed")
    story.add(MarkEntry("a", "a", "skip", days("2025-01-01..2025-01-04"), "why", "ann"))
    assert find_code_changes(story.context()) == ()


class TestAWeekThatIsNotOver:
    def story(self) -> Story:
        story = Story(project(source("s"), asset("daily", "s"), asset("weekly", "daily", by="week")), now="2025-01-09")
        story.observed("s", "2024-12-30..2025-01-07")
        return story

    def test_waits_for_its_end_whatever_comes_or_failed_before_it(self):
        story = self.story()
        said = "2025-W02 is not over before 2025-01-13T00:00Z"
        assert story.waits("weekly") == ["waits for daily 2024-12-30..2025-01-07, which runs first", said]
        (run,) = (each for each in story.plan().runs if each.asset == "daily")
        story.fail("daily", story.claim(run))
        failed = "waits for daily 2024-12-30..2025-01-07, which failed"
        assert story.waits("weekly", invocation="i") == [failed, said]
        by_reason = {
            item.reason: story.keys(item.asset, item.partitions) for item in story.plan(invocation="i").waiting
        }
        assert (by_reason[failed], by_reason[said]) == (["2025-W01"], ["2025-W02"])

    def test_is_explained_by_that_alone(self):
        story = self.story()
        story.run("daily")
        assert explained(story, "weekly", "2025-W01").startswith("+ weekly\n  + runs now 2025-W01: ")
        assert explained(story, "weekly", "2025-W02..2025-W03").splitlines()[:2] == [
            "- weekly",
            "  - 2025-W02..2025-W03: not over before 2025-01-13T00:00Z",
        ]

    @pytest.mark.parametrize(
        ("kind", "said"),
        [
            ("all", ""),
            ("any", ", also under `require: any`; `sparkassets mark daily` accepts or skips it"),
        ],
    )
    def test_a_failure_before_it_counts_whatever_is_required(self, kind, said):
        inlet = InletSpec("daily", "", OverlapMapping(), require=PartitionRequirement(kind))
        story = Story(project(source("s"), asset("daily", "s"), asset("weekly", inlet, by="week")), now="2025-01-09")
        story.observed("s", "2024-12-30..2025-01-05")
        (run,) = (each for each in story.plan().runs if each.asset == "daily")
        story.fail("daily", story.claim(run))
        assert story.waits("weekly", invocation="i") == [f"waits for daily 2024-12-30..2025-01-05, which failed{said}"]

    @pytest.mark.parametrize("more", [{"by": "week"}, {"by": None}])
    def test_an_inlet_that_failed_does_not_speak_for_running(self, more):
        inlet = InletSpec("daily", "", OverlapMapping(), require=PartitionRequirement("any"))
        story = Story(project(source("s"), asset("daily", "s"), asset("later", inlet, **more)), now="2025-01-09")
        story.observed("s", "2024-12-30..2025-01-05")
        (run,) = (each for each in story.plan().runs if each.asset == "daily")
        story.fail("daily", story.claim(run))
        told = repr(explain_asset(story.context(invocation="i"), story.project.assets["later"]))
        assert "- inlet daily (require: any, on_update: rerun)" in told
        assert "    - daily 2024-12-30..2025-01-05, which failed" in told.splitlines()

    def test_a_partition_is_explained_by_its_own_run(self):
        story = Story(project(source("s"), asset("a", "s", strategy=DateRange(max_partitions_per_run=1))))
        story.observed("s", "2025-01-01..2025-01-03")
        assert explained(story, "a", "2025-01-01").startswith("+ a\n  + runs now 2025-01-01: 1 partition missing")
        assert explained(story, "a", "2025-01-03").splitlines()[:2] == [
            "- a",
            "  - 2025-01-02..2025-01-03: left for the next run: more than max_partitions_per_run (1)",
        ]
        story.run_all()
        assert explained(story, "a", "2025-01-03").startswith("- a\n  up to date since a-8\n")


class TestImpactOfWhatIsRead:
    """Who reads it is told although nothing of theirs is touched now."""

    def impact_of(self, *assets: AssetSpec, key: str, now: str = "2025-01-09") -> list[tuple[str, list[str], str]]:
        story = Story(project(source("s"), *assets), now=now)
        story.observed("s", "2025-01-01..2025-01-07")
        found = trace_impact(story.context(), story.project.assets["s"], days(key))
        return [(each.asset, story.keys(each.asset, each.partitions), each.stays) for each in found.reaches]

    def test_a_partition_that_is_not_over(self):
        weekly, after = asset("weekly", "s", by="week"), asset("after", "weekly", by="week")
        said = "not over before 2025-01-13T00:00Z"
        assert self.impact_of(weekly, after, key="2025-01-07") == [("weekly", ["2025-W02"], said)]
        both = self.impact_of(weekly, key="2025-01-05..2025-01-07")
        assert both == [("weekly", ["2025-W01"], "")]

    def test_a_partition_that_is_not_the_latest(self):
        latest = asset("model", InletSpec("s", "", NewestMapping()), by=None, segments={"region": ("de", "nl")})
        said = "reads only the newest partition (partitions: latest)"
        assert self.impact_of(latest, key="2025-01-05") == [("model", [], said)]
        assert self.impact_of(latest, key="2025-01-07") == [("model", ["de", "nl"], "")]

    def test_a_partition_outside_the_bounds(self):
        late = asset("late", "s", start=at("2025-01-06"))
        assert self.impact_of(late, key="2025-01-05") == [("late", ["2025-01-05"], "outside its start and end")]

    def test_no_partition_at_all(self):
        assert self.impact_of(asset("a", "s"), key="2025-01-20") == [
            ("a", ["2025-01-20"], "not over before 2025-01-21T00:00Z")
        ]
        story = Story(project(source("s"), asset("a", "s")))
        assert trace_impact(story.context(), story.project.assets["s"], NOTHING).reaches == ()


class TestWhatComesAfterWhatRunsFirst:
    """Nobody wants it before it comes upstream, but the plan names it, and so does the grid."""

    def test_a_key_that_an_inlet_has_from_now_on(self):
        down = asset("down", "up", by=None, segments={"shop": ("berlin", "paris")})
        story = Story(project(source("s"), asset("up", "s", by=None, segments={"shop": ("berlin",)}), down))
        story.observed("s", "2025-01-01")
        story.run_all()
        assert grid(story, "down") == {"berlin": "current"}
        story.change(source("s"), asset("up", "s", by=None, segments={"shop": ("berlin", "paris")}), down)
        assert story.waits("down") == ["waits for up paris, which runs first"]
        assert grid(story, "down") == {"berlin": "current", "paris": "missing"}
        assert "1 partition missing once the upstream runs end: paris" in explained(story, "down", "paris")
        status = asset_status(story.context(), story.project.assets["down"])
        assert (status.current, status.missing) == (1, 1)

    def test_a_day(self):
        story = Story(project(source("s"), asset("a", "s"), asset("b", "a")))
        story.observed("s", "2025-01-01..2025-01-02")
        assert grid(story, "b") == {"2025-01-01..2025-01-02": "missing"}
        story.run("a")
        assert grid(story, "b") == {"2025-01-01..2025-01-02": "missing"}
        story.run("b")
        story.observed("s", "2025-01-01")
        assert grid(story, "b") == {"2025-01-01..2025-01-02": "current"}


def test_what_came_out_the_same_is_told():
    story = Story(project(source("s"), asset("a", "s"), asset("b", "a", by=None)), now="2025-01-10")
    story.observed("s", "2025-01-01..2025-01-03")
    story.run_all()
    assert "unchanged" not in explained(story, "a")
    story.observed("s", "2025-01-01..2025-01-02")
    (run,) = story.plan().runs
    story.succeed("a", story.claim(run), unchanged=days("2025-01-01"))
    assert explained(story, "a").splitlines()[-1].endswith("; 1 of 2 partitions unchanged")
    assert decode(encode(story.state), journal_id="journal") == story.state
    story.observed("s", "2025-01-02")
    story.succeed("a", story.claim(story.plan().runs[0]), unchanged=days("2025-01-02"))
    assert explained(story, "a").splitlines()[-1].endswith("; output unchanged")


def test_a_source_is_explained_by_the_partitions_that_are_asked_about():
    story = Story(project(source("s"), asset("a", "s")), now="2025-01-10")
    story.observed("s", "2025-01-01..2025-01-03")
    assert explained(story, "s").splitlines()[-1] == "  3 partitions: 2025-01-01..2025-01-03"
    lines = explained(story, "s", "2025-01-03..2025-01-04").splitlines()
    assert lines[-2:] == ["  1 partition: 2025-01-03", "  - no data: 2025-01-04"]
