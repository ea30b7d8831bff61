"""What runs cost: how much one reads, and what the next is to take by what earlier ones took."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.frozen import frozen


@frozen
class InletVolume:
    """What a run reads of one inlet.

    Attributes:
        bytes, files: Of the data files; None where that cannot be told.
        unknown: Why it cannot be told, for people.
    """

    bytes: int | None = 0
    files: int | None = 0
    unknown: str = ""


@frozen(array_like=True)
class RunCost:
    """What one run took.

    Attributes:
        blocks: How many it computed, at least 1.
        rows: That it wrote; None where nobody told.
    """

    blocks: int
    seconds: float
    rows: int | None = None


@frozen
class CostForecast:
    """What a run is to take, by earlier ones.

    Attributes:
        low, high: Between these the seconds are, if a run takes some time once and some for each block, whatever the
            shares, as long as the data and the machine are as they were.
        rows: None where no earlier run told any.
        runs: On how many earlier ones that rests.
    """

    seconds: float
    low: float
    high: float
    rows: int | None
    runs: int


def forecast_cost(costs: Sequence[RunCost], blocks: int) -> CostForecast | None:
    """What a run of so many blocks is to take; None where no earlier one is known.

    Runs of different sizes tell what a run takes once and what for each block (medians of the slopes and of the rest);
    runs of one size only what a block takes.

    >>> forecast_cost([RunCost(1, 10.0), RunCost(11, 20.0)], 21)
    CostForecast(seconds=30.0, low=10.0, high=210.0, rows=None, runs=2)
    >>> forecast_cost([RunCost(2, 10.0, 6)], 1)
    CostForecast(seconds=5.0, low=5.0, high=10.0, rows=3, runs=1)
    """
    if not costs:
        return None
    low = min(each.seconds * min(1.0, blocks / each.blocks) for each in costs)
    high = max(each.seconds * max(1.0, blocks / each.blocks) for each in costs)
    seconds = min(max(_seconds(costs, blocks), low), high)
    rows = [each.rows / each.blocks for each in costs if each.rows is not None]
    return CostForecast(seconds, low, high, round(_median(rows) * blocks) if rows else None, len(costs))


def _seconds(costs: Sequence[RunCost], blocks: int) -> float:
    slopes = [
        (after.seconds - before.seconds) / (after.blocks - before.blocks)
        for place, after in enumerate(costs)
        for before in costs[:place]
        if after.blocks != before.blocks
    ]
    if not slopes:
        return _median([each.seconds / each.blocks for each in costs]) * blocks
    slope = max(0.0, _median(slopes))
    return max(0.0, _median([each.seconds - slope * each.blocks for each in costs])) + slope * blocks


def _median(values: Sequence[float]) -> float:
    ascending, half = sorted(values), len(values) // 2
    return ascending[half] if len(values) % 2 else (ascending[half - 1] + ascending[half]) / 2
