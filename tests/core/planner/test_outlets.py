"""What is planned, told and followed of a multi-asset and its outlets."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.documents.graph import build_graph, graph_document
from sparkassets.core.journal.entries import EventEntry, OutletEntry, PauseEntry, SpecEntry, SuccessEntry
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.journal.lineage import trace_lineage
from sparkassets.core.journal.state import EventRef
from sparkassets.core.journal.table_findings import ForeignCommit, TableFinding, TargetEntry
from sparkassets.core.journal.table_losses import build_target_entry
from sparkassets.core.partitions import EVERYTHING, NOTHING
from sparkassets.core.planner.explain.code_changes import find_code_changes
from sparkassets.core.planner.explain.explanation import explain_asset
from sparkassets.core.planner.explain.impact import recomputed_by_update, trace_impact
from sparkassets.core.planner.explain.partition_marks import MarkRequest, build_mark_entries
from sparkassets.core.planner.explain.status import asset_status, partition_grid
from sparkassets.core.query_text import normal_form
from sparkassets.core.spec.model import InletSpec, ReadAfter
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.strategies import DateRange, EveryInstance, LatestOnly
from sparkassets.core.writes import AppendWrite
from sparkassets.errors import InputError
from tests.builders import Story, asset, days, multi, project, source, timed
from tests.depth import histories
from tests.drivers import Drivers

GONE = TableFinding("gone", "its table at /data/train was deleted", EVERYTHING)
WEEK = "2025-01-06..2025-01-12"


def make_story(*more, multi_asset=None, by="day") -> Story:
    split = multi_asset if multi_asset is not None else asset("split", "s", by=by)
    return Story(project(source("s", by=by), *multi(split, "train", "test"), *more))


def ran(*more, keys=WEEK, **kind) -> Story:
    story = make_story(*more, **kind)
    story.observed("s", *([keys] if story.project.assets["s"].partitioning.is_partitioned else []))
    story.run_all()
    assert story.due() == {}
    return story


def found(story: Story, name: str, what: TableFinding | None) -> TargetEntry | None:
    entry = build_target_entry(story.project.assets[name], story.state.assets[name], what)
    if entry is not None:
        story.add(entry)
    return entry


def events(story: Story, uri: str) -> list[str]:
    refs = (EventRef.from_entry(each) for each in story.entries)
    return [str(ref.run) for ref in refs if ref is not None and ref.uri == uri]


def past(story: Story):
    return lambda uri: (each for each in reversed(story.entries) if getattr(each.entry, "uri", None) == uri)


# --------------------------------------------------------------------------- runs and events


def test_the_asset_runs_and_its_outlets_are_what_others_follow():
    story = make_story(asset("fit", "train"), asset("score", "train", "test", by=None, schedule="train & test"))
    story.observed("s", "2025-01-06..2025-01-07")
    assert story.due() == {"split": ["2025-01-06..2025-01-07"]}
    assert story.waits("fit") == ["waits for train 2025-01-06..2025-01-07, which runs first"]
    assert [run.asset for run in story.run_all()] == ["split", "fit", "score"]
    assert events(story, "train") == events(story, "test")
    assert len(events(story, "train")) == 1
    assert events(story, "sparkassets:split") == []
    for name in ("split", "train", "test"):
        assert story.state.assets[name].coverage == days("2025-01-06..2025-01-07")
    assert story.state.dataset("sparkassets:split").coverage == days("2025-01-06..2025-01-07")


def test_consumers_wait_for_the_failed_multi_asset():
    story = make_story(asset("fit", "train"))
    story.observed("s", "2025-01-06")
    story.fail("split", story.claim(story.plan().runs[0]))
    assert story.waits("fit", invocation="i") == ["waits for split 2025-01-06, which failed"]


def test_what_came_out_as_it_was_is_no_news_of_that_outlet_alone():
    story = ran(asset("fit", "train"), asset("check", "test"))
    story.observed("s", "2025-01-06..2025-01-07")
    (run,) = story.plan().runs
    token = story.claim(run)
    claim = story.state.assets["split"].chain[-1].entry
    head = (claim.run, token, token, run.partitions, "t", 2)
    story.add(
        OutletEntry("train", "train", "split", *head, unchanged=days("2025-01-06")),
        OutletEntry("test", "test", "split", *head, unchanged=run.partitions),
        SuccessEntry("split", "sparkassets:split", *head[:4], outlets=("train", "test")),
    )
    assert story.due() == {"fit": ["2025-01-07"]}


def test_an_outlet_is_known_by_the_claim_that_committed_it():
    story = make_story()
    story.observed("s", "2025-01-06")
    (run,) = story.plan().runs
    token, later = story.claim(run), story.claim(run)
    head = (story.state.assets["split"].chain[0].entry.run, token, later, run.partitions, "t", 0)
    story.add(
        OutletEntry("train", "train", "split", *head),
        OutletEntry("test", "test", "split", *head, epoch=later),
        SuccessEntry("split", "sparkassets:split", *head[:4], outlets=("train", "test")),
    )
    assert [story.state.assets[name].commit_mark for name in ("train", "test")] == [f"epoch:{token}", f"epoch:{later}"]


def test_a_manual_event_of_an_outlet_is_one_of_any_asset():
    story = ran(asset("fit", "train"))
    story.add(EventEntry("train", "train", days("2025-01-06")))
    assert story.due() == {"fit": ["2025-01-06"]}


def test_a_consumer_aligned_to_an_outlet_reads_the_run_of_its_tick():
    split = asset("split", schedule=timed("0 0 * * *"), by=None, strategy=EveryInstance(), write=AppendWrite())
    reader = asset("r", InletSpec("train", "", None, aligned=True), schedule=timed("0 6 * * *"), by=None)
    story = Story(project(*multi(split, "train", "test"), reader), now="2025-01-02T07:00")
    story.run("split")
    (instance,) = story.state.assets["train"].instances
    run = next(run for run in story.plan().runs if run.asset == "r")
    assert run.request.pins["train"].version == instance.version


# --------------------------------------------------------------------------- losses


@pytest.mark.parametrize("partial", [False, True])
def test_what_one_outlet_lost_the_asset_makes_again(partial):
    story = ran(asset("fit", "train"), asset("check", "test"))
    what = TableFinding("restored", "its table was restored", days("2025-01-07"), "t", 9, "m") if partial else GONE
    found(story, "train", what)
    lost = ["2025-01-07"] if partial else [WEEK]
    assert story.due() == {"split": lost}
    (run,) = story.plan().runs
    assert run.reason == f"{'1 partition' if partial else '7 partitions'} missing; {what.reason}"
    assert story.state.assets["test"].coverage == days(WEEK)
    assert story.state.assets["train"].coverage == (days(WEEK) - days("2025-01-07") if partial else NOTHING)
    assert story.waits("fit")[0].startswith("waits for train")
    story.run_all()
    for name in ("split", "train", "test"):
        assert story.state.assets[name].coverage == days(WEEK), name
        assert story.state.assets[name].loss is None, name


def test_an_unpartitioned_asset_runs_again_when_an_outlet_is_gone():
    story = ran(by=None)
    found(story, "test", TableFinding("gone", "its table at /data/test was deleted", EVERYTHING))
    assert story.due() == {"split": []}
    story.run_all()
    assert story.due() == {}


def test_what_others_changed_in_an_outlet_is_its_event_and_its_note():
    story = ran(asset("fit", "train"), asset("check", "test"))
    commit = ForeignCommit(5, "DELETE", None, days("2025-01-07"))
    found(story, "train", TableFinding("changed", "", table_id="t", version=5, mark="m", commits=(commit,)))
    assert story.due() == {"fit": ["2025-01-07"]}
    notes = {note.asset: note.text for note in story.plan().notes}
    assert notes == {
        "train": "changed by another writer: DELETE in version 5; recompute it by `sparkassets backfill split "
        "--partition … --force`"
    }


def test_where_runs_append_a_loss_of_one_outlet_is_for_a_person():
    inlet = InletSpec("s", "", None, read=ReadAfter("id"))
    split = asset("split", inlet, by=None, strategy=LatestOnly(), write=AppendWrite())
    story = make_story(multi_asset=split, by=None)
    story.observed("s")
    story.run_all()
    found(story, "train", GONE)
    (wait,) = story.waits("split")
    assert wait == (
        "its table at /data/train was deleted; appended rows cannot be recomputed: restore the table, or continue "
        "with the rows left by `sparkassets backfill split`"
    )
    other = replace(GONE, reason="its table at /data/test was deleted")
    found(story, "test", other)
    found(story, "train", None)
    assert other.reason in story.waits("split")[0], "the other is lost still"
    found(story, "test", None)
    assert story.state.assets["split"].loss is None


def test_a_fault_of_an_outlet_holds_the_asset_back():
    story = ran()
    story.observed("s", "2025-01-06")
    assert story.waits("split", faults={"test": "cannot be read"}) == ["cannot be read"]


# --------------------------------------------------------------------------- specs


def changed(story: Story, *assets) -> None:
    story.project = project(story.project.assets["s"], *assets)
    specs = ((item.name, build_fold_spec(item, story.project)) for item in story.project.assets.values())
    story.add(
        *(
            SpecEntry(*each)
            for each in specs
            if story.state.assets.get(each[0]) is None or story.state.assets[each[0]].spec != each[1]
        )
    )


def test_an_outlet_that_comes_or_moves_is_computed_with_all_others_and_one_that_goes_changes_nothing():
    story = ran()
    split = asset("split", "s")
    changed(story, *multi(split, "train", "test", "best"))
    assert story.due() == {"split": [WEEK]}
    story.run_all()
    changed(story, *multi(split, "train", "best"))
    assert story.due() == {}
    made, train, best = multi(split, "train", "best")
    changed(story, made, train, replace(best, storage=StorageLocation("/data/else", "else")))
    assert story.due() == {"split": [WEEK]}
    assert story.state.assets["train"].coverage == days(WEEK)
    assert story.state.assets["best"].coverage == NOTHING


def test_an_asset_becomes_an_outlet_and_an_asset_again():
    story = Story(project(source("s"), asset("train", "s"), asset("fit", "train")))
    story.observed("s", WEEK)
    story.run_all()
    changed(story, *multi(asset("split", "s"), "train", "test"), asset("fit", "train"))
    assert story.due() == {"split": [WEEK]}
    story.run_all()
    changed(story, asset("train", "s"), asset("fit", "train"))
    story.run_all()
    assert story.due() == {}
    assert story.state.assets["train"].coverage == days(WEEK)


# --------------------------------------------------------------------------- marks, pauses


def marked(story: Story, kind, *keys: str) -> None:
    spec = story.project.assets["split"]
    story.add(
        *build_mark_entries(
            story.context(), MarkRequest(spec, days(*keys) if keys else EVERYTHING, kind, "because", "ann")
        )
    )


def test_what_is_marked_of_the_asset_is_marked_of_its_outlets():
    story = ran(asset("fit", "train"))
    marked(story, "missing", "2025-01-07")
    assert story.due() == {"split": ["2025-01-07"]}
    assert story.state.assets["train"].coverage == days(WEEK) - days("2025-01-07")
    marked(story, "done", "2025-01-07")
    assert story.due() == {"fit": ["2025-01-07"]}
    for name in ("split", "train", "test"):
        assert story.state.assets[name].coverage == days(WEEK)
    assert story.state.dataset("sparkassets:split").coverage == days(WEEK)


def test_nobody_waits_for_what_is_skipped():
    story = make_story(asset("fit", "train", by="week"))
    story.observed("s", "2025-01-06..2025-01-11")
    marked(story, "skip", "2025-01-12")
    assert [run.asset for run in story.run_all()] == ["split", "fit"]


def test_a_pause_is_of_the_asset():
    story = make_story(asset("fit", "train"))
    story.add(PauseEntry("split", paused=True))
    story.observed("s", "2025-01-06")
    assert story.due() == {}


# --------------------------------------------------------------------------- what is told


def test_the_status_of_an_outlet():
    story = ran(asset("fit", "train"))
    story.observed("s", "2025-01-07", "2025-01-13")
    context = story.context()
    split, train = (asset_status(context, context.asset(name)) for name in ("split", "train"))
    assert (train.kind, train.covered, train.stale, train.missing) == ("outlet of split", (WEEK,), 1, 1)
    assert (split.kind, split.stale, split.missing) == ("date_range", 1, 1)
    assert train.last_run == split.last_run
    assert dict(partition_grid(context, context.asset("train"))) == dict(
        partition_grid(context, context.asset("split"))
    )


def test_explain_of_an_outlet_is_that_of_its_multi_asset_and_of_its_table():
    story = ran()
    found(story, "train", GONE)
    context = story.context()
    node = explain_asset(context, context.asset("train"))
    assert (node.text, node.holds) == ("train", True)
    assert [child.text for child in node.children] == ["the runs of split write it", f"{WEEK}: {GONE.reason}"]
    assert node.children[0].children == explain_asset(story.context(), context.asset("split")).children


def test_impact_goes_through_the_outlets_and_runs_are_of_the_asset():
    story = ran(asset("fit", "train"), asset("check", "test", by=None))
    context = story.context()
    assert recomputed_by_update(context, {"s": days("2025-01-07")}) == {
        "split": days("2025-01-07"),
        "fit": days("2025-01-07"),
        "check": EVERYTHING,
    }
    reach = trace_impact(context, context.asset("split"), days("2025-01-07")).reaches
    assert [(each.asset, each.through) for each in reach] == [
        ("train", ("split",)),
        ("test", ("split",)),
        ("fit", ("train",)),
        ("check", ("test",)),
    ]
    assert [each.asset for each in trace_impact(context, context.asset("train"), days("2025-01-07")).reaches] == ["fit"]


def test_lineage_leads_from_an_outlet_to_what_its_run_read():
    story = ran(asset("fit", "train"))
    (origin,) = trace_lineage(
        story.project, story.state, past(story), asset=story.project.assets["fit"], partitions=days("2025-01-07")
    ).origins
    (read,) = origin.reads
    (made,) = read.origins
    assert (read.asset, made.asset, made.kind, made.run) == (
        "train",
        "train",
        "run",
        story.state.assets["split"].last.run,
    )
    (source_read,) = made.reads
    assert (source_read.asset, source_read.parts) == ("s", days("2025-01-07"))


def test_the_graph_has_what_is_written():
    story = make_story(asset("fit", "train"))
    found = graph_document(build_graph(story.project))
    edges = [(each["from"], each["to"], each["kind"]) for each in found["edges"]]
    assert edges == [
        ("s", "split", "reads"),
        ("split", "train", "writes"),
        ("split", "test", "writes"),
        ("train", "fit", "reads"),
    ]


def test_a_mark_of_what_runs_is_refused_as_of_any_asset():
    story = ran()
    story.observed("s", "2025-01-07")
    story.claim(story.plan().runs[0])
    with pytest.raises(InputError, match="split 2025-01-07 is running"):
        marked(story, "missing", "2025-01-07")


# --------------------------------------------------------------------------- random histories


class History(Drivers):
    """Outlets and their readers; what is there must follow from what ran, for the incremental planner too."""

    def step(self) -> None:
        day = f"2025-01-{self.random.randint(6, 12):02}"
        match self.random.choice(
            ["s", "s", "t", "run", "run", "fail", "die", "lose", "part", "change", "mark", "next"]
        ):
            case "s" | "t" as name:
                self.story.observed(name, day)
            case "run" | "fail" | "die" as outcome if runs := self.runs():
                self.end(self.random.choice(runs), outcome)
            case "lose" | "part" | "change" as what:
                self.look(self.random.choice(["train", "test"]), what, day)
            case "mark" if not self.story.state.assets["split"].chain:
                marked(self.story, self.random.choice(["missing", "done"]), day)
            case "next":
                self.invocation += 1

    def look(self, name: str, what: str, day: str) -> None:
        state = self.story.state.assets[name]
        if not state.coverage.covers(days(day)) or self.story.state.assets["split"].chain:
            return
        commit = ForeignCommit(3, "DELETE", None, days(day))
        told = {
            "lose": replace(GONE, reason=f"its table at /data/{name} was deleted"),
            "part": TableFinding("restored", "its table was restored", days(day), "t", 2, "m"),
            "change": TableFinding("changed", "", table_id="t", version=3, mark="m", commits=(commit,)),
        }
        found(self.story, name, told[what])

    def check(self, context, plan) -> None:
        states = self.story.state.assets
        split = states["split"]
        assert states["train"].coverage & states["test"].coverage == split.coverage
        assert all(run.asset not in ("train", "test") for run in plan.runs)


@histories(60)
@given(random=st.randoms(use_true_random=False), steps=st.integers(5, 25), cap=st.sampled_from([1, 3, 100]))
def test_random_histories_end_with_all_outlets_whole(*, random: Random, steps: int, cap: int):
    split = asset("split", "s", "t", strategy=DateRange(max_partitions_per_run=cap))
    story = Story(
        project(
            source("s"),
            source("t"),
            *multi(split, "train", "test"),
            asset("fit", "train"),
            asset("both", "train", "test", by="week"),
            asset("whole", "test", by=None),
        )
    )
    drivers = History(random, story)
    for _ in range(steps):
        drivers.step()
    drivers.rest()
    states = story.state.assets
    wanted = story.state.dataset("x-s").coverage & story.state.dataset("x-t").coverage
    for name in ("split", "train", "test", "fit"):
        assert states[name].coverage.covers(wanted), name
    for name in ("train", "test"):
        assert story.state.dataset(name).coverage == states[name].coverage


def test_a_change_of_code_is_that_of_the_asset_and_reaches_who_reads_its_outlets():
    def split(sql: str):
        return asset("split", "s", definition=AssetDefinition.build(text=normal_form(sql)), on_code_change="backfill")

    story = ran(asset("fit", "train"), asset("check", "test"), multi_asset=split("SELECT 1"))
    changed(story, *multi(split("SELECT 2"), "train", "test"), asset("fit", "train"), asset("check", "test"))
    (change,) = find_code_changes(story.context())
    assert (change.asset, change.partitions, set(change.downstream)) == ("split", days(WEEK), {"fit", "check"})
    assert set(change.readers) <= {"fit", "check"}
    assert story.due() == {"split": [WEEK]}
    story.run_all()
    assert story.due() == {}
