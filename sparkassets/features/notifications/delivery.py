"""Delivers messages to the receivers of notification rules, all at once, and says what each answered.

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
from sparkassets.errors import InputError, describe_error
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from sparkassets.core.spec.asset_services import NotifyRule
    from sparkassets.core.spec.code_bodies import PythonBody
    from sparkassets.core.spec.project_spec import ProjectSpec
    from sparkassets.features.notifications.notices import NotificationMessage

SEND_SECONDS: Final = 4.0
"""How long all receivers together are waited for."""

_APPRISE_TYPES: Final = {
    "failure": "failure",
    "withheld": "warning",
    "waiting": "warning",
    "late": "warning",
    "recovery": "success",
}
"""The type of a message in Apprise, by its most severe notice."""

_THREAD_PREFIX: Final = "notify "


@frozen
class ReceiverAnswer:
    """What became of one message at one receiver.

    Attributes:
        receiver: The variable that holds its URL, or the function.
        fault: Why it was not notified; empty where it was.
    """

    receiver: str
    fault: str = ""


class MessageDelivery:
    """Messages being sent, each in its own thread, so that no receiver delays another.

    Args:
        environment: Holds the receivers' URLs, by the names that rules have.
        project: Says which packages functions may come from.
    """

    def __init__(self, environment: Mapping[str, str], project: ProjectSpec) -> None:
        self._environment = environment
        self._project = project
        self._answers: list[ReceiverAnswer] = []
        self._threads: list[threading.Thread] = []

    def send(self, rule: NotifyRule, message: NotificationMessage) -> None:
        """Starts to send a message to the rule's function and to each receiver; unusable ones answer at once."""
        if rule.hook is not None:
            self._begin(f"{rule.hook.module}:{rule.hook.function}", partial(_call, rule.hook, message, self._project))
        for name in rule.to:
            try:
                urls = self._urls(name)
            except InputError as error:
                self._answers.append(ReceiverAnswer(name, str(error)))
                continue
            if urls is None:
                self._answers.append(ReceiverAnswer(name, "the variable is not set"))
                continue
            try:
                receivers = _receivers(urls)
            except ImportError:
                hint = "Apprise is not installed; pip install 'sparkassets[notify]'"
                self._answers.append(ReceiverAnswer(name, hint))
                continue
            for number, receiver in enumerate(receivers):  # one variable may hold several URLs
                who = name if not number else f"{name}, URL {number + 1}"
                self._begin(who, partial(_notify, receiver, message))

    def wait(self) -> list[ReceiverAnswer]:
        """What the receivers answered; the answers of those that take longer than `SEND_SECONDS` are ignored."""
        from time import monotonic

        end = monotonic() + SEND_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, end - monotonic()))
        slow = [thread.name.removeprefix(_THREAD_PREFIX) for thread in self._threads if thread.is_alive()]
        late = f"no answer within {SEND_SECONDS:g} s"
        return [*self._answers, *(ReceiverAnswer(who, late) for who in slow)]

    def _begin(self, who: str, send: Callable[[], str]) -> None:
        """Starts to send; ``send`` returns the reason of a failure, empty for success."""

        def sending() -> None:
            try:
                with _SILENCE.silence_logs():
                    fault = send()
            except BaseException as error:  # noqa: BLE001  whatever a hook raises, no run is touched by it
                fault = f"raised {describe_error(error)}"
            self._answers.append(ReceiverAnswer(who, fault))

        thread = threading.Thread(target=sending, name=f"{_THREAD_PREFIX}{who}", daemon=True)
        thread.start()
        self._threads.append(thread)

    def _urls(self, name: str) -> str | None:
        """The value of the variable ``name``, or the content of the file in ``<name>_FILE``; None if neither is set."""
        if value := self._environment.get(name, "").strip():
            return value
        file = self._environment.get(f"{name}_FILE", "").strip()
        try:
            return Path(file).read_text(encoding="utf-8").strip() or None if file else None
        except (OSError, UnicodeDecodeError):
            return None


def _call(hook: PythonBody, message: NotificationMessage, project: ProjectSpec) -> str:
    """Calls the project's function with the message; returns why it was not called, empty on success."""
    package = hook.module.partition(".")[0]
    if not any(hook.module == name or hook.module.startswith(f"{name}.") for name in project.python):
        return f"the package {package!r} is not allowed"
    getattr(import_from(hook.module, hook.search_path), hook.function)(message)
    return ""


def _receivers(urls: str) -> list[Any]:
    """The receivers that Apprise finds in the URLs; ``[None]`` if it finds none, which `_notify` reports."""
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
