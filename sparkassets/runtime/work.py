"""What an invocation sets out to do: tick until nothing is due, or backfill a stretch of one asset."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.backfill import all_blocks, divided, plan_backfill, plan_backfill_unpartitioned
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.incremental import IncrementalPlanner
from sparkassets.core.planner.plan import Plan, PlannedRun
from sparkassets.core.planner.rebuild import plan_rebuild
from sparkassets.core.results import RunResult
from sparkassets.core.spec.model import AssetSpec


class Work(Protocol):
    """Something that a driver does until it is done."""

    @property
    def select(self) -> Collection[str] | None:
        """Assets that may run; None means all."""

    def plan(self, context: PlanningContext) -> Plan:
        """What is due now."""

    def ended(self, run: PlannedRun, result: RunResult) -> None:
        """Is told how each of its runs ended."""


class Tick:
    """Everything that is due, until nothing is."""

    def __init__(self, select: Collection[str] | None = None) -> None:
        self.select = select
        self._planner: IncrementalPlanner | None = None

    def plan(self, context: PlanningContext) -> Plan:
        """The plan of a tick; what did not change since the one before is not looked at again."""
        if self._planner is None:
            self._planner = IncrementalPlanner(context.project)
        return self._planner.plan(context)

    def ended(self, run: PlannedRun, result: RunResult) -> None:
        """A tick learns what it must from the journal."""


class Rebuild:
    """All of a partitioned asset in one run, whose columns take the place of the table's."""

    def __init__(self, asset: AssetSpec, *, force: bool = False) -> None:
        self.select = (asset.name,)
        self._asset = asset
        self._force = force
        self._done = False

    def plan(self, context: PlanningContext) -> Plan:
        """The run, until it has been tried."""
        if self._done:
            return Plan(context.now)
        return plan_rebuild(context, context.asset(self._asset.name), force=self._force)

    def ended(self, run: PlannedRun, result: RunResult) -> None:
        """What was tried is not tried again; a run that only settled an older one has tried nothing."""
        self._done = self._done or (result.adopted is None and run.request.rebuilds)


class Backfill:
    """Some blocks of one asset, in as many runs as its strategy makes of them.

    Attributes:
        remaining: Blocks that no run of this backfill has taken yet; everything for all that is wanted or there, what
            other code has made included.
    """

    def __init__(
        self,
        asset: AssetSpec,
        blocks: PartitionSet,
        *,
        interval: tuple[int, int] | None = None,
        force: bool = False,
    ) -> None:
        self.select = (asset.name,)
        self.remaining = blocks
        self._blocks = blocks
        self._whole = blocks.is_everything and asset.partitioning.is_partitioned
        self._asset = asset
        self._interval = interval
        self._force = force

    def plan(self, context: PlanningContext) -> Plan:
        """What is left of the backfill; its first run is the one to claim."""
        if self._asset.partitioning.is_partitioned:
            asset = context.asset(self._asset.name)
            if self._blocks.is_everything:
                self.remaining = self._blocks = all_blocks(context, asset)
            left = self.remaining | (divided(context, asset) & self._blocks)
            if not left:
                return Plan(context.now)
            return plan_backfill(context, asset, left, force=self._force, other_code=self._whole)
        if not self.remaining:
            return Plan(context.now)
        return plan_backfill_unpartitioned(context, context.asset(self._asset.name), self._interval, force=self._force)

    def ended(self, run: PlannedRun, result: RunResult) -> None:
        """What was tried is not tried again but in parts; a run that only settled an older one has tried nothing."""
        if result.adopted is None:
            self.remaining = self.remaining - run.blocks
