"""`EventCommands`: announces updates by others, each event only once, and lists events; needs no Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from sparkassets.app.context import ProjectContext
from sparkassets.app.work_runner import WorkRunner
from sparkassets.core.journal import history
from sparkassets.core.journal.announcements import event_partitioning
from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.entries import Entry, EventEntry, NumberedEntry
from sparkassets.core.journal.rows import JournalRow
from sparkassets.core.journal.state import EventRef, State
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.frozen import frozen
from sparkassets.ports import HistoryQuery, JournalStore
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.runtime.observation import changed_spec_entries

if TYPE_CHECKING:
    from sparkassets.runtime.progress import InvocationWatcher


class EventCommands:
    """Announces one update, or many in one commit."""

    def __init__(self, context: ProjectContext, runner: WorkRunner) -> None:
        self._context = context
        self._runner = runner

    def watch(self, watcher: InvocationWatcher) -> None:
        """Reports what happens in all invocations from now on to a watcher."""
        self._runner.watchers.append(watcher)

    def add(
        self,
        target: str,
        *,
        partition: str | None = None,
        extra: Mapping[str, Any] | None = None,
        id: str | None = None,  # noqa: A002  the word of the grammar
        at: datetime | str | None = None,
        on_known: Callable[[dict[str, Any]], None] | None = None,
    ) -> dict[str, Any]:
        """Announces that ``target`` (an asset's name or a dataset URI) was updated; needs no Spark.

        >>> project.events.add("orders", partition="2025-01-02", extra={"by": "ann"})  # doctest: +SKIP

        Args:
            target: A name, unless it has ``://``, is the identity of an asset, or is one that a condition names.
            partition: Keys ``A..B`` or ``A``, inclusive.
            extra: Free; at most 64 KiB of JSON, without credentials.
            id: Tells the event from others of the dataset: one that is known already is not recorded again.
            at: When it happened; now if not given, and without an offset in the project's zone.
            on_known: Is given the first event of a known ``id``.

        Returns:
            The event as recorded; for a known ``id`` the first one.

        Raises:
            InputError: The event is wrong.
        """
        from sparkassets.core.journal.announcements import parse_announcement

        self._context.refuse_scope("events add")
        entry = parse_announcement(
            self._context.known_project("events add"), target, partition=partition, extra=extra, id=id, at=at
        )
        return self._announce([entry], on_known)[0]

    def add_many(
        self,
        lines: Iterable[str | Mapping[str, Any]],
        *,
        name: str = "lines",
        on_known: Callable[[dict[str, Any]], None] | None = None,
    ) -> list[dict[str, Any]]:
        """Announces many updates in one commit, or none of them.

        >>> project.events.add_many([{"asset": "orders", "partition": "2025-01-02"}])  # doctest: +SKIP

        Args:
            lines: Objects, or their JSON, ``{"asset" or "uri", "partition", "extra", "at", "id"}``.
            name: What they come from, for messages.
            on_known: Is given the first event of each known ``id``.

        Returns:
            The events as recorded, in the order of the lines; for a known ``id`` the first one.

        Raises:
            InputError: Some lines are wrong; tells every one as ``name:line: what is wrong``.
        """
        from sparkassets.core.journal.announcements import parse_announcement_lines

        self._context.refuse_scope("events add")
        project = self._context.known_project("events add")
        return self._announce(parse_announcement_lines(project, lines, name=name), on_known)

    def _announce(
        self, entries: Sequence[EventEntry], on_known: Callable[[dict[str, Any]], None] | None
    ) -> list[dict[str, Any]]:
        """Records the events and returns them as documents; ``on_known`` gets each whose id was known before."""
        if not entries:
            return []

        spec, store = self._context.spec, self._context.adapters.store
        with self._context.recording("events add") as ledger:
            receipts = record_events(ledger, store, entries, before=lambda state: changed_spec_entries(spec, state))
        events = describe_events(spec, store, [receipt.recorded for receipt in receipts])
        for receipt, event in zip(receipts, events, strict=True):
            if receipt.known and on_known is not None:
                on_known(event)
        return events


T = TypeVar("T")


def read_newest(
    read_rows: Callable[[int | None], Sequence[JournalRow]],
    parse: Callable[[Sequence[JournalRow]], list[T]],
    *,
    last: int | None,
) -> list[T]:
    """The newest ``last`` items that ``parse`` makes of journal rows; all for None.

    Some rows make no item, so it reads more and more rows until there are enough items or no more rows.

    Args:
        read_rows: Returns the newest so many rows of the journal, oldest first; all for None.
        parse: Makes items of rows, in their order.
        last: The number of items.
    """
    if last is None:
        return parse(read_rows(None))
    limit = max(64, 4 * last)
    while True:
        rows = read_rows(limit)
        items = parse(rows)
        if len(rows) < limit or len(items) >= last:
            return items[-last:]
        limit *= 4


def describe_events(spec: ProjectSpec, store: JournalStore, entries: Sequence[NumberedEntry]) -> list[dict[str, Any]]:
    """Documents of the events in these entries, each with the runs that it triggered and those that included it."""
    events = [(numbered, ref) for numbered in entries if (ref := EventRef.from_entry(numbered)) is not None]
    if not events:
        return []
    refs = {ref.seq: ref for _, ref in events}
    later = store.read_history(HistoryQuery(kinds=history.USING_KINDS, after_seq=min(refs)))
    uses = history.EventUsage([refs[seq] for seq in sorted(refs)], map(from_row, later))
    return [
        {
            **history.recorded_event_values(numbered, ref, event_partitioning(spec, asset=ref.asset, uri=ref.uri)),
            "triggered": uses.triggered[ref.seq],
            "included_in": uses.included_in[ref.seq],
        }
        for numbered, ref in events
    ]


EventIdentity = tuple[str, str]
"""Dataset URI and id: two events with both alike are one."""

_MOST_IDS_PER_QUERY = 1000
"""The most ids that one query of the journal asks for."""


@frozen
class EventReceipt:
    """What was recorded for an announced event.

    Attributes:
        recorded: Its own entry, or the first one of its id.
        known: Its id was known already, so it was not recorded again.
    """

    recorded: NumberedEntry
    known: bool


def record_events(
    ledger: JournalLedger,
    store: JournalStore,
    entries: Sequence[EventEntry],
    *,
    before: Callable[[State], Sequence[Entry]],
) -> list[EventReceipt]:
    """Records the events in one commit; returns a receipt for each, in their order.

    An event whose id the dataset already has is not recorded again, and its receipt holds the first entry with that id.
    This is decided against exactly the journal before the commit, so it holds for any number of processes.

    Args:
        ledger: An open ledger.
        store: The ledger's store, whose history knows the ids.
        entries: The events to record.
        before: Returns entries to record before them, such as changed specs.
    """
    known = _KnownEvents(store, {entry.id for entry in entries if entry.id is not None})
    fresh: list[EventEntry] = []

    def decide(state: State) -> Sequence[Entry]:
        fresh.clear()  # called again after another process's commit
        known_identities = known.read_through(state.seq)
        identities = set(known_identities)
        for entry in entries:
            if entry.id is None or (entry.uri, entry.id) not in identities:
                fresh.append(entry)
            if entry.id is not None:
                identities.add((entry.uri, entry.id))
        return [*before(state), *fresh]

    recorded = [each for each in ledger.commit(decide) if isinstance(each.entry, EventEntry)]
    recorded_by_object = dict(zip(map(id, fresh), recorded, strict=True))  # equal events without id are several
    first_recorded = known.first | {identity: each for each in recorded if (identity := _identity(each)) is not None}
    return [
        EventReceipt(recorded_by_object[id(entry)], known=False)
        if id(entry) in recorded_by_object
        else EventReceipt(first_recorded[entry.uri, entry.id or ""], known=True)
        for entry in entries
    ]


class _KnownEvents:
    """Recorded events with one of the given ids; each call reads on where the last one ended."""

    def __init__(self, store: JournalStore, ids: Collection[str]) -> None:
        self.first: dict[EventIdentity, NumberedEntry] = {}
        self._store = store
        self._ids = sorted(ids)
        self._read_seq = 0

    def read_through(self, seq: int) -> dict[EventIdentity, NumberedEntry]:
        """(Dataset URI, id) to its first event, for all events up to the entry ``seq`` at least."""
        for start in range(0, len(self._ids), _MOST_IDS_PER_QUERY):
            ids = self._ids[start : start + _MOST_IDS_PER_QUERY]
            for row in self._store.read_history(HistoryQuery(kinds=("event",), ids=ids, after_seq=self._read_seq)):
                self.first.setdefault((row.uri or "", row.id or ""), from_row(row))
        self._read_seq = seq
        return self.first


def _identity(numbered: NumberedEntry) -> EventIdentity | None:
    entry = numbered.entry
    return (entry.uri, entry.id) if isinstance(entry, EventEntry) and entry.id is not None else None
