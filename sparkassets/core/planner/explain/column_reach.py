"""Which columns downstream are made of columns that a change touches, by the derivations of the queries between."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sparkassets.core.definitions.differences import ColumnEffect, find_columns_read
from sparkassets.core.derivation.asset_columns import AssetDerivations
from sparkassets.core.derivation.column_uses import ColumnUse
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import AssetSpec

TouchedColumns = frozenset[str] | None
"""Columns in lower case; None for all, or where the set of rows may change."""


def find_reached_columns(
    context: PlanningContext, asset: AssetSpec, effect: ColumnEffect
) -> dict[str, frozenset[str] | None]:
    """The touched columns of each asset downstream that has any, upstream first; None in place of them for all columns.

    A query that cannot be derived, and a function, pass a touched column that they may read on to all of theirs.
    """
    start = None if effect.affects_everything else effect.affected_columns
    touched: dict[str, TouchedColumns] = dict.fromkeys(asset.written_assets, start)
    stored = context.stored_columns
    derivations = AssetDerivations(context.project) if stored is None else AssetDerivations(context.project, stored)
    for consumer in context.project.assets.values():
        passed_on = [] if consumer.name in touched else [*_pass_on(derivations, consumer, touched)]
        if passed_on:
            touched.update(dict.fromkeys((consumer.name, *consumer.written_assets), _union(passed_on)))
    return {name: columns for name, columns in touched.items() if name not in asset.written_assets}


def _union(parts: Sequence[TouchedColumns]) -> TouchedColumns:
    """The columns of all parts; None (all columns) if one part is None."""
    known = [each for each in parts if each is not None]
    return frozenset[str]().union(*known) if len(known) == len(parts) else None


def _pass_on(
    derivations: AssetDerivations, consumer: AssetSpec, touched: dict[str, TouchedColumns]
) -> Iterator[TouchedColumns]:
    """Yields, for each inlet of which the consumer may read a touched column, its own columns that are made of those.

    None stands for all of its columns. An inlet that it only waits for passes nothing on.
    """
    for inlet in consumer.inlets.values():
        if inlet.waits_only or inlet.name not in touched:
            continue
        columns = touched[inlet.name]
        read = find_columns_read(consumer.body.text, inlet.name) if isinstance(consumer.body, SqlBody) else None
        if columns is None:
            yield None
        elif columns and (read is None or read & columns):
            yield _find_columns_made_of(derivations, consumer, inlet.name, columns)


def _find_columns_made_of(
    derivations: AssetDerivations, consumer: AssetSpec, inlet: str, columns: frozenset[str]
) -> TouchedColumns:
    """The consumer's columns that are made of these columns of the inlet; None where they may decide its rows."""
    derivation = derivations.derivation_of(consumer)
    if derivation is None or derivation.rows is None or None in derivation.columns.values():
        return None
    if _is_made_of(derivation.rows, inlet, columns):
        return None
    return frozenset(
        name.casefold() for name, uses in derivation.columns.items() if _is_made_of(uses or (), inlet, columns)
    )


def _is_made_of(uses: Collection[ColumnUse], inlet: str, columns: frozenset[str]) -> bool:
    """Whether one of the uses is of one of the columns of the inlet."""
    return any(use.is_of(inlet, column) for use in uses for column in columns)
