"""Which runs an event triggered, and in which it was merely included."""

from dataclasses import replace

from sparkassets.core.journal.entries import EventEntry, SuccessEntry
from sparkassets.core.journal.history import EventUsage
from sparkassets.core.journal.state import EventRef
from sparkassets.core.spec.model import Schedule
from tests.builders import Story, asset, days, project, source

DAILY = project(source("s"), asset("a", "s"), asset("n", "a", by=None))
GUIDED = project(
    source("facts", by=None),
    source("signal", by=None),
    asset("r", "facts", by=None, schedule="signal"),
)


def uses(story):
    refs = [ref for each in story.entries if (ref := EventRef.from_entry(each)) is not None]
    later = [each for each in story.entries if each.seq > refs[0].seq]
    return EventUsage(refs, later)


def test_a_run_was_triggered_by_what_it_was_claimed_for():
    story = Story(DAILY)
    one, two = story.observed("s", "2025-01-01"), story.observed("s", "2025-01-02")
    (run, *_) = story.run_all()
    found = uses(story)
    name = f"a-{two + 1}"
    assert (run.asset, found.triggered[one], found.triggered[two]) == ("a", [name], [name])
    assert found.included_in[one] == []
    success = story.state.assets["a"].last.seq
    assert found.triggered[success] == [story.state.assets["n"].last.run]


def test_what_is_read_without_being_the_cause_is_included():
    story = Story(GUIDED)
    facts = [story.observed("facts"), story.observed("facts")]
    signal = story.observed("signal")
    story.run_all()
    found = uses(story)
    run = story.state.assets["r"].last.run
    assert found.triggered[signal] == [run]
    assert found.included_in[signal] == []
    assert [found.triggered[seq] for seq in facts] == [[], []]
    assert [found.included_in[seq] for seq in facts] == [[run], [run]]
    story.observed("signal")
    story.run_all()
    assert uses(story).included_in[facts[0]] == [run], "only the first of an asset"


def test_an_event_of_partitions_that_were_not_read_is_not_included():
    plain = replace(DAILY.assets["a"], schedule=Schedule())
    story = Story(project(source("s"), plain))
    story.observed("s", "2025-01-01")
    other = story.add(EventEntry("x-s", "s", days("2025-01-05")))
    from sparkassets.core.planner.batch.backfill import plan_backfill

    (run,) = plan_backfill(story.context(), story.project.assets["a"], days("2025-01-01"), force=False).runs
    story.succeed("a", story.claim(run))
    found = uses(story)
    assert found.included_in[other] == []
    assert found.included_in[other - 1] == [story.state.assets["a"].last.run]


def test_a_run_that_only_recorded_another_was_triggered_by_nothing():
    story = Story(DAILY)
    one = story.observed("s", "2025-01-01")
    first = story.claim(story.plan().runs[0])
    two = story.observed("s", "2025-01-02")
    recorder = story.claim(story.plan(gone_claims=[first]).runs[0])
    found = story.state.assets["a"].chain[0].entry
    story.add(SuccessEntry("a", "a", found.run, first, recorder, found.partitions, pins=found.request.pins))
    third = story.claim(story.plan().runs[0])
    assert (uses(story).triggered[one], uses(story).triggered[two]) == ([f"a-{first}"], [f"a-{third}"])


def test_a_failed_run_was_triggered_all_the_same():
    story = Story(DAILY)
    seq = story.observed("s", "2025-01-01")
    first = story.claim(story.plan().runs[0])
    story.fail("a", first, invocation="other")
    second = story.claim(story.plan(invocation="i").runs[0])
    assert uses(story).triggered[seq] == [f"a-{first}", f"a-{second}"]
