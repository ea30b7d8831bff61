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
    # what a person marked since the claim needs no record
    is_withheld = not is_outdated and bool(entry.withheld - settled)
    record = _withheld_record(work, asset, entry, claim, numbered) if is_withheld else None
    if request is not None and request.is_instance and not asset.spec.partitioning.is_partitioned:
        run = InstanceIdentity(entry.interval, tuple(entry.events), request.repeated_run)
        return withheld_records.withheld_after_instance(asset.withheld, run, record)
    return withheld_records.withheld_after_run(asset.withheld, entry.partitions, record)


def withheld_after_skip(
    work: FoldWorkspace, asset: AssetState, entry: SkippedEntry, claim: ClaimEntry | None, numbered: NumberedEntry
) -> WithheldRecords:
    """The withheld records after a skipped run: its absent partitions get one, so that only a new cause makes them due.

    For an asset without partitions the skip only ends earlier records.
    """
    request = claim.request if claim is not None else None
    if not asset.spec.partitioning.is_partitioned or entry.partitions.is_everything:
        if request is not None and request.is_instance:
            run = InstanceIdentity(request.interval, request.events, request.repeated_run)
            return withheld_records.withheld_after_instance(asset.withheld, run, None)
        return withheld_records.withheld_after_run(asset.withheld, entry.partitions, None)
    partitions = entry.partitions - asset.coverage - asset.settled_partitions_since(entry.token)
    record = WithheldPartitions(
        partitions=partitions,
        run=entry.run,
        token=entry.token,
        seq=numbered.seq,
        at=to_unix(numbered.at),
        retried_partitions=PartitionSet.union(_causes_since_claim(work, asset, entry)) & partitions,
        judges=((request.judge or request.definition) if request is not None else "",),
        invocation=entry.invocation,
        skipped=entry.reason,
    )
    return withheld_records.withheld_after_run(asset.withheld, entry.partitions, record if partitions else None)


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
        retried_partitions=PartitionSet.union(_causes_since_claim(work, asset, entry)) & partitions,
        judges=((claim.request.judge if claim is not None else "") or entry.definition,),
        verdicts=tuple(each for each in entry.verdicts if each.outcome == "withheld"),
        interval=entry.interval,
        invocation=claim.invocation if claim is not None else "",
        pins=entry.pins if whole else {},
        events=tuple(entry.events) if whole else (),
        is_instance=claim is not None and claim.request.is_instance,
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
        yield from (stamps.stamped_after(entry.token).stamped_partitions() for stamps in asset.stale.values())
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
    has_partitions = spec.partitioning.is_partitioned
    if asset.spec.partitioning.is_partitioned == has_partitions:
        return asset
    marks = tuple(mark for mark in asset.marks if mark.kind != "accept")
    newest = () if has_partitions else asset.withheld[-1:]
    retried = tuple(replace(each, partitions=EVERYTHING, retried_partitions=EVERYTHING) for each in newest)
    return replace(asset, marks=marks, withheld=retried)


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
    failures: Failures, failure: FailedPartitions, *, settled: PartitionSet, bad: PartitionSet = NOTHING
) -> Failures:
    """The failures with another one, ``failure``, without partitions that a person ``settled`` since its claim.

    Partitions that are known to be ``bad`` become a failure of their own at once; the others stay undecided. For an
    asset without partitions the failure replaces those whose events are all among its own.
    """
    if failure.partitions.is_everything:
        replaced = (*(each for each in failures if not set(each.events) <= set(failure.events)), failure)
        return failures if settled.is_everything else replaced
    after = _add_partition_failure(failures, failure, bad)
    return forget_failed(after, settled) if settled else after


def _add_partition_failure(failures: Failures, failure: FailedPartitions, bad: PartitionSet) -> Failures:
    """The failures with another one, which replaces earlier ones of its partitions and continues their division.

    A *division* tries failed partitions again in smaller parts, to find those whose data is bad (`RunDivision`).
    """
    divided = next((each for each in failures if _is_divided(each, failure.partitions, failure.invocation)), None)
    if divided is not None and divided.division is not None and failure.division is not None:
        failure = replace(
            failure, division=replace(failure.division, first=divided.division.first, left=divided.division.left - 1)
        )
    others = _failures_without(
        _count_division_run(failures, failure.partitions, failure.invocation), failure.partitions, known="unknown"
    )
    return (*others, *_split_off_bad(failure, failure.partitions & bad))


def _split_off_bad(failure: FailedPartitions, bad: PartitionSet) -> Failures:
    """The failure split into its bad partitions, which no further run tries, and the rest; whole without bad ones."""
    division = failure.division
    if division is None or not bad or bad == failure.partitions:
        return (failure,)
    undecided = replace(failure, partitions=failure.partitions - bad, division=replace(division, known="unknown"))
    return replace(failure, partitions=bad, division=replace(division, left=0)), undecided


def clear_failures(failures: Failures, partitions: PartitionSet, *, invocation: str = "") -> Failures:
    """The failures after a run of that invocation has computed ``partitions``."""
    return _failures_without(_count_division_run(failures, partitions, invocation), partitions, known="bad")


def forget_failed(failures: Failures, partitions: PartitionSet) -> Failures:
    """The failures without ``partitions``, which a person settled and no run has tried."""
    return _failures_without(failures, partitions, known="unknown")


def failures_without_events(failures: Failures, events: Collection[int]) -> Failures:
    """The failures without those whose events are all among ``events``."""
    return tuple(failure for failure in failures if not failure.events or not set(failure.events) <= set(events))


def _is_divided(failure: FailedPartitions, partitions: PartitionSet, invocation: str) -> bool:
    """Whether a run of ``partitions`` is one of the further runs of the failure's division."""
    is_open = failure.division is not None and failure.division.left > 0 and failure.invocation == invocation
    return is_open and failure.partitions.overlaps(partitions)


def _count_division_run(failures: Failures, partitions: PartitionSet, invocation: str) -> Failures:
    """The failures after a run of ``partitions``: all parts of its division have one further run less left.

    Parts of a division share its first failed run and the number of further runs (`RunDivision`).
    """
    divisions_of_run = {
        failure.division.first
        for failure in failures
        if failure.division and _is_divided(failure, partitions, invocation)
    }
    return tuple(
        replace(failure, division=replace(failure.division, left=failure.division.left - 1))
        if failure.division is not None and failure.division.left and failure.division.first in divisions_of_run
        else failure
        for failure in failures
    )


def _failures_without(failures: Failures, partitions: PartitionSet, *, known: PartFinding) -> Failures:
    """The failures without ``partitions``; empty ones are dropped, and those of a whole asset.

    ``known`` is the new finding about what remains of a divided failure: whether it must hold a bad partition.
    """
    return tuple(
        remaining
        for failure in failures
        if not failure.partitions.is_everything
        and (remaining := _failure_without(failure, partitions, known)).partitions
    )


def _failure_without(failure: FailedPartitions, partitions: PartitionSet, known: PartFinding) -> FailedPartitions:
    """One failure without ``partitions``, with the new finding about its rest; unchanged where it has none of them."""
    if not failure.partitions.overlaps(partitions):
        return failure
    division = failure.division
    if division is not None and (known == "unknown" or division.known == "failed"):
        division = replace(division, known=known)
    return replace(failure, partitions=failure.partitions - partitions, division=division)
