"""Whether what changed in an inlet's table can be told, by its log and without a JVM."""

from __future__ import annotations

from sparkassets.core.runs import ChangesTold, Position
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.feed import table_changes
from sparkassets.errors import SourceError


class DeltaFeeds:
    """Looks at every stretch of a table's log once; implements `ports.Feeds`."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Position, int], ChangesTold] = {}

    def told(self, asset: AssetSpec, position: Position, version: int) -> ChangesTold:
        """As `sparkassets.ports.Feeds` has it."""
        if asset.storage is None:
            return ChangesTold()
        key = asset.storage.path, position, version
        if key not in self._known:
            self._known[key] = _told(*key)
        return self._known[key]


def _told(path: str, position: Position, version: int) -> ChangesTold:
    try:
        return table_changes(path, position, version).told
    except (SourceError, OSError) as error:
        return ChangesTold("unread", str(error.args[0]) if isinstance(error, SourceError) else str(error))
