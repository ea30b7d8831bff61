"""Sends notifications of failures and lateness: one message for each receiver when an invocation ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sparkassets.errors import SparkAssetsError
from sparkassets.features.notifications.notices import NoticeCollector

if TYPE_CHECKING:
    from sparkassets.core.spec.project_spec import ProjectSpec
    from sparkassets.ports import JournalCommit


class NotifyError(SparkAssetsError):
    """Some receiver could not be notified."""

    topic = "notification-not-sent"


class NotificationSink:
    """A sink that notifies people by the rules of `notify`.

    Attributes:
        environment: Holds the receivers' URLs, by the names that rules have.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self._following = NoticeCollector()
        self._project: ProjectSpec | None = None

    def committed(self, commit: JournalCommit) -> None:
        """Collects the notices of a commit."""
        self._project = commit.project
        self._following.commit(commit.entries, before=commit.before, after=commit.after)

    def ended(self) -> None:
        """Sends the messages of the invocation.

        Raises:
            NotifyError: Some receiver could not be notified; names the variables that hold the URLs.
        """
        following, project = self._following, self._project
        self._following, self._project = NoticeCollector(), None
        if project is None or not following.is_run:
            return
        notices = following.notices(project)
        if not notices:
            return
        from sparkassets.features.notifications.delivery import MessageDelivery
        from sparkassets.features.notifications.notices import build_messages

        delivery, faults = MessageDelivery(self.environment, project), list[str]()
        for rule, message in build_messages(notices, project):
            if message.problem:
                faults.append(message.problem)
            delivery.send(rule, message)
        faults += [f"{each.receiver}: {each.fault}" for each in delivery.wait() if each.fault]
        if faults:
            raise NotifyError(f"some receivers could not be notified: {'; '.join(dict.fromkeys(faults))}")
