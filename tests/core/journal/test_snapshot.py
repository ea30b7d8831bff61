"""A snapshot and the tail after it are worth the whole journal, wherever the cut is."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkassets.core.journal.codec import decode, encode, from_row
from sparkassets.core.journal.codec.rows import JournalRow
from sparkassets.core.journal.fold import fold
from sparkassets.core.journal.state import State
from sparkassets.core.spec.model import InletSpec
from sparkassets.errors import StateError
from tests.builders import Story, asset, project, source

PROJECT = project(
    source("s"),
    source("d", by=None),
    asset("a", "s"),
    asset("w", "a", by="week"),
    asset("e", "s", "d"),
    asset("r", "w", "d", by=None, schedule="w & d"),
    asset("l", InletSpec("a", "", None), by=None),
)
STEPS = st.lists(st.tuples(st.sampled_from(["s", "d", "run", "fail", "unfenced"]), st.integers(1, 28)), max_size=25)


def told(steps) -> Story:
    story = Story(PROJECT)
    for what, number in steps:
        if what == "s":
            story.observed("s", f"2025-01-{number:02}", cursor={str(number): f"fp{number}"})
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


@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(0, 200))
def test_a_snapshot_anywhere_changes_nothing(steps, cut):
    story = told(steps)
    entries = list(map(from_row, story.rows))
    head, tail = entries[:cut], entries[cut:]
    first = fold(State("journal"), head, commit=7)
    restored = decode(encode(first), journal_id="journal")
    again = fold(restored, tail, commit=story.state.commit)
    whole = fold(State("journal"), map(from_row, story.rows), commit=story.state.commit)
    if head:
        assert restored == first
    assert again.assets == whole.assets
    assert again.datasets == whole.datasets
    assert {uri: set(pairs) for uri, pairs in again.consumers.items() if pairs} == {
        uri: set(pairs) for uri, pairs in whole.consumers.items() if pairs
    }


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_any_history_comes_to_rest(steps):
    story = told(steps)
    story.run_all(limit=200)
    assert story.due() == {}


def test_a_damaged_snapshot_is_refused_with_what_to_do():
    (row, *_) = encode(told([("s", 1)]).state)
    from dataclasses import replace

    with pytest.raises(
        StateError, match=r"the snapshot's row of 's' is damaged: .*\n  hint: delete the folder `watermarks`"
    ):
        decode([replace(row, body="{")], journal_id="j")
    newer = json.dumps({**json.loads(row.body), "v": 99})
    with pytest.raises(StateError, match=r"the snapshot has format 99, this version of sparkassets reads up to 2"):
        decode([replace(row, body=newer)], journal_id="j")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"body": "{"}, r"journal entry 3 \(kind 'observed'\) is damaged: .*"),
        ({"body": '{"v": 99}'}, "journal entry 3 has format 99, this version of sparkassets reads up to 2"),
        ({"kind": "dance"}, r"journal entry 3 \(kind 'dance'\) is damaged: unknown kind 'dance'"),
    ],
)
def test_a_damaged_entry_is_refused_with_its_number(change, text):
    story = Story(project(source("s"), asset("a", "s")))
    story.observed("s", "2025-01-01")
    from dataclasses import replace

    row: JournalRow = replace(story.rows[-1], **change)
    with pytest.raises(StateError, match=text):
        from_row(row)
