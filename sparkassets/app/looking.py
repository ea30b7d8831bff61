"""Looking: what would run and why, and what is known of every asset; nothing is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from sparkassets.app.keys import plan_with_keys
from sparkassets.app.opened import Opened
from sparkassets.app.selection import Selection
from sparkassets.core.instants import unix
from sparkassets.core.journal.state import State
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.plan import Plan
from sparkassets.core.planner.planner import plan
from sparkassets.core.planner.redefined import others
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import InputError
from sparkassets.runtime.news import changed_specs, observe
from sparkassets.runtime.targets import look_at_targets

if TYPE_CHECKING:
    from sparkassets.app.backfilling import BackfillRequest
    from sparkassets.core.journal.entries import Entry
    from sparkassets.core.partitions.across import Grid
    from sparkassets.core.planner.explain import Node
    from sparkassets.core.planner.impact import Impact
    from sparkassets.core.planner.plan import Estimate
    from sparkassets.core.planner.status import AssetStatus
    from sparkassets.runtime.work import Work


class Looking(Opened):
    """What can be asked of a project as it is now."""

    def plan(
        self,
        *,
        at: datetime | str | None = None,
        select: Selection = None,
        estimate: bool = False,
    ) -> Plan:
        """What would run now (or at ``at``), and why the rest would not; looks at sources, records nothing.

        With ``estimate`` also what each run and all of them are to cost: the logs of the tables that they read are
        opened for it.

        Raises:
            StateError: The state cannot be used.
        """
        context = self._context(at=at, select=select)
        found = self._told(plan(context), context, estimate=estimate)
        if any(asset.expect is not None for asset in context.project.assets.values()):
            from sparkassets.core.planner.lateness import all_late

            found = replace(found, late=all_late(context))
        if not any(others(asset, context.state_of(asset)) for asset in context.project.assets.values()):
            return found
        from sparkassets.core.planner.changes import code_changes

        return replace(found, changes=code_changes(context))

    def plan_backfill(
        self,
        request: BackfillRequest,
        *,
        at: datetime | str | None = None,
        estimate: bool = False,
        over_budget: bool = False,
    ) -> Plan:
        """What a backfill would run, with ``estimate`` at what cost, with ``over_budget`` whatever it costs."""
        from sparkassets.app.backfilling import backfill_of

        self.runnable(request.asset, "backfill")
        works: list[Work] = []

        def begin(context: PlanningContext) -> Sequence[Entry]:
            works.append(backfill_of(context.asset(request.asset), request))
            return works[0].begin(context)

        context = self._context(at=at, begin=begin)
        context.over_budget = over_budget
        found = works[0].plan(context)
        return self._told(found, context, estimate=estimate)

    def _told(self, found: Plan, context: PlanningContext, *, estimate: bool) -> Plan:
        if estimate:
            from sparkassets.core.planner.estimate import priced

            found = priced(found, context, self._weigh)
        return plan_with_keys(found, context.project)

    def impact(self, plan: Plan, *, at: datetime | str | None = None) -> dict[str, PartitionSet]:
        """What the runs of a plan make due after them, upstream first: by asset, everything for all of one."""
        from sparkassets.core.planner.impact import impact

        updated: dict[str, PartitionSet] = {}
        for run in plan.runs:
            updated[run.asset] = updated.get(run.asset, NOTHING) | run.blocks
        return impact(self._context(at=at), updated)

    def followers(
        self, after: Mapping[str, PartitionSet], *, at: datetime | str | None = None
    ) -> dict[str, tuple[Estimate, ...]]:
        """What the runs of an `impact` are to cost, by asset, as if they read what is there now."""
        from sparkassets.core.planner.estimate import followers

        return followers(self._context(at=at), after, self._weigh)

    def reached_by(self, asset: str, *partitions: str, at: datetime | str | None = None) -> Impact:
        """What follows, all the way down, if these partitions of an asset changed or are bad; none without partitions.

        Raises:
            InputError: Its keys are wrong.
        """
        from sparkassets.app.backfilling import named_blocks
        from sparkassets.core.planner.impact import impact_of

        self.asset(asset)
        context = self._context(at=at)
        spec = context.asset(asset)
        return impact_of(context, spec, named_blocks(spec, partitions))

    def explain(self, asset: str, *, partition: str | None = None, at: datetime | str | None = None) -> Node:
        """The whole decision for one asset as a tree."""
        from sparkassets.app.backfilling import blocks_of
        from sparkassets.core.planner.explain import Node, explain

        self.asset(asset)
        context = self._context(at=at)
        spec = context.asset(asset)
        blocks = blocks_of(spec, partition) if partition is not None else EVERYTHING
        node = explain(context, spec, blocks)
        if spec.source is not None:
            return node
        if others(spec, context.state_of(spec)):
            from sparkassets.core.planner.changes import code_changes, price, said

            for change in code_changes(context, [asset]):
                lines = tuple(Node(line) for line in change.difference)
                clause = f"the code changed: {said(change)}; {price(change, context.project)}"
                node = replace(node, children=(*node.children, Node(clause, None, lines)))
        told = (Node(text) for text in self._committers([context.asset(name) for name in spec.written]))
        return replace(node, children=(*node.children, *told))

    def _committers(self, tables: Sequence[AssetSpec]) -> Iterator[str]:
        """Who commits to these tables, by which of them where it is not the same."""
        whys = {table.name: self._adapters.targets().why_spark(table) for table in tables}
        for name, why in whys.items() if len({*whys.values()}) > 1 else [("", next(iter(whys.values())))]:
            who = "the driver" if why is None else f"Spark: {why}"
            yield f"{name}: runs are committed by {who}" if name else f"runs are committed by {who}"

    def status(self, *, at: datetime | str | None = None) -> list[AssetStatus]:
        """Every asset at a glance, upstream first."""
        from sparkassets.core.planner.status import asset_status

        context = self._context(at=at)
        plan(context)
        return [asset_status(context, asset) for asset in context.project.assets.values()]

    def partitions(self, asset: str, *, at: datetime | str | None = None) -> list[tuple[str, str]]:
        """Every partition of an asset that is wanted or there, with its status."""
        from sparkassets.core.planner.status import grid

        context = self._context(at=at)
        return list(grid(context, self._partitioned(context, asset)))

    def definitions(self, asset: str, *, at: datetime | str | None = None) -> dict[str, str]:
        """By which definition each partition of an asset that is there was computed."""
        from sparkassets.core.planner.redefined import there_of

        context = self._context(at=at)
        spec = self._partitioned(context, asset)
        spec = context.asset(spec.maker) if spec.maker else spec
        state = context.state_of(spec)
        return {
            key: made.definition.id
            for made in state.made
            for key in spec.partitioning.keys(there_of(spec, state, made))
        }

    def stretches(self, asset: str, *, at: datetime | str | None = None) -> list[tuple[str, int, str]]:
        """Those partitions as ``A..B`` of neighbours that share a status, with their number; none spans a gap."""
        from sparkassets.core.planner.status import stretches

        context = self._context(at=at)
        spec = self._partitioned(context, asset)
        labels, count = spec.partitioning.labels, spec.partitioning.count
        return [(labels(each)[0], count(each), status) for each, status in stretches(context, spec)]

    def grid(self, asset: str, *, at: datetime | str | None = None) -> Grid:
        """Those partitions with time down and segments across; rows and columns that are alike are one."""
        from sparkassets.core.partitions.across import across
        from sparkassets.core.planner.status import told

        context = self._context(at=at)
        spec = self._partitioned(context, asset)
        return across(spec.partitioning, told(context, spec))

    def _partitioned(self, context: PlanningContext, name: str) -> AssetSpec:
        self.asset(name)
        spec = context.asset(name)
        if not spec.partitioning.is_partitioned:
            raise InputError(f"asset {name!r} has no partitions", hint="`sparkassets status` tells what is known")
        return spec

    def _context(
        self,
        *,
        at: datetime | str | None = None,
        select: Selection = None,
        begin: Callable[[PlanningContext], Sequence[Entry]] | None = None,
    ) -> PlanningContext:
        select = self.selected(select)
        ledger, self._volumes, self._feeds = self._ledger("plan"), None, None  # what they told may be another by now
        if self._adapters.store.exists():
            ledger.open()
        ledger.state = ledger.assume(changed_specs(self.spec, ledger.state))
        news = observe(self.spec, ledger.state, self._adapters.observer, now=self._adapters.clock.now())
        over = self._adapters.leases().over(ledger.state, mine=frozenset())
        targets = self._adapters.targets()
        found = look_at_targets(self.spec, ledger.state, targets, gone=over, knows=ledger.knows, select=select)
        state: State = ledger.assume([*news.entries, *found.entries])
        clock = self._adapters.clock.now()
        context = PlanningContext(
            self.spec,
            state,
            unix(self._fixed(at) or clock),
            unix(clock),
            gone=over,
            select=select,
            faults=news.faults | found.faults,
            notes=news.notes,
            unseen=news.unseen | found.unseen,
            weigh=self._weigh,
            told=self._told_changes,
            stored=self._adapters.stored,
        )
        begun = begin(context) if begin is not None else ()
        return replace(context, state=ledger.assume([*news.entries, *found.entries, *begun])) if begun else context
