"""What a condition has to go by: updates and ticks that the asset has not used, and which of them made it true.

Only the parts that hold are used up: under ``a | (b & c)`` a run for ``a`` keeps an update of ``b`` for when ``c``
comes (DESIGN section 5, "An unsatisfied part does not forget").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sparkassets.core.conditions import Any as AnyOf
from sparkassets.core.conditions import Condition, Leaf, Time, Verdict, evaluate
from sparkassets.core.instants import epoch, instant
from sparkassets.core.journal.state import AssetState, EventRef
from sparkassets.core.planner.look import Look
from sparkassets.core.planner.wording import listing, when


@dataclass(frozen=True, slots=True)
class Causes:
    """A condition at one moment.

    Attributes:
        named: Datasets of the condition's leaves.
        events: Unused events of the leaves that made it true, ascending.
        consumes: Dataset to the number up to which a run uses its events.
        ticks: Time leaf to the instant up to which a run uses its ticks, epoch seconds; also those it leaves alone.
        run_after: The newest tick that made it true.
        interval: Data interval of those ticks.
        later: Time leaves that do not hold.
        until: When the next of them will.
    """

    verdict: Verdict[bool]
    named: tuple[str, ...] = ()
    events: tuple[EventRef, ...] = ()
    consumes: Mapping[str, int] = field(default_factory=dict)
    ticks: Mapping[str, int] = field(default_factory=dict)
    run_after: int | None = None
    interval: tuple[int, int] | None = None
    later: tuple[str, ...] = ()
    until: int | None = None
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether the condition is true."""
        return self.verdict.value

    def one_by_one(self) -> Iterator[Causes]:
        """Each event alone, in order; all together where the condition asks for more than any of some datasets."""
        node = self.verdict.node
        choices = node.children if isinstance(node, AnyOf) else (node,)
        if not self.events or not all(isinstance(each, Leaf) for each in choices):
            yield self
            return
        refs = {uri: leaf.ref for uri, leaf in zip(self.named, node.leaves(), strict=True)}
        for event in self.events:
            reason = f"{refs[event.uri]} updated"
            yield replace(self, events=(event,), consumes={event.uri: event.seq}, reason=reason)


def news_of(look: Look, leaf: Leaf, state: AssetState) -> bool:
    """Whether the leaf's dataset was updated since the asset last used it."""
    uri = look.uri(leaf)
    return look.state.dataset(uri).seq > state.consumed.get(uri, 0)


def passed(look: Look, leaf: Time, state: AssetState) -> tuple[int, tuple[int, int]] | None:
    """The newest tick of a time leaf since the last run that used it, as (instant, data interval); epoch seconds."""
    slot = leaf.timetable.last_at(instant(look.now))
    since = state.ticks.get(leaf.written, state.last.planned if state.last else None)
    if slot is None or (since is not None and epoch(slot.run_after) <= since):
        return None
    return epoch(slot.run_after), (epoch(slot.start), epoch(slot.end))


def verdict_of(look: Look, condition: Condition, state: AssetState) -> Verdict[bool]:
    """Which parts of the condition hold."""

    def truth(leaf: Leaf | Time) -> bool:
        return passed(look, leaf, state) is not None if isinstance(leaf, Time) else news_of(look, leaf, state)

    return evaluate(condition, truth)


def causes(look: Look, condition: Condition, state: AssetState) -> Causes:
    """How the condition stands, and what a run for it would use up."""
    times = {leaf: passed(look, leaf, state) for leaf in condition.times()}
    verdict = verdict_of(look, condition, state)
    used = dict.fromkeys(verdict.used())
    uris = list(dict.fromkeys(look.uri(leaf) for leaf in used if isinstance(leaf, Leaf)))
    ticks = {leaf: tick for leaf, tick in times.items() if tick is not None and leaf in used}
    before = state.last.planned if state.last else 0
    kept = {leaf.written: state.ticks.get(leaf.written, before) for leaf in times if leaf not in ticks}
    coming = [slot for leaf in times if (slot := leaf.timetable.first_after(instant(look.now))) is not None]
    names = [leaf.ref for leaf in used if isinstance(leaf, Leaf)]
    said = [f"{leaf.written} at {when(tick[0])}" for leaf, tick in ticks.items()]
    return Causes(
        verdict,
        tuple(look.uri(leaf) for leaf in condition.leaves()),
        look.unused(state, uris),
        {uri: look.state.dataset(uri).seq for uri in uris},
        {**kept, **{leaf.written: tick[0] for leaf, tick in ticks.items()}},
        max((tick[0] for tick in ticks.values()), default=None),
        (min(i[0] for _, i in ticks.values()), max(i[1] for _, i in ticks.values())) if ticks else None,
        tuple(leaf.written for leaf, tick in times.items() if tick is None),
        min((epoch(slot.run_after) for slot in coming), default=None),
        ", ".join([*([f"{listing(names)} updated"] if names else []), *said]),
    )
