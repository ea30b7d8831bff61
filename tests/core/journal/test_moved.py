"""Assets that get another URI, another place or other partitions: nothing is lost, or used twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sparkassets.core.journal.codec import decode, from_row
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.strategies import EveryInstance
from tests.builders import Story, asset, at, project, source
from tests.core.journal.test_events_by_partition import GO, ONE, conditional, due, ran

A, B = source("a", by=None), source("b", by=None)
MOVED = StorageLocation("/moved", "moved")


def reader(condition: str = "a") -> AssetSpec:
    return asset("x", by=None, schedule=condition, strategy=EveryInstance())


def renamed(spec: AssetSpec, uri: str = "x-new://new") -> AssetSpec:
    return replace(spec, uri=uri)


def events(story: Story) -> list[list[int]]:
    return [each for _, each in ran(story)]


# --------------------------------------------------------------------------- another URI


@pytest.mark.parametrize("between", [0, 1])
def test_there_and_back(between: int):
    story = Story(project(A, reader()))
    seqs = [story.observed("a")]
    assert events(story) == [seqs]
    story.change(renamed(A), reader())
    assert due(story) == []
    later = [[story.observed("a")] for _ in range(between)]
    assert events(story) == later
    story.change(A, reader())
    assert due(story) == []
    assert events(story) == []


def test_onto_a_uri_that_has_events_of_its_own():
    other = asset("y", by=None, schedule="x-new://new", strategy=EveryInstance())
    story = Story(project(A, reader(), other))
    theirs = [story.event("x-new://new") for _ in range(2)]
    ours = story.observed("a")
    story.change(renamed(A), reader(), other)
    runs = story.run_all()
    assert [ref.seq for run in runs if run.asset == "x" for ref in run.events] == [ours]
    assert [ref.seq for run in runs if run.asset == "y" for ref in run.events] == [*theirs]
    assert fold(decode([], journal_id="journal"), map(from_row, story.rows), commit=story.state.commit) == story.state


def test_one_of_two_that_shared_it():
    one, other = renamed(A), renamed(B)
    both = reader("a | b")
    story = Story(project(one, other, both))
    seqs = [story.observed(name) for name in "ab"]
    story.change(renamed(A, "x-own://own"), other, both)
    assert events(story) == [[seq] for seq in seqs]


def test_while_the_condition_does_not_name_it():
    story = Story(project(A, B, reader()))
    seqs = [story.observed("a") for _ in range(2)]
    away = conditional(reader(), "b")
    story.change(A, B, away)
    story.change(renamed(A), B, away)
    newest = story.observed("a")
    story.change(renamed(A), B, reader())
    assert events(story) == [[seq] for seq in (*seqs, newest)]


def test_days_that_a_limit_left_keep_their_trigger():
    daily, inlet = asset("d", "s", strategy=ONE), source("s")
    story = Story(project(inlet, daily))
    data = story.observed("s", "2025-01-01..2025-01-03")
    story.run("d")
    story.change(renamed(inlet), daily)
    assert ran(story) == [(["2025-01-02"], [data]), (["2025-01-03"], [data])]


@pytest.mark.parametrize("others", [0, 1])
def test_a_condition_that_comes_back_does_not_depend_on_what_others_have_not_used(others: int):
    more = [asset("other", by=None, schedule="a", paused=True)] * others
    story = Story(project(A, B, *more, reader()))
    first = story.observed("a")
    story.change(A, B, *more, conditional(reader(), "b"))
    newest = [story.observed("a") for _ in range(2)][-1]
    story.change(A, B, *more, reader())
    assert events(story) == [[first], [newest]]


# --------------------------------------------------------------------------- another place


@pytest.mark.parametrize("by", ["day", None])
def test_a_run_that_began_before_wrote_elsewhere(by: str | None):
    made = asset("d", "s", by=by)
    story = Story(project(source("s", by=by), made))
    story.observed("s", *(["2025-01-01"] if by else []))
    claim = story.claim(story.plan().runs[0])
    story.change(source("s", by=by), replace(made, storage=MOVED))
    story.succeed("d", claim)
    assert [run.asset for run in story.plan().runs] == ["d"]
    assert not story.state.assets["d"].chain


def test_what_others_of_the_uri_have_stays_there():
    one, other = (renamed(source(name)) for name in "ab")
    story = Story(project(one, other, asset("d", "b")))
    story.observed("b", "2025-01-01..2025-01-02")
    story.change(replace(one, storage=MOVED), other, asset("d", "b"))
    assert [partitions for partitions, _ in due(story)] == [["2025-01-01..2025-01-02"]]


# --------------------------------------------------------------------------- other partitions


@pytest.mark.parametrize(
    ("by", "bounds", "changed", "partition"),
    [
        ("week", {"start": "2025-01-02"}, "2025-01-03", None),
        ("week", {"start": "2024-12-30"}, "2025-01-03", "2025-W01"),
        ("month", {"start": "2024-12-15"}, "2024-12-20", None),
        ("month", {"end": "2025-01-15"}, "2025-01-03", "2025-01"),
        ("month", {"end": "2025-01-01"}, "2025-01-03", None),
    ],
)
def test_a_partition_belongs_as_a_whole_when_it_begins_at_start_or_after_and_before_end(
    by: str, bounds: dict[str, str], changed: str, partition: str | None
):
    limits: dict[str, Any] = {key: at(value) for key, value in bounds.items()}
    story = Story(project(source("s"), asset("d", "s", by=by, **limits)), now="2025-03-01")
    story.observed("s", "2024-12-01..2025-02-28")
    story.run_all()
    story.observed("s", changed)
    assert [partitions for partitions, _ in due(story)] == ([[partition]] if partition is not None else [])


@pytest.mark.parametrize("more", [{"by": "week"}, {"by": "month"}, {"zone": "Asia/Tokyo"}])
def test_what_was_due_before_the_partitions_changed_is_computed_in_the_new_ones(more: dict[str, Any]):
    story = Story(project(source("s"), asset("d", "s", schedule=GO, strategy=ONE)), now="2025-02-03")
    story.observed("s", "2024-12-01..2025-01-31")
    story.event(GO)
    story.fail("d", story.claim(story.plan().runs[0]))
    story.change(source("s"), asset("d", "s", schedule=GO, strategy=ONE, **more))
    assert len(story.plan(invocation="i").runs) == 1
    assert len(story.run_all(limit=100)) > 1
    assert not story.plan(invocation="i").runs


def test_a_run_of_days_does_not_answer_for_the_whole():
    story = Story(project(source("s"), asset("d", "s", strategy=ONE)))
    data = story.observed("s", "2025-01-01..2025-01-03")
    claim = story.claim(story.plan().runs[0])
    story.change(source("s"), asset("d", "s", by=None))
    story.succeed("d", claim)
    assert due(story) == [([], [data])]
