"""HTML tables for notebooks: plans, states and summaries as small, escaped tables without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sparkassets.core.phrases import escape_invisible
from sparkassets.frozen import frozen

MOST_ROWS = 200
"""Rows of a table that are shown; the rest is counted."""

_CELL = 'style="text-align: left; vertical-align: top; white-space: pre-wrap"'


@frozen
class HtmlTable:
    """Rows of text under a heading; columns that are empty in every row are left out.

    Attributes:
        heading: What the rows are; empty for none.
    """

    heading: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def render_tables(title: str, *tables: HtmlTable) -> str:
    """HTML of a title and the tables that have rows.

    >>> render_tables("plan", HtmlTable("waits", ("asset", "until"), [("a<b", "")])).count("<td")
    1
    """
    parts = [f"<p><b>{_escape(title)}</b></p>", *(_render_table(each) for each in tables if each.rows)]
    return f"<div>{''.join(parts)}</div>"


def _render_table(table: HtmlTable) -> str:
    """HTML of a table without its empty columns, and with a count of the rows that are left out."""
    used = [index for index in range(len(table.columns)) if any(row[index] for row in table.rows)]
    heading = f"<p>{_escape(table.heading)}</p>" if table.heading else ""
    head = "".join(f"<th {_CELL}>{_escape(table.columns[index])}</th>" for index in used)
    shown = table.rows[:MOST_ROWS]
    body = "".join(f"<tr>{''.join(f'<td {_CELL}>{_escape(row[i])}</td>' for i in used)}</tr>" for row in shown)
    rest = len(table.rows) - len(shown)
    more = f"<p>and {rest:,} more</p>" if rest else ""
    return f"{heading}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _escape(text: str) -> str:
    return escape(escape_invisible(text))
