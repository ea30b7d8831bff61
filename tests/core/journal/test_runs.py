"""Runs as people see them: claims joined with how they ended."""

from sparkassets.core.journal.entries import FailureEntry, SuccessEntry
from sparkassets.core.journal.history import run_records
from tests.builders import Story, asset, at, days, project, source


def make_story(*assets):
    story = Story(project(source("flights"), *(assets or [asset("delays", "flights")])), now="2025-01-04")
    story.observed("flights", "2025-01-01..2025-01-03")
    return story


def runs(story, gone=()):
    return run_records(story.entries, gone)


def claim(story):
    return story.claim(story.plan().runs[0])


def test_an_open_claim_is_running_and_says_what_it_computes():
    story = make_story()
    token = claim(story)
    (run,) = runs(story)
    assert (run.asset, run.run, run.token, run.kind) == ("delays", f"delays-{token}", token, "scheduled")
    assert (run.status, run.ended, run.seconds, run.rows) == ("running", None, None, None)
    assert run.started == at("2025-01-01")
    assert run.partitions == days("2025-01-01..2025-01-03")
    assert run.interval == (at("2025-01-01"), at("2025-01-04"))
    assert run.request.events == (3,)


def test_an_open_claim_whose_driver_is_gone_is_lost():
    story = make_story()
    token = claim(story)
    assert [run.status for run in runs(story, gone=[token])] == ["lost"]


def test_a_success_tells_rows_seconds_and_version():
    story = make_story()
    story.succeed("delays", claim(story), version=7, seconds=2.5, attempt=2, extra={"rows": 12})
    (run,) = runs(story)
    assert (run.status, run.rows, run.seconds, run.version, run.attempts) == ("success", 12, 2.5, 7, 2)
    assert run.ended == at("2025-01-01")


def test_a_failure_tells_its_cause():
    story = make_story()
    story.fail("delays", claim(story), error="ValueError: no such day")
    (run,) = runs(story)
    assert (run.status, run.error) == ("failed", "ValueError: no such day")


def test_an_unfenced_failure_is_failed_until_it_is_found_in_the_target():
    story = make_story()
    first = claim(story)
    story.fail("delays", first, fenced=False)
    assert [run.status for run in runs(story)] == ["failed"]
    second = claim(story)
    entry = story.state.assets["delays"].chain[0].entry
    story.add(SuccessEntry("delays", "delays", entry.run, first, second, entry.partitions, "t", 4, extra={"rows": 3}))
    older, newer = runs(story)
    assert (older.status, older.rows, older.adopted) == ("success", 3, None)
    assert (newer.status, newer.rows, newer.adopted) == ("success", None, entry.run)


def test_a_cancelled_run_is_cancelled():
    story = make_story()
    token = claim(story)
    run = story.state.assets["delays"].chain[-1].entry
    story.add(FailureEntry("delays", run.run, token, run.partitions, "cancelled", "stopped", "i"))
    assert [run.status for run in runs(story)] == ["cancelled"]


def test_a_claim_that_a_later_run_settled_without_finding_it_is_lost():
    story = make_story()
    dead = claim(story)
    story.succeed("delays", story.claim(story.plan(gone_claims=[dead]).runs[0]))
    assert [run.status for run in runs(story)] == ["lost", "success"]


def test_a_later_failure_of_another_asset_settles_nothing():
    story = make_story(asset("delays", "flights"), asset("routes", "flights"))
    claim(story)
    story.fail("routes", story.claim(story.plan().runs[0]))
    assert [(run.asset, run.status) for run in runs(story)] == [("delays", "running"), ("routes", "failed")]


def test_an_ending_without_its_claim_is_left_to_a_longer_look():
    story = make_story()
    token = claim(story)
    story.succeed("delays", token)
    assert run_records([each for each in story.entries if isinstance(each.entry, SuccessEntry)]) == []
