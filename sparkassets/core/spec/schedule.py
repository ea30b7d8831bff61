"""When an asset is considered: a timetable, a condition over updates, or whenever an inlet is updated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from sparkassets.core.conditions import ConditionError, Leaf, join_any, parse_condition
from sparkassets.core.instants import InstantError, instant
from sparkassets.core.spec.document import At
from sparkassets.core.spec.drafts import AssetDraft, AssetFiles
from sparkassets.core.spec.files import CronMap
from sparkassets.core.spec.model import InletSpec, Schedule
from sparkassets.core.spec.times import Bounds, bounds
from sparkassets.core.suggestions import did_you_mean, meant_by
from sparkassets.core.timetables import Timetable, TimetableError, parse_timetable

_TIME = re.compile(r"\s*(?:@|[0-9*?][0-9*?/,LW#-]*(?:\s|$))")
_MANUAL: Final = "manual"


def compile_schedule(draft: AssetDraft, inlets: Mapping[str, InletSpec], assets: AssetFiles) -> Schedule:
    """The schedule; manual where it is wrong.

    Args:
        draft: The asset; what is wrong becomes its problems.
        inlets: Its inlets, for the default.
        assets: All assets.
    """
    written = draft.keys.schedule
    at = draft.at / "schedule"
    match written:
        case None:
            return _default(draft, inlets)
        case CronMap():
            inner = bounds(at, timezone=written.timezone, start=written.start, end=written.end, outer=draft.own)
            return _timetable(at / "cron", written.cron, inner)
        case str() if written.strip() == _MANUAL:
            return Schedule()
        case str() if _TIME.match(written):
            return _timetable(at, written, draft.own)
    own = draft.own

    def clock(value: str | Mapping[str, object]) -> Timetable:
        return parse_timetable(value, timezone=own.timezone, start=own.start, end=own.end)

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


def _timetable(at: At, text: str, within: Bounds) -> Schedule:
    """A cron or preset whose first slot exists."""
    if not at.document.failed.isdisjoint({"start", "end", "schedule"}):
        within = Bounds(within.timezone)
    try:
        timetable = parse_timetable(text, timezone=within.timezone, start=within.start, end=within.end)
    except (TimetableError, InstantError) as error:
        at.problem(str(error.args[0]), hint=error.hint)
        return Schedule()
    if within.start is not None and timetable.first_after(instant(within.start - 1)) is None:
        at.problem(f"schedule {text!r} never fires between its start and its end")
    return Schedule(timetable=timetable, text=text)


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
