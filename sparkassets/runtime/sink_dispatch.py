"""Sinks of the journal, each on a thread of its own: whatever one raises, and however slow it is, no run waits."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence

from sparkassets.core.journal.entries import Entry, NumberedEntry, RenewEntry
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.phrases import escape_unwritable
from sparkassets.core.spec.model import ProjectSpec
from sparkassets.errors import describe_error
from sparkassets.ports import JournalCommit, Sink

MOST_WAITING = 10_000
"""Entries that wait for one sink; what comes while so many do is not told to it."""
GRACE_SECONDS = 5.0
"""How long the end of an invocation waits for all sinks together."""


class SinkDispatcher:
    """What one process commits, on its way to the sinks.

    Args:
        sinks: Who is told.
        project: Whose journal it is.
        note: Is given a sentence, without credentials, for each thing that people should know; may raise nothing.
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
        self._lines = [_SinkQueue(sink, self._changed, most_waiting) for sink in sinks]

    def dispatch(self, entries: Sequence[NumberedEntry], before: State, after: State) -> None:
        """Puts what was committed in line for every sink; returns at once."""
        if not self._lines:
            return
        names = {name for each in entries for name in _assets_of_entry(each.entry)}
        commit = JournalCommit(self._project, entries, _asset_states(before, names), _asset_states(after, names))
        with self._changed:
            for line in self._lines:
                line.add(commit)

    def end_invocation(self) -> None:
        """The invocation is over: waits a while for the sinks to hear all of it, and notes what became of them.

        One that is behind by then goes on by itself, for as long as the process lives; it is not waited for again
        before it has caught up.
        """
        with self._changed:
            waited = [line for line in self._lines if not line.behind]
            for line in self._lines:
                line.end_invocation()
            self._changed.wait_for(lambda: not any(line.running for line in waited), self._grace_seconds)
            notes = [note for line in self._lines for note in line.notes()]
        for note in notes:
            from sparkassets.core.redaction import redact

            self._note(escape_unwritable(redact(note, variables=self._project.variables)))


def _assets_of_entry(entry: Entry) -> Iterator[str]:
    """The assets that an entry is about."""
    if isinstance(entry, RenewEntry):
        yield from (name for name, _ in entry.claims)
    elif (name := getattr(entry, "asset", None)) is not None:
        yield name


def _asset_states(state: State, names: set[str]) -> Mapping[str, AssetState]:
    return {name: state.assets[name] for name in names if name in state.assets}


class _SinkQueue:
    """What waits for one sink; everything but `_serve` is called by who holds the lock of ``changed``.

    Attributes:
        running: Whether a thread serves the line.
        behind: Whether it was still served when an invocation had waited for it, and ever since.
    """

    def __init__(self, sink: Sink, changed: threading.Condition, most_waiting: int) -> None:
        self.running = False
        self.behind = False
        self._sink = sink
        self._changed = changed
        self._most_waiting = most_waiting
        self._waiting: deque[JournalCommit | None] = deque()  # None is the end of an invocation
        self._entries = 0
        self._dropped = 0
        self._error = ""
        self._told_error = False

    def add(self, commit: JournalCommit) -> None:
        """Puts a commit in line, unless too much of it waits already."""
        count = len(commit.entries)
        if self._entries and self._entries + count > self._most_waiting:
            self._dropped += count
            return
        self._waiting.append(commit)
        self._entries += count
        self._changed.notify_all()
        if not self.running:
            self._start()

    def end_invocation(self) -> None:
        """Puts the end of an invocation in line, where there is anything before it."""
        if self.running and (not self._waiting or self._waiting[-1] is not None):
            self._waiting.append(None)
            self._changed.notify_all()

    def notes(self) -> list[str]:
        """What people should know by the end of an invocation and were not told yet."""
        name, notes = _sink_name(self._sink), []
        if self._error and not self._told_error:
            self._told_error = True
            notes.append(f"the sink {name} raised {self._error}; runs are not affected, and it is told what follows")
        if self._dropped:
            notes.append(
                f"the sink {name} is too slow: {_entry_count_text(self._dropped)} of the journal not told to it"
            )
            self._dropped = 0
        if self.running and not self.behind:
            notes.append(
                f"the sink {name} is behind by {_entry_count_text(self._entries)}; nothing waits for it any longer"
            )
        self.behind = self.running
        return notes

    def _start(self) -> None:
        self.running = True
        name = f"sink {_sink_name(self._sink)}"
        try:
            threading.Thread(target=self._serve, name=name, daemon=True).start()
        except RuntimeError as error:  # no more threads
            self.running = False
            self._error = self._error or describe_error(error)
            self._dropped += self._entries
            self._waiting.clear()
            self._entries = 0

    def _serve(self) -> None:
        """Tells the sink all that is in line, until an invocation has ended and nothing came after it."""
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
                self.running = bool(self._waiting) or commit is not None
                self.behind = self.behind and self.running
                self._changed.notify_all()
                if not self.running:
                    return
            del commit


def _sink_name(sink: Sink) -> str:
    """What a project calls it, else the name of its class."""
    return getattr(sink, "name", "") or type(sink).__name__


def _entry_count_text(entries: int) -> str:
    return f"{entries:,} entr{'y' if entries == 1 else 'ies'}"
