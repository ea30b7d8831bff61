"""Announcing what others updated; needs no Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sparkassets.app.opened import Opened
from sparkassets.runtime.news import changed_specs

if TYPE_CHECKING:
    from sparkassets.core.journal.entries import EventEntry


class Announcing(Opened):
    """What others can tell a project."""

    def add_event(
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
        from sparkassets.core.journal.announce import announced

        entry = announced(self._known("events add"), target, partition=partition, extra=extra, id=id, at=at)
        return self._announce([entry], on_known)[0]

    def add_events(
        self,
        lines: Iterable[str | Mapping[str, Any]],
        *,
        name: str = "lines",
        on_known: Callable[[dict[str, Any]], None] | None = None,
    ) -> list[dict[str, Any]]:
        """Announces many updates in one commit, or none of them.

        Args:
            lines: Objects, or their JSON, ``{"asset" or "uri", "partition", "extra", "at", "id"}``.
            name: What they come from, for messages.
            on_known: Is given the first event of each known ``id``.

        Returns:
            The events as recorded, in the order of the lines; for a known ``id`` the first one.

        Raises:
            InputError: Some lines are wrong; tells every one as ``name:line: what is wrong``.
        """
        from sparkassets.core.journal.announce import announced_lines

        return self._announce(announced_lines(self._known("events add"), lines, name=name), on_known)

    def _announce(
        self, entries: Sequence[EventEntry], on_known: Callable[[dict[str, Any]], None] | None
    ) -> list[dict[str, Any]]:
        if not entries:
            return []
        from sparkassets.app.records import described
        from sparkassets.runtime.announcing import announce

        store = self._adapters.store
        with self._opened("events add") as ledger:
            found = announce(ledger, store, entries, before=lambda state: changed_specs(self.spec, state))
        told = described(self.spec, store, [each.recorded for each in found])
        for each, event in zip(found, told, strict=True):
            if each.known and on_known is not None:
                on_known(event)
        return told
