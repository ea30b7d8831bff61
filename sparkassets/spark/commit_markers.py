"""The markers by which runs' commits are known: written to ``userMetadata``, and read from it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sparkassets.ports import CommitMarker
from sparkassets.spark.failures import is_lacking
from sparkassets.spark.own_session import open_brief_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def format_marker(marker: CommitMarker) -> str:
    """The ``userMetadata`` of a marked commit."""
    fields = {
        "app": marker.app_id,
        "version": marker.version,
        "epoch": marker.token,
        "run": marker.run,
        "attempt": marker.attempt,
        "kind": marker.kind,
        "partitions": list(marker.partitions),
        "measures": dict(marker.measures),
    }
    return json.dumps(fields, separators=(",", ":"), sort_keys=True)


def read_own_marker(commit: Mapping[str, Any], app_id: str) -> dict[str, Any] | None:
    """The marker of a commit, if it is of this app id."""
    marker = read_marker(commit)
    return marker if marker is not None and marker.get("app") == app_id else None


def read_marker(commit: Mapping[str, Any]) -> dict[str, Any] | None:
    """The marker of a commit of any asset's run; None without one."""
    try:
        marker = json.loads(commit.get("userMetadata") or "null")
    except ValueError:
        return None
    return marker if isinstance(marker, dict) and isinstance(marker.get("app"), str) else None


def has_no_rows(commit: Mapping[str, Any]) -> bool:
    """Whether a run's commit has no rows, whoever made it: a fence, or a run that published nothing."""
    text = commit.get("userMetadata") or ""
    return '"kind":"fence"' in text or '"published":"nothing"' in text


@contextlib.contextmanager
def mark_commits(session: SparkSession, marker: CommitMarker) -> Iterator[SparkSession | None]:
    """A session like this one, whose commits carry the marker while the context lasts.

    None where the session cannot be copied, so that commits of other runs would carry it, too; or does not take the
    setting, as on serverless compute.
    """
    with open_brief_session(session) as marked:
        if marked is session or not _set_marker(marked, marker):
            yield None
            return
        try:
            yield marked
        finally:
            marked.conf.unset(_USER_METADATA)


def _set_marker(session: SparkSession, marker: CommitMarker) -> bool:
    """Whether the session takes the marker for its commits."""
    try:
        session.conf.set(_USER_METADATA, format_marker(marker))
    except Exception as error:
        if is_lacking(error):
            return False
        raise
    return True
