"""What rows outside the blocks of a run are said to need."""

import pytest

from sparkassets.spark.blocks import Blocks
from sparkassets.spark.predicates import PartitionColumn

FILTER = "filter them in the query, or join {{ partitions }}"


@pytest.mark.parametrize(
    ("kind", "zone", "hint"),
    [
        ("date", "UTC", FILTER),
        ("timestamp", "UTC", FILTER),
        (
            "date",
            "Europe/Berlin",
            (
                "day is a day of Europe/Berlin, and Spark makes days of UTC of a TIMESTAMP: "
                f"to_date(from_utc_timestamp(<column>, 'Europe/Berlin')) is the day there; else {FILTER}"
            ),
        ),
        (
            "timestamp",
            "Europe/Berlin",
            (
                "a TIMESTAMP is an instant, here shown in Europe/Berlin, and midnight of UTC is none there: "
                f"where a day is meant, CAST(day AS DATE); else {FILTER}"
            ),
        ),
    ],
)
def test_days_of_another_zone_are_told(kind, zone, hint):
    assert Blocks("a", "2025-01-01", zone, (PartitionColumn("day", kind, is_segment=False),), "true").hint == hint
