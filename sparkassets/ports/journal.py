"""The store of the journal, the sinks that hear its commits, and the clock and names that entries need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from sparkassets.core.journal.entries import ClaimEntry, NumberedEntry
from sparkassets.core.journal.rows import JournalRow, SnapshotRow
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.frozen import frozen


class Clock(Protocol):
    """The time of this driver."""

    def now(self) -> datetime:
        """The current instant; aware, UTC."""

    def monotonic(self) -> float:
        """Seconds that never run backwards; only differences mean anything."""


class IdGenerator(Protocol):
    """Names that never repeat."""

    def invocation_id(self) -> str:
        """A unique name of one start of a driver."""

    def run_id(self, asset: str, at: datetime) -> str:
        """A readable, unique name of one run of ``asset``."""


@frozen
class JournalImage:
    """What a store holds: the snapshot and everything committed after it.

    Attributes:
        journal_id: The journal's Delta table id; stable for the life of the state.
        commit: Number of the last commit, 0 for an empty journal.
        snapshot: Rows of the newest snapshot, empty when there is none.
        snapshot_seq: The sequence number the snapshot stands for, 0 when there is none.
        tail: Rows with ``seq > snapshot_seq``, ascending by ``seq``.
    """

    journal_id: str
    commit: int
    snapshot: Sequence[SnapshotRow]
    snapshot_seq: int
    tail: Sequence[JournalRow]

    def fold(self) -> FoldedImage:
        """The state that the snapshot and the tail make.

        Raises:
            StateError: A row is damaged or of a newer format.
        """
        from sparkassets.core.journal.codec import decode, from_row  # here, as most starts find the state in the cache
        from sparkassets.core.journal.fold.dispatch import fold

        state = decode(self.snapshot, journal_id=self.journal_id)
        return FoldedImage(fold(state, map(from_row, self.tail), commit=self.commit), self.snapshot_seq)


@frozen
class FoldedImage:
    """The state of a journal, and the sequence number of its snapshot, 0 when there is none."""

    state: State
    snapshot_seq: int


@frozen
class StateDamage:
    """Something that is wrong with a state.

    Attributes:
        problem: A sentence without a full stop.
        repair: What to do.
    """

    problem: str
    repair: str


@frozen
class FormatUpgrade:
    """Converts rows of an older format to today's; returns rows of today's format unchanged."""

    upgrade_entry: Callable[[JournalRow], JournalRow]
    upgrade_snapshot: Callable[[SnapshotRow], SnapshotRow]


@frozen
class HistoryQuery:
    """Which rows of a journal are read; None excludes nothing.

    Attributes:
        kinds: Kinds of their entries.
        asset, uri, run: The values of these fields.
        ids: Ids of announced events.
        after_seq: Only rows with a greater number.
        up_to_seq: Only rows with this number or a lower one.
        last: At most so many, the newest of those that match.
    """

    kinds: Collection[str] | None = None
    asset: str | None = None
    uri: str | None = None
    run: str | None = None
    ids: Collection[str] | None = None
    after_seq: int = 0
    up_to_seq: int | None = None
    last: int | None = None

    @property
    def allowed_values(self) -> Mapping[str, Collection[str]]:
        """Field of a row to the values that match, for each field that the query filters by."""
        single = {"asset": self.asset, "uri": self.uri, "run": self.run}
        several = {"kind": self.kinds, "id": self.ids}
        return {
            **{field: (value,) for field, value in single.items() if value is not None},
            **{field: values for field, values in several.items() if values is not None},
        }


ALL_HISTORY = HistoryQuery()
"""Every row that the journal keeps."""


class JournalStore(Protocol):
    """The serialisable log (docs/design/journal.md#a-serialisable-log): numbered commits by compare-and-set.

    Every method raises `StateError` when the state is unreachable, read-only, damaged, newer or another project's.
    """

    def exists(self) -> bool:
        """Whether there is a journal; looks and creates nothing."""

    def create(self, *, project: str) -> None:
        """Creates an empty journal for ``project``; does nothing when it exists and is that project's."""

    def check(self, *, project: str) -> None:
        """Refuses a state that is not ``project``'s or cannot be used, without reading it."""

    def read_image(self, *, project: str) -> JournalImage:
        """The newest snapshot and the tail, of one consistent moment; refuses another project's state."""

    def read_state(self, *, project: str) -> FoldedImage:
        """What `read_image` folds to."""

    def read_after(self, seq: int) -> tuple[int, Sequence[JournalRow]]:
        """The last commit number and the rows with a greater ``seq``, ascending; cheap when nothing is new.

        If entries after ``seq`` have expired meanwhile, the rows begin later than ``seq + 1``.
        """

    def append(self, rows: Sequence[JournalRow], *, after: int) -> None:
        """Commits ``rows`` as commit ``after + 1``.

        Raises:
            JournalConflictError: The last commit is not ``after``; nothing was written.
        """

    def save_snapshot(self, rows: Sequence[SnapshotRow], *, seq: int) -> None:
        """Replaces the snapshot if its ``seq`` is lower; losing a race is not an error."""

    def read_history(self, query: HistoryQuery = ALL_HISTORY) -> Sequence[JournalRow]:
        """Rows of the whole journal that match the query, ascending by ``seq``.

        The store itself filters, so that other rows are not read into this process.
        """

    def maintain(self, *, fully: bool = False) -> None:
        """Checkpoints, compacts and cleans up (docs/design/journal.md#growth); safe beside other drivers.

        Args:
            fully: Also what is not due yet.
        """

    def oldest_seq(self) -> int:
        """The number of the oldest entry that is kept; 1 while all of them are."""

    def read_base(self) -> tuple[Sequence[SnapshotRow], int]:
        """The state before the oldest entry that is kept, and the number of the last entry folded into it.

        No rows and 0 while all entries are kept. Folding the kept entries into it gives the newest state.
        """

    def expire(self, rows: Sequence[SnapshotRow], *, seq: int) -> None:
        """Stores ``rows``, the state at ``seq``, as the base, then removes the entries up to ``seq``.

        Safe beside other drivers. If it is killed, the next call goes on. The newest entry always stays.
        """

    def find_damages(self) -> Sequence[StateDamage]:
        """Files and entries that are missing or broken; changes nothing."""

    def migrate(self, upgrade: FormatUpgrade) -> int:
        """Converts every row by ``upgrade``, then records the format as today's; returns how many rows changed.

        Old rows stay until the new ones are written and read back, so a killed migration can be repeated. Safe beside
        other drivers of this release.
        """


@frozen
class JournalCommit:
    """Entries that this process committed, and what they changed.

    Attributes:
        project: The project, whose assets name the partitions.
        entries: In the order of the journal; at least one.
        before, after: The states of the assets concerned, by name, before and after the entries.
    """

    project: ProjectSpec
    entries: Sequence[NumberedEntry]
    before: Mapping[str, AssetState]
    after: Mapping[str, AssetState]

    def claim(self, token: int) -> ClaimEntry | None:
        """The claim with that fence token, of a run that these entries begin or end; its pins say what is read."""
        chains = (link for states in (self.before, self.after) for state in states.values() for link in state.chain)
        return next((link.entry for link in chains if link.token == token), None)


class Sink(Protocol):
    """Receives what this process commits to the journal, once it stands: once, in order, on a thread of its own.

    Other drivers report their own commits. Whatever a sink raises, and however long it takes, no run is affected.
    It must not change its arguments.
    """

    def committed(self, commit: JournalCommit) -> None:
        """These entries are in the journal."""

    def ended(self) -> None:
        """The invocation is over: sends now what was held back to be sent together."""
