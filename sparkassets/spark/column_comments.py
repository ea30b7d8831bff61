"""The descriptions of columns as comments of the table: in a new one's schema, later by commits without rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.commit import comment_columns
from sparkassets.delta.features import spark_commit_reason
from sparkassets.ports import CommitStamp
from sparkassets.spark import sqltext
from sparkassets.spark.commit_stamps import format_stamp, stamp_commits
from sparkassets.spark.open_tables import OpenedTable, PathTable
from sparkassets.spark.table_locations import location_of, path_of, table_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

COMMENT: Final = "comment"
"""The key of a column's metadata in Delta's protocol, as in Spark."""


def with_comments(fields: Sequence[Mapping[str, Any]], asset: AssetSpec) -> list[dict[str, Any]]:
    """Columns in Delta's JSON, each with its description as comment; one without keeps the comment that it has."""
    texts = _descriptions(asset)
    return [
        {**field, "metadata": {**field["metadata"], COMMENT: texts[name]}}
        if (name := field["name"].lower()) in texts
        else dict(field)
        for field in fields
    ]


def has_comments(asset: AssetSpec, schema: StructType) -> bool:
    """Whether every description is the comment of a column of the table."""
    return _descriptions(asset).items() <= {field.name.lower(): _comment(field) for field in schema.fields}.items()


def update_comments(session: SparkSession, asset: AssetSpec, table: OpenedTable | None, *, stamp: CommitStamp) -> None:
    """Makes the descriptions of columns their comments, each by a commit that changes no row.

    A run calls it once its rows are in. Where it does not come to that, the next run makes good for it.
    """
    texts, fields = _descriptions(asset), [] if table is None else table.describe().schema.fields
    comments = {
        each.name: text for each in fields if (text := texts.get(each.name.lower(), "")) not in ("", _comment(each))
    }
    if not comments:
        return
    layout = replace(stamp, kind="layout", version=0)
    if isinstance(table, PathTable) and spark_commit_reason(asset, table.opened) is None:
        comment_columns(path_of(asset), comments, owner=asset.name, user_metadata=format_stamp(layout))
        return
    with stamp_commits(session, layout) as stamped:
        for name, text in comments.items():
            column = f"ALTER TABLE {table_sql(location_of(asset))} ALTER COLUMN {sqltext.name(name)}"
            (stamped or session).sql(f"{column} COMMENT {_literal(text)}")


def _comment(field: Any) -> str | None:  # noqa: ANN401  a column of Spark's
    comment: str | None = field.metadata.get(COMMENT)
    return comment


def _literal(text: str) -> str:
    """A literal as ALTER TABLE asks for it, which takes no expression."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _descriptions(asset: AssetSpec) -> dict[str, str]:
    """The description of each column that has one, by its name in lower case."""
    return {name.lower(): each.description for name, each in asset.listed_columns.items() if each.description}
