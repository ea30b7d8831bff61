"""The values that the steps of a decision pass on: due runs, removed partitions and the reasons.

Each step is a function of the input and of the progress so far; it returns the progress without what cannot run now.
An asset without partitions is handled like one with a single partition, which is everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from sparkassets.core.journal.state import AssetState, EventRef
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.due.condition_causes import ConditionUsage
from sparkassets.core.planner.due.due_ticks import DueTick
from sparkassets.core.planner.due.pending_partitions import PendingPartitions
from sparkassets.core.planner.plan import PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext, UpstreamBlocker
from sparkassets.core.runs import InletPin, RunKind
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import frozen, replace


@frozen
class DecisionInput:
    """The asset, its state and its pending partitions: read by all steps, changed by none.

    Attributes:
        pending: Its missing, stale and failed partitions; None for an asset without partitions, which runs by events.
    """

    context: PlanningContext
    asset: AssetSpec
    state: AssetState
    pending: PendingPartitions | None


@frozen
class DueRun:
    """A run that is due; each step of the decision narrows it or removes it, and what is left is planned.

    Attributes:
        partitions: The partitions that it would compute.
        schedule_date: The earliest time at which it might start, Unix seconds.
        uses: The events and ticks that it uses up.
        asked_partitions: Partitions that the schedule asks for or that a vanished driver left unfinished; the others
            are computed only as lookback.
        triggered_partitions: Partitions that a tick or an event makes due by itself.
        rounds: Each tick with the partitions that answer it; only for segments without time under ``every_instance``.
        reason: The schedule's reason.
        due_since: When the run was due, from which tolerances count, Unix seconds; None where each partition is due at
            its own end.
        tick: The tick of the timetable that it stands for; None without one.
        newest: The newest tick behind it that is a new cause after a failure, Unix seconds; None without one.
        interval: Data interval, Unix seconds; None where it follows from partitions or events.
        cursor: The newest interval of the timetable that it stands for: the asset's cursor once it succeeds.
        events: The events that a run of an asset without partitions answers.
        is_recovery: Whether it is due only because an older run never ended.
        pins: What it reads of aligned inlets and of inlets that are read by their changes.
        notes: Remarks about its inlets, for people.
        kind: Whether the schedule or a person asked for it.
        newest_first: Whether the newest partitions run first where more than one run is needed.
        accepted: For an asset without partitions: everything if a person accepted the failing validations, else
            nothing.
        rereads_all: Whether it also reads rows below the watermark.
        rebuilds: Whether its rows replace the whole table.
        retried_record: The run id of the withheld instance that it repeats; empty where it repeats none.
    """

    partitions: PartitionSet
    schedule_date: int
    uses: ConditionUsage
    asked_partitions: PartitionSet = NOTHING
    triggered_partitions: PartitionSet = NOTHING
    rounds: tuple[tuple[DueTick, PartitionSet], ...] = ()
    reason: str = ""
    due_since: int | None = None
    tick: DueTick | None = None
    newest: int | None = None
    interval: tuple[int, int] | None = None
    cursor: tuple[int, int] | None = None
    events: tuple[EventRef, ...] = ()
    is_recovery: bool = False
    pins: Mapping[str, InletPin] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    kind: RunKind = "scheduled"
    newest_first: bool = False
    accepted: PartitionSet = NOTHING
    rereads_all: bool = False
    rebuilds: bool = False
    retried_record: str = ""


@frozen
class DecisionProgress:
    """How far a decision has come: the due runs that are left, and the reasons for what was removed.

    Attributes:
        due_runs: Due runs in order; at least one for a partitioned asset, even without partitions to compute.
        due: All partitions that the schedule asked for.
        unready: Partitions that lookback must not compute either because their input is coming or failed.
        waiting: Why the rest does not run.
        awaited: The reasons among ``waiting`` of what comes after a run of an inlet in this invocation.
        expected, blockers: As in `AssetDecision`.
        runs: The runs made of the due_runs.
        later: Partitions whose own interval is not over and whose inputs are still coming or blocked.
    """

    due_runs: tuple[DueRun, ...] = ()
    due: PartitionSet = NOTHING
    unready: PartitionSet = NOTHING
    waiting: tuple[Waiting, ...] = ()
    awaited: tuple[Waiting, ...] = ()
    expected: PartitionSet = NOTHING
    blockers: tuple[UpstreamBlocker, ...] = ()
    runs: tuple[PlannedRun, ...] = ()
    later: PartitionSet = NOTHING

    @property
    def partitions(self) -> PartitionSet:
        """All partitions that the due runs would compute."""
        return PartitionSet.union([each.partitions for each in self.due_runs])

    def without_partitions(self, partitions: PartitionSet, *waiting: Waiting) -> DecisionProgress:
        """The progress without these partitions, with the reasons why they are not computed now."""
        due_runs = self.due_runs
        if partitions:
            due_runs = tuple(replace(due_run, partitions=due_run.partitions - partitions) for due_run in due_runs)
        return replace(self, due_runs=due_runs, waiting=(*self.waiting, *waiting))

    def with_waiting(self, waiting: tuple[Waiting, ...]) -> DecisionProgress:
        """The progress with its waiting reasons replaced by these."""
        return replace(self, waiting=waiting)

    def with_notes(self, notes: tuple[str, ...]) -> DecisionProgress:
        """The progress with these notes added to every due run."""
        if not notes:
            return self
        due_runs = tuple(replace(due_run, notes=(*due_run.notes, *notes)) for due_run in self.due_runs)
        return replace(self, due_runs=due_runs)


DecisionStep = Callable[[DecisionInput, DecisionProgress], DecisionProgress]
