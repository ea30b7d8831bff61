"""What a driver folds of its own is what any other reads in the store."""

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.journal.codec import from_row, to_row
from sparkassets.core.journal.entries import (
    BackfillEntry,
    ClaimEntry,
    EventEntry,
    FailureEntry,
    NumberedEntry,
    ObservedEntry,
    OutletEntry,
    PauseEntry,
    RenewEntry,
    SpecEntry,
    SuccessEntry,
)
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.journal.state import State
from sparkassets.core.journal.table_findings import ForeignCommit, TableFinding, TargetEntry
from sparkassets.core.partitions import EVERYTHING, NOTHING, RangeSet
from sparkassets.core.runs import InletPin, RunConsumption, RunRequest
from sparkassets.core.spec.model import InletSpec
from sparkassets.core.strategies import DateRange
from tests.builders import Story, asset, days, multi, project, source
from tests.core.partitions import segmented
from tests.depth import examples

STORES = {"store": ("", "be", "de, east")}
PROJECT = project(
    source("s"),
    source("d", by=None),
    source("p", segments=STORES),
    source("k", by=None, segments=STORES),
    asset("a", "s", definition=AssetDefinition.build(text="SELECT 'ü'", params={"low": [1, None]})),
    asset("b", InletSpec("p", "", None, on_removed="keep", settle_seconds=3600), segments=STORES),
    asset("c", "b", "a", by="week", schedule="b & k", strategy=DateRange(max_partitions_per_run=2), segments=STORES),
    asset("e", "k", by=None, segments=STORES),
    asset("w", InletSpec("a", "", None, on_removed="keep"), by="week"),
    asset("r", "w", "d", by=None, schedule="w & d"),
    *multi(asset("m", "s", "a", definition=AssetDefinition.build(text="SELECT 2")), "train", "test"),
    asset("n", "train", "test", by="week", schedule="train & test"),
)

texts = st.text(st.characters(codec="utf-8"), max_size=5)
numbers = st.integers(0, 1 << 40)
maybe = st.one_of
intervals = maybe(st.none(), st.tuples(numbers, numbers))
sets = segmented.sets.filter(lambda parts: not parts.is_everything)
partitions = maybe(st.just(EVERYTHING), sets)
json_values = st.recursive(
    maybe(st.none(), st.booleans(), numbers, st.floats(allow_nan=False), texts),
    lambda inner: maybe(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=5,
)
extras = st.dictionaries(texts, json_values, max_size=3)
pins = st.dictionaries(
    texts,
    st.builds(
        InletPin,
        texts,
        numbers,
        maybe(st.none(), texts),
        maybe(st.none(), numbers),
        partitions,
        maybe(st.none(), texts),
    ),
    max_size=2,
)
tuples = st.lists(numbers, max_size=3).map(tuple)
consumptions = st.builds(
    RunConsumption,
    st.dictionaries(texts, numbers, max_size=2),
    st.dictionaries(texts, numbers, max_size=2),
    tuples,
    st.dictionaries(texts, sets, max_size=2),
)
requests = st.builds(
    RunRequest,
    asset=texts,
    kind=st.sampled_from(["scheduled", "backfill"]),
    partitions=partitions,
    schedule_date=numbers,
    reason=texts,
    interval=intervals,
    cursor=intervals,
    pins=pins,
    events=tuples,
    consumption=consumptions,
    rebuilds=st.booleans(),
    owed_lookback=sets,
    gaps=sets,
    definition=texts,
)
found = st.builds(
    TableFinding,
    st.sampled_from(["moved", "changed", "restored", "replaced", "gone", "back"]),
    texts,
    partitions,
    maybe(st.none(), texts),
    maybe(st.none(), numbers),
    maybe(st.none(), texts),
    maybe(st.none(), st.dictionaries(texts, texts, max_size=2)),
    st.lists(st.builds(ForeignCommit, numbers, texts, maybe(st.none(), numbers), partitions), max_size=2).map(tuple),
)
seconds = st.integers(0, 10_000).map(lambda thousandths: thousandths / 1000)
ENTRIES = maybe(
    st.sampled_from([SpecEntry(item.name, build_fold_spec(item, PROJECT)) for item in PROJECT.assets.values()]),
    st.builds(
        EventEntry,
        uri=texts,
        asset=maybe(st.none(), texts),
        parts=maybe(st.just(EVERYTHING), sets.filter(bool)),
        extra=extras,
        id=maybe(st.none(), texts),
        at=maybe(st.none(), numbers),
        run=maybe(st.none(), texts),
        interval=intervals,
    ),
    st.builds(
        ObservedEntry,
        asset=texts,
        uri=texts,
        changed=sets,
        removed=sets,
        whole=st.booleans(),
        table_id=maybe(st.none(), texts),
        version=maybe(st.none(), numbers),
        cursor=extras,
        extra=extras,
    ),
    st.builds(
        ClaimEntry,
        requests,
        run=texts,
        lease_seconds=numbers,
        invocation=texts,
        host=texts,
        planned=numbers,
        processes=st.lists(st.tuples(numbers, st.floats(0, 1e12)), max_size=2).map(tuple),
    ),
    st.builds(
        RenewEntry,
        st.lists(st.tuples(texts, numbers), max_size=2).map(tuple),
        st.lists(st.tuples(numbers, st.floats(0, 1e12)), max_size=2).map(tuple),
    ),
    st.builds(
        SuccessEntry,
        asset=texts,
        uri=texts,
        run=texts,
        token=numbers,
        recorder=numbers,
        partitions=partitions,
        table_id=maybe(st.none(), texts),
        version=maybe(st.none(), numbers),
        interval=intervals,
        pins=pins,
        events=tuples,
        watermarks=st.dictionaries(texts, texts, max_size=2),
        extra=extras,
        attempt=numbers,
        seconds=seconds,
        definition=maybe(
            texts, st.sampled_from([each.definition.id for each in PROJECT.assets.values() if each.definition])
        ),
        outlets=st.lists(texts, max_size=2).map(tuple),
    ),
    st.builds(
        OutletEntry,
        asset=texts,
        uri=texts,
        written_by=texts,
        run=texts,
        token=numbers,
        recorder=numbers,
        partitions=partitions,
        table_id=maybe(st.none(), texts),
        version=maybe(st.none(), numbers),
        interval=intervals,
        pins=pins,
        extra=extras,
        definition=texts,
        epoch=numbers,
    ),
    st.builds(
        FailureEntry,
        asset=texts,
        run=texts,
        token=numbers,
        partitions=partitions,
        cause=st.sampled_from(["error", "timeout", "cancelled", "lost", "changed"]),
        error=texts,
        invocation=texts,
        fenced=st.booleans(),
        attempts=numbers,
        details=texts,
        hint=texts,
        seconds=seconds,
    ),
    st.builds(PauseEntry, texts, st.booleans()),
    st.builds(BackfillEntry, texts, partitions, sets, st.booleans(), st.booleans()),
    st.builds(TargetEntry, texts, texts, found, st.booleans(), st.dictionaries(texts, texts, max_size=2)),
)


@given(ENTRIES, numbers)
def test_an_entry_of_any_kind_is_read_as_it_was_written(entry, seq):
    numbered = NumberedEntry(entry, seq, datetime(2025, 1, 1, tzinfo=UTC), "d")
    assert from_row(to_row(numbered)) == numbered


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["s", "p", "k", "gone", "d", "event", "run", "fail", "unfenced", "claim", "renew", "pause"])
        | st.just("lost"),
        st.integers(1, 28),
        extras,
    ),
    max_size=25,
)


def make_story(steps) -> Story:
    """A history with entries of every kind."""
    story = Story(PROJECT)
    for what, number, extra in steps:
        day = f"2025-01-{number:02}"
        match what:
            case "s" | "p" | "k" | "d" | "gone":
                seen(story, what, number, extra)
            case "event":
                story.add(EventEntry("x-d", "d", extra=extra, id=day, at=number))
            case "pause":
                story.add(PauseEntry("r", number % 2 == 0))
            case "lost":
                name = ("a", "b", "train", "test")[number % 4]
                lost = days(day) if name == "train" else EVERYTHING
                loss = TableFinding("gone", f"its table is gone {number}", lost)
                story.add(TargetEntry(name, name, loss))
            case "renew":
                held = [(each.name, each.chain[-1].token) for each in story.state.assets.values() if each.chain]
                story.add(RenewEntry(held))
            case _ if runs := story.plan(invocation="i").runs:
                end(story, what, story.claim(runs[number % len(runs)]), extra)
    return story


def seen(story: Story, what: str, number: int, extra) -> None:
    """A source is not as it was."""
    day, key = f"2025-01-{number:02}", ("be", "de%2C east", "%", "*")[number % 4]
    match what:
        case "s":
            story.observed("s", day, cursor={str(number): extra}, extra=extra, table_id="t", version=number)
        case "p":
            story.observed("p", f"{day},{key}")
        case "k":
            story.observed("k", key)
        case "d":
            story.observed("d", extra=extra)
        case "gone":
            story.observed("s", removed=days(day))
            story.observed("p", removed=story.project.assets["p"].partitioning.parse(f"{day},{key}"))


def end(story: Story, what: str, claim: int, extra) -> None:
    """A run that was claimed comes to an end, or does not."""
    name = next(entry.entry.asset for entry in story.entries if entry.seq == claim)
    if what == "run":
        story.succeed(name, claim, watermarks={"s": str(claim)}, extra=extra)
    elif what in ("fail", "unfenced"):
        story.fail(name, claim, fenced=what == "fail")


@settings(max_examples=examples(60), deadline=None)
@given(STEPS)
def test_folding_entries_is_folding_their_rows(steps):
    story = make_story(steps)
    assert fold(State("journal"), map(from_row, story.rows), commit=story.state.commit) == story.state


@given(ENTRIES, numbers)
def test_what_people_ask_of_segments_is_in_the_columns(entry, seq):
    row = to_row(NumberedEntry(entry, seq, datetime(2025, 1, 1, tzinfo=UTC), "d"))
    parts = getattr(
        entry,
        "parts",
        getattr(entry, "partitions", getattr(entry, "changed", getattr(entry, "event_partitions", NOTHING))),
    )
    any_time = RangeSet.union([parts.time, *(time for _, time in parts.apart)])
    assert RangeSet(row.starts, row.ends) == (any_time if any_time != RangeSet.always() else RangeSet())
    assert (row.segment is not None) == (not parts.time and len(parts.apart) == 1)
    assert row.segment in (None, *(",".join(segment) for segment in segmented.NAMED))
