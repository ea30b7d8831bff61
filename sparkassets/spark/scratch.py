"""Rows that an attempt keeps beside its table for a while, and the Hadoop committer that writes them.

Scratch rows are named by their attempt, so that leftovers can be removed once it is certain not to commit any more.

A run must never commit files of tasks that were retried, or overtaken by a speculative twin. The committers chosen here
guarantee that; others that a platform may have set for its sessions may not.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sparkassets.core.spec.model import StorageLocation
from sparkassets.core.table_names import quote_table_name
from sparkassets.delta import staging
from sparkassets.delta.staging import StagingAttempt
from sparkassets.files.object_stores import local_path
from sparkassets.frozen import frozen
from sparkassets.ports import CommitMarker
from sparkassets.spark import gateway, sqltext
from sparkassets.spark.installation import LOCAL_FILES
from sparkassets.spark.own_session import context_of, is_remote, setting
from sparkassets.spark.session_settings import is_local
from sparkassets.spark.target_table import TableRelation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

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
    """Lets each file system choose its committer, in a session of our own, if Spark has the classes for it."""
    if not is_remote(session) and setting(session, _PROTOCOL) == _RENAMES and _has_magic():
        session.conf.set(_PROTOCOL, _BY_STORE)


def find_staging_obstacle(session: SparkSession, path: str) -> str | None:
    """Why no file may be staged at ``path``, as the end of a sentence; None where it may.

    Staging needs a committer that publishes no file of a task that was retried or overtaken.
    """
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
    """Whether the file system `LOCAL_FILES` may write there.

    It runs in this JVM only, and ignores folders that pass on their group (the setgid bit).
    """
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
    """Whether the scheme is served by Hadoop's S3A, and not by a platform's own file system."""
    return bool(session._jsc.hadoopConfiguration().get(f"fs.{scheme}.impl") == _S3A)  # noqa: SLF001  no other way


_HOME: Final = "_sparkassets"
"""The folder beside a table's files; neither readers nor ``VACUUM`` look into it."""
_BESIDE: Final = "__sparkassets_"
"""What follows a table's name in the names of tables that belong to it."""
_STAGED: Final = f"{_BESIDE}staged_"


def companion_relation(relation: TableRelation, what: str) -> TableRelation:
    """A table that belongs to another: in a hidden folder of it, or in a catalog under its name with a suffix.

    >>> companion_relation(TableRelation(StorageLocation.of_table(("s", "a"))), "remembered").sql
    '`s`.`a__sparkassets_remembered`'
    """
    storage = relation.storage
    if storage.table:
        return TableRelation(storage.with_suffix(f"{_BESIDE}{what}"))
    return TableRelation(
        StorageLocation(f"{scratch_folder(storage.path)}/{what}", f"{scratch_folder(storage.given)}/{what}")
    )


def scratch_folder(path: str) -> str:
    """The hidden folder, within the table's, for rows that belong to runs."""
    return f"{path}/{_HOME}"


@frozen
class ScratchRows:
    """Rows that an attempt stages beside a table.

    Attributes:
        relation: The table that they are for.
        attempt: The attempt that stages them.
        part: A name for these rows, unique within the attempt.
    """

    relation: TableRelation
    attempt: StagingAttempt
    part: str

    def write_rows(self, rows: DataFrame) -> None:
        """Writes the rows; their columns are numbered, because names may be ones that no file can hold.

        Raises:
            Exception: Whatever Spark says.
        """
        plain = rows.toDF(*(f"c{number}" for number in range(len(rows.columns))))
        if self.relation.storage.table:
            plain.write.format("delta").mode("overwrite").option("overwriteSchema", "true").saveAsTable(self._table)
            return
        session, folder = rows.sparkSession, self._folder
        options = staging_options(session, folder) if find_staging_obstacle(session, folder) is None else {}
        plain.write.format("parquet").mode("overwrite").options(**options).save(folder)

    def read_rows(self, session: SparkSession, schema: StructType) -> DataFrame:
        """The rows that `write_rows` wrote, with their own column names, in any session."""
        from pyspark.sql import functions as sql

        if self.relation.storage.table:
            given = session.table(self._table)
        else:
            given = session.read.schema(number_columns(schema)).parquet(self._folder)
        fields = enumerate(schema.fields)
        return given.select(
            *(sql.col(f"c{number}").alias(each.name, metadata=each.metadata) for number, each in fields)
        )

    @property
    def _folder(self) -> str:
        return f"{scratch_folder(self.relation.storage.path)}/{self.attempt.folder}/{self.part}"

    @property
    def _table(self) -> str:
        name = f"{_STAGED}{_digest(self.attempt.run)}_{self.attempt.token}_{self.attempt.number}_{self.part}"
        return TableRelation(self.relation.storage.with_suffix(name)).sql


def attempt_of(marker: CommitMarker) -> StagingAttempt:
    """The attempt that makes the marker's commit."""
    return StagingAttempt(marker.run, marker.token, marker.attempt)


def discard_scratch(session: SparkSession, relation: TableRelation, attempt: StagingAttempt) -> None:
    """Removes all rows that the attempt staged, as far as the storage allows it."""
    if relation.storage.table:
        _drop(session, relation, [(_digest(attempt.run), attempt.token, attempt.number)])
    else:
        staging.discard(scratch_folder(relation.storage.path), attempt)


def remove_scratch(session: SparkSession, relation: TableRelation, runs: Collection[str], *, upto: int) -> None:
    """Removes rows that these runs staged for a table in a catalog, of claims with tokens up to ``upto``."""
    digests = {_digest(run) for run in runs}
    _drop(
        session,
        relation,
        [each for each in _find_staged_tables(session, relation) if each[0] in digests and each[1] <= upto],
    )


def remove_scratch_folders(path: str, runs: Collection[str], *, upto: int) -> None:
    """Removes rows that these runs staged for a table at a path, of claims with tokens up to ``upto``."""
    staging.discard_all(scratch_folder(path), list(runs), upto=upto)


def number_columns(schema: StructType) -> StructType:
    """The schema of staged files: the same types under numbered names, all of which may be NULL."""
    from pyspark.sql.types import StructField, StructType

    fields = [StructField(f"c{number}", each.dataType, True) for number, each in enumerate(schema.fields)]  # noqa: FBT003
    return StructType(fields)


_Owner = tuple[str, int, int]
"""A digest of the run, its fence token, and the attempt's number."""


def _digest(run: str) -> str:
    """A digest of a run's id, short enough for the name of a table."""
    return blake2b(run.encode(), digest_size=8).hexdigest()


def _find_staged_tables(session: SparkSession, relation: TableRelation) -> dict[_Owner, list[str]]:
    """The tables that were staged for a table in a catalog, by the run, token and attempt that staged them."""
    *schema, name = relation.storage.table
    begins = f"{name}{_STAGED}".lower()
    within = f" IN {quote_table_name(tuple(schema))}" if schema else ""
    rows = session.sql(f"SHOW TABLES{within} LIKE {sqltext.text(f'*{_STAGED}*')}").collect()
    found: dict[_Owner, list[str]] = {}
    for each in (str(row["tableName"]) for row in rows):
        if each.lower().startswith(begins):
            digest, token, number, _ = each[len(begins) :].split("_", 3)
            found.setdefault((digest, int(token), int(number)), []).append(each)
    return found


def _drop(session: SparkSession, relation: TableRelation, owners: Collection[_Owner]) -> None:
    *schema, _ = relation.storage.table
    known = _find_staged_tables(session, relation)
    for name in (name for owner in owners for name in known.get(owner, ())):
        session.sql(f"DROP TABLE IF EXISTS {quote_table_name((*schema, name))}")
