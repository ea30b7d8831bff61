"""Passes commits on to the sinks, each on its own thread, so that no slow or failing sink holds up a run."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence

from sparkassets.core.journal.entries import Entry, NumberedEntry, RenewEntry
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.phrases import escape_unwritable
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import describe_error
from sparkassets.ports import JournalCommit, Sink

MOST_WAITING = 10_000
"""The most entries that wait for one sink; further ones are dropped for it."""
GRACE_SECONDS = 5.0
"""How long the end of an invocation waits for all sinks together."""


class SinkDispatcher:
    """Queues what one process commits for each sink.

    Args:
        sinks: The listeners.
        project: The project of the journal.
        note: Called with a sentence, without credentials, for each thing that people should know; must not raise.
    """

    def __init__(
        self,
        sinks: Sequence[Sink],
        *,
        project: ProjectSpec,
        note: Callable[[str], None],
        most_waiting: int = MOST_WAITING,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        self._project = project
        self._note = note
        self._grace_seconds = grace_seconds
        self._changed = threading.Condition()
        self._queues = [_SinkQueue(sink, self._changed, most_waiting) for sink in sinks]

    def dispatch(self, entries: Sequence[NumberedEntry], before: State, after: State) -> None:
        """Adds a commit to every sink's queue; returns at once."""
        if not self._queues:
            return
        names = {name for each in entries for name in _assets_of_entry(each.entry)}
        commit = JournalCommit(self._project, entries, _asset_states(before, names), _asset_states(after, names))
        with self._changed:
            for sink_queue in self._queues:
                sink_queue.add(commit)

    def end_invocation(self) -> None:
        """Waits up to the grace period until every sink has received all commits, then reports problems of the sinks.

        A sink that is still behind goes on by itself for as long as the process lives. Later invocations do not wait
        for it until it has caught up.
        """
        with self._changed:
            waited = [sink_queue for sink_queue in self._queues if not sink_queue.is_behind]
            for sink_queue in self._queues:
                sink_queue.end_invocation()
            self._changed.wait_for(lambda: not any(sink_queue.is_running for sink_queue in waited), self._grace_seconds)
            notes = [note for sink_queue in self._queues for note in sink_queue.notes()]
        for note in notes:
            from sparkassets.core.redaction import redact

            self._note(escape_unwritable(redact(note, variables=self._project.variables)))


def _assets_of_entry(entry: Entry) -> Iterator[str]:
    """The names of the assets that an entry concerns."""
    if isinstance(entry, RenewEntry):
        yield from (name for name, _ in entry.claims)
    elif (name := getattr(entry, "asset", None)) is not None:
        yield name


def _asset_states(state: State, names: set[str]) -> Mapping[str, AssetState]:
    return {name: state.assets[name] for name in names if name in state.assets}


class _SinkQueue:
    """Commits that wait for one sink; callers of every method but `_serve` hold the lock of ``changed``.

    Attributes:
        is_running: Whether a thread serves the queue.
        is_behind: Whether it was still served when an invocation had waited for it, and ever since.
    """

    def __init__(self, sink: Sink, changed: threading.Condition, most_waiting: int) -> None:
        self.is_running = False
        self.is_behind = False
        self._sink = sink
        self._changed = changed
        self._most_waiting = most_waiting
        self._waiting: deque[JournalCommit | None] = deque()  # None is the end of an invocation
        self._entries = 0
        self._dropped = 0
        self._error = ""
        self._is_error_reported = False

    def add(self, commit: JournalCommit) -> None:
        """Queues a commit; drops and counts it if too many entries wait already."""
        count = len(commit.entries)
        if self._entries and self._entries + count > self._most_waiting:
            self._dropped += count
            return
        self._waiting.append(commit)
        self._entries += count
        self._changed.notify_all()
        if not self.is_running:
            self._start()

    def end_invocation(self) -> None:
        """Queues the end of an invocation (None), unless the sink got nothing since the last end."""
        if self.is_running and (not self._waiting or self._waiting[-1] is not None):
            self._waiting.append(None)
            self._changed.notify_all()

    def notes(self) -> list[str]:
        """Sentences about errors, dropped entries and delay that were not reported yet."""
        name, notes = _sink_name(self._sink), []
        if self._error and not self._is_error_reported:
            self._is_error_reported = True
            notes.append(f"the sink {name} raised {self._error}; runs continue, and later commits are still sent to it")
        if self._dropped:
            notes.append(f"the sink {name} is too slow: {_entry_count_text(self._dropped)} of the journal dropped")
            self._dropped = 0
        if self.is_running and not self.is_behind:
            notes.append(f"the sink {name} is behind by {_entry_count_text(self._entries)}, which are dropped")
        self.is_behind = self.is_running
        return notes

    def _start(self) -> None:
        """Starts the thread; if the system allows no more threads, the queued entries count as dropped."""
        self.is_running = True
        name = f"sink {_sink_name(self._sink)}"
        try:
            threading.Thread(target=self._serve, name=name, daemon=True).start()
        except RuntimeError as error:  # no more threads
            self.is_running = False
            self._error = self._error or describe_error(error)
            self._dropped += self._entries
            self._waiting.clear()
            self._entries = 0

    def _serve(self) -> None:
        """Passes queued commits to the sink; ends its thread once an invocation has ended and the queue is empty."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting))
                commit = self._waiting[0]
            try:
                self._sink.ended() if commit is None else self._sink.committed(commit)
                error = ""
            except BaseException as raised:  # noqa: BLE001  whatever it is, it is not the runs' fault
                error = describe_error(raised)
            with self._changed:
                self._waiting.popleft()
                self._entries -= 0 if commit is None else len(commit.entries)
                self._error = self._error or error
                self.is_running = bool(self._waiting) or commit is not None
                self.is_behind = self.is_behind and self.is_running
                self._changed.notify_all()
                if not self.is_running:
                    return
            del commit


def _sink_name(sink: Sink) -> str:
    """The sink's ``name``, else the name of its class."""
    return getattr(sink, "name", "") or type(sink).__name__


def _entry_count_text(entries: int) -> str:
    return f"{entries:,} entr{'y' if entries == 1 else 'ies'}"
