"""The partitions of rows, as a session counts them; reads only the columns of partitions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from sparkassets.delta.file_parts import ALWAYS, Cell, FileParts
from sparkassets.frozen import frozen
from sparkassets.spark import sqltext

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TIME: Final = "t"


@frozen
class RowParts:
    """Determines the partitions of rows.

    Attributes:
        file_parts: Maps values to partitions, and collects those that name none.
    """

    file_parts: FileParts

    @property
    def names(self) -> list[str]:
        """The columns of `select` that tell a row's partition."""
        segments = [f"s{number}" for number in range(len(self.file_parts.segments))]
        return segments if self.file_parts.times is None else [*segments, _TIME]

    def select(self, frame: DataFrame, *, constant: Collection[str] = ()) -> DataFrame:
        """For each row its file, as ``f``, and the columns that tell its partition.

        Times are coarsened as far as no slot begins within one. Columns of ``constant`` are NULL: known already.
        """
        segments = [each.column.name for each in self.file_parts.segments]
        told = [f"{'NULL' if name in constant else sqltext.name(name)} AS s{n}" for n, name in enumerate(segments)]
        times = self.file_parts.times
        if times is not None:
            step = 60 if times.partition.precision == "minute" else 900
            told.append(f"{_coarsen_time(sqltext.name(times.column.name), times.column.kind, step)} AS {_TIME}")
        return frame.selectExpr("_metadata.file_path AS f", *told)

    def find_cell(self, values: Sequence[Any]) -> Cell | None:
        """The partition that the values of `names` name; None, and noted, where they name none."""
        told, times = self.file_parts, self.file_parts.times
        segment = told.segment_of(values[: len(told.segments)]) if told.segments else ()
        span: tuple[int, int] | None = ALWAYS
        if times is not None:
            value = values[len(told.segments)]
            if value is None:
                times.leave_out("NULL")
                span = None
            else:
                span = times.of_instant(value) if times.column.kind == "timestamp" else times.of_value(value)
        return None if segment is None or span is None else (segment, span)


def _coarsen_time(column: str, kind: str, step: int) -> str:
    """Rounds times down to a quarter of an hour, or a minute; days and keys stay."""
    match kind:
        case "timestamp":
            return f"CAST(floor(unix_seconds({column}) / {step}) * {step} AS BIGINT)"
        case "timestamp_ntz":
            seconds = f"unix_seconds(CAST(CAST({column} AS STRING) || 'Z' AS TIMESTAMP))"
            local = f"timestamp_seconds(floor({seconds} / {step}) * {step})"
            return f"date_format({local}, \"yyyy-MM-dd'T'HH:mm:ss\")"
    return column
