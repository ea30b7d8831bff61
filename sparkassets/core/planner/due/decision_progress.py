"""What goes through the steps of a decision: the runs that may come of it, what was taken out, and why.

Each step is a function of the case and of what the one before left; it returns what it keeps and says why not the rest.
An asset without partitions goes the same way as one with a single partition, which is everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from sparkassets.core.journal.state import AssetState, EventRef
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.due.condition_causes import ConditionUsage
from sparkassets.core.planner.due.due_ticks import DueTick
from sparkassets.core.planner.due.pending_partitions import PendingPartitions
from sparkassets.core.planner.plan import PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext, UpstreamBarrier
from sparkassets.core.runs import InletPin, RunKind
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import frozen


@frozen
class DecisionInput:
    """One asset at one moment: what all steps read, and none changes.

    Attributes:
        pending: What is known of its blocks; None for an asset without partitions, which goes by events.
    """

    context: PlanningContext
    asset: AssetSpec
    state: AssetState
    pending: PendingPartitions | None


@frozen
class RunCandidate:
    """A run that may come.

    Attributes:
        blocks: What it would compute.
        asked: Those of them that the schedule asks for, or a driver that is gone left; others are owed by lookback.
        triggered: Those of them that a tick, or an event, makes due by itself.
        rounds: Of segments alone under ``every_instance``: each tick with the blocks that answer it.
        reason: What the schedule says for it.
        since: When the run was due, by which tolerances go, Unix seconds; None where each block is due at its own end.
        schedule_date: The earliest time that it might start, Unix seconds.
        tick: The tick of the timetable that it stands for.
        newest: The newest tick behind it that is a cause by itself, Unix seconds.
        interval: Data interval, Unix seconds; None where it follows from blocks or events.
        cursor: The timetable's newest interval that it stands for.
        events: What it answers, of an asset without partitions.
        uses: What it uses up.
        rescues: It is due only because an older run never ended.
        pins: What it reads of aligned inlets.
        notes: What people should know of its inlets.
        kind: Whether the schedule or a person asked for it.
        anew: Whether it reads what is below a watermark, too.
        rebuilds: Whether its rows take the place of all that is there.
        accepted: Of an asset without partitions: everything where it is published although its validations fail.
        again: The withheld run of an instance that it does again.
        newest_first: Whether of more than one run computes the newest blocks come first.
    """

    blocks: PartitionSet
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
    """How far a decision has come.

    Attributes:
        candidates: In order; of an asset with partitions at least one, be it without blocks.
        due: All that the schedule asked for.
        barred: What must not be computed by lookback either, as its input comes or failed.
        waiting: Why not the rest.
        coming, barriers: As in `AssetDecision`.
        runs: What came of the candidates.
        later: What is to come upstream is for these, which are not over.
    """

    candidates: tuple[RunCandidate, ...] = ()
    due: PartitionSet = NOTHING
    barred: PartitionSet = NOTHING
    waiting: tuple[Waiting, ...] = ()
    coming: PartitionSet = NOTHING
    barriers: tuple[UpstreamBarrier, ...] = ()
    runs: tuple[PlannedRun, ...] = ()
    later: PartitionSet = NOTHING

    @property
    def blocks(self) -> PartitionSet:
        """What the candidates would compute."""
        return PartitionSet.union([each.blocks for each in self.candidates])

    def without_partitions(self, blocks: PartitionSet, *waiting: Waiting) -> DecisionProgress:
        """The course without these blocks, and why they are not computed now."""
        kept = self.candidates
        if blocks:
            kept = tuple(replace(each, blocks=each.blocks - blocks) for each in kept)
        return replace(self, candidates=kept, waiting=(*self.waiting, *waiting))

    def with_waiting(self, waiting: tuple[Waiting, ...]) -> DecisionProgress:
        """The course with that instead of what was said."""
        return DecisionProgress(self.candidates, self.due, self.barred, waiting, self.coming, self.barriers, self.runs)

    def with_notes(self, notes: tuple[str, ...]) -> DecisionProgress:
        """The course with something to be known of every candidate."""
        kept = tuple(replace(each, notes=(*each.notes, *notes)) for each in self.candidates) if notes else None
        return self if kept is None else replace(self, candidates=kept)


DecisionStep = Callable[[DecisionInput, DecisionProgress], DecisionProgress]
