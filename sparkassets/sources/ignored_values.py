"""Values of rows that are in no partition of a source, as people are told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkassets.core.partitions import YEARS, Partitioning
from sparkassets.core.phrases import escape_unwritable, few

NAMED = 5
"""How many values of a column are named."""

LeftOut = Mapping[str, Sequence[str]]
"""By column the values that name no partition, ascending."""


def describe_ignored_values(left: LeftOut, partitioning: Partitioning) -> tuple[str, ...]:
    """A sentence for each column by which rows are told apart.

    >>> from sparkassets.core.partitions import SegmentPartition
    >>> describe_ignored_values({"region": ["us"]}, Partitioning(None, (SegmentPartition("region", ("de",)),)))
    ("rows left out whose 'region' is none of its segments: us",)
    """
    time = partitioning.time
    what = {} if time is None else {time.column: f"no {time.noun} of the years {YEARS[0]} to {YEARS[-1]}"}
    what |= {each.column: "no segment" if each.is_open else "none of its segments" for each in partitioning.segments}
    return tuple(
        f"rows left out whose '{column}' is {what[column]}: {_some(values)}"
        for column, values in left.items()
        if column in what
    )


def _some(values: Sequence[str]) -> str:
    return few([escape_unwritable(value) or "''" for value in values], most=NAMED)
