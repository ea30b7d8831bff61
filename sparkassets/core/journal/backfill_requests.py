"""Requests to compute partitions again whatever their state; recorded so that any driver can finish them."""

from __future__ import annotations

from sparkassets.core.partitions import PartitionSet
from sparkassets.frozen import frozen


@frozen
class BackfillEntry:
    """A person asked for partitions to be computed again (``backfill --force``).

    Attributes:
        asked: The partitions as requested, maybe open in time; the same request again continues with the rest. Nothing
            means that the rest of ``blocks`` is given up.
        blocks: The partitions to compute; a later request takes them over from earlier ones.
        newest_first: Whether to compute the newest partitions first.
        limited: The number of runs was limited (``--max-runs``), so only the same request again continues it.
    """

    asset: str
    asked: PartitionSet
    blocks: PartitionSet
    newest_first: bool = False
    limited: bool = False


@frozen(array_like=True)
class RedoRequest:
    """The unfinished rest of a request.

    Attributes:
        seq: Sequence number of its entry; runs that were claimed before do not answer it.
        at: When it was recorded, Unix seconds.
        asked, newest_first, limited: As in `BackfillEntry`.
        left: Partitions that no run has computed since.
    """

    seq: int
    at: int
    asked: PartitionSet
    left: PartitionSet
    newest_first: bool = False
    limited: bool = False
