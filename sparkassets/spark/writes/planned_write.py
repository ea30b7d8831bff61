"""Plans how rows land in a table, checks that they fit, and explains constraints that they violate."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from math import prod
from typing import TYPE_CHECKING, Final
from unicodedata import normalize
from urllib.parse import quote

from sparkassets.core.partitions import SegmentPartition
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance
from sparkassets.delta.features import keeps_feed, spark_properties
from sparkassets.delta.staging import NULL_FOLDER
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import CommitMarker, RunOrder
from sparkassets.spark.failures import error_condition, is_conflict, run_error, whole_message
from sparkassets.spark.partition_guard import PartitionGuard, guard_for
from sparkassets.spark.schemas import declared_schema, refuse_folders, refuse_undeclared, refuse_unwritable
from sparkassets.spark.upserts.staged_rows import KeptRows
from sparkassets.spark.writes.landing import ChosenRows, RowLanding
from sparkassets.spark.writes.modes import mode_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from sparkassets.spark.target_table import TargetTable

_CHECK = re.compile(
    r"CHECK constraint (?P<name>.+?) \((?P<expression>.+)\) violated by row with values:(?P<values>(?:\n - .*)*)"
)
_VALUE = re.compile(r"\n - (?P<column>[^\n]*?) : (?P<value>[^\n]*)")
_NOT_NULL = re.compile(r"NOT NULL constraint violated for column: (?P<column>[^\n]+?)\.?(?:\n|$|\s+SQLSTATE)")
_INVARIANT = re.compile(r"`?(?P<column>.+?)`? IS NOT NULL", re.IGNORECASE)
_OF_THE_WRITE = "EXPRESSION("
"""Delta's name for a ``replaceWhere`` condition, which it checks like a table's constraints."""
_GENERATED = "Generated Column"


def violation(error: BaseException, schema: StructType, *, asset: str) -> RunError | None:
    """The error for a violated constraint of the target; None where none was."""
    message = whole_message(error)
    if found := _CHECK.search(message):
        if nulls := _INVARIANT.fullmatch(found["expression"]):
            return _refusal(asset, f"NOT NULL of the column {nulls['column']}", "")
        if found["name"].startswith(_OF_THE_WRITE):
            return None
        return _refusal(asset, _rule(found["name"], found["expression"]), _values(found["values"], schema))
    if found := _NOT_NULL.search(message):
        return _refusal(asset, f"NOT NULL of the column {found['column']}", "")
    return None


def _refusal(asset: str, rule: str, values: str) -> RunError:
    shown = f": {values}" if values else ""
    return RunError(
        f"{asset}: the target refuses a row by its {rule}{shown}; nothing was written",
        hint="mend or filter such rows in the query, or change the table's constraint",
    )


def _rule(name: str, expression: str) -> str:
    return f"generated column {expression}" if name == _GENERATED else f"constraint {name} ({expression})"


def _values(text: str, schema: StructType) -> str:
    kinds = {field.name.lower(): field.dataType.simpleString() for field in schema.fields}
    return ", ".join(
        f"{each['column']} is {_format_value(each['value'], kinds, each['column'])}" for each in _VALUE.finditer(text)
    )


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


_DAYS: Final = frozenset({"date", "string"})
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
    table: TargetTable | None
    partitions: PartitionGuard | None
    landing: RowLanding
    explain_mode_error: Callable[[Exception], RunError | None] = lambda _: None

    def explain_error(self, error: Exception) -> RunError:
        """The error for people when the write failed.

        It names the violated constraint or the rows outside the partitions; a conflict with another writer is
        retryable.
        """
        found = self.explain_mode_error(error) or violation(error, self.schema, asset=self.asset.name)
        if found is None and self.partitions is not None:
            found = self.partitions.explain_error(error, self.frame)
        if found is not None:
            found.is_data_error = True
            return found
        if is_conflict(error):
            condition = error_condition(error)
            conflict = RunError(f"{self.asset.name}: another writer committed to the target meanwhile ({condition})")
            conflict.retryable = True
            return conflict
        return run_error(error, what=self.asset.name)


def check_schema(session: SparkSession, order: RunOrder, schema: StructType, table: TargetTable | None) -> None:
    """Refuses columns that do not fit, before any row is computed.

    Raises:
        RunError: With every difference to the declared columns, or else to the target; or because a column that
            assigns rows to partitions is missing.
    """
    asset = order.asset
    refuse_unwritable(asset.name, schema)
    if asset.columns:
        refuse_undeclared(asset.name, schema, declared_schema(session, asset.columns))
    if table is None:
        refuse_folders(asset.name, schema, asset.partitioned_by or ())
    elif not table.has_no_rows:
        mode_of(asset).refuse_misfit(order, schema, table)
    guard_for(order, schema)


@contextlib.contextmanager
def plan_write(
    order: RunOrder,
    frame: DataFrame,
    *,
    schema: StructType,
    table: TargetTable | None,
    marker: CommitMarker,
    kept: KeptRows | None = None,
) -> Iterator[tuple[PlannedWrite, CommitMarker]]:
    """Plans how the rows land by the asset's write mode; yields the plan, and the marker with the measures to record.

    With ``kept`` the rows were chosen and staged before, to be judged, and are taken from there.

    Raises:
        RunError: They cannot; nothing was published.
    """
    mode, partitions = mode_of(order.asset), guard_for(order, schema)
    there = None if table is None or table.has_no_rows else table
    with mode.prepare_rows(order, frame, there, marker=marker, kept=kept) as ready:
        landing = ready.landing
        if landing is None and there is not None:
            landing = mode.plan_landing(order, ready.frame, there, partitions=partitions)
        elif landing is None:
            landing = _first(ready.frame, partitions, remade=table is not None)
        yield PlannedWrite(order.asset, frame, schema, there, partitions, landing, ready.explain_error), ready.marker


def choose_judged_rows(order: RunOrder, frame: DataFrame, *, schema: StructType) -> tuple[ChosenRows, PlannedWrite]:
    """The rows that validations judge before they land, and a plan that only serves to explain errors of their job."""
    found = mode_of(order.asset).choose_rows(order, frame)
    landing, partitions = RowLanding(found.rows), guard_for(order, schema)
    return found, PlannedWrite(order.asset, frame, schema, None, partitions, landing, found.explain_error)


def layout_of(asset: AssetSpec, schema: StructType, table: TargetTable | None) -> list[str]:
    """The columns that folders are named by: the table's, or for a new one those that its partitions suggest."""
    layout = list(table.layout) if table is not None else _new_layout(asset, schema)
    return layout if set(schema.names).issuperset(layout) else []


def _first(frame: DataFrame, partitions: PartitionGuard | None, *, remade: bool) -> RowLanding:
    """How the first published rows land, whatever the mode.

    ``remade`` says that the table exists without rows, made by a fence: its columns may be wrong, so it is overwritten.
    """
    rows = frame if partitions is None else partitions.guard_rows(frame)
    return RowLanding(rows, "all", "replaced") if remade else RowLanding(rows)


def _new_layout(asset: AssetSpec, schema: StructType) -> list[str]:
    """The columns that name folders of a new table: `partitioned_by`, else the time of days or longer slots.

    Segments are added if runs write them one by one, and if they are few. Empty if no other column would remain.
    """
    fields = {field.name.lower(): (field.name, field.dataType.simpleString()) for field in schema.fields}
    if asset.partitioned_by is not None:
        return [fields[name.lower()][0] for name in asset.partitioned_by if name.lower() in fields]
    time, segments = asset.partitioning.time, asset.partitioning.by_columns.segments
    layout = []
    if time is not None and time.column is not None and time.has_dates:
        name, kind = fields.get(time.column.lower(), ("", ""))
        layout += [name] if kind in _DAYS else []
    few = prod(len(each.keys) for each in segments) <= _MOST_FOLDERS and not asset.partitioning.is_open
    if few and _are_written_alone(asset):
        good = (each.column.lower() for each in segments if _are_folders(each))
        layout += [fields[column][0] for column in good if column in fields]
    return layout if len(layout) < len(schema) else []  # Delta refuses a table of nothing but its folders' columns


def _are_written_alone(asset: AssetSpec) -> bool:
    """Whether each segment should have its own folder, because runs write it without the other segments of its time.

    Otherwise folders would only split the one file that a run writes for a day into many. Iterations and change feeds
    need the folders, too: there a run must not copy rows of other segments.
    """
    if asset.partitioning.time is None or isinstance(asset.strategy, EveryInstance):
        return True
    return asset.publishes or keeps_feed(spark_properties(asset))


def _are_folders(dimension: SegmentPartition) -> bool:
    """Whether every segment can be a folder's name on any disk, and no two segments would get the same folder."""
    named = (f"{dimension.column}={quote(segment, safe='')}" for segment in dimension.keys)
    if {"", NULL_FOLDER} & {*dimension.keys} or any(len(name) > _LONGEST_NAME for name in named):
        return False
    return len({_fold_name(segment) for segment in dimension.keys}) == len(dimension.keys)


def _fold_name(name: str) -> str:
    r"""The name as a disk compares it that ignores case and the two ways to encode an accent.

    >>> _fold_name("É") == _fold_name("e\u0301"), _fold_name("e") == _fold_name("é")
    (True, False)
    """
    return normalize("NFD", normalize("NFD", name).casefold())
