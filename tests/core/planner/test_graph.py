from sparkassets.core.planner.batch.backfill import plan_backfill_unpartitioned
from tests.builders import Story, asset, at, names, project, source, timed


def test_the_foot_of_a_diamond_runs_once():
    story = Story(project(source("s"), asset("a", "s"), asset("b", "s"), asset("c", "a", "b")))
    story.observed("s", "2025-01-01..2025-01-02")
    assert names(story.run_all()) == ["a", "b", "c"]
    story.observed("s", "2025-01-02")
    assert names(story.run_all()) == ["a", "b", "c"]


def test_the_foot_of_a_long_diamond_runs_once():
    story = Story(project(source("s"), asset("a", "s"), asset("b", "a"), asset("c", "b"), asset("d", "a", "c")))
    story.observed("s", "2025-01-01..2025-01-02")
    story.run_all()
    story.observed("s", "2025-01-01")
    assert names(story.run_all()) == ["a", "b", "c", "d"]


def test_what_runs_first_is_named():
    story = Story(project(source("s"), asset("a", "s"), asset("b", "a")))
    story.observed("s", "2025-01-01..2025-01-02")
    assert story.waits("b") == ["waits for a 2025-01-01..2025-01-02, which runs first"]


def test_what_only_time_runs_does_not_wait_for_what_runs_first():
    monthly = timed("0 0 15 * *", start=at("2025-01-01"))
    story = Story(project(source("s"), asset("a", "s"), asset("r", "a", by=None, schedule=monthly)), now="2025-02-20")
    story.observed("s", "2025-01-01..2025-01-02")
    assert story.waits("r") == ["waits for a 2025-01-01..2025-01-02, which runs first"]
    assert names(story.run_all()) == ["a", "r"]
    story.observed("s", "2025-01-02")
    assert story.waits("r") == ["0 0 15 * *: not before 2025-03-15T00:00Z"]
    assert names(story.run_all()) == ["a"]


def test_descendants_of_a_failure_wait_and_say_for_what():
    story = Story(project(source("s"), asset("a", "s"), asset("b", "a"), asset("c", "b"), asset("r", "c", by=None)))
    story.observed("s", "2025-01-01..2025-01-02")
    story.run_all()
    story.observed("s", "2025-01-02")
    claim = story.claim(story.plan().runs[0])
    story.fail("a", claim, error="division by zero")
    assert story.due(invocation="i") == {}
    assert story.waits("a", invocation="i") == ["failed: division by zero"]
    assert story.waits("b", invocation="i") == ["waits for a 2025-01-02, which failed"]
    assert story.waits("c", invocation="i") == ["waits for a 2025-01-02, which failed"]
    assert story.waits("r", invocation="i") == ["waits for a 2025-01-02, which failed"]


def test_a_failed_partition_is_tried_once_per_invocation_and_on_a_new_cause():
    story = Story(project(source("s"), asset("a", "s")))
    story.observed("s", "2025-01-01..2025-01-02")
    story.fail("a", story.claim(story.plan().runs[0]))
    assert story.due(invocation="i") == {}
    assert story.due(invocation="other") == {"a": ["2025-01-01..2025-01-02"]}
    story.observed("s", "2025-01-02")
    assert story.due(invocation="i") == {"a": ["2025-01-02"]}


def test_the_rest_of_a_failed_asset_goes_on():
    story = Story(project(source("s"), asset("a", "s"), asset("b", "a")))
    story.observed("s", "2025-01-01")
    story.fail("a", story.claim(story.plan().runs[0]))
    story.observed("s", "2025-01-02")
    assert story.due(invocation="i") == {"a": ["2025-01-02"]}


def test_a_report_over_everything_runs_when_anything_changed():
    story = Story(project(source("s"), source("d", by=None), asset("a", "s"), asset("r", "a", "d", by=None)))
    story.observed("s", "2025-01-01")
    assert names(story.run_all()) == ["a"]
    assert story.waits("r") == ["waits for d: no data yet"]
    story.observed("d")
    assert names(story.run_all()) == ["r"]
    assert story.due() == {}
    story.observed("d")
    assert story.due() == {"r": []}


def test_a_condition_collapses_updates_into_one_run():
    # the timeline of shared/vectors/behaviour.json
    timeline = {"d1": [0, 5, 9, 13, 36], "d2": [7, 11, 19, 26, 31], "d3": [15, 21, 28]}
    sources = [source(name, by=None) for name in timeline]
    story = Story(project(*sources, asset("a", *timeline, by=None, schedule="d1 & d2 & d3")))
    ran = []
    for column in range(40):
        for name, columns in timeline.items():
            if column in columns:
                story.observed(name)
        if story.due():
            story.run("a")
            ran.append(column)
    assert ran == [15, 36]


def test_what_a_condition_still_waits_for_is_named():
    story = Story(
        project(*(source(n, by=None) for n in "xyz"), asset("a", "x", "y", "z", by=None, schedule="x & y & z"))
    )
    story.observed("x")
    assert story.waits("a") == ["waits for y and z (x & y & z)"]


def test_a_live_claim_of_another_driver_is_not_due_and_holds_its_consumers():
    story = Story(project(source("s"), asset("a", "s"), asset("b", "a")))
    story.observed("s", "2025-01-01")
    claim = story.claim(story.plan().runs[0])
    assert story.due() == {}
    assert story.waits("a") == [f"running: a-{claim} since 2025-01-01T00:00Z by test"]
    assert story.waits("b") == ["waits for a 2025-01-01, which runs first"]


def test_a_claim_whose_driver_is_gone_is_taken_over():
    story = Story(project(source("s"), asset("a", "s")))
    story.observed("s", "2025-01-01")
    claim = story.claim(story.plan().runs[0])
    story.observed("s", "2025-01-02")
    (run,) = story.plan(gone_claims={claim}).runs
    assert run.recovers == (f"a-{claim}",)
    assert run.reason == f"takes over a-{claim}, which never ended, 2 partitions missing"
    assert story.keys("a", run.partitions) == ["2025-01-01..2025-01-02"]


def test_a_backfill_that_never_ended_stays_a_backfill():
    daily = asset("a", "s", by=None, schedule=timed("@daily"))
    story = Story(project(source("s", by=None), daily), now="2025-01-06T12:00")
    story.observed("s")
    story.run("a")
    cursor = story.state.assets["a"].cursor
    (run,) = plan_backfill_unpartitioned(
        story.context(), story.project.assets["a"], (at("2020-01-01"), at("2020-01-02"))
    ).runs
    claim = story.claim(run)
    (again,) = story.plan(gone_claims={claim}).runs
    assert (again.kind, again.interval, again.recovers) == ("backfill", run.interval, (f"a-{claim}",))
    story.succeed("a", story.claim(again))
    assert story.state.assets["a"].cursor == cursor


def test_an_unfenced_failure_is_settled_by_the_next_invocation_only():
    story = Story(project(source("s"), asset("a", "s")))
    story.observed("s", "2025-01-01")
    story.fail("a", story.claim(story.plan().runs[0]), fenced=False, error="disk gone")
    assert story.due(invocation="i") == {}
    assert story.due(invocation="j") == {"a": ["2025-01-01"]}


def test_a_partition_waits_as_a_whole_for_the_part_of_it_that_comes():
    bounds = {"start": at("2025-01-02")}
    weekly = asset("b", "a", by="week")
    story = Story(project(source("s"), asset("a", "s", **bounds), weekly), now="2025-01-06")
    story.observed("s", "2025-01-02..2025-01-05")
    assert names(story.plan().runs) == ["a"]
    story.fail("a", story.claim(story.plan().runs[0]))
    assert story.plan(invocation="i").runs == ()
    assert names(story.run_all()) == ["a", "b"]
