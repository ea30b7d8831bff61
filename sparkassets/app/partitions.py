"""`PartitionCommands`: lists an asset's partitions with their status, and adds or removes segments; no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from sparkassets.app.context import ProjectContext
from sparkassets.core.journal.entries import Entry, SegmentEntry
from sparkassets.core.journal.state import State
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import InputError
from sparkassets.runtime.observation import changed_spec_entries

if TYPE_CHECKING:
    from sparkassets.core.partitions.partition_grid import PartitionGrid


class PartitionCommands:
    """Lists the partitions of an asset in three forms; adds and removes segments."""

    def __init__(self, context: ProjectContext) -> None:
        self._context = context

    def statuses(self, asset: str, *, at: datetime | str | None = None) -> list[tuple[str, str]]:
        """Every partition of an asset that is wanted or present, with its status.

        >>> project.partitions.statuses("daily_sales")  # doctest: +SKIP
        [('2025-01-01', 'current'), ('2025-01-02', 'missing')]
        """
        from sparkassets.core.planner.explain.status import partition_grid

        context = self._context.look(at=at)
        return list(partition_grid(context, self._find_partitioned(context, asset)))

    def ranges(self, asset: str, *, at: datetime | str | None = None) -> list[tuple[str, int, str]]:
        """(``A..B``, count, status) for each stretch of neighbouring partitions of one status; none spans a gap."""
        from sparkassets.core.planner.explain.status import status_stretches

        context = self._context.look(at=at)
        spec = self._find_partitioned(context, asset)
        labels, count = spec.partitioning.labels, spec.partitioning.count
        return [(labels(each)[0], count(each), status) for each, status in status_stretches(context, spec)]

    def grid(self, asset: str, *, at: datetime | str | None = None) -> PartitionGrid:
        """Partition statuses in a table, time down and segments across; equal rows and equal columns are merged."""
        from sparkassets.core.partitions.partition_grid import build_partition_grid
        from sparkassets.core.planner.explain.status import partition_statuses

        context = self._context.look(at=at)
        spec = self._find_partitioned(context, asset)
        return build_partition_grid(spec.partitioning, partition_statuses(context, spec))

    def definitions(self, asset: str, *, at: datetime | str | None = None) -> dict[str, str]:
        """Partition key to the id of the definition that computed it, for the partitions that are present."""
        from sparkassets.core.planner.due.outdated_code import partitions_made_by

        context = self._context.look(at=at)
        spec = self._find_partitioned(context, asset)
        spec = context.asset(spec.written_by) if spec.written_by else spec
        state = context.state_of(spec)
        return {
            key: output.definition.id
            for output in state.definition_outputs
            for key in spec.partitioning.keys(partitions_made_by(spec, state, output))
        }

    def add(self, asset: str, *keys: str, dimension: str | None = None) -> list[str]:
        """Makes segments of an asset known; returns those that were not known before.

        One that was removed is wanted again, and computed again.

        >>> project.partitions.add("model_per_customer", "acme")  # doctest: +SKIP
        ['acme']

        Args:
            asset: With a partition of ``segments: runtime``; a source, too.
            keys: Segments, as the column has them.
            dimension: The column; needed where several dimensions of the asset are ``segments: runtime``.

        Raises:
            InputError: There is no such asset or dimension, or one is no segment.
        """
        return self._record(asset, keys, dimension, adds=True)

    def remove(self, asset: str, *keys: str, dimension: str | None = None) -> list[str]:
        """Makes segments of an asset unwanted; returns those that were not removed before.

        Their data stays. They stay removed, whatever brings them, until somebody adds them again.

        Args:
            asset: As of `add`.
            keys: Segments, as the column has them.
            dimension: As of `add`.

        Raises:
            InputError: As of `add`.
        """
        return self._record(asset, keys, dimension, adds=False)

    def _find_partitioned(self, context: PlanningContext, name: str) -> AssetSpec:
        """The asset of that name, if it has partitions.

        Raises:
            InputError: There is none, or it has none.
        """
        self._context.spec.asset(name)
        spec = context.asset(name)
        if not spec.partitioning.is_partitioned:
            raise InputError(f"asset {name!r} has no partitions", hint="`sparkassets status` shows the asset")
        return spec

    def _record(self, name: str, keys: Sequence[str], dimension: str | None, *, adds: bool) -> list[str]:
        """Records added or removed segments; returns the keys that changed anything."""
        from sparkassets.core.journal.known_segments import build_segment_entry, find_open_column, parse_added_segment

        verb = "partitions add" if adds else "partitions remove"
        self._context.refuse_scope(verb)
        asset = self._context.runnable_asset(name, "partitions")
        column = find_open_column(asset, dimension)
        segments = [parse_added_segment(asset, key, column)[1] for key in dict.fromkeys(keys)]

        def decide(state: State) -> Sequence[Entry]:
            entry = build_segment_entry(asset, state.assets.get(name), segments, column=column, adds=adds)
            return [*changed_spec_entries(self._context.spec, state), *([entry] if entry is not None else [])]

        with self._context.recording(verb) as ledger:
            recorded = ledger.commit(decide)
        entries = [each.entry for each in recorded if isinstance(each.entry, SegmentEntry)]
        changed = {key for entry in entries for key in (*entry.added, *entry.removed)}
        return [key for key in segments if key in changed]
