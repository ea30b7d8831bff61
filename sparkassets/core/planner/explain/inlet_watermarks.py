"""The watermarks of an asset: how far it has read each incrementally read inlet, and how far it is behind."""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.wording import plural
from sparkassets.core.runs import InletPin, TablePosition
from sparkassets.core.spec.model import AssetSpec, InletSpec, ReadAfter
from sparkassets.frozen import frozen


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
            return "nothing was read yet"
        unit, value = ("version", self.high) if self.column is None else ("update", f"{self.column} {self.high}")
        upto = f"read up to version {value}" if self.column is None else f"read up to {value}"
        return f"{upto}, {plural(self.behind, unit)} behind" if self.behind else upto


def list_watermarks(context: PlanningContext, asset: AssetSpec) -> tuple[InletWatermark, ...]:
    """Of each inlet that is read so, in their order."""
    state = context.state_of(asset)
    return tuple(read_watermark(context, state, inlet) for inlet in asset.inlets.values() if inlet.read is not None)


def read_watermark(context: PlanningContext, state: AssetState, inlet: InletSpec) -> InletWatermark:
    """How far the inlet was read for the asset of that state."""
    dataset = context.dataset(inlet)
    newest_at = dataset.at if dataset.seq else None
    if isinstance(inlet.read, ReadAfter):
        unused = len(context.unused_events(state, [inlet.uri])) if inlet.uri in state.spec.listens else None
        return InletWatermark(inlet.name, inlet.read.column, state.watermarks.get(inlet.name), None, unused, newest_at)
    pin, position = context.pin(inlet, EVERYTHING), TablePosition.parse(state.watermarks.get(inlet.name, ""))
    if position is None:
        return InletWatermark(inlet.name, None, None, pin.version, None, newest_at)
    behind = _behind(position, pin)
    return InletWatermark(inlet.name, None, str(position.version), pin.version, behind, newest_at)


def _behind(position: TablePosition, pin: InletPin) -> int | None:
    """How many versions of the table came since; None of another table."""
    if pin.version is None or pin.table_id != position.table_id:
        return None
    return max(0, pin.version - position.version)
