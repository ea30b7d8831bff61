"""A source and the position that its observations lead to, as the journal would keep them."""

from datetime import UTC, datetime
from pathlib import Path

from sparkassets.core.partitions import NOTHING, Partitioning, TimePartition
from sparkassets.core.spec.model import AssetSpec, SourceSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.errors import FileLocation
from sparkassets.ports import LastLook
from sparkassets.sources import make_observer
from tests.sources.texts import PlainTexts

DAYS = TimePartition("day", "UTC", column="day")


class Source:
    """One asset with its position; `look` takes over what was observed."""

    def __init__(self, path, *, kind="csv", partition=DAYS, settle_seconds=0):
        self.asset = AssetSpec(
            name="landed",
            uri="landed",
            storage=StorageLocation(str(path), "landing"),
            location=FileLocation("conf/assets/landed.yml"),
            source=SourceSpec(kind=kind, settle_seconds=settle_seconds),
            partitioning=partition if isinstance(partition, Partitioning) else Partitioning(partition),
        )
        self.table_id = None
        self.version = None
        self.cursor = {}
        self.coverage = NOTHING

    def look(self, *, now=None):
        last = LastLook(self.table_id, self.version, self.cursor, self.coverage)
        seen = make_observer(self.asset, texts=PlainTexts()).observe(self.asset, last, now=now or datetime.now(UTC))
        self.notes = seen.notes if seen is not None else ()
        if seen is not None and not seen.has_news:
            return None
        if seen is not None:
            self.table_id, self.version = seen.table_id, seen.version
            merged = {**self.cursor, **seen.cursor}
            self.cursor = {key: value for key, value in merged.items() if value is not None}
            self.coverage = (self.coverage | seen.changed) - seen.removed
        return seen

    def keys(self, parts):
        """The keys of ``parts``."""
        return list(self.asset.partitioning.keys(parts))


def write(root, name, text="a,b\n"):
    path = Path(root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
