"""What an asset holds as a branch has it, until a run computes it; it survives a snapshot."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.journal.asset_records import PromotedPartitions, promoted_after_run
from sparkassets.core.journal.codec import decode, encode, from_row
from sparkassets.core.journal.entries import ClaimEntry
from sparkassets.core.journal.state import State
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.explain.status import asset_status
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.runs import BranchPromotion
from tests.builders import Story, asset, days, project, source

PROMOTION = BranchPromotion("dev", "b1", 7, {"a": ("t", 3)})


def promoted(run: PlannedRun) -> PlannedRun:
    return replace(run, request=replace(run.request, promotes=PROMOTION))


def make_story() -> Story:
    story = Story(project(source("s"), asset("a", "s")))
    story.observed("s", "2025-01-01..2025-01-03")
    (run,) = story.plan().runs
    story.succeed("a", story.claim(promoted(run)))
    return story


def taken(story: Story) -> tuple[PromotedPartitions, ...]:
    return story.state.assets["a"].promotions


def test_what_a_run_took_over_is_known_until_another_computes_it():
    story = make_story()
    assert taken(story) == (PromotedPartitions("b1", 7, days("2025-01-01..2025-01-03")),)
    story.observed("s", "2025-01-02")
    (run,) = story.plan().runs
    claim = story.claim(run)
    assert taken(story) == (PromotedPartitions("b1", 7, days("2025-01-01..2025-01-03")),)
    story.succeed("a", claim)
    assert taken(story) == (PromotedPartitions("b1", 7, days("2025-01-01") | days("2025-01-03")),)


def test_a_promotion_that_fails_leaves_the_asset_as_it_was():
    story = Story(project(source("s"), asset("a", "s")))
    story.observed("s", "2025-01-01")
    (run,) = story.plan().runs
    story.fail("a", story.claim(promoted(run)))
    assert story.state.assets["a"].failed == ()
    assert asset_status(story.context(), story.project.assets["a"]).error is None
    assert story.due() == {"a": ["2025-01-01"]}


def test_the_newest_promotion_of_a_partition_counts():
    first = promoted_after_run((), days("2025-01-01..2025-01-03"), PROMOTION)
    again = promoted_after_run(first, days("2025-01-02"), replace(PROMOTION, seq=9))
    other = promoted_after_run(again, days("2025-01-03"), replace(PROMOTION, journal_id="b2"))
    assert other == (
        PromotedPartitions("b1", 7, days("2025-01-01")),
        PromotedPartitions("b1", 9, days("2025-01-02")),
        PromotedPartitions("b2", 7, days("2025-01-03")),
    )
    assert promoted_after_run(promoted_after_run((), EVERYTHING, PROMOTION), EVERYTHING, None) == ()


def test_it_survives_the_journal_and_its_snapshot():
    story = make_story()
    (claim,) = (each.entry for each in map(from_row, story.rows) if isinstance(each.entry, ClaimEntry))
    assert claim.request.promotes == PROMOTION
    rows = encode(story.state)
    assert decode(rows, journal_id="").assets["a"].promotions == taken(story)
    assert isinstance(story.state, State)
