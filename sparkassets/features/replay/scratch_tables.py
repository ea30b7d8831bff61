"""The tables that a replay writes in place of a run's own, with the rows that the run found where it needs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sparkassets.core.instants import from_unix
from sparkassets.core.journal.entries import PublishedEntry
from sparkassets.core.partitions import EVERYTHING, UNPARTITIONED, PartitionSet
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.validations import RunJudgement
from sparkassets.core.writes import ReplaceWrite
from sparkassets.delta.log import DeltaLog
from sparkassets.delta.scratch_folders import REMEMBERED
from sparkassets.errors import InputError, RunError
from sparkassets.features.replay.recorded_run import reads_own_table
from sparkassets.frozen import frozen, replace
from sparkassets.ports import RunComputation, RunOrder, TargetFactory
from sparkassets.runtime.claimed_targets import make_stamp
from sparkassets.spark.commit_stamps import has_no_rows, read_stamp
from sparkassets.spark.computation import SparkComputation
from sparkassets.spark.context import make_context
from sparkassets.spark.inlet_reader import ReadInlets
from sparkassets.spark.open_tables import OpenedTable, PathTable, find_table, open_table
from sparkassets.spark.predicates import partition_predicate
from sparkassets.spark.table_locations import location_of, path_of
from sparkassets.spark.upserts.upsert_memory import copy_memory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def in_scratch_tables(order: RunOrder, folder: str) -> RunOrder:
    """The order with tables in the folder in place of its own: the folder itself, or one in it for each outlet.

    Raises:
        InputError: One of them holds a table already.
    """
    outlets = tuple(_with_storage(each, f"{folder}/{each.asset.name}") for each in order.outlets)
    scratch = replace(order, outlets=outlets) if outlets else _with_storage(order, folder)
    for each in scratch.table_orders:
        if open_table(path_of(each.asset)) is not None:
            raise InputError(f"there is a table in {path_of(each.asset)!r} already", hint="name another folder")
    return scratch


def _with_storage(order: RunOrder, path: str) -> RunOrder:
    return replace(order, asset=replace(order.asset, storage=StorageLocation(path, path)))


@frozen
class RunCommit:
    """The commit of a run in one of its tables.

    Attributes:
        earlier_version: The version before it; None where no run had left rows.
        at: When it was made.
    """

    table: OpenedTable
    earlier_version: int | None
    at: datetime


def find_run_commit(session: SparkSession, order: RunOrder, published: PublishedEntry) -> RunCommit:
    """The commit by which the run published, found by its stamp in the table's log.

    Raises:
        RunError: Another table has taken its place, or its log begins later.
    """
    name, version, location = order.asset.name, published.version or 0, location_of(order.asset)
    table = find_table(session, location)
    if table is None or table.table_id != published.table_id:
        raise RunError(f"{name}: the table at {location.display_text} is not the recorded one")
    commits = _commits_up_to(table, version)
    commit = next(commits, {})
    stamp = read_stamp(commit)
    if stamp is None or stamp.get("run") != order.run:
        raise RunError(f"{name}: version {version}, which run {order.run} made, is no longer in the table's log")
    at = commit.get("timestamp")
    at = at if isinstance(at, datetime) else from_unix(int(at or 0) // 1000)
    return RunCommit(table, version - 1 if _may_have_rows(commits, version) else None, at)


def _commits_up_to(table: OpenedTable, version: int) -> Iterator[Mapping[str, Any]]:
    """What the commits up to that version say of themselves, newest first."""
    if isinstance(table, PathTable):
        return DeltaLog(table.path).iterate_commit_info(version)
    return (each for each in table.iterate_commits() if each["version"] <= version)


def _may_have_rows(commits: Iterator[Mapping[str, Any]], version: int) -> bool:
    """Whether a commit before that version left rows; also True where the log no longer goes back to version 0."""
    oldest = version
    for commit in commits:
        if not has_no_rows(commit):
            return True
        oldest = commit["version"]
    return oldest > 0


def copy_earlier_rows(
    session: SparkSession,
    order: RunOrder,
    scratch: RunOrder,
    published: PublishedEntry,
    *,
    project: ProjectSpec,
    targets: TargetFactory,
) -> None:
    """Fills the scratch table with what the run found in its own: the rows of its partitions, and an upsert's memory.

    Does nothing where the table had no rows then.

    Raises:
        RunError: That version is gone, or what was remembered then.
    """
    commit, asset = find_run_commit(session, order, published), order.asset
    if commit.earlier_version is None:
        return
    partitioning = asset.partitioning
    # a run that reads its own table, or finds its segments as it computes, may need rows of any partition
    parts = EVERYTHING if reads_own_table(asset) or order.discovers_segments else published.partitions
    rows, is_exact = commit.table.read_rows(session, commit.earlier_version, parts=parts, partitioning=partitioning)
    if not is_exact and not parts.is_everything:  # rows of other partitions are among them
        predicate = partition_predicate(rows.schema, parts, partitioning=partitioning, owner=asset.name)
        rows = rows if predicate is None else rows.filter(predicate)
    # below the version of the replay's own commit, 2 * token + 1 as in a run, so that this is the earlier one
    stamp = make_stamp(scratch, 2 * scratch.token - 1, "data", token=scratch.token)
    if asset.write is not None and asset.write.by_keys:
        remembered = copy_memory(
            session,
            location_of(asset),
            location_of(scratch.asset),
            version=commit.earlier_version,
            app=order.app_id,
            stamp=stamp,
            as_of=commit.at,
        )
        stamp = stamp if remembered is None else replace(stamp, measures={REMEMBERED: remembered})
    plain = replace(scratch.asset, write=ReplaceWrite(), rules=(), partitioning=UNPARTITIONED)
    copying = replace(scratch, asset=plain, partitions=EVERYTHING, rebuilds=True, outlets=())
    context = make_context(copying, watermark=None, project=project, folders={})
    target = targets.open_target(plain, app_id=copying.app_id, enlist=_enlist_nothing)
    target.write(SparkComputation(copying, rows, rows.schema, None, context, ReadInlets()), stamp=stamp)


def write_scratch_tables(
    scratch: RunOrder, computation: RunComputation, withheld: PartitionSet, targets: TargetFactory
) -> None:
    """Writes the computed rows as the run did, without the partitions that were withheld then.

    Raises:
        RunError: The rows cannot be computed or written.
        SourceError: A file that is read has changed meanwhile.
    """
    stamp = make_stamp(scratch, 2 * scratch.token + 1, "data", token=scratch.token, computation=computation, attempt=1)
    if scratch.has_rules or withheld:  # as decided then: other rules, and later row counts, may decide otherwise
        stamp = stamp.with_judgement(RunJudgement(withheld), scratch)
    opened = [
        targets.open_target(each.asset, app_id=each.app_id, enlist=_enlist_nothing) for each in scratch.table_orders
    ]
    if len(opened) > 1 or scratch.has_rules:  # as a run does: everything is computed before the first commit
        for target in opened:
            target.prepare(computation, stamp=stamp)
    for target in opened:
        target.write(computation, stamp=stamp)


def _enlist_nothing() -> None:
    """Scratch tables have one writer, which no other driver has to find."""
