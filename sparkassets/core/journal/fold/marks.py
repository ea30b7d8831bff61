"""Folds a person's marks, and skipped runs, which write nothing but use up their causes."""

from __future__ import annotations

from sparkassets.core.instants import to_unix
from sparkassets.core.journal import marks, table_losses, withheld_records
from sparkassets.core.journal.asset_records import AlignedInstance, LastSkip
from sparkassets.core.journal.entries import ClaimEntry, NumberedEntry, SkippedEntry
from sparkassets.core.journal.fold import cause_consumption, datasets, outputs, unpublished_partitions
from sparkassets.core.journal.fold.aligned_instances import record_aligned_instance, skip_instance, want_instance
from sparkassets.core.journal.fold.outputs import clear_kept_and_owed
from sparkassets.core.journal.fold.runs import forget_failures, later_interval, stale_after_run
from sparkassets.core.journal.fold.unpublished_partitions import clear_failures, failures_without_events, forget_failed
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.marks import InstanceMark, MarkEntry, PartitionMark, add_instance_mark, add_mark
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.table_losses import accept_table_content
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.frozen import replace


def fold_mark(work: FoldWorkspace, entry: MarkEntry, numbered: NumberedEntry) -> None:
    """Applies a person's mark to its partitions, its instance or the whole asset, and forgets their failures.

    A mark other than ``accept`` also answers open questions about lost commits (`_answer_questions`).
    """
    work.flush_staleness(entry.asset)
    asset = work.assets[entry.asset]
    if entry.kind != "accept":
        asset = work.assets[entry.asset] = _answer_questions(asset, entry)
    if entry.only_answers:
        work.assets[entry.asset] = replace(asset, failed=forget_failed(asset.failed, entry.partitions))
        return
    if entry.instance is not None:
        work.assets[entry.asset] = _mark_instance(work, asset, entry, entry.instance, numbered)
        if entry.kind == "skip":
            skip_instance(work, entry.asset, entry.instance, numbered.seq)
        elif entry.kind == "missing":
            want_instance(work, entry.asset, entry.instance)
        _notify_readers(work, entry, numbered, withdrawn=NOTHING)
        return
    mark = PartitionMark(entry.kind, entry.partitions, entry.reason, entry.by, numbered.seq, to_unix(numbered.at))
    if entry.run:  # the withheld rows of one run are accepted
        withheld = withheld_records.accept_instance(asset.withheld, entry.run, mark.text)
        work.assets[entry.asset] = replace(asset, failed=(), withheld=withheld)
        return
    redo = (
        asset.redo_requests
        if entry.kind == "missing"
        else cause_consumption.requests_without(asset.redo_requests, entry.partitions)
    )
    if entry.partitions.is_everything:
        after = _mark_whole_asset(work, asset, entry)
    else:
        after = _mark_partitions(work, asset, entry, numbered.seq)
    if asset.stuck_loss is not None:
        after = replace(after, loss=asset.loss)
    marks = add_mark(asset.marks, mark, claims=(claim.token for claim in after.chain))
    work.assets[entry.asset] = replace(after, marks=marks, redo_requests=redo)
    _notify_readers(work, entry, numbered, withdrawn=asset.coverage - after.coverage)


def _notify_readers(work: FoldWorkspace, entry: MarkEntry, numbered: NumberedEntry, *, withdrawn: PartitionSet) -> None:
    """Publishes a mark to the consumers of the asset's dataset, which lost the ``withdrawn`` partitions by it."""
    datasets.withdraw_coverage(work, entry.asset, entry.uri, withdrawn)
    datasets.publish_event(work, numbered)
    spec = work.assets[entry.asset].spec
    if spec.outlets and entry.kind == "done":
        datasets.add_coverage(work, entry.uri, entry.partitions)
    for uri in spec.named:
        cause_consumption.forget_used_events(work, uri)


def _answer_questions(asset: AssetState, entry: MarkEntry) -> AssetState:
    """Settles the claims whose question the mark answers for all partitions; a partial answer narrows the question.

    A claim asks whether runs before it in its run slot are in the target (`RecoveryQuestion`), so the full answer
    settles all claims of the slot.
    """
    chain = asset.chain
    for claim in asset.asking_claims:
        known = asset.spec.partitioning.known_partitions
        open_question = (
            claim.question.without_answered(entry.partitions, known=known) if claim.question is not None else None
        )
        other_slots = [each for each in chain if each.run_slot != claim.run_slot]
        own_slot = [
            replace(each, question=open_question) if each is claim else each
            for each in chain
            if each.run_slot == claim.run_slot
        ]
        chain = (
            tuple(other_slots)
            if open_question is None
            else tuple(sorted([*other_slots, *own_slot], key=lambda each: each.token))
        )
    return asset if chain is asset.chain else replace(asset, chain=chain)


def _mark_partitions(work: FoldWorkspace, asset: AssetState, entry: MarkEntry, seq: int) -> AssetState:
    """The asset after a mark of partitions: done covers them, missing uncovers them, skip drops their lookback.

    Acceptance changes nothing here, because the next run publishes the accepted rows.
    """
    partitions = entry.partitions
    asset = replace(asset, failed=forget_failed(asset.failed, partitions))
    if entry.kind == "accept":
        return asset
    asset = replace(asset, withheld=withheld_records.withheld_without(asset.withheld, partitions))
    match entry.kind:
        case "done":
            return _mark_done(work, asset, partitions, seq)
        case "missing":
            kept = {name: stamps.without_stamped(partitions, through=seq) for name, stamps in asset.kept.items()}
            coverage = asset.coverage - partitions
            return replace(asset, coverage=coverage, kept={name: stamps for name, stamps in kept.items() if stamps})
        case "skip":
            return replace(asset, owed_lookback=asset.owed_lookback - partitions)


def _mark_done(work: FoldWorkspace, asset: AssetState, partitions: PartitionSet, seq: int) -> AssetState:
    """The asset with these partitions covered as they are: current, of the present code, and with no cause left.

    The rows of a former partitioning are taken as valid, so that no rebuild has to follow.
    """
    asset = accept_table_content(cause_consumption.use_up_causes(work, asset, partitions, None, token=seq), partitions)
    asset = outputs.accept_definition(asset, partitions)
    stale = {name: stamps.without_stamped(partitions, through=seq) for name, stamps in asset.stale.items()}
    return replace(
        clear_kept_and_owed(asset, partitions, None, through=seq),
        coverage=asset.coverage | partitions,
        former=None,
        stale={name: stamps for name, stamps in stale.items() if stamps},
    )


def _mark_instance(
    work: FoldWorkspace, asset: AssetState, entry: MarkEntry, interval: tuple[int, int], numbered: NumberedEntry
) -> AssetState:
    """Marks one instance of an asset without partitions: its events and ticks are used up, its failures forgotten.

    While earlier ticks are due, the mark itself keeps the instance from running; the cursor cannot pass it yet.
    """
    after = cause_consumption.use_up_without_run(work, asset, entry.consumption, entry.events)
    mark = InstanceMark(
        entry.kind, interval, not entry.events, entry.reason, entry.by, numbered.seq, to_unix(numbered.at)
    )
    cursor = later_interval(asset.cursor, entry.cursor)
    # aligned consumers read the table as it is now for the instance that a person calls done
    if entry.kind == "done" and asset.table_id is not None:
        instance = AlignedInstance(*interval, numbered.seq, asset.table_id, asset.version)
        after = record_aligned_instance(work, after, entry.uri, instance)
    return replace(
        after,
        cursor=cursor,
        failed=() if entry.cursor is not None else failures_without_events(asset.failed, entry.events),
        withheld=asset.withheld
        if entry.kind == "missing"
        else withheld_records.withheld_without_interval(asset.withheld, interval),
        instance_marks=add_instance_mark(asset.instance_marks, mark, cursor),
    )


def _mark_whole_asset(work: FoldWorkspace, asset: AssetState, entry: MarkEntry) -> AssetState:
    """The asset without partitions after a mark: its due events and ticks are used up, unless it is to run again.

    ``done`` and ``skip`` also move its cursor and watermarks to what the mark names.
    """
    asset = replace(asset, failed=())
    if entry.kind == "accept":
        return asset
    asset = replace(asset, withheld=())
    if entry.kind == "missing":
        return asset
    after = cause_consumption.use_up_without_run(work, asset, entry.consumption, entry.events)
    watermarks = {**after.watermarks, **entry.watermarks}
    after = replace(after, cursor=later_interval(after.cursor, entry.cursor), watermarks=watermarks)
    return (
        outputs.accept_definition(accept_table_content(after, entry.partitions), entry.partitions)
        if entry.kind == "done"
        else after
    )


def fold_skip(work: FoldWorkspace, entry: SkippedEntry, numbered: NumberedEntry) -> None:
    """Folds a skipped run: its present partitions count as current, its other ones are not due until a new cause.

    No watermark moves, so that later runs read the rows that this one did not.
    """
    work.flush_staleness(entry.asset)
    asset = work.assets[entry.asset]
    chain = asset.chain_without_slot(entry.token)
    if entry.token < asset.placed_since:  # claimed for the asset's former place or partitions, so it only settles
        work.assets[entry.asset] = replace(asset, chain=chain)
        return
    claim = asset.claim_entry(entry.token)
    after = _use_up_skipped(work, asset, entry, claim)
    work.assets[entry.asset] = replace(
        cause_consumption.drop_unknown_requests(
            replace(after, redo_requests=cause_consumption.answer_requests(asset.redo_requests, entry))
        ),
        newest_token=max(asset.newest_token, entry.token),
        chain=chain,
        withheld=unpublished_partitions.withheld_after_skip(work, asset, entry, claim, numbered),
        marks=marks.marks_after_success(asset.marks, entry.partitions, through=entry.token),
        additions=asset.additions.without_partitions(entry.partitions),
        last_skip=LastSkip(entry.run, numbered.seq, to_unix(numbered.at), entry.reason, entry.invocation),
    )
    if entry.partitions.is_everything and claim is not None and claim.request.interval is not None:
        skip_instance(work, entry.asset, claim.request.interval, numbered.seq)
    for uri in asset.spec.named:
        cause_consumption.forget_used_events(work, uri)
    if entry.partitions.is_everything and after.failed:
        forget_failures(work, entry.asset)


def _use_up_skipped(
    work: FoldWorkspace, asset: AssetState, entry: SkippedEntry, claim: ClaimEntry | None
) -> AssetState:
    """The asset after a skipped run used up the events and ticks for which it was claimed."""
    is_whole, partitioned = entry.partitions.is_everything, asset.spec.partitioning.is_partitioned
    # the asset gained partitions, or lost them, since the claim: its consumption no longer applies
    applicable = claim if is_whole != partitioned else None
    scheduled = applicable if applicable is not None and applicable.kind == "scheduled" else None
    after = cause_consumption.use_up_causes(work, asset, entry.partitions, applicable, token=entry.token)
    if not is_whole:
        after = replace(
            after,
            stale=stale_after_run(after, entry.partitions, scheduled, through=entry.token),
            owed_lookback=after.owed_lookback - entry.partitions,
            gaps=after.gaps - entry.partitions,
            failed=clear_failures(asset.failed, entry.partitions, invocation=entry.invocation),
        )
    elif scheduled is None:
        after = replace(after, failed=())
    if scheduled is not None:
        after = replace(after, cursor=later_interval(after.cursor, scheduled.request.cursor))
    return table_losses.accept_table_content(outputs.accept_definition(after, entry.partitions), entry.partitions)
