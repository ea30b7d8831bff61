"""Failed and withheld partitions, the search for bad ones among them, and causes to try them again.

A run that failed because of its data is divided: its partitions are tried in parts by a limited number of further runs
(``division``), until the bad ones are known (docs/design/planning.md#failures-and-retries).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sparkassets.core.instants import to_unix
from sparkassets.core.journal import withheld_records
from sparkassets.core.journal.asset_records import FailedPartitions
from sparkassets.core.journal.entries import ClaimEntry, NumberedEntry, SkippedEntry, SuccessEntry
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.fold_specs import FoldInlet, FoldSpec
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.withheld_records import InstanceIdentity, WithheldPartitions, WithheldRecords
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.runs import PartFinding
from sparkassets.frozen import replace


def withheld_after_success(
    work: FoldWorkspace, asset: AssetState, entry: SuccessEntry, claim: ClaimEntry | None, numbered: NumberedEntry
) -> WithheldRecords:
    """The withheld records after a success; ``asset`` is the asset before it.

    What the run withheld gets a record, and records of its other partitions go.
    """
    # the asset had partitions when the run was claimed and has none now, or the other way round
    is_outdated = entry.withheld.is_everything == asset.spec.partitioning.is_partitioned
    settled = asset.settled_partitions_since(entry.token)
    request = claim.request if claim is not None else None
    is_withheld = not is_outdated and bool(entry.withheld - settled)
    item = _withheld_record(work, asset, entry, claim, numbered) if is_withheld else None
    if request is not None and request.apart and not asset.spec.partitioning.is_partitioned:
        run = InstanceIdentity(entry.interval, tuple(entry.events), request.again)
        return withheld_records.withheld_after_instance(asset.withheld, run, item)
    return withheld_records.withheld_after_run(asset.withheld, entry.partitions, item)


def withheld_after_skip(
    work: FoldWorkspace, asset: AssetState, entry: SkippedEntry, claim: ClaimEntry | None, numbered: NumberedEntry
) -> WithheldRecords:
    """The withheld records after a skipped run, whose absent partitions rest until there is a new cause.

    For an asset without partitions the skip only ends earlier records.
    """
    request = claim.request if claim is not None else None
    if not asset.spec.partitioning.is_partitioned or entry.partitions.is_everything:
        if request is not None and request.apart:
            run = InstanceIdentity(request.interval, request.events, request.again)
            return withheld_records.withheld_after_instance(asset.withheld, run, None)
        return withheld_records.withheld_after_run(asset.withheld, entry.partitions, None)
    partitions = entry.partitions - asset.coverage - asset.settled_partitions_since(entry.token)
    item = WithheldPartitions(
        partitions=partitions,
        run=entry.run,
        token=entry.token,
        seq=numbered.seq,
        at=to_unix(numbered.at),
        caused=PartitionSet.union(_causes_since_claim(work, asset, entry)) & partitions,
        judges=((request.judge or request.definition) if request is not None else "",),
        invocation=entry.invocation,
        skipped=entry.reason,
    )
    return withheld_records.withheld_after_run(asset.withheld, entry.partitions, item if partitions else None)


def _withheld_record(
    work: FoldWorkspace, asset: AssetState, entry: SuccessEntry, claim: ClaimEntry | None, numbered: NumberedEntry
) -> WithheldPartitions:
    """The record of what a run withheld, without partitions that a person marked as done or skipped since its claim."""
    partitions, whole = entry.withheld - asset.settled_partitions_since(entry.token), entry.partitions.is_everything
    return WithheldPartitions(
        partitions=partitions,
        run=entry.run,
        token=entry.token,
        seq=numbered.seq,
        at=to_unix(numbered.at),
        caused=PartitionSet.union(_causes_since_claim(work, asset, entry)) & partitions,
        judges=((claim.request.judge if claim is not None else "") or entry.definition,),
        verdicts=tuple(each for each in entry.verdicts if each.outcome == "withheld"),
        interval=entry.interval,
        invocation=claim.invocation if claim is not None else "",
        pins=entry.pins if whole else {},
        events=tuple(entry.events) if whole else (),
        apart=claim is not None and claim.request.apart,
    )


def _causes_since_claim(
    work: FoldWorkspace, asset: AssetState, entry: SuccessEntry | SkippedEntry
) -> Iterator[PartitionSet]:
    """Yields the partitions with a cause that came while the run was at work; everything where nobody knows which."""
    ignored = {inlet.uri for inlet in asset.spec.inlets if inlet.on_update == "ignore"}
    if not asset.spec.partitioning.is_partitioned:
        uris = ignored if asset.spec.named else set[str]()  # other events are unused, so they trigger a run anyway
    else:
        uris = ignored.union(_unread_triggers(asset))
        yield asset.redo_partitions_since(entry.token)
        yield from (marks.stamped_after(entry.token).stamped_partitions() for marks in asset.stale.values())
    if any(work.newest_seq(uri) > entry.token for uri in uris):
        yield EVERYTHING


def _unread_triggers(asset: AssetState) -> Iterator[str]:
    """Yields the datasets that the asset's condition names and that it does not read."""
    read = {inlet.uri for inlet in asset.spec.inlets}
    return (uri for uri in asset.spec.named if uri not in read)


def respecify_withheld(asset: AssetState, spec: FoldSpec) -> AssetState:
    """The asset with its withheld records adapted to a spec that gives it partitions, or takes them away.

    With partitions from now on, all records go: the partitions are missing anyway. Without, the newest is tried again.
    """
    after = spec.partitioning.is_partitioned
    if asset.spec.partitioning.is_partitioned == after:
        return asset
    marks = tuple(mark for mark in asset.marks if mark.kind != "accept")
    newest = () if after else asset.withheld[-1:]
    tried = tuple(replace(each, partitions=EVERYTHING, caused=EVERYTHING) for each in newest)
    return replace(asset, marks=marks, withheld=tried)


def retry_updated(work: FoldWorkspace, name: str, partitions: PartitionSet) -> None:
    """Marks withheld partitions among ``partitions`` to be tried again, because one of their inlets was updated."""
    asset = work.assets[name]
    if asset.withheld:
        work.assets[name] = replace(asset, withheld=withheld_records.add_causes(asset.withheld, partitions))


def retry_ignored_update(work: FoldWorkspace, name: str, inlet: FoldInlet) -> None:
    """Marks what an asset without partitions withholds to be tried again, because an ``ignore`` inlet was updated.

    An asset that only runs by times is tried at its next tick instead.
    """
    asset = work.assets[name]
    if asset.withheld and asset.spec.named and inlet.on_update == "ignore":
        work.assets[name] = replace(asset, withheld=withheld_records.add_causes(asset.withheld, EVERYTHING))


def retry_triggered(work: FoldWorkspace, uri: str) -> None:
    """Marks withheld partitions to be tried again in assets that the dataset triggers and that do not read it."""
    for asset in work.triggered_assets(uri):
        if asset.withheld and asset.spec.partitioning.is_partitioned and uri in _unread_triggers(asset):
            work.assets[asset.name] = replace(asset, withheld=withheld_records.add_causes(asset.withheld, EVERYTHING))


Failures = tuple[FailedPartitions, ...]


def add_failure(
    before: Failures, item: FailedPartitions, *, settled: PartitionSet, bad: PartitionSet = NOTHING
) -> Failures:
    """The failures with another one, ``item``, without partitions that a person ``settled`` since its claim.

    Partitions that are known to be ``bad`` become a failure of their own at once; the others stay undecided.
    """
    if item.partitions.is_everything:
        instead = (*(each for each in before if not set(each.events) <= set(item.events)), item)
        return before if settled.is_everything else instead
    after = _add_partition_failure(before, item, bad)
    return forget_failed(after, settled) if settled else after


def _add_partition_failure(before: Failures, item: FailedPartitions, bad: PartitionSet) -> Failures:
    """The failures with ``item``, which replaces earlier ones of the same partitions and continues their division."""
    whole = next((each for each in before if _is_divided(each, item.partitions, item.invocation)), None)
    if whole is not None and whole.division is not None and item.division is not None:
        item = replace(item, division=replace(item.division, first=whole.division.first, left=whole.division.left - 1))
    others = _failures_outside(
        _count_division_run(before, item.partitions, item.invocation), item.partitions, known="unknown"
    )
    return (*others, *_split_off_bad(item, item.partitions & bad))


def _split_off_bad(item: FailedPartitions, bad: PartitionSet) -> Failures:
    """The failure split into its bad partitions, which no further run tries, and the rest; whole without bad ones."""
    division = item.division
    if division is None or not bad or bad == item.partitions:
        return (item,)
    rest = replace(item, partitions=item.partitions - bad, division=replace(division, known="unknown"))
    return replace(item, partitions=bad, division=replace(division, left=0)), rest


def clear_failures(before: Failures, partitions: PartitionSet, *, invocation: str = "") -> Failures:
    """The failures after a run of that invocation has computed ``partitions``."""
    return _failures_outside(_count_division_run(before, partitions, invocation), partitions, known="bad")


def forget_failed(before: Failures, partitions: PartitionSet) -> Failures:
    """The failures without ``partitions``, which a person settled and no run has tried."""
    return _failures_outside(before, partitions, known="unknown")


def failures_without_events(before: Failures, events: Collection[int]) -> Failures:
    """The failures without those whose events are all among ``events``."""
    return tuple(item for item in before if not item.events or not set(item.events) <= set(events))


def _is_divided(item: FailedPartitions, partitions: PartitionSet, invocation: str) -> bool:
    """Whether a run of ``partitions`` is one of the further runs of the failure's division."""
    is_open = item.division is not None and item.division.left > 0 and item.invocation == invocation
    return is_open and item.partitions.overlaps(partitions)


def _count_division_run(before: Failures, partitions: PartitionSet, invocation: str) -> Failures:
    """The failures after a run of ``partitions``: all parts of its division have one further run less left."""
    taken = {item.division.first for item in before if item.division and _is_divided(item, partitions, invocation)}
    return tuple(
        replace(item, division=replace(item.division, left=item.division.left - 1))
        if item.division is not None and item.division.left and item.division.first in taken
        else item
        for item in before
    )


def _failures_outside(before: Failures, partitions: PartitionSet, *, known: PartFinding) -> Failures:
    """The failures without ``partitions``; empty ones are dropped.

    ``known`` is the new finding about what remains of a divided failure: whether it must hold a bad partition.
    """
    return tuple(
        left
        for item in before
        if not item.partitions.is_everything and (left := _failure_outside(item, partitions, known)).partitions
    )


def _failure_outside(item: FailedPartitions, partitions: PartitionSet, known: PartFinding) -> FailedPartitions:
    """One failure without ``partitions``, with the new finding about its rest; unchanged where it has none of them."""
    if not item.partitions.overlaps(partitions):
        return item
    division = item.division
    if division is not None and (known == "unknown" or division.known == "failed"):
        division = replace(division, known=known)
    return replace(item, partitions=item.partitions - partitions, division=division)
