"""Rows that an attempt keeps beside its table for a while, and the Hadoop committer that writes them.

Scratch rows are named by their attempt, so that leftovers can be removed once it is certain not to commit any more.

A run must never commit files of tasks that were retried, or overtaken by a speculative twin. The committers chosen here
guarantee that; others that a platform may have set for its sessions may not.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.table_names import quote_table_name
from sparkassets.delta import staging
from sparkassets.delta.scratch_folders import scratch_folder
from sparkassets.delta.staging import StagingAttempt
from sparkassets.digests import blake2b
from sparkassets.errors import SourceError
from sparkassets.files.object_stores import local_path
from sparkassets.frozen import frozen
from sparkassets.ports import CommitStamp
from sparkassets.spark import gateway, sqltext
from sparkassets.spark.installation import LOCAL_FILES
from sparkassets.spark.own_session import context_of, is_remote, setting
from sparkassets.spark.session_settings import is_local
from sparkassets.spark.table_locations import table_sql

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_PROTOCOL_KEY = "spark.sql.sources.commitProtocolClass"
_RENAMING_PROTOCOL = "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"
_CLOUD_PROTOCOL = "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol"
"""Leaves the choice of a committer to the file system; of the module ``spark-hadoop-cloud``."""
_MAGIC_COMMITTER = "org.apache.hadoop.fs.s3a.commit.magic.MagicS3GuardCommitter"
_S3A_FILE_SYSTEM = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_PARQUET_COMMITTER_KEY = "spark.sql.parquet.output.committer.class"
_FACTORY_KEY = "mapreduce.outputcommitter.factory.scheme"

_DISK_SCHEMES: Final = ("file", "hdfs")
_S3_SCHEMES: Final = ("s3a", "s3")
_COMMITTER_OPTIONS: Final = {
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # the second one publishes what a task has before it is certain that it will not be retried
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
}
_LOCAL_FILES_OPTIONS: Final = {"fs.file.impl": LOCAL_FILES, "fs.file.impl.disable.cache": "true"}
"""For this write only; reads use Hadoop's own file system, which also follows links to folders."""


def prepare_committer(session: SparkSession) -> None:
    """Lets each file system choose its committer, in a session of our own, if Spark has the classes for it."""
    if not is_remote(session) and setting(session, _PROTOCOL_KEY) == _RENAMING_PROTOCOL and _has_magic_committer():
        session.conf.set(_PROTOCOL_KEY, _CLOUD_PROTOCOL)


def find_staging_obstacle(session: SparkSession, path: str) -> str | None:
    """Why no file may be staged at ``path``, as the end of a sentence; None where it may.

    Staging needs a committer that publishes no file of a task that was retried or overtaken.
    """
    protocol, scheme = setting(session, _PROTOCOL_KEY), _find_scheme(path)
    if protocol is None:
        return "the session's file committer is unknown"
    if protocol not in (_RENAMING_PROTOCOL, _CLOUD_PROTOCOL):
        return f"the session commits files by {protocol}"
    if scheme in _DISK_SCHEMES:
        return None
    if scheme not in _S3_SCHEMES:
        return f"no committer is known for {scheme}://"
    if is_remote(session):
        return f"the committer of a Spark Connect session for {scheme}:// is unknown"
    if protocol != _CLOUD_PROTOCOL or not _has_magic_committer() or not _is_s3a(session, scheme):
        return f"the session has no committer for {scheme}:// (hadoop-aws and spark-hadoop-cloud provide it)"
    return None


def staging_options(session: SparkSession, path: str) -> Mapping[str, str]:
    """Options of a Parquet write to ``path`` that publishes only files of successful tasks."""
    scheme = _find_scheme(path)
    local_options = _LOCAL_FILES_OPTIONS if _can_use_local_files(session, path) else {}
    if setting(session, _PROTOCOL_KEY) == _RENAMING_PROTOCOL:
        return {
            **_COMMITTER_OPTIONS,
            **local_options,
            _PARQUET_COMMITTER_KEY: "org.apache.parquet.hadoop.ParquetOutputCommitter",
        }
    committer = {_PARQUET_COMMITTER_KEY: "org.apache.spark.internal.io.cloud.BindingParquetOutputCommitter"}
    if scheme in _DISK_SCHEMES:
        factory = "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitterFactory"
        return {**_COMMITTER_OPTIONS, **local_options, **committer, f"{_FACTORY_KEY}.{scheme}": factory}
    return {
        **_COMMITTER_OPTIONS,
        **committer,
        f"{_FACTORY_KEY}.{scheme}": "org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory",
        "fs.s3a.committer.name": "magic",
        "fs.s3a.committer.magic.enabled": "true",
    }


def _can_use_local_files(session: SparkSession, path: str) -> bool:
    """Whether the file system `LOCAL_FILES` may write there.

    It runs in this JVM only, and ignores folders that pass on their group (the setgid bit).
    """
    local = local_path(path)
    context = context_of(session)
    if local is None or context is None or not is_local({"spark.master": context.master}):
        return False
    existing = next(folder for folder in (Path(local), *Path(local).parents) if folder.exists())
    return not existing.stat().st_mode & stat.S_ISGID and gateway.has_class(LOCAL_FILES)


def _find_scheme(path: str) -> str:
    scheme, separator, _ = path.partition("://")
    return scheme.lower() if separator else "file"


def _has_magic_committer() -> bool:
    return gateway.has_class(_CLOUD_PROTOCOL) and gateway.has_class(_MAGIC_COMMITTER)


def _is_s3a(session: SparkSession, scheme: str) -> bool:
    """Whether the scheme is served by Hadoop's S3A, and not by a platform's own file system."""
    return bool(session._jsc.hadoopConfiguration().get(f"fs.{scheme}.impl") == _S3A_FILE_SYSTEM)  # noqa: SLF001  no other way


_COMPANION_INFIX: Final = "__sparkassets_"
"""What follows a table's name in the names of tables that belong to it."""
_STAGED_INFIX: Final = f"{_COMPANION_INFIX}staged_"


def companion_location(location: StorageLocation, what: str) -> StorageLocation:
    """A table that belongs to another: in a hidden folder of it, or in a catalog under its name with a suffix.

    >>> table_sql(companion_location(StorageLocation.of_table(("s", "a")), "remembered"))
    '`s`.`a__sparkassets_remembered`'
    """
    if location.table:
        return location.with_suffix(f"{_COMPANION_INFIX}{what}")
    return StorageLocation(f"{scratch_folder(location.path)}/{what}", f"{scratch_folder(location.given)}/{what}")


@frozen
class ScratchRows:
    """Rows that an attempt stages beside a table.

    Attributes:
        location: The table that they are for.
        attempt: The attempt that stages them.
        part: A name for these rows, unique within the attempt.
    """

    location: StorageLocation
    attempt: StagingAttempt
    part: str

    def write_rows(self, rows: DataFrame) -> None:
        """Writes the rows; their columns are numbered, because names may be ones that no file can hold.

        Raises:
            Exception: Whatever Spark says.
        """
        numbered = rows.toDF(*map(staged_name, range(len(rows.columns))))
        if self.location.table:
            numbered.write.format("delta").mode("overwrite").option("overwriteSchema", "true").saveAsTable(self._table)
            return
        session, folder = rows.sparkSession, self._folder
        options = staging_options(session, folder) if find_staging_obstacle(session, folder) is None else {}
        numbered.write.format("parquet").mode("overwrite").options(**options).save(folder)

    def read_rows(self, session: SparkSession, schema: StructType) -> DataFrame:
        """The rows that `write_rows` wrote, with their own column names, in any session."""
        from pyspark.sql import functions as sql

        if self.location.table:
            numbered = session.table(self._table)
        else:
            numbered = session.read.schema(number_columns(schema)).parquet(self._folder)
        rows = numbered.toDF(*schema.names)
        if not any(column.metadata for column in schema.fields):
            return rows
        return rows.select(
            *(sql.col(sqltext.name(each.name)).alias(each.name, metadata=each.metadata) for each in schema.fields)
        )

    def read_footers(self) -> list[FileMetaData] | None:
        """The footers of the files that `write_rows` wrote; None where the driver cannot read them."""
        if self.location.table:
            return None
        try:
            return staging.read_staged_footers(scratch_folder(self.location.path), f"{self.attempt.folder}/{self.part}")
        except (OSError, SourceError):
            return None

    @property
    def _folder(self) -> str:
        return f"{scratch_folder(self.location.path)}/{self.attempt.folder}/{self.part}"

    @property
    def _table(self) -> str:
        name = f"{_STAGED_INFIX}{_digest(self.attempt.run)}_{self.attempt.token}_{self.attempt.number}_{self.part}"
        return table_sql(self.location.with_suffix(name))


def attempt_of(stamp: CommitStamp) -> StagingAttempt:
    """The attempt that makes the stamp's commit."""
    return StagingAttempt(stamp.run, stamp.token, stamp.attempt)


def discard_scratch(session: SparkSession, location: StorageLocation, attempt: StagingAttempt) -> None:
    """Removes all rows that the attempt staged, as far as the storage allows it."""
    if location.table:
        _drop_staged_tables(session, location, [(_digest(attempt.run), attempt.token, attempt.number)])
    else:
        staging.discard(scratch_folder(location.path), attempt)


def remove_scratch(session: SparkSession, location: StorageLocation, runs: Collection[str], *, upto: int) -> None:
    """Removes rows that these runs staged for a table in a catalog, of claims with tokens up to ``upto``."""
    digests = {_digest(run) for run in runs}
    _drop_staged_tables(
        session,
        location,
        [each for each in _find_staged_tables(session, location) if each[0] in digests and each[1] <= upto],
    )


def remove_scratch_folders(path: str, runs: Collection[str], *, upto: int) -> None:
    """Removes rows that these runs staged for a table at a path, of claims with tokens up to ``upto``."""
    staging.discard_all(scratch_folder(path), list(runs), upto=upto)


def staged_name(number: int) -> str:
    """The name of a column in staged files, by its place among the columns."""
    return f"c{number}"


def number_columns(schema: StructType) -> StructType:
    """The schema of staged files: the same types under numbered names, all of which may be NULL."""
    from pyspark.sql.types import StructField, StructType

    fields = [StructField(staged_name(number), each.dataType, True) for number, each in enumerate(schema.fields)]  # noqa: FBT003
    return StructType(fields)


_Owner = tuple[str, int, int]
"""A digest of the run, its fence token, and the attempt's number."""


def _digest(run: str) -> str:
    """A digest of a run's id, short enough for the name of a table."""
    return blake2b(run.encode(), digest_size=8).hexdigest()


def _find_staged_tables(session: SparkSession, location: StorageLocation) -> dict[_Owner, list[str]]:
    """The tables that were staged for a table in a catalog, by the run, token and attempt that staged them."""
    *schema, name = location.table
    prefix = f"{name}{_STAGED_INFIX}".lower()
    in_clause = f" IN {quote_table_name(tuple(schema))}" if schema else ""
    rows = session.sql(f"SHOW TABLES{in_clause} LIKE {sqltext.text(f'*{_STAGED_INFIX}*')}").collect()
    tables: dict[_Owner, list[str]] = {}
    for table in (str(row["tableName"]) for row in rows):
        if table.lower().startswith(prefix):
            digest, token, number, _ = table[len(prefix) :].split("_", 3)
            tables.setdefault((digest, int(token), int(number)), []).append(table)
    return tables


def _drop_staged_tables(session: SparkSession, location: StorageLocation, owners: Collection[_Owner]) -> None:
    *schema, _ = location.table
    staged = _find_staged_tables(session, location)
    for name in (name for owner in owners for name in staged.get(owner, ())):
        session.sql(f"DROP TABLE IF EXISTS {quote_table_name((*schema, name))}")
