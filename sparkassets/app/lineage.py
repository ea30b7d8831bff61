"""`LineageCommands`: what partitions and columns were made of, and what is made of them; needs no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from sparkassets.app.context import ProjectContext
from sparkassets.core.journal.codec import from_row
from sparkassets.core.phrases import listing
from sparkassets.errors import InputError
from sparkassets.ports import HistoryQuery

if TYPE_CHECKING:
    from sparkassets.core.derivation.asset_columns import AssetDerivations
    from sparkassets.core.derivation.column_lineage import AssetColumnLineage, ColumnLineage
    from sparkassets.core.journal.entries import NumberedEntry
    from sparkassets.core.journal.lineage import PartitionLineage
    from sparkassets.core.planner.explain.impact import UpdateImpact
    from sparkassets.ports import JournalStore

FIRST_READ = 256
"""Rows of a dataset that the first read takes; each further read takes eight times as many."""


class LineageCommands:
    """Traces partitions and columns back to their origins, and ahead to what depends on them."""

    def __init__(self, context: ProjectContext) -> None:
        self._context = context

    def trace(self, asset: str, *partitions: str, depth: int | None = None) -> PartitionLineage:
        """The runs that computed these partitions, and the versions and partitions that those runs read.

        The journal is read from its newest entry back.

        >>> project.lineage.trace("weekly_sales", "2025-W02", depth=2)  # doctest: +SKIP

        Args:
            asset: Its name.
            partitions: Keys ``A..B`` or ``A``, inclusive; none for an asset without partitions.
            depth: How many runs to go back; None for all the way up to the sources.

        Raises:
            InputError: Its keys are wrong, or its outlets have it all.
        """
        from sparkassets.app.backfills import named_partitions
        from sparkassets.core.journal.lineage import trace_lineage

        outlets = self._context.spec.asset(asset).outlets
        if outlets:
            raise InputError(
                f"the runs of {asset!r} write {listing(outlets, last='and')}: ask for the lineage of these",
                hint=f"`sparkassets lineage {outlets[0]}`",
            )
        project, state = self._context.read_with_segments("lineage")
        spec = project.assets[asset]
        chosen = named_partitions(spec, partitions)
        return trace_lineage(
            project,
            state,
            _DatasetHistory(self._context.adapters.store).iterate_entries,
            asset=spec,
            partitions=chosen,
            depth=depth,
        )

    def impact(self, asset: str, *partitions: str, at: datetime | str | None = None) -> UpdateImpact:
        """What would have to be computed again, all the way down, if these partitions changed or turned out wrong.

        >>> [reach.asset for reach in project.lineage.impact("orders", "2025-01-02").reaches]  # doctest: +SKIP

        Raises:
            InputError: Its keys are wrong.
        """
        from sparkassets.app.backfills import named_partitions
        from sparkassets.core.planner.explain.impact import trace_impact

        self._context.spec.asset(asset)
        context = self._context.look(at=at)
        spec = context.asset(asset)
        return trace_impact(context, spec, named_partitions(spec, partitions))

    def column(self, asset: str, column: str) -> ColumnLineage:
        """The columns that this one is made of, back to the sources, and those made of it; derived from queries alone.

        Raises:
            InputError: There is no such asset, or no such column.
        """
        from sparkassets.core.derivation.column_lineage import trace_column

        return trace_column(self._derivations(), self._context.spec.asset(asset), column)

    def columns(self, asset: str) -> AssetColumnLineage:
        """For each column of an asset the columns that it is made of, one step back; derived from its query alone.

        Raises:
            InputError: There is no such asset.
        """
        from sparkassets.core.derivation.column_lineage import trace_asset_columns

        return trace_asset_columns(self._derivations(), self._context.spec.asset(asset))

    def _derivations(self) -> AssetDerivations:
        from sparkassets.core.derivation.asset_columns import AssetDerivations

        return AssetDerivations(self._context.spec, self._context.adapters.read_columns)


class _DatasetHistory:
    """The journal's entries of each dataset, newest first; keeps what it has read."""

    def __init__(self, store: JournalStore) -> None:
        self._store = store
        self._read: dict[str, list[NumberedEntry]] = {}
        self._limits: dict[str, int | None] = {}

    def iterate_entries(self, uri: str) -> Iterator[NumberedEntry]:
        """Entries of one dataset, newest first; reads more of the journal as they are consumed."""
        position = 0
        while True:
            entries = self._read.get(uri, [])
            yield from entries[position:]
            position = len(entries)
            if not self._read_further(uri):
                return

    def _read_further(self, uri: str) -> bool:
        """Reads eight times as far back as before; returns False once the journal has no older rows of the dataset."""
        from sparkassets.core.journal.lineage import KINDS

        limit = self._limits.get(uri, FIRST_READ)
        if limit is None or not self._store.exists():
            return False
        rows = self._store.read_history(HistoryQuery(kinds=KINDS, uri=uri, last=limit))
        entries = self._read.setdefault(uri, [])
        oldest = entries[-1].seq if entries else None
        entries += [from_row(row) for row in reversed(rows) if oldest is None or row.seq < oldest]
        self._limits[uri] = limit * 8 if len(rows) == limit else None
        return True
