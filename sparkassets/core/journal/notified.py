"""Entries about what people are notified of: an asset that is late, or that waits for a person; and silences."""

from __future__ import annotations

from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.frozen import frozen


@frozen
class SilenceEntry:
    """A person decided that nobody is notified of an asset until an instant.

    Attributes:
        until: Unix seconds; not later than the entry itself for the end of a silence.
        by: The person.
    """

    asset: str
    until: int
    reason: str
    by: str


@frozen
class LateEntry:
    """People were notified that an asset is late, or (``over``) that it no longer is.

    Attributes:
        by: The deadline that it missed, Unix seconds.
        partitions: Partitions that were expected by then; everything for a run of the asset.
    """

    asset: str
    by: int
    partitions: PartitionSet = EVERYTHING
    over: bool = False


@frozen
class PersonWaitEntry:
    """People were notified that an asset waits for a person, or that it no longer does.

    Attributes:
        reason: What it waits for; empty where it no longer waits.
    """

    asset: str
    reason: str = ""
