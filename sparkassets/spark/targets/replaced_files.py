"""The table's files that a run's commit removes, and those that have to be separated first.

Where a file mixes the run's partitions with others, the run copies the other rows. A change feed would report copied
rows as changes, and an iteration would show them as its own. There a commit of its own separates such files first: it
moves each row to a file of the run's partitions or to one of others, and, like that of `OPTIMIZE`, changes no row.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.commit import CommitRequest, commit, load_newest, make_conflict
from sparkassets.delta.features import keeps_feed, keeps_paths
from sparkassets.delta.file_split import FileSplit, split_files
from sparkassets.delta.live_files import LiveFile, flat_adds, live_files
from sparkassets.delta.partition_files import examine_mixed_files
from sparkassets.delta.staging import StagingAttempt
from sparkassets.frozen import frozen, replace
from sparkassets.ports import CommitStamp, RunOrder
from sparkassets.spark.commit_stamps import format_stamp
from sparkassets.spark.delta_files import UNREADABLE, find_read_files, name_files, read_files
from sparkassets.spark.table_locations import path_of
from sparkassets.spark.targets import staging_layout
from sparkassets.spark.targets.staged_write import move_files, write_staged
from sparkassets.spark.writes import PlannedWrite, layout_of

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from sparkassets.spark.computation import SparkComputation
    from sparkassets.spark.partition_guard import PartitionGuard

_FILE: Final = "sparkassets_file"
SPELLED: Final = "its log spells paths of files as the driver does not"
"""Why Spark has to commit where `keeps_paths` is false, as the end of a sentence."""


def find_replaced(order: RunOrder, planned: PlannedWrite, table: DeltaTable | None) -> FileSplit:
    """The table's files that the commit removes: those all of whose rows go, and mixed ones, whose other rows stay.

    None of a new table, of rows that are only added, and of an older iteration, which does not replace the newest.
    """
    if table is None or planned.landing.replaces == "nothing" or order.keeps_newest_iteration:
        return FileSplit()
    parts = EVERYTHING if planned.landing.replaces == "all" else order.partitions
    partitioning = planned.asset.partitioning
    split = split_files(table, parts, partitioning=partitioning)
    return examine_mixed_files(path_of(planned.asset), table, split, parts, partitioning=partitioning)


@frozen
class ReplacedFiles:
    """The files that a commit removes.

    Attributes:
        table: At the version whose files they are; None for a new one.
        files: The files; mixed ones are to be copied in part.
        since: The version before the run separated files, after which commits of others may conflict; None where it
            separated none.
    """

    table: DeltaTable | None
    files: FileSplit
    since: int | None = None


def prepare_replaced(
    computation: SparkComputation, planned: PlannedWrite, table: DeltaTable | None, *, stamp: CommitStamp
) -> ReplacedFiles | str:
    """The files that the commit removes, without mixed ones where no row may be copied; or why Spark has to commit.

    It has to where only Delta can read files that would have to be separated, or the log spells paths in its own way.

    Raises:
        RunError: They cannot be separated; no row has changed.
    """
    found = find_replaced(computation.order, planned, table)
    if not keeps_paths(file.path for file in (*found.inside, *found.mixed)):
        return SPELLED
    if table is None or not found.mixed or not _forbids_copies(planned.asset, table):
        return ReplacedFiles(table, found)
    if planned.partitions is None:
        raise TypeError("a run without partitions replaces whole files")
    mixed = _examine_rows(planned, planned.partitions, table, found.mixed)
    if mixed is None:
        return UNREADABLE
    if not mixed.shared:
        return ReplacedFiles(table, FileSplit((*found.inside, *mixed.inside)))
    inside = (*found.inside, *mixed.inside)
    return _separate(computation, planned, planned.partitions, table, inside, mixed.shared, stamp=stamp)


def _forbids_copies(asset: AssetSpec, table: DeltaTable) -> bool:
    """Whether no commit that changes rows may copy rows of other partitions."""
    return asset.publishes or keeps_feed(table.metadata().configuration)


@frozen
class _MixedFiles:
    """Files whose statistics leave it open whether all of their rows are in a run's partitions.

    Attributes:
        inside: All are.
        shared: Some are, and some are not.
    """

    inside: tuple[LiveFile, ...]
    shared: tuple[LiveFile, ...]


def _examine_rows(
    planned: PlannedWrite, partitions: PartitionGuard, table: DeltaTable, files: tuple[LiveFile, ...]
) -> _MixedFiles | None:
    """Reads which of the files have rows in the partitions, and which others; None where only Delta can read one."""
    from pyspark.sql import functions as sql

    session, path = planned.landing.rows.sparkSession, path_of(planned.asset)
    rows = read_files(session, table, files, path=path, most=len(files))
    named = None if rows is None else name_files(session, table, rows, files, path=path, column=_FILE)
    if named is None:
        return None
    inside = sql.expr(f"count_if({partitions.predicate})")
    counts = named.groupBy(_FILE).agg(inside, sql.count("*")).collect()
    found = find_read_files([row[0] for row in counts], files)
    counted = list(zip(found, counts, strict=True))
    return _MixedFiles(
        tuple(file for file, (_, own, total) in counted if own == total),
        tuple(file for file, (_, own, total) in counted if 0 < own < total),
    )


def _separate(
    computation: SparkComputation,
    planned: PlannedWrite,
    partitions: PartitionGuard,
    table: DeltaTable,
    inside: Sequence[LiveFile],
    shared: Sequence[LiveFile],
    *,
    stamp: CommitStamp,
) -> ReplacedFiles | str:
    """Commits the rows of shared files in separate ones, and returns the files that the run removes from then on.

    These are the files ``inside`` and those of the run's rows: just what was read. Files of a commit that failed are
    left to `VACUUM`: an answer that was lost does not say whether it is in.

    Raises:
        RunError: The rows cannot be written, or another writer moved or removed one of these files.
    """
    path = path_of(planned.asset)
    rows = read_files(planned.landing.rows.sparkSession, table, shared, path=path, most=len(shared))
    if rows is None:
        return UNREADABLE
    marked = staging_layout.mark_outside(rows, partitions)
    if marked is None:
        return staging_layout.RESERVED
    # `discard_all` removes folders by their run; this one has a name of its own, as its files stay in the table
    attempt = StagingAttempt(f"{stamp.run}.v{table.version()}", stamp.token, stamp.attempt)
    fields = json.loads(table.schema().to_json())["fields"]
    staged = write_staged(computation, planned, marked, attempt, fields=fields, table=table)
    own = [not staging_layout.is_copied(file) for file in staged]
    files = move_files(planned, staged)
    layout, places = layout_of(planned.asset, planned.schema, planned.table), {file.place for file in shared}
    request = CommitRequest(
        planned.asset.name,
        "",
        0,
        format_stamp(replace(stamp, kind="layout", version=0)),
        adds=[file.add(layout, changes_rows=False) for file in files],
        removes=shared,
        changes_rows=False,
        conflicts_with=lambda file: not file.added and unquote(file.path) in places,
    )
    commit(path, table, request)
    separated = load_newest(path, table, owner=planned.asset.name)
    live = {file.place: file for file in live_files(flat_adds(separated))}
    replaced = {file.place for file in inside} | {file.path for file, is_own in zip(files, own, strict=True) if is_own}
    if not live.keys() >= replaced:
        raise make_conflict(planned.asset.name, "moved or removed rows that the run replaces")
    return ReplacedFiles(separated, FileSplit(tuple(live[place] for place in sorted(replaced))), since=table.version())
