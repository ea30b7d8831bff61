"""`EventCommands`: announces what others updated; needs no Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sparkassets.app.context import ProjectContext
from sparkassets.runtime.source_observation import changed_spec_entries

if TYPE_CHECKING:
    from sparkassets.core.journal.entries import EventEntry


class EventCommands:
    """Announces updates, one or many in one commit."""

    def __init__(self, context: ProjectContext) -> None:
        self._context = context

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
        if not entries:
            return []
        from sparkassets.app.records import describe_events
        from sparkassets.runtime.event_recording import record_events

        spec, store = self._context.spec, self._context.adapters.store
        with self._context.recording("events add") as ledger:
            found = record_events(ledger, store, entries, before=lambda state: changed_spec_entries(spec, state))
        events = describe_events(spec, store, [each.recorded for each in found])
        for each, event in zip(found, events, strict=True):
            if each.known and on_known is not None:
                on_known(event)
        return events
