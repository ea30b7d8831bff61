"""Statements whose commits tell which run they are of: no writer takes that for them, so that a session does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sparkassets.ports import CommitMarker
from sparkassets.spark.markers import format_marker
from sparkassets.spark.own_session import open_brief_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


@contextlib.contextmanager
def mark_commits(session: SparkSession, marker: CommitMarker) -> Iterator[SparkSession]:
    """A session like this one, whose commits carry the marker while the context lasts."""
    with open_brief_session(session) as own:
        own.conf.set(_USER_METADATA, format_marker(marker))
        try:
            yield own
        finally:
            own.conf.unset(_USER_METADATA)
