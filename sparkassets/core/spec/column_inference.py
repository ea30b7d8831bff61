"""Infers the columns of assets from declarations, SQL and stored tables before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from sparkassets.core.phrases import few
from sparkassets.core.spec.bodies import AssetBody
from sparkassets.core.spec.drafts import AssetDraft
from sparkassets.core.spec.model import ColumnSpec
from sparkassets.core.suggestions import KnownColumns
from sparkassets.core.writes import WriteMode

TableColumns = Callable[[str], Sequence[str] | None]
"""From the storage of a Delta table to its columns; None where they are unknown."""


def find_known_columns(
    drafts: Mapping[str, AssetDraft], bodies: Mapping[str, AssetBody], tables: TableColumns | None
) -> dict[str, KnownColumns]:
    """The columns of every asset whose columns are all known."""
    looked_up = set(_find_assets_with_named_columns(drafts, bodies)) if tables is not None else set[str]()
    columns_by_name = (
        (name, _find_columns(draft, bodies[name], tables if name in looked_up else None))
        for name, draft in drafts.items()
    )
    return {name: columns for name, columns in columns_by_name if columns is not None}


def _find_assets_with_named_columns(drafts: Mapping[str, AssetDraft], bodies: Mapping[str, AssetBody]) -> Iterator[str]:
    """The assets with a column that is named: by ``inlets.a.column``, or by the ``read`` of an inlet."""
    for name, body in bodies.items():
        inlets = drafts[name].keys.inlets
        if isinstance(inlets, dict):
            yield from (each for each, options in inlets.items() if options and options.read)
        yield from body.sql.outline.inlets_with_columns if body.sql is not None else ()


def _find_columns(draft: AssetDraft, body: AssetBody, tables: TableColumns | None) -> KnownColumns | None:
    """All columns of the asset in order, and how they are known: declared, selected, or stored; None if unknown.

    A declaration wins over the SELECT, which wins over the stored table; code that writes its table itself tells none.
    """
    if draft.keys.types:
        return KnownColumns.of_declaration(draft.name, _add_partition_columns(draft, list(draft.keys.types)))
    if draft.writes_itself:
        return None
    if body.sql is not None:
        selected = body.sql.outline.columns
        return KnownColumns.of_select(draft.name, selected) if selected else None
    if tables is not None and draft.source is not None and draft.source.kind == "delta" and draft.storage is not None:
        stored = tables(draft.storage.path)
        return KnownColumns.of_table(draft.name, stored) if stored else None
    return None


def _add_partition_columns(draft: AssetDraft, columns: list[str]) -> list[str]:
    """The columns, followed by those of the partition; the path may supply one."""
    return [*columns, *(each for each in draft.partitioning.columns if each not in columns)]


def compile_columns(draft: AssetDraft) -> dict[str, ColumnSpec]:
    """What the asset says of its columns, by their names, in order."""
    return {
        name: ColumnSpec(
            each.type or "", " ".join(each.description.split()), (draft.at / "columns" / name).key_location
        )
        for name, each in draft.keys.column_maps.items()
    }


def check_listed_columns(draft: AssetDraft, body: AssetBody, write: WriteMode | None) -> None:
    """Refuses columns that the SELECT does not yield and, where `columns` are all with a type, others that it does."""
    selected = body.sql.outline.columns if body.sql is not None else None
    if not selected or write is None or draft.writes_itself or not draft.keys.columns:
        return
    at, known = draft.at / "columns", KnownColumns.of_select(draft.name, (*selected, *write.added_columns))
    for name in draft.keys.columns:
        if refused := known.find_problem(name):
            (at / name).add_key_problem(refused[0], hint=refused[1])
    listed = {name.lower() for name in draft.keys.types}
    unlisted = [each for each in selected if listed and each.lower() not in listed and write.stores_column(each)]
    if unlisted:
        at.add_key_problem(refuse_unlisted(unlisted), hint=UNLISTED_HINT)


def refuse_unlisted(names: Sequence[str]) -> str:
    """The problem with columns that a SELECT yields, although `columns` lists others, each with a type."""
    return f"the SELECT yields {few([repr(each) for each in names])}, which 'columns' does not list"


UNLISTED_HINT: Final = "list it, or leave out the type of any column: then others are allowed"


def check_partition_columns(draft: AssetDraft, body: AssetBody) -> None:
    """Refuses a SELECT without a column of the partition: its rows could not be assigned to partitions."""
    if body.sql is None or draft.writes_itself or not draft.partitioning.columns or not draft.are_reliable("partition"):
        return
    selected = body.sql.outline.columns
    at, known = draft.at / "partition", KnownColumns.of_select(draft.name, selected or ())
    is_list = isinstance(draft.keys.partition, list)
    for number, column in enumerate(draft.partitioning.columns if selected else ()):
        if refused := known.find_problem(column):
            place = (at / number if is_list else at) / "column"
            place.add_problem(f"{refused[0]}, by which it is partitioned", hint=refused[1])
