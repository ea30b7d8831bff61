"""When an asset is considered: a timetable, a condition over updates, or whenever an inlet is updated."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from sparkassets.core.conditions import ConditionError, Leaf, is_time, join_any, parse_condition
from sparkassets.core.instants import epoch, instant
from sparkassets.core.spec.document import At
from sparkassets.core.spec.drafts import AssetDraft, AssetFiles
from sparkassets.core.spec.files import RegisteredMap, ScheduleMap
from sparkassets.core.spec.model import InletSpec, Schedule
from sparkassets.core.spec.times import Bounds, bounds
from sparkassets.core.suggestions import did_you_mean, meant_by
from sparkassets.core.timetables import (
    KINDS,
    MODIFIERS,
    Continuous,
    Factory,
    RegisteredSlots,
    Timetable,
    TimetableError,
    parse_timetable,
)

_MANUAL: Final = "manual"
_ANY_TIME: Final = epoch(datetime(1, 1, 2, tzinfo=UTC))
"""Before all ticks; epoch seconds."""


def compile_schedule(
    draft: AssetDraft, inlets: Mapping[str, InletSpec], assets: AssetFiles, *, installed: Mapping[str, Factory]
) -> Schedule:
    """The schedule; manual where it is wrong.

    Args:
        draft: The asset; what is wrong becomes its problems.
        inlets: Its inlets, for the default.
        assets: All assets.
        installed: The timetables that other packages registered, by name.
    """
    written = draft.keys.schedule
    at = draft.at / "schedule"
    match written:
        case None:
            return _default(draft, inlets)
        case ScheduleMap() | RegisteredMap():
            return _from_map(at, written, draft.own, installed)
        case str() if written.strip() == _MANUAL:
            return Schedule()
        case str() if is_time(written):
            return _schedule(compile_timetable(at, written, draft.own, installed), written)
    own = draft.own

    def clock(value: str | Mapping[str, object]) -> Timetable:
        return parse_timetable(value, timezone=own.timezone, start=own.start, end=own.end, installed=installed)

    try:
        condition = parse_condition(written, clock)
    except ConditionError as error:
        for step in error.path:
            at = at / step
        at.text_problem(error.position, str(error.args[0]), width=error.width, hint=error.hint)
        return Schedule()
    for leaf in dict.fromkeys(condition.leaves()):
        _check_leaf(draft, leaf, assets)
    return Schedule(condition=condition, text=condition.text())


def _default(draft: AssetDraft, inlets: Mapping[str, InletSpec]) -> Schedule:
    """Whenever an inlet is updated that makes something stale; manual without inlets."""
    causes = [Leaf(name) for name, inlet in inlets.items() if inlet.on_update == "rerun"]
    if causes:
        condition = join_any(causes)
        return Schedule(condition=condition, text=condition.text(), default=True)
    if inlets and draft.sure("schedule", "partition", "inlets"):
        message = f"nothing ever triggers asset {draft.name!r}: the updates of all its inlets are ignored"
        hint = "an inlet without partitions has 'on_update: ignore' by default; write 'on_update: rerun' or a schedule"
        (draft.at / "asset").problem(message, hint=hint)
    return Schedule(default=True)


def compile_timetable(
    at: At, value: str | Mapping[str, object], within: Bounds, installed: Mapping[str, Factory]
) -> Timetable | None:
    """The timetable of a text or of a map, whose first slot exists; None where it is wrong, which becomes problems.

    Args:
        at: Where the value stands.
        value: As YAML gives it, without the keys that are in ``within``.
        within: Its zone and bounds.
        installed: The timetables that other packages registered, by name.
    """
    if not at.document.failed.isdisjoint({"start", "end", "schedule"}):
        within = Bounds(within.timezone)
    try:
        timetable = parse_timetable(
            value, timezone=within.timezone, start=within.start, end=within.end, installed=installed
        )
        fires = _fires(timetable, within)
    except TimetableError as error:
        _report(at, error)
        rest = {} if isinstance(value, str) else {key: each for key, each in value.items() if key not in error.path[:1]}
        if error.path and error.path[0] in MODIFIERS and error.path[0] != "calendar":  # what else is wrong
            compile_timetable(at, rest, within, installed)
        return None
    if not fires:
        path = () if isinstance(value, str) else tuple(value.keys() & KINDS.keys())
        _report(at, TimetableError(f"schedule {timetable.text!r} never fires between its start and its end", path=path))
        return None
    return timetable


def _fires(timetable: Timetable, within: Bounds) -> bool:
    """Whether there is a first slot; a registered timetable is asked in any case, so that its faults are told here."""
    bounded = within.start is not None or within.end is not None
    if isinstance(timetable, Continuous) or not (bounded or isinstance(timetable, RegisteredSlots)):
        return True
    return timetable.first_after(instant(_ANY_TIME if within.start is None else within.start - 1)) is not None


def _from_map(
    at: At, written: ScheduleMap | RegisteredMap, outer: Bounds, installed: Mapping[str, Factory]
) -> Schedule:
    sure = "schedule" not in at.document.failed
    within = bounds(at, timezone=written.timezone, start=written.start, end=written.end, outer=outer)
    rule = written.model_dump(exclude_unset=True, exclude={"timezone", "start", "end"})
    if not sure and rule.keys().isdisjoint(KINDS):
        return Schedule()
    timetable = compile_timetable(at, rule, within, installed)
    return _schedule(timetable, timetable.text if timetable else "")


def _schedule(timetable: Timetable | None, text: str) -> Schedule:
    return Schedule(timetable=timetable, text=text) if timetable else Schedule()


def _report(at: At, error: TimetableError) -> None:
    """The problem, at the value or key at fault."""
    for step in error.path:
        at = at / step
    (at.key_problem if error.at_key else at.problem)(str(error.args[0]), hint=error.hint)


def _check_leaf(draft: AssetDraft, leaf: Leaf, assets: AssetFiles) -> None:
    at = draft.at / "schedule"
    if leaf.is_uri:
        if leaf.ref == draft.uri and draft.sure("uri", "path"):
            at.word_problem(leaf.ref, f"asset {draft.name!r} cannot wait for its own dataset {leaf.ref!r}")
    elif leaf.ref == draft.name:
        at.word_problem(leaf.ref, f"asset {draft.name!r} cannot wait for itself")
    elif leaf.ref not in assets.names:
        others = assets.names - {draft.name}
        hint = meant_by(leaf.ref, [_MANUAL]) or did_you_mean(leaf.ref, others)
        at.word_problem(leaf.ref, f"unknown asset {leaf.ref!r}", hint=hint)
