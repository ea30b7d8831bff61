"""When an asset is considered: a timetable, a condition over updates, or whenever an inlet is updated."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from sparkassets.core.conditions import UpdateLeaf, datasets, join_any
from sparkassets.core.conditions.parsing import UnreadableConditionError, is_time_text, parse_condition
from sparkassets.core.entry_points import Factory
from sparkassets.core.instants import from_unix, to_unix
from sparkassets.core.spec.drafts import AssetDraft, AssetFiles
from sparkassets.core.spec.model import AssetSpec, InletSpec, Schedule
from sparkassets.core.spec.outlets import refuse_own_uri, refuse_reference
from sparkassets.core.spec.schedule_models import RegisteredMap, ScheduleMap
from sparkassets.core.spec.time_bounds import TimeBounds, compile_bounds
from sparkassets.core.spec.time_dimension import are_intervals
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.suggestions import did_you_mean, suggest_close
from sparkassets.core.timetables import ContinuousTimetable, OnceTimetable, Timetable, TimetableError
from sparkassets.core.timetables.parse import KINDS, MODIFIERS, parse_timetable
from sparkassets.core.timetables.registered import RegisteredSlots

_MANUAL: Final = "manual"
_WHEN: Final[Mapping[tuple[bool, bool], str]] = {
    (False, False): "",
    (True, False): " after its start",
    (False, True): " before its end",
    (True, True): " between its start and its end",
}
"""By whether a schedule has a start, and an end."""
_ANY_TIME: Final = to_unix(datetime(1, 1, 2, tzinfo=UTC))
"""Before all ticks; Unix seconds."""


def compile_schedule(
    draft: AssetDraft, inlets: Mapping[str, InletSpec], assets: AssetFiles, *, installed: Mapping[str, Factory]
) -> Schedule:
    """The schedule of an asset; manual where it is wrong, which becomes a problem.

    Args:
        draft: The asset.
        inlets: Its inlets, for the default.
        assets: All assets, for names in conditions.
        installed: The timetables that packages registered, by name.
    """
    written = draft.keys.schedule
    at = draft.at / "schedule"
    match written:
        case None:
            return _make_default_schedule(draft, inlets)
        case ScheduleMap() | RegisteredMap():
            return _compile_map(at, written, draft.bounds, installed)
        case str() if written.strip() == _MANUAL:
            return Schedule()
        case str() if is_time_text(written):
            return _make_schedule(compile_timetable(at, written, draft.bounds, installed), written)
    return _compile_condition(draft, written, assets, installed)


def _make_default_schedule(draft: AssetDraft, inlets: Mapping[str, InletSpec]) -> Schedule:
    """The schedule of an asset without one: any update of an inlet that makes something stale; manual without inlets.

    A problem if no update of its inlets does: the asset would never run.
    """
    causes = [UpdateLeaf(name) for name, inlet in inlets.items() if inlet.on_update == "rerun"]
    if causes:
        condition = join_any(causes)
        return Schedule(condition=condition, text=condition.text(), default=True)
    if inlets and draft.are_reliable("schedule", "partition", "inlets"):
        message = f"nothing ever triggers asset {draft.name!r}: it ignores the updates of all its inlets"
        unpartitioned = "an inlet without time or partitions"
        hint = f"{unpartitioned} has 'on_update: ignore' by default; write 'on_update: rerun' or a schedule"
        (draft.at / "asset").add_problem(message, hint=hint)
    return Schedule(default=True)


def compile_timetable(
    at: DocumentPlace, value: str | Mapping[str, object], within: TimeBounds, installed: Mapping[str, Factory]
) -> Timetable | None:
    """The timetable of a text or a map; None where it is wrong or has no slot, which becomes problems.

    Args:
        at: The place of the value.
        value: The value, without its zone and bounds.
        within: The zone and the bounds.
        installed: The timetables that packages registered, by name.
    """
    if not at.document.failed.isdisjoint({"start", "end", "schedule"}):
        within = TimeBounds(within.timezone)
    try:
        return _parse_checked_timetable(value, within, installed)
    except TimetableError as error:
        is_schedule_reliable = "schedule" not in at.document.failed
        for each in error.all_errors:
            if is_schedule_reliable or not each.lacks:
                _report_error(at, each)
        # once more without the wrong modifier, to report what else is wrong
        if not isinstance(value, str) and error.path and error.path[0] in MODIFIERS:
            without_modifier = {key: each for key, each in value.items() if key != error.path[0]}
            compile_timetable(at, without_modifier, within, installed)
        return None


def _parse_checked_timetable(
    value: str | Mapping[str, object], within: TimeBounds, installed: Mapping[str, Factory]
) -> Timetable:
    """The timetable of a text or a map.

    Raises:
        TimetableError: It is wrong, or never fires within its bounds.
    """
    timetable = parse_timetable(
        value, timezone=within.timezone, start=within.start, end=within.end, installed=installed
    )
    if not _has_slot(timetable):
        when = _WHEN[timetable.start is not None, timetable.end is not None]
        raise TimetableError(f"schedule {timetable.text!r} never fires{when}", path=_find_rule_key(value))
    return timetable


def _find_rule_key(value: str | Mapping[str, object]) -> tuple[str, ...]:
    """The path of the key that holds a timetable's rule, such as ``("cron",)``; empty for a text."""
    return () if isinstance(value, str) else tuple(value.keys() & KINDS.keys())


def _has_slot(timetable: Timetable) -> bool:
    """Whether the timetable has a first slot.

    A registered timetable is asked even without bounds, so that its package's errors are found here.
    """
    is_bounded = timetable.start is not None or timetable.end is not None
    always_fires = isinstance(timetable, ContinuousTimetable) or (
        isinstance(timetable, OnceTimetable) and timetable.start is None
    )
    if always_fires or not (is_bounded or isinstance(timetable, RegisteredSlots)):
        return True
    # `first_after` leaves out the instant itself, so the second before the start is asked for
    after = _ANY_TIME if timetable.start is None else max(timetable.start - 1, _ANY_TIME)
    return timetable.first_after(from_unix(after)) is not None


def _compile_condition(
    draft: AssetDraft, written: object, assets: AssetFiles, installed: Mapping[str, Factory]
) -> Schedule:
    """The schedule of a condition over updates; a condition with mistakes becomes problems and a manual schedule.

    The datasets that the condition names are checked even if the rest of it cannot be read.
    """

    def clock(value: str | Mapping[str, object]) -> Timetable:
        return _parse_condition_time(value, draft, installed)

    try:
        condition = parse_condition(written, clock)
        leaves = iter(datasets(condition))
    except UnreadableConditionError as unreadable:
        condition, leaves = None, iter(unreadable.leaves)
        for error in unreadable.errors:
            at = draft.at / "schedule"
            for step in error.path:
                at = at / step
            if error.at_key:
                at.add_key_problem(str(error.args[0]), hint=error.hint)
            else:
                at.add_text_problem(error.position, str(error.args[0]), width=error.width, hint=error.hint)
    for leaf in dict.fromkeys(leaves):
        _check_leaf(draft, leaf, assets, is_whole_condition=leaf == condition)
    return Schedule(condition=condition, text=condition.text()) if condition else Schedule()


def _parse_condition_time(
    value: str | Mapping[str, object], draft: AssetDraft, installed: Mapping[str, Factory]
) -> Timetable:
    """The timetable of a time inside a condition.

    Raises:
        TimetableError: It is wrong, has no slot, or has options that mean nothing in a condition.
    """
    timetable = _parse_checked_timetable(value, draft.bounds, installed)
    if isinstance(timetable, ContinuousTimetable):
        message = f"{timetable.text!r} cannot be part of a condition: it is always due"
        raise TimetableError(message, path=_find_rule_key(value))
    if isinstance(timetable, OnceTimetable) and timetable.start is None and draft.are_reliable("start"):
        message = f"{timetable.text!r} in a condition needs a 'start'"
        hint = 'write {cron: "@once", start: 2025-01-31T06:00}'
        raise TimetableError(message, hint=hint, path=_find_rule_key(value))
    if timetable.catchup is not None:
        message = "'catchup' has no effect in a condition: all ticks since the last run count as one"
        raise TimetableError(message, path=("catchup",), at_key=True)
    return timetable


def _compile_map(
    at: DocumentPlace, written: ScheduleMap | RegisteredMap, outer: TimeBounds, installed: Mapping[str, Factory]
) -> Schedule:
    within = compile_bounds(at, timezone=written.timezone, start=written.start, end=written.end, outer=outer)
    rule = written.model_dump(exclude_unset=True, exclude={"timezone", "start", "end"})
    timetable = compile_timetable(at, rule, within, installed)
    return _make_schedule(timetable, timetable.text if timetable else "")


def _make_schedule(timetable: Timetable | None, text: str) -> Schedule:
    return Schedule(timetable=timetable, text=text) if timetable else Schedule()


def _report_error(at: DocumentPlace, error: TimetableError) -> None:
    """Adds the error as a problem, at the value or key at fault."""
    for step in error.path:
        at = at / step
    (at.add_key_problem if error.at_key else at.add_problem)(str(error.args[0]), hint=error.hint)


def _check_leaf(draft: AssetDraft, leaf: UpdateLeaf, assets: AssetFiles, *, is_whole_condition: bool) -> None:
    """Refuses a name in a condition: the asset itself, its own dataset, an outlet of it, or an unknown asset.

    ``is_whole_condition`` says that the name is the whole condition, so that it may be a misspelt `manual`.
    """
    at = draft.at / "schedule"
    if leaf.is_uri:
        if leaf.ref == draft.uri and draft.are_reliable("uri", "path"):
            at.add_word_problem(leaf.ref, f"asset {draft.name!r} cannot wait for its own dataset {leaf.ref!r}")
        elif refusal := refuse_own_uri(draft, leaf.ref, assets.drafts):
            at.add_word_problem(leaf.ref, refusal)
    elif leaf.ref == draft.name:
        at.add_word_problem(leaf.ref, f"asset {draft.name!r} cannot wait for itself")
    elif leaf.ref not in assets.names and leaf.ref == _MANUAL:
        at.add_word_problem(_MANUAL, f"{_MANUAL!r} cannot be part of a condition")
    elif leaf.ref not in assets.names:
        others = assets.candidates(draft.name)
        hint = (suggest_close(leaf.ref, [_MANUAL]) if is_whole_condition else None) or did_you_mean(leaf.ref, others)
        at.add_word_problem(leaf.ref, f"unknown asset {leaf.ref!r}", hint=hint)
    elif refusal_with_hint := refuse_reference(draft, leaf.ref, assets.drafts):
        at.add_word_problem(leaf.ref, refusal_with_hint[0], hint=refusal_with_hint[1])
    elif leaf.ref in assets.drafts and assets.drafts[leaf.ref].shares_dataset(draft):
        message = f"asset {draft.name!r} cannot wait for {leaf.ref!r}: both are the dataset {draft.uri!r}"
        at.add_word_problem(leaf.ref, message)


def check_aligned(draft: AssetDraft, asset: AssetSpec, upstream: AssetSpec) -> None:
    """Refuses ``partitions: aligned`` unless both assets have a timetable with ticks and one run for each tick."""
    at = draft.at / "inlets" / upstream.name / "partitions"
    if asset.partitioning.is_ahead:
        at.add_problem("'partitions: aligned' needs past ticks, but the partition extends beyond now")
    if isinstance(upstream.strategy, EveryInstance) and upstream.partitioning.is_partitioned:
        if _is_one_iteration(upstream):
            return
        hint = "leave 'partitions' out: each partition then waits for the inlet partitions that it needs"
        message = f"'partitions: aligned' needs one run for each interval, but asset {upstream.name!r} has several"
        at.add_problem(message, hint=hint)
        return
    for each in (asset, upstream):
        timetable = each.schedule.timetable
        if timetable is None or isinstance(timetable, OnceTimetable | ContinuousTimetable):
            if not draft.are_reliable("schedule") or each.schedule == Schedule():
                hint = "write 'schedule' as a cron or another timetable"
            else:
                hint = f"it is {each.schedule.text!r}; write it as a cron or another timetable"
            at.add_problem(f"'partitions: aligned' needs a timetable as the schedule of asset {each.name!r}", hint=hint)
            return


def _is_one_iteration(asset: AssetSpec) -> bool:
    """Whether each interval of the asset's schedule has one run, which publishes an iteration for it."""
    dimension = asset.partitioning.time
    if not asset.publishes or dimension is None or asset.partitioning.names != (dimension.name,):
        return False
    timetable = asset.schedule.timetable
    return dimension.column is None and timetable is not None and are_intervals(dimension, timetable)
