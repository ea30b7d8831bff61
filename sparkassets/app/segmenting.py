"""Telling which segments there are, of partitions with ``segments: runtime``; needs no Spark."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.app.opened import Opened
from sparkassets.core.journal.entries import Entry, SegmentEntry
from sparkassets.core.journal.state import State
from sparkassets.runtime.news import changed_specs


class Segmenting(Opened):
    """What people can tell a project of the segments of its assets."""

    def add_partitions(self, asset: str, *keys: str, dimension: str | None = None) -> list[str]:
        """Says that there are these segments of an asset; returns those that were not known.

        One that was removed is wanted again, and computed anew.

        Args:
            asset: With a partition of ``segments: runtime``; a source, too.
            keys: Segments, as the column has them.
            dimension: The column; needed where several dimensions of the asset are ``segments: runtime``.

        Raises:
            InputError: There is no such asset or dimension, or one is no segment.
        """
        return self._tell(asset, keys, dimension, adds=True)

    def remove_partitions(self, asset: str, *keys: str, dimension: str | None = None) -> list[str]:
        """Says that these segments of an asset are not wanted any more; returns those that were not removed before.

        Their data stays. They stay removed, whatever brings them, until somebody adds them again.

        Args:
            asset: As of `add_partitions`.
            keys: Segments, as the column has them.
            dimension: As of `add_partitions`.

        Raises:
            InputError: As of `add_partitions`.
        """
        return self._tell(asset, keys, dimension, adds=False)

    def _tell(self, name: str, keys: Sequence[str], dimension: str | None, *, adds: bool) -> list[str]:
        from sparkassets.core.journal.learned import added_segment, open_column, segment_entry

        asset = self.runnable(name, "partitions")
        column = open_column(asset, dimension)
        told = [added_segment(asset, key, column)[1] for key in dict.fromkeys(keys)]

        def decide(state: State) -> Sequence[Entry]:
            entry = segment_entry(asset, state.assets.get(name), told, column=column, adds=adds)
            return [*changed_specs(self.spec, state), *([entry] if entry is not None else [])]

        with self._opened("partitions add" if adds else "partitions remove") as ledger:
            recorded = ledger.commit(decide)
        found = [each.entry for each in recorded if isinstance(each.entry, SegmentEntry)]
        changed = {key for entry in found for key in (*entry.added, *entry.removed)}
        return [key for key in told if key in changed]
