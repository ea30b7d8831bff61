"""The tables of a source whose path or name has fields, as its cursor keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sparkassets.core.partitions import Partitioning
from sparkassets.core.patterns.known_files import FileSlot
from sparkassets.frozen import frozen


@frozen
class KnownTable:
    """One table at the version that was seen last.

    Attributes:
        slot: The partitions that its path or name tells.
        relative: Its folder from the pattern's root; in a catalog the names on the way, with slashes between.
    """

    slot: FileSlot
    relative: str
    table_id: str
    version: int


def known_tables(cursor: Mapping[str, Any], partitioning: Partitioning) -> Iterator[KnownTable]:
    """The tables in a cursor, or in a part of one.

    >>> from sparkassets.core.partitions import SegmentPartition
    >>> regions = Partitioning(None, (SegmentPartition("region", ("de", "nl")),))
    >>> [each.version for each in known_tables({"de": {"raw_de": {"table_id": "a", "version": 3}}, "nl": ""}, regions)]
    [3]
    """
    for key, tables in cursor.items():
        slot = FileSlot.of_key(key, partitioning)
        if slot is None or not isinstance(tables, Mapping):
            continue
        for relative, seen in tables.items():
            yield KnownTable(slot, relative, seen["table_id"], seen["version"])
