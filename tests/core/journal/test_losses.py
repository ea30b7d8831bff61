"""What follows when an asset's own table is gone, replaced, restored, or was written by another."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkassets.core.journal.codec import decode, encode, from_row
from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.state import State
from sparkassets.core.journal.table_findings import ForeignCommit, TableFinding, TargetEntry
from sparkassets.core.journal.table_losses import build_target_entry
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.batch.backfill import plan_backfill_unpartitioned
from sparkassets.core.planner.explain.explanation import explain_asset
from sparkassets.core.planner.explain.status import asset_status
from sparkassets.core.spec.model import InletSpec, ReadAfter
from sparkassets.core.strategies import EveryInstance, LatestOnly
from sparkassets.core.writes import AppendWrite
from tests.builders import Story, asset, at, days, project, source, timed
from tests.depth import examples

GONE = TableFinding("gone", "its table at /data/a was deleted", EVERYTHING)
ANOTHER = TableFinding("replaced", "its table at /data/a was replaced by another", EVERYTHING, "u", 3, "content:x")


def restored(*keys, **more):
    return TableFinding("restored", "its table was restored", days(*keys), "t", 9, "content:r", **more)


def changed(*keys, version=2):
    commit = ForeignCommit(version, "DELETE", at("2025-01-09"), days(*keys))
    return TableFinding("changed", "", table_id="t", version=version, mark="content:c", commits=(commit,))


def found(story, name, what):
    entry = build_target_entry(story.project.assets[name], story.state.assets[name], what)
    if entry is not None:
        story.add(entry)
    return entry


def ran(*assets, keys="2025-01-01..2025-01-03"):
    """A story in which all of it has run."""
    story = Story(project(source("s", by="day" if assets[0].partitioning.is_partitioned else None), *assets))
    story.observed("s", *([keys] if assets[0].partitioning else []))
    story.run_all()
    assert story.due() == {}
    return story


def notes(story, name="a", **more):
    return [note.text for note in story.plan(**more).notes if note.asset == name]


# --------------------------------------------------------------------------- partitioned


@pytest.mark.parametrize("what", [GONE, ANOTHER])
def test_a_partitioned_asset_is_computed_again_from_its_first_partition_on_and_says_why(what):
    story = ran(asset("a", "s"))
    found(story, "a", what)
    assert story.due() == {"a": ["2025-01-01..2025-01-03"]}
    assert story.plan().runs[0].reason == f"3 partitions missing; {what.reason}"
    assert story.state.dataset("a").coverage == days()
    assert asset_status(story.context(), story.project.assets["a"]).notes == (f"2025-01-01..2025-01-03: {what.reason}",)
    assert any(what.reason in node.text for node in explain_asset(story.context(), story.project.assets["a"]).children)
    story.run_all()
    assert story.state.assets["a"].loss is None
    assert asset_status(story.context(), story.project.assets["a"]).notes == ()


def test_what_runs_wrote_after_the_version_restored_to_is_missing_and_no_more():
    story = ran(asset("a", "s"))
    found(story, "a", restored("2025-01-02"))
    assert story.due() == {"a": ["2025-01-02"]}
    assert story.state.dataset("a").coverage == days("2025-01-01", "2025-01-03")
    assert story.state.assets["a"].version == 9


@pytest.mark.parametrize("what", [GONE, restored("2025-01-02")])
def test_consumers_keep_their_rows_and_wait_for_what_is_lost_whatever_they_require(what):
    loose = InletSpec("a", "", None, require=replace(InletSpec("a", "", None).require, kind="none"))
    story = ran(asset("a", "s", paused=False), asset("b", loose), asset("c", "a", by=None))
    before = story.state.assets["b"].coverage
    found(story, "a", what)
    story.project = project(source("s"), asset("a", "s", paused=True), asset("b", loose), asset("c", "a", by=None))
    story.observed("s", "2025-01-04")
    assert story.due() == {}
    assert story.state.assets["b"].coverage == before
    assert before.covers(days("2025-01-01..2025-01-03"))
    partitions = days("2025-01-02")
    backfill = plan_backfill_unpartitioned(story.context(), story.project.assets["c"], None)
    assert [item.reason for item in backfill.waiting] == [f"waits for a: {what.reason}"]
    lacking = [item.reason for item in story.plan().waiting if item.asset == "b" and item.partitions == partitions]
    assert lacking == []
    assert notes(story) == [f"{what.reason}; missing until it is recomputed"]


def test_consumers_run_again_once_it_is_whole_again():
    story = ran(asset("a", "s"), asset("b", "a"), asset("c", "a", by=None))
    found(story, "a", restored("2025-01-02"))
    assert story.due() == {"a": ["2025-01-02"]}
    assert story.waits("b") == ["waits for a 2025-01-02, which runs first"]
    assert [run.asset for run in story.run_all()] == ["a", "b", "c"]


def test_an_update_of_a_dimension_that_is_lost_is_waited_for_although_it_makes_nothing_stale():
    story = Story(project(source("s"), source("t", by=None), asset("dim", "t", by=None), asset("b", "s", "dim")))
    story.observed("s", "2025-01-01")
    story.observed("t")
    story.run_all()
    found(story, "dim", GONE)
    story.observed("s", "2025-01-02")
    assert story.due() == {"dim": []}
    assert story.waits("b") == ["waits for dim, which runs first"]
    assert [run.asset for run in story.run_all()] == ["dim", "b"]


def test_a_timetable_runs_its_newest_tick_again():
    story = ran(asset("a", "s", schedule=timed("@daily")))
    found(story, "a", restored("2025-01-02"))
    assert story.due() == {"a": ["2025-01-02"]}


def test_what_timetables_computed_before_is_wanted_still_when_it_is_lost():
    aligned, daily = InletSpec("u", "", None, aligned=True, on_update="ignore"), timed("@daily")
    story = Story(project(asset("u", schedule=daily), asset("a", aligned, schedule=daily)), now="2025-01-04")
    story.run_all()
    story.now = "2025-01-06"
    story.run_all()
    assert story.state.assets["a"].coverage == days("2025-01-03..2025-01-05")
    found(story, "u", GONE)
    found(story, "a", GONE)
    assert story.due()["u"] == ["2025-01-03..2025-01-05"]
    story.run_all()
    assert story.state.assets["a"].coverage == days("2025-01-03..2025-01-05")
    assert [story.state.assets[name].loss for name in ("u", "a")] == [None, None]


def test_what_is_lost_and_has_no_input_any_more_says_how_to_go_on_without():
    kept = InletSpec("s", "", None, on_removed="keep")
    story = ran(asset("a", kept), asset("f", "a", by=None))
    story.observed("s", removed=days("2025-01-02"))
    found(story, "a", GONE)
    assert story.due() == {"a": ["2025-01-01", "2025-01-03"]}
    story.run_all()
    (wait,) = [item for item in story.plan().waiting if item.asset == "a"]
    assert not wait.quiet
    assert wait.reason == (
        "waits for s: 0 of 1 partition, missing 2025-01-02, which was removed; `sparkassets backfill a --partition "
        "… --force` computes it without them"
    )
    assert story.waits("f") == [f"waits for a: {GONE.reason}"]


def test_what_is_not_due_is_noted_until_it_is():
    story = ran(asset("a", "s"))
    found(story, "a", restored("2025-01-02"))
    assert notes(story, select=[]) == ["its table was restored; missing until it is recomputed"]
    assert notes(story) == []


def test_two_assets_of_one_dataset_lose_each_its_own():
    one, two = replace(asset("a", "s"), uri="x-both"), replace(asset("b", "s"), uri="x-both")
    story = ran(one, two)
    found(story, "a", GONE)
    assert story.state.dataset("x-both").coverage == days("2025-01-01..2025-01-03")
    assert story.due() == {"a": ["2025-01-01..2025-01-03"]}


# --------------------------------------------------------------------------- whole


@pytest.mark.parametrize("what", [GONE, ANOTHER, replace(restored(), lost=EVERYTHING)])
def test_a_full_refresh_runs_again(what):
    story = ran(asset("a", "s", by=None))
    found(story, "a", what)
    assert story.due() == {"a": []}
    assert story.plan().runs[0].reason == f"s updated; {what.reason}"
    story.run_all()
    assert story.state.assets["a"].loss is None


@pytest.mark.parametrize("schedule", ["@daily", "@once"])
def test_a_full_refresh_by_the_clock_runs_for_its_newest_tick_again(schedule):
    story = ran(asset("a", "s", by=None, schedule=timed(schedule)))
    found(story, "a", GONE)
    assert story.due() == {"a": []}


READ = InletSpec("s", "", None, read=ReadAfter("id"))
LATEST = {"by": None, "strategy": LatestOnly(), "write": AppendWrite()}


def latest():
    story = Story(project(source("s", by=None), asset("a", READ, **LATEST)))
    for high in ("5", "9"):
        story.observed("s")
        run = story.plan().runs[0]
        story.succeed("a", story.claim(run), watermarks={"s": high})
    return story


def test_a_vanished_table_with_a_watermark_is_computed_from_the_start():
    story = latest()
    found(story, "a", GONE)
    (run,) = story.plan().runs
    assert run.request.pins["s"].low is None
    assert run.reason == "s updated; its table at /data/a was deleted"


def test_a_restored_table_goes_on_from_the_watermark_of_the_run_that_is_left():
    story = latest()
    found(story, "a", replace(restored(watermarks={"s": "5"}), lost=EVERYTHING))
    (run,) = story.plan().runs
    assert run.request.pins["s"].low == "5"


STUCK = (
    "; appended rows cannot be recomputed: restore the table, or continue with the rows left by `sparkassets "
    "backfill a`"
)


@pytest.mark.parametrize("what", [ANOTHER, replace(restored(), lost=EVERYTHING)])
def test_another_table_or_one_of_which_no_watermark_is_known_waits_for_a_person(what):
    story = latest()
    found(story, "a", what)
    story.observed("s")
    assert story.due() == {}
    assert story.waits("a") == [what.reason + STUCK]


def every():
    return ran(asset("a", "s", by=None, strategy=EveryInstance(), write=AppendWrite()), asset("b", "a", by=None))


@pytest.mark.parametrize("what", [GONE, ANOTHER])
def test_instances_that_were_appended_are_not_remade_from_used_events(what):
    story = every()
    assert found(story, "a", what).stuck
    story.observed("s")
    assert story.due() == {}
    assert story.waits("a") == [what.reason + STUCK]
    assert story.waits("b") == [f"waits for a: {what.reason}{STUCK}"]
    assert found(story, "a", what) is None, "it is recorded once"
    assert asset_status(story.context(), story.project.assets["a"]).notes == (what.reason + STUCK,)


def test_intervals_that_were_appended_together_are_not_remade_by_themselves():
    clocked = asset("a", "s", schedule=timed("@daily"), **LATEST)
    story = ran(clocked, asset("b", "a", by=None))
    assert found(story, "a", GONE).stuck
    assert story.waits("a") == [GONE.reason + STUCK]


def test_a_table_that_was_put_back_goes_on():
    story = every()
    before = story.state.assets["a"]
    found(story, "a", GONE)
    assert found(story, "a", None).found.kind == "back"
    assert replace(story.state.assets["a"]) == before
    story.observed("s")
    assert story.due() == {"a": []}


def test_a_person_who_backfills_goes_on_with_what_is_there():
    story = every()
    found(story, "a", GONE)
    run = plan_backfill_unpartitioned(story.context(), story.project.assets["a"], None).runs[0]
    story.succeed("a", story.claim(run), version=0)
    state = story.state.assets["a"]
    assert (state.loss, state.seen_version) == (None, 0)


# --------------------------------------------------------------------------- others


def test_what_others_changed_is_news_for_consumers_and_stays_as_it_is():
    story = ran(asset("a", "s"), asset("b", "a"), asset("c", "a", by=None))
    found(story, "a", changed("2025-01-02"))
    assert story.due() == {"b": ["2025-01-02"], "c": []}
    assert notes(story) == [
        (
            "changed by another writer: DELETE in version 2 at 2025-01-09T00:00Z; recompute it by `sparkassets "
            "backfill a --partition … --force`"
        )
    ]
    assert story.plan().runs[0].request.pins["a"].version == 2
    story.run_all()
    assert notes(story), "until it is rewritten"
    assert story.state.assets["a"].coverage == days("2025-01-01..2025-01-03")
    story.observed("s", "2025-01-02")
    story.run_all()
    assert notes(story) == []


def test_what_others_changed_outside_what_was_computed_is_told_and_no_event():
    story = ran(asset("a", "s"), asset("b", "a"))
    before = story.state.dataset("a")
    found(story, "a", changed())
    assert story.due() == {}
    assert story.state.dataset("a") == before
    assert len(notes(story)) == 1


def test_commits_that_change_no_row_only_move_the_position():
    story = ran(asset("a", "s"), asset("b", "a"))
    found(story, "a", TableFinding("moved", "", table_id="t", version=7, mark="content:m"))
    assert story.due() == {}
    state = story.state.assets["a"]
    assert (state.version, state.seen_version, state.commit_mark) == (7, 7, "content:m")


def test_a_run_that_follows_what_was_seen_is_seen_with_it_and_one_after_a_gap_is_not():
    story = ran(asset("a", "s"))
    first = story.state.assets["a"]
    assert (first.seen_version, first.commit_mark) == (1, f"epoch:{first.newest_token}")
    for version, seen in ((2, 2), (5, 2)):
        story.observed("s", "2025-01-01")
        story.succeed("a", story.claim(story.plan().runs[0]), version=version)
        assert story.state.assets["a"].seen_version == seen


def success(story, name, claim, table):
    link = story.state.assets[name].chain[-1]
    return SuccessEntry(name, name, link.entry.run, claim, claim, link.entry.partitions, table, 0)


def test_a_run_that_wrote_into_another_table_than_was_recorded_tells_that_the_rest_is_lost():
    story = ran(asset("a", "s"))
    story.observed("s", "2025-01-04")
    claim = story.claim(story.plan().runs[0])
    story.add(success(story, "a", claim, "other"))
    assert story.due() == {"a": ["2025-01-01..2025-01-03"]}
    assert "was replaced by another before a-" in story.plan().runs[0].reason
    assert story.state.dataset("a").coverage == days("2025-01-04")


def test_an_appending_run_that_wrote_into_another_table_waits_for_a_person():
    story = latest()
    story.observed("s")
    claim = story.claim(story.plan().runs[0])
    story.add(success(story, "a", claim, "other"))
    story.observed("s")
    assert story.due() == {}
    assert "was replaced by another before a-" in story.waits("a")[0]


def test_a_table_that_cannot_be_looked_at_keeps_it_and_its_consumers_and_nobody_else():
    story = ran(asset("a", "s"), asset("b", "a"), asset("c", "s"))
    story.observed("s", "2025-01-04")
    faults = {"a": "cannot read it"}
    assert story.due(faults=faults) == {"c": ["2025-01-04"]}
    assert story.waits("a", faults=faults) == ["cannot read it"]
    assert story.waits("b", faults=faults)[0] == "waits for a: cannot read it"


@pytest.mark.parametrize("what", [GONE, ANOTHER, restored("2025-01-02"), changed("2025-01-03"), changed()])
def test_entries_and_snapshots_keep_all_of_it(what):
    story = ran(asset("a", "s"), asset("b", "a"))
    entry = found(story, "a", what)
    assert isinstance(entry, TargetEntry)
    assert from_row(story.rows[-1]).entry == entry
    assert story.rows[-1].kind == "target"
    assert decode(encode(story.state), journal_id=story.state.journal_id) == story.state
    assert fold(State("journal"), map(from_row, story.rows), commit=story.state.commit) == story.state


def test_a_claim_of_a_driver_that_is_gone_is_settled_first_and_then_the_rest_is_computed():
    story = ran(asset("a", "s"))
    story.observed("s", "2025-01-04")
    token = story.claim(story.plan().runs[0])
    found(story, "a", GONE)
    assert story.due(gone_claims={token}) == {"a": ["2025-01-01..2025-01-04"]}


# --------------------------------------------------------------------------- any order

DAY = st.integers(1, 6).map("2025-01-{:02}".format)
STEP = st.tuples(st.sampled_from(["observe", "run", "lose", "change", "gone", "move"]), st.sampled_from("ab"), DAY)


@settings(max_examples=examples(60))
@given(st.lists(STEP, max_size=14))
def test_nothing_is_ever_computed_from_what_is_lost_and_all_of_it_comes_back(steps):
    story = Story(project(source("s"), asset("a", "s"), asset("b", "a"), asset("c", "b", by=None)))
    for kind, name, key in steps:
        state = story.state.assets[name]
        match kind:
            case "observe":
                story.observed("s", key)
            case "run" if runs := story.plan().runs:
                check(story, runs[0])
                story.run(runs[0].asset)
            case "lose" if state.version is not None:
                found(story, name, restored(key))
            case "change" if state.version is not None:
                commit = ForeignCommit(9, "DELETE", None, days(key) & state.coverage)
                found(
                    story,
                    name,
                    TableFinding("changed", "", table_id="t", version=9, mark="content:c", commits=(commit,)),
                )
            case "gone" if state.version is not None:
                found(story, name, replace(GONE, reason=f"the table of {name} is gone"))
            case "move" if state.version is not None:
                found(story, name, TableFinding("moved", "", table_id="t", version=9, mark="content:m"))
        assert decode(encode(story.state), journal_id=story.state.journal_id) == story.state
    while runs := story.plan().runs:
        check(story, runs[0])
        story.run(runs[0].asset)
    assert fold(State("journal"), map(from_row, story.rows), commit=story.state.commit) == story.state
    states = story.state.assets
    assert [states[name].loss for name in "abc"] == [None, None, None]
    assert states["a"].coverage == states["b"].coverage == story.state.dataset("x-s").coverage


def check(story, run):
    for name in run.request.pins:
        state = story.state.assets[name]
        if state.loss is not None:
            assert not run.partitions.overlaps(state.loss.partitions)


def test_a_table_that_was_lost_before_its_asset_had_partitions_asks_for_no_more_than_one_without():
    story = ran(asset("a", by=None, schedule=timed("@daily")))
    found(story, "a", GONE)
    story.change(source("s"), asset("a", schedule=timed("@daily")))
    assert story.due() == {"a": ["2025-01-31"]}
    assert asset_status(story.context(), story.project.assets["a"]).missing == 1


def appended():
    return ran(asset("a", "s", strategy=EveryInstance(), write=AppendWrite()))


def test_partitions_that_were_appended_and_are_gone_for_certain_are_appended_again():
    story = appended()
    there = story.state.assets["a"].coverage
    found(story, "a", GONE)
    story.run_all()
    assert story.state.assets["a"].coverage == there


@pytest.mark.parametrize("what", [ANOTHER, replace(restored(), lost=EVERYTHING)])
def test_partitions_whose_rows_may_be_there_still_are_not_appended_twice(what):
    story = appended()
    assert found(story, "a", what).stuck
    assert story.due() == {}
    assert story.waits("a") == [what.reason + STUCK]
