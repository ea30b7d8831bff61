"""The rows of the journal's two tables, as Spark SQL sees them, and the number of their format."""

from __future__ import annotations

from datetime import datetime

from sparkassets.frozen import frozen

FORMAT = 5
"""Version of the state's format; a state with a higher one is refused."""


@frozen
class JournalRow:
    """One entry of ``<state>/journal``.

    Attributes:
        seq: Number of the entry, ascending by one through the whole journal.
        at: When it was decided, by its driver's clock; for people, never for order. Aware, UTC.
        segment: The encoded tuple of segments of the entry's partitions; None for several tuples or none.
        starts, ends: Half-open time ranges of the entry's partitions; Unix seconds, disjoint, ascending. With segments,
            the time that any of them has; the time of each is in the body.
        id: The announcer's identifier of an event, unique in its dataset.
        extra: JSON object of an event.
        body: JSON object with everything else, its format version under ``v``.
    """

    seq: int
    at: datetime
    driver: str
    kind: str
    asset: str | None = None
    uri: str | None = None
    run: str | None = None
    segment: str | None = None
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    table_id: str | None = None
    version: int | None = None
    id: str | None = None
    extra: str | None = None
    body: str = "{}"


@frozen
class SnapshotRow:
    """One row of ``<state>/watermarks``: the state of an asset, of a dataset, or of neither of what belongs to none.

    Attributes:
        seq, commit: The journal's sequence and commit number that the row stands for; equal in all rows of a snapshot.
        segment: The encoded tuple of covered segments; None for several tuples or none.
        starts, ends: Covered time; Unix seconds, half-open, disjoint, ascending. With segments, that of any of them.
        stale_inlets, stale_starts, stale_ends, stale_seqs: Parallel lists: the inlet that made time stale, the time,
            and the number of the newest cause. With segments, the body has the time of each.
        watermarks: JSON object, inlet to how far it is read.
        cursor: JSON object, the `position` in a source.
        body: JSON object with the rest, its format version under ``v``.
    """

    asset: str | None
    uri: str | None
    segment: str | None
    seq: int
    commit: int
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    stale_inlets: tuple[str, ...] = ()
    stale_starts: tuple[int, ...] = ()
    stale_ends: tuple[int, ...] = ()
    stale_seqs: tuple[int, ...] = ()
    watermarks: str = "{}"
    cursor: str = "{}"
    body: str = "{}"
