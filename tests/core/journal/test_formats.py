"""What an older version of sparkassets stored is still read: it folds to what it meant, and assets continue from it.

`journal_format_3.json` was written by the code of format 3: the rows of a journal, the snapshot as of one of them, the
state that this came to, and what was due and why; besides, of each kind of entry and of rows of the snapshot, some that
differ in what they hold, each with its value. What is empty is left out of states and values. `journal_format_4.json`
is what the code of format 4 made of the latter. Neither is ever rewritten.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from sparkassets.app.state import find_differences
from sparkassets.core.instants import parse_instant
from sparkassets.core.journal.codec import decode, encode, from_row, to_row
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.recent_events import RecentEvents
from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.core.journal.state import State
from sparkassets.core.partitions import PartitionSet, StampedPartitions
from sparkassets.core.partitions.json_form import encode_partitions, encode_stamped
from sparkassets.core.validations.rules import RuleVerdict
from tests.builders import Story
from tests.core.journal.test_codec import PROJECT as SEGMENTS

VECTORS = Path(__file__).parents[2] / "vectors"
STORED = json.loads((VECTORS / "journal_format_3.json").read_text(encoding="utf-8"))
STORED_4 = json.loads((VECTORS / "journal_format_4.json").read_text(encoding="utf-8"))


def rows(stored: list[dict[str, Any]]) -> list[JournalRow]:
    lists = ("starts", "ends")
    given = ({key: tuple(value) if key in lists else value for key, value in row.items()} for row in stored)
    return [JournalRow(**{**row, "at": parse_instant(row["at"], zone="UTC")}) for row in given]


def snapshot(stored: list[dict[str, Any]]) -> list[SnapshotRow]:
    return [
        SnapshotRow(
            **{
                **dict.fromkeys(("asset", "uri", "segment")),
                **{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()},
            }
        )
        for row in stored
    ]


def without_empty(value: Any) -> Any:
    """JSON without what is empty; that of sets of partitions too, which are everything where they are null."""
    if isinstance(value, Mapping):
        return {
            key: without_empty(each) for key, each in value.items() if each not in ([], {}, "") and each is not False
        }
    return [without_empty(each) for each in value] if isinstance(value, list | tuple) else value


def told_by(value: Any) -> Any:
    return without_empty(json.loads(json.dumps(plain(value))))


RENAMED = {
    "available": "there",
    "partitions": "blocks",
    "partition": "block",
    "triggered": "keepers",
    "added_in_turn": "further",
}
"""Fields that have another name in the vectors."""


ADDED = {"silence": None}
"""Fields that came later, each with the value that it has in all that was stored before."""


def plain(value: Any) -> Any:
    """The value as JSON."""
    if isinstance(value, PartitionSet | StampedPartitions):
        return encode_partitions(value) if isinstance(value, PartitionSet) else encode_stamped(value)
    if is_dataclass(value):
        stored = dict(zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True))
        names = stored | RENAMED | ({"details": "by_block"} if isinstance(value, RuleVerdict) else {})
        kept = [each.name for each in fields(value) if ADDED.get(each.name, ...) is not getattr(value, each.name)]
        return {names.get(name, name): plain(getattr(value, name)) for name in kept}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple | RecentEvents) else value


def entries_of_3() -> State:
    return fold(State(STORED["journal_id"]), map(from_row, rows(STORED["rows"])), commit=STORED["commit"])


def snapshot_of_3() -> State:
    state = decode(snapshot(STORED["snapshot"]), journal_id=STORED["journal_id"])
    tail = [row for row in rows(STORED["rows"]) if row.seq > state.seq]
    assert 10 < len(tail) < len(STORED["rows"]) - 10
    return fold(state, map(from_row, tail), commit=STORED["commit"])


@pytest.mark.parametrize("read", [entries_of_3, snapshot_of_3])
class TestFormat3:
    def test_it_means_what_it_meant(self, read):
        told = told_by(read())
        told["consumers"] = {uri: sorted(pairs) for uri, pairs in told["consumers"].items()}
        assert told == STORED["state"]

    def test_it_is_what_a_replay_comes_to(self, read):
        assert find_differences(entries_of_3(), read()) == []

    def test_it_is_planned_as_it_was_goes_on_and_comes_to_rest(self, read):
        story = Story(SEGMENTS)
        story.state, story.rows, story.entries = read(), [], []
        runs = story.plan(invocation="five").runs
        assert [[run.asset, story.keys(run.asset, run.partitions), run.reason] for run in runs] == STORED["plan"][
            "runs"
        ]
        gone = [claim.token for known in story.state.assets.values() for claim in known.chain]
        while runs := story.plan(invocation="five", gone_claims=gone).runs:
            assert len(story.rows) < 200, "never idle"
            story.succeed(runs[0].asset, story.claim(runs[0]))
        written = decode(encode(story.state), journal_id=STORED["journal_id"])
        assert written == replace(story.state, consumers=written.consumers, triggered=written.triggered)


@pytest.mark.parametrize("stored", STORED["samples"], ids=lambda each: each["row"].get("kind", "snapshot"))
def test_all_that_format_3_had_is_read_as_it_was_meant(stored):
    if "kind" in stored["row"]:
        (row,) = rows([stored["row"]])
        numbered = from_row(row)
        assert told_by(numbered.entry) == stored["value"]
        assert from_row(to_row(numbered)) == numbered
    else:
        state = decode(snapshot([stored["row"]]), journal_id="j")
        (known,) = [*state.assets.values(), *state.datasets.values()]
        assert told_by(known) == stored["value"]
        assert decode(encode(state), journal_id="j") == state


def test_format_4_is_read_as_format_3_which_it_was_made_of():
    assert [*map(from_row, rows(STORED_4["rows"]))] == [*map(from_row, rows(STORED["rows"]))]
    states = [decode(snapshot(stored["snapshot"]), journal_id="j") for stored in (STORED_4, STORED)]
    assert states[0] == states[1]


@pytest.mark.parametrize(
    ("stored", "older"),
    [*zip(STORED_4["samples"], STORED["samples"], strict=True)],
    ids=lambda each: each["row"].get("kind", "snapshot"),
)
def test_all_that_format_4_had_is_read_as_it_was_meant(stored, older):
    if "kind" in stored["row"]:
        assert from_row(*rows([stored["row"]])) == from_row(*rows([older["row"]]))
    else:
        assert decode(snapshot([stored["row"]]), journal_id="j") == decode(snapshot([older["row"]]), journal_id="j")
