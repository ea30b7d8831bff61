"""What a condition has to go by: updates and ticks that the asset has not used, and which of them made it true.

Only the parts that hold are used up: under ``a | (b & c)`` a run for ``a`` keeps an update of ``b`` for when ``c``
comes (DESIGN section 5, "An unsatisfied part does not forget").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from sparkassets.core.conditions import AnyOf, Condition, Leaf, Time, Verdict, evaluate
from sparkassets.core.instants import instant, unix
from sparkassets.core.journal.state import AssetState, EventRef
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.wording import listing, named
from sparkassets.core.runs import Consumption
from sparkassets.core.timetables import Timetable
from sparkassets.frozen import frozen

Passed = tuple[int, tuple[int, int]]
"""A tick of a time leaf: its instant and its data interval, Unix seconds."""


@frozen
class Uses:
    """What a run of a condition uses up once it succeeds.

    Attributes:
        named: Dataset of the leaves that made it true, to how the condition names it.
        consumption: Events also of datasets that the condition does not name, ticks also of time leaves that are left
            alone; nothing remains yet.
        blocks: Of a partitioned asset: dataset or time leaf that made it true, or can never have a say, to the time for
            which it is used.
    """

    named: Mapping[str, str] = field(default_factory=dict)
    consumption: Consumption = field(default_factory=Consumption)
    blocks: Mapping[str, PartitionSet] = field(default_factory=dict)


@frozen
class Causes:
    """A condition at one moment.

    Attributes:
        events: Unused events of the leaves that made it true, ascending.
        uses: What a run for it uses up.
        since: When it became true, Unix seconds.
        run_after: The newest tick that made it true.
        interval: Data interval of those ticks.
        until: When the next of the time leaves that do not hold will.
    """

    verdict: Verdict[bool]
    events: tuple[EventRef, ...] = ()
    uses: Uses = field(default_factory=Uses)
    since: int = 0
    run_after: int | None = None
    interval: tuple[int, int] | None = None
    until: int | None = None
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether the condition is true."""
        return self.verdict.value

    def skipping(self, numbers: tuple[int, ...]) -> Causes:
        """These causes for a run that leaves the events of these numbers."""
        consumption = replace(self.uses.consumption, skips=numbers)
        return replace(self, uses=replace(self.uses, consumption=consumption))

    def one_by_one(self) -> Iterator[Causes]:
        """Each event alone, in order; all together where the condition asks for more than any of some datasets."""
        node = self.verdict.node
        choices = node.children if isinstance(node, AnyOf) else (node,)
        if not self.events or not all(isinstance(each, Leaf) for each in choices):
            yield self
            return
        others = {uri: seq for uri, seq in self.uses.consumption.consumes.items() if uri not in self.uses.named}
        for event in self.events:
            consumption = replace(self.uses.consumption, consumes={**others, event.uri: event.seq})
            uses = replace(self.uses, consumption=consumption)
            yield replace(self, events=(event,), uses=uses, reason=f"{self.uses.named[event.uri]} updated")


def news_of(context: PlanningContext, leaf: Leaf, state: AssetState) -> bool:
    """Whether the leaf's dataset was updated since the asset last used it: the partitions of it that the asset reads.

    Of an asset with partitions, whether it was updated at all.
    """
    uri = context.uri(state.name, leaf)
    if state.spec.partitioning.is_partitioned:
        return context.state.dataset(uri).seq > state.consumed.get(uri, 0)
    if uri in state.partly:
        return True
    if context.state.dataset(uri).seq <= state.consumed.get(uri, 0):
        return False
    return _reads_all(state, uri) or any(_is_read(context, state, ref) for ref in context.unused(state, [uri]))


def _reads_all(state: AssetState, uri: str) -> bool:
    """Whether an asset without partitions reads all of a dataset, or only waits for it."""
    reading = [inlet for inlet in state.spec.inlets if inlet.uri == uri]
    return not reading or not all(inlet.needs.is_mapped for inlet in reading)


def _is_read(context: PlanningContext, state: AssetState, ref: EventRef) -> bool:
    """Whether an event tells of partitions that the asset reads, or read until the newest went."""
    there = context.state.dataset(ref.uri).coverage
    for inlet in state.spec.inlets:
        if inlet.uri == ref.uri:
            needed = inlet.needs.given(there)
            parts = needed.up(EVERYTHING)
            gone = needed.goes_by_newest and bool(parts) and ref.parts.clip(parts.last, None)
            if gone or ref.parts.overlaps(parts) or not parts:
                return True
    return False


def clock_of(context: PlanningContext, leaf: Time, state: AssetState) -> Timetable | None:
    """The timetable of a time leaf; that of a timer counts from the last update of its dataset, else from a `start`.

    None while neither is known, so that the timer does not run.
    """
    if leaf.without is None:
        return leaf.timetable
    since = context.state.dataset(context.uri(state.name, leaf.without)).at or leaf.timetable.start
    if since is None:
        return None
    from sparkassets.core.timetables.parse import parse_timetable  # few conditions have a timer

    return parse_timetable({"every": leaf.span}, timezone=leaf.timetable.timezone, start=since)


def passed(context: PlanningContext, leaf: Time, state: AssetState) -> Passed | None:
    """The newest tick of a time leaf since the last run that used it."""
    clock = clock_of(context, leaf, state)
    slot = clock.last_at(instant(context.now)) if clock is not None else None
    since = state.ticks.get(leaf.written, state.last.planned if state.last else None)
    if slot is None or (since is not None and unix(slot.run_after) <= since):
        return None
    return unix(slot.run_after), (unix(slot.start), unix(slot.end))


def ticks_of(context: PlanningContext, condition: Condition, state: AssetState) -> dict[Time, Passed | None]:
    """What `passed` says of each time leaf."""
    return {leaf: passed(context, leaf, state) for leaf in condition.times()}


def verdict_of(
    context: PlanningContext, condition: Condition, state: AssetState, ticks: Mapping[Time, Passed | None]
) -> Verdict[bool]:
    """Which parts of the condition hold."""
    return evaluate(
        condition, lambda leaf: ticks[leaf] is not None if isinstance(leaf, Time) else news_of(context, leaf, state)
    )


def everything(context: PlanningContext, state: AssetState) -> Consumption:
    """All events that are there: what a run uses that no condition asked for."""
    return Consumption({uri: context.state.dataset(uri).seq for uri in state.spec.listens})


def uses_of(
    context: PlanningContext,
    condition: Condition,
    state: AssetState,
    ticks: Mapping[Time, Passed | None],
    verdict: Verdict[bool] | Verdict[PartitionSet],
) -> Uses:
    """What a run for those parts of the condition that hold uses up."""
    used = verdict.used()
    refs = {context.uri(state.name, leaf): leaf.ref for leaf in used if isinstance(leaf, Leaf)}
    kept = {context.uri(state.name, leaf) for leaf in condition.leaves()} - refs.keys()
    blocks: dict[str, PartitionSet] = {}
    for leaf, part in used.items():
        if isinstance(part, PartitionSet):
            key = leaf.written if isinstance(leaf, Time) else context.uri(state.name, leaf)
            blocks[key] = blocks.get(key, NOTHING) | part
    before = state.last.planned if state.last else 0
    return Uses(
        refs,
        Consumption(
            {uri: seq for uri, seq in everything(context, state).consumes.items() if uri not in kept},
            {
                leaf.written: tick[0] if tick is not None and leaf in used else state.ticks.get(leaf.written, before)
                for leaf, tick in ticks.items()
            },
        ),
        blocks,
    )


def causes(context: PlanningContext, condition: Condition, state: AssetState) -> Causes:
    """How the condition stands, and what a run for it would use up."""
    times = ticks_of(context, condition, state)
    verdict = verdict_of(context, condition, state, times)
    uses = uses_of(context, condition, state, times, verdict)
    used = verdict.used()
    ticks = {leaf: tick for leaf, tick in times.items() if tick is not None and leaf in used}
    said = [f"{named(leaf)} at {context.when(tick[0])}" for leaf, tick in ticks.items()]
    return Causes(
        verdict,
        context.unused(state, uses.named),
        uses,
        _since(context, verdict, state, times),
        max((tick[0] for tick in ticks.values()), default=None),
        (min(i[0] for _, i in ticks.values()), max(i[1] for _, i in ticks.values())) if ticks else None,
        next_tick(context, state, [leaf for leaf, tick in times.items() if tick is None]),
        ", ".join([*([f"{listing(list(uses.named.values()))} updated"] if uses.named else []), *said]),
    )


def next_tick(context: PlanningContext, state: AssetState, leaves: Iterable[Time]) -> int | None:
    """When the first of these time leaves ticks next, Unix seconds; None when none will."""
    clocks = (clock_of(context, leaf, state) for leaf in leaves)
    slots = (clock.first_after(instant(context.now)) for clock in clocks if clock is not None)
    return min((unix(slot.run_after) for slot in slots if slot is not None), default=None)


def _since(
    context: PlanningContext, verdict: Verdict[bool], state: AssetState, ticks: Mapping[Time, Passed | None]
) -> int:
    """When a condition that holds became true: with the last of `all`, with the first of `any`; Unix seconds."""
    match verdict.node:
        case Time():
            tick = ticks[verdict.node]
            return tick[0] if tick is not None else context.now
        case Leaf():
            return min(
                (ref.at for ref in context.unused(state, [context.uri(state.name, verdict.node)])), default=context.now
            )
    found = [_since(context, child, state, ticks) for child in verdict.children if child.value]
    return min(found, default=context.now) if isinstance(verdict.node, AnyOf) else max(found, default=context.now)
