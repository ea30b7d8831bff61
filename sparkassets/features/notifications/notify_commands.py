"""What people do about notifications: try the receivers, and silence assets for a while."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sparkassets.core.instants import to_unix
from sparkassets.core.journal.notified import SilenceEntry
from sparkassets.core.suggestions import did_you_mean
from sparkassets.errors import InputError
from sparkassets.features.notifications.delivery import MessageDelivery, ReceiverAnswer
from sparkassets.features.notifications.notices import NotificationMessage
from sparkassets.features.notifications.notification_sink import NotificationSink
from sparkassets.runtime.observation import changed_spec_entries

if TYPE_CHECKING:
    from datetime import datetime

    from sparkassets.app.context import ProjectContext, Selection
    from sparkassets.core.journal.entries import Entry
    from sparkassets.core.journal.state import State
    from sparkassets.core.spec.asset_services import NotifyRule


class NotifyCommands:
    """Tests the receivers of `notify`, and silences assets."""

    def __init__(self, context: ProjectContext) -> None:
        self._context = context

    def test(self, to: str | None = None) -> list[ReceiverAnswer]:
        """Sends a test message to each receiver of the project's rules, or to the one called ``to``.

        >>> [each.receiver for each in project.notifications.test() if each.fault]  # doctest: +SKIP

        Raises:
            InputError: No rule has a receiver, or none of that name.
        """
        sinks = [each for each in self._context.adapters.sinks if isinstance(each, NotificationSink)]
        receivers = self._receivers()
        if not receivers or not sinks:
            raise InputError("no `notify` rule has a receiver", hint="write notify: {to: ALERTS_URL} in project.yml")
        if to is not None and to not in receivers:
            raise InputError(f"no `notify` rule has the receiver {to!r}", hint=did_you_mean(to, receivers))
        project, process = self._context.spec, self._context.adapters.process_name()
        text = f"This is a test by `sparkassets notify test` of {process}. Nothing is wrong."
        message = NotificationMessage(project.name, f"[TEST] {project.name}: notifications arrive", text, ())
        delivery = MessageDelivery(sinks[0].environment, project)
        for name in receivers if to is None else [to]:
            delivery.send(receivers[name], message)
        return sorted(delivery.wait(), key=lambda each: each.receiver)

    def silence(self, select: Selection, *, until: datetime | str | None, reason: str) -> list[str]:
        """Notifies nobody of the selected assets until an instant; None ends their silence now. Returns their names.

        Trouble that begins meanwhile and lasts is sent by the first run afterwards.

        >>> project.notifications.silence("tag:sales", until="2025-01-02T18:00", reason="moving")  # doctest: +SKIP

        Raises:
            InputError: Nothing is selected, there is no reason, or the instant has passed.
        """
        now = self._context.adapters.clock.now()
        end = now if until is None else self._context.parse_time(until)
        if until is not None and (end is None or end <= now):
            raise InputError(f"{until!s} has passed", hint="give a later time, or end the silence")
        if not reason.strip():
            raise InputError("a silence needs a reason", hint="say why, for those who wonder")
        names = [name for name in self._context.select(select) or () if not self._context.spec.assets[name].written_by]
        by = self._context.adapters.user_name()

        def decide(state: State) -> list[Entry]:
            specs = changed_spec_entries(self._context.spec, state)
            return [*specs, *(SilenceEntry(name, to_unix(end or now), reason, by) for name in names)]

        with self._context.recording("notify silence") as ledger:
            ledger.commit(decide)
        return names

    def _receivers(self) -> dict[str, NotifyRule]:
        """Each receiver and function of all rules once, by its name, as a rule that has nothing else."""
        return {
            name: replace(alone, on=(), title="", template="", digest=None)
            for asset in self._context.spec.assets.values()
            for rule in asset.notify
            for name, alone in rule.by_receiver()
        }
