"""What the fold makes of segments is, for each tuple of them, what it makes of that tuple's time alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from sparkassets.core.instants import DAY, Duration
from sparkassets.core.journal.entries import (
    ClaimEntry,
    Entry,
    EventEntry,
    FailureEntry,
    NumberedEntry,
    ObservedEntry,
    SpecEntry,
    SuccessEntry,
)
from sparkassets.core.journal.fold.dispatch import fold
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.journal.state import State
from sparkassets.core.journal.table_findings import ForeignCommit, TableFinding, TargetEntry
from sparkassets.core.partitions import EVERYTHING, NOTHING, Dependency, PartitionSet, RangeSet, WindowMapping
from sparkassets.core.runs import RunConsumption, RunRequest
from sparkassets.core.spec.model import InletSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.strategies import DateRange
from tests.builders import Segments, asset, at, project, source
from tests.core.partitions.segmented import stamps_of
from tests.depth import examples

START, NOW, SIZE = at("2025-01-01"), at("2025-01-10"), 12
GO = "x-go://go"
KEYS = [("be", "1"), ("be", "2"), ("de", "1"), ("de", "2")]
TRAILING = WindowMapping.trailing(Duration.parse("9d"))


def chain_of(segments: Segments, *, keeps: bool) -> ProjectSpec:
    """A source and what is computed of it, all with these segments, and a source of time alone."""
    kept = InletSpec("p", "", None, on_removed="keep" if keeps else "rerun", settle_seconds=3600)
    return project(
        source("p", segments=segments),
        source("s"),
        asset("a", kept, segments=segments),
        asset("b", InletSpec("a", "", TRAILING), "s", by="week", segments=segments),
        asset("c", "a", schedule=f"a & {GO}", strategy=DateRange(max_partitions_per_run=2), segments=segments),
        asset("n", InletSpec("p", "", None, on_update="ignore"), segments=segments),
    )


STORES = {"store": ("be", "de"), "tier": ("1", "2")}
ALWAYS = RangeSet.always()
times = st.lists(st.tuples(st.integers(0, SIZE), st.integers(1, 4)), max_size=3).map(
    lambda pairs: RangeSet.from_pairs((START + low * DAY, START + (low + count) * DAY) for low, count in pairs)
)
sets = st.builds(
    PartitionSet.by_segment, st.dictionaries(st.sampled_from(KEYS), times, max_size=3), st.just(RangeSet()) | times
)
named = st.sampled_from(["a", "a", "a", "b", "c", "c", "n"])
of_all = st.fixed_dictionaries(dict.fromkeys(KEYS, times.filter(bool))).map(PartitionSet.by_segment)


def steps(partitions: st.SearchStrategy[PartitionSet]) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Histories whose runs have such partitions."""
    return st.lists(
        st.one_of(
            st.tuples(st.just("observed"), sets, sets),
            st.tuples(st.sampled_from(["alone", "whole", "go"]), times),
            st.tuples(st.just("looked"), named, sets, sets),
            st.tuples(st.sampled_from(["run", "run", "claim"]), named, partitions, sets, sets),
            st.tuples(st.sampled_from(["success", "success", "failure", "unfenced"]), named),
            st.tuples(st.just("spec"), st.booleans()),
        ),
        max_size=14,
    )


def entries(told: list[tuple[Any, ...]]) -> Iterator[Entry]:
    """The entries of a history; a run ends only if it began."""
    yield from specs(chain_of(STORES, keeps=True))
    claims: dict[str, tuple[int, ClaimEntry]] = {}
    number = 6
    for what, *given_ in told:
        for step in [("claim", *given_), ("success", given_[0])] if what == "run" else [(what, *given_)]:
            for entry in told_by(step, claims, number):
                number += 1
                if isinstance(entry, ClaimEntry):
                    claims[entry.asset] = number, entry
                yield entry


def told_by(step: tuple[Any, ...], claims: dict[str, tuple[int, ClaimEntry]], number: int) -> Iterator[Entry]:
    match step:
        case "observed", changed, removed:
            yield ObservedEntry("p", "x-p", changed, removed)
        case "alone", time:
            yield ObservedEntry("s", "x-s", PartitionSet(time))
        case "whole", _:
            yield EventEntry("x-p")
        case "go", _:
            yield EventEntry(GO)
        case "looked", name, lost, changed:
            commits = (ForeignCommit(number, "DELETE", partitions=changed),) if changed else ()
            yield TargetEntry(name, name, TableFinding("restored", "restored", lost, "t", 9, commits=commits))
        case "claim", name, partitions, some, others:
            left = EVERYTHING - partitions
            remaining = {"a": left | some, GO: left | others} if name == "c" else {}
            uses = RunConsumption(dict.fromkeys(remaining, number), remaining=remaining)
            own = partitions.map_time(lambda time: ALWAYS if time else time)
            request = RunRequest(
                name,
                "scheduled",
                partitions,
                consumption=uses,
                owed_lookback=some & own - partitions,
                gaps=others & own,
            )
            yield ClaimEntry(request, f"r{number}", 600, "i", "h", planned=NOW)
        case "spec", keeps:
            yield from specs(chain_of(STORES, keeps=keeps))
        case "success", name if name in claims:
            token, claim = claims.pop(name)
            yield SuccessEntry(name, name, claim.run, token, token, claim.partitions, "t", 1)
        case (("failure" | "unfenced"), name) if name in claims:
            token, claim = claims.pop(name)
            yield FailureEntry(
                name, claim.run, token, claim.partitions, "error", "boom", "i", fenced=step[0] == "failure"
            )


def specs(made: ProjectSpec) -> Iterator[Entry]:
    return (SpecEntry(each.name, build_fold_spec(each, made)) for each in made.assets.values())


# --------------------------------------------------------------------------- one tuple of it


def alone(numbered: NumberedEntry, key: tuple[str, ...]) -> Iterator[NumberedEntry]:
    """The entry, if it says something of that tuple, as of an asset by time alone."""
    entry = numbered.entry

    def of(parts: PartitionSet) -> PartitionSet:
        return parts if parts.is_everything else PartitionSet(parts.time_of(key))

    match entry:
        case SpecEntry():
            spec = entry.spec
            inlets = tuple(replace(each, needs=timely(each.needs)) for each in spec.inlets)
            spec = replace(spec, partitioning=replace(spec.partitioning, segments=()), inlets=inlets)
            yield replace(numbered, entry=SpecEntry(entry.asset, spec))
        case ObservedEntry():
            yield replace(numbered, entry=replace(entry, changed=of(entry.changed), removed=of(entry.removed)))
        case TargetEntry():
            commits = tuple(replace(each, partitions=of(each.partitions)) for each in entry.found.commits)
            found = replace(entry.found, lost=of(entry.found.lost), commits=commits)
            yield replace(numbered, entry=replace(entry, found=found))
        case ClaimEntry() if of(entry.partitions):
            request, using = entry.request, entry.request.consumption
            left = {uri: of(parts) for uri, parts in using.remaining.items()}
            request = replace(
                request,
                partitions=of(request.partitions),
                owed_lookback=of(request.owed_lookback),
                gaps=of(request.gaps),
                consumption=replace(using, remaining=left),
            )
            yield replace(numbered, entry=replace(entry, request=request))
        case SuccessEntry() | FailureEntry() if of(entry.partitions):
            yield replace(numbered, entry=replace(entry, partitions=of(entry.partitions)))
        case EventEntry():
            yield numbered


def timely(needs: Dependency) -> Dependency:
    """The same by time alone."""
    sides = (replace(each, segments=()) for each in (needs.consumer, needs.inlet))
    return Dependency(needs.mapping, *sides)


def known(state: State, key: tuple[str, ...], *, partly: bool) -> dict[str, Any]:
    """What the state says of one tuple, and with ``partly`` what it has to answer."""

    def of(parts: PartitionSet) -> RangeSet:
        return parts.time_of(key)

    told: dict[str, Any] = {}
    for name, each in state.assets.items():
        told[name] = {
            "coverage": of(each.coverage),
            "owed": of(each.owed_lookback),
            "gaps": of(each.gaps),
            "stale": {inlet: found for inlet, marks in each.stale.items() if (found := stamps_of(marks, key))},
            "kept": {inlet: found for inlet, marks in each.kept.items() if (found := stamps_of(marks, key))},
            "lost": of(each.loss.lost_partitions if each.loss else NOTHING),
            "foreign": [
                (commit.version, of(commit.partitions)) for commit in each.foreign_commits if of(commit.partitions)
            ],
            "failed": [(failed.token, of(failed.partitions)) for failed in each.failed if of(failed.partitions)],
            "partly": {
                uri: items
                for uri, kept in each.partly_used.items()
                if partly and (items := [(seq, of(parts)) for seq, parts in kept if of(parts)])
            },
        }
    for uri, dataset in state.datasets.items():
        told[f"dataset {uri}"] = {
            "coverage": of(dataset.coverage),
            "gone": of(dataset.gone),
            "ever": of(dataset.ever_present),
            "touched": stamps_of(dataset.touched, key),
        }
    return {name: each for name, each in told.items() if any(each.values())}


def both(told: list[tuple[Any, ...]], key: tuple[str, ...], *, partly: bool = False) -> list[dict[str, Any]]:
    """What is known of a tuple after the whole history, and after its own."""
    when = datetime(2025, 1, 10, tzinfo=UTC)
    numbered = [NumberedEntry(entry, seq, when, "d") for seq, entry in enumerate(entries(told), start=1)]
    own = [each for entry in numbered for each in alone(entry, key)]
    return [known(fold(State("journal"), each, commit=1), key, partly=partly) for each in (numbered, own)]


generated = settings(
    max_examples=examples(100), phases=[Phase.generate], deadline=None, derandomize=True, database=None
)


@generated
@given(steps(sets.filter(bool)), st.sampled_from(KEYS))
def test_each_tuple_is_folded_as_if_it_were_alone(told, key):
    folded, own = both(told, key)
    assert folded == own


@generated
@given(steps(of_all), st.sampled_from(KEYS))
def test_each_tuple_answers_events_as_if_it_were_alone(told, key):
    folded, own = both(told, key, partly=True)
    assert folded == own
