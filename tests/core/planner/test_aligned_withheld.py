"""What an aligned consumer is told of the run that it waits for, where that is withheld; and how it gets on."""

import pytest

from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.partitions import EVERYTHING, NOTHING
from sparkassets.core.planner.batch.backfill import plan_backfill_unpartitioned
from sparkassets.core.spec.model import InletSpec
from sparkassets.core.validations import RuleVerdict
from tests.builders import Story, asset, at, days, project, source, timed

DAYS = ("2025-01-29", "2025-01-30", "2025-01-31", "2025-02-01")
ALL = {"cron": "0 0 * * *", "start": "2025-01-29", "catchup": "all"}
SAID = "which is withheld (not_null(n): 12 of 900 rows): `sparkassets accept up --reason …` publishes it"


def make_story(**more):
    down = asset("down", InletSpec("up", "", None, aligned=True, on_update="ignore"), by=None, schedule=timed(ALL))
    return Story(project(asset("up", schedule=timed(ALL), **more), down))


def verdict(partitions):
    return RuleVerdict("not_null(n)", "fail", "withheld", partitions, 900, 12)


def ran(story, *, withheld=()):
    """The runs of ``up`` that are due, of which these are withheld."""
    for day in DAYS[:3]:
        (run,) = [each for each in story.plan().runs if each.asset == "up"][:1]
        held = EVERYTHING if day in withheld else NOTHING
        story.succeed("up", story.claim(run), withheld=held, verdicts=(verdict(held),) if held else ())


def waits(story):
    return [reason for reason in story.waits("down") if reason.startswith("waits for up's run")]


def test_it_waits_for_the_newest_one_that_is_withheld_and_goes_on_once_that_is_accepted():
    story = make_story(by=None)
    ran(story, withheld=DAYS[2:3])
    story.run("down")
    story.run("down")
    assert waits(story) == [f"waits for up's run of {DAYS[2]}T00:00Z (execution delta 0:00:00), {SAID}"]
    story.add(MarkEntry("up", "up", "accept", EVERYTHING, "looked at", "ann"))
    assert [each.asset for each in story.run_all()] == ["up", "down"]


def test_an_older_one_is_computed_again_and_accepted():
    story = make_story(by=None)
    ran(story, withheld=DAYS[:1])
    (said,) = waits(story)
    interval = f"{DAYS[0]}T00:00Z..{DAYS[1]}T00:00Z"
    assert said.endswith(f", which published nothing: `sparkassets backfill up --interval {interval}`")
    backfill = plan_backfill_unpartitioned(story.context(), story.project.assets["up"], (at(DAYS[0]), at(DAYS[1])))
    story.succeed("up", story.claim(backfill.runs[0]), withheld=EVERYTHING, verdicts=(verdict(EVERYTHING),))
    assert [reason.partition(", which")[2] for reason in waits(story)] == [SAID.removeprefix("which")]
    story.add(MarkEntry("up", "up", "accept", EVERYTHING, "looked at", "ann"))
    assert [each.asset for each in story.run_all()] == ["up", "down", "down", "down"]


@pytest.mark.parametrize("withheld", [DAYS[2], DAYS[0]])
def test_of_partitions_it_is_told_alike(withheld):
    story = make_story(start=at(DAYS[0]))
    (run,) = [each for each in story.plan().runs if each.asset == "up"]
    story.succeed("up", story.claim(run), withheld=days(withheld), verdicts=(verdict(days(withheld)),))
    while any(each.asset == "down" for each in story.plan().runs):
        story.run("down")
    assert [reason.partition(": missing ")[2] for reason in waits(story)] == [f"{withheld}, {SAID}"]


def test_of_partitions_of_which_others_are_withheld_the_command_names_what_it_waits_for():
    story = make_story(start=at(DAYS[0]))
    (run,) = [each for each in story.plan().runs if each.asset == "up"]
    held = days(DAYS[0]) | days(DAYS[2])
    story.succeed("up", story.claim(run), withheld=held, verdicts=(verdict(held),))
    while any(each.asset == "down" for each in story.plan().runs):
        story.run("down")
    (said,) = waits(story)
    assert said.endswith(f": `sparkassets accept up --partition {DAYS[0]} --reason …` publishes it")


def test_an_asset_that_is_withheld_is_not_said_to_be_up_to_date():
    story = Story(project(source("s"), asset("a", "s", by=None)))
    story.observed("s", "2025-01-01")
    story.run_all()
    story.observed("s", "2025-01-02")
    (run,) = story.plan().runs
    story.succeed("a", story.claim(run), withheld=EVERYTHING, verdicts=(verdict(EVERYTHING),))
    (reason,) = story.waits("a")
    assert reason.startswith("withheld by a-")
