"""Assets that a query names without braces: Spark would look for a table of that name in its catalog."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.core.query_text import find_bare_tables
from sparkassets.core.templating import TemplateFault


def find_unbraced_assets(sql: str, *, asset: str, known: Mapping[str, str]) -> list[TemplateFault]:
    """Where the query of ``asset`` names an asset as a table, in order of place; ``known`` is by folded names."""
    found = ((known.get(table.casefold()), table, position) for table, position in find_bare_tables(sql))
    return [_fault(sql, name, table, position, own=name == asset) for name, table, position in found if name]


def _fault(sql: str, name: str, table: str, position: int, *, own: bool) -> TemplateFault:
    before = sql[:position]
    column = position - (before.rfind("\n") + 1) + 1
    message = f"{table!r} without braces is no asset to Spark, but a table of its catalog"
    meant = f"{{{{ {'outlets' if own else 'inlets'}.{name} }}}}"
    hint = f"write {meant}; a table of the catalog needs its schema before its name, as in default.{table}"
    return TemplateFault(before.count("\n") + 1, column, len(table), message, hint)
