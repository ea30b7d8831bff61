"""Plans again after a small change: only the assets that the change, or the time, can reach are decided again.

A decision follows from the asset's state, the states, datasets and decisions of its inlets, and the time. The state is
immutable, so what the journal did not touch is the same object as before; and every decision says when time alone could
change it. `sparkassets.core.planner.planner.make_plan` makes the same plan from nothing
(docs/design/planning.md#incremental-planning).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush

from sparkassets.core.conditions import datasets
from sparkassets.core.instants import from_unix, to_unix
from sparkassets.core.journal.state import StateSearch, changed_keys
from sparkassets.core.planner.batch.run_pools import find_pool_members
from sparkassets.core.planner.plan import Plan, PlannedRun, RunQueue
from sparkassets.core.planner.planner import assemble_plan, decide_asset
from sparkassets.core.planner.planning_context import AssetDecision, PlanningContext, may_skip_partitions
from sparkassets.core.spec.asset_graph import upstream_edges
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.frozen import replace


class IncrementalPlanner:
    """Plans one project again and again; equal to planning from nothing each time.

    A due run holds the time of its plan, so `plan` decides all due assets again once time has passed. `queue_runs`
    decides only those that are taken from it: a wave of a thousand due runs, claimed a few at a time, takes no longer
    than the decisions of a thousand assets.
    """

    def __init__(self, project: ProjectSpec) -> None:
        # a place is an asset's position in upstream-first order
        self._names = list(project.assets)
        self._place_of = {name: place for place, name in enumerate(self._names)}
        self._downstream: dict[str, list[str]] = {name: [] for name in self._names}
        self._readers: dict[str, list[str]] = {}  # dataset URI to the assets whose decisions read it
        for name, needs in upstream_edges(project.assets).items():
            for need in needs:
                self._downstream[need].append(name)
        for asset in project.assets.values():
            for uri in _dataset_uris(asset, project):
                self._readers.setdefault(uri, []).append(asset.name)
        self._pool_members = find_pool_members(project)
        self._marked = StateSearch(may_skip_partitions)
        self._last_context: PlanningContext | None = None
        self._plan: Plan | None = None
        self._alarms: list[tuple[int, str]] = []  # a heap of (instant, asset), replaced alarms among them
        self._wakes: dict[str, int] = {}  # asset to the instant of its present alarm
        self._due: list[int] = []  # places of the assets with due runs, ascending
        self._planned_at: dict[int, int] = {}  # place of such an asset to the planner's time that its runs hold
        self._run_count = 0
        self._waiting_count = 0

    def plan(self, context: PlanningContext) -> Plan:
        """Returns the plan for the context; fills ``context.decisions``."""
        self._update(context)
        self._decide_again(
            context, [self._names[place] for place in self._due if self._planned_at[place] != context.now]
        )
        if self._plan is None:
            self._plan = assemble_plan(context, context.project)
        return replace(self._plan, at=context.now)

    def queue_runs(self, context: PlanningContext) -> RunQueue:
        """Returns the runs of `plan`; they must be taken before anything else is planned."""
        self._update(context)
        return RunQueue(self._take_runs(context), self._run_count, self._waiting_count)

    def _take_runs(self, context: PlanningContext) -> Iterator[PlannedRun]:
        """Yields the due runs in the order of the plan; decides an asset for this ``now`` only when its turn comes."""
        place = -1
        while (index := bisect_right(self._due, place)) < len(self._due):
            place = self._due[index]
            name = self._names[place]
            if self._planned_at[place] != context.now:
                self._decide_again(context, [name])
            yield from context.decisions[name].runs

    def _update(self, context: PlanningContext) -> None:
        """Decides again the assets that a change of the state, or a passed alarm, can affect; all if more has changed.

        Due assets are left with the time at which they were planned: `plan` and `queue_runs` bring them up to date.
        """
        last, context.marked = self._last_context, self._marked.find(context.state)
        if last is None or not _differ_in_state_only(last, context):
            dirty: Iterable[str] = self._names
            self._plan, self._alarms, self._wakes = None, [], {}
            self._due, self._planned_at, self._run_count, self._waiting_count = [], {}, 0, 0
        else:
            context.decisions = last.decisions
            dirty = self._find_dirty_assets(last, context)
        self._decide_again(context, dirty)
        self._last_context = context

    def _find_dirty_assets(self, last: PlanningContext, context: PlanningContext) -> set[str]:
        """The assets whose state, datasets or segments changed, their consumers, and those whose alarm has passed."""
        before, after = last.state, context.state
        dirty: set[str] = set()
        for name in _assets_with_changed_segments(last.project, context.project):
            dirty.add(name)
            dirty.update(self._downstream[name])
        if before is not after:
            for name in changed_keys(before.assets, after.assets):
                if name in self._place_of:
                    dirty.add(name)
                    dirty.update(self._downstream[name])
                    dirty.update(self._pool_members.get(context.project.assets[name].pool, ()))
            for uri in changed_keys(before.datasets, after.datasets):
                dirty.update(self._readers.get(uri, ()))
        time = max(context.now, context.clock)  # an alarm may be by either: only `settle` goes by the clock
        while self._alarms and self._alarms[0][0] <= time:
            alarm, name = heappop(self._alarms)
            if self._wakes.get(name) == alarm:
                del self._wakes[name]  # it may be set to this instant again: the real clock can be behind the planner's
                dirty.add(name)
        return dirty

    def _decide_again(self, context: PlanningContext, dirty: Iterable[str]) -> None:
        """Decides these assets again, upstream first, and the consumers of those whose decision changed for them.

        A heap of places keeps the order while consumers, which come later in it, are added; it may hold a place twice.
        """
        queue = [self._place_of[name] for name in dirty]
        heapify(queue)
        last_place = -1
        while queue:
            place = heappop(queue)
            if place == last_place:
                continue
            last_place, name = place, self._names[place]
            asset = context.project.assets[name]
            previous, decision = context.decisions.get(name), decide_asset(context, asset)
            context.decisions[name] = decision
            self._plan = None
            self._update_totals(previous, decision)
            self._note_due(place, decision, context.now)
            self._set_alarm(context, asset, decision)
            if previous is not None and _affects_downstream(asset, previous, decision):
                for consumer in self._downstream[name]:
                    heappush(queue, self._place_of[consumer])

    def _update_totals(self, previous: AssetDecision | None, decision: AssetDecision) -> None:
        """Keeps the totals of runs and of loud waiting reasons: subtracts the decision before and adds the new one."""
        for each, sign in ((previous, -1), (decision, 1)):
            if each is not None:
                self._run_count += sign * len(each.runs)
                self._waiting_count += sign * sum(not item.quiet for item in each.waiting)

    def _note_due(self, place: int, decision: AssetDecision, now: int) -> None:
        """Records whether the asset has due runs, and the planner's time that these runs hold."""
        if not decision.runs:
            if self._planned_at.pop(place, None) is not None:
                del self._due[bisect_left(self._due, place)]
            return
        if place not in self._planned_at:
            insort(self._due, place)
        self._planned_at[place] = now

    def _set_alarm(self, context: PlanningContext, asset: AssetSpec, decision: AssetDecision) -> None:
        """Sets the instant at which time alone may change the decision; it replaces the asset's earlier alarm.

        An alarm that was replaced stays in the heap and is ignored when it comes. An instant may be by the planner's
        time or by the real clock, so those that only one of the two has passed still count.
        """
        wake = min(
            (at for at in _decision_change_times(context, asset, decision) if at > min(context.now, context.clock)),
            default=None,
        )
        if wake is None:
            self._wakes.pop(asset.name, None)
        elif self._wakes.get(asset.name) != wake:
            self._wakes[asset.name] = wake
            heappush(self._alarms, (wake, asset.name))


def _differ_in_state_only(last: PlanningContext, context: PlanningContext) -> bool:
    """Whether only the state, the discovered segments and the time moved on between two contexts.

    Anything else, such as a fault or a driver that is gone, may change any decision, so all are decided again.
    """
    return (
        _differ_in_segments_only(last.project, context.project)
        and last.now <= context.now
        and last.clock <= context.clock
        and last.invocation == context.invocation
        and last.select == context.select
        and last.faults == context.faults
        and last.notes == context.notes
        and set(last.gone_claims) == set(context.gone_claims)
        and last.waived_partitions == context.waived_partitions
    )


def _differ_in_segments_only(earlier: ProjectSpec, later: ProjectSpec) -> bool:
    """Whether both are the same project, apart from segments discovered in between.

    An asset whose segments were discovered is another object from the same place in the files; any other is the same
    object.
    """
    if earlier is later:
        return True
    return earlier.assets.keys() == later.assets.keys() and all(
        earlier_asset is later_asset
        or (earlier_asset.partitioning.is_open and earlier_asset.location == later_asset.location)
        for earlier_asset, later_asset in zip(earlier.assets.values(), later.assets.values(), strict=True)
    )


def _assets_with_changed_segments(earlier: ProjectSpec, later: ProjectSpec) -> list[str]:
    """The assets whose known segments changed."""
    if earlier is later:
        return []
    return [name for name, asset in later.assets.items() if earlier.assets[name] is not asset]


def _dataset_uris(asset: AssetSpec, project: ProjectSpec) -> set[str]:
    """URIs of the datasets that a decision for the asset reads: those of its inlets and of its condition."""
    condition = asset.schedule.condition
    condition_uris = {
        project.listened_uri(asset.name, leaf) for leaf in (datasets(condition) if condition is not None else ())
    }
    return condition_uris | {inlet.uri for inlet in asset.inlets.values()}


def _affects_downstream(asset: AssetSpec, previous: AssetDecision, decision: AssetDecision) -> bool:
    """Whether decisions for consumers, or for the asset's outlets, may change.

    An outlet's notes depend on the runs of its multi-asset, so any change of the multi-asset's decision counts.
    """
    return _visible_to_consumers(previous) != _visible_to_consumers(decision) or bool(
        asset.outlets and previous != decision
    )


def _visible_to_consumers(decision: AssetDecision) -> tuple[object, ...]:
    """The parts of a decision that the decisions for its consumers read."""
    return decision.expected, decision.blockers, decision.unread_by


def _decision_change_times(context: PlanningContext, asset: AssetSpec, decision: AssetDecision) -> Iterable[int]:
    """The instants at which time alone may change the decision; Unix seconds."""
    if asset.source is not None:
        return
    yield from _schedule_change_times(context, asset)
    by_partitions, inlets = asset.partitioning.is_partitioned, asset.inlets.values()
    mapped = [
        inlet for inlet in inlets if by_partitions or inlet.mapping is not None
    ]  # an asset without partitions reads an unmapped inlet as a whole, whose rollovers do not matter
    grids = [asset.partitioning, *(context.partitioning(inlet) for inlet in mapped)]
    yield from (at for at in map(context.next_rollover, grids) if at is not None)
    for inlet in asset.inlets.values():
        yield from _gate_change_times(context, asset, inlet)
    yield from (item.until for item in decision.waiting if item.until is not None)


def _schedule_change_times(context: PlanningContext, asset: AssetSpec) -> Iterable[int]:
    """The next tick, the start and the end of each timetable of the schedule; Unix seconds."""
    for timetable in asset.schedule.timetables():
        slot = timetable.first_after(from_unix(context.now))
        instants = (to_unix(slot.run_after) if slot is not None else None, timetable.start, timetable.end)
        yield from (each for each in instants if each is not None)


def _gate_change_times(context: PlanningContext, asset: AssetSpec, inlet: InletSpec) -> Iterable[int]:
    """The instants at which time alone may open or close an inlet's gates; Unix seconds."""
    dataset, clock = context.dataset(inlet), context.project.assets[inlet.name].schedule.timetable
    if inlet.fresh_within is not None:
        yield inlet.fresh_within.add_to(dataset.last_fresh_at, asset.timezone) + 1  # it is fresh to the very second
    if inlet.tolerance is not None:
        ended = asset.partitioning.next_rollover((-inlet.tolerance).add_to(context.now, asset.timezone))
        if ended is not None:
            yield inlet.tolerance.add_to(ended, asset.timezone)
    if inlet.settle_seconds:
        yield from (at + inlet.settle_seconds for at in {dataset.at, *(at for _, at in dataset.touched.items())})
    if inlet.aligned and clock is not None and (slot := clock.first_after(from_unix(context.now))) is not None:
        yield to_unix(slot.run_after)
