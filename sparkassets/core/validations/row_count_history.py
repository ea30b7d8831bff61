"""Earlier row counts of partitions, with which a new count is compared."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal

from sparkassets.core.partitions import PartitionSet, Segment
from sparkassets.core.validations.checks import RowCountChange
from sparkassets.core.validations.verdicts import PartitionRowCount


class RowCountHistory:
    """The numbers of rows that one rule counted, by block.

    A block of time is compared with the blocks before it of its segments, whenever these were computed; any other with
    what it was itself, the latest time last.

    Args:
        counted: In the order in which they were published.
        together: The rule is of a run: all numbers are of one and the same thing.
    """

    def __init__(self, counted: Iterable[PartitionRowCount] = (), *, together: bool = False) -> None:
        self._together = together
        self._timed: defaultdict[Segment, list[tuple[int, int]]] = defaultdict(list)
        self._untimed: defaultdict[Segment, list[int]] = defaultdict(list)
        for each in counted:
            self.add(each)

    def add(self, counted: PartitionRowCount) -> None:
        """One more that was published; of a block of time it takes the place of what that had."""
        segment, start = self._place(counted.block)
        if start is None:
            self._untimed[segment].append(counted.rows)
            return
        slots = self._timed[segment]
        place = bisect_left(slots, (start,))
        if place < len(slots) and slots[place][0] == start:
            slots[place] = (start, counted.rows)
        else:
            insort(slots, (start, counted.rows))

    def before(self, block: PartitionSet, most: int) -> list[int]:
        """The latest numbers that a block is compared with, at most so many."""
        segment, start = self._place(block)
        if start is None:
            return self._untimed[segment][-most:]
        slots = self._timed[segment]
        place = bisect_left(slots, (start,))
        return [rows for _, rows in slots[max(0, place - most) : place]]

    def _place(self, block: PartitionSet) -> tuple[Segment, int | None]:
        if self._together:
            return (), None
        extent = block.extent
        return block.sole[0], extent and extent[0]


def explain_row_count_change(change: RowCountChange, rows: int, before: list[int]) -> str:
    """Why so many rows are too few or too many beside what was before; empty where they are neither.

    Where nothing was there before, or the median is 0, nothing can be compared.

    >>> from decimal import Decimal
    >>> explain_row_count_change(RowCountChange(Decimal("-0.5"), None), 450, [900, 1000, 1100])
    '450 rows, -55% of 1000 (the median of the last 3)'
    >>> explain_row_count_change(RowCountChange(Decimal("-0.5"), None), 500, [900, 1000, 1100])
    ''
    """
    usual = _median(before)
    if not usual:
        return ""
    low = change.least is not None and rows < usual * (1 + change.least)
    high = change.most is not None and rows > usual * (1 + change.most)
    if not low and not high:
        return ""
    share = (rows / usual - 1) * 100
    last = f"the median of the last {len(before)}" if len(before) > 1 else "the last"
    return f"{rows} rows, {share:+.0f}% of {usual.normalize():f} ({last})"


def _median(counts: list[int]) -> Decimal:
    """The middle count, or the mean of the two middle ones; 0 without counts.

    >>> _median([3, 1, 8]), _median([1, 2]), _median([])
    (Decimal('3'), Decimal('1.5'), Decimal('0'))
    """
    from decimal import Decimal

    if not counts:
        return Decimal(0)
    ordered, middle = sorted(counts), len(counts) // 2
    return Decimal(ordered[middle]) if len(counts) % 2 else Decimal(ordered[middle - 1] + ordered[middle]) / 2
