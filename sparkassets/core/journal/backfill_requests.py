"""Requests to compute blocks again, whatever is known of them: recorded, so that whoever goes on knows the rest."""

from __future__ import annotations

from sparkassets.core.partitions import PartitionSet
from sparkassets.frozen import frozen


@frozen
class BackfillEntry:
    """Somebody asks for blocks of an asset to be computed again (``backfill --force``).

    Attributes:
        asked: As it was asked, maybe open in time: who asks for the same again goes on with what is left. Nothing gives
            up what is left of ``blocks``.
        blocks: What of that is to be computed; a later request takes over what an earlier one has left of it.
        newest_first: In which order.
        limited: Only so many runs of it were wanted (``--max-runs``): the rest is left to who asks again.
    """

    asset: str
    asked: PartitionSet
    blocks: PartitionSet
    newest_first: bool = False
    limited: bool = False


@frozen(array_like=True)
class RedoRequest:
    """A request that is not answered wholly.

    Attributes:
        seq: Number of its entry; what was claimed before that does not answer it.
        at: When it was asked, Unix seconds.
        asked, newest_first, limited: As in `BackfillEntry`.
        left: What no run has computed since.
    """

    seq: int
    at: int
    asked: PartitionSet
    left: PartitionSet
    newest_first: bool = False
    limited: bool = False
