"""How late assets are by ``expect``, and how far they have read their incremental inlets.

Lateness changes no plan. An asset is late from a missed deadline until the data expected by the newest deadline is
present, which may belong to a later deadline than the one that it missed first.
"""

from __future__ import annotations

from collections.abc import Iterator

from sparkassets.core.instants import format_zoned, from_unix, to_unix
from sparkassets.core.journal.notified import LateEntry
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.core.planner.plan import AssetLateness
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.wording import label_partitions, plural
from sparkassets.core.runs import InletPin, TablePosition
from sparkassets.core.spec.asset_services import DeadlineSpec
from sparkassets.core.spec.model import AssetSpec, InletSpec, ReadAfter
from sparkassets.frozen import frozen


def find_lateness(context: PlanningContext, asset: AssetSpec) -> AssetLateness | None:
    """The lateness of the asset at its newest deadline; None where it is in time, paused or an outlet."""
    if asset.deadlines is None or asset.written_by or _is_paused(context, asset):
        return None
    deadline = _newest_deadline(asset.deadlines, context.now)
    if deadline is None:
        return None
    if asset.partitioning.time is None:
        return _lateness_of_runs(context, asset, asset.deadlines, deadline)
    missing = _expected_partitions(context, asset, deadline) - _present_partitions(context, asset)
    return AssetLateness(asset.name, deadline, missing) if missing else None


def find_all_lateness(context: PlanningContext) -> tuple[AssetLateness, ...]:
    """The late assets of a project, upstream first."""
    lateness = (
        find_lateness(context, asset) for asset in context.project.assets.values() if asset.deadlines is not None
    )
    return tuple(each for each in lateness if each is not None)


def lateness_changes(context: PlanningContext) -> Iterator[LateEntry]:
    """Yields the entries to record: one when a lateness begins and one when it is over."""
    for asset in context.project.assets.values():
        known = context.state.assets.get(asset.name)
        if known is not None and (asset.deadlines is not None or known.late) and not known.is_silenced(context.now):
            yield from _asset_lateness_changes(context, asset, known.late)


def _asset_lateness_changes(context: PlanningContext, asset: AssetSpec, notified_deadline: int) -> Iterator[LateEntry]:
    """Yields the entry that one asset's lateness began or is over.

    ``notified_deadline`` is the missed deadline that people were notified of, Unix seconds; 0 for none.
    """
    if asset.deadlines is None or not asset.notifies_of("late", "recovery"):
        if notified_deadline:  # closed, so that a rule that is declared again later reports it again
            yield LateEntry(asset.name, notified_deadline, over=True)
        return
    lateness = find_lateness(context, asset)
    if lateness is not None and not notified_deadline:
        yield LateEntry(asset.name, lateness.by, lateness.partitions)
    elif lateness is None and notified_deadline and not _is_paused(context, asset):
        yield LateEntry(
            asset.name,
            notified_deadline,
            _newest_expected(context, asset, _newest_deadline(asset.deadlines, context.now)),
            over=True,
        )


def _newest_expected(context: PlanningContext, asset: AssetSpec, by: int | None) -> PartitionSet:
    """The partitions that were expected by the deadline ``by``; everything where a run was expected instead."""
    return EVERYTHING if asset.partitioning.time is None or by is None else _expected_partitions(context, asset, by)


def describe_lateness(late: AssetLateness, asset: AssetSpec) -> str:
    """Sentence about an asset's lateness, in its own time zone.

    >>> from sparkassets.core.spec.model import NOWHERE
    >>> describe_lateness(AssetLateness("a", 86_400), AssetSpec("a", "a", None, NOWHERE))
    'late: it never ran; expected by 1970-01-02T00:00Z'
    """
    by = format_zoned(from_unix(late.by), asset.timezone)
    if not late.partitions.is_everything:
        return f"late: {label_partitions(late.partitions, asset.partitioning)} was expected by {by}"
    done = "was updated" if asset.source is not None else "ran"
    if not late.since:
        return f"late: it never {done}; expected by {by}"
    since = format_zoned(from_unix(late.since), asset.timezone)
    return f"late: no {'update' if asset.source else 'run'} since {since}; expected by {by}"


def _lateness_of_runs(
    context: PlanningContext, asset: AssetSpec, expect: DeadlineSpec, by: int
) -> AssetLateness | None:
    """The lateness of an asset without time: no run, or update of a source, came since the deadline before ``by``.

    None where one came. Before the first of all deadlines any time counts (0).
    """
    previous_deadline = _newest_deadline(expect, by - 1) or 0
    if asset.source is not None:
        last = context.state.dataset(asset.uri).last_fresh_at
    else:
        newest = context.state_of(asset).last
        last = newest.at if newest is not None else 0
    return AssetLateness(asset.name, by, since=last) if last <= previous_deadline else None


def _newest_deadline(expect: DeadlineSpec, now: int) -> int | None:
    """The newest deadline that is not later than ``now``, Unix seconds; None before the first."""
    slot = expect.deadlines.last_at(from_unix(now))
    return None if slot is None else to_unix(slot.run_after)


def _expected_partitions(context: PlanningContext, asset: AssetSpec, by: int) -> PartitionSet:
    """The newest partitions that were over by a deadline, and are wanted."""
    return asset.partitioning.newest_finished(by) & context.allowed_partitions(asset)


def _present_partitions(context: PlanningContext, asset: AssetSpec) -> PartitionSet:
    """The partitions that are present: a source's dataset, or the asset's own coverage."""
    return context.state.dataset(asset.uri).coverage if asset.source is not None else context.state_of(asset).coverage


def _is_paused(context: PlanningContext, asset: AssetSpec) -> bool:
    return asset.paused or context.state_of(asset).paused


@frozen
class InletWatermark:
    """How far one inlet was read.

    Attributes:
        column: Column whose highest value is the watermark; None where changes are read by version.
        high: The highest value as text, or the version; None before the first run.
        newest: Present version of the inlet; None for a column, and without a table.
        behind: Number of versions (for a column, updates) since; None where unknown.
        newest_at: When the inlet was last updated, Unix seconds; None where it never was.
    """

    inlet: str
    column: str | None = None
    high: str | None = None
    newest: int | None = None
    behind: int | None = None
    newest_at: int | None = None

    @property
    def text(self) -> str:
        """For people: ``read up to version 7, 2 versions behind``."""
        if self.high is None:
            return "nothing read yet"
        unit, value = ("version", self.high) if self.column is None else ("update", f"{self.column} {self.high}")
        read_text = f"read up to version {value}" if self.column is None else f"read up to {value}"
        return f"{read_text}, {plural(self.behind, unit)} behind" if self.behind else read_text


def list_watermarks(context: PlanningContext, asset: AssetSpec) -> tuple[InletWatermark, ...]:
    """The watermark of each incrementally read inlet, in the order of the inlets."""
    state = context.state_of(asset)
    return tuple(read_watermark(context, state, inlet) for inlet in asset.inlets.values() if inlet.read is not None)


def read_watermark(context: PlanningContext, state: AssetState, inlet: InletSpec) -> InletWatermark:
    """How far the asset with this state has read the inlet, by column value or by table version."""
    dataset = context.dataset(inlet)
    newest_at = dataset.at if dataset.seq else None
    if isinstance(inlet.read, ReadAfter):
        unused = len(context.unused_events(state, [inlet.uri])) if inlet.uri in state.spec.listens else None
        return InletWatermark(inlet.name, inlet.read.column, state.watermarks.get(inlet.name), None, unused, newest_at)
    pin, position = context.pin(inlet, EVERYTHING), TablePosition.parse(state.watermarks.get(inlet.name, ""))
    if position is None:
        return InletWatermark(inlet.name, None, None, pin.version, None, newest_at)
    behind = _versions_behind(position, pin)
    return InletWatermark(inlet.name, None, str(position.version), pin.version, behind, newest_at)


def _versions_behind(position: TablePosition, pin: InletPin) -> int | None:
    """Number of versions since the position; None without a version, or where the table was replaced meanwhile."""
    if pin.version is None or pin.table_id != position.table_id:
        return None
    return max(0, pin.version - position.version)
