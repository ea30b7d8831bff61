"""The cost of runs: the volume that one reads, and a forecast of the next run from earlier ones."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.frozen import frozen


@frozen
class InletVolume:
    """The volume that a run reads of one inlet.

    Attributes:
        bytes, files: Size and number of the data files; None where unknown.
        unknown: Why they are unknown, for people.
    """

    bytes: int | None = 0
    files: int | None = 0
    unknown: str = ""


@frozen(array_like=True)
class RunCost:
    """Measured cost of one run.

    Attributes:
        partitions: Number of partitions that it computed, at least 1.
        rows: Number of rows that it wrote; None where unknown.
    """

    partitions: int
    seconds: float
    rows: int | None = None


@frozen
class CostForecast:
    """Forecast cost of a run.

    Attributes:
        low, high: Bounds of the seconds if a run has a fixed cost and a cost for each partition, in any proportion,
            and neither data nor machine changed.
        rows: Number of rows; None where no earlier run recorded any.
        runs: Number of earlier runs that the forecast rests on.
    """

    seconds: float
    low: float
    high: float
    rows: int | None
    runs: int


def forecast_cost(costs: Sequence[RunCost], partitions: int) -> CostForecast | None:
    """Forecasts the cost of a run of ``partitions``; None without earlier runs.

    Runs of different sizes yield a fixed cost and a cost for each partition (medians of the slopes and of the rest);
    runs of one size yield only a cost for each partition.

    >>> forecast_cost([RunCost(1, 10.0), RunCost(11, 20.0)], 21)
    CostForecast(seconds=30.0, low=10.0, high=210.0, rows=None, runs=2)
    >>> forecast_cost([RunCost(2, 10.0, 6)], 1)
    CostForecast(seconds=5.0, low=5.0, high=10.0, rows=3, runs=1)
    """
    if not costs:
        return None
    low = min(each.seconds * min(1.0, partitions / each.partitions) for each in costs)
    high = max(each.seconds * max(1.0, partitions / each.partitions) for each in costs)
    seconds = min(max(_seconds(costs, partitions), low), high)
    rows = [each.rows / each.partitions for each in costs if each.rows is not None]
    return CostForecast(seconds, low, high, round(_median(rows) * partitions) if rows else None, len(costs))


def _seconds(costs: Sequence[RunCost], partitions: int) -> float:
    """The forecast seconds of a run: the median fixed cost, and the median cost for each partition.

    Runs of one size have no slope, so all their cost counts as that of their partitions.
    """
    slopes = [
        (after.seconds - before.seconds) / (after.partitions - before.partitions)
        for place, after in enumerate(costs)
        for before in costs[:place]
        if after.partitions != before.partitions
    ]
    if not slopes:
        return _median([each.seconds / each.partitions for each in costs]) * partitions
    slope = max(0.0, _median(slopes))
    return max(0.0, _median([each.seconds - slope * each.partitions for each in costs])) + slope * partitions


def _median(values: Sequence[float]) -> float:
    ascending, half = sorted(values), len(values) // 2
    return ascending[half] if len(values) % 2 else (ascending[half - 1] + ascending[half]) / 2
