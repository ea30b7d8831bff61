"""The status of assets, of their partitions and of the drivers that hold their runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any, Literal

from sparkassets.core.conditions import Condition, times_true_alone
from sparkassets.core.instants import format_zoned, from_unix
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.withheld_records import describe_other_outcomes, describe_withholding
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.phrases import few
from sparkassets.core.planner.due.condition_causes import find_passed_tick, next_tick
from sparkassets.core.planner.due.due_partitions import find_triggered_partitions
from sparkassets.core.planner.due.due_ticks import find_due_ticks, next_tick_of
from sparkassets.core.planner.due.outdated_code import code_note
from sparkassets.core.planner.due.pending_partitions import PendingPartitions, find_pending
from sparkassets.core.planner.due.redo_requests import requested_partitions
from sparkassets.core.planner.due.withheld_partitions import find_withheld
from sparkassets.core.planner.explain.explanation_nodes import newest_error
from sparkassets.core.planner.explain.lateness import InletWatermark, find_lateness, list_watermarks
from sparkassets.core.planner.gates.inlet_gates import find_kept_partitions
from sparkassets.core.planner.gates.table_losses import describe_table
from sparkassets.core.planner.plan import AssetLateness, Waiting
from sparkassets.core.planner.planner import find_decision, find_upcoming_partitions
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.wording import label_prefix
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.validations import RuleVerdict
from sparkassets.frozen import frozen, replace


@frozen
class ClaimHolder:
    """A driver with an unsettled claim.

    Attributes:
        since: When it claimed the run, Unix seconds, by its own clock.
        silent_seconds: Seconds since it claimed the run or renewed its lease, never negative. It compares two hosts'
            clocks, so it is for people only; takeovers use one clock alone.
        lease_seconds: How long others wait for it, unless they see that its process is gone.
        gone: Whether its process on this host is gone, so that the next run settles the claim.
    """

    run: str
    driver: str
    since: int
    silent_seconds: int
    lease_seconds: int
    gone: bool


def find_claim_holders(context: PlanningContext, asset: AssetState) -> Iterator[ClaimHolder]:
    """Yields the driver that holds each open claim: the newest of each chain."""
    for chain in asset.chains.values():
        claim, entry = chain[-1], chain[-1].entry
        if claim.status == "open":
            silent_seconds = max(0, context.clock - max(claim.alive_at, claim.at))
            is_gone = claim.token in context.gone_claims
            yield ClaimHolder(entry.run, claim.driver, claim.at, silent_seconds, entry.lease_seconds, is_gone)


PartitionStatus = Literal[
    "current",
    "stale",
    "missing",
    "failed",
    "withheld",
    "running",
    "there",
    "open",
    "kept",
    "unlisted",
    "skipped",
    "requested",
]


SHOWN = 2
"""Number of labels of present partitions that people are shown for one asset."""


@frozen
class WithheldSummary:
    """Partitions that one run withheld.

    Attributes:
        run: The run; where records of long ago were joined, the newest of their runs.
        at: When it was recorded, Unix seconds.
        partitions: Everything for an asset without partitions.
        verdicts: Verdicts of the failed rules.
        interval: Data interval, where the run was that of an instance; Unix seconds.
    """

    run: str
    at: int
    partitions: PartitionSet
    verdicts: tuple[RuleVerdict, ...]
    interval: tuple[int, int] | None = None

    @property
    def text(self) -> str:
        """Sentence that names the failed rules."""
        return describe_withholding(self.verdicts, self.partitions)


_STATE_FIELDS = ("failed", "late", "missing", "paused", "running", "stale", "stuck", "withheld")


@frozen
class AssetStatus:
    """One asset at a glance.

    Attributes:
        kind: ``source`` or its strategy.
        covered: Keys ``A..B`` of present partitions; empty without partitions.
        covered_text: The first of them for people, with ``*`` for all segments, without unlisted segments.
        current, stale, missing, failed, withheld: Numbers of partitions; 0 without partitions.
        kept: Number of current partitions that keep rows whose input was removed.
        requested: Number of partitions that `backfill --force` requested and no run has computed yet.
        skipped: Number of partitions that a person or a run skipped.
        last_run, last_at: The newest success; for a source the newest event, without a run.
        error: Why the newest run failed, when none succeeded since; why a source cannot be observed.
        running: The run that holds the claim.
        holders: The drivers that hold its runs; also one that is gone, whose run is not settled.
        next_at: From when its timetable, or a time in its condition, lets it run next, Unix seconds: in the past where
            a run is due; None where time alone starts nothing, and while it is paused.
        paused: Its YAML or `pause` keeps it from running.
        withheld_runs: Withheld partitions with the failed rules, oldest first.
        stuck: Whether a person has to act before it runs again; the notes say how.
        watermarks: How far each incrementally read inlet was read.
        late: Expected data that is missing.
        notes: Losses and foreign changes of its table, or why it cannot be observed; unavailable changes of an inlet;
            warnings of validations; for a source, what the observation leaves out.
    """

    asset: str
    kind: str
    schedule: str
    covered: tuple[str, ...] = ()
    current: int = 0
    stale: int = 0
    missing: int = 0
    failed: int = 0
    withheld: int = 0
    kept: int = 0
    skipped: int = 0
    requested: int = 0
    last_run: str | None = None
    last_at: int | None = None
    rows: int | None = None
    error: str | None = None
    running: str | None = None
    next_at: int | None = None
    paused: bool = False
    notes: tuple[str, ...] = ()
    watermarks: tuple[InletWatermark, ...] = ()
    withheld_runs: tuple[WithheldSummary, ...] = ()
    late: AssetLateness | None = None
    stuck: bool = False
    holders: tuple[ClaimHolder, ...] = ()
    covered_text: str = field(default="", compare=False)

    def __repr__(self) -> str:
        names = ("current", "stale", "missing", "requested", "failed", "withheld", "skipped")
        numbers = {name: getattr(self, name) for name in names}
        counts = [f"{count} {name}" for name, count in numbers.items() if count]
        moments = {"last": self.last_at, "next": self.next_at}
        times = [f"{word} {format_zoned(from_unix(at), 'UTC')}" for word, at in moments.items() if at is not None]
        error, paused = f"failed: {self.error}" if self.error else "", "paused" if self.paused else ""
        facts = [few(self.covered), *counts, *times, error, paused, "late" if self.late else ""]
        return f"<status of {self.asset}: {', '.join(filter(None, facts)) or 'never ran'}>"

    @property
    def states(self) -> frozenset[str]:
        """The words of `core.spec.selection` for it."""
        found = {word for word in _STATE_FIELDS if getattr(self, word)}
        found |= {"failed"} if self.error else set()
        found |= {"withheld"} if self.withheld_runs else set()
        found |= {"never"} if self.last_at is None else set()
        is_current = self.last_at is not None and found.isdisjoint({"failed", "missing", "stale", "withheld"})
        return frozenset(found | {"current"} if is_current else found)


def asset_status(context: PlanningContext, asset: AssetSpec) -> AssetStatus:
    """The status of one asset."""
    if asset.source is not None:
        return _status_of_source(context, asset, asset.source.kind)
    return _status_of_outlet(context, asset) if asset.written_by else _status_of_runnable(context, asset)


def _status_of_runnable(context: PlanningContext, asset: AssetSpec) -> AssetStatus:
    """The status of an asset that has runs of its own."""
    state = context.state_of(asset)
    live_claims = context.live_claims(state)
    paused, unavailable_changes = asset.paused or state.paused, _explain_unavailable_changes(context, asset, state)
    schema_conflicts = _explain_schema_conflict(context, asset, state)
    pending = find_pending(context, asset, state) if asset.partitioning.is_partitioned else None
    return AssetStatus(
        asset=asset.name,
        kind=asset.strategy.name if asset.strategy else "",
        schedule=asset.schedule.text,
        **(_partition_counts(context, asset, state, pending) if pending is not None else {}),
        **_output_fields(asset, state),
        error=newest_error(context, asset, state),
        running=live_claims[-1].entry.run if live_claims else None,
        holders=tuple(find_claim_holders(context, state)),
        next_at=None if paused else _next_start(context, asset, state, pending),
        paused=paused,
        watermarks=list_watermarks(context, asset),
        stuck=bool(unavailable_changes or schema_conflicts) or state.stuck_loss is not None,
        withheld_runs=_withheld_summaries(context, asset, state),
        late=find_lateness(context, asset),
        notes=(
            *describe_table(context, asset, state),
            *_code_notes(context, asset, state),
            *_budget_notes(context, asset),
            *schema_conflicts,
            *_inlet_warnings(state),
            *_describe_silence(context, asset, state),
            *unavailable_changes,
        ),
    )


def _describe_silence(context: PlanningContext, asset: AssetSpec, state: AssetState) -> tuple[str, ...]:
    """A note that nobody is notified, until when and why."""
    silence = state.silence
    if silence is None or not silence.covers(context.now):
        return ()
    until = format_zoned(from_unix(silence.until), asset.timezone)
    return (f"silenced by {silence.by} until {until}: {silence.reason}",)


def _output_fields(asset: AssetSpec, state: AssetState) -> dict[str, Any]:
    """Fields for what is there, and for the newest success: its run, when it was recorded, its rows; None before it."""
    known, last = state.coverage - asset.partitioning.unknown_partitions(state.coverage), state.last
    return {
        "covered": tuple(asset.partitioning.labels(state.coverage)),
        "covered_text": _describe_partitions(asset, known),
        "last_run": last and last.run,
        "last_at": last and last.at,
        "rows": last and last.rows,
    }


def _withheld_summaries(context: PlanningContext, asset: AssetSpec, state: AssetState) -> tuple[WithheldSummary, ...]:
    """The withheld partitions with the failed rules, oldest first."""
    return tuple(
        WithheldSummary(record.run, record.at, parts, record.verdicts, record.interval if record.is_instance else None)
        for record, parts in find_withheld(context, asset, state).records
    )


def _inlet_warnings(state: AssetState) -> tuple[str, ...]:
    """Notes about validations of inlets that warned in the newest run."""
    if state.last is None:
        return ()
    outcomes = describe_other_outcomes([each for each in state.last.verdicts if each.inlet])
    return tuple(f"{state.last.run} {outcome}" for outcome in outcomes)


def _explain_unavailable_changes(context: PlanningContext, asset: AssetSpec, state: AssetState) -> tuple[str, ...]:
    """Notes that it waits for a person, as changes of an incrementally read inlet are not in its log any more."""
    if all(inlet.read is None for inlet in asset.inlets.values()):
        return ()
    from sparkassets.core.planner.gates.incremental_reads import increment_refusals

    reasons = {wait.reason for wait in find_decision(context, asset).waiting}  # others while it is paused, for example
    refusals = increment_refusals(context, asset, state)
    return tuple(f"waits for a person: {reason}" for reason in refusals if reason in reasons)


def _explain_schema_conflict(context: PlanningContext, asset: AssetSpec, state: AssetState) -> tuple[str, ...]:
    """Notes that the asset waits for a person because its table may not get the columns of its query; usually empty."""
    if not (stuck := {wait.reason for wait in find_decision(context, asset).waiting if wait.stuck}):
        return ()
    from sparkassets.core.planner.batch.schema_conflicts import explain_schema_conflict

    reasons = (explain_schema_conflict(context, asset, state, upcoming=upcoming) for upcoming in (False, True))
    return tuple(f"waits for a person: {reason}" for reason in dict.fromkeys(reasons) if reason in stuck)


def _budget_notes(context: PlanningContext, asset: AssetSpec) -> tuple[str, ...]:
    """Notes about runs that the asset's budget holds back."""
    if asset.budget is None:
        return ()
    from sparkassets.core.planner.batch.budgets import is_budget_wait

    waits = filter(is_budget_wait, find_decision(context, asset).waiting)
    return tuple(label_prefix(wait.partitions, asset.partitioning) + wait.reason for wait in waits)


def _describe_partitions(asset: AssetSpec, parts: PartitionSet) -> str:
    """Labels of the first partitions, and how many more there are."""
    partitioning = asset.partitioning
    return few(partitioning.display_labels(parts, most=SHOWN), SHOWN, of=partitioning.display_label_count(parts))


def _code_notes(context: PlanningContext, asset: AssetSpec, state: AssetState) -> tuple[str, ...]:
    """Note that other code than the asset's own computed some partitions; empty where it did not."""
    note = code_note(context, asset, state)
    return (label_prefix(note.partitions, asset.partitioning) + note.text,) if note is not None else ()


def _status_of_outlet(context: PlanningContext, asset: AssetSpec) -> AssetStatus:
    """The status of an outlet: the runs are its multi-asset's, the present partitions its own."""
    writer, state = asset_status(context, context.asset(asset.written_by)), context.state_of(asset)
    return replace(
        writer,
        asset=asset.name,
        kind=f"outlet of {asset.written_by}",
        **_output_fields(asset, state),
        late=None,
        notes=describe_table(context, asset, state),
    )


def _status_of_source(context: PlanningContext, asset: AssetSpec, kind: str) -> AssetStatus:
    """The status of a source: its present partitions and newest event; it has no runs."""
    dataset, note = context.state.dataset(asset.uri), context.notes.get(asset.name)
    return AssetStatus(
        asset.name,
        f"source ({kind})",
        "observed",
        tuple(asset.partitioning.labels(dataset.coverage)),
        asset.partitioning.count(asset.partitioning.admissible_partitions(dataset.coverage)),
        covered_text=_describe_partitions(asset, dataset.coverage),
        last_at=dataset.at or None,
        error=context.faults.get(asset.name),
        late=find_lateness(context, asset),
        notes=(*([note] if note else ()), *_describe_silence(context, asset, context.state_of(asset))),
    )


def _partition_counts(
    context: PlanningContext, asset: AssetSpec, state: AssetState, pending: PendingPartitions
) -> dict[str, Any]:
    """Numbers of partitions by status, as fields of `AssetStatus`."""
    count = asset.partitioning.count
    present = asset.partitioning.inside(state.coverage)
    requested = requested_partitions(context, asset, state) - pending.due_partitions
    failed = _failed_partitions(pending, state, requested)
    stale = pending.all_stale | find_triggered_partitions(context, asset, state, pending)
    not_current = stale | pending.skipped | pending.withheld.resting | requested
    current = present - asset.partitioning.unknown_partitions(present) - not_current
    return {
        "current": count(current),
        "stale": count(stale - state.failed_partitions),
        "missing": count((pending.missing | find_upcoming_partitions(context, asset)) - state.failed_partitions),
        "failed": count(failed),
        "withheld": count(pending.withheld.withheld_partitions),
        "kept": count(_kept_partitions(context, asset, current)),
        "skipped": count((pending.skipped | pending.withheld.skipped_partitions) - requested),
        "requested": count(requested - failed),
    }


def partition_grid(context: PlanningContext, asset: AssetSpec) -> Iterator[tuple[str, PartitionStatus]]:
    """Every partition that is wanted or there, as (key, status), oldest first."""
    for parts, status in status_stretches(context, asset):
        for key in asset.partitioning.keys(parts):
            yield key, status


def status_stretches(context: PlanningContext, asset: AssetSpec) -> list[tuple[PartitionSet, PartitionStatus]]:
    """Stretches of neighbouring partitions that share a status, oldest first; takes time by ranges."""
    split = asset.partitioning.stretches
    stretches = [(each, status) for parts, status in partition_statuses(context, asset) for each in split(parts)]
    return sorted(stretches, key=lambda each: (each[0].first, [segment for segment, _ in each[0].apart]))


def partition_statuses(context: PlanningContext, asset: AssetSpec) -> Iterator[tuple[PartitionSet, PartitionStatus]]:
    """Yields (partitions, status), so that each wanted or present partition is in exactly one of them.

    An outlet's partitions have the status of its multi-asset's, as one run computes both.
    """
    asset = context.asset(asset.written_by) if asset.written_by else asset
    reported = NOTHING
    for status, parts in _status_layers(context, asset):
        unreported = asset.partitioning.inside(parts) - reported
        yield unreported, status
        reported = reported | unreported


def _status_layers(context: PlanningContext, asset: AssetSpec) -> Iterator[tuple[PartitionStatus, PartitionSet]]:
    """Yields (status, partitions), which may overlap: the first status of a partition counts."""
    if asset.source is not None:
        finished = context.finished_partitions(asset.partitioning)
        coverage = asset.partitioning.cover(context.state.dataset(asset.uri).coverage)
        yield "there", coverage & finished
        yield "open", coverage - finished
        return
    state = context.state_of(asset)
    pending, present = find_pending(context, asset, state), asset.partitioning.inside(state.coverage)
    claimed = [link.entry.partitions for link in context.live_claims(state) if link.token >= state.placed_since]
    yield "running", PartitionSet.union(partitions for partitions in claimed if not partitions.is_everything)
    requested = requested_partitions(context, asset, state) - pending.due_partitions
    yield "failed", _failed_partitions(pending, state, requested)
    yield "requested", requested
    yield "withheld", pending.withheld.withheld_partitions
    yield "skipped", pending.skipped | pending.withheld.skipped_partitions
    yield "missing", pending.missing | find_upcoming_partitions(context, asset)
    yield "stale", pending.all_stale | find_triggered_partitions(context, asset, state, pending)
    yield "unlisted", asset.partitioning.unknown_partitions(present)
    yield "kept", _kept_partitions(context, asset, present)
    yield "current", present
    yield "open", pending.later


def _failed_partitions(pending: PendingPartitions, state: AssetState, requested: PartitionSet) -> PartitionSet:
    """The failed partitions without those that failed only by lookback: these have rows, and keep their status."""
    return state.failed_partitions & (pending.due_partitions | pending.by_trigger | requested)


def _kept_partitions(context: PlanningContext, asset: AssetSpec, partitions: PartitionSet) -> PartitionSet:
    """The part of ``partitions`` that keeps rows although their input was removed."""
    return PartitionSet.union(kept for _, kept, _ in find_kept_partitions(context, asset, partitions))


def _next_start(
    context: PlanningContext, asset: AssetSpec, state: AssetState, pending: PendingPartitions | None
) -> int | None:
    """When time alone starts a run, Unix seconds: in the past where one is due; None where it starts none.

    Where no partition is due, it is the next tick. ``pending`` is None for an asset without partitions.
    """
    timetable, condition = asset.schedule.timetable, asset.schedule.condition
    if timetable is None:
        is_due = condition is not None and _is_due(context, asset, state, pending)
        return _next_tick(context, condition, state, due_now=is_due) if condition is not None else None
    if not _is_due(context, asset, state, pending) and (next_tick_at := next_tick_of(context, asset)) is not None:
        return next_tick_at
    due = find_due_ticks(context, asset, timetable, state)
    return due.until if isinstance(due, Waiting) else due[0].run_after


def _is_due(context: PlanningContext, asset: AssetSpec, state: AssetState, pending: PendingPartitions | None) -> bool:
    """Whether some partitions are out of date, or due by a tick that has passed; true without partitions."""
    return pending is None or bool(pending.due_partitions or find_triggered_partitions(context, asset, state, pending))


def _next_tick(context: PlanningContext, condition: Condition, state: AssetState, *, due_now: bool) -> int | None:
    """When time alone makes the condition true, Unix seconds; None where every tick needs an update too."""
    times = times_true_alone(condition)
    due = [tick[0] for leaf in times if due_now and (tick := find_passed_tick(context, leaf, state)) is not None]
    coming = next_tick(context, state, times)
    return min([*due, *([coming] if coming is not None else [])], default=None)
