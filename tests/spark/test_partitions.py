"""What rows outside the partitions of a run are said to need."""

import pytest

from sparkassets.core.spec.code_bodies import PythonBody
from sparkassets.spark.partition_guard import PartitionGuard
from sparkassets.spark.predicates import PredicateColumn
from tests.builders import HERE, asset
from tests.integration.orders import order

FILTER = "filter them in the query, or join {{ partitions }}"


def hint_of(kind, zone, **more):
    column = PredicateColumn("day", kind, is_segment=False)
    return PartitionGuard("a", "2025-01-01", zone, (column,), "true", order(asset("a", **more), keys="2025-01-01")).hint


@pytest.mark.parametrize(
    ("kind", "zone", "hint"),
    [
        ("date", "UTC", FILTER),
        ("timestamp", "UTC", FILTER),
        (
            "date",
            "Europe/Berlin",
            (
                "day is a day in Europe/Berlin, but Spark derives UTC days from a TIMESTAMP: use "
                f"to_date(from_utc_timestamp(<column>, 'Europe/Berlin')); else {FILTER}"
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
    assert hint_of(kind, zone) == hint


def test_a_function_is_told_to_go_by_the_partitions_of_its_run():
    hint = (
        "filter them by context.partitions, or write strategy: full_refresh, which computes all partitions in each run"
    )
    assert hint_of("date", "UTC", body=PythonBody("jobs", "f", (), "/", HERE)) == hint
