"""The stamps by which runs' commits are known: written to ``userMetadata``, and read from it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sparkassets.ports import CommitStamp
from sparkassets.spark.failures import is_lacking
from sparkassets.spark.own_session import open_brief_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def format_stamp(stamp: CommitStamp) -> str:
    """The ``userMetadata`` of a stamped commit."""
    fields = {
        "app": stamp.app_id,
        "version": stamp.version,
        "epoch": stamp.token,
        "run": stamp.run,
        "attempt": stamp.attempt,
        "kind": stamp.kind,
        "partitions": list(stamp.partitions),
        "measures": dict(stamp.measures),
    }
    return json.dumps(fields, separators=(",", ":"), sort_keys=True)


def read_own_stamp(commit: Mapping[str, Any], app_id: str) -> dict[str, Any] | None:
    """The stamp of a commit, if it is of this app id."""
    stamp = read_stamp(commit)
    return stamp if stamp is not None and stamp.get("app") == app_id else None


def read_stamp(commit: Mapping[str, Any]) -> dict[str, Any] | None:
    """The stamp of a commit of any asset's run; None without one."""
    try:
        stamp = json.loads(commit.get("userMetadata") or "null")
    except ValueError:
        return None
    return stamp if isinstance(stamp, dict) and isinstance(stamp.get("app"), str) else None


def has_no_rows(commit: Mapping[str, Any]) -> bool:
    """Whether a run's commit has no rows, whoever made it: a fence, or a run that published nothing."""
    text = commit.get("userMetadata") or ""
    return '"kind":"fence"' in text or '"published":"nothing"' in text


@contextlib.contextmanager
def stamp_commits(session: SparkSession, stamp: CommitStamp) -> Iterator[SparkSession | None]:
    """A session like this one, whose commits carry the stamp while the context lasts.

    None where the session cannot be copied, so that commits of other runs would carry it, too; or does not take the
    setting, as on serverless compute.
    """
    with open_brief_session(session) as stamped:
        if stamped is session or not _set_stamp(stamped, stamp):
            yield None
            return
        try:
            yield stamped
        finally:
            stamped.conf.unset(_USER_METADATA)


def _set_stamp(session: SparkSession, stamp: CommitStamp) -> bool:
    """Whether the session takes the stamp for its commits."""
    try:
        session.conf.set(_USER_METADATA, format_stamp(stamp))
    except Exception as error:
        if is_lacking(error):
            return False
        raise
    return True
