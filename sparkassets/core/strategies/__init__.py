"""The strategies, which decide how many partitions one run computes; the planner chooses the partitions."""

from __future__ import annotations

from sparkassets.core.instants import Duration
from sparkassets.frozen import frozen


@frozen
class FullRefresh:
    """A run processes everything."""

    name = "full_refresh"


@frozen
class LatestOnly:
    """A run processes from the watermark to now; older instances are skipped."""

    name = "latest_only"


@frozen
class DateRange:
    """A run computes the missing and stale partitions together, as one Spark job.

    Attributes:
        lookback: For every gap that is filled, the partitions this far before it are computed again too.
        max_partitions_per_run: What exceeds it is another run.
    """

    lookback: Duration | None = None
    max_partitions_per_run: int = 366
    name = "date_range"


@frozen
class SegmentBatches:
    """A run computes the missing and stale segments together, as one Spark job.

    Attributes:
        max_partitions_per_run: What exceeds it is another run.
    """

    max_partitions_per_run: int = 366
    name = "segments"


@frozen
class EveryInstance:
    """Each interval of the timetable, or each event, is a run of its own, in order; partitions run in parallel."""

    name = "every_instance"


Strategy = FullRefresh | LatestOnly | DateRange | SegmentBatches | EveryInstance

__all__ = ["DateRange", "EveryInstance", "FullRefresh", "LatestOnly", "SegmentBatches", "Strategy"]
