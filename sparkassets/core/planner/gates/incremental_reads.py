"""Plans the reads of inlets of which only the changes are read.

A run is refused where the changes since its last read are no longer available and rereading would append rows twice.
"""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress, DueRun
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext, UpstreamBlocker
from sparkassets.core.runs import ChangeAvailability, InletPin, TablePosition
from sparkassets.core.spec.model import AssetSpec, InletSpec, ReadAfter, ReadChanges
from sparkassets.errors import InputError
from sparkassets.frozen import frozen, replace

_TURN_ON = "ALTER TABLE … SET TBLPROPERTIES (delta.enableChangeDataFeed = true)"


@frozen
class InletIncrement:
    """The planned read of one inlet of which only the changes are read.

    Attributes:
        pin: Pin with the position (``low``) after which it reads; without a position it reads all.
        note: Remark for the run's reason.
        refusal: Why it cannot be read, and what a person can do; None where it can.
        rereads_all: Whether all rows are read again although some were read before.
    """

    pin: InletPin
    note: str
    refusal: str | None = None
    rereads_all: bool = False

    @property
    def is_behind(self) -> bool:
        """Whether the inlet's table is at another version than was read; False where none was read by version."""
        position, version = TablePosition.parse(self.pin.low or ""), self.pin.version
        return (
            position is not None and version is not None and position != TablePosition(self.pin.table_id or "", version)
        )


def apply_increments(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step that pins the changes of inlets that due runs read, or says why the changes are not available.

    A run that settles an unfinished one goes on in any case: a commit found in its table is recorded, and an
    unavailable read is refused when it reads.
    """
    increments = _find_increments(case.context, case.asset, case.state)
    refusals = [each.refusal for each in increments.values() if each.refusal is not None]
    if refusals and not case.state.chain:
        waiting = tuple(Waiting(case.asset.name, reason, stuck=True) for reason in refusals)
        blocker = UpstreamBlocker(EVERYTHING, f"{case.asset.name}: {refusals[0]}")
        return DecisionProgress((), progress.due, waiting=(*progress.waiting, *waiting), blockers=(blocker,))
    return _pin_increments(case, progress, increments) if increments else progress


def increment_refusals(context: PlanningContext, asset: AssetSpec, state: AssetState) -> list[str]:
    """Why the changes of the asset's inlets cannot be read, each with what a person can do; empty if they can."""
    return [each.refusal for each in _find_increments(context, asset, state).values() if each.refusal is not None]


def _find_increments(context: PlanningContext, asset: AssetSpec, state: AssetState) -> dict[str, InletIncrement]:
    """The planned read, by inlet name, of inlets that are read by their changes or were read in another way before."""
    if all(inlet.read is None for inlet in asset.inlets.values()):
        return {}
    increments = {
        inlet.name: plan_increment(context, asset, state, inlet)
        for inlet in filter(_reads_changes, asset.inlets.values())
    }
    return increments | {
        inlet.name: _plan_column_read(context, asset, state, inlet)
        for inlet in _inlets_read_otherwise_before(asset, state)
    }


def _pin_increments(
    case: DecisionInput, progress: DecisionProgress, increments: Mapping[str, InletIncrement]
) -> DecisionProgress:
    """Pins these reads in every due run.

    A run reads only what is new, or everything (pins without ``low``). No change feed says which rows left an inlet
    that is read again, so the run's rows replace the whole table. They also do where a run rereads all for another
    reason while the position advances past unread changes.
    """
    asset = case.asset
    is_recomputable = asset.is_recomputable
    must_reread_all = is_recomputable and any(each.rereads_all for each in increments.values())
    has_unread_changes = any(each.is_behind for each in increments.values())
    new_pins = {name: each.pin for name, each in increments.items()}
    full_pins = {name: replace(pin, low=None) for name, pin in new_pins.items()}

    def pin_due_run(due_run: DueRun) -> DueRun:
        """The due run with the pins of its incremental reads, and whether it rebuilds the table."""
        if due_run.accepted and due_run.pins:
            return due_run  # an accepted run publishes the rows that the person saw, so it keeps its pins
        rereads_all = must_reread_all or (is_recomputable and due_run.rereads_all)
        # a backfill moves no position, so the next run still reads the changes
        keeps_rows = due_run.is_recovery and case.state.chain[-1].entry.kind == "backfill"
        pins = {**due_run.pins, **(full_pins if rereads_all else new_pins)}
        notes = (
            *due_run.notes,
            *filter(None, [_describe_increment(*each, rereads_all=rereads_all) for each in increments.items()]),
        )
        rebuilds = must_reread_all or (rereads_all and has_unread_changes and not keeps_rows)
        return replace(due_run, pins=pins, rereads_all=rereads_all, rebuilds=rebuilds, notes=notes)

    return replace(progress, due_runs=tuple(map(pin_due_run, progress.due_runs)))


def _describe_increment(inlet: str, increment: InletIncrement, *, rereads_all: bool) -> str:
    """Remark about a read for the run's reason.

    ``rereads_all`` is whether the run reads everything, which may have another reason than this inlet.
    """
    return (
        f"reads all of {inlet} (version {increment.pin.version})"
        if rereads_all and increment.pin.low is not None
        else increment.note
    )


def plan_increment(context: PlanningContext, asset: AssetSpec, state: AssetState, inlet: InletSpec) -> InletIncrement:
    """Plans the read of an inlet that is read by its changes: those after the last read version, or all of it.

    The first read takes all. So does one whose changes were lost, unless the asset appends, which is refused. Changes
    that were never recorded, or cannot be read now, are refused for any asset.
    """
    watermark = state.watermarks.get(inlet.name)
    pin = context.pin(inlet, EVERYTHING, watermark)
    if pin.version is None or pin.table_id is None:
        return InletIncrement(pin, "")  # there is no table yet
    if watermark is None:
        note = f"reads all of {inlet.name} first (version {pin.version})"
        return InletIncrement(
            pin, note, rereads_all=_has_written_table(context, asset)
        )  # a table that was restored may hold rows of earlier reads
    position = TablePosition.parse(watermark)
    availability = _check_changes(context, inlet, position, pin)
    if availability.kind in ("unrecorded", "unreadable"):
        return InletIncrement(pin, "", _explain_unavailable(inlet, availability))
    if position is None or availability.kind == "lost":
        return _reread_all(asset, inlet, pin, availability.reason)
    if position.version == pin.version:
        return InletIncrement(pin, f"{inlet.name} has no changes after version {pin.version}")
    return InletIncrement(pin, f"reads the changes of {inlet.name} in {describe_versions(position, pin.version)}")


def _has_written_table(context: PlanningContext, asset: AssetSpec) -> bool:
    """Whether a run would write to a table that exists already."""
    return any(context.state_of(context.asset(name)).table_id is not None for name in asset.written_assets)


def _inlets_read_otherwise_before(asset: AssetSpec, state: AssetState) -> list[InletSpec]:
    """The inlets that are read above a column's highest value now, and were read in another way before."""
    return [each for each in asset.inlets.values() if _describe_earlier_read(state, each)]


def _describe_earlier_read(state: AssetState, inlet: InletSpec) -> str:
    """How the inlet was read before, where it is read above a column's highest value now; for a sentence.

    Empty where it was read in the same way, or not at all.
    """
    watermark = state.watermarks.get(inlet.name)
    if watermark is None or not isinstance(inlet.read, ReadAfter):
        return ""
    if TablePosition.parse(watermark) is not None:
        return "by its changes"
    column = state.columns.get(inlet.name, "")
    return f"above the highest {column}" if column not in ("", inlet.read.column) else ""


def _plan_column_read(
    context: PlanningContext, asset: AssetSpec, state: AssetState, inlet: InletSpec
) -> InletIncrement:
    """The read of an inlet that was read in another way before: all of it, as the highest value read is unknown.

    Refused where the asset only adds rows, because rereading would append them twice.
    """
    watermark, earlier_read = state.watermarks[inlet.name], _describe_earlier_read(state, inlet)
    pin = replace(context.pin(inlet, EVERYTHING, watermark), column=state.columns.get(inlet.name, ""))
    column = inlet.read.column if isinstance(inlet.read, ReadAfter) else ""
    reason = f"it was read {earlier_read} before, and is now read above the highest {column}"
    if asset.write is None or not asset.write.only_adds:
        pin = replace(pin, low=None, column=column)
        return InletIncrement(pin, f"reads all of {inlet.name} again: {reason}", rereads_all=True)
    refusal = (
        f"the new rows of {inlet.name} are unknown: {reason}; read it {earlier_read} again, or drop the table of "
        f"{asset.name} to start over"
    )
    return InletIncrement(pin, "", refusal)


def current_positions(context: PlanningContext, asset: AssetSpec) -> dict[str, TablePosition]:
    """The present table and version of each inlet that is read by its changes, by inlet name; without absent tables."""
    pins = {name: context.pin(inlet, EVERYTHING) for name, inlet in asset.inlets.items() if _reads_changes(inlet)}
    return {
        name: TablePosition(pin.table_id, pin.version)
        for name, pin in pins.items()
        if pin.table_id is not None and pin.version is not None
    }


def current_watermarks(context: PlanningContext, asset: AssetSpec) -> dict[str, str]:
    """The watermarks of an asset that has read all present versions of these inlets, by inlet name."""
    return {name: str(position) for name, position in current_positions(context, asset).items()}


def _reads_changes(inlet: InletSpec) -> bool:
    """Whether a run reads only what changed in the inlet's table since the last read."""
    return isinstance(inlet.read, ReadChanges)


def read_without_position(context: PlanningContext, asset: AssetSpec, state: AssetState) -> dict[str, InletPin]:
    """Pins of a backfill for inlets that are read by their changes: it reads all of them, as it moves no position.

    Where the asset only adds rows, that would append them twice. An asset that runs by hand reads on from its positions
    instead, and one whose table lost rows reads nothing and continues with what is there.

    Raises:
        InputError: The asset's schedule appends what changed, or the changes since its positions are not available.
    """
    positions = current_positions(context, asset)
    for inlet in _inlets_read_otherwise_before(asset, state):
        _refuse_unreadable(asset, _plan_column_read(context, asset, state, inlet))
    pins = {name: context.pin(asset.inlets[name], EVERYTHING) for name in positions}
    if asset.write is None or not asset.write.only_adds:
        return pins
    return _pin_for_appending(context, asset, state, pins)


def _pin_for_appending(
    context: PlanningContext, asset: AssetSpec, state: AssetState, pins: Mapping[str, InletPin]
) -> dict[str, InletPin]:
    """Pins of a backfill of an asset that appends; see `read_without_position`.

    A pin whose ``low`` is the inlet's present version reads nothing.
    """
    if state.stuck_loss is None and _runs_by_hand(asset):
        return {name: _pin_changes_since(context, asset, state, name) for name in pins}
    if pins and state.stuck_loss is None:
        raise InputError(
            f"asset {asset.name!r} appends changes since its last run; a backfill would duplicate them",
            hint="`sparkassets run` appends new changes",
        )
    return {
        name: replace(pin, low=str(TablePosition(pin.table_id or "", pin.version or 0))) for name, pin in pins.items()
    }


def _runs_by_hand(asset: AssetSpec) -> bool:
    """Whether the asset has neither a timetable nor a condition, so that only backfills run it."""
    return asset.schedule.timetable is None and asset.schedule.condition is None


def _pin_changes_since(context: PlanningContext, asset: AssetSpec, state: AssetState, inlet: str) -> InletPin:
    """The pin that reads the inlet's changes since its position."""
    increment = plan_increment(context, asset, state, asset.inlets[inlet])
    _refuse_unreadable(asset, increment)
    return increment.pin


def _refuse_unreadable(asset: AssetSpec, increment: InletIncrement) -> None:
    """Refuses a backfill whose inlet cannot be read.

    Raises:
        InputError: The read has a refusal; the message is that.
    """
    if increment.refusal is not None:
        raise InputError(f"{asset.name}: {increment.refusal}")


def describe_versions(position: TablePosition, version: int) -> str:
    """The versions after a position up to another one, for a sentence.

    >>> describe_versions(TablePosition("t", 3), 4), describe_versions(TablePosition("t", 3), 6)
    ('version 4', 'versions 4..6')
    """
    first = position.version + 1
    return f"version {version}" if first == version else f"versions {first}..{version}"


def _check_changes(
    context: PlanningContext, inlet: InletSpec, position: TablePosition | None, pin: InletPin
) -> ChangeAvailability:
    """Whether the inlet's changes after the position are still available.

    ``lost`` where its table cannot tell them: it was replaced or restored, or the position is a column's value.
    """
    if position is None:
        return ChangeAvailability("lost", "it was read above the highest value of a column before")
    if position.table_id != pin.table_id:
        return ChangeAvailability("lost", "the table was replaced by another")
    version = pin.version or 0
    if version < position.version:
        return ChangeAvailability("lost", f"its table went back from version {position.version} to {version}")
    if version == position.version or context.check_availability is None:
        return ChangeAvailability()
    return context.check_availability(context.project.assets[inlet.name], position, version)


def _explain_unavailable(inlet: InletSpec, availability: ChangeAvailability) -> str:
    """Why the inlet's changes cannot be read, and how to turn on the change feed where that would help."""
    if availability.kind == "unreadable":
        return f"the changes of {inlet.name} are not available: {availability.reason}"
    return (
        f"the changes of {inlet.name} are not available: {availability.reason}, and it has no change feed; enable "
        f"it for later changes by {_TURN_ON}"
    )


def _reread_all(asset: AssetSpec, inlet: InletSpec, pin: InletPin, reason: str) -> InletIncrement:
    """The read of all rows once more; refused where the asset only adds rows, because these would be there twice."""
    note = f"reads all of {inlet.name} again (version {pin.version}): {reason}"
    if asset.write is None or not asset.write.only_adds:
        return InletIncrement(replace(pin, low=None), note, rereads_all=True)
    refusal = (
        f"the changes of {inlet.name} are not available: {reason}; `sparkassets mark {asset.name} --done --reason "
        f"…` continues at version {pin.version}"
    )
    return InletIncrement(pin, "", refusal)
