"""Plans how rows land in a table, checks that they fit, and explains constraints that they violate."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from math import prod
from typing import TYPE_CHECKING, Final
from unicodedata import normalize
from urllib.parse import quote

from sparkassets.core.partitions import SegmentPartition
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.validations import MASKED
from sparkassets.delta.features import keeps_feed, spark_properties
from sparkassets.delta.staging import NULL_FOLDER
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import CommitStamp, RunOrder
from sparkassets.spark.failures import error_condition, is_conflict, run_error, whole_message
from sparkassets.spark.partition_guard import PartitionGuard, guard_for
from sparkassets.spark.schemas import listed_schema, refuse_folders, refuse_undeclared, refuse_unwritable
from sparkassets.spark.upserts.staged_rows import KeptRows
from sparkassets.spark.writes.landing import ChosenRows, RowLanding
from sparkassets.spark.writes.modes import mode_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from sparkassets.spark.open_tables import TableDescription

_CHECK = re.compile(
    r"CHECK constraint (?P<name>.+?) \((?P<expression>.+)\) violated by row with values:(?P<values>(?:\n - .*)*)"
)
_VALUE = re.compile(r"\n - (?P<column>[^\n]*?) : (?P<value>[^\n]*)")
_NOT_NULL = re.compile(r"NOT NULL constraint violated for column: (?P<column>[^\n]+?)\.?(?:\n|$|\s+SQLSTATE)")
_INVARIANT = re.compile(r"`?(?P<column>.+?)`? IS NOT NULL", re.IGNORECASE)
_REPLACE_WHERE_PREFIX = "EXPRESSION("
"""Delta's name for a ``replaceWhere`` condition, which it checks like a table's constraints."""
_GENERATED = "Generated Column"


def explain_violation(error: BaseException, schema: StructType, *, asset: AssetSpec) -> RunError | None:
    """The error for a violated constraint of the target, without personal data; None where none was."""
    message = whole_message(error)
    if match := _CHECK.search(message):
        if not_null := _INVARIANT.fullmatch(match["expression"]):
            return _make_refusal(asset.name, f"NOT NULL of the column {not_null['column']}", "")
        if match["name"].startswith(_REPLACE_WHERE_PREFIX):
            return None
        return _make_refusal(
            asset.name,
            _describe_constraint(match["name"], match["expression"]),
            _describe_values(match["values"], schema, {name.lower() for name in asset.private}),
        )
    if match := _NOT_NULL.search(message):
        return _make_refusal(asset.name, f"NOT NULL of the column {match['column']}", "")
    return None


def _make_refusal(asset: str, rule: str, values: str) -> RunError:
    shown = f": {values}" if values else ""
    return RunError(
        f"{asset}: a row violates the target's {rule}{shown}; nothing was written",
        hint="fix or filter such rows in the query, or change the table's constraint",
    )


def _describe_constraint(name: str, expression: str) -> str:
    return f"generated column {expression}" if name == _GENERATED else f"constraint {name} ({expression})"


def _describe_values(text: str, schema: StructType, private: Collection[str]) -> str:
    kinds = {field.name.lower(): field.dataType.simpleString() for field in schema.fields}
    values = {
        each["column"]: MASKED
        if each["column"].lower() in private
        else _format_value(each["value"], kinds, each["column"])
        for each in _VALUE.finditer(text)
    }
    return ", ".join(f"{column} is {value}" for column, value in values.items())


def _format_value(value: str, kinds: Mapping[str, str], column: str) -> str:
    """A value for people: Delta reports dates in days and timestamps in microseconds since 1970."""
    try:
        match kinds.get(column.lower()):
            case "date":
                return str(date(1970, 1, 1) + timedelta(days=int(value)))
            case "timestamp" | "timestamp_ntz":
                return str((datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(value))).replace(tzinfo=None))
    except (ValueError, OverflowError):
        pass
    return "NULL" if value == "null" else value


_DAY_TYPES: Final = frozenset({"date", "string"})
"""Types of a column of days, or longer slots, that names folders of a new table."""
_MOST_FOLDERS = 1000
"""With more segments, a folder for each would hold too little."""
_LONGEST_NAME = 255
"""The longest folder name, in bytes."""


@frozen
class PlannedWrite:
    """The plan of one write: a run's rows, the table, and how they land in it.

    Attributes:
        frame: The rows as the asset's code returned them.
        schema: Their schema.
        table: The table whose columns bind; None where there is none, or one without any published rows.
        partitions: The run's partitions; None for an asset without partitions.
        explain_mode_error: The write mode's explanation of an error; returns None for an error that is not its own.
    """

    asset: AssetSpec
    frame: DataFrame
    schema: StructType
    table: TableDescription | None
    partitions: PartitionGuard | None
    landing: RowLanding
    explain_mode_error: Callable[[Exception], RunError | None] = lambda _: None

    def explain_error(self, error: Exception) -> RunError:
        """The error for people when the write failed.

        It names the violated constraint or the rows outside the partitions; a conflict with another writer is
        retryable.
        """
        explained = self.explain_mode_error(error) or explain_violation(error, self.schema, asset=self.asset)
        if explained is None and self.partitions is not None:
            explained = self.partitions.explain_error(error, self.frame)
        if explained is not None:
            explained.is_data_error = True
            return explained
        if is_conflict(error):
            condition = error_condition(error)
            conflict = RunError(
                f"{self.asset.name}: another writer committed to the target during the run ({condition})"
            )
            conflict.retryable = True
            return conflict
        return run_error(error, what=self.asset.name)


def check_schema(session: SparkSession, order: RunOrder, schema: StructType, table: TableDescription | None) -> None:
    """Refuses columns that do not fit, before any row is computed.

    Raises:
        RunError: With every difference to the declared columns, or else to the target; or because a column that
            assigns rows to partitions is missing.
    """
    asset = order.asset
    refuse_unwritable(asset.name, schema)
    if asset.listed_columns or asset.columns:
        refuse_undeclared(asset.name, schema, listed_schema(session, asset, schema))
    if table is None:
        refuse_folders(asset.name, schema, asset.partitioned_by or ())
    elif not table.has_no_rows:
        mode_of(order).refuse_misfit(order, schema, table)
    guard_for(order, schema)


@contextlib.contextmanager
def plan_write(
    order: RunOrder,
    frame: DataFrame,
    *,
    schema: StructType,
    table: TableDescription | None,
    stamp: CommitStamp,
    kept: KeptRows | None = None,
) -> Iterator[tuple[PlannedWrite, CommitStamp]]:
    """Plans how the rows land by the asset's write mode; yields the plan, and the stamp with the measures to record.

    With ``kept`` the rows were chosen and staged before, to be judged, and are taken from there.

    Raises:
        RunError: They cannot; nothing was published.
    """
    mode, partitions = mode_of(order), guard_for(order, schema)
    bound_table = None if table is None or table.has_no_rows else table
    with mode.prepare_rows(order, frame, bound_table, stamp=stamp, kept=kept) as ready:
        landing = ready.landing
        if landing is None and bound_table is not None:
            landing = mode.plan_landing(order, ready.frame, bound_table, partitions=partitions)
        elif landing is None:
            landing = _plan_first_landing(ready.frame, partitions, remade=table is not None)
        yield (
            PlannedWrite(order.asset, frame, schema, bound_table, partitions, landing, ready.explain_error),
            ready.stamp,
        )


def choose_judged_rows(order: RunOrder, frame: DataFrame, *, schema: StructType) -> tuple[ChosenRows, PlannedWrite]:
    """The rows that validations judge before they land, and a plan that only serves to explain errors of their job."""
    chosen = mode_of(order).choose_rows(order, frame)
    landing, partitions = RowLanding(chosen.rows), guard_for(order, schema)
    return chosen, PlannedWrite(order.asset, frame, schema, None, partitions, landing, chosen.explain_error)


def layout_of(asset: AssetSpec, schema: StructType, table: TableDescription | None) -> list[str]:
    """The columns that folders are named by: the table's, or for a new one those that its partitions suggest."""
    layout = list(table.layout) if table is not None else _choose_layout(asset, schema)
    return layout if set(schema.names).issuperset(layout) else []


def _plan_first_landing(frame: DataFrame, partitions: PartitionGuard | None, *, remade: bool) -> RowLanding:
    """How the first published rows land, whatever the mode.

    ``remade`` says that the table exists without rows, made by a fence: its columns may be wrong, so it is overwritten.
    """
    rows = frame if partitions is None else partitions.guard_rows(frame)
    return RowLanding(rows, "all", "replaced") if remade else RowLanding(rows)


def _choose_layout(asset: AssetSpec, schema: StructType) -> list[str]:
    """The columns that name folders of a new table: `partitioned_by`, else the time of days or longer slots.

    Segments are added if runs write them one by one, and if they are few. Empty if no other column would remain.
    """
    fields = {field.name.lower(): (field.name, field.dataType.simpleString()) for field in schema.fields}
    if asset.partitioned_by is not None:
        return [fields[name][0] for name in map(str.lower, asset.partitioned_by) if name in fields]
    time, columns = asset.partitioning.time, list[str]()
    if time is not None and time.column is not None and time.has_dates:
        _, kind = fields.get(time.column.lower(), ("", ""))
        columns += [time.column.lower()] if kind in _DAY_TYPES else []
    if _runs_write_single_segments(asset):
        columns += filter(fields.__contains__, _list_segment_folders(asset))
    # Delta refuses a table of nothing but its folders' columns
    return [fields[column][0] for column in columns] if len(columns) < len(schema) else []


def _list_segment_folders(asset: AssetSpec) -> list[str]:
    """The columns of segments, in lower case, that can name folders; none where segments are many, or not all known."""
    segments = asset.partitioning.by_columns.segments
    if asset.partitioning.is_open or prod(len(each.keys) for each in segments) > _MOST_FOLDERS:
        return []
    return [each.column.lower() for each in segments if _can_name_folders(each)]


def _runs_write_single_segments(asset: AssetSpec) -> bool:
    """Whether each segment should have its own folder, because runs write it without the other segments of its time.

    Otherwise folders would only split the one file that a run writes for a day into many. Iterations and change feeds
    get the folders, too: there a run must not copy rows of other segments, and would have to separate their files.
    """
    if asset.partitioning.time is None or isinstance(asset.strategy, EveryInstance):
        return True
    return asset.publishes or keeps_feed(spark_properties(asset))


def _can_name_folders(dimension: SegmentPartition) -> bool:
    """Whether every segment can be a folder's name on any disk, and no two segments would get the same folder."""
    folder_names = (f"{dimension.column}={quote(segment, safe='')}" for segment in dimension.keys)
    if {"", NULL_FOLDER} & {*dimension.keys} or any(len(name) > _LONGEST_NAME for name in folder_names):
        return False
    return len({_fold_name(segment) for segment in dimension.keys}) == len(dimension.keys)


def _fold_name(name: str) -> str:
    r"""The name as a disk compares it that ignores case and the two ways to encode an accent.

    >>> _fold_name("É") == _fold_name("e\u0301"), _fold_name("e") == _fold_name("é")
    (True, False)
    """
    return normalize("NFD", normalize("NFD", name).casefold())
