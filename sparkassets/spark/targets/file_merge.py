"""Merges few staged rows by their keys into the files of a table, for a commit of the driver.

What Spark's `MERGE` does in a commit of its own takes two jobs here: one finds the files that have any of the keys, one
rewrites those in which a row changes, with the new rows added. The staged rows are sent to every task, so that
the table's rows are neither moved nor sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sparkassets.delta.features import FEED_MERGE_REASON, keeps_feed
from sparkassets.delta.file_split import TableFiles
from sparkassets.delta.key_ranges import find_files_in_ranges
from sparkassets.delta.live_files import LiveFile
from sparkassets.delta.staging import StagedFile
from sparkassets.frozen import frozen
from sparkassets.spark import sqltext
from sparkassets.spark.delta_files import UNREADABLE, find_read_files, name_files, read_files
from sparkassets.spark.schemas import type_sql
from sparkassets.spark.table_locations import path_of
from sparkassets.spark.upserts.key_merge import KeyMerge
from sparkassets.spark.upserts.staged_rows import DELETED
from sparkassets.spark.writes import PlannedWrite, layout_of

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField, StructType

_MOST_BYTES: Final = 64 * 2**20
"""Each task gets all staged rows: with more, Spark's `MERGE` sorts both sides instead."""
_MOST_FILES: Final = 1_000
"""Spark lists these files itself; of more, Delta's own read of the log is quicker."""
_ONE_FILE: Final = 32 * 2**20
"""Up to so many bytes, one task writes one file, so that small files do not become many."""
_FILE: Final = "sparkassets_file"
_UPDATED: Final = "sparkassets_updated"


@frozen
class FileMerge:
    """A merge, planned by files.

    Attributes:
        rows: What takes the place of the replaced files' rows, in the table's columns; None where nothing changes.
        replaced: The files with stored rows that are updated or deleted.
        updated, deleted: How many stored rows are.
    """

    rows: DataFrame | None
    replaced: Sequence[LiveFile]
    updated: int
    deleted: int

    def metrics(self, files: Sequence[StagedFile]) -> dict[str, int]:
        """Operation metrics as those of Delta's own `MERGE`, for these files in place of the replaced ones."""
        before, after = sum(file.rows or 0 for file in self.replaced), sum(file.rows for file in files)
        return {
            "numTargetRowsInserted": after - before + self.deleted,
            "numTargetRowsUpdated": self.updated,
            "numTargetRowsDeleted": self.deleted,
            "numTargetRowsCopied": before - self.updated - self.deleted,
            "numOutputRows": after,
            "numTargetFilesAdded": len(files),
            "numTargetFilesRemoved": len(self.replaced),
            "numTargetBytesAdded": sum(file.size for file in files),
            "numTargetBytesRemoved": sum(file.size for file in self.replaced),
        }


def plan_file_merge(work: PlannedWrite, merge: KeyMerge, table: DeltaTable) -> FileMerge | str:
    """Plans the merge of staged rows into the table's loaded version, or says why Spark's `MERGE` has to or is quicker.

    Args:
        work: The planned write.
        merge: Its merge.
        table: The table.

    Raises:
        Exception: Whatever Spark says of the job that searches the keys.
    """
    if keeps_feed(table.metadata().configuration):
        return FEED_MERGE_REASON
    if merge.staged.size > _MOST_BYTES:
        return f"the run merges more than {_MOST_BYTES // 2**20} MB"
    if not merge.staged.count:
        return FileMerge(None, (), 0, 0)
    files = find_files_in_ranges(TableFiles.load_files(table), merge.staged.ranges)
    session, path = work.landing.rows.sparkSession, path_of(work.asset)
    there = read_files(session, table, files, path=path, most=_MOST_FILES)
    if there is None or any(file.rows is None for file in files):
        return UNREADABLE
    if not files:
        return _make_merge(work, _read_new(merge, merge.read_staged(session), None, there.schema.fields), ())
    return _plan_replacement(work, merge, table, files, there)


def _plan_replacement(
    work: PlannedWrite, merge: KeyMerge, table: DeltaTable, files: Sequence[LiveFile], there: DataFrame
) -> FileMerge | str:
    """Plans the merge into a table of which ``files``, whose rows are ``there``, may have some of the staged keys."""
    session, path = work.landing.rows.sparkSession, path_of(work.asset)
    staged, fields = merge.read_staged(session), there.schema.fields
    named = name_files(session, table, there, files, path=path, column=_FILE)
    if named is None:
        return UNREADABLE
    found = _find_matches(merge, staged, named, files, schema=work.landing.rows.schema)
    replaced = [match for match in found if match.updated or match.deleted]
    matching, changed = (
        there if len(few) == len(files) else read_files(session, table, few, path=path, most=len(few))
        for few in ([match.file for match in found], [match.file for match in replaced])
    )
    if matching is None or changed is None:
        return UNREADABLE
    rows = _read_new(merge, staged, matching if found else None, fields)
    if replaced:
        rows = _read_merged(merge, staged, changed, fields).unionByName(rows)
    return _make_merge(work, rows, replaced)


def _make_merge(work: PlannedWrite, rows: DataFrame, replaced: Sequence[_FileMatches]) -> FileMerge:
    """The merge that writes these rows in place of files; a few of them into one file."""
    if not layout_of(work.asset, work.schema, work.table) and sum(each.file.size for each in replaced) <= _ONE_FILE:
        rows = rows.coalesce(1)
    return FileMerge(
        rows,
        [each.file for each in replaced],
        sum(each.updated for each in replaced),
        sum(each.deleted for each in replaced),
    )


@frozen
class _FileMatches:
    """A file that has some of the staged keys.

    Attributes:
        updated, deleted: How many of its rows the merge updates and deletes.
    """

    file: LiveFile
    updated: int
    deleted: int


def _find_matches(
    merge: KeyMerge, staged: DataFrame, named: DataFrame, files: Sequence[LiveFile], *, schema: StructType
) -> list[_FileMatches]:
    """Those of the files that have any of the staged keys; ``named`` are their rows with the column `_FILE`."""
    from pyspark.sql import functions as sql

    pairs = named.alias("t").join(sql.broadcast(staged.alias("s")), sql.expr(merge.match))
    counts = (sql.expr(f"count_if({what})") for what in (merge.updates(schema), merge.deletes))
    rows = pairs.groupBy(_FILE).agg(*counts).collect()
    found = find_read_files([row[0] for row in rows], files)
    return [_FileMatches(file, *row[1:]) for file, row in zip(found, rows, strict=True)]


def _read_merged(merge: KeyMerge, staged: DataFrame, there: DataFrame, fields: Sequence[StructField]) -> DataFrame:
    """The rows of files, without deleted ones and with the values of updated ones."""
    from pyspark.sql import functions as sql

    pairs = there.alias("t").join(sql.broadcast(staged.alias("s")), sql.expr(merge.match), "left")
    matched = f"{merge.place[merge.keys[0]]} IS NOT NULL"
    stays = pairs.filter(f"NOT coalesce({matched} AND {merge.deletes}, false)")
    marked = stays.withColumn(_UPDATED, sql.expr(f"coalesce({matched} AND {merge.takes}, false)"))
    given = {name.lower(): merge.place[name] for name in merge.values}
    columns = []
    for field in fields:
        name = sqltext.name(field.name)
        value = given.get(field.name.lower())
        taken = f"CASE WHEN {_UPDATED} THEN CAST({value} AS {type_sql(field.dataType)}) ELSE t.{name} END"
        columns.append(f"t.{name}" if value is None else f"{taken} AS {name}")
    return marked.selectExpr(*columns)


def _read_new(merge: KeyMerge, staged: DataFrame, there: DataFrame | None, fields: Sequence[StructField]) -> DataFrame:
    """The staged rows whose keys are not in the table; ``there`` are the files that have any of them."""
    from pyspark.sql import functions as sql

    new = staged.alias("s").filter(f"NOT {merge.place[DELETED]}")
    if there is not None:
        stored = there.alias("t").join(sql.broadcast(staged.alias("s")), sql.expr(merge.match), "left_semi")
        new = new.join(sql.broadcast(stored.alias("t")), sql.expr(merge.match), "left_anti")
    given = {name.lower(): merge.place[name] for name in merge.columns}
    columns = (
        f"CAST({given.get(field.name.lower(), 'NULL')} AS {type_sql(field.dataType)}) AS {sqltext.name(field.name)}"
        for field in fields
    )
    return new.selectExpr(*columns)
