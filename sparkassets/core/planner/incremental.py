"""Planning again after little has changed: only the assets that the change, or the time, can reach are decided anew.

A decision follows from the asset's state, its inlets' datasets and states, what was decided for its inlets, and the
time. The state is immutable, so what the journal did not touch is the same object as before; and every decision tells
when the time alone could change it. `plan` of `sparkassets.core.planner.planner` gives the same plan for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from heapq import heapify, heappop, heappush

from sparkassets.core.instants import epoch, instant
from sparkassets.core.planner.look import Decision, Look
from sparkassets.core.planner.plan import Plan
from sparkassets.core.planner.planner import assemble, decide
from sparkassets.core.spec.graph import upstream
from sparkassets.core.spec.model import AssetSpec, InletSpec, ProjectSpec


class IncrementalPlanner:
    """Plans one project again and again; equal to planning from nothing each time."""

    def __init__(self, project: ProjectSpec) -> None:
        self._project = project
        self._names = list(project.assets)
        self._place = {name: place for place, name in enumerate(self._names)}
        self._downstream: dict[str, list[str]] = {name: [] for name in self._names}
        self._readers: dict[str, list[str]] = {}
        for name, needs in upstream(project.assets).items():
            for need in needs:
                self._downstream[need].append(name)
        for asset in project.assets.values():
            for uri in _datasets(asset, project):
                self._readers.setdefault(uri, []).append(asset.name)
        self._last: Look | None = None
        self._plan = Plan(0)
        self._alarms: list[tuple[int, str]] = []
        self._wakes: dict[str, int] = {}

    def plan(self, look: Look) -> Plan:
        """What is due, and why the rest is not; fills ``look.decided``."""
        last = self._last
        if last is None or not _comparable(last, look):
            dirty: Iterable[str] = self._names
            self._alarms, self._wakes = [], {}
        else:
            look.decided = last.decided
            dirty = self._touched(last, look)
        if self._decide(look, dirty) or last is None:
            self._plan = assemble(look, self._project)
        self._last = look
        return replace(self._plan, at=look.now)

    def _touched(self, last: Look, look: Look) -> set[str]:
        """The assets whose own state, datasets or alarms changed, and those that a run was planned for."""
        before, after = last.state, look.state
        found = {run.asset for run in self._plan.runs}
        if before is not after:
            known = before.assets
            for name, state in after.assets.items():
                if known.get(name) is not state and name in self._place:
                    found.add(name)
                    found.update(self._downstream[name])
            datasets = before.datasets
            for uri, dataset in after.datasets.items():
                if datasets.get(uri) is not dataset:
                    found.update(self._readers.get(uri, ()))
        time = max(look.now, look.clock)
        while self._alarms and self._alarms[0][0] <= time:
            at, name = heappop(self._alarms)
            if self._wakes.get(name) == at:
                del self._wakes[name]  # it may ring at the same time again: the real clock can be behind the planner's
                found.add(name)
        return found

    def _decide(self, look: Look, dirty: Iterable[str]) -> bool:
        """Decides the assets anew, upstream first, and what their decisions change; returns whether there were any."""
        queue = [self._place[name] for name in dirty]
        heapify(queue)
        done = -1
        while queue:
            place = heappop(queue)
            if place == done:
                continue
            done, name = place, self._names[place]
            asset = self._project.assets[name]
            before, decision = look.decided.get(name), decide(look, asset)
            look.decided[name] = decision
            self._set_alarm(look, asset, decision)
            if before is not None and _shown(before) != _shown(decision):
                for consumer in self._downstream[name]:
                    heappush(queue, self._place[consumer])
        return done >= 0

    def _set_alarm(self, look: Look, asset: AssetSpec, decision: Decision) -> None:
        wake = min((at for at in _changes(look, asset, decision) if at > min(look.now, look.clock)), default=None)
        if wake is None:
            self._wakes.pop(asset.name, None)
        elif self._wakes.get(asset.name) != wake:
            self._wakes[asset.name] = wake
            heappush(self._alarms, (wake, asset.name))


def _comparable(last: Look, look: Look) -> bool:
    """Whether only the state and the time moved on between the two."""
    return (
        last.project is look.project
        and last.now <= look.now
        and last.clock <= look.clock
        and last.invocation == look.invocation
        and last.select == look.select
        and last.faults == look.faults
        and last.notes == look.notes
        and set(last.gone) == set(look.gone)
    )


def _datasets(asset: AssetSpec, project: ProjectSpec) -> set[str]:
    """The datasets that a decision for the asset looks at."""
    condition = asset.schedule.condition
    leaves = condition.leaves() if condition is not None else ()
    named = {leaf.ref if leaf.is_uri else project.assets[leaf.ref].uri for leaf in leaves}
    return named | {inlet.uri for inlet in asset.inlets.values()}


def _shown(decision: Decision) -> tuple[object, ...]:
    """What the decisions for its consumers go by."""
    return decision.coming, decision.blocked, decision.failure


def _changes(look: Look, asset: AssetSpec, decision: Decision) -> Iterable[int]:
    """The instants at which time alone may change the decision; epoch seconds."""
    if asset.source is not None:
        return
    now, schedule = instant(look.now), asset.schedule
    timetables = [schedule.timetable] if schedule.timetable is not None else []
    if schedule.condition is not None:
        timetables += [leaf.timetable for leaf in schedule.condition.times()]
    for timetable in timetables:
        slot = timetable.first_after(now)
        if slot is not None:
            yield epoch(slot.run_after)
        yield from (bound for bound in (timetable.start, timetable.end) if bound is not None)
    if asset.partition is not None:
        yield look.rollover(asset.partition)
        for inlet in asset.inlets.values():
            up = look.project.assets[inlet.name].partition
            if up is not None:
                yield look.rollover(up)
    for inlet in asset.inlets.values():
        yield from _changes_of(look, asset, inlet)
    yield from (item.until for item in decision.waiting if item.until is not None)


def _changes_of(look: Look, asset: AssetSpec, inlet: InletSpec) -> Iterable[int]:
    """The instants at which time alone may change what an inlet's gates say."""
    dataset, clock = look.dataset(inlet), look.project.assets[inlet.name].schedule.timetable
    if inlet.fresh_within is not None:
        yield inlet.fresh_within.add_to(dataset.at, asset.timezone) + 1
    if inlet.tolerance is not None and asset.partition is not None:
        ended = asset.partition.next((-inlet.tolerance).add_to(look.now, asset.timezone))
        yield inlet.tolerance.add_to(ended, asset.timezone)
    if inlet.settle_seconds:
        yield from (at + inlet.settle_seconds for at in {dataset.at, *dataset.touched.stamps})
    if inlet.aligned and clock is not None and (slot := clock.first_after(instant(look.now))) is not None:
        yield epoch(slot.run_after)
