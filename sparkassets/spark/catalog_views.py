"""Views by which catalogs show a branch: in a schema beside each of the base's, every table under its usual name.

They show present rows: a view of a pinned version fails once the base's table has been through VACUUM. The branch's own
tables are shown by views as well, not registered as tables: so one statement puts an asset's own table in the place of
the base's, and nothing but views is ever dropped. A property marks what was made for the branch; what lacks it is
somebody else's and stays. Every step looks first and is harmless twice, so a killed update is completed by the next,
and what another driver has done meanwhile is no error.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sparkassets.core.table_names import format_table_name, quote_table_name
from sparkassets.frozen import frozen
from sparkassets.ports.views import BranchViews, ShownTable
from sparkassets.spark import sqltext
from sparkassets.spark.failures import error_condition, error_mentions, first_line
from sparkassets.spark.open_tables import MISSING_TABLE, NO_SCHEMA
from sparkassets.spark.table_locations import table_sql

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

BRANCH_PROPERTY: Final = "sparkassets.branch"
"""The property of a view or schema that names the branch it was made for."""
_VERSION_PROPERTY: Final = "sparkassets.version"
"""The property of a view that says as of which version of its table it has that table's columns."""
_NO_VIEWS: Final = "does not support views"
"""Part of Spark's message about a catalog that has no views."""
_SCHEMA_NOT_FOUND: Final = "SCHEMA_NOT_FOUND"
"""Part of what Unity Catalog's server answers about a schema that is not there."""


def update_views(session: SparkSession, views: BranchViews) -> list[str]:
    """Makes the views of a branch as they should be, and removes its others; returns why some could not be made.

    A schema is made for the first view in it and removed after the last. Nothing is done in catalogs without views.
    """
    schemas: dict[tuple[str, ...], dict[str, ShownTable | None]] = defaultdict(dict)
    for table, shown in views.tables.items():
        schema = table[:-1] or (session.catalog.currentDatabase(),)
        schemas[views.schema_beside(schema)][table[-1]] = shown
    problems: list[str] = []
    for schema, tables in schemas.items():
        try:
            problems += _SchemaViews(session, views, schema).update(tables)
        except Exception as error:  # noqa: BLE001  the catalog's answer; other schemas may have views
            if not error_mentions(error, _NO_VIEWS):
                problems.append(f"the views in {format_table_name(schema)}: {first_line(error)}")
    return problems


@frozen
class _SchemaViews:
    """The views of a branch in one schema."""

    session: SparkSession
    views: BranchViews
    schema: tuple[str, ...]

    def update(self, tables: Mapping[str, ShownTable | None]) -> list[str]:
        """Makes the views of these names as they should be, and removes the branch's others."""
        wanted = {name: shown for name, shown in tables.items() if shown is not None}
        present = self._list_views()
        if present is None and not wanted:
            return []
        if present is None:
            mark = _format_properties({BRANCH_PROPERTY: self.views.mark})
            self._execute(f"CREATE SCHEMA IF NOT EXISTS {quote_table_name(self.schema)} WITH DBPROPERTIES {mark}")
            present = set()
        self._drop_views(present.difference(map(str.lower, wanted)))
        if not wanted:
            self._drop_schema()
        problems = [self._show(name, shown, exists=name.lower() in present) for name, shown in wanted.items()]
        return list(filter(None, problems))

    def _drop_views(self, names: Collection[str]) -> None:
        """Drops the branch's views of these names."""
        for name in names:
            if self._read_properties(name).get(BRANCH_PROPERTY) == self.views.mark:
                self._execute(f"DROP VIEW IF EXISTS {self._quote(name)}")

    def _show(self, name: str, shown: ShownTable, *, exists: bool) -> str:
        """Makes the view of that name; returns why it cannot, empty if it could."""
        properties, view, problem = self._read_properties(name) if exists else {}, self._quote(name), ""
        if exists and properties.get(BRANCH_PROPERTY) != self.views.mark:
            return self._describe_other(name)
        if properties.get(_VERSION_PROPERTY) == shown.version:
            return ""
        version = {_VERSION_PROPERTY: shown.version}
        rows = f"SELECT * FROM {table_sql(shown.location)}"  # noqa: S608  quoted
        try:
            if exists:  # CREATE OR REPLACE drops the view first
                self._execute(f"ALTER VIEW {view} AS {rows}")
                self._execute(f"ALTER VIEW {view} SET TBLPROPERTIES {_format_properties(version)}")
            else:
                made = _format_properties({BRANCH_PROPERTY: self.views.mark, **version})
                self._execute(f"CREATE VIEW IF NOT EXISTS {view} TBLPROPERTIES {made} AS {rows}")
        except Exception as error:  # noqa: BLE001  such as a table that was dropped; others may have views
            problem = f"the view {format_table_name((*self.schema, name))}: {first_line(error)}"
        properties = self._read_properties(name)
        if properties.get(BRANCH_PROPERTY) != self.views.mark:
            return problem or self._describe_other(name)
        return "" if properties.get(_VERSION_PROPERTY) == shown.version else problem  # another driver may have made it

    def _describe_other(self, name: str) -> str:
        return f"{format_table_name((*self.schema, name))} is not a view of the branch, and stays as it is"

    def _drop_schema(self) -> None:
        """Drops the schema, if it was made for the branch and nothing else is in it."""
        schema = quote_table_name(self.schema)
        try:
            rows = self._execute(f"DESCRIBE SCHEMA EXTENDED {schema}")
            if any(f"({BRANCH_PROPERTY},{self.views.mark})" in str(row[1]) for row in rows):
                self._execute(f"DROP SCHEMA {schema}")
        except Exception as error:
            if error_condition(error) != "SCHEMA_NOT_EMPTY" and not _lacks_schema(error):
                raise

    def _list_views(self) -> set[str] | None:
        """The views in the schema, in lower case; None where there is no such schema."""
        try:
            rows = self._execute(f"SHOW VIEWS IN {quote_table_name(self.schema)}")
        except Exception as error:
            if _lacks_schema(error):
                return None
            raise
        return {row["viewName"].lower() for row in rows if not row["isTemporary"]}

    def _read_properties(self, name: str) -> dict[str, str]:
        """The properties of the view or table of that name; none where there is none."""
        try:
            rows = self._execute(f"SHOW TBLPROPERTIES {self._quote(name)}")
        except Exception as error:
            if error_condition(error) in MISSING_TABLE:
                return {}
            raise
        return {row["key"]: row["value"] for row in rows}

    def _quote(self, name: str) -> str:
        return quote_table_name((*self.schema, name))

    def _execute(self, statement: str) -> Sequence[Row]:
        rows: list[Row] = self.session.sql(statement).collect()
        return rows


def _lacks_schema(error: Exception) -> bool:
    """Whether Spark or the server of a catalog says that there is no such schema."""
    return error_condition(error) in NO_SCHEMA or error_mentions(error, _SCHEMA_NOT_FOUND)


def _format_properties(properties: Mapping[str, str]) -> str:
    return f"({', '.join(f'{sqltext.text(key)} = {sqltext.text(value)}' for key, value in properties.items())})"
