from dataclasses import replace

from sparkassets.core.journal.entries import ObservedEntry
from sparkassets.core.partitions import NOTHING
from sparkassets.core.planner.batch.requested_runs import plan_rebuild
from sparkassets.core.planner.explain.partition_marks import MarkRequest, accept_withheld
from sparkassets.core.planner.explain.status import asset_status
from sparkassets.core.spec.model import InletSpec
from sparkassets.core.strategies import DateRange
from sparkassets.core.validations import RuleVerdict
from tests.builders import Story, asset, days, project, source


def rebuilt(story, *, force=False):
    a = story.project.assets["a"]
    return plan_rebuild(story.context(), a, force=force)


def story_of(*keys, limit=366):
    story = Story(project(source("s"), replace(asset("a", "s"), strategy=DateRange(max_partitions_per_run=limit))))
    for key in keys:
        story.observed("s", key)
    return story


def test_all_that_is_there_or_wanted_is_one_run_whatever_the_cap():
    story = story_of("2025-01-01..2025-01-05", limit=2)
    story.run_all()
    story.observed("s", "2025-01-06")
    (run,) = rebuilt(story).runs
    assert (run.partitions, run.request.rebuilds, run.kind) == (days("2025-01-01..2025-01-06"), True, "backfill")
    assert run.reason == "rebuild of 6 partitions in one commit, more than max_partitions_per_run (2)"


def test_what_cannot_be_computed_again_is_a_refusal_unless_forced():
    story = Story(project(source("s"), asset("a", InletSpec("s", "", None, on_removed="keep"))))
    story.observed("s", "2025-01-01..2025-01-05")
    story.run_all()
    uri = story.project.assets["s"].uri
    story.add(ObservedEntry("s", uri, NOTHING, removed=days("2025-01-02..2025-01-03")))
    plan = rebuilt(story)
    assert plan.runs == ()
    (wait,) = plan.waiting
    assert wait.partitions == days("2025-01-02..2025-01-03")
    assert wait.reason.startswith(
        "a rebuild would lose 2025-01-02..2025-01-03, which cannot be recomputed: kept, although s "
        "2025-01-02..2025-01-03 were removed"
    )
    (run,) = rebuilt(story, force=True).runs
    assert run.partitions == days("2025-01-01..2025-01-05")
    assert run.reason == (
        "rebuild of 5 partitions in one commit; 2025-01-02..2025-01-03 from the data that its inlets still have"
    )


def test_rows_of_a_segment_that_is_not_listed_any_more_are_not_lost_unless_forced():
    def of(*regions):
        keys = {"region": regions}
        return source("s", by=None, segments=keys), asset("a", "s", by=None, segments=keys)

    story = Story(project(*of("de", "nl")))
    story.observed("s", "*")
    story.run_all()
    story.change(*of("nl"))
    plan = rebuilt(story)
    assert plan.runs == ()
    (wait,) = plan.waiting
    assert wait.reason == (
        "a rebuild would lose de, which cannot be recomputed: it is no longer listed (--force computes it from the "
        "data that is left)"
    )
    (run,) = rebuilt(story, force=True).runs
    assert story.keys("a", run.partitions) == ["de", "nl"]


def test_one_that_runs_is_waited_for():
    story = story_of("2025-01-01..2025-01-02")
    story.claim(story.plan().runs[0])
    (wait,) = rebuilt(story).waiting
    assert wait.reason.startswith("running: a-")


def test_days_that_fail_nothing_themselves_say_that_another_of_the_rebuild_does_until_that_is_accepted():
    story, bad = story_of("2025-01-01..2025-01-03"), days("2025-01-02")
    story.run_all()
    (run,) = rebuilt(story).runs
    failed = RuleVerdict("row_count", "fail", "withheld", bad, 3)
    story.succeed("a", story.claim(run), withheld=run.partitions, verdicts=(failed,))
    own, beside = "row_count: 3 rows", "written in one commit with failing partitions: row_count: 3 rows"
    status = asset_status(story.context(), story.project.assets["a"])
    assert [each.text for each in status.withheld_runs] == [own, beside]
    assert [wait.split("; ")[0].split(": ", 1)[1] for wait in story.waits("a")] == [own, beside]

    spec = story.project.assets["a"]
    entry = accept_withheld(story.context(), MarkRequest(spec, bad, "accept", "as told", "ann"))
    assert entry is not None
    story.add(entry)
    assert rebuilt(story).runs[0].request.accepted == bad
    assert story.run("a").partitions == bad
    assert [wait.split("; ")[0].split(": ", 1)[1] for wait in story.waits("a")] == [beside]
