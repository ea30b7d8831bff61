"""The sentences of a plan, in one place, so that they read alike and can be tested."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.instants import format_instant, instant
from sparkassets.core.partitions import RangeSet, TimePartition

SHOWN = 3


def labels(ranges: RangeSet, partition: TimePartition) -> str:
    """Keys of ``ranges`` for a sentence, the first few written out.

    ``2013-01-05..2013-01-08, 2013-01-11``
    """
    texts = partition.labels(ranges)
    rest = len(texts) - SHOWN
    return ", ".join(texts[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def plural(count: int, noun: str) -> str:
    """``1 partition``, ``2 partitions``.

    >>> plural(1, "partition"), plural(24, "partition")
    ('1 partition', '24 partitions')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def listing(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``.

    >>> listing(["a"]), listing(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def when(epoch: int) -> str:
    """An instant of a sentence, ISO with Z."""
    return format_instant(instant(epoch))
