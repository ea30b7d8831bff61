"""What Spark tells of the queries of a test."""

from __future__ import annotations

from typing import Any


def queries(spark: Any, *, most: int = 50) -> dict[int, str]:
    """The physical plans of Spark's newest queries in this JVM, which remembers a thousand, by their numbers."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    store = spark._jsparkSession.sharedState().statusStore()
    found = store.executionsList(max(0, store.executionsCount() - most), most)
    each = (found.apply(place) for place in range(found.size()))
    return {one.executionId(): one.physicalPlanDescription() for one in each}
