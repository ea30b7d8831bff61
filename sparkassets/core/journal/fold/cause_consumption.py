"""Records which causes assets have used up: events, ticks, and requests to compute partitions again.

`AssetState.consumed` has one sequence number for each dataset, up to which events are used. Exceptions below that
number, events that some or all partitions have still to answer, are listed one by one in `AssetState.partly`. A
partition *answers* an event or a tick when a run that the event or tick made due computes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from sparkassets.core.instants import to_unix
from sparkassets.core.journal.asset_records import PartlyUsed
from sparkassets.core.journal.entries import (
    BackfillEntry,
    ClaimEntry,
    NumberedEntry,
    RedoRequest,
    SkippedEntry,
    SuccessEntry,
)
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.fold_specs import FoldSpec
from sparkassets.core.journal.recent_events import RecentEvents
from sparkassets.core.journal.state import AssetState, EventRef
from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.core.runs import TIMETABLE, RunConsumption, RunRequest
from sparkassets.frozen import replace

T = TypeVar("T")


def use_up_causes(
    work: FoldWorkspace, asset: AssetState, partitions: PartitionSet, claim: ClaimEntry | None, *, token: int
) -> AssetState:
    """The asset after a success of ``partitions`` that used up the causes of its claim, which has the number ``token``.

    ``claim`` is None where it is unknown, or the asset gained or lost its partitions since. A backfill has no causes of
    its own, but its partitions answer earlier ones. Causes that came after the claim stay unused.
    """
    scheduled = claim if claim is not None and claim.kind == "scheduled" else None
    partly = (
        asset.partly_used
        if partitions.is_everything
        else _unanswered_after_run(work, asset, partitions, scheduled, token=token)
    )
    if claim is None:
        return replace(asset, partly_used=partly)
    consumption = claim.request.consumption
    if claim.partitions.is_everything:
        partly = _unanswered_events_after(work, asset, claim.request)
    return _advance_consumed(asset, partly, consumption, ticks=consumption.ticks if scheduled is not None else {})


def use_up_without_run(
    work: FoldWorkspace, asset: AssetState, consumption: RunConsumption, events: tuple[int, ...]
) -> AssetState:
    """The asset without partitions after its due events and ticks were used up, although no run answers them."""
    request = RunRequest(asset.name, "scheduled", EVERYTHING, events=events, consumption=consumption)
    return _advance_consumed(
        asset, _unanswered_events_after(work, asset, request), consumption, ticks=consumption.ticks
    )


def _advance_consumed(
    asset: AssetState, partly: Mapping[str, PartlyUsed], consumption: RunConsumption, *, ticks: Mapping[str, int]
) -> AssetState:
    """The asset with its used events and ticks moved forward, never back.

    ``partly`` are the exceptions: used events and ticks that some partitions have still to answer.
    """
    numbers = {uri: max(seq, asset.consumed.get(uri, 0)) for uri, seq in consumption.consumes.items()}
    newest = {key: max(at, asset.ticks.get(key, at)) for key, at in ticks.items()}
    return replace(asset, partly_used=partly, consumed={**asset.consumed, **numbers}, ticks={**asset.ticks, **newest})


def _unanswered_after_run(
    work: FoldWorkspace, asset: AssetState, partitions: PartitionSet, claim: ClaimEntry | None, *, token: int
) -> dict[str, PartlyUsed]:
    """By key (dataset or time leaf), the events and ticks that some partitions have still to answer after a run.

    ``claim`` is None for a run that uses up no causes; its partitions answer all events up to its claim all the same.
    """
    consumption = claim.request.consumption if claim is not None else None

    # of the partitions that had to answer an event or tick before the run, those that have still to answer it
    def remaining_partitions(key: str, number: int, unanswered_before: PartitionSet) -> PartitionSet:
        # `number` is an event's sequence number, which compares with the token, or a tick's instant, which does not
        if consumption is not None:
            return consumption.unanswered_partitions(key, unanswered_before, number)
        return unanswered_before if number > token and key not in asset.ticks else unanswered_before - partitions

    unanswered = {
        key: [(number, remaining_partitions(key, number, unanswered_before)) for number, unanswered_before in items]
        for key, items in asset.partly_used.items()
    }
    # events and ticks that the run is the first to use are not in the list yet
    if claim is not None and asset.spec.partitioning.is_partitioned:
        finished = asset.spec.partitioning.finished_partitions(claim.planned)
        for key, remaining in claim.request.consumption.remaining.items():
            unanswered.setdefault(key, []).extend(
                _newly_unanswered(work, asset, claim.request.consumption, key, remaining, finished)
            )
    return _drop_answered(unanswered)


def _drop_answered(items: Mapping[str, Sequence[tuple[int, PartitionSet]]]) -> dict[str, PartlyUsed]:
    """Drops the events and ticks that no partition has to answer any more, and keys without any."""
    kept = {key: tuple((number, parts) for number, parts in each if parts) for key, each in items.items()}
    return {key: each for key, each in kept.items() if each}


def _newly_unanswered(
    work: FoldWorkspace,
    asset: AssetState,
    consumption: RunConsumption,
    key: str,
    remaining: PartitionSet,
    finished: PartitionSet,
) -> PartlyUsed:
    """The events, or the tick, that a run is the first to use, with the partitions that have still to answer it.

    Args:
        work: The fold's working copy of the state.
        asset: The asset of the run.
        consumption: What the run uses up.
        key: A dataset's URI, a time leaf, or the timetable.
        remaining: Partitions that the run left to answer the key.
        finished: Partitions that were over when the run was claimed; only these can be due.
    """
    finished_remaining = remaining & finished  # for ticks, and for events that no mapping leads to partitions
    if key in consumption.ticks:
        # before a time leaf's first use, its ticks up to the newest run's plan count as used; of the timetable none
        used_until = asset.ticks.get(key, asset.last.planned if asset.last and key != TIMETABLE else 0)
        return ((consumption.ticks[key], finished_remaining),) if consumption.ticks[key] > used_until else ()
    used_until, uses_until = asset.consumed.get(key, 0), consumption.consumes.get(key, 0)
    new_events = work.recent_events(key).between(used_until, uses_until)
    return tuple(
        (ref.seq, _answering_partitions(work, asset.spec, ref, remaining, finished_remaining)) for ref in new_events
    )


def _unanswered_events_after(work: FoldWorkspace, asset: AssetState, request: RunRequest) -> dict[str, PartlyUsed]:
    """By dataset, the events that a run of an asset without partitions leaves unused.

    A changed condition may have listed an event one by one only since the claim; if the run answers it, it stays used.
    """
    consumption = request.consumption
    unanswered = {}
    for uri in {*asset.partly_used, *(consumption.consumes if consumption.skips else ())}:
        listed_numbers = (number for number, _ in asset.partly_used.get(uri, ()) if number not in request.events)
        numbers = [
            number for number in listed_numbers if consumption.leaves_event_unused(uri, number)
        ] + _skipped_events(work, asset, consumption, uri)
        unanswered[uri] = [(number, EVERYTHING) for number in sorted(numbers)]
    return _drop_answered(unanswered)


def _skipped_events(work: FoldWorkspace, asset: AssetState, consumption: RunConsumption, uri: str) -> list[int]:
    """Numbers of the dataset's events that a run is the first to pass over and leaves unused for runs of their own."""
    used_until, uses_until = asset.consumed.get(uri, 0), consumption.consumes.get(uri, 0)
    return (
        [ref.seq for ref in work.recent_events(uri).between(used_until, uses_until) if ref.seq in consumption.skips]
        if consumption.skips
        else []
    )


def unused_events(work: FoldWorkspace, asset: AssetState) -> set[int]:
    """The sequence numbers of the events that trigger the asset and that no run of it has used yet."""
    numbers = {number for items in asset.partly_used.values() for number, _ in items}
    for uri in asset.spec.named:
        used_until = asset.consumed.get(uri, 0)
        numbers.update(ref.seq for ref in work.recent_events(uri).between(used_until))
    return numbers


def forget_used_events(work: FoldWorkspace, uri: str) -> None:
    """Drops the remembered events of a dataset that no asset has still to use, except the newest."""
    recent = work.recent_events(uri)
    if recent.first == work.newest_seq(uri):  # only the newest is left
        return
    triggered = work.triggered_assets(uri)
    naming = (each for each in triggered if uri in each.spec.named)
    used_until = min((each.consumed.get(uri, 0) for each in naming), default=work.newest_seq(uri))
    if used_until < recent.first:
        return
    kept_numbers = _events_kept_one_by_one(uri, triggered, recent)
    work.datasets[uri] = replace(work.datasets[uri], recent=recent.without(used_until, kept_numbers=kept_numbers))


def _events_kept_one_by_one(uri: str, triggered: Collection[AssetState], recent: RecentEvents[EventRef]) -> set[int]:
    """Numbers of the events that an asset has still to answer although its ``consumed`` number is past them.

    Among them are events of withheld runs, which are tried again with the same events, and unused events of a dataset
    that the asset's condition no longer names (`AssetState.former_triggers`).
    """
    partly_used = {number for each in triggered for number, _ in each.partly_used.get(uri, ())}
    parted = [
        (each.consumed.get(uri, 0), each.former_triggers[uri]) for each in triggered if uri in each.former_triggers
    ]
    return (
        partly_used
        | _withheld_events(triggered)
        | {ref.seq for used, until in parted for ref in recent.between(used, until)}
    )


def _withheld_events(triggered: Collection[AssetState]) -> set[int]:
    """Numbers of the events whose runs are withheld."""
    return {number for each in triggered for record in each.withheld for number in record.events}


def update_triggers(work: FoldWorkspace, asset: AssetState, former_spec: FoldSpec | None) -> AssetState:
    """Adapts the asset's unused events to a condition that names other datasets than ``former_spec``.

    Unused events of a dataset that is no longer named are kept. Of a newly named dataset only the newest event counts,
    whichever older ones are still remembered for other assets.
    """
    former = former_spec if former_spec is not None else FoldSpec(asset.spec.uri)
    for uri in _absent_from(asset.spec.named, former.named):
        asset = itemize_unused_events(work, asset, uri, newest=True)
    asset = replace(asset, former_triggers=_without_uris(asset.former_triggers, asset.spec.named))
    for uri in _absent_from(former.named, asset.spec.named):
        asset = _keep_unused_events(work, asset, uri)
    unlistened = _absent_from(former.listens, {*asset.spec.listens, *asset.former_triggers})
    return replace(asset, partly_used=_without_uris(asset.partly_used, unlistened))


def _absent_from(uris: Iterable[str], others: Collection[str]) -> list[str]:
    """The URIs that are not among ``others``."""
    return [uri for uri in uris if uri not in others]


def _without_uris(known: Mapping[str, T], uris: Collection[str]) -> dict[str, T]:
    """The mapping without these datasets."""
    return {uri: value for uri, value in known.items() if uri not in uris}


def _keep_unused_events(work: FoldWorkspace, asset: AssetState, uri: str) -> AssetState:
    """Remembers up to which event the asset's condition named the dataset, while it has unused ones.

    They count again if the condition names the dataset again.
    """
    newest = work.newest_seq(uri)
    if newest <= asset.consumed.get(uri, 0) and uri not in asset.partly_used:
        return asset
    return replace(asset, former_triggers={**asset.former_triggers, uri: newest})


def itemize_unused_events(work: FoldWorkspace, asset: AssetState, uri: str, *, newest: bool = False) -> AssetState:
    """Counts all events of a dataset as used, and lists one by one the unused ones that the asset keeps.

    So events can move to another dataset, or a condition can change, without one number that stands for all of them.
    With ``newest`` the newest event is listed as well, if it is unused.
    """
    recent, newest_seq, items = work.recent_events(uri), work.newest_seq(uri), dict(asset.partly_used.get(uri, ()))
    used_until, named_until = asset.consumed.get(uri, 0), asset.former_triggers.get(uri, 0)
    named_until = newest_seq if not newest and uri in asset.spec.named else named_until
    for ref in recent.between(used_until):
        if ref.seq <= named_until or (newest and ref is recent.newest):
            items[ref.seq] = _answering_partitions(work, asset.spec, ref, EVERYTHING, EVERYTHING)
    if not items and used_until >= newest_seq:  # all events are used, and none was listed
        return asset
    return replace(
        asset,
        consumed={**asset.consumed, uri: max(used_until, newest_seq)},
        partly_used=replace_items(asset.partly_used, uri, items),
    )


def replace_items(
    partly: Mapping[str, PartlyUsed], key: str, items: Mapping[int, PartitionSet]
) -> dict[str, PartlyUsed]:
    """``partly`` with these items for one dataset; without the dataset where there are none."""
    others = {each: value for each, value in partly.items() if each != key}
    return others | {key: tuple(sorted(items.items(), key=lambda item: item[0]))} if items else others


def _answering_partitions(
    work: FoldWorkspace, spec: FoldSpec, ref: EventRef, remaining: PartitionSet, finished: PartitionSet
) -> PartitionSet:
    """The partitions that have to answer an event: those of ``remaining`` that it affects by a mapping.

    Where no mapping shows that, all that were ``finished`` when the run was claimed.
    """
    if not spec.partitioning.is_partitioned:
        return EVERYTHING
    inlets = (spec.inlet(name) for name in spec.readers(ref.uri))
    return PartitionSet.union(
        work.inlet_with_coverage(inlet).needs.affected_partitions(ref.parts) & remaining
        if inlet is not None and inlet.needs.is_mapped and not ref.parts.is_everything
        else finished
        for inlet in inlets
    )


def fold_backfill_request(work: FoldWorkspace, entry: BackfillEntry, numbered: NumberedEntry) -> None:
    """Adds a backfill request; it replaces the same older one, and takes its partitions from all others.

    A request that asks for nothing gives up the rest of its partitions.
    """
    asset = work.assets[entry.asset]
    others = [each for each in asset.redo_requests if each.asked != entry.asked]
    if not entry.asked:
        work.assets[entry.asset] = replace(asset, redo_requests=requests_without(others, entry.partitions))
        return
    newest = RedoRequest(
        numbered.seq, to_unix(numbered.at), entry.asked, entry.partitions, entry.newest_first, entry.limited
    )
    work.assets[entry.asset] = replace(
        asset, redo_requests=_open_requests([*requests_without(others, entry.partitions), newest])
    )


def answer_requests(requests: Iterable[RedoRequest], entry: SuccessEntry | SkippedEntry) -> tuple[RedoRequest, ...]:
    """The requests after a success or a skipped run, which answers those that were recorded before its claim.

    Requests without a rest are dropped. A later one stays, as the run did not know of it.
    """
    if entry.partitions.is_everything:  # requests name partitions, so a run of a whole asset answers none
        return tuple(requests)
    return _open_requests(
        replace(each, left=each.left - entry.partitions) if each.seq < entry.token else each for each in requests
    )


def requests_without(requests: Iterable[RedoRequest], partitions: PartitionSet) -> tuple[RedoRequest, ...]:
    """The requests without these partitions."""
    return _open_requests(replace(each, left=each.left - partitions) for each in requests)


def drop_unknown_requests(asset: AssetState) -> AssetState:
    """Drops requests for segments that the asset does not have any more."""
    if not asset.redo_requests or not asset.spec.partitioning.segments:
        return asset
    known = asset.spec.partitioning.known_partitions
    return replace(asset, redo_requests=tuple(each for each in asset.redo_requests if each.left.overlaps(known)))


def _open_requests(requests: Iterable[RedoRequest]) -> tuple[RedoRequest, ...]:
    """The requests that have partitions left."""
    return tuple(each for each in requests if each.left)
