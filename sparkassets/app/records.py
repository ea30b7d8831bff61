"""What the journal tells: the newest of its rows, and events with the runs that used them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sparkassets.core.journal import events
from sparkassets.core.journal.announce import partition_of
from sparkassets.core.journal.rows import JournalRow
from sparkassets.core.spec.model import ProjectSpec
from sparkassets.ports import JournalStore

T = TypeVar("T")


def newest(
    rows: Callable[[int | None], Sequence[JournalRow]],
    parse: Callable[[Sequence[JournalRow]], list[T]],
    *,
    last: int | None,
) -> list[T]:
    """The newest ``last`` (None: all) of what ``parse`` makes of rows: some rows come to nothing.

    ``rows`` gives the newest so many of the journal, oldest first.
    """
    if last is None:
        return parse(rows(None))
    limit = max(64, 4 * last)
    while True:
        read = rows(limit)
        found = parse(read)
        if len(read) < limit or len(found) >= last:
            return found[-last:]
        limit *= 4


def described(spec: ProjectSpec, store: JournalStore, rows: Sequence[JournalRow]) -> list[dict[str, Any]]:
    """The events of these rows, with the runs that used them."""
    if not rows:
        return []
    later = store.history(kinds=events.USING_KINDS, after_seq=min(row.seq for row in rows))
    uses = events.Uses(sorted({row.seq: row for row in rows}.values(), key=lambda row: row.seq), later)
    return [
        {
            **events.of_row(row, partition_of(spec, asset=row.asset, uri=row.uri)),
            "triggered": uses.triggered[row.seq],
            "included_in": uses.included_in[row.seq],
        }
        for row in rows
    ]
