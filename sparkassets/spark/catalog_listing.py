"""Lists the tables of a catalog that a source with a pattern stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.source_views import TableSet
from sparkassets.core.table_names import quote_table_name
from sparkassets.errors import SourceError
from sparkassets.files import SkippedFiles
from sparkassets.files.listing import matches
from sparkassets.ports import Observation
from sparkassets.spark.catalog_observers import unseen
from sparkassets.spark.failures import error_condition, first_line
from sparkassets.spark.open_tables import NO_SCHEMA
from sparkassets.spark.workplace import SparkWorkplace

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

IN_A_CATALOG: Final = "its tables are in a catalog"


class CatalogListing:
    """Lists tables of a catalog; implements `sparkassets.sources.table_sets.TableListing`.

    Args:
        workplace: Gives where to look, None as long as nobody has asked for Spark.
    """

    nouns = ("table", "of another format than Delta")

    def __init__(self, workplace: Callable[[], SparkWorkplace | None]) -> None:
        self._workplace = workplace

    def list_tables(
        self, asset: AssetSpec, tables: TableSet, skipped: SkippedFiles, *, seen: bool
    ) -> list[str] | Observation:
        """Schemas and tables by lower-case name, as a catalog compares them; no temporary views.

        Raises:
            SourceError: The schema or the catalog is not there, or cannot be listed.
        """
        del skipped, seen
        workplace = self._workplace()
        if workplace is None:
            return unseen(asset, IN_A_CATALOG)
        with workplace.enter_session(asset) as session:
            try:
                return sorted(matches(tables.pattern, lambda parent: _list_names(session, tables, parent)))
            except Exception as error:
                raise _make_refusal(asset, tables, error) from error


def _list_names(session: SparkSession, tables: TableSet, parent: str) -> list[str]:
    """Names directly within a schema or catalog; empty where it was dropped after it was listed."""
    place = (*(tables.within or ()), *(parent.split("/") if parent else ()))
    in_clause = f" IN {quote_table_name(place)}" if place else ""
    try:
        if len(place) < tables.depth - 1:
            return [_parse_schema_name(row) for row in session.sql(f"SHOW SCHEMAS{in_clause}").collect()]
        rows = session.sql(f"SHOW TABLES{in_clause}").collect()
    except Exception as error:
        if parent and error_condition(error) in NO_SCHEMA:
            return []
        raise
    return [row["tableName"].lower() for row in rows if not row["isTemporary"]]


def _parse_schema_name(row: Row) -> str:
    """The last part of a schema's name, which Spark quotes where it must be."""
    text = str(row[0])
    is_quoted = text.startswith("`") and text.endswith("`")
    return (text[1:-1].replace("``", "`") if is_quoted else text).lower()


def _make_refusal(asset: AssetSpec, tables: TableSet, error: Exception) -> SourceError:
    """The error for a schema or catalog that cannot be listed."""
    if isinstance(error, SourceError):
        return error
    schema = ".".join(tables.within or ())
    message = f"the tables of the source '{asset.name}' cannot be listed: {first_line(error)}"
    is_missing = error_condition(error) in NO_SCHEMA
    return SourceError(message, hint=f"CREATE SCHEMA {schema}, or correct the name" if is_missing and schema else None)
