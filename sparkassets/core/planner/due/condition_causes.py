"""Evaluates a condition from unused updates and ticks, and finds which of them made it true.

Only the parts that hold are used up: under ``a | (b & c)`` a run for ``a`` keeps an update of ``b`` for when ``c``
comes (docs/design/schedules.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from sparkassets.core.conditions import AnyOf, Condition, ConditionResult, TimeLeaf, UpdateLeaf, evaluate_condition
from sparkassets.core.instants import from_unix, to_unix
from sparkassets.core.journal.state import AssetState, EventRef
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.wording import leaf_name, listing
from sparkassets.core.runs import RunConsumption
from sparkassets.core.timetables import Timetable
from sparkassets.frozen import frozen, replace

PassedTick = tuple[int, tuple[int, int]]
"""A tick of a time leaf: its instant and its data interval, Unix seconds."""


@frozen
class ConditionUsage:
    """The events and ticks that a run of a condition uses up once it succeeds.

    Attributes:
        leaf_names: Name in the condition by dataset URI, for the update leaves that made it true.
        consumption: Also covers events of datasets that the condition does not name, and repeats the last used tick of
            time leaves that did not make it true. Its ``remaining`` (which partitions have still to answer) is empty
            yet.
        partitions: For a partitioned asset, by dataset URI or text of a time leaf: the partitions for which that leaf
            made the condition true, or can never decide it.
    """

    leaf_names: Mapping[str, str] = field(default_factory=dict)
    consumption: RunConsumption = field(default_factory=RunConsumption)
    partitions: Mapping[str, PartitionSet] = field(default_factory=dict)


@frozen
class ConditionCauses:
    """A condition at one moment: whether it holds, and by which events and ticks.

    Attributes:
        verdict: Truth of the condition and of each part.
        events: Unused events of the leaves that made it true, ascending.
        uses: Events and ticks that a run for it uses up.
        since: When it became true, Unix seconds.
        run_after: The newest tick that made it true, Unix seconds; None where only updates did.
        interval: Data interval that spans these ticks, Unix seconds; None likewise.
        until: When the first of the time leaves that do not hold yet ticks, Unix seconds; None where none will.
        reason: The updates and ticks that made it true, for people.
    """

    verdict: ConditionResult[bool]
    events: tuple[EventRef, ...] = ()
    uses: ConditionUsage = field(default_factory=ConditionUsage)
    since: int = 0
    run_after: int | None = None
    interval: tuple[int, int] | None = None
    until: int | None = None
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether the condition is true."""
        return self.verdict.value

    def without_events(self, numbers: tuple[int, ...]) -> ConditionCauses:
        """The causes with these events, given by sequence number, left unused for a later run."""
        consumption = replace(self.uses.consumption, skips=numbers)
        return replace(self, uses=replace(self.uses, consumption=consumption))

    def split_by_event(self) -> Iterator[ConditionCauses]:
        """Yields one `ConditionCauses` for each event, in order, where any update alone makes the condition true.

        Otherwise, as in ``a & b`` or with a time leaf, the events belong together: yields these causes unchanged. Each
        uses up the events of its own dataset up to its own, and of datasets outside the condition all.
        """
        node = self.verdict.node
        choices = node.children if isinstance(node, AnyOf) else (node,)
        if not self.events or not all(isinstance(each, UpdateLeaf) for each in choices):
            yield self
            return
        other_consumes = {
            uri: seq for uri, seq in self.uses.consumption.consumes.items() if uri not in self.uses.leaf_names
        }
        for event in self.events:
            consumption = replace(self.uses.consumption, consumes={**other_consumes, event.uri: event.seq})
            uses = replace(self.uses, consumption=consumption)
            yield replace(self, events=(event,), uses=uses, reason=f"{self.uses.leaf_names[event.uri]} updated")


def has_news(context: PlanningContext, leaf: UpdateLeaf, state: AssetState) -> bool:
    """Whether the leaf's dataset has an update that the asset has not used, in partitions that the asset reads.

    For a partitioned asset any update counts, as each update is mapped to its partitions elsewhere. For one without
    partitions, ``partly_used`` has the events that a run left unused.
    """
    uri = context.uri(state.name, leaf)
    if state.spec.partitioning.is_partitioned:
        return context.state.dataset(uri).seq > state.consumed.get(uri, 0)
    if uri in state.partly_used:
        return True
    if context.state.dataset(uri).seq <= state.consumed.get(uri, 0):
        return False
    return _needs_any_update(state, uri) or any(
        _concerns_read_partitions(context, state, event) for event in context.unused_events(state, [uri])
    )


def _needs_any_update(state: AssetState, uri: str) -> bool:
    """Whether an asset without partitions needs any update of a dataset: it reads all of it, or only waits for it."""
    inlets = [inlet for inlet in state.spec.inlets if inlet.uri == uri]
    return not inlets or not all(inlet.needs.is_mapped for inlet in inlets)


def _concerns_read_partitions(context: PlanningContext, state: AssetState, ref: EventRef) -> bool:
    """Whether an event concerns inlet partitions that the asset reads.

    For an inlet that is read by its newest partition, an event from there on counts too: it may be the removal of what
    was the newest until now. While nothing is there to be read, any event counts.
    """
    available = context.state.dataset(ref.uri).coverage
    for inlet in state.spec.inlets:
        if inlet.uri == ref.uri:
            dependency = inlet.needs.with_available(available)
            needed_partitions = dependency.required_partitions(EVERYTHING)
            is_newest_removed = (
                dependency.goes_by_newest and bool(needed_partitions) and ref.parts.clip(needed_partitions.last, None)
            )
            if is_newest_removed or ref.parts.overlaps(needed_partitions) or not needed_partitions:
                return True
    return False


def leaf_timetable(context: PlanningContext, leaf: TimeLeaf, state: AssetState) -> Timetable | None:
    """The timetable of a time leaf; a timer (``every`` without updates) starts at its dataset's last update.

    Before the first update a timer starts at its ``start``. None where it has neither, so that it does not run yet.
    """
    if leaf.without is None:
        return leaf.timetable
    started_at = context.state.dataset(context.uri(state.name, leaf.without)).at or leaf.timetable.start
    if started_at is None:
        return None
    from sparkassets.core.timetables.parse import parse_timetable  # few conditions have a timer

    return parse_timetable({"every": leaf.span}, timezone=leaf.timetable.timezone, start=started_at)


def find_passed_tick(context: PlanningContext, leaf: TimeLeaf, state: AssetState) -> PassedTick | None:
    """The newest tick of a time leaf that no run has used; None when it was used or none has passed.

    For a leaf whose ticks no run has used yet, ticks before the last success are used, as that ran after them.
    """
    timetable = leaf_timetable(context, leaf, state)
    slot = timetable.last_at(from_unix(context.now)) if timetable is not None else None
    used_until = state.ticks.get(leaf.source_text, state.last.planned if state.last else None)
    if slot is None or (used_until is not None and to_unix(slot.run_after) <= used_until):
        return None
    return to_unix(slot.run_after), (to_unix(slot.start), to_unix(slot.end))


def find_passed_ticks(
    context: PlanningContext, condition: Condition, state: AssetState
) -> dict[TimeLeaf, PassedTick | None]:
    """By time leaf, its newest tick that no run has used; None where it was used or none has passed."""
    return {leaf: find_passed_tick(context, leaf, state) for leaf in condition.times()}


def evaluate_now(
    context: PlanningContext, condition: Condition, state: AssetState, ticks: Mapping[TimeLeaf, PassedTick | None]
) -> ConditionResult[bool]:
    """Evaluates the condition and each of its parts."""
    return evaluate_condition(
        condition,
        lambda leaf: ticks[leaf] is not None if isinstance(leaf, TimeLeaf) else has_news(context, leaf, state),
    )


def consume_everything(context: PlanningContext, state: AssetState) -> RunConsumption:
    """Consumption of a run that no condition asked for: all events so far of the datasets that trigger the asset."""
    return RunConsumption({uri: context.state.dataset(uri).seq for uri in state.spec.listens})


def condition_usage(
    context: PlanningContext,
    condition: Condition,
    state: AssetState,
    ticks: Mapping[TimeLeaf, PassedTick | None],
    verdict: ConditionResult[bool] | ConditionResult[PartitionSet],
) -> ConditionUsage:
    """The events and ticks that a run uses up for the parts of the condition that hold.

    Events of the leaves that do not hold stay unused. Datasets that the condition does not name are used up as well. A
    verdict by partitions also says for which of them each leaf is used up.
    """
    used_leaves = verdict.used_leaves()
    leaf_names = {context.uri(state.name, leaf): leaf.ref for leaf in used_leaves if isinstance(leaf, UpdateLeaf)}
    unused_uris = {context.uri(state.name, leaf) for leaf in condition.leaves()} - leaf_names.keys()
    partitions: dict[str, PartitionSet] = {}
    for leaf, holding in used_leaves.items():
        if isinstance(holding, PartitionSet):
            key = leaf.source_text if isinstance(leaf, TimeLeaf) else context.uri(state.name, leaf)
            partitions[key] = partitions.get(key, NOTHING) | holding
    consumes = {uri: seq for uri, seq in consume_everything(context, state).consumes.items() if uri not in unused_uris}
    used_ticks = {leaf: tick for leaf, tick in ticks.items() if leaf in used_leaves}
    consumption = RunConsumption(consumes, _ticks_after(state, ticks, used_ticks))
    return ConditionUsage(leaf_names, consumption, partitions)


def _ticks_after(
    state: AssetState, leaves: Iterable[TimeLeaf], used_ticks: Mapping[TimeLeaf, PassedTick | None]
) -> dict[str, int]:
    """By the text of each time leaf, the last tick that is used once ``used_ticks`` are, Unix seconds."""
    last_planned = state.last.planned if state.last else 0
    last_used = {leaf: state.ticks.get(leaf.source_text, last_planned) for leaf in leaves}
    newly_used = {leaf: tick[0] for leaf, tick in used_ticks.items() if tick is not None}
    return {leaf.source_text: at for leaf, at in {**last_used, **newly_used}.items()}


def find_causes(context: PlanningContext, condition: Condition, state: AssetState) -> ConditionCauses:
    """Evaluates the condition now: its truth, the events and ticks behind it, and what a run for it would use up."""
    passed_ticks = find_passed_ticks(context, condition, state)
    verdict = evaluate_now(context, condition, state, passed_ticks)
    uses = condition_usage(context, condition, state, passed_ticks, verdict)
    used_leaves = verdict.used_leaves()
    ticks = {leaf: tick for leaf, tick in passed_ticks.items() if tick is not None and leaf in used_leaves}
    tick_texts = [f"{leaf_name(leaf)} at {context.format_instant(tick[0])}" for leaf, tick in ticks.items()]
    return ConditionCauses(
        verdict,
        context.unused_events(state, uses.leaf_names),
        uses,
        _find_true_since(context, verdict, state, passed_ticks),
        max((tick[0] for tick in ticks.values()), default=None),
        _span_intervals([interval for _, interval in ticks.values()]),
        next_tick(context, state, [leaf for leaf, tick in passed_ticks.items() if tick is None]),
        ", ".join([*([f"{listing(list(uses.leaf_names.values()))} updated"] if uses.leaf_names else []), *tick_texts]),
    )


def _span_intervals(intervals: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """From the first start to the last end; None without intervals."""
    if not intervals:
        return None
    return min(start for start, _ in intervals), max(end for _, end in intervals)


def next_tick(context: PlanningContext, state: AssetState, leaves: Iterable[TimeLeaf]) -> int | None:
    """When the first of these time leaves ticks next, Unix seconds; None when none will."""
    timetables = (leaf_timetable(context, leaf, state) for leaf in leaves)
    slots = (timetable.first_after(from_unix(context.now)) for timetable in timetables if timetable is not None)
    return min((to_unix(slot.run_after) for slot in slots if slot is not None), default=None)


def _find_true_since(
    context: PlanningContext,
    verdict: ConditionResult[bool],
    state: AssetState,
    ticks: Mapping[TimeLeaf, PassedTick | None],
) -> int:
    """When the condition became true, Unix seconds: with the last part of an `all`, with the first part of an `any`.

    Falls back to now where a part has no known event or tick.
    """
    match verdict.node:
        case TimeLeaf():
            tick = ticks[verdict.node]
            return tick[0] if tick is not None else context.now
        case UpdateLeaf():
            return min(
                (ref.at for ref in context.unused_events(state, [context.uri(state.name, verdict.node)])),
                default=context.now,
            )
    children_since = [_find_true_since(context, child, state, ticks) for child in verdict.children if child.value]
    return (
        min(children_since, default=context.now)
        if isinstance(verdict.node, AnyOf)
        else max(children_since, default=context.now)
    )
