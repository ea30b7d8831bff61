"""Gates on inlets: what is waited for, until when, and what is said when something is taken as it is."""

from dataclasses import replace
from typing import Any

from sparkassets.core.instants import Duration
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.spec.model import InletSpec, PartitionRequirement
from tests.builders import Story, asset, at, project, source, timed


def inlet(name: str, **more: Any) -> InletSpec:
    for key in ("fresh_within", "tolerance"):
        if key in more:
            more[key] = Duration.parse(more[key])
    return InletSpec(name, "", None, **more)


def waiting(story: Story, name: str = "r") -> list[Waiting]:
    return [item for item in story.plan().waiting if item.asset == name]


def time_passes(story: Story, now: str) -> None:
    story.now = story.clock = now


# --------------------------------------------------------------------------- fresh_within


def test_a_run_waits_for_a_fresh_inlet():
    reader = asset("r", inlet("d", fresh_within="30d"), by=None, schedule=timed("@daily"))
    story = Story(project(source("d", by=None), reader))
    time_passes(story, "2025-01-01T12:00")
    story.observed("d")
    time_passes(story, "2025-01-31T12:00")
    assert story.due() == {"r": []}
    time_passes(story, "2025-01-31T12:01")
    (item,) = waiting(story)
    assert item.reason == "waits for d: its last update, at 2025-01-01T12:00Z, is older than 30d (fresh_within)"
    assert not item.quiet
    story.observed("d")
    assert story.due() == {"r": []}


def test_a_condition_waits_for_a_fresh_inlet_and_forgets_nothing():
    spec = project(
        source("a", by=None),
        source("d", by=None),
        asset("r", "a", inlet("d", fresh_within="1h"), by=None, schedule="a"),
    )
    story = Story(spec)
    time_passes(story, "2025-01-01T12:00")
    story.observed("d")
    time_passes(story, "2025-01-01T14:00")
    seq = story.observed("a")
    assert story.waits("r") == ["waits for d: its last update, at 2025-01-01T12:00Z, is older than 1h (fresh_within)"]
    story.observed("d")
    assert [ref.seq for ref in story.run("r").events] == [seq]


def test_partitions_wait_for_a_fresh_inlet():
    reader = asset("r", "s", inlet("d", fresh_within="1d"))
    story = Story(project(source("s"), source("d", by=None), reader))
    time_passes(story, "2025-01-02")
    story.observed("d")
    story.observed("s", "2025-01-01")
    time_passes(story, "2025-01-04")
    (item,) = waiting(story)
    assert story.keys("r", item.partitions) == ["2025-01-01"]
    assert item.reason == "waits for d: its last update, at 2025-01-02T00:00Z, is older than 1d (fresh_within)"
    story.observed("d")
    assert story.due() == {"r": ["2025-01-01"]}


# --------------------------------------------------------------------------- settle


def test_a_run_waits_until_an_inlet_is_quiet():
    story = Story(project(source("d", by=None), asset("r", inlet("d", settle_seconds=900), by=None)))
    time_passes(story, "2025-01-01T12:00")
    story.observed("d")
    (item,) = waiting(story)
    assert item.reason == "waits until d has been quiet for 15m"
    assert item.until == at("2025-01-01T12:15")
    time_passes(story, "2025-01-01T12:10")
    story.observed("d")
    assert waiting(story)[0].until == at("2025-01-01T12:25")
    time_passes(story, "2025-01-01T12:25")
    assert story.due() == {"r": []}


def test_settle_goes_by_the_real_time_also_when_another_is_planned_for():
    story = Story(project(source("d", by=None), asset("r", inlet("d", settle_seconds=900), by=None)))
    time_passes(story, "2025-01-01T12:00")
    story.observed("d")
    story.now = "2025-06-01"
    assert story.due() == {}


def test_only_the_partitions_that_still_change_wait():
    story = Story(project(source("s"), asset("r", inlet("s", settle_seconds=900))))
    time_passes(story, "2025-01-05T12:00")
    story.observed("s", "2025-01-01..2025-01-02")
    time_passes(story, "2025-01-05T12:10")
    story.observed("s", "2025-01-02..2025-01-03")
    time_passes(story, "2025-01-05T12:20")
    assert story.due() == {"r": ["2025-01-01"]}
    (item,) = waiting(story)
    assert (item.reason, item.until) == ("waits until s has been quiet for 15m", at("2025-01-05T12:25"))
    assert story.keys("r", item.partitions) == ["2025-01-02..2025-01-03"]
    time_passes(story, "2025-01-05T12:25")
    assert story.due() == {"r": ["2025-01-01..2025-01-03"]}


# --------------------------------------------------------------------------- tolerance


def hourly_to_daily(**more: Any) -> Story:
    return Story(project(source("s", by="hour"), asset("r", inlet("s", tolerance="6h", **more))))


def test_a_day_waits_for_its_hours_at_most_for_the_tolerance():
    story = hourly_to_daily()
    story.observed("s", "2025-01-01T00..2025-01-01T22")
    story.now = "2025-01-02T05:59"
    (item,) = waiting(story)
    assert item.reason == (
        "waits for s: 23 of 24 partitions, missing 2025-01-01T23; at most until 2025-01-02T06:00Z (tolerance)"
    )
    assert item.until == at("2025-01-02T06:00")
    story.now = "2025-01-02T06:00"
    (run,) = story.plan().runs
    assert run.reason == (
        "1 partition missing, "
        "continues without all of s: 23 of 24 partitions, missing 2025-01-01T23: the tolerance of 6h is over"
    )


def test_what_comes_after_the_tolerance_makes_the_day_stale():
    story = hourly_to_daily()
    story.observed("s", "2025-01-01T00..2025-01-01T22")
    story.now = "2025-01-02T06:00"
    story.run("r")
    story.observed("s", "2025-01-01T23")
    (run,) = story.plan().runs
    assert run.reason == "1 stale: s changed"


def test_the_tolerance_of_a_timetable_counts_from_its_tick():
    reader = asset("r", inlet("s", tolerance="6h"), schedule=timed("0 3 * * *"))
    story = Story(project(source("s", by="hour"), reader))
    story.observed("s", "2025-01-01T00..2025-01-01T22")
    story.now = "2025-01-02T08:59"
    (item,) = waiting(story)
    assert item.until == at("2025-01-02T09:00")
    story.now = "2025-01-02T09:00"
    assert story.due() == {"r": ["2025-01-01"]}


def test_nothing_at_all_is_not_tolerated():
    story = hourly_to_daily()
    story.now = "2025-03-01"
    assert story.due() == {}
    assert story.waits("r") == ["waits for the first partition of s"]


def test_a_count_is_tolerated_too():
    story = hourly_to_daily(require=PartitionRequirement("at_least", 20))
    story.observed("s", "2025-01-01T00..2025-01-01T09")
    story.now = "2025-01-02T01:00"
    assert story.waits("r")[0] == (
        "waits for s: 10 of 24 partitions, missing 2025-01-01T10..2025-01-01T23 (require: at_least 20); "
        "at most until 2025-01-02T06:00Z (tolerance)"
    )
    story.now = "2025-01-02T07:00"
    assert story.due() == {"r": ["2025-01-01"]}


def test_an_asset_without_partitions_goes_on_without_what_it_does_not_read():
    reader = asset("r", inlet("flag", tolerance="2h", waits_only=True), by=None, schedule=timed("0 6 * * *"))
    story = Story(project(source("flag", by=None), reader), now="2025-01-02T07:59")
    (item,) = waiting(story)
    assert (item.reason, item.until) == ("waits for flag: no data yet", at("2025-01-02T08:00"))
    story.now = "2025-01-02T08:00"
    (run,) = story.plan().runs
    assert run.reason == ("0 6 * * * at 2025-01-02T06:00Z, continues without flag: the tolerance of 2h is over")


def test_the_tolerance_of_a_condition_counts_from_when_it_came_true():
    reader = asset("r", inlet("flag", tolerance="2h", waits_only=True), by=None, schedule="a & (b | c)")
    story = Story(project(*(source(name, by=None) for name in ("a", "b", "c", "flag")), reader))
    for name, moment in (("b", "06:00"), ("a", "07:00"), ("c", "08:00")):
        time_passes(story, f"2025-01-02T{moment}")
        story.observed(name)
    for moment in ("08:01", "08:59"):
        story.now = f"2025-01-02T{moment}"
        (item,) = waiting(story)
        assert (item.reason, item.until) == ("waits for flag: no data yet", at("2025-01-02T09:00"))
    story.now = "2025-01-02T09:00"
    (run,) = story.plan().runs
    assert run.reason == "a, b and c updated, continues without flag: the tolerance of 2h is over"


def test_what_it_reads_it_never_goes_on_without():
    reader = asset("r", inlet("d", tolerance="2h"), by=None, schedule=timed("0 6 * * *"))
    story = Story(project(source("d", by=None), reader), now="2025-01-09")
    (item,) = waiting(story)
    assert (item.reason, item.until) == ("waits for d: no data yet", None)


# --------------------------------------------------------------------------- require


def test_a_count_of_partitions():
    story = Story(project(source("s", by="hour"), asset("r", inlet("s", require=PartitionRequirement("at_least", 2)))))
    story.observed("s", "2025-01-01T05")
    (item,) = waiting(story)
    assert item.reason == (
        "waits for s: 1 of 24 partitions, missing 2025-01-01T00..2025-01-01T04, 2025-01-01T06..2025-01-01T23 "
        "(require: at_least 2)"
    )
    story.observed("s", "2025-01-01T07")
    assert story.due() == {"r": ["2025-01-01"]}


def test_a_timetable_waits_for_what_is_required_and_keeps_its_tick():
    story = Story(project(source("s", by="hour"), asset("r", "s", schedule=timed("0 3 * * *"))))
    story.observed("s", "2025-01-01T00..2025-01-01T22")
    story.now = "2025-01-02T04:00"
    assert story.waits("r") == ["waits for s: 23 of 24 partitions, missing 2025-01-01T23"]
    story.observed("s", "2025-01-01T23")
    (run,) = story.plan().runs
    assert run.reason == "0 3 * * * at 2025-01-02T03:00Z: 1 partition missing"
    assert run.request.schedule_date == at("2025-01-02T03:00")


# --------------------------------------------------------------------------- going on without


def test_a_day_whose_upstream_never_came_is_computed_once_the_tolerance_is_over():
    story = Story(project(source("s"), asset("r", inlet("s", tolerance="1d"))))
    time_passes(story, "2025-01-02")
    story.observed("s", "2025-01-01")
    run = story.run("r")
    story.succeed("r", story.claim(run))
    time_passes(story, "2025-01-03T23:59")
    assert story.due() == {}
    time_passes(story, "2025-01-04")
    run = story.run("r")
    assert story.keys("r", run.partitions) == ["2025-01-02"]
    said = "continues without all of s: 0 of 1 partition, missing 2025-01-02: the tolerance of 1d is over"
    assert run.reason == f"1 partition missing, {said}"
    story.succeed("r", story.claim(run))
    assert story.due() == {}
    story.observed("s", "2025-01-02")
    assert story.due() == {"r": ["2025-01-02"]}


def test_what_requires_nothing_is_wanted_from_its_start_once_it_is_over():
    declared = replace(source("s"), columns={"n": "int"})
    story = Story(
        project(declared, asset("r", inlet("s", require=PartitionRequirement("none")), start=at("2025-01-01")))
    )
    time_passes(story, "2025-01-03T12:00")
    assert story.due() == {"r": ["2025-01-01..2025-01-02"]}
    assert story.run("r").reason == "2 partitions missing, without s 2025-01-01..2025-01-02: no data"


def test_what_one_of_several_inlets_still_has_to_bring_is_not_wanted_without_it():
    story = Story(project(source("s"), source("t"), asset("r", "t", inlet("s", tolerance="1d"))))
    time_passes(story, "2025-01-10")
    story.observed("s", "2025-01-01")
    story.observed("t", "2025-01-01", "2025-01-03")
    assert story.due() == {"r": ["2025-01-01", "2025-01-03"]}


def test_a_table_of_which_nothing_is_required_is_read_once_it_is_written():
    """Its first run may come later in the same invocation, and for other partitions than those that are due."""
    later = asset("u", "v")
    reader = asset("r", "s", inlet("u", require=PartitionRequirement("none")))
    story = Story(project(source("s"), source("v"), later, reader))
    time_passes(story, "2025-01-10")
    story.observed("s", "2025-01-01..2025-01-03")
    story.observed("v", "2025-01-01")
    assert story.due() == {"u": ["2025-01-01"]}
    said = [item.reason for item in waiting(story)]
    assert "waits for u: not written yet, so its columns are unknown; declare its `columns`" in said
    story.succeed("u", story.claim(story.run("u")))
    assert story.due() == {"r": ["2025-01-01..2025-01-03"]}
