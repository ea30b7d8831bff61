"""A snapshot and the tail after it are worth the whole journal, wherever the cut is."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkassets.app.state import find_differences
from sparkassets.core.journal import recent_events
from sparkassets.core.journal.asset_records import FailedPartitions, TableLoss
from sparkassets.core.journal.codec import decode, encode, from_row
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.recent_events import RecentEvents
from sparkassets.core.journal.rows import JournalRow
from sparkassets.core.journal.state import AssetState, DatasetState, EventRef, State
from sparkassets.core.journal.table_findings import ForeignCommit
from sparkassets.core.spec.model import InletSpec
from sparkassets.core.strategies import DateRange
from sparkassets.errors import StateError
from tests.builders import Story, asset, project, source
from tests.core.partitions import segmented
from tests.depth import examples

STORES = {"store": ("be", "de", "nl")}
PROJECT = project(
    source("s"),
    source("d", by=None),
    asset("a", "s"),
    asset("w", "a", by="week"),
    asset("e", "s", "d"),
    asset("r", "w", "d", by=None, schedule="w & d"),
    asset("l", InletSpec("a", "", None), by=None),
    source("p", segments=STORES),
    asset("b", InletSpec("p", "", None, on_removed="keep", settle_seconds=3600), segments=STORES),
    asset("c", "b", "a", by="week", schedule="b", strategy=DateRange(max_partitions_per_run=2), segments=STORES),
    asset("n", "c", by=None),
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["s", "d", "p", "gone", "run", "fail", "unfenced"]), st.integers(1, 28)), max_size=25
)


def make_story(steps) -> Story:
    story = Story(PROJECT)
    for what, number in steps:
        day, key = f"2025-01-{number:02}", ("be", "de", "nl", "*")[number % 4]
        if what == "s":
            story.observed("s", day, cursor={str(number): f"fp{number}"})
        elif what == "p":
            story.observed("p", f"{day},{key}")
        elif what == "gone":
            story.observed("p", removed=story.project.assets["p"].partitioning.parse(f"{day},{key}"))
        elif what == "d":
            story.observed("d")
        elif runs := story.plan(invocation="i").runs:
            run = runs[number % len(runs)]
            claim = story.claim(run)
            if what == "run":
                story.succeed(run.asset, claim, watermarks={"s": str(number)}, extra={"rows": number})
            else:
                story.fail(run.asset, claim, fenced=what == "fail")
    return story


@settings(max_examples=examples(60), deadline=None)
@given(STEPS, st.integers(0, 200), st.sampled_from([1, 2, recent_events.PACK]))
def test_a_snapshot_anywhere_changes_nothing(steps, cut, pack):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(recent_events, "PACK", pack)
        check_a_snapshot(make_story(steps), cut)


def check_a_snapshot(story, cut):
    entries = list(map(from_row, story.rows))
    head, tail = entries[:cut], entries[cut:]
    first = fold(State("journal"), head, commit=7)
    restored = decode(encode(first), journal_id="journal")
    again = fold(restored, tail, commit=story.state.commit)
    whole = fold(State("journal"), map(from_row, story.rows), commit=story.state.commit)
    assert not find_differences(whole, again)
    if head:
        assert restored == first
    assert again.assets == whole.assets
    assert again.datasets == whole.datasets
    assert {uri: set(pairs) for uri, pairs in again.consumers.items() if pairs} == {
        uri: set(pairs) for uri, pairs in whole.consumers.items() if pairs
    }


@settings(max_examples=examples(60), deadline=None)
@given(STEPS)
def test_any_history_comes_to_rest(steps):
    story = make_story(steps)
    story.run_all(limit=200)
    assert story.due() == {}


parts = segmented.sets
marks = segmented.overlays.map(segmented.stamped)
some_marks = st.dictionaries(st.sampled_from(["s", "p"]), marks.filter(bool), max_size=2)
failures = st.builds(FailedPartitions, parts, st.just(1), *[st.just("x")] * 3, events=st.just((3,)))
partly = st.lists(parts, max_size=2).map(lambda some: {"x-p": tuple(enumerate(some, start=1))})
refs = st.builds(EventRef, *map(st.just, (1, "x-p", "p", 2)), parts, *map(st.just, ({}, None, (3, 4))))
STATES = {
    AssetState: {
        **dict.fromkeys(("coverage", "owed_lookback", "gaps"), parts.filter(lambda each: not each.is_everything)),
        **dict.fromkeys(("stale", "kept"), some_marks),
        "partly_used": partly,
        "failed": st.lists(failures, max_size=2).map(tuple),
        "loss": st.builds(TableLoss, parts, st.just("gone"), st.just(1)),
        "foreign_commits": st.builds(ForeignCommit, st.just(1), st.just("DELETE"), partitions=parts).map(
            lambda each: (each,)
        ),
    },
    DatasetState: {
        "coverage": parts.filter(lambda each: not each.is_everything),
        "touched": marks,
        "gone": parts,
        "recent": st.lists(refs, max_size=2).map(RecentEvents.from_events),
    },
}


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_sets_of_all_kinds_are_read_as_they_were_written(data):
    def any_other(known):
        made = {name: data.draw(each, name) for name, each in STATES[type(known)].items()}
        return replace(known, **made)

    state = make_story([("s", 1), ("p", 1), ("d", 1), ("run", 1)]).state
    assets = {name: any_other(asset) for name, asset in state.assets.items() if name in ("b", "c")}
    state = replace(
        state, assets={**state.assets, **assets}, datasets={**state.datasets, "x-p": any_other(state.dataset("x-p"))}
    )
    assert decode(encode(state), journal_id="journal") == state


def test_a_damaged_snapshot_is_refused_with_what_to_do():
    (row, *_) = encode(make_story([("s", 1)]).state)
    with pytest.raises(
        StateError, match=r"the snapshot's row of 's' is damaged: .*\n  hint: delete the state's folder `watermarks`"
    ):
        decode([replace(row, body="{")], journal_id="j")
    newer = json.dumps({**json.loads(row.body), "v": 99})
    with pytest.raises(StateError, match=r"the snapshot has format 99; this version of sparkassets reads up to 5"):
        decode([replace(row, body=newer)], journal_id="j")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"body": "{"}, r"journal entry 3 \(kind 'observed'\) is damaged: .*"),
        ({"body": '{"v": 99}'}, "journal entry 3 has format 99; this version of sparkassets reads up to 5"),
        ({"kind": "dance"}, r"journal entry 3 \(kind 'dance'\) is damaged: unknown kind 'dance'"),
    ],
)
def test_a_damaged_entry_is_refused_with_its_number(change, text):
    story = Story(project(source("s"), asset("a", "s")))
    story.observed("s", "2025-01-01")
    row: JournalRow = replace(story.rows[-1], **change)
    with pytest.raises(StateError, match=text):
        from_row(row)
