"""A fold of many entries: the state of each entry alone, at a cost that follows the entries and not what is there."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.journal.entries import NumberedEntry, ObservedEntry
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.partitions import PartitionSet, StampedPartitions
from tests.builders import Story, asset, at, project, source
from tests.work import calls_of

HOUR = 3600
START = at("2000-01-01")
spans = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 5)), max_size=3)


def hours(pairs):
    return PartitionSet.from_time_pairs((START + low * HOUR, START + (low + count) * HOUR) for low, count in pairs)


def make_story() -> Story:
    made = project(source("s", by="hour"), asset("a", "s", by="hour"), asset("b", "s", "a", by="day"))
    return Story(made, now="2045-01-01")


def numbered(entries, after):
    when = datetime(2025, 1, 1, tzinfo=UTC)
    return [NumberedEntry(entry, seq, when, "d") for seq, entry in enumerate(entries, start=after + 1)]


@given(st.lists(st.tuples(spans, spans, st.booleans()), max_size=6))
def test_many_entries_at_once_are_each_alone(steps):
    story = make_story()
    uri = story.project.assets["s"].uri
    entries = [ObservedEntry("s", uri, hours(came), hours(gone), whole) for came, gone, whole in steps]
    each = story.state
    more = numbered(entries, story.state.seq)
    for row in more:
        each = fold(each, [row], commit=9)
    assert fold(story.state, more, commit=9) == replace(each, commit=9)


def fragmented(count):
    """A source and its consumer with that many hours, every second one missing, and 40 that come between."""
    story = make_story()
    there = hours((2 * k, 1) for k in range(count))
    story.add(ObservedEntry("s", "x-s", there))
    story.state = replace(
        story.state, assets={name: replace(each, coverage=there) for name, each in story.state.assets.items()}
    )
    gaps = [hours([(2 * k + 1, 1)]) for k in range(0, count, count // 40)][:40]
    return story.state, numbered([ObservedEntry("s", "x-s", gap) for gap in gaps], story.state.seq)


def test_the_calls_of_a_fold_follow_its_entries():
    assert len(fragmented(400)[1]) == 40

    def work(count):
        state, more = fragmented(count)
        return calls_of(lambda: fold(state, more, commit=9))

    assert work(4_000) < 1.1 * work(2_000)


def test_what_is_there_is_copied_once_a_fold_and_not_for_each_entry(monkeypatch):
    (state, more), sizes = fragmented(400), []
    for kind in (PartitionSet, StampedPartitions):

        def union(some, was=kind.union):
            found = list(some)
            sizes.append(len(found))
            return was(found)

        monkeypatch.setattr(kind, "union", union)
    fold(state, more, commit=9)
    assert [size for size in sizes if size > 2] == [40] * 3  # the coverage, and what is stale of two consumers
