"""The works that somebody asks a driver for: a backfill, a rebuild, a rollback or one attended run."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.journal.entries import BackfillEntry, Entry
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.batch.backfill import (
    backfillable_partitions,
    find_divided_partitions,
    plan_backfill,
    plan_backfill_unpartitioned,
    redoable_partitions,
)
from sparkassets.core.planner.batch.budgets import plan_within_budget
from sparkassets.core.planner.batch.iterations import plan_rollback
from sparkassets.core.planner.batch.requested_runs import plan_attended, plan_rebuild
from sparkassets.core.planner.batch.run_pools import plan_within_pool
from sparkassets.core.planner.batch.schema_conflicts import explain_schema_conflict, plan_within_schema
from sparkassets.core.planner.due.redo_requests import open_request
from sparkassets.core.planner.plan import AssetNote, Plan, PlannedRun, Waiting
from sparkassets.core.planner.planner import find_decision
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.run_slots import allows_parallel_runs
from sparkassets.core.planner.wording import plural
from sparkassets.core.results import RunResult
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import replace
from sparkassets.runtime.driver_work import DriverWork


class SingleRunWork(DriverWork):
    """Runs one asset once, whatever the outcome."""

    def __init__(self, asset: AssetSpec) -> None:
        self.select = (asset.name,)
        self._is_tried = False

    def plan(self, context: PlanningContext) -> Plan:
        """The run; empty once it was tried."""
        return Plan(context.now) if self._is_tried else self._plan_run(context, context.asset(self.select[0]))

    def record_result(self, run: PlannedRun, result: RunResult) -> None:
        """Ends the work after its run; a run that only recorded an older run's commit (``adopted``) does not count."""
        self._is_tried = self._is_tried or (result.adopted is None and self._is_own(run))

    def _plan_run(self, context: PlanningContext, asset: AssetSpec) -> Plan:
        raise NotImplementedError

    def _is_own(self, run: PlannedRun) -> bool:
        raise NotImplementedError


class RebuildWork(SingleRunWork):
    """Computes all of an asset in one run, whose columns replace those of the table."""

    def __init__(self, asset: AssetSpec, *, force: bool = False) -> None:
        super().__init__(asset)
        self._force = force

    def _plan_run(self, context: PlanningContext, asset: AssetSpec) -> Plan:
        if asset.partitioning.is_partitioned:
            return _plan_within_limits(context, asset, plan_rebuild(context, asset, force=self._force))
        plan = plan_backfill_unpartitioned(context, asset, None, force=self._force, rebuilds=True)
        return _plan_within_limits(context, asset, plan)

    def _is_own(self, run: PlannedRun) -> bool:
        return run.request.rebuilds


class AttendedWork(SingleRunWork):
    """One run of an asset whose rows other code than the project's computes, inside `project.run_of`."""

    def __init__(self, asset: AssetSpec, partitions: PartitionSet, interval: tuple[int, int] | None) -> None:
        super().__init__(asset)
        self._partitions = partitions
        self._interval = interval

    def record_result(self, run: PlannedRun, result: RunResult) -> None:
        """Ends the work, also after a run that only recorded an older one: the code is inside of this run."""
        del run, result
        self._is_tried = True

    def _plan_run(self, context: PlanningContext, asset: AssetSpec) -> Plan:
        return plan_attended(context, asset, self._partitions, self._interval)


class RollbackWork(SingleRunWork):
    """Makes an older iteration of an asset the newest again."""

    def __init__(self, asset: AssetSpec, run: str) -> None:
        super().__init__(asset)
        self._run = run

    def _plan_run(self, context: PlanningContext, asset: AssetSpec) -> Plan:
        return plan_rollback(context, asset, self._run)

    def _is_own(self, run: PlannedRun) -> bool:
        return bool(run.request.restores)


class BackfillWork(DriverWork):
    """Computes some partitions of one asset, in as many runs as its strategy needs.

    Runs of the backfill and runs of the asset's schedule share the asset's chain and take turns: after each run of the
    backfill, one run of what came due since the backfill began may go first.

    Attributes:
        remaining: Partitions that no run of this backfill has taken yet. Everything stands for all partitions that are
            wanted or present, also those that older code computed.

    Args:
        partitions: The requested partitions.
        interval: The data interval in Unix seconds, for an asset without partitions; None takes the asset's own.
        force: Whether partitions are computed that are current already.
        max_runs: The most runs of this invocation; None for no limit.
    """

    def __init__(
        self,
        asset: AssetSpec,
        partitions: PartitionSet,
        *,
        interval: tuple[int, int] | None = None,
        force: bool = False,
        newest_first: bool = False,
        max_runs: int | None = None,
    ) -> None:
        self.select = (asset.name,)
        self.remaining = partitions
        self._requested = self._partitions = partitions
        self._is_whole_asset = partitions.is_everything and asset.partitioning.is_partitioned
        self._asset = asset
        self._interval = interval
        self._force = force
        self._newest_first = newest_first
        self._max_runs = max_runs
        self._runs_taken = 0
        self._recorded_partitions: PartitionSet = NOTHING
        self._notes: tuple[AssetNote, ...] = ()
        self._is_schedules_turn = False
        self._due_at_begin: PartitionSet = NOTHING

    def begin(self, context: PlanningContext) -> Sequence[Entry]:
        """With ``force``, the entry that records the requested partitions; none if such a backfill is open already.

        A forced backfill computes what is current, so the state alone cannot say what is left of it. The recorded entry
        lets the next driver go on after this one is killed. An open request is recorded again only if its order or its
        limit differs.
        """
        asset, is_limited = context.asset(self._asset.name), self._max_runs is not None
        if not asset.partitioning.is_partitioned:
            return ()
        self._resolve_everything(context)
        self._due_at_begin = find_decision(replace(context, decisions={}), asset).expected
        if not self._force:
            return ()
        request = open_request(asset, context.state_of(asset), self._requested)
        if request is None:
            self._recorded_partitions = redoable_partitions(context, asset, self._partitions)
            if self._is_held_back(context, asset):
                self._recorded_partitions = NOTHING
            entry = BackfillEntry(
                asset.name, self._requested, self._recorded_partitions, self._newest_first, is_limited
            )
            return (entry,) if self._recorded_partitions else ()
        self.remaining = self._recorded_partitions = request.left
        count = plural(asset.partitioning.count(request.left), "partition")
        text = f"continues the backfill requested at {context.format_instant(request.at)}: {count} left"
        self._notes = (AssetNote(asset.name, text, request.left),)
        if (request.newest_first, request.limited) == (self._newest_first, is_limited):
            return ()
        return (BackfillEntry(asset.name, self._requested, request.left, self._newest_first, is_limited),)

    def _is_held_back(self, context: PlanningContext, asset: AssetSpec) -> bool:
        """Whether the budget or a conflict of columns holds back every run, so that only a person can let it go on.

        Such a backfill is not recorded: it would stay open until somebody asks for it again anyway.
        """
        if asset.budget is None and not explain_schema_conflict(context, asset, context.state_of(asset)):
            return False
        plan = plan_backfill(context, asset, self._recorded_partitions, force=True, other_code=self._is_whole_asset)
        return bool(plan.runs) and not _within_limits(context, asset, plan).runs

    def _resolve_everything(self, context: PlanningContext) -> None:
        """Replaces "everything" by the partitions that are wanted or present now; later calls change nothing."""
        if self._partitions.is_everything:
            self.remaining = self._partitions = backfillable_partitions(context, context.asset(self._asset.name))

    def plan(self, context: PlanningContext) -> Plan:
        """The runs that are left; the driver claims the first one, a scheduled run if it is the schedule's turn."""
        asset = context.asset(self._asset.name)
        if not asset.partitioning.is_partitioned:
            if not self.remaining:
                return Plan(context.now)
            plan = plan_backfill_unpartitioned(context, asset, self._interval, force=self._force)
            return _within_limits(context, asset, plan)
        self._resolve_everything(context)
        uncomputed = self._uncomputed_partitions(context)
        if not uncomputed:
            return Plan(context.now)
        plan = plan_backfill(
            context,
            asset,
            uncomputed,
            force=self._force,
            other_code=self._is_whole_asset,
            newest_first=self._newest_first,
        )
        plan = self._limit_runs(context, _within_limits(context, asset, replace(plan, notes=self._notes)))
        # runs of this asset go one at a time, and its unsettled claim comes first
        is_busy = not allows_parallel_runs(asset) and context.state_of(asset).chain
        if not plan.runs or not self._is_schedules_turn or is_busy:
            return plan
        return replace(plan, runs=(*self._next_scheduled_run(context, uncomputed), *plan.runs))

    def _next_scheduled_run(self, context: PlanningContext, uncomputed: PartitionSet) -> tuple[PlannedRun, ...]:
        """One scheduled run of what came due since the backfill began, outside its partitions; empty if nothing did."""
        asset = context.asset(self._asset.name)
        reserved = {asset.name: uncomputed | self._due_at_begin}
        decision = find_decision(replace(context, select=None, reserved_partitions=reserved, decisions={}), asset)
        return tuple(run for run in decision.runs if run.kind == "scheduled")[:1]

    def _uncomputed_partitions(self, context: PlanningContext) -> PartitionSet:
        """Requested partitions not computed yet by this invocation or, if the request is recorded, by any other.

        Partitions of a failed run that is being divided to find the bad ones are included.
        """
        asset = context.asset(self._asset.name)
        uncomputed = self.remaining | (find_divided_partitions(context, asset) & self._partitions)
        if not self._recorded_partitions:
            return uncomputed
        request = open_request(asset, context.state_of(asset), self._requested)
        computed = self._recorded_partitions if request is None else self._recorded_partitions - request.left
        return uncomputed - computed

    def _limit_runs(self, context: PlanningContext, plan: Plan) -> Plan:
        """The plan cut to the runs that ``max_runs`` still allows, with a waiting line for the partitions left out."""
        if self._max_runs is None:
            return plan
        chain = context.state_of(self._asset).chain
        running = [  # a run that failed unfenced is not open any more: ``_runs_taken`` has it
            link
            for link in chain
            if link.status == "open"
            and link.entry.invocation == context.invocation
            and link.token not in context.gone_claims
        ]
        room = max(0, self._max_runs - self._runs_taken - len(running))
        left_out = PartitionSet.union(run.partitions for run in plan.runs[room:])
        if not left_out:
            return replace(plan, runs=plan.runs[:room])
        reason = f"left by --max-runs {self._max_runs}; run the same command again to continue"
        waiting = (*plan.waiting, Waiting(self._asset.name, reason, None, left_out))
        return replace(plan, runs=plan.runs[:room], waiting=waiting)

    def record_result(self, run: PlannedRun, result: RunResult) -> None:
        """Takes the run's partitions off ``remaining`` and gives the schedule its turn after a backfill run.

        A run that only recorded an older one (``adopted``) computed nothing, so its partitions remain.
        """
        self._is_schedules_turn = run.kind == "backfill"
        if result.adopted is None and run.kind == "backfill":
            self._runs_taken += 1
            self.remaining = self.remaining - run.partitions


def _within_limits(context: PlanningContext, asset: AssetSpec, plan: Plan) -> Plan:
    """The asset's plan without the runs that a conflict of columns or the budget holds back."""
    return _plan_within_limits(context, asset, plan_within_schema(context, asset, plan))


def _plan_within_limits(context: PlanningContext, asset: AssetSpec, plan: Plan) -> Plan:
    """The plan of one asset without the runs that are over its budget, or for which its pool has no place."""
    return plan_within_pool(context, asset, plan_within_budget(context, asset, plan))
