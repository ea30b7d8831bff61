"""Folds claims, renewals, successes and failures of runs, and the entries that only move a flag of their asset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sparkassets.core.instants import to_unix
from sparkassets.core.journal import marks
from sparkassets.core.journal.asset_records import (
    AddedPartitions,
    FailedPartitions,
    FormerPartitions,
    LastRun,
    promoted_after_run,
)
from sparkassets.core.journal.entries import (
    NOT_TRIED,
    ClaimEntry,
    FailureEntry,
    NumberedEntry,
    PauseEntry,
    PublishedEntry,
    RenewEntry,
    SuccessEntry,
    TickPassedEntry,
)
from sparkassets.core.journal.fold import (
    aligned_instances,
    cause_consumption,
    datasets,
    iterations,
    segments,
    unpublished_partitions,
)
from sparkassets.core.journal.fold.outputs import clear_kept_and_owed, record_definition
from sparkassets.core.journal.fold.unpublished_partitions import add_failure, clear_failures
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.recovery_questions import RecoveryQuestion, partitions_in_question
from sparkassets.core.journal.state import AssetState, ClaimState
from sparkassets.core.journal.table_losses import record_table_version, replaced_table_finding
from sparkassets.core.journal.withheld_records import REPORTED_OUTCOMES
from sparkassets.core.partitions import NOTHING, PartitionSet, StampedPartitions
from sparkassets.core.run_costs import RunCost
from sparkassets.core.runs import BranchPromotion, RunDivision
from sparkassets.core.validations import RuleVerdict
from sparkassets.frozen import replace

MOST_COSTS = 10
"""Successes whose costs an asset remembers."""


def fold_claim(work: FoldWorkspace, entry: ClaimEntry, numbered: NumberedEntry) -> None:
    """Appends the claim to the asset's unsettled claims; its fence token is the entry's own sequence number."""
    asset = work.assets[entry.asset]
    claim = ClaimState(numbered.seq, entry, numbered.driver, to_unix(numbered.at), numbered.seq)
    work.assets[entry.asset] = replace(asset, chain=(*asset.chain, claim))


def fold_renewal(work: FoldWorkspace, entry: RenewEntry, numbered: NumberedEntry) -> None:
    """Renews claims that a driver still holds; claims that were settled meanwhile are ignored.

    The driver may have enlisted further processes, which may commit for these claims from now on.
    """
    for name, token in entry.claims:
        asset = work.assets.get(name)
        if asset is not None:
            chain = tuple(
                _renew_claim(claim, entry, numbered) if claim.token == token else claim for claim in asset.chain
            )
            work.assets[name] = replace(asset, chain=chain)


def _renew_claim(claim_state: ClaimState, entry: RenewEntry, numbered: NumberedEntry) -> ClaimState:
    """The claim with its newest proof of life, and with the processes that the renewal enlists."""
    processes = tuple(dict.fromkeys([*claim_state.entry.processes, *entry.enlisted]))
    claim = replace(claim_state.entry, processes=processes)
    return replace(claim_state, renewed_seq=numbered.seq, alive_at=to_unix(numbered.at), entry=claim)


def fold_pause(work: FoldWorkspace, entry: PauseEntry, _: NumberedEntry) -> None:
    """Pauses or resumes the asset."""
    reason = entry.reason if entry.paused else ""
    work.assets[entry.asset] = replace(work.assets[entry.asset], paused=entry.paused, pause_reason=reason)


def fold_passed_tick(work: FoldWorkspace, entry: TickPassedEntry, _: NumberedEntry) -> None:
    """Moves the asset's schedule past a tick for which nothing ran."""
    asset = work.assets[entry.asset]
    work.assets[entry.asset] = replace(asset, cursor=later_interval(asset.cursor, entry.cursor))


def fold_failure(work: FoldWorkspace, entry: FailureEntry, _: NumberedEntry) -> None:
    """Records the failed partitions; the claim is settled if the failure is fenced, and else stays in the chain.

    A fenced run can commit no more. An unfenced one still might, so the next claim has to fence it.

    No failure is recorded where the run wrote to the asset's former place, or its failure says nothing about the
    partitions.
    """
    asset = work.assets[entry.asset]
    claim = asset.claim_entry(entry.token)
    chain = asset.chain_without_slot(entry.token) if entry.fenced else _chain_after_unfenced(asset, entry)
    if entry.token < asset.placed_since or _is_inconclusive(entry, claim):
        work.assets[entry.asset] = replace(asset, chain=chain)
        return
    failure = FailedPartitions(
        partitions=entry.partitions,
        token=entry.token,
        run=entry.run,
        error=entry.error,
        invocation=entry.invocation,
        planned=claim.planned if claim is not None else 0,
        events=claim.request.events if claim is not None else (),
        division=RunDivision(entry.token, entry.divisions) if entry.divisions is not None else None,
    )
    failures = add_failure(
        asset.failed, failure, settled=asset.settled_partitions_since(entry.token), bad=entry.bad_partitions
    )
    work.assets[entry.asset] = replace(asset, chain=chain, failed=failures)


def _chain_after_unfenced(asset: AssetState, entry: FailureEntry) -> tuple[ClaimState, ...]:
    """The chain after a failure whose commits may still land: the claim stays, as unfenced or with a question."""
    claim = asset.claim_state(entry.token)
    if claim is not None and entry.asked_runs:
        return _chain_with_question(asset, entry, claim)
    return tuple(replace(each, status="unfenced") if each is claim else each for each in asset.chain)


def _chain_with_question(asset: AssetState, entry: FailureEntry, claim: ClaimState) -> tuple[ClaimState, ...]:
    """The chain after a run that fenced older claims of its slot and asks a person whether these are in the target.

    Its question replaces earlier questions of the slot.
    """
    older = [each for each in asset.chains[claim.run_slot] if each is not claim and each.question is None]
    others = [each for each in asset.chain if each.run_slot != claim.run_slot]
    claimed = PartitionSet.union(each.entry.partitions for each in older)
    question = RecoveryQuestion(
        entry.asked_runs, partitions_in_question(asset.spec.partitioning, claimed), entry.watermarks
    )
    return (
        *sorted([*others, *older], key=lambda each: each.token),
        replace(claim, status="unfenced", question=question),
    )


def _is_inconclusive(entry: FailureEntry, claim: ClaimEntry | None) -> bool:
    """Whether a failure says nothing about computing its partitions.

    They were not tried, or the run was to take over rows: of an older iteration or of a branch.
    """
    takes_over = claim is not None and (claim.request.restores or claim.request.promotes is not None)
    return entry.cause in NOT_TRIED or bool(takes_over)


def fold_success(work: FoldWorkspace, entry: SuccessEntry, numbered: NumberedEntry) -> None:
    """Covers the run's partitions, publishes their event and uses up the events and ticks of its claim.

    The order of the steps matters: segments are learned before partitions are covered by them, a replaced table loses
    its coverage before the run adds its own, and events are forgotten only once the run has used them.
    """
    work.flush_staleness(entry.asset)
    asset = work.assets[entry.asset]
    if entry.token < asset.placed_since or entry.restores:
        _fold_rollback(work, asset, entry, numbered)
        return
    before = asset
    if entry.keys:
        asset = _learn_run_segments(work, asset, entry, numbered.seq)
    if (replaced := replaced_table_finding(asset, entry)) is not None:
        datasets.apply_table_finding(work, replaced, numbered.seq)
        asset = work.assets[entry.asset]
    claim = asset.claim_entry(entry.token)
    additions = _additions_after_success(before, asset, entry, claim)
    after = work.assets[entry.asset] = replace(_settle_success(work, asset, entry, numbered), additions=additions)
    datasets.publish_event(work, numbered, unread_by=claim.request.unread_by if claim is not None else ())
    _publish_coverage_only(work, entry, numbered)
    for withdrawn in _withdrawn_partitions(asset, entry):
        datasets.withdraw_coverage(work, entry.asset, entry.uri, withdrawn)
    segments.make_late_segments_stale(work, before, entry)
    for uri in asset.spec.named:
        cause_consumption.forget_used_events(work, uri)
    if entry.partitions.is_everything and after.failed:
        forget_failures(work, entry.asset)


def _fold_rollback(work: FoldWorkspace, asset: AssetState, entry: SuccessEntry, numbered: NumberedEntry) -> None:
    """Folds a success that computed nothing at the asset's present place.

    It wrote to the former place, which only settles its claim; or it made an older iteration the newest again.
    """
    if entry.token < asset.placed_since:
        work.assets[entry.asset] = replace(asset, chain=asset.chain_without_slot(entry.recorder))
        return
    work.assets[entry.asset] = iterations.roll_back_iteration(asset, entry, numbered.seq)
    datasets.publish_event(work, numbered)


def _publish_coverage_only(work: FoldWorkspace, entry: SuccessEntry, numbered: NumberedEntry) -> None:
    """Updates the dataset where the success is no event: for a multi-asset, and for unchanged partitions."""
    if entry.outlets:
        datasets.add_coverage(work, entry.uri, entry.published_partitions)
    if entry.unchanged:
        datasets.confirm_unchanged(work, entry.uri, at=to_unix(numbered.at))


def _withdrawn_partitions(asset: AssetState, entry: SuccessEntry) -> Iterator[PartitionSet]:
    """Yields partitions of the run that count as missing all the same: marked as missing or split since its claim.

    Split are partitions of a whole open dimension whose segments became known meanwhile.
    """
    yield asset.redo_partitions_since(entry.token) & entry.partitions
    yield entry.published_partitions - segments.countable_partitions(
        asset.spec.partitioning, entry.published_partitions
    )


def _learn_run_segments(work: FoldWorkspace, asset: AssetState, entry: SuccessEntry, seq: int) -> AssetState:
    """Adds the segments that the run made known; returns the asset with them.

    This comes before everything else, because the run's partitions are partitions of these segments.
    """
    claim = asset.claim_entry(entry.token)
    is_computed = claim is not None and bool(segments.whole_dimension_partitions(claim.partitions))
    segments.learn_segments(work, entry.asset, entry.keys, seq, computed=is_computed)
    return work.flush_staleness(entry.asset) or asset


def _additions_after_success(
    before: AssetState, after: AssetState, entry: SuccessEntry, claim: ClaimEntry | None
) -> AddedPartitions:
    """Partitions of discovered segments that no run has computed yet, after a success that may discover some."""
    if entry.partitions.is_everything:
        return after.additions
    partitioning_before, partitioning_after = before.spec.partitioning, after.spec.partitioning
    if claim is None or claim.kind != "scheduled" or partitioning_after is partitioning_before:
        return after.additions.without_partitions(entry.partitions)
    new_partitions = (
        partitioning_after.known_partitions - partitioning_before.known_partitions
    ) & partitioning_after.finished_partitions(claim.planned)
    # where no segment was known before, the run discovered all of them and computed them, too
    additions = after.additions
    new_partitions = NOTHING if partitioning_before.has_whole else new_partitions - entry.partitions
    if new_partitions:
        additions = additions.with_added(new_partitions, by=claim.partitions, invocation=claim.invocation)
    return additions.without_partitions(entry.partitions)


def _settle_success(work: FoldWorkspace, asset: AssetState, entry: SuccessEntry, numbered: NumberedEntry) -> AssetState:
    """The asset after its own part of a success: causes, coverage, schedule, table version, claims and records.

    ``asset`` is the state before it; events for consumers follow separately.
    """
    claim = asset.claim_entry(entry.token)
    # the asset gained partitions, or lost them, since the claim: its consumption no longer applies
    applicable = claim if entry.partitions.is_everything != asset.spec.partitioning.is_partitioned else None
    scheduled = applicable if applicable is not None and applicable.kind == "scheduled" else None
    after = cause_consumption.use_up_causes(work, asset, entry.partitions, applicable, token=entry.token)
    if not entry.partitions.is_everything:
        after = _cover_partitions(after, entry, claim, scheduled)
    elif scheduled is None:  # such a run answers no events, by which `forget_failures` could tell
        after = replace(after, failed=())
    if scheduled is not None:
        after = _advance_schedule(after, entry, scheduled)
    elif applicable is not None:
        after = _advance_reading(after, entry, applicable)
    after = aligned_instances.record_instance(work, after, entry, numbered.seq)
    recorder_claim = asset.claim_state(entry.recorder)
    after = record_definition(
        asset, record_table_version(after, entry, numbered.seq, claim=recorder_claim), entry, at=to_unix(numbered.at)
    )
    settled = replace(
        after,
        newest_token=max(asset.newest_token, entry.token),
        chain=asset.chain_without_slot(entry.recorder),
        last=last_run(asset, entry, claim, numbered),
        former=former_after_run(asset, entry, claim),
        last_skip=None if entry.published_partitions else asset.last_skip,
        withheld=unpublished_partitions.withheld_after_success(work, asset, entry, claim, numbered),
        costs=_add_cost(asset, entry),
        redo_requests=cause_consumption.answer_requests(asset.redo_requests, entry),
        marks=marks.marks_after_success(asset.marks, entry.partitions, through=entry.token),
        iterations=iterations.add_published_iteration(asset, entry, numbered),
        promotions=promoted_after_run(asset.promotions, entry.published_partitions, _promotion_of(claim)),
    )
    return cause_consumption.drop_unknown_requests(settled)


def _advance_reading(asset: AssetState, entry: SuccessEntry, claim: ClaimEntry) -> AssetState:
    """The asset with how far the run has read its inlets; a promoted run takes over how far the branch has."""
    promotion = _promotion_of(claim)
    if promotion is not None:
        return _with_watermarks(asset, promotion.watermarks, claim)
    return _advance_read_watermarks(asset, entry, claim) if asset.spec.appends else asset


def _promotion_of(claim: ClaimEntry | None) -> BranchPromotion | None:
    """The branch whose rows the run took over instead of computing; None where it computed, or its claim is unknown."""
    return claim.request.promotes if claim is not None else None


def _add_cost(asset: AssetState, entry: SuccessEntry) -> tuple[RunCost, ...]:
    """The costs of the newest successes, with this one.

    Left out is a run that another run recorded, as nobody knows how long it took, and a run of no partition.
    """
    partitions = asset.spec.partitioning.count(entry.partitions)
    if entry.recorder != entry.token or not partitions:
        return asset.costs
    rows = entry.extra.get("rows")
    cost = RunCost(partitions, round(entry.seconds, 3), rows if isinstance(rows, int) else None)
    return (*asset.costs, cost)[-MOST_COSTS:]


def _cover_partitions(
    asset: AssetState, entry: SuccessEntry, claim: ClaimEntry | None, scheduled: ClaimEntry | None
) -> AssetState:
    """Adds the run's partitions to the coverage; clears their failures, and the staleness that the run used up."""
    # withheld partitions are not covered and stay stale, but they did not fail
    partitions = entry.published_partitions
    cleared = stale_after_run(asset, partitions, scheduled, through=entry.token)
    after = clear_kept_and_owed(asset, partitions, claim.request if claim is not None else None, through=entry.token)
    return replace(
        after,
        coverage=asset.coverage
        | (
            segments.countable_partitions(asset.spec.partitioning, partitions)
            - asset.redo_partitions_since(entry.token)
        ),
        stale=cleared,
        failed=clear_failures(asset.failed, entry.partitions, invocation=claim.invocation if claim is not None else ""),
    )


def stale_after_run(
    asset: AssetState, partitions: PartitionSet, scheduled: ClaimEntry | None, *, through: int
) -> dict[str, StampedPartitions]:
    """The stale partitions by inlet after a run of ``partitions`` that was claimed at ``through``.

    A scheduled run (None for others) clears an inlet only for partitions that used its updates, or that a person
    accepted; any other run clears all its partitions. Causes that came after the claim stay.
    """
    uris = {inlet.name: inlet.uri for inlet in asset.spec.inlets}
    # by inlet, the partitions that have used its updates
    used = dict.fromkeys(asset.stale, partitions)
    if scheduled is not None:
        consumption, accepted = scheduled.request.consumption, scheduled.request.accepted & partitions
        used = {name: consumption.consumed_partitions(uris[name], partitions) | accepted for name in asset.stale}
    remaining = {name: stale.without_stamped(used[name], through=through) for name, stale in asset.stale.items()}
    return {name: stale for name, stale in remaining.items() if stale}


def _advance_schedule(asset: AssetState, entry: SuccessEntry, claim: ClaimEntry) -> AssetState:
    """Moves the asset's cursor to the interval of a scheduled run, and its watermarks to where that run has read."""
    cursor = later_interval(asset.cursor, claim.request.cursor)
    return _with_watermarks(replace(asset, cursor=cursor), entry.watermarks, claim)


def _with_watermarks(asset: AssetState, watermarks: Mapping[str, str], claim: ClaimEntry) -> AssetState:
    """Sets the watermarks up to which a run has read, and the columns whose values they are."""
    pins = claim.request.pins
    columns = {name: pins[name].column for name in watermarks if name in pins}
    return replace(asset, watermarks={**asset.watermarks, **watermarks}, columns={**asset.columns, **columns})


def _advance_read_watermarks(asset: AssetState, entry: SuccessEntry, claim: ClaimEntry) -> AssetState:
    """Moves watermarks after a backfill that read on from them, or a later run would append the same rows again.

    A backfill that started anywhere else moves none.
    """
    pins, known = claim.request.pins, asset.watermarks
    read = {name: mark for name, mark in entry.watermarks.items() if name in pins and pins[name].low == known.get(name)}
    return _with_watermarks(asset, read, claim) if read else asset


def later_interval(cursor: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int] | None:
    """The interval that ends later; None where both are None."""
    return max((each for each in (cursor, other) if each is not None), key=lambda each: each[::-1], default=None)


def last_run(
    asset: AssetState, entry: PublishedEntry, claim: ClaimEntry | None, numbered: NumberedEntry
) -> LastRun | None:
    """The asset's newest success that published rows: this one, or the earlier one where it published nothing.

    None where no run has published rows yet.
    """
    if not entry.published_partitions:
        return asset.last
    # a backfill of an earlier interval does not move the latest interval back
    row_count, count = entry.extra.get("rows"), asset.spec.partitioning.count
    intervals = [asset.last.interval if asset.last else None, entry.interval]
    return LastRun(
        run=entry.run,
        seq=numbered.seq,
        at=to_unix(numbered.at),
        rows=row_count if isinstance(row_count, int) else None,
        interval=max((each for each in intervals if each is not None), key=lambda each: each[1], default=None),
        invocation=claim.invocation if claim is not None else "",
        planned=claim.planned if claim is not None else 0,
        unchanged=(count(entry.unchanged), count(entry.partitions)) if entry.unchanged else None,
        verdicts=_verdicts_to_remember(entry.verdicts) if isinstance(entry, SuccessEntry) else (),
    )


def former_after_run(asset: AssetState, entry: PublishedEntry, claim: ClaimEntry | None) -> FormerPartitions | None:
    """The content that former partitions of the asset computed; None once a run has replaced all rows of the table."""
    replaces_all = entry.partitions.is_everything or (claim is not None and claim.request.rebuilds)
    return None if replaces_all else asset.former


def _verdicts_to_remember(verdicts: Sequence[RuleVerdict]) -> tuple[RuleVerdict, ...]:
    """The verdicts that the state keeps: of rules that found something and withheld nothing.

    Sample rows are left out, as the entry has them.
    """
    return tuple(replace(each, samples=()) for each in verdicts if each.outcome in REPORTED_OUTCOMES)


def forget_failures(work: FoldWorkspace, name: str) -> None:
    """Drops failures all of whose events have been used by other runs since."""
    asset = work.assets[name]
    unused = cause_consumption.unused_events(work, asset)
    failed = tuple(item for item in asset.failed if not unused.isdisjoint(item.events))
    work.assets[name] = replace(asset, failed=failed)
