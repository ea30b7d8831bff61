"""What consumers do about an inlet's run that was skipped, or is withheld: a skip is settled, nobody waits for it."""

from __future__ import annotations

import pytest

from sparkassets.core.instants import Duration
from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.partitions import EVERYTHING, WindowMapping
from sparkassets.core.spec.model import InletSpec, PartitionRequirement
from sparkassets.core.validations import RuleVerdict
from tests.builders import Story, asset, at, days, multi, project, timed

ALL = {"cron": "0 0 * * *", "start": "2025-01-29", "catchup": "all"}
DAYS = ("2025-01-29", "2025-01-30", "2025-01-31")
MIDDLE = DAYS[1]
REQUIRES = [PartitionRequirement("all"), PartitionRequirement("any"), PartitionRequirement("none")]
OUTCOMES = ["skipped", "withheld"]


def verdict(partitions):
    return RuleVerdict("not_null(n)", "fail", "withheld", partitions, 900, 12)


def ran(story: Story, outcome: str, *, name: str = "up", day: str = MIDDLE) -> Story:
    """The inlet ran for three days, a run each; that of one day ended so."""
    for version, each in enumerate(DAYS, start=1):
        (run,) = [run for run in story.plan().runs if run.asset == name][:1]
        claim = story.claim(run)
        if each != day:
            story.succeed(name, claim, version=version)
        elif outcome == "skipped":
            story.skip(name, claim)
        else:
            story.succeed(name, claim, version=version, withheld=run.partitions, verdicts=(verdict(run.partitions),))
    return story


def by_day(story: Story, outcome: str) -> Story:
    """The same for an inlet with partitions, which one run computes day by day."""
    for day in DAYS:
        story.now = f"2025-{day[5:7]}-{int(day[8:]) + 1:02}" if day != DAYS[-1] else "2025-02-01"
        (run,) = [run for run in story.plan().runs if run.asset == "up"]
        claim = story.claim(run)
        if day != MIDDLE:
            story.succeed("up", claim)
        elif outcome == "skipped":
            story.skip("up", claim)
        else:
            story.succeed("up", claim, withheld=run.partitions, verdicts=(verdict(run.partitions),))
    return story


def computed(story: Story) -> dict[str, str]:
    """Every partition that the consumer computes, with the reason of its run."""
    down = story.project.assets["down"].partitioning
    found = {}
    while runs := [run for run in story.plan().runs if run.asset == "down"]:
        found |= {key: runs[0].reason for each in down.each_partition(runs[0].partitions) for key in down.labels(each)}
        story.run("down")
    return found


def loud(story: Story) -> list[str]:
    """What the consumer waits for, besides its next tick."""
    return [each.reason for each in story.plan().waiting if each.asset == "down" and not each.quiet]


@pytest.mark.parametrize("require", REQUIRES, ids=lambda each: each.kind)
@pytest.mark.parametrize("outcome", OUTCOMES)
class TestOfEachOutcome:
    def test_an_aligned_consumer_reads_the_run_before(self, outcome, require):
        inlet = InletSpec("up", "", None, aligned=True, on_update="ignore", require=require)
        up = asset("up", by=None, schedule=timed(ALL))
        story = ran(Story(project(up, asset("down", inlet, by=None, schedule=timed(ALL)))), outcome)
        read = []
        while runs := [run for run in story.plan().runs if run.asset == "down"]:
            read.append(runs[0].request.pins["up"].version)
            story.run("down")
        waits = outcome == "withheld" and require.kind == "all"
        assert read == ([1] if waits else [1, 1, 3])
        assert bool(loud(story)) is waits

    def test_an_aligned_consumer_of_partitions_reads_those_of_the_run_before(self, outcome, require):
        inlet = InletSpec("up", "", None, aligned=True, on_update="ignore", require=require)
        up = asset("up", schedule=timed("@daily"), start=at(DAYS[0]))
        down = asset("down", inlet, schedule=timed("@daily"), start=at(DAYS[0]))
        told = by_day(Story(project(up, down)), outcome)
        found = computed(told)
        waits = outcome == "withheld" and require.kind == "all"
        assert set(found) == ({DAYS[0], DAYS[2]} if waits else set(DAYS))
        if not waits:
            assert "reads up's run of 2025-01-29" in found[MIDDLE]

    def test_a_consumer_by_partition_goes_on_where_it_can_do_without(self, outcome, require):
        up = asset("up", schedule=timed("@daily"), start=at(DAYS[0]))
        down = asset("down", InletSpec("up", "", None, require=require), start=at(DAYS[0]))
        told = by_day(Story(project(up, down)), outcome)
        found = computed(told)
        assert set(found) == (set(DAYS) if require.kind == "none" else {DAYS[0], DAYS[2]})
        if require.kind == "none":
            assert f"without up {MIDDLE}: skipped" in found[MIDDLE] or "is withheld" in found[MIDDLE]
        assert bool(loud(told)) is (outcome == "withheld" and require.kind != "none")

    def test_a_window_that_holds_it_goes_on_without_what_is_skipped(self, outcome, require):
        up = asset("up", schedule=timed("@daily"), start=at(DAYS[0]))
        inlet = InletSpec("up", "", WindowMapping.trailing(Duration.parse("2d")), require=require)
        told = by_day(Story(project(up, asset("down", inlet, start=at(DAYS[0])))), outcome)
        found = computed(told)
        waits = outcome == "withheld" and require.kind == "all"
        assert set(DAYS) - set(found) == ({DAYS[1], DAYS[2]} if waits else set())
        if not waits:
            assert f"without up {MIDDLE}: skipped" in found[DAYS[2]] or "is withheld" in found[DAYS[2]]

    def test_a_reader_of_the_whole_table_runs(self, outcome, require):
        up = asset("up", schedule=timed("@daily"), start=at(DAYS[0]))
        down = asset("down", InletSpec("up", "", None, require=require), by=None)
        story = by_day(Story(project(up, down)), outcome)
        assert [run.asset for run in story.run_all()] == ["down"]


# --------------------------------------------------------------------------- tolerance, the first run, and news


@pytest.mark.parametrize("outcome", ["withheld", "failed"])
def test_an_aligned_consumer_waits_as_long_as_it_tolerates_and_then_reads_the_run_before(outcome):
    inlet = InletSpec("up", "", None, aligned=True, on_update="ignore", tolerance=Duration.parse("6h"))
    schedule = timed({**ALL, "catchup": "latest"})
    story = Story(project(asset("up", by=None, schedule=schedule), asset("down", inlet, by=None, schedule=schedule)))
    story.now = "2025-01-30"
    story.run_all()
    story.now = "2025-01-31"
    claim = story.claim(next(run for run in story.plan().runs if run.asset == "up"))
    if outcome == "failed":
        story.fail("up", claim)
    else:
        story.succeed("up", claim, withheld=EVERYTHING, verdicts=(verdict(EVERYTHING),))
    (said,) = loud(story)
    assert said.endswith("; at most until 2025-01-31T06:00Z (tolerance)")
    story.now = "2025-01-31T06:00"
    (run,) = [run for run in story.plan().runs if run.asset == "down"]
    assert "continues without up's run of 2025-01-30T00:00Z" in run.reason
    assert "the tolerance of 6h is over, reads up's run of 2025-01-29T00:00Z" in run.reason


def test_ticks_before_the_first_that_is_there_are_not_wanted_and_hold_up_no_later_one():
    inlet = InletSpec("up", "", None, aligned=True, on_update="ignore")
    up = asset("up", by=None, schedule=timed(ALL))
    down = asset("down", inlet, by=None, schedule=timed({**ALL, "start": "2025-01-27"}))
    story = ran(Story(project(up, down)), "skipped", day=DAYS[0])
    assert [reason for reason in story.waits("down") if "it skipped its run of" in reason]
    assert [run.interval[0] for run in story.run_all() if run.interval] == [at(DAYS[1]), at(DAYS[2])]
    assert loud(story) == []


def test_hours_share_the_dump_before_one_that_was_skipped():
    inlet = InletSpec("up", "", None, aligned=True, on_update="ignore")
    up = asset("up", by=None, schedule=timed(ALL))
    down = asset("down", inlet, by="hour", schedule=timed("0 * * * *"), start=at("2025-01-30"))
    story = ran(Story(project(up, down)), "skipped")
    runs = [run for run in story.plan().runs if run.asset == "down"]
    assert [(story.keys("down", run.partitions), run.request.pins["up"].version) for run in runs] == [
        (["2025-01-30T00..2025-01-31T22"], 1),
        (["2025-01-31T23"], 3),
    ]


def test_a_consumer_aligned_to_an_outlet_reads_what_its_run_before_left():
    made = multi(asset("m", by=None, schedule=timed(ALL)), "x", "y")
    inlet = InletSpec("x", "", None, aligned=True, on_update="ignore")
    story = ran(Story(project(*made, asset("down", inlet, by=None, schedule=timed(ALL)))), "skipped", name="m")
    runs = [run for run in story.run_all() if run.asset == "down"]
    assert [run.request.pins["x"].version for run in runs] == [1, 1, 3]


def test_what_is_skipped_is_wanted_once_it_comes_after_all():
    up = asset("up", schedule=timed("@daily"), start=at(DAYS[0]))
    story = by_day(Story(project(up, asset("down", "up", start=at(DAYS[0])), asset("last", "down"))), "skipped")
    assert [story.keys(run.asset, run.partitions) for run in story.run_all()] == [[DAYS[0], DAYS[2]]] * 2
    story.add(MarkEntry("up", "up", "missing", days(MIDDLE), "it came", "ann"))
    story.now = "2025-02-02"
    assert {run.asset: MIDDLE in story.keys(run.asset, run.partitions)[0] for run in story.run_all()} == dict.fromkeys(
        ["up", "down", "last"], True
    )


def test_a_consumer_that_tolerates_its_absence_runs_at_once_without_what_is_skipped():
    up = asset("up", schedule=timed("@daily"), start=at(DAYS[0]))
    down = asset("down", InletSpec("up", "", None, tolerance=Duration.parse("30d")), start=at(DAYS[0]))
    assert set(computed(by_day(Story(project(up, down)), "skipped"))) == set(DAYS)


def test_a_snapshot_keeps_which_runs_were_skipped():
    inlet = InletSpec("up", "", None, aligned=True, on_update="ignore")
    up = asset("up", by=None, schedule=timed(ALL))
    state = ran(Story(project(up, asset("down", inlet, by=None, schedule=timed(ALL)))), "skipped").state
    assert [each.skipped for each in state.assets["up"].instances] == [False, True, False]
    assert decode(encode(state), journal_id=state.journal_id).assets["up"].instances == state.assets["up"].instances
