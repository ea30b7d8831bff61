"""What every store checks before it writes, whatever it writes to."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.journal.codec.rows import JournalRow, SnapshotRow
from sparkassets.errors import JournalConflictError


def check_append(rows: Sequence[JournalRow], *, last_seq: int) -> None:
    """The rows continue the journal without a gap.

    Raises:
        ValueError: They do not: whoever numbered them had another journal in mind.
    """
    if not rows:
        raise ValueError("a commit needs at least one row")
    for expected, row in enumerate(rows, start=last_seq + 1):
        if row.seq != expected:
            raise ValueError(f"row has seq {row.seq}, expected {expected}: the journal ends at {last_seq}")


def check_snapshot(rows: Sequence[SnapshotRow], *, seq: int, last_seq: int) -> None:
    """The rows all stand for ``seq``, which the journal has reached.

    Raises:
        ValueError: They do not.
    """
    if not 0 < seq <= last_seq:
        raise ValueError(f"a snapshot of seq {seq}, but the journal ends at {last_seq}")
    for row in rows:
        if row.seq != seq:
            raise ValueError(f"snapshot row has seq {row.seq}, expected {seq}")


def find_sequence_fault(tail: Sequence[JournalRow], seq: int) -> str | None:
    """What is wrong with the rows after ``seq``, ascending; None where each is there exactly once."""
    for expected, row in enumerate(tail, start=seq + 1):
        if row.seq != expected:
            return f"entry {row.seq} is there twice" if row.seq < expected else f"entry {expected} is missing"
    return None


def check_base(rows: Sequence[SnapshotRow], *, seq: int, last_seq: int) -> None:
    """The rows all stand for ``seq``, and an entry comes after it.

    Raises:
        ValueError: They do not, or none does.
    """
    check_snapshot(rows, seq=seq, last_seq=last_seq)
    if seq == last_seq:
        raise ValueError(f"the newest entry, {seq}, stays")


def conflict_error(*, found: int, after: int) -> JournalConflictError:
    """Another driver was first, or the caller's picture of the journal is of another one."""
    return JournalConflictError(f"the journal is at commit {found}, not at {after}: another driver committed first")
