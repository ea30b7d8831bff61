"""Timetables that other packages register: their parameters, and their slots between bounds."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, runtime_checkable

from sparkassets.core.crons.wall_clock import HORIZON, first_from, last_until
from sparkassets.core.entry_points import PLUGIN_FAILURES, EntryPointRegistry, Factory
from sparkassets.core.instants import DAY, Duration, format_instant, from_unix, to_unix
from sparkassets.core.phrases import kind_of, show_value
from sparkassets.core.timetables.timetable import Catchup, Slot, TimetableError, describe_timetable, duration_range
from sparkassets.errors import describe_error
from sparkassets.frozen import frozen

BUILT_IN: Final = {rule: f"write it as a key, {{{rule}: …}}" for rule in ("cron", "at", "every", "times", "sun")}
REGISTRY: Final = EntryPointRegistry("timetable", "sparkassets.timetables", "schedule", TimetableError, BUILT_IN)
"""What packages register."""

_NONE: Final = Duration()
_EARLIEST: Final = to_unix(datetime(1900, 1, 1, tzinfo=UTC))
_LATEST: Final = to_unix(datetime(2200, 1, 1, tzinfo=UTC))
"""The rule is asked only for slots between these; Unix seconds."""
_FIRST_STRETCH, _YEAR = 32 * DAY, 366 * DAY
_MOST_REPEATS: Final = 1_000
"""Slots that a rule may give more than once in one answer; more mean that it does not advance."""


@runtime_checkable
class RegisteredTimetable(Protocol):
    """What an entry point of the group ``sparkassets.timetables`` returns for its parameters.

    The entry point is a callable, usually a frozen dataclass, whose annotated parameters are the keys beside
    ``timetable`` in the YAML; one that is named ``timezone`` gets the schedule's zone. Equal parameters must give equal
    slots, at any time and in any process.
    """

    def slots(self, start: datetime, end: datetime) -> Iterable[Slot]:
        """All slots with ``start <= run_after < end``, in any order; asked for the years 1900 to 2199.

        Args:
            start: Aware, UTC.
            end: Aware, UTC.
        """


@frozen
class RegisteredSlots:
    """The slots of a registered timetable, ascending by ``run_after``, then by ``start``.

    Attributes:
        text: The rule as it was written.
        timezone: The schedule's zone; also of the days and months of ``delay`` and ``window``.
        rule: Which slots there are.
        start: No interval begins before it; Unix seconds, None is open.
        end: No interval begins at it or after; Unix seconds, None is open.
        delay: Time from the rule's ``run_after`` until a run may start; not negative.
        window: Length of the intervals, up to their ends, in place of their own; above 0. The bounds apply to the
            interval before it gets this length.
        catchup: Which missed intervals run; None where it is not written.
    """

    text: str
    timezone: str
    rule: RegisteredTimetable
    start: int | None = None
    end: int | None = None
    delay: Duration = _NONE
    window: Duration | None = None
    catchup: Catchup | None = None

    @property
    def abutting(self) -> bool:
        """False: nothing is known of a registered rule's intervals."""
        return False

    def first_after(self, t: datetime) -> Slot | None:
        """The first slot with ``run_after`` later than ``t``; None when there is none within decades."""
        at = max(to_unix(t) + 1, _EARLIEST)
        return first_from(self._list_slots, at, min(at + HORIZON, _LATEST), stretch=_FIRST_STRETCH)

    def last_at(self, t: datetime) -> Slot | None:
        """The newest slot with ``run_after`` not later than ``t``; None when there is none within decades."""
        at = min(to_unix(t) + 1, _LATEST)
        return last_until(self._list_slots, max(at - HORIZON, _EARLIEST), at, stretch=_FIRST_STRETCH)

    def last_over(self, t: datetime) -> Slot | None:
        """The newest slot whose interval is over at ``t``, whatever delays its run; None when there is none.

        The search assumes that runs follow in the order of their intervals' ends, and that the time from an end to its
        run varies by less than a month.
        """
        undelayed, at = replace(self, delay=_NONE), to_unix(t)
        # how long after its end this slot runs says about how late the slots that end at `t` run
        nearby = undelayed.last_at(t) or undelayed.first_after(t)
        if nearby is None:
            return None

        def list_ended(start: int, end: int) -> list[Slot]:
            return [slot for slot in undelayed.between(from_unix(start), from_unix(end - 1)) if to_unix(slot.end) <= at]

        latest = min(at + to_unix(nearby.run_after) - to_unix(nearby.end) + _FIRST_STRETCH, _LATEST)
        newest = last_until(list_ended, max(at - HORIZON, _EARLIEST), latest, stretch=2 * _FIRST_STRETCH)
        return newest and replace(
            newest, run_after=from_unix(self.delay.add_to(to_unix(newest.run_after), self.timezone))
        )

    def between(self, a: datetime, b: datetime) -> Iterator[Slot]:
        """The slots with ``a <= run_after <= b``, oldest first."""
        start, end = max(to_unix(a) + bool(a.microsecond), _EARLIEST), min(to_unix(b) + 1, _LATEST)
        for page in range(start, end, _YEAR):
            yield from self._list_slots(page, min(page + _YEAR, end))

    def describe(self) -> str:
        """The rule for people, with its zone and bounds."""
        return describe_timetable(self)

    def _list_slots(self, start: int, end: int) -> list[Slot]:
        """The slots with ``run_after`` in ``[start, end)``, Unix seconds, oldest first.

        ``delay`` and ``window`` are applied, so the rule is asked for earlier slots too.
        """
        least, most = duration_range(self.delay)
        low, high = max(start - most, _EARLIEST), min(end - least, _LATEST)  # by the rule's own `run_after`
        modified = (
            [self._apply_modifiers(slot) for slot in self._query_rule(low, high) if self._is_within_bounds(slot)]
            if low < high
            else []
        )
        return sorted(
            {slot for slot in modified if start <= to_unix(slot.run_after) < end},
            key=lambda slot: (slot.run_after, slot.start, slot.end),
        )

    def _query_rule(self, start: int, end: int) -> set[Slot]:
        """The slots of the rule itself, checked, with its own ``run_after`` in ``[start, end)``.

        Raises:
            TimetableError: The rule fails or returns a wrong slot.
        """
        first, last = from_unix(start), from_unix(end)
        slots: set[Slot] = set()
        fault: str | None = None
        try:
            for count, slot in enumerate(self.rule.slots(first, last)):
                fault = _find_fault(slot, first, last)
                # slots is a set, so what exceeds it are slots that were given before
                if fault is None and count - len(slots) >= _MOST_REPEATS:
                    fault = f"slots(...) gave the slot that runs after {format_instant(slot.run_after)} again and again"
                if fault is not None:
                    break  # a rule that continues beyond the end, or does not advance, may never end
                slots.add(slot)
        except PLUGIN_FAILURES as error:
            raise TimetableError(f"{self.text} failed: {describe_error(error)}") from error
        if fault:
            raise TimetableError(f"{self.text} is wrong: {fault}")
        return slots

    def _is_within_bounds(self, slot: Slot) -> bool:
        """Whether the slot's interval, before any ``window``, begins within ``start`` and ``end``."""
        begin = to_unix(slot.start)
        return (self.start is None or begin >= self.start) and (self.end is None or begin < self.end)

    def _apply_modifiers(self, slot: Slot) -> Slot:
        """The slot, delayed and with the length of ``window``."""
        end = to_unix(slot.end)
        start = (-self.window).add_to(end, self.timezone) if self.window else to_unix(slot.start)
        return Slot(
            from_unix(self.delay.add_to(to_unix(slot.run_after), self.timezone)), from_unix(start), from_unix(end)
        )


def build_registered_timetable(
    name: object,
    parameters: Mapping[str, object],
    *,
    timezone: str,
    installed: Mapping[str, Factory],
    reserved: Collection[str],
) -> RegisteredSlots:
    """Builds the timetable that a package registered under a name.

    Args:
        name: As written in the schedule.
        parameters: The other keys of the schedule, without its modifiers.
        timezone: Zone of the schedule.
        installed: Registered timetables; only this name is looked up.
        reserved: Keys that every schedule has, so that no parameter but ``timezone`` can have such a name.

    Raises:
        TimetableError: There is none of that name, or its parameters are wrong.
    """
    if not isinstance(name, str):
        raise TimetableError(
            f"'timetable' of a schedule is {show_value(name)}; expected the name of a registered timetable"
        )
    zone = {"timezone": timezone}
    rule = REGISTRY.make(name, parameters, installed=installed, reserved=reserved, supplied=zone)
    if not isinstance(rule, RegisteredTimetable):
        raise TimetableError(f"timetable '{name}' has no method 'slots(start, end)'; it is {kind_of(rule)}")
    written = ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in parameters.items())
    return RegisteredSlots(f"timetable {name}" + (f" {{{written}}}" if written else ""), timezone, rule)


def _find_fault(slot: object, start: datetime, end: datetime) -> str | None:
    """What is wrong with a slot that the rule returned for ``[start, end)``; None where it is right."""
    if not isinstance(slot, Slot):
        return f"slots(...) gave {kind_of(slot)}; expected sparkassets.Slot"
    for field in ("run_after", "start", "end"):
        value = getattr(slot, field)
        if not isinstance(value, datetime) or value.utcoffset() != timedelta(0):
            return f"'{field}' of a slot is {value}; expected an aware datetime in UTC"
    if slot.end < slot.start:
        return f"a slot ends at {format_instant(slot.end)}, before it starts at {format_instant(slot.start)}"
    if not start <= slot.run_after < end:
        asked_range = f"{format_instant(start)} to {format_instant(end)}"
        return f"a slot runs after {format_instant(slot.run_after)}, outside the range {asked_range}"
    return None
