"""Sends notifications of failures and lateness: one message for each receiver when an invocation ends.

URLs are read from the environment only to send a message, and are passed to Apprise alone.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sparkassets.authoring.packages import import_from
from sparkassets.errors import InputError, SparkAssetsError, describe_error
from sparkassets.features.notifications.notices import NoticeCollector

if TYPE_CHECKING:
    from sparkassets.core.spec.model import NotifyRule, PythonBody
    from sparkassets.core.spec.project_spec import ProjectSpec
    from sparkassets.features.notifications.notices import NotificationMessage
    from sparkassets.ports import JournalCommit

SEND_SECONDS: Final = 4.0
"""How long an invocation waits for all receivers together."""

_APPRISE_TYPES: Final = {"failure": "failure", "withheld": "warning", "late": "warning", "recovery": "success"}
"""The type of a message in Apprise, by its most severe notice."""

_THREAD_PREFIX: Final = "notify "


class NotifyError(SparkAssetsError):
    """Some receiver could not be notified."""

    topic = "notification-not-sent"


class NotificationSink:
    """A sink that notifies people by the rules of `notify`.

    Args:
        environment: Holds the receivers' URLs, by the names that rules have.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
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
        from sparkassets.features.notifications.notices import build_messages

        sending = _PendingDeliveries()
        for rule, message in build_messages(notices, project):
            if message.problem:
                sending.faults.append(message.problem)
            self._send(rule, message, sending, project)
        if faults := sending.wait(SEND_SECONDS):
            raise NotifyError(f"some receivers could not be notified: {'; '.join(dict.fromkeys(faults))}")

    def _send(
        self, rule: NotifyRule, message: NotificationMessage, sending: _PendingDeliveries, project: ProjectSpec
    ) -> None:
        """Starts to send a message to the rule's function and to each receiver; notes those that are unusable."""
        if rule.hook is not None:
            sending.begin(f"{rule.hook.module}:{rule.hook.function}", partial(_call, rule.hook, message, project))
        for name in rule.to:
            try:
                urls = self._urls(name)
            except InputError as error:
                sending.faults.append(f"{name}: {error}")
                continue
            if urls is None:
                sending.faults.append(f"{name}: the variable is not set")
                continue
            try:
                receivers = _receivers(urls)
            except ImportError:
                sending.faults.append(f"{name}: Apprise is not installed; pip install 'sparkassets[notify]'")
                continue
            for number, receiver in enumerate(receivers):
                who = name if not number else f"{name}, URL {number + 1}"
                sending.begin(who, partial(_notify, receiver, message))

    def _urls(self, name: str) -> str | None:
        """The value of the variable ``name``, or the content of the file in ``<name>_FILE``; None if neither is set."""
        if value := self._environment.get(name, "").strip():
            return value
        file = self._environment.get(f"{name}_FILE", "").strip()
        try:
            return Path(file).read_text(encoding="utf-8").strip() or None if file else None
        except (OSError, UnicodeDecodeError):
            return None


class _PendingDeliveries:
    """Messages being sent, each in its own thread, so that no receiver delays another.

    Attributes:
        faults: Reasons why receivers were not notified.
    """

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._threads: list[threading.Thread] = []

    def begin(self, who: str, send: Callable[[], str]) -> None:
        """Starts to send; ``send`` returns the reason of a failure, empty for success."""

        def sending() -> None:
            try:
                with _SILENCE.silence_logs():
                    fault = send()
            except BaseException as error:  # noqa: BLE001  whatever a hook raises, no run is touched by it
                fault = f"raised {describe_error(error)}"
            if fault:
                self.faults.append(f"{who}: {fault}")

        thread = threading.Thread(target=sending, name=f"{_THREAD_PREFIX}{who}", daemon=True)
        thread.start()
        self._threads.append(thread)

    def wait(self, seconds: float) -> list[str]:
        """Waits at most so long, and returns why receivers were not notified; later answers are ignored."""
        from time import monotonic

        end = monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - monotonic()))
        slow = [thread.name.removeprefix(_THREAD_PREFIX) for thread in self._threads if thread.is_alive()]
        return [*self.faults, *(f"{who}: no answer within {seconds:g} s" for who in slow)]


def _call(hook: PythonBody, message: NotificationMessage, project: ProjectSpec) -> str:
    """Calls the project's function with the message; returns why not, empty on success."""
    package = hook.module.partition(".")[0]
    if not any(hook.module == name or hook.module.startswith(f"{name}.") for name in project.python):
        return f"the package {package!r} is not allowed"
    getattr(import_from(hook.module, hook.search_path), hook.function)(message)
    return ""


def _receivers(urls: str) -> list[Any]:
    """The receivers that Apprise finds in the URLs; ``[None]`` if it finds none, so that this is reported."""
    apprise = _apprise()
    receivers = apprise.Apprise()
    with _SILENCE.silence_logs():
        receivers.add(urls)
    return list(receivers) or [None]


def _notify(receiver: Any, message: NotificationMessage) -> str:  # noqa: ANN401  a plug-in of Apprise
    """Sends the message to one receiver; returns why it failed, empty on success."""
    if receiver is None:
        return "it does not contain a URL that Apprise supports"
    apprise = _apprise()
    sender = apprise.Apprise()
    sender.add(receiver)
    is_sent = sender.notify(
        title=message.title,
        body=message.text,
        notify_type=apprise.NotifyType(_APPRISE_TYPES[message.severity]),
        body_format=apprise.NotifyFormat.TEXT,
    )
    return "" if is_sent else "the receiver rejected it"


def _apprise() -> Any:  # noqa: ANN401  the package, which has no types
    return import_module("apprise")


class _LogSilencer(logging.Filter):
    """Drops log records of the sending libraries while messages are sent, as they may hold parts of URLs.

    At other times they pass: other code in the process may log through the same libraries.
    """

    def __init__(self) -> None:
        super().__init__()
        self._senders = 0
        self._lock = threading.Lock()

    @contextmanager
    def silence_logs(self) -> Iterator[None]:
        """Drops the records while entered; safe in several threads at once."""
        with self._lock:
            self._senders += 1
            for name in _LOGGERS:
                logging.getLogger(name).addFilter(self)  # adding it again has no effect
        try:
            yield
        finally:
            with self._lock:
                self._senders -= 1

    def filter(self, record: logging.LogRecord) -> bool:
        """True, so that the record passes, if nothing is being sent."""
        del record
        return not self._senders


_LOGGERS: Final = ("apprise", "urllib3.connectionpool")
_SILENCE: Final = _LogSilencer()
