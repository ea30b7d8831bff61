"""What differs between the versions of Spark: a class is asked for what it can do, and Spark 3.5 does it another way.

The rest of this package is written as for any of them. Which versions are taken at all is in `installation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, Final, cast

from sparkassets.spark import gateway, sqltext

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

ANSI: Final = "spark.sql.ansi.enabled"
"""The setting by which a cast that does not fit is an error, and no NULL."""


def lacks_ansi(session: SparkSession) -> bool:
    """Whether `ANSI` is off unless somebody sets it: before Spark 4.0."""
    return str(session.version).startswith("3.")


def takes_connect(session: SparkSession) -> bool:
    """Whether a client of Spark Connect can do what runs need: that of 3.5 takes no frames in SQL.

    The methods are asked, not the version: clients of Databricks for 3.5 have some of 4.0.
    """
    return "**" in str(signature(type(session).sql)) and _takes_arrow(type(session))


def list_settings(session: SparkSession) -> Mapping[str, str]:
    """All settings of a session."""
    if hasattr(session, "_jsparkSession"):
        return gateway.read_settings(session)
    return cast("Mapping[str, str]", session.conf.getAll)


def to_arrow(frame: DataFrame) -> pa.Table:
    """The rows, collected on the driver."""
    if hasattr(type(frame), "toArrow"):
        return frame.toArrow()
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    older: Any = frame
    return pa.Table.from_batches(older._collect_as_arrow(), to_arrow_schema(frame.schema))  # noqa: SLF001 - no public way


def from_arrow(session: SparkSession, table: pa.Table, schema: StructType | None = None) -> DataFrame:
    """A frame of an Arrow table.

    Args:
        session: The session of the frame.
        table: The rows.
        schema: The types in Spark, which those of the table fit; None takes what each is in Spark.
    """
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    if _takes_arrow(type(session)):
        return session.createDataFrame(table, schema)
    wanted = schema or from_arrow_schema(table.schema)
    return _make_frame(session, table.cast(to_arrow_schema(wanted)), wanted)


def _make_frame(session: Any, table: pa.Table, schema: StructType) -> Any:  # noqa: ANN401 - parts that have no types
    """A frame of an Arrow table in Spark 3.5, by the steps that Spark 4 takes for it."""
    from pyspark.sql import DataFrame
    from pyspark.sql.pandas.serializers import ArrowStreamSerializer

    jvm = session._jvm  # noqa: SLF001 - no public way
    rows = session._sc._serialize_to_jvm(  # noqa: SLF001 - likewise
        table.to_batches(), ArrowStreamSerializer(), jvm.PythonSQLUtils.readArrowStreamFromFile, jvm.ArrowIteratorServer
    )
    return DataFrame(jvm.PythonSQLUtils.toDataFrame(rows, schema.json(), session._jsparkSession), session)  # noqa: SLF001


def rebalance(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The same rows, those of equal values in as few tasks as their size allows."""
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as sql

    names = [sqltext.name(column) for column in columns]
    older: Any = frame
    if not hasattr(older, "_jdf") or not lacks_ansi(frame.sparkSession):
        return frame.hint("rebalance", *names)
    # Spark 3.5 takes a hint's text for a literal, and no column of Python's
    hint_columns = older._jseq([sql.col(name)._jc.expr() for name in names])  # noqa: SLF001 - no public way
    return DataFrame(older._jdf.hint("rebalance", hint_columns), frame.sparkSession)  # noqa: SLF001 - likewise


def _takes_arrow(kind: type[SparkSession]) -> bool:
    """Whether frames are made of Arrow tables: since Spark 4.0.

    That they give them back (`DataFrame.toArrow`) proves nothing: on Databricks they do since runtime 15.3.
    """
    return "pa.Table" in str(signature(kind.createDataFrame))


def dataset_of(frame: Any, plan: Any) -> Any:  # noqa: ANN401 - of the JVM
    """A data set of the JVM that computes a plan, in the session of a classic frame."""
    from py4j.java_gateway import JavaClass  # type: ignore[import-untyped]  # it has no types

    spark, session = frame.sparkSession._jvm.org.apache.spark.sql, frame._jdf.sparkSession()  # noqa: SLF001 - no public way
    classic = spark.classic.Dataset  # py4j takes a name that is no class for a package
    return (classic if isinstance(classic, JavaClass) else spark.Dataset).ofRows(session, plan)


def is_variant(kind: DataType) -> bool:
    """Whether the type is ``variant``, for which pyspark 3.5 has no class."""
    return str(kind.typeName()) == "variant"
