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


def story(*own):
    told = Story(project(source("s"), *(own or (asset("a", "s"),))))
    told.observed("s", *KEYS)
    return told


def mark(told, kind, *keys, name="a"):
    partitions = days(*keys) if keys else EVERYTHING
    told.add(MarkEntry(name, told.project.assets[name].uri, kind, partitions, "as it is", "ann"))


def failures(told, name="a"):
    there = told.state.assets[name].failed_partitions
    return [key for key in KEYS if there.overlaps(days(key))]


@pytest.mark.parametrize("kind", ["done", "skip"])
def test_a_run_that_fails_says_nothing_of_what_a_person_told_meanwhile(kind):
    told = story()
    claim = told.claim(told.plan().runs[0])
    mark(told, kind, "2025-01-02")
    told.fail("a", claim)
    assert failures(told) == ["2025-01-01", "2025-01-03"]
    assert told.due() == {"a": ["2025-01-01", "2025-01-03"]}


@pytest.mark.parametrize("kind", ["done", "skip"])
def test_nothing_has_failed_where_a_person_told_of_all(kind):
    told = story()
    claim = told.claim(told.plan().runs[0])
    mark(told, kind, *KEYS)
    told.fail("a", claim, fenced=False)
    assert failures(told) == []
    assert [link.status for link in told.state.assets["a"].chain] == ["unfenced"]


def test_what_was_told_before_the_run_was_claimed_is_overridden():
    told = story()
    mark(told, "done", "2025-01-02")
    told.observed("s", "2025-01-02")
    told.fail("a", told.claim(told.plan().runs[0]))
    assert failures(told) == list(KEYS)


def test_what_is_wanted_again_meanwhile_has_failed():
    told = story()
    claim = told.claim(told.plan().runs[0])
    mark(told, "done", "2025-01-02")
    mark(told, "missing", "2025-01-02")
    told.fail("a", claim)
    assert failures(told) == list(KEYS)


@pytest.mark.parametrize("kind", ["done", "skip"])
def test_of_an_asset_without_partitions(kind):
    told = Story(project(source("s", by=None), asset("a", "s", by=None)))
    told.observed("s")
    claim = told.claim(told.plan().runs[0])
    mark(told, kind)
    told.fail("a", claim)
    assert told.state.assets["a"].failed == ()


def test_of_a_multi_asset():
    told = story(*multi(asset("a", "s"), "x", "y"))
    claim = told.claim(told.plan().runs[0])
    mark(told, "done", "2025-01-02")
    told.fail("a", claim)
    assert failures(told) == ["2025-01-01", "2025-01-03"]


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
    told, model, claim = story(), Model(), None
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
