"""How Spark publishes staged files: by a rename on a disk, by completing an upload on S3.

Files of tasks that were retried, or overtaken by a speculative twin, must never be among those that a run commits. The
committers told here keep to that; whatever else a platform has set for its sessions may not.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sparkassets.files.object_stores import local_path
from sparkassets.spark import gateway
from sparkassets.spark.jars import LOCAL_FILES
from sparkassets.spark.own_session import context_of, is_remote, setting
from sparkassets.spark.session_settings import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PROTOCOL = "spark.sql.sources.commitProtocolClass"
_RENAMES = "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"
_BY_STORE = "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol"
"""Leaves the choice of a committer to the file system; of the module ``spark-hadoop-cloud``."""
_MAGIC = "org.apache.hadoop.fs.s3a.commit.magic.MagicS3GuardCommitter"
_S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_OF_PARQUET = "spark.sql.parquet.output.committer.class"
_FACTORY = "mapreduce.outputcommitter.factory.scheme"

_ON_DISKS: Final = ("file", "hdfs")
_ON_S3: Final = ("s3a", "s3")
_ALWAYS: Final = {
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # the second one publishes what a task has before it is certain that it will not be retried
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
}
_FORKING_NOTHING: Final = {"fs.file.impl": LOCAL_FILES, "fs.file.impl.disable.cache": "true"}
"""For this write only; reads use Hadoop's own file system, which also follows links to folders."""


def prepare_committer(session: SparkSession) -> None:
    """Lets file systems choose the committer in a session of our own, where Spark supports it."""
    if not is_remote(session) and setting(session, _PROTOCOL) == _RENAMES and _has_magic():
        session.conf.set(_PROTOCOL, _BY_STORE)


def find_staging_obstacle(session: SparkSession, path: str) -> str | None:
    """Why no file may be staged at ``path``, as the end of a sentence; None where it may."""
    protocol, scheme = setting(session, _PROTOCOL), _scheme(path)
    if protocol is None:
        return "the session does not tell how it publishes files"
    if protocol not in (_RENAMES, _BY_STORE):
        return f"the session publishes files by {protocol}"
    if scheme in _ON_DISKS:
        return None
    if scheme not in _ON_S3:
        return f"no committer is known for {scheme}://"
    if is_remote(session):
        return f"a session of Spark Connect does not tell whether it has a committer for {scheme}://"
    if protocol != _BY_STORE or not _has_magic() or not _is_s3a(session, scheme):
        return f"the session has no committer for {scheme}:// (hadoop-aws and spark-hadoop-cloud bring it)"
    return None


def staging_options(session: SparkSession, path: str) -> Mapping[str, str]:
    """Options of a Parquet write to ``path`` that publishes only files of successful tasks."""
    scheme = _scheme(path)
    quick = _FORKING_NOTHING if _takes_local_files(session, path) else {}
    if setting(session, _PROTOCOL) == _RENAMES:
        return {**_ALWAYS, **quick, _OF_PARQUET: "org.apache.parquet.hadoop.ParquetOutputCommitter"}
    chosen = {_OF_PARQUET: "org.apache.spark.internal.io.cloud.BindingParquetOutputCommitter"}
    if scheme in _ON_DISKS:
        factory = "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitterFactory"
        return {**_ALWAYS, **quick, **chosen, f"{_FACTORY}.{scheme}": factory}
    return {
        **_ALWAYS,
        **chosen,
        f"{_FACTORY}.{scheme}": "org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory",
        "fs.s3a.committer.name": "magic",
        "fs.s3a.committer.magic.enabled": "true",
    }


def _takes_local_files(session: SparkSession, path: str) -> bool:
    """Whether `LOCAL_FILES` may write there: in this JVM, and no folder hands down its group, which it ignores."""
    local = local_path(path)
    context = context_of(session)
    if local is None or context is None or not is_local({"spark.master": context.master}):
        return False
    there = next(folder for folder in (Path(local), *Path(local).parents) if folder.exists())
    return not there.stat().st_mode & stat.S_ISGID and gateway.has_class(LOCAL_FILES)


def _scheme(path: str) -> str:
    scheme, separator, _ = path.partition("://")
    return scheme.lower() if separator else "file"


def _has_magic() -> bool:
    return gateway.has_class(_BY_STORE) and gateway.has_class(_MAGIC)


def _is_s3a(session: SparkSession, scheme: str) -> bool:
    """Whether that scheme means Hadoop's own file system for S3, and no platform's."""
    return bool(session._jsc.hadoopConfiguration().get(f"fs.{scheme}.impl") == _S3A)  # noqa: SLF001  no other way
