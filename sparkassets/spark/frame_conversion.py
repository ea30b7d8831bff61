"""Converts rows between Spark and pandas, polars, Arrow, DuckDB and plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from sparkassets.errors import RunError
from sparkassets.spark.capabilities import capabilities_of
from sparkassets.spark.versions import from_arrow, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

_KINDS: Final = {
    ("pandas", "DataFrame"): "pandas",
    ("pyarrow", "Table"): "arrow",
    ("pyarrow", "RecordBatch"): "batch",
    ("polars", "DataFrame"): "polars",
    ("polars", "LazyFrame"): "lazy polars",
    ("duckdb", "DuckDBPyRelation"): "duckdb",
    ("_duckdb", "DuckDBPyRelation"): "duckdb",
}
"""The kind of rows, by library and class."""
_UTC: Final = "UTC"
_MOST_DIGITS: Final = 38
"""The most digits of a decimal."""


def is_rows(value: object) -> bool:
    """Whether the value is rows, of Spark or of another library."""
    return is_frame(value) or _find_library(value) is not None


def is_frame(value: object) -> bool:
    """Whether the value is a Spark DataFrame, classic or Connect."""
    return _find_library(value) is None and hasattr(value, "schema") and hasattr(value, "write")


def to_library(frame: Any, kind: str | None) -> Any:  # noqa: ANN401  a class of that library
    """The rows as an argument's annotation asks for them; any but Spark's own are collected on the driver."""
    if not is_frame(frame):
        return frame
    match kind:
        case "pandas":
            return _drop_time_zones(to_arrow(frame)).to_pandas()
        case "arrow":
            return to_arrow(frame)
        case "polars" | "lazy polars":
            import polars as pl

            found: Any = pl.from_arrow(to_arrow(frame))
            return found if kind == "polars" else found.lazy()
    return frame


def _drop_time_zones(table: pa.Table) -> pa.Table:
    """The table with naive UTC times, as pandas gets them from Spark."""
    import pyarrow as pa

    for index, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            values = table.column(index).cast(pa.timestamp(field.type.unit))
            table = table.set_column(index, field.name, values)
    return table


def _types_of(schema: StructType | None) -> dict[str, DataType]:
    return {} if schema is None else {field.name: field.dataType for field in schema.fields}


def to_spark(
    session: SparkSession,
    rows: Any,  # noqa: ANN401  of a class of that library
    *,
    asset: str,
    declared: StructType | None,
    table_schema: StructType | None,
) -> DataFrame:
    """Converts rows to Spark's, with declared types where there are some.

    Args:
        session: The session of the run.
        rows: Rows as of `is_rows`.
        asset: The asset, for messages.
        declared: The declared columns.
        table_schema: The table's columns, which give a column without values its type.

    Raises:
        RunError: A column has no type, or does not fit the declared one.
    """
    if is_frame(rows):
        frame: DataFrame = rows
        return frame
    import pyarrow as pa

    types, known_types = _types_of(declared), _types_of(table_schema)
    columns = _read_columns(rows, asset, types) or {name: pa.chunked_array([pa.nulls(0)]) for name in types}
    if not columns:
        hint = "declare its 'columns' for empty results"
        raise RunError(f"{asset}: the function returned rows without columns", hint=hint)
    typed = {
        name: _convert_column(values, name, asset, types.get(name), known_types.get(name))
        for name, values in columns.items()
    }
    table = pa.table(typed)
    if not capabilities_of(session).masks_fields and any(pa.types.is_nested(field.type) for field in table.schema):
        table = _mask_fields(table)
    return from_arrow(session, table, _make_schema(typed, types))


def _mask_fields(table: pa.Table) -> pa.Table:
    """The rows with NULL for each field of a NULL struct, at any depth: Parquet stores no value below a NULL."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer)
    return pq.read_table(pa.BufferReader(buffer.getvalue())).cast(table.schema)


def _find_library(value: object) -> str | None:
    return _KINDS.get((type(value).__module__.partition(".")[0], type(value).__name__))


def _read_columns(rows: Any, asset: str, types: Mapping[str, DataType]) -> dict[str, pa.ChunkedArray]:  # noqa: ANN401
    import pyarrow as pa

    match _find_library(rows):
        case "pandas":
            return _read_pandas(rows, asset, types)
        case "batch":
            rows = pa.Table.from_batches([rows])
        case "polars":
            rows = rows.to_arrow()
        case "lazy polars":
            rows = rows.collect().to_arrow()
        case "duckdb":
            rows = rows.to_arrow_table()
    _refuse_doubled(asset, rows.column_names)
    return dict(zip(rows.column_names, rows.columns, strict=True))


def _read_pandas(rows: Any, asset: str, types: Mapping[str, DataType]) -> dict[str, pa.ChunkedArray]:  # noqa: ANN401
    """The columns of pandas rows; a named index is refused, because it would be lost silently."""
    import pyarrow as pa

    if index_names := [name for name in rows.index.names if name is not None]:
        raise RunError(
            f"{asset}: the rows have the index {', '.join(map(repr, index_names))}, which a table cannot store",
            hint="return rows.reset_index(), or rows.reset_index(drop=True) without it",
        )
    for name in rows.columns:
        if not isinstance(name, str):
            raise RunError(f"{asset}: the rows have the column {name!r}, whose name is not text")
    _refuse_doubled(asset, list(rows.columns))
    columns = {}
    for name in rows.columns:
        wanted = _find_arrow_type(types[name]) if name in types and rows[name].dtype == object else None
        try:
            values = pa.Array.from_pandas(rows[name], type=wanted)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise _make_unfit_error(asset, name, types.get(name), error) from error
        columns[name] = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    return columns


def _refuse_doubled(asset: str, names: list[str]) -> None:
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise RunError(f"{asset}: the result has the column {', '.join(map(repr, doubled))} more than once")


def _convert_column(
    values: pa.ChunkedArray, name: str, asset: str, declared: DataType | None, table_type: DataType | None
) -> pa.ChunkedArray:
    """The values of a column in its declared type, else in Spark's nearest type."""
    import pyarrow as pa

    if declared is None and pa.types.is_null(values.type):
        declared = table_type
        if declared is None:
            raise RunError(
                f"{asset}: no row has a value in the column {name!r}, so its type is unknown",
                hint=f"declare it: columns: {{{name}: string}}",
            )
    wanted = _find_nearest_type(values.type) if declared is None else _find_arrow_type(declared)
    if wanted is None or wanted == values.type:
        return values
    if values.null_count == len(values):
        return pa.chunked_array([pa.nulls(len(values), wanted)])
    are_times = pa.types.is_timestamp(values.type) and pa.types.is_timestamp(wanted)  # no table has nanoseconds
    try:
        if pa.types.is_integer(values.type) and pa.types.is_decimal(wanted):
            values = values.cast(pa.decimal128(_MOST_DIGITS, wanted.scale))  # Arrow asks for room for any integer
        return values.cast(wanted, safe=not are_times)
    except pa.ArrowNotImplementedError:
        return values  # Spark says what it makes of them
    except pa.ArrowException as error:
        raise _make_unfit_error(asset, name, declared, error) from error


def _make_schema(columns: Mapping[str, pa.ChunkedArray], declared: Mapping[str, DataType]) -> StructType:
    """The columns' types as Spark has them; Arrow cannot express all of them."""
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    return StructType(
        [
            StructField(name, declared.get(name) or from_arrow_type(each.type, prefer_timestamp_ntz=False))
            for name, each in columns.items()
        ]
    )


def _find_arrow_type(kind: DataType) -> pa.DataType | None:
    """Arrow's type for one of Spark's; None where it has none."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructField, StructType, TimestampType

    if isinstance(kind, TimestampType):
        import pyarrow as pa

        return pa.timestamp("us", tz=_UTC)
    try:
        return to_arrow_schema(StructType([StructField("it", kind)])).field("it").type
    except PySparkException:
        return None


def _find_nearest_type(kind: pa.DataType) -> pa.DataType:
    """The Spark type that holds all values of an Arrow type."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _find_nearest_type(kind.value_type)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz=_UTC)
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_large_list(kind):  # Spark 3.5 takes no large ones
        return pa.list_(kind.value_field)
    return {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
        pa.float16(): pa.float32(),
        pa.date64(): pa.date32(),
    }.get(kind, kind)


def _make_unfit_error(asset: str, name: str, declared: DataType | None, error: BaseException) -> RunError:
    """The error for a column whose values do not fit."""
    reason = str(error.args[0] if error.args else error).splitlines()[0]
    what = "have no common type" if declared is None else f"do not fit {declared.simpleString()}"
    return RunError(f"{asset}: values of the column {name!r} {what}: {reason}")
