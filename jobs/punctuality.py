"""Ranks airlines by how punctual they are: an asset written in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window, functions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def rank(airline_weeks: DataFrame, airlines: DataFrame) -> DataFrame:
    """The airlines of each week by their mean delay at departure, the lowest first; equal ones by their code.

    Args:
        airline_weeks: Only the weeks of this run.
        airlines: All of them; it has no partitions.
    """
    mean_delay = functions.round(airline_weeks.delay_minutes / airline_weeks.departed, 2)
    punctual_first = Window.partitionBy("week").orderBy("mean_delay", "carrier")
    return (
        airline_weeks.where(airline_weeks.departed > 0)
        .select("week", "carrier", "departed", mean_delay.alias("mean_delay"))
        .withColumn("place", functions.row_number().over(punctual_first))
        .join(airlines, "carrier", "left")
        .select("week", "place", "carrier", "name", "departed", "mean_delay")
    )
