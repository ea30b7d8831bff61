"""Claims due runs: which of a plan's runs are claimed now, and what their claims say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from sparkassets.core.journal.entries import ClaimEntry, Entry
from sparkassets.core.journal.state import State
from sparkassets.core.planner.batch.run_pools import count_free_places
from sparkassets.core.planner.due.unaffected_readers import find_unaffected_readers
from sparkassets.core.planner.plan import PlannedRun, RunQueue
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.frozen import replace
from sparkassets.ports import Engine, IdGenerator, TargetFactory
from sparkassets.runtime.enlistment import ProcessEnlistment
from sparkassets.runtime.execution import RunExecution
from sparkassets.runtime.file_pins import pin_files
from sparkassets.runtime.invocation import Invocation
from sparkassets.runtime.run_orders import OrderBuilder


class RunClaimer:
    """Claims due runs in the journal and makes them active."""

    def __init__(self, invocation: Invocation, *, enlistment: ProcessEnlistment, ids: IdGenerator) -> None:
        self._invocation = invocation
        self._project = invocation.project
        self._priorities = {name: asset.priority for name, asset in self._project.assets.items() if asset.priority}
        self._ledger = invocation.ledger
        self._active = invocation.active
        self._enlistment = enlistment
        self._ids = ids
        self._orders = OrderBuilder(invocation.project, invocation.ledger)

    def claim_runs(
        self,
        queue_runs: Callable[[PlanningContext], RunQueue],
        make_context: Callable[[State], PlanningContext],
    ) -> None:
        """Claims, in one commit, as many of the due runs as may be, and makes them active.

        Args:
            queue_runs: Plans the due runs.
            make_context: What they are planned with, for a state.
        """
        engine, targets = self._invocation.engine.start()
        claimed: list[tuple[PlannedRun, ClaimEntry]] = []

        def decide(state: State) -> Sequence[Entry]:
            context = make_context(state)
            due = self._claimable(self._sort_by_priority(queue_runs(context).runs), context)
            claimed[:] = [(run, self._build_claim(run, context)) for run in due]
            return [claim for _, claim in claimed]

        self._ledger.commit(decide)
        for run, claim in claimed:
            self._activate(run, claim, engine, targets)

    def _sort_by_priority(self, due: Iterable[PlannedRun]) -> Iterable[PlannedRun]:
        """The due runs, those of a higher priority first, else in their order.

        Without priorities they are not sorted, as each run is only planned when it is taken.
        """
        priorities = self._priorities
        return sorted(due, key=lambda run: -priorities.get(run.asset, 0)) if priorities else due

    def _claimable(self, due: Iterable[PlannedRun], context: PlanningContext) -> Iterator[PlannedRun]:
        """Yields the first due runs that may be claimed beside the active ones, up to the number that may be held.

        A pool gives at most its free places. For a full pool, which ``places`` lacks, the plan holds only runs that
        need no place, such as those that recover what a vanished driver left behind.
        """
        places = self._free_places(context)
        taken = [active.run for active in self._active.by_token.values()]
        room = self._active.claimable_count
        for run in due:
            pool = self._project.assets[run.asset].pool
            if not any(_excludes(other, run) for other in taken) and places.get(pool, 1) > 0:
                yield run
                taken.append(run)
                places |= {pool: places[pool] - 1} if pool in places else {}
                room -= 1
                if not room:
                    return

    def _free_places(self, context: PlanningContext) -> dict[str, int]:
        """How many more runs may start in each pool that is not full."""
        counted = ((pool, count_free_places(context, pool)) for pool in self._project.pools)
        return {pool: count for pool, count in counted if count > 0}

    def _build_claim(self, run: PlannedRun, context: PlanningContext) -> ClaimEntry:
        """The entry that claims a planned run: its request, completed with what is only known at the claim.

        That is the files that it reads, the code and rules that judge it, and who asked for it.
        """
        asset, leases = self._project.assets[run.asset], self._invocation.leases
        requested_by = self._invocation.requested_by
        request = replace(
            pin_files(context.project, context.state, run.request),
            reason=f"{run.reason}, requested by {requested_by}" if requested_by else run.reason,
            judge=self._project.judge_of(asset) if asset.rules or asset.outlets else "",
            unread_by=find_unaffected_readers(context, context.asset(asset.name), run.partitions),
        )
        return ClaimEntry(
            request=request,
            run=self._ids.run_id(run.asset, self._invocation.clock.now()),
            lease_seconds=asset.lease_seconds,
            invocation=self._invocation.name,
            host=leases.host,
            planned=context.now,
            processes=(leases.process,),
        )

    def _activate(self, run: PlannedRun, entry: ClaimEntry, engine: Engine, targets: TargetFactory) -> None:
        """Makes a run active that was just claimed.

        Its execution first finds out what became of the older claims of its slot, whose drivers are gone.
        """
        *older, claim = self._ledger.state.assets[entry.asset].chains[entry.run_slot]
        order = self._orders.build_order(run, claim)
        enlist = partial(self._enlistment.enlist, entry.asset, claim.token)
        execution = RunExecution(
            engine,
            [targets.open_target(each.asset, app_id=order.app_id, enlist=enlist) for each in order.table_orders],
            order,
            older=older,
            reorder=partial(self._orders.build_order, run),
        )
        self._active.add(run, claim, execution)


def _excludes(other: PlannedRun, run: PlannedRun) -> bool:
    """Whether two runs cannot be claimed at once: of one asset, but for runs that the plan has side by side."""
    return other.asset == run.asset and (other.run_slot == run.run_slot or not other.run_slot or not run.run_slot)
