"""The values that documents share: instants, intervals, partitions and problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sparkassets.core.instants import format_instant, from_unix
from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.errors import SpecProblem

if TYPE_CHECKING:
    from sparkassets.core.spec.model import AssetSpec


def partitions_document(partitions: PartitionSet, asset: AssetSpec | None) -> dict[str, Any] | None:
    """``{ranges: ["A..B", …], count}``; None for a whole asset, or one that no longer exists or has no partitions.

    With time and segments the ranges are ``A..B,segment``; with segments alone they are keys.
    """
    if asset is None or not asset.partitioning.is_partitioned or partitions.is_everything:
        return None
    return {
        "ranges": key_ranges(asset.partitioning.labels(partitions), asset.partitioning),
        "count": asset.partitioning.count(partitions),
    }


def count_partitions(partitions: PartitionSet, asset: AssetSpec | None) -> int | None:
    """The number of partitions, where an asset without partitions counts as one; None if the asset no longer exists.

    Also None if the asset has gained or lost its partitions since.
    """
    if not partitions:
        return 0
    if asset is None or asset.partitioning.is_partitioned is partitions.is_everything:
        return None
    return asset.partitioning.count(partitions)


def key_ranges(labels: Sequence[str], partitioning: Partitioning) -> list[str]:
    """Labels of partitions with the time always as ``A..B``, so that a reader needs one rule.

    >>> from sparkassets.core.partitions import TimePartition
    >>> key_ranges(["2013-01-05", "2013-01-07..2013-01-09"], Partitioning(TimePartition("day", "UTC")))
    ['2013-01-05..2013-01-05', '2013-01-07..2013-01-09']
    """
    return [partitioning.as_range(label) for label in labels]


def interval_document(interval: tuple[int, int] | None) -> dict[str, str | None] | None:
    """``{start, end}`` of a half-open data interval in Unix seconds, as ISO text; None where there is none."""
    return None if interval is None else {"start": instant_text(interval[0]), "end": instant_text(interval[1])}


def seconds_figure(seconds: float | None) -> float | None:
    """Seconds rounded to milliseconds; None where unknown."""
    return None if seconds is None else round(seconds, 3)


def instant_text(unix: int | None) -> str | None:
    """ISO text in UTC of an instant in Unix seconds; None for None.

    >>> instant_text(0), instant_text(None)
    ('1970-01-01T00:00:00Z', None)
    """
    return None if unix is None else format_instant(from_unix(unix))


def problems_document(problems: Sequence[SpecProblem]) -> list[dict[str, Any]]:
    """One object for each problem; line and column count from 1, and 0 means the whole file."""
    return [
        {
            "file": problem.location.file,
            "line": problem.location.line,
            "column": problem.location.column,
            "message": problem.message,
            "hint": problem.hint,
        }
        for problem in problems
    ]
