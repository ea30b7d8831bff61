"""Statements whose commits tell which run they are of: no writer takes that for them, so that a session does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sparkassets.ports import CommitMarker
from sparkassets.spark.markers import describe
from sparkassets.spark.own_session import briefly_beside

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


@contextlib.contextmanager
def telling(session: SparkSession, marker: CommitMarker) -> Iterator[SparkSession]:
    """A session like this one, each of whose commits is told to be the marker's, while this lasts."""
    with briefly_beside(session) as own:
        own.conf.set(_USER_METADATA, describe(marker))
        try:
            yield own
        finally:
            own.conf.unset(_USER_METADATA)
