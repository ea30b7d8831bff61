"""Rows that an attempt stages beside a table: in a hidden folder, or in a catalog in tables of their own.

Both are named by the attempt, so that its leftovers can be removed once it is certain not to commit any more.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from sparkassets.core.spec.model import StorageLocation
from sparkassets.core.table_names import quote_table_name
from sparkassets.delta import staging
from sparkassets.delta.staging import StagingAttempt
from sparkassets.frozen import frozen
from sparkassets.ports import CommitMarker
from sparkassets.spark import committers, sqltext
from sparkassets.spark.relation import TableRelation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_HOME: Final = "_sparkassets"
"""The folder beside a table's files; neither readers nor ``VACUUM`` look into it."""
_BESIDE: Final = "__sparkassets_"
"""What follows a table's name in the names of tables that belong to it."""
_STAGED: Final = f"{_BESIDE}staged_"


def companion_relation(relation: TableRelation, what: str) -> TableRelation:
    """A table's companion table: in a hidden folder, or in a catalog by its name and a suffix.

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
    """The folder for rows of runs beside the table at a path."""
    return f"{path}/{_HOME}"


@frozen
class ScratchRows:
    """A place for the staged rows of an attempt.

    Attributes:
        relation: The table that they are for.
        part: What is staged, by another name than anything else of the attempt.
    """

    relation: TableRelation
    attempt: StagingAttempt
    part: str

    def write_rows(self, rows: DataFrame) -> None:
        """Writes the rows, with columns as of `number_columns`.

        Raises:
            Exception: Whatever Spark says.
        """
        plain = rows.toDF(*(f"c{number}" for number in range(len(rows.columns))))
        if self.relation.storage.table:
            plain.write.format("delta").mode("overwrite").option("overwriteSchema", "true").saveAsTable(self._table)
            return
        session, folder = rows.sparkSession, self._folder
        options = (
            committers.staging_options(session, folder)
            if committers.find_staging_obstacle(session, folder) is None
            else {}
        )
        plain.write.format("parquet").mode("overwrite").options(**options).save(folder)

    def read_rows(self, session: SparkSession, schema: StructType) -> DataFrame:
        """The rows that `write_rows` wrote, with their original columns, in any session."""
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
    """Removes everything that the attempt staged, where the storage allows it."""
    if relation.storage.table:
        _drop(session, relation, [(_digest(attempt.run), attempt.token, attempt.number)])
    else:
        staging.discard(scratch_folder(relation.storage.path), attempt)


def remove_scratch(session: SparkSession, relation: TableRelation, runs: Collection[str], *, upto: int) -> None:
    """Removes rows staged for a table in a catalog by these runs, of claims with tokens up to ``upto``."""
    digests = {_digest(run) for run in runs}
    _drop(
        session,
        relation,
        [each for each in _find_staged_tables(session, relation) if each[0] in digests and each[1] <= upto],
    )


def remove_scratch_folders(path: str, runs: Collection[str], *, upto: int) -> None:
    """Removes rows staged for a table at a path, without a session."""
    staging.discard_all(scratch_folder(path), list(runs), upto=upto)


def number_columns(schema: StructType) -> StructType:
    """The schema of staged files: numbered names that any file can hold, in the order of the columns."""
    from pyspark.sql.types import StructField, StructType

    fields = [StructField(f"c{number}", each.dataType, True) for number, each in enumerate(schema.fields)]  # noqa: FBT003
    return StructType(fields)


_Owner = tuple[str, int, int]
"""A digest of the run, its fence token, and the attempt's number."""


def _digest(run: str) -> str:
    """A run's id as a digest, which fits into a table's name."""
    return blake2b(run.encode(), digest_size=8).hexdigest()


def _find_staged_tables(session: SparkSession, relation: TableRelation) -> dict[_Owner, list[str]]:
    """The names of tables staged for a table, by their owners."""
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
