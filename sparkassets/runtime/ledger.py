"""The journal for the runtime: the folded state, and commits of decisions that hold for exactly that state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from sparkassets.core.journal.entries import Entry, NumberedEntry
from sparkassets.core.journal.retention import RetentionPolicy, find_outdated, last_expendable_seq
from sparkassets.core.journal.state import State
from sparkassets.errors import JournalConflictError, StateError
from sparkassets.frozen import replace
from sparkassets.ports import Clock, HistoryQuery, JournalStore

if TYPE_CHECKING:
    from sparkassets.core.journal.rows import JournalRow

SNAPSHOT_EVERY = 200
"""Entries in the tail from which a driver at work writes a new snapshot of a small project."""
ROWS_PER_TAIL_ENTRY = 4
"""Rows of a large project's snapshot for each entry in the tail from which a driver at work writes a new one.

Folding an entry takes about as long as reading four rows, so the tail at most doubles a cold start. With a fixed number
of entries, a wave of n runs would write n snapshots of n rows.
"""
ROWS_PER_ENTRY = 20
"""When a driver ends, an entry of the tail is worth this many rows of a snapshot: small projects end with a new one."""
MAINTAIN_EVERY = 32
"""Number of commits between two clean-ups by the store; one with nothing to do only looks at the logs."""

ENTRIES_PER_READ = 10_000
"""The most entries that one read of a long journal takes."""

CommitListener = Callable[[Sequence[NumberedEntry], State, State], None]
"""Called after each commit with its entries, the state before it and the state after it."""


class JournalLedger:
    """A driver's view of the journal; used by one thread.

    Args:
        on_commit: Is called after each commit of this ledger; returns at once.
        retention: How long entries are kept; None for ever.
        variables: Of the environment, whose values are not recorded in texts for people.

    Attributes:
        state: Folded up to the last entry this driver has seen.
    """

    def __init__(
        self,
        store: JournalStore,
        *,
        project: str,
        driver: str,
        clock: Clock,
        on_commit: CommitListener | None = None,
        retention: RetentionPolicy | None = None,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._store = store
        self._project = project
        self._driver = driver
        self._clock = clock
        self._on_commit = on_commit
        self._retention = retention
        self._variables = variables
        self._snapshot_seq = 0
        self._maintained_commit = 0
        self.state = State()

    def open(self) -> State:
        """Reads the snapshot and the tail; the journal must exist."""
        folded = self._store.read_state(project=self._project)
        self._snapshot_seq, self._maintained_commit = folded.snapshot_seq, folded.state.commit
        self.state = folded.state
        return self.state

    def refresh(self) -> State:
        """Folds the entries that other drivers committed since the last look; returns the new state."""
        commit, rows = self._store.read_after(self.state.seq)
        if rows and rows[0].seq != self.state.seq + 1:
            return self.open()  # this process slept for longer than entries are kept
        if rows or commit != self.state.commit:
            self.state = _fold_entries(self.state, _decode_rows(rows), commit=commit)
        return self.state

    def commit(self, decide: Callable[[State], Sequence[Entry]]) -> Sequence[NumberedEntry]:
        """Appends the entries that ``decide`` returns, in one commit; calls it again whenever another driver was first.

        ``decide`` must be a function of the state alone: each entry is then valid against exactly the state before
        it, for any number of drivers. Returns the entries with their numbers, empty when it decided on nothing.
        """
        while True:
            decided = decide(self.state)
            if not decided:
                return ()
            from sparkassets.core.journal.codec.entries import redact_entry, to_row  # few starts write anything

            entries = self._number_entries([redact_entry(each, self._variables) for each in decided])
            try:
                self._store.append([to_row(each) for each in entries], after=self.state.commit)
            except JournalConflictError:
                self.refresh()
                continue
            before, self.state = self.state, _fold_entries(self.state, entries, commit=self.state.commit + 1)
            if self._on_commit is not None:
                self._on_commit(entries, before, self.state)
            return entries

    def assume(self, entries: Sequence[Entry]) -> State:
        """The state as it would be after ``entries``, which are not recorded."""
        return _fold_entries(self.state, self._number_entries(entries), commit=self.state.commit)

    def knows_run(self, run: str, token: int) -> bool:
        """Whether the journal has the claim of a run, or could have had it and dropped it by retention.

        Reads the store instead of the state: another driver may have claimed the run since the state was read.

        Args:
            run: Its name.
            token: The fence token of the claim, taken from the run's commit.
        """
        return token < self._store.oldest_seq() or bool(
            self._store.read_history(HistoryQuery(kinds=["claim"], run=run))
        )

    def newest_entries(self, kind: str, *, asset: str, most: int) -> list[NumberedEntry]:
        """The newest ``most`` entries of this kind and asset in the whole journal, oldest of them first."""
        return _decode_rows(self._store.read_history(HistoryQuery(kinds=[kind], asset=asset, last=most)))

    def entries_after(self, seq: int, kinds: Sequence[str]) -> list[NumberedEntry]:
        """The entries of these kinds after a number, up to the state, as far as they are kept; ascending."""
        query = HistoryQuery(kinds=kinds, after_seq=seq, up_to_seq=self.state.seq)
        return _decode_rows(self._store.read_history(query))

    def maintain(self, *, ending: bool = False) -> None:
        """Writes a snapshot once the tail is long enough to be worth it, and lets the store clean up its files.

        While a driver is at work a failure is ignored, because the next call tries again and nothing depends on it now.

        Raises:
            StateError: It fails, and the driver is ``ending``.
        """
        try:
            self._maintain(ending=ending)
        except StateError:
            if ending:
                raise

    def _maintain(self, *, ending: bool) -> None:
        """Saves a snapshot if the tail is long for the size of the state; maintains and expires every few commits."""
        tail, rows = self.state.seq - self._snapshot_seq, len(self.state.assets) + len(self.state.datasets)
        is_long = tail >= max(SNAPSHOT_EVERY, rows // ROWS_PER_TAIL_ENTRY)
        if is_long or (ending and tail * ROWS_PER_ENTRY >= max(1, rows)):
            self._save_snapshot()
        if self.state.commit // MAINTAIN_EVERY > self._maintained_commit // MAINTAIN_EVERY:
            self._store.maintain()
            self._expire_when_due()
        self._maintained_commit = self.state.commit

    def _save_snapshot(self) -> None:
        from sparkassets.core.journal.codec.snapshot import encode

        self._store.save_snapshot(encode(self.state), seq=self.state.seq)
        self._snapshot_seq = self.state.seq

    def compact(self) -> int:
        """Saves a snapshot, expires entries and cleans up, due or not; returns how many entries expired."""
        if self.state.seq > self._snapshot_seq:
            self._save_snapshot()
        expired = self.expire_entries()
        self._store.maintain(fully=True)
        return expired

    def expire_entries(self) -> int:
        """Removes entries older than the retention; returns how many went.

        They are folded into the base table first, so that base and remaining entries together always hold the whole
        state. Stops at the first entry that is too young or still needed.
        """
        if self._retention is None:
            return 0
        from sparkassets.core.journal.codec.snapshot import decode, encode

        cutoff = self._retention.cutoff(self._clock.now())
        oldest, (base_rows, seq) = self._store.oldest_seq(), self._store.read_base()
        if seq + 1 < oldest:
            return 0  # the base table is gone, as `state verify` reports: there is nothing to fold more entries into
        base = replace(decode(base_rows, journal_id=self.state.journal_id), seq=seq)
        for part in read_entries(self._store, after=seq, up_to=last_expendable_seq(self.state)):
            outdated = find_outdated(part, cutoff)
            base = _fold_entries(base, outdated, commit=self.state.commit)
            if len(outdated) < len(part):
                break
        if base.seq >= oldest:
            self._store.expire(encode(base) if base.seq > seq else base_rows, seq=base.seq)
        return max(0, base.seq + 1 - oldest)

    def _expire_when_due(self) -> None:
        """Expires entries if the retention allows it and the oldest entry is old enough."""
        if self._retention is None:
            return
        oldest = find_oldest_entry(self._store)
        if oldest is not None and self._retention.is_due(oldest[1], self._clock.now()):
            self.expire_entries()

    def _number_entries(self, entries: Sequence[Entry]) -> list[NumberedEntry]:
        """The entries with the sequence numbers that follow the state's, and this driver's name and time."""
        now, first = self._clock.now(), self.state.seq + 1
        return [NumberedEntry(entry, seq, now, self._driver) for seq, entry in enumerate(entries, start=first)]


def read_entries(store: JournalStore, *, after: int, up_to: int) -> Iterator[list[NumberedEntry]]:
    """Entries with ``after`` < number <= ``up_to``, ascending, in lists of at most `ENTRIES_PER_READ`."""
    for first in range(after, up_to, ENTRIES_PER_READ):
        last = min(first + ENTRIES_PER_READ, up_to)
        yield _decode_rows(store.read_history(HistoryQuery(after_seq=first, up_to_seq=last)))


def find_oldest_entry(store: JournalStore) -> tuple[int, datetime] | None:
    """Sequence number and time of the oldest entry that is kept; None in an empty journal."""
    oldest = store.oldest_seq()
    rows = store.read_history(HistoryQuery(after_seq=oldest - 1, up_to_seq=oldest))
    return (oldest, rows[0].at) if rows else None


def _decode_rows(rows: Sequence[JournalRow]) -> list[NumberedEntry]:
    from sparkassets.core.journal.codec.entries import from_row  # as few starts read any row

    return [from_row(row) for row in rows]


def _fold_entries(state: State, entries: Sequence[NumberedEntry], *, commit: int) -> State:
    """The state after the entries at journal commit ``commit``; the same object if nothing changed."""
    if not entries:
        return state if commit == state.commit else replace(state, commit=commit)
    from sparkassets.core.journal.fold.dispatch import fold  # here, as most starts have an empty tail and never fold

    return fold(state, entries, commit=commit)
