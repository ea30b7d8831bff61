"""Segments that come to be known as a project runs: who brings them, who takes them, and what is due for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.entries import EventEntry, SegmentEntry, SuccessEntry
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.state import State
from sparkassets.core.partitions import NOTHING, PartitionError
from sparkassets.core.partitions.segments import WHOLE
from sparkassets.core.spec.model import InletSpec, PartitionRequirement
from sparkassets.core.strategies import SegmentBatches
from tests.builders import Story, asset, project, source, timed

RUNTIME = {"customer": "runtime"}


@pytest.fixture
def story():
    """A source of customers, what is computed of each, and what reads all of that."""
    readings = source("readings", by=None, segments=RUNTIME)
    return Story(
        project(readings, asset("model", "readings", by=None, segments=RUNTIME), asset("top", "model", by=None))
    )


@pytest.fixture
def alone():
    """Customers that nobody tells but the rows."""
    raw = source("raw", by=None)
    return Story(
        project(
            raw, asset("model", "raw", by=None, segments=RUNTIME), asset("each", "model", by=None, segments=RUNTIME)
        )
    )


def announce_customers(story, name, *, adds=(), removes=()):
    return story.add(SegmentEntry(name, "customer", tuple(adds), tuple(removes)))


def known(story, name):
    return story.context().asset(name).partitioning.segments[0].keys


def came_out(story, name, *keys, added=()):
    """Claims the run of all segments, which succeeds with these."""
    run = next(run for run in story.plan().runs if run.asset == name)
    claim = story.claim(run)
    return succeed(story, run, claim, *keys)


def succeed(story, run, claim, *keys):
    link = story.state.assets[run.asset].chain[-1]
    learned = {"customer": keys} if keys else {}
    partitions = story.context().asset(run.asset).partitioning.resolve_whole(run.partitions, learned)
    head = (run.asset, run.asset, link.entry.run, claim, claim, partitions)
    return story.add(SuccessEntry(*head, "t", 1, pins=run.request.pins, keys=learned))


class TestSources:
    def test_their_events_bring_segments(self, story):
        assert story.waits("model") == ["waits for the first partition of readings"]
        story.observed("readings", "a", "b")
        assert known(story, "readings") == known(story, "model") == ("a", "b")
        assert story.due() == {"model": ["a", "b"]}

    def test_one_that_changed_is_computed_alone(self, story):
        story.observed("readings", "a", "b")
        story.run_all()
        story.observed("readings", "b")
        assert story.due() == {"model": ["b"]}

    def test_a_new_one_is_computed_alone(self, story):
        story.observed("readings", "a", "b")
        story.run_all()
        story.observed("readings", "c")
        assert story.due() == {"model": ["c"]}

    def test_announced_events_bring_segments_too(self, story):
        spec = story.project.assets["readings"]
        story.add(EventEntry(spec.uri, "readings", spec.partitioning.parse("z", recorded=True)))
        assert story.due() == {"model": ["z"]}

    def test_without_a_name_the_dataset_tells_whose_they_are(self, story):
        spec = story.project.assets["readings"]
        story.add(EventEntry(spec.uri, None, spec.partitioning.parse("z", recorded=True)))
        assert known(story, "model") == ("z",)

    def test_one_that_was_added_waits_for_its_data(self, story):
        story.observed("readings", "a")
        announce_customers(story, "readings", adds=["b"])
        assert known(story, "model") == ("a", "b")
        assert story.due() == {"model": ["a"]}


class TestRemoved:
    def test_it_is_not_wanted_any_more_and_the_plan_says_so(self, story):
        story.observed("readings", "a", "b")
        story.run_all()
        announce_customers(story, "readings", removes=["b"])
        plan = story.plan()
        assert plan.runs == ()
        (note,) = plan.notes
        assert (note.asset, story.keys("model", note.partitions)) == ("model", ["b"])
        assert note.text == "no longer a known segment; its rows stay, and nothing recomputes them"

    def test_it_stays_removed_whatever_comes(self, story):
        story.observed("readings", "a", "b")
        story.run_all()
        announce_customers(story, "readings", removes=["b"])
        story.observed("readings", "a", "b")
        assert story.due() == {"model": ["a"]}

    def test_added_again_it_is_computed_anew(self, story):
        story.observed("readings", "a", "b")
        story.run_all()
        announce_customers(story, "readings", removes=["b"])
        announce_customers(story, "readings", adds=["b"])
        assert story.due() == {"model": ["b"]}
        assert story.plan().notes == ()

    def test_of_a_consumer_alone_its_inlet_knows_it_still(self, story):
        story.observed("readings", "a", "b")
        announce_customers(story, "model", removes=["b"])
        assert (known(story, "readings"), known(story, "model")) == (("a", "b"), ("a",))
        assert story.due() == {"model": ["a"]}

    def test_one_that_was_never_computed_leaves_nothing(self, story):
        story.observed("readings", "a", "b")
        announce_customers(story, "readings", removes=["b"])
        assert (story.due(), story.plan().notes) == ({"model": ["a"]}, ())

    def test_a_failure_of_it_is_forgotten(self, story):
        story.observed("readings", "a", "b")
        (run, *_) = story.plan().runs
        story.fail("model", story.claim(run))
        announce_customers(story, "readings", removes=["b"])
        assert story.due() == {"model": ["a"]}


class TestOfNoneKnown:
    def test_a_run_processes_everything(self, alone):
        alone.observed("raw")
        (run,) = alone.plan().runs
        assert (run.asset, alone.keys("model", run.partitions), run.reason) == ("model", ["*"], "1 partition missing")
        assert alone.waits("each") == ["waits for the first partition of model"]

    def test_what_came_out_is_known_and_computed(self, alone):
        alone.observed("raw")
        came_out(alone, "model", "x", "y")
        assert known(alone, "model") == known(alone, "each") == ("x", "y")
        assert alone.due() == {"each": ["x", "y"]}

    def test_where_nothing_came_out_it_is_done_until_somebody_adds_one(self, alone):
        alone.observed("raw")
        came_out(alone, "model")
        assert alone.due() == {}
        announce_customers(alone, "model", adds=["x"])
        assert alone.due() == {"model": ["x"]}

    def test_one_that_is_added_later_is_computed_alone(self, alone):
        alone.observed("raw")
        came_out(alone, "model", "x")
        alone.run_all()
        announce_customers(alone, "model", adds=["z"])
        assert alone.due() == {"model": ["z"]}

    def test_once_the_last_is_removed_the_next_cause_discovers_again(self):
        story = discovering()
        story.observed("raw")
        came_out(story, "model", "x")
        announce_customers(story, "model", removes=["x"])
        assert (known(story, "model"), story.due()) == ((WHOLE,), {})
        story.observed("raw")
        assert story.due() == {"model": ["*"]}
        came_out(story, "model", "y")
        assert (known(story, "model"), story.due()) == (("y",), {})
        story.observed("raw")
        assert story.due() == {"model": ["y"]}

    def test_once_the_last_is_removed_it_may_be_added_again_and_is_computed_anew(self):
        story = discovering()
        story.observed("raw")
        came_out(story, "model", "x")
        announce_customers(story, "model", removes=["x"])
        announce_customers(story, "model", adds=["x"])
        assert (known(story, "model"), story.due()) == (("x",), {"model": ["x"]})

    def test_once_the_last_is_removed_the_next_tick_discovers_again(self):
        made = asset("model", by=None, segments=RUNTIME, schedule=timed("@daily"), strategy=SegmentBatches())
        story = Story(project(made), now="2025-01-02")
        came_out(story, "model", "x")
        announce_customers(story, "model", removes=["x"])
        assert story.due() == {}
        story.now = "2025-01-03"
        assert story.due() == {"model": ["*"]}

    def test_days_of_the_last_that_was_removed_are_not_computed_again_before_something_comes(self):
        story = Story(project(source("days"), asset("model", "days", segments=RUNTIME)), now="2025-01-04")
        story.observed("days", "2025-01-01..2025-01-02")
        came_out(story, "model", "x")
        announce_customers(story, "model", removes=["x"])
        assert story.due() == {}
        story.observed("days", "2025-01-02..2025-01-03")
        assert story.due() == {"model": ["2025-01-02..2025-01-03,*"]}

    def test_days_of_the_last_that_was_removed_are_computed_for_the_next_that_is_found(self):
        story = Story(project(source("days"), asset("model", "days", segments=RUNTIME)), now="2025-01-04")
        story.observed("days", "2025-01-01..2025-01-02")
        came_out(story, "model", "x")
        announce_customers(story, "model", removes=["x"])
        story.observed("days", "2025-01-03")
        came_out(story, "model", "y")
        assert story.due() == {"model": ["2025-01-01..2025-01-02,y"]}

    def test_a_key_that_is_added_while_it_runs_is_computed_after_it(self, alone):
        alone.observed("raw")
        (run,) = alone.plan().runs
        claim = alone.claim(run)
        announce_customers(alone, "model", adds=["z"])
        succeed(alone, run, claim, "x")
        assert known(alone, "model") == ("x", "z")
        assert alone.due()["model"] == ["z"]

    def test_what_came_meanwhile_makes_all_that_came_out_stale(self):
        inlet = InletSpec("days", "", None)
        spec = project(source("days"), asset("model", inlet, by=None, segments=RUNTIME))
        story = Story(replace(spec, assets={**spec.assets, "model": _rerunning(spec.assets["model"])}))
        story.observed("days", "2025-01-01")
        (run,) = story.plan().runs
        claim = story.claim(run)
        story.observed("days", "2025-01-02")
        succeed(story, run, claim, "x", "y")
        assert story.due() == {"model": ["x", "y"]}

    def test_days_of_which_nothing_came_are_done_for_those_that_come_out_later(self):
        story = Story(project(source("days"), asset("model", "days", segments=RUNTIME)), now="2025-01-03")
        story.observed("days", "2025-01-01")
        assert story.due() == {"model": ["2025-01-01,*"]}
        came_out(story, "model")
        story.observed("days", "2025-01-02")
        assert story.due() == {"model": ["2025-01-02,*"]}
        came_out(story, "model", "x")
        assert story.due() == {}
        story.observed("days", "2025-01-01")
        assert story.due() == {"model": ["2025-01-01,x"]}


def discovering():
    """An asset whose rows alone tell its segments, computed again whenever its inlet is updated."""
    spec = project(source("raw", by=None), asset("model", "raw", by=None, segments=RUNTIME))
    return Story(replace(spec, assets={**spec.assets, "model": _rerunning(spec.assets["model"])}))


def _rerunning(spec):
    inlets = {name: replace(inlet, on_update="rerun") for name, inlet in spec.inlets.items()}
    return replace(spec, inlets=inlets)


class TestConsumers:
    def test_a_list_takes_those_that_are_in_it(self):
        listed = asset("model", "readings", by=None, segments={"customer": ("a", "b")})
        story = Story(project(source("readings", by=None, segments=RUNTIME), listed))
        story.observed("readings", "a", "c")
        assert story.due() == {"model": ["a"]}

    def test_one_without_them_needs_each_that_is_known(self):
        story = Story(project(source("sales", segments=RUNTIME), asset("total", "sales")), now="2025-01-03")
        story.observed("sales", "2025-01-01,a", "2025-01-01,b")
        assert story.due() == {"total": ["2025-01-01"]}
        story.run_all()
        story.observed("sales", "2025-01-02,a")
        assert story.due() == {}
        assert story.waits("total")[0].startswith("waits for sales: 1 of 2 partitions, missing 2025-01-02,b")
        announce_customers(story, "sales", removes=["b"])
        assert story.due() == {"total": ["2025-01-02"]}

    def test_days_of_customers(self):
        story = Story(
            project(source("sales", segments=RUNTIME), asset("daily", "sales", segments=RUNTIME)), now="2025-01-04"
        )
        story.observed("sales", "2025-01-01,a", "2025-01-02,a", "2025-01-02,b")
        assert story.due() == {"daily": ["2025-01-01..2025-01-02,a", "2025-01-02,b"]}
        story.run_all()
        story.observed("sales", "2025-01-03,c")
        assert story.due() == {"daily": ["2025-01-03,c"]}

    def test_any_of_them_is_enough_where_the_inlet_says_so(self):
        inlet = InletSpec("sales", "", None, require=PartitionRequirement("any"))
        story = Story(project(source("sales", segments=RUNTIME), asset("total", inlet)), now="2025-01-03")
        story.observed("sales", "2025-01-01,a", "2025-01-02,b")
        assert story.due() == {"total": ["2025-01-01..2025-01-02"]}


class TestSpecs:
    def test_what_is_known_stays_when_the_files_change(self, story):
        story.observed("readings", "a", "b")
        story.run_all()
        announce_customers(story, "readings", removes=["b"])
        story.change(
            *[replace(each, inlets={}) if each.name == "top" else each for each in story.project.assets.values()]
        )
        assert known(story, "model") == ("a",)

    def test_a_list_becomes_what_is_there(self):
        listed = {"customer": ("a", "b")}
        story = Story(
            project(source("readings", by=None, segments=listed), asset("model", "readings", by=None, segments=listed))
        )
        story.observed("readings", "a")
        story.run_all()
        story.change(
            source("readings", by=None, segments=RUNTIME), asset("model", "readings", by=None, segments=RUNTIME)
        )
        assert known(story, "model") == ("a",)
        assert story.due() == {}
        story.observed("readings", "c")
        assert story.due() == {"model": ["c"]}

    def test_and_back(self, story):
        story.observed("readings", "a", "b")
        story.run_all()
        listed = {"customer": ("a", "c")}
        top = story.project.assets["top"]
        story.change(
            source("readings", by=None, segments=listed), asset("model", "readings", by=None, segments=listed), top
        )
        assert known(story, "model") == ("a", "c")
        assert story.due() == {}


def test_it_folds_alike_at_once_and_one_by_one(story):
    story.observed("readings", "a", "b")
    story.run_all()
    announce_customers(story, "readings", removes=["b"], adds=["c"])
    story.observed("readings", "d")
    assert decode(encode(story.state), journal_id="journal") == story.state
    assert fold(State("journal"), story.entries, commit=story.state.commit) == story.state


def test_the_journal_says_no_segments_in_a_spec(story):
    story.observed("readings", "a")
    specs = [each.spec.as_declared for each in story.state.assets.values()]
    assert all(each.partitioning.known_partitions == NOTHING for each in specs if each.partitioning.is_open)


def test_what_a_commit_of_all_says_of_itself_is_any_segment_of_its_time():
    partitioning = asset("model", segments=RUNTIME).partitioning
    days = partitioning.parse("2025-01-01..2025-01-02,*", recorded=True)
    assert days.covers(partitioning.parse("2025-01-02,z", recorded=True))
    assert not days.overlaps(partitioning.parse("2025-01-03,z", recorded=True))
    with pytest.raises(PartitionError, match="'2025-01-01' names no partition: no segment is known yet") as error:
        partitioning.parse("2025-01-01")
    assert str(error.value.hint).startswith("name it, as day,")
