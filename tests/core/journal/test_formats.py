"""What an older version of sparkassets stored is read on: it folds to what it meant then, and the assets go on from it.

`journal_format_1.json` was written by the code of format 1: the rows of a journal, the snapshot as of one of them, the
state that this came to, and what was due and why. `journal_format_3.json` was written by the code of format 3, and has
besides of each kind of entry and of rows of the snapshot some that differ in what they hold, each with its value; what
is empty is left out of states and values. None is ever written anew.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from sparkassets.core.instants import Duration, parse_instant
from sparkassets.core.journal.codec import decode, encode, from_row, to_row
from sparkassets.core.journal.codec.rows import JournalRow, SnapshotRow
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.journal.recent_events import RecentEvents
from sparkassets.core.journal.state import State
from sparkassets.core.journal.verification import find_differences
from sparkassets.core.partitions import PartitionSet, StampedPartitions, WindowMapping
from sparkassets.core.partitions.json_form import encode_partitions, encode_stamped
from sparkassets.core.spec.model import InletSpec, ReadAfter
from sparkassets.core.strategies import DateRange, EveryInstance, LatestOnly
from sparkassets.core.writes import AppendWrite
from tests.builders import Story, asset, at, project, source, timed
from tests.core.journal.test_codec import PROJECT as SEGMENTS

VECTORS = Path(__file__).parents[2] / "vectors"
STORED = json.loads((VECTORS / "journal_format_1.json").read_text(encoding="utf-8"))
STORED_3 = json.loads((VECTORS / "journal_format_3.json").read_text(encoding="utf-8"))
PROJECT = project(
    source("s"),
    source("d", by=None),
    source("h", by="hour", zone="Europe/Berlin"),
    asset(
        "kept",
        InletSpec("s", "", None, on_removed="keep"),
        strategy=DateRange(max_partitions_per_run=2, lookback=Duration.parse("1d")),
    ),
    asset("weeks", "kept", by="week"),
    asset("shop", InletSpec("h", "", None, settle_seconds=3600), zone="Europe/Berlin"),
    asset("trailing", InletSpec("s", "", WindowMapping.trailing(Duration.parse("2d"))), schedule="@daily & s"),
    asset("guided", "s", schedule="s"),
    asset("report", "weeks", "d", by=None, schedule="weeks & d"),
    asset("each", by=None, schedule="d | x-drop://inbox", strategy=EveryInstance(), write=AppendWrite()),
    asset(
        "late",
        InletSpec("d", "", None, read=ReadAfter("n")),
        by=None,
        schedule="d",
        strategy=LatestOnly(),
        write=AppendWrite(),
    ),
    asset("dump", by=None, schedule=timed({"cron": "0 6 * * *", "catchup": "all", "start": "2025-01-06T06:00"})),
    asset(
        "hours",
        InletSpec("dump", "", None, aligned=True, on_update="ignore"),
        by="hour",
        schedule=timed("0 * * * *"),
        start=at("2025-01-08T06:00"),
    ),
    asset("lost", "s"),
    asset("gone", "d", by=None),
    asset("halted", "s"),
)
NOW = "2025-01-09T07:00"


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


def from_nothing() -> State:
    entries = map(from_row, rows(STORED["rows"]))
    return fold(State(STORED["journal_id"]), entries, commit=STORED["commit"])


def from_the_snapshot() -> State:
    state = decode(snapshot(STORED["snapshot"]), journal_id=STORED["journal_id"])
    tail = [row for row in rows(STORED["rows"]) if row.seq > state.seq]
    assert 20 < len(tail) < len(STORED["rows"]) - 20
    return fold(state, map(from_row, tail), commit=STORED["commit"])


def plain(value: Any) -> Any:
    """The value as JSON; specs are compared on their own."""
    match value:
        case PartitionSet() | StampedPartitions():
            return encode_partitions(value) if isinstance(value, PartitionSet) else encode_stamped(value)
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case list() | tuple() | RecentEvents():
            return [plain(each) for each in value]
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value) if each.name != "spec"}
    return value


LATER = {
    "slot": 0,
    "definition": "",
    "restores": "",
    "judge": "",
    "accepted": [],
    "promotes": None,
    "apart": False,
    "again": "",
    "unread_by": [],
}
"""What a request says besides, of which nobody knew then."""

RENEWED = at("2025-01-09T07:00Z")
"""When claims were renewed, all at once."""


def in_words_of_today(stored: dict[str, Any]) -> dict[str, Any]:
    """The state of then: a whole dataset or asset was told as no time, and nothing of definitions.

    Nobody read why blocks had failed.
    """

    def renamed(item: dict[str, Any], name: str, *, whole: bool = False) -> dict[str, Any]:
        pairs = item["ranges"]
        others = {key: value for key, value in item.items() if key not in ("ranges", "cause")}
        return {**others, name: None if whole and not pairs else pairs}

    assets = {}
    for name, known in stored["assets"].items():
        whole = not PROJECT.assets[name].partitioning.is_partitioned
        chain = [
            {**link, "asks": None, "proved": proved, "entry": {**link["entry"], "request": {**request, **told}}}
            for link in known["chain"]
            for request in [link["entry"]["request"]]
            for pins in [
                {
                    inlet: {**renamed(pin, "parts"), "iteration": "", "files": "", "column": ""}
                    for inlet, pin in request["pins"].items()
                }
            ]
            for told in [{**LATER, "pins": pins}]
            for proved in [0 if link["renewed"] == link["token"] else RENEWED]
        ]
        assets[name] = {
            **known,
            "last": known["last"] and {**known["last"], "unchanged": None, "verdicts": []},
            "made": [],
            "marks": [],
            "keys": {},
            "instances": [{**each, "skipped": False} for each in known["instances"]],
            "chain": chain,
            "failed": [{**renamed(item, "blocks"), "division": None} for item in known["failed"]],
            "foreign": [renamed(item, "blocks", whole=whole) for item in known["foreign"]],
            "loss": known["loss"] and renamed(known["loss"], "blocks"),
            "partly": {
                uri: [[number, None if whole else pairs] for number, pairs in items]
                for uri, items in known["partly"].items()
            },
        }
    datasets = {
        uri: {**dataset, "confirmed": 0, "recent": [renamed(ref, "parts", whole=True) for ref in dataset["recent"]]}
        for uri, dataset in stored["datasets"].items()
    }
    return {**stored, "assets": assets, "datasets": datasets}


def known_then(told: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    """What is told of an asset without the attributes that came since."""
    return {key: told[key] for key in stored}


def going_on(state: State) -> Story:
    story = Story(PROJECT, now=NOW)
    story.clock, story.state, story.rows, story.entries = NOW, state, [], []
    return story


@pytest.mark.parametrize("read", [from_nothing, from_the_snapshot])
class TestFormat1:
    def test_it_means_what_it_meant(self, read):
        state = read()
        told = plain(state)
        told["consumers"] = {uri: sorted(map(list, pairs)) for uri, pairs in state.consumers.items()}
        stored = in_words_of_today(STORED["state"])
        told["assets"] = {name: known_then(each, stored["assets"][name]) for name, each in told["assets"].items()}
        assert told == stored

    def test_its_specs_are_those_of_the_project(self, read):
        known = {name: asset.spec for name, asset in read().assets.items()}
        assert known == {item.name: build_fold_spec(item, PROJECT) for item in PROJECT.assets.values()}

    def test_what_was_due_is_due(self, read):
        story = going_on(read())
        gone = [claim.token for name in ("dump", "shop") for claim in story.state.assets[name].chain]
        plan = story.plan(invocation="five", gone_claims=gone)
        runs = [[run.asset, story.keys(run.asset, run.blocks), run.reason] for run in plan.runs]
        assert runs == STORED["plan"]["runs"]
        assert [[item.asset, item.reason] for item in plan.waiting] == STORED["plan"]["waiting"]

    def test_it_goes_on_and_comes_to_rest(self, read):
        story = going_on(read())
        gone = [claim.token for known in story.state.assets.values() for claim in known.chain]
        while runs := story.plan(invocation="five", gone_claims=gone).runs:
            assert len(story.rows) < 200, "never idle"
            story.succeed(runs[0].asset, story.claim(runs[0]))
        written = decode(encode(story.state), journal_id=STORED["journal_id"])
        assert written == replace(story.state, consumers=written.consumers, keepers=written.keepers)
        assert story.state.assets["weeks"].coverage


def without_empty(value: Any) -> Any:
    """JSON without what is empty; that of sets of partitions too, which are everything where they are null."""
    if isinstance(value, Mapping):
        return {
            key: without_empty(each) for key, each in value.items() if each not in ([], {}, "") and each is not False
        }
    return [without_empty(each) for each in value] if isinstance(value, list | tuple) else value


def told_by(value: Any) -> Any:
    return without_empty(json.loads(json.dumps(plain_with_specs(value))))


RENAMED = {"available": "there"}
"""Fields that have another name in the vectors."""


def plain_with_specs(value: Any) -> Any:
    if is_dataclass(value):
        return {
            RENAMED.get(each.name, each.name): plain_with_specs(getattr(value, each.name)) for each in fields(value)
        }
    if isinstance(value, Mapping):
        return {str(key): plain_with_specs(each) for key, each in value.items()}
    return (
        [plain_with_specs(each) for each in value] if isinstance(value, list | tuple | RecentEvents) else plain(value)
    )


def entries_of_3() -> State:
    return fold(State(STORED_3["journal_id"]), map(from_row, rows(STORED_3["rows"])), commit=STORED_3["commit"])


def snapshot_of_3() -> State:
    state = decode(snapshot(STORED_3["snapshot"]), journal_id=STORED_3["journal_id"])
    tail = [row for row in rows(STORED_3["rows"]) if row.seq > state.seq]
    assert 10 < len(tail) < len(STORED_3["rows"]) - 10
    return fold(state, map(from_row, tail), commit=STORED_3["commit"])


@pytest.mark.parametrize("read", [entries_of_3, snapshot_of_3])
class TestFormat3:
    def test_it_means_what_it_meant(self, read):
        told = told_by(read())
        told["consumers"] = {uri: sorted(pairs) for uri, pairs in told["consumers"].items()}
        assert told == STORED_3["state"]

    def test_it_is_what_a_replay_comes_to(self, read):
        assert find_differences(entries_of_3(), read()) == []

    def test_it_is_planned_as_it_was_goes_on_and_comes_to_rest(self, read):
        story = Story(SEGMENTS)
        story.state, story.rows, story.entries = read(), [], []
        runs = story.plan(invocation="five").runs
        assert [[run.asset, story.keys(run.asset, run.blocks), run.reason] for run in runs] == STORED_3["plan"]["runs"]
        gone = [claim.token for known in story.state.assets.values() for claim in known.chain]
        while runs := story.plan(invocation="five", gone_claims=gone).runs:
            assert len(story.rows) < 200, "never idle"
            story.succeed(runs[0].asset, story.claim(runs[0]))
        written = decode(encode(story.state), journal_id=STORED_3["journal_id"])
        assert written == replace(story.state, consumers=written.consumers, keepers=written.keepers)


@pytest.mark.parametrize("stored", STORED_3["samples"], ids=lambda each: each["row"].get("kind", "snapshot"))
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
