"""Finds which partitions are wanted, missing, stale, failed or skipped, and which of them run first.

A schedule says when an asset is written. An asset by time knows which partition is missing once a slot is over; an
asset with the segments of its inlets knows which of them changed. For any other asset only the tick or the event of its
schedule (the trigger) shows that it is out of date, so it makes all partitions due.

Partitions that failed because of their data run apart from the rest. One run takes all partitions that did not fail.
Failures of an earlier invocation then run as they failed, and failures of this invocation in the parts of their
division (`RunDivision`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkassets.core.instants import from_unix, to_unix
from sparkassets.core.journal.asset_records import FailedPartitions
from sparkassets.core.journal.marks import PartitionMark
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING, Partitioning, PartitionSet
from sparkassets.core.planner.due.due_ticks import MOST_RUNS, DueTick, catchup_of, instance_tick, slots_after, tick_at
from sparkassets.core.planner.due.outdated_code import outdated_partitions
from sparkassets.core.planner.due.wanted_partitions import find_wanted
from sparkassets.core.planner.due.withheld_partitions import NOTHING_WITHHELD, WithheldStatus, find_withheld
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.requirements import waived_inputs
from sparkassets.core.planner.wording import listing, plural
from sparkassets.core.runs import TIMETABLE
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance, FullRefresh, SegmentBatches
from sparkassets.core.timetables import ContinuousTimetable, OnceTimetable, Timetable
from sparkassets.frozen import frozen

TickRound = tuple[DueTick, PartitionSet]
"""A tick with the partitions for which it is the oldest unanswered tick."""


def is_due_by_trigger(context: PlanningContext, asset: AssetSpec) -> bool:
    """Whether each tick, and each event that no inlet maps to partitions, makes all partitions of the asset due.

    Under ``full_refresh`` always. For segments without time: under ``every_instance``, where each segment at each tick
    is an instance, and under ``segments`` if no inlet shows which of them changed.
    """
    match asset.strategy:
        case FullRefresh():
            return asset.partitioning.is_partitioned
        case EveryInstance():
            return is_instance_of_tick(asset)
        case SegmentBatches():
            return not any(
                inlet.on_update == "rerun" and context.dependency(asset, inlet).tells_segments
                for inlet in asset.inlets.values()
            )
    return False


def is_instance_of_tick(asset: AssetSpec) -> bool:
    """Whether an instance is a segment at a tick or an update, as the partitions of the asset have no time.

    With a dimension of time each partition is an instance.
    """
    timeless = asset.partitioning.is_partitioned and asset.partitioning.time is None
    return timeless and isinstance(asset.strategy, EveryInstance)


def unanswered_partitions(asset: AssetSpec, state: AssetState, tick: DueTick, partitions: PartitionSet) -> PartitionSet:
    """The given partitions that no run has computed for a tick of the timetable yet; all where no run has used it."""
    used_tick = state.ticks.get(TIMETABLE)
    return (
        partitions
        if used_tick is None or used_tick < tick.run_after
        else partly_answered_partitions(asset, state, partitions)
    )


def partly_answered_partitions(asset: AssetSpec, state: AssetState, partitions: PartitionSet) -> PartitionSet:
    """The given partitions that no run has computed for the last used tick, which runs used for others only."""
    unanswered = state.unanswered_partitions(TIMETABLE)
    return asset.partitioning.cover(partitions & unanswered) & partitions if unanswered else NOTHING


def unanswered_rounds(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, state: AssetState, partitions: PartitionSet
) -> list[TickRound]:
    """Ticks that some of ``partitions`` have still to answer, oldest first; without ``catchup: all`` only the last.

    A partition has answered a tick once a run for that tick computed it. It answers its ticks in order, so it is listed
    only with the oldest one that it has not answered.
    """
    newest = instance_tick(context, timetable)
    if newest is None:
        return []
    if catchup_of(asset, timetable) != "all" or isinstance(timetable, ContinuousTimetable | OnceTimetable):
        unanswered = _unanswered_at_newest(asset, timetable, state, newest, partitions)
        return [(newest, unanswered)] if unanswered else []
    rounds: list[TickRound] = []
    # first the ticks that runs used for some partitions only, then the first tick that no run has used
    for at, parts in state.partly_used.get(TIMETABLE, ())[:MOST_RUNS]:
        if answering := asset.partitioning.cover(partitions & parts) & partitions:
            rounds.append((tick_at(timetable, at, state), answering))
            partitions = partitions - answering
    first_unused = _first_unused_tick(timetable, state, newest)
    return [*rounds, (first_unused, partitions)] if first_unused is not None and partitions else rounds


def _unanswered_at_newest(
    asset: AssetSpec, timetable: Timetable, state: AssetState, newest: DueTick, partitions: PartitionSet
) -> PartitionSet:
    """The given partitions that have still to answer the newest tick; a timetable that ticks once is answered once."""
    if isinstance(timetable, OnceTimetable) and TIMETABLE in state.ticks:
        return partly_answered_partitions(asset, state, partitions)
    return unanswered_partitions(asset, state, newest, partitions)


def _first_unused_tick(timetable: Timetable, state: AssetState, newest: DueTick) -> DueTick | None:
    """The oldest tick that no run has answered; None where runs have answered all up to ``newest``."""
    used_tick = state.ticks.get(TIMETABLE)
    if used_tick is None:
        # a second before, as `slots_after` leaves out the instant itself
        used_tick = timetable.start - 1 if timetable.start is not None else newest.run_after - 1
    slot = next(slots_after(timetable, used_tick), None)
    tick = tick_at(timetable, to_unix(slot.run_after), state) if slot is not None else None
    return tick if tick is not None and tick.run_after <= newest.run_after else None


@frozen
class SuspectPartitions:
    """Partitions that failed together and may fail again: suspects of the search for the one that is bad.

    Attributes:
        failure: The recorded failure.
        partitions: Its partitions that have no new cause since.
        is_retried_whole: Whether the schedule or another invocation asks for all of them once more.
    """

    failure: FailedPartitions
    partitions: PartitionSet
    is_retried_whole: bool

    def is_tried(self, partitioning: Partitioning) -> bool:
        """Whether a run of their own is due: they failed because of their data and have tries left."""
        if self.failure.division is None or not self.partitions:
            return False
        return self.is_retried_whole or self.failure.division.next_count(partitioning.count(self.partitions)) > 0

    def next_partitions(self, partitioning: Partitioning, ready: PartitionSet) -> PartitionSet:
        """The ``ready`` partitions that its next run computes."""
        ready_suspects = self.partitions & ready
        if self.is_retried_whole or self.failure.division is None or not ready_suspects:
            return ready_suspects
        return partitioning.oldest(
            ready_suspects, self.failure.division.next_count(partitioning.count(self.partitions))
        )


@frozen
class NextPartitions:
    """The partitions of the next run.

    Attributes:
        note: Remark for the run's reason.
    """

    partitions: PartitionSet
    note: str = ""


def choose_next_partitions(
    partitioning: Partitioning, ready: PartitionSet, suspects: Sequence[SuspectPartitions]
) -> NextPartitions:
    """The ``ready`` partitions of the next run: all that are not suspects, or else partitions of a single suspect.

    Suspects failed because of their data: together with others they would make these fail too.
    """
    not_suspect = ready - PartitionSet.union(each.partitions for each in suspects)
    if not_suspect or not suspects:
        return NextPartitions(not_suspect)
    for each in sorted(suspects, key=_may_be_good_last):
        if partitions := each.next_partitions(partitioning, ready):
            return NextPartitions(partitions, _describe_search(partitioning, each, partitions))
    return NextPartitions(not_suspect)


def _may_be_good_last(suspect: SuspectPartitions) -> bool:
    """Sort key: suspects whose parts may well be good come before those that are known to hold a bad partition."""
    return suspect.failure.division is None or suspect.failure.division.known != "unknown"


def _describe_search(partitioning: Partitioning, suspect: SuspectPartitions, partitions: PartitionSet) -> str:
    """Remark for a run that computes only some of a suspect's partitions; empty where it computes all of them."""
    if suspect.is_retried_whole or partitions == suspect.partitions:
        return ""
    return f"searching for the failing one of {plural(partitioning.count(suspect.partitions), 'partition')}"


@frozen
class PendingPartitions:
    """The partitions of an asset by what they need.

    Attributes:
        wanted: Partitions that should exist and whose interval is over.
        later: Wanted, but not over yet.
        missing: Wanted and never published, or lost.
        holes: Missing, and none of their inputs ever existed.
        beyond_newest: Not wanted before newer inputs exist than there are now.
        stale: By inlet, the partitions whose inputs in it changed since.
        all_stale: Stale for any reason: an inlet, the code, or a withheld recomputation that is tried again.
        failed: Failed in this invocation, without a new cause since, and not retried in parts.
        error: Error of the first of the failed partitions.
        suspects: Failed because of their data, without a new cause since, and retried apart from the rest.
        outdated: Computed by older code, which `on_code_change` makes stale.
        skipped: Not wanted because a person skipped them, or all of their inputs.
        withheld: Withheld partitions; those that rest are neither missing nor stale.
        by_trigger: Published or withheld partitions for which no inlet shows that they are out of date: each tick or
            event makes them due.
    """

    wanted: PartitionSet
    later: PartitionSet
    missing: PartitionSet
    holes: PartitionSet
    beyond_newest: PartitionSet
    stale: Mapping[str, PartitionSet]
    all_stale: PartitionSet
    failed: PartitionSet
    error: str
    suspects: tuple[SuspectPartitions, ...] = ()
    outdated: PartitionSet = NOTHING
    skipped: PartitionSet = NOTHING
    withheld: WithheldStatus = NOTHING_WITHHELD
    by_trigger: PartitionSet = NOTHING

    @property
    def changed_partitions(self) -> PartitionSet:
        """Stale because an inlet or the code changed, and not only because of a withheld recomputation."""
        return PartitionSet.union([*self.stale.values(), self.outdated])

    @property
    def due_partitions(self) -> PartitionSet:
        """The missing and the stale partitions."""
        return self.missing | self.all_stale


def find_pending(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PendingPartitions:
    """Returns the asset's wanted partitions, and which of them are missing, stale, failed or withheld.

    Withheld partitions without a new cause (resting) are neither missing nor stale: a run would withhold them again.
    """
    partitioning = asset.partitioning
    bounds, finished = context.allowed_partitions(asset), context.finished_partitions(partitioning)
    all_wanted = find_wanted(context, asset, state, bounds)
    partitions, later = all_wanted.partitions & finished, all_wanted.partitions - finished
    present, withheld = partitioning.inside(state.coverage), find_withheld(context, asset, state)
    missing, possibly_stale = partitions - present, present & bounds
    if state.withheld:
        missing, possibly_stale = missing - withheld.resting, possibly_stale - withheld.resting
    stale = _stale_by_inlet(asset, state, possibly_stale)
    # changed code may map partitions to inputs that never existed: nothing can compute these again
    outdated = outdated_partitions(asset, state) & possibly_stale & all_wanted.partitions
    suspects = _find_suspects(context, asset, state)
    tried_suspects = tuple(each for each in suspects if each.is_tried(partitioning))
    untried = [each for each in suspects if not each.is_retried_whole and not each.is_tried(partitioning)]
    return PendingPartitions(
        wanted=partitions,
        later=later,
        missing=missing,
        holes=all_wanted.holes & missing,
        beyond_newest=all_wanted.beyond_newest,
        stale=stale,
        all_stale=PartitionSet.union(
            [*stale.values(), outdated, withheld.retried_partitions & possibly_stale if state.withheld else NOTHING]
        ),
        withheld=withheld,
        failed=PartitionSet.union([each.partitions for each in untried]),
        error=next((each.failure.error for each in untried), ""),
        suspects=tried_suspects,
        outdated=outdated,
        skipped=_skipped_partitions(context, asset, state),
        by_trigger=_due_by_trigger(context, asset, (present & bounds) | withheld.resting),
    )


def _due_by_trigger(context: PlanningContext, asset: AssetSpec, present: PartitionSet) -> PartitionSet:
    """Finished partitions of ``present`` (present or withheld), if a tick or an event alone makes the asset due."""
    return (
        present & context.finished_partitions(asset.partitioning)
        if present and is_due_by_trigger(context, asset)
        else NOTHING
    )


def _skipped_partitions(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PartitionSet:
    """Partitions that are skipped themselves or whose inputs are all skipped."""
    skipped = state.skipped_partitions
    partitioning = asset.partitioning
    cut_off = cut_off_partitions(context, asset, state)
    return (partitioning.inside(skipped) & partitioning.known_partitions) | cut_off if skipped else cut_off


def cut_off_partitions(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PartitionSet:
    """Absent partitions of the asset that cannot come because all of their inputs are skipped."""
    inherited = context.inherited_skips(asset) if context.waived_partitions else NOTHING
    return (inherited & context.allowed_partitions(asset)) - state.coverage if inherited else inherited


def resolve_partitions(
    context: PlanningContext, asset: AssetSpec, state: AssetState, partitions: PartitionSet
) -> PartitionSet:
    """Resolves partitions that a person names by keys; ``*`` for the time means those that are wanted or present.

    Returns ``partitions`` unchanged where they are everything, and for sources, which want no partitions.
    """
    return (
        partitions
        if partitions.is_everything or asset.source is not None
        else limit_open_partitions(context, asset, state, partitions)
    )


def limit_open_partitions(
    context: PlanningContext, asset: AssetSpec, state: AssetState, partitions: PartitionSet
) -> PartitionSet:
    """Limits partitions that are open in time to those that are wanted or present; returns others unchanged."""
    if asset.partitioning.can_list(partitions):
        return partitions
    pending = find_pending(context, asset, state)
    return partitions & (pending.wanted | pending.later | asset.partitioning.inside(state.coverage))


def _stale_by_inlet(asset: AssetSpec, state: AssetState, present: PartitionSet) -> dict[str, PartitionSet]:
    """By inlet, the present partitions (``present``) whose inputs changed since they were computed.

    An inlet with ``on_update: ignore`` makes nothing stale. Appended rows are never computed again, so they are not
    stale. The exception is an instance that is a segment at an update: it appends further rows each time.
    """
    if not state.stale or not is_computed_again(asset):
        return {}
    names = [inlet.name for inlet in asset.inlets.values() if inlet.on_update == "rerun" and inlet.name in state.stale]
    stale = {name: asset.partitioning.cover(state.stale[name].stamped_partitions() & present) for name in names}
    return {name: partitions for name, partitions in stale.items() if partitions}


def is_computed_again(asset: AssetSpec) -> bool:
    """Whether present partitions are computed again once they are stale; appended rows stay as they are."""
    return not asset.appends or is_instance_of_tick(asset)


def _find_suspects(context: PlanningContext, asset: AssetSpec, state: AssetState) -> tuple[SuspectPartitions, ...]:
    """Failures by partitions, each without the partitions that have a new cause since.

    A failure is left out where an update is a new cause for all its partitions (`_is_updated_since`). It is retried
    whole by another invocation, or once the timetable ticked; else in parts, if at all.
    """
    return tuple(
        SuspectPartitions(
            failed,
            _without_new_cause(asset, state, failed),
            failed.invocation != context.invocation or _has_ticked_since(asset, failed, context.now),
        )
        for failed in state.failed
        if not failed.partitions.is_everything and not _is_updated_since(context, asset, state, failed)
    )


def _without_new_cause(asset: AssetSpec, state: AssetState, failed: FailedPartitions) -> PartitionSet:
    """The failed partitions that still exist and that no update of an inlet has made stale since the failure."""
    updated_since = PartitionSet.union(
        stamps.stamped_after(failed.token).stamped_partitions() for stamps in state.stale.values()
    )
    return asset.partitioning.cover(failed.partitions - updated_since) & asset.partitioning.known_partitions


def _is_updated_since(context: PlanningContext, asset: AssetSpec, state: AssetState, failed: FailedPartitions) -> bool:
    """Whether a dataset had an update since the failure that is a new cause for all failed partitions.

    That is any update of a dataset that no mapped inlet reads, and an update of everything. Other updates of mapped
    inlets are new causes for their own partitions alone (`_without_new_cause`).
    """
    mapped = {inlet.uri for inlet in asset.inlets.values() if context.dependency(asset, inlet).is_mapped}
    for uri in state.spec.named:
        newest = context.state.dataset(uri).recent.newest
        if newest and newest.seq > failed.token and not (uri in mapped and not newest.parts.is_everything):
            return True
    return False


def _has_ticked_since(asset: AssetSpec, failed: FailedPartitions, now: int) -> bool:
    """Whether a timetable of the schedule ticked since the failed run was planned, which asks for it once more."""
    ticks = (each.last_at(from_unix(now)) for each in asset.schedule.timetables())
    return any(tick is not None and to_unix(tick.run_after) > failed.planned for tick in ticks)


def explain_skipped(context: PlanningContext, asset: AssetSpec, state: AssetState) -> list[Waiting]:
    """Quiet reasons for the partitions that a person skipped, and for those whose inputs are all skipped."""
    waiting = []
    for mark, skipped in partitions_by_mark(asset, state.skip_marks) if state.marks else ():
        reason = f"{mark.text}; `sparkassets mark {asset.name} --missing` undoes it"
        waiting.append(Waiting(asset.name, reason, None, skipped, quiet=True))
    if cut_off := cut_off_partitions(context, asset, state):
        waiting.append(Waiting(asset.name, explain_cut_off(context, asset, cut_off), None, cut_off, quiet=True))
    return waiting


def partitions_by_mark(asset: AssetSpec, marks: Sequence[PartitionMark]) -> list[tuple[PartitionMark, PartitionSet]]:
    """Each mark with its partitions that the asset has now; marks without any are left out."""
    inside, known = asset.partitioning.inside, asset.partitioning.known_partitions
    return [(mark, marked) for mark in marks if (marked := inside(mark.partitions) & known)]


def explain_cut_off(context: PlanningContext, asset: AssetSpec, partitions: PartitionSet) -> str:
    """Reason of partitions that are not wanted because their inputs are all skipped, naming the inlets."""
    names = [inlet.name for inlet in asset.inlets.values() if waived_inputs(context, asset, inlet, partitions)]
    return f"not wanted: its input is skipped in {listing(names)}"
