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
from sparkassets.spark.current_table import NO_SCHEMA
from sparkassets.spark.failures import error_condition, first_line
from sparkassets.spark.workplace import SparkWorkplace

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

IN_A_CATALOG: Final = "its tables are in a catalog"


class ListedTables:
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
                return sorted(matches(tables.pattern, lambda way: _names(session, tables, way)))
            except Exception as error:
                raise _refusal(asset, tables, error) from error


def _names(session: SparkSession, tables: TableSet, way: str) -> list[str]:
    """Names directly within a schema or catalog; empty where it was dropped after it was listed."""
    place = (*(tables.within or ()), *(way.split("/") if way else ()))
    inside = f" IN {quote_table_name(place)}" if place else ""
    try:
        if len(place) < tables.depth - 1:
            return [_name(row) for row in session.sql(f"SHOW SCHEMAS{inside}").collect()]
        found = session.sql(f"SHOW TABLES{inside}").collect()
    except Exception as error:
        if way and error_condition(error) in NO_SCHEMA:
            return []
        raise
    return [row["tableName"].lower() for row in found if not row["isTemporary"]]


def _name(row: Row) -> str:
    """The last part of a schema's name, which Spark quotes where it must be."""
    written = str(row[0])
    quotes = written.startswith("`") and written.endswith("`")
    return (written[1:-1].replace("``", "`") if quotes else written).lower()


def _refusal(asset: AssetSpec, tables: TableSet, error: Exception) -> SourceError:
    """The error for a schema or catalog that cannot be listed."""
    if isinstance(error, SourceError):
        return error
    within = ".".join(tables.within or ())
    message = f"the tables of the source '{asset.name}' cannot be listed: {first_line(error)}"
    missing = error_condition(error) in NO_SCHEMA
    return SourceError(message, hint=f"CREATE SCHEMA {within}, or correct the name" if missing and within else None)
