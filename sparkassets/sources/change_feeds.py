"""Whether what changed in an inlet's table can be told, by its log and without a JVM."""

from __future__ import annotations

from sparkassets.core.runs import ChangeAvailability, TablePosition
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.change_feed import table_changes
from sparkassets.errors import SourceError


class DeltaChangeFeeds:
    """Looks at every stretch of a table's log once; implements `ports.ChangeFeeds`."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, TablePosition, int], ChangeAvailability] = {}

    def check_availability(self, asset: AssetSpec, position: TablePosition, version: int) -> ChangeAvailability:
        """As `sparkassets.ports.ChangeFeeds` has it."""
        if asset.storage is None:
            return ChangeAvailability()
        key = asset.storage.path, position, version
        if key not in self._known:
            self._known[key] = _check_availability(*key)
        return self._known[key]


def _check_availability(path: str, position: TablePosition, version: int) -> ChangeAvailability:
    try:
        return table_changes(path, position, version).availability
    except (SourceError, OSError) as error:
        return ChangeAvailability("unread", str(error.args[0]) if isinstance(error, SourceError) else str(error))
