"""What a person tells of partitions while a run computes them holds, however that run fails."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.partitions import EVERYTHING
from tests.builders import Story, asset, days, multi, project, source
from tests.depth import histories

KEYS = ("2025-01-01", "2025-01-02", "2025-01-03")


def make_story(*own):
    story = Story(project(source("s"), *(own or (asset("a", "s"),))))
    story.observed("s", *KEYS)
    return story


def mark(story, kind, *keys, name="a"):
    partitions = days(*keys) if keys else EVERYTHING
    story.add(MarkEntry(name, story.project.assets[name].uri, kind, partitions, "as it is", "ann"))


def failures(told, name="a"):
    there = told.state.assets[name].failed_partitions
    return [key for key in KEYS if there.overlaps(days(key))]


@pytest.mark.parametrize("kind", ["done", "skip"])
def test_a_run_that_fails_says_nothing_of_what_a_person_told_meanwhile(kind):
    story = make_story()
    claim = story.claim(story.plan().runs[0])
    mark(story, kind, "2025-01-02")
    story.fail("a", claim)
    assert failures(story) == ["2025-01-01", "2025-01-03"]
    assert story.due() == {"a": ["2025-01-01", "2025-01-03"]}


@pytest.mark.parametrize("kind", ["done", "skip"])
def test_nothing_has_failed_where_a_person_told_of_all(kind):
    story = make_story()
    claim = story.claim(story.plan().runs[0])
    mark(story, kind, *KEYS)
    story.fail("a", claim, fenced=False)
    assert failures(story) == []
    assert [link.status for link in story.state.assets["a"].chain] == ["unfenced"]


def test_what_was_told_before_the_run_was_claimed_is_overridden():
    story = make_story()
    mark(story, "done", "2025-01-02")
    story.observed("s", "2025-01-02")
    story.fail("a", story.claim(story.plan().runs[0]))
    assert failures(story) == list(KEYS)


def test_what_is_wanted_again_meanwhile_has_failed():
    story = make_story()
    claim = story.claim(story.plan().runs[0])
    mark(story, "done", "2025-01-02")
    mark(story, "missing", "2025-01-02")
    story.fail("a", claim)
    assert failures(story) == list(KEYS)


@pytest.mark.parametrize("kind", ["done", "skip"])
def test_of_an_asset_without_partitions(kind):
    story = Story(project(source("s", by=None), asset("a", "s", by=None)))
    story.observed("s")
    claim = story.claim(story.plan().runs[0])
    mark(story, kind)
    story.fail("a", claim)
    assert story.state.assets["a"].failed == ()


def test_of_a_multi_asset():
    story = make_story(*multi(asset("a", "s"), "x", "y"))
    claim = story.claim(story.plan().runs[0])
    mark(story, "done", "2025-01-02")
    story.fail("a", claim)
    assert failures(story) == ["2025-01-01", "2025-01-03"]


class Model:
    """Which days have failed: by day, what was said of it last, and what was claimed when."""

    def __init__(self):
        self.failed = set()
        self.settled = {}  # day to the number of the mark that settles it

    def mark(self, kind, keys, seq):
        for key in keys:
            self.failed.discard(key)
            self.settled.pop(key, None)
            if kind != "missing":
                self.settled[key] = seq

    def fail(self, claim, keys):
        self.failed |= {key for key in keys if self.settled.get(key, 0) <= claim}

    def succeed(self, claim, keys):
        self.failed -= set(keys)
        self.settled = {key: seq for key, seq in self.settled.items() if key not in keys or seq > claim}


steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["done", "skip", "missing"]), st.sets(st.sampled_from(KEYS), min_size=1)),
        st.tuples(st.sampled_from(["claim", "fail", "succeed"]), st.sets(st.sampled_from(KEYS), min_size=1)),
    ),
    max_size=12,
)


@given(steps)
@histories(200)
def test_random_marks_and_runs(history):
    told, model, claim = make_story(), Model(), None
    run = told.plan().runs[0]
    for what, keys in history:
        if what in ("done", "skip", "missing"):
            mark(told, what, *sorted(keys))
            model.mark(what, keys, told.state.seq)
        elif what == "claim" and claim is None:
            request = replace(run.request, partitions=days(*sorted(keys)))
            claim = told.claim(replace(run, request=request)), keys
        elif what == "fail" and claim is not None:
            told.fail("a", claim[0])
            model.fail(*claim)
            claim = None
        elif what == "succeed" and claim is not None:
            told.succeed("a", claim[0])
            model.succeed(*claim)
            claim = None
        assert set(failures(told)) == model.failed
