"""Plain strings in what Spark Connect writes.

A Connect client names a collation for every string that a function of it returns, if only the default one. The server
writes it into the table's schema as ``string collate UTF8_BINARY``, a type that Delta's protocol does not have: others
cannot open such a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.spark import sqltext
from sparkassets.spark.own_session import is_remote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType


def with_plain_strings(frame: DataFrame, schema: StructType) -> DataFrame:
    """The same rows with plain strings; rows of a classic session have them anyway."""
    if not is_remote(frame.sparkSession):
        return frame
    from pyspark.sql import functions as sql

    columns = []
    for field in schema.fields:
        column = sql.col(sqltext.name(field.name))
        if "string" in field.dataType.simpleString():
            column = column.cast(_ddl(field.dataType)).alias(field.name, metadata=field.metadata)
        columns.append(column)
    return frame.select(*columns)


def _ddl(kind: DataType) -> str:
    """The type as the server reads it: text, since the client adds a collation to its own types."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    match kind:
        case ArrayType():
            return f"ARRAY<{_ddl(kind.elementType)}>"
        case MapType():
            return f"MAP<{_ddl(kind.keyType)}, {_ddl(kind.valueType)}>"
        case StructType():
            return f"STRUCT<{', '.join(f'{sqltext.name(each.name)}: {_ddl(each.dataType)}' for each in kind.fields)}>"
    return str(kind.simpleString())
