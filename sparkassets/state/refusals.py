"""Checks of what is appended to the state, and the errors that refuse a table or explain it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sparkassets.core.journal.rows import FORMAT, JournalRow, SnapshotRow
from sparkassets.delta.durability import LAST_CHECKPOINT
from sparkassets.delta.tables import reason
from sparkassets.errors import JournalConflictError, StateError
from sparkassets.frozen import frozen

FORMAT_PROPERTY = "sparkassets.format"
PROJECT_PROPERTY = "sparkassets.project"
JOURNAL_PROPERTY = "sparkassets.journal"

FOREIGN_STATE = "state-of-another-project"
OTHER_RELEASE = "state-of-another-release"
NOT_WRITABLE = "state-not-writable"

_NOTHING_CHANGED = "nothing was changed"
_OUT_OF_REACH = (
    "permission denied",
    "access denied",
    "credential",
    "unauthorized",
    "forbidden",
    "timed out",
    "connect",
    "dns",
    "error sending request",
    "slowdown",
    "too many requests",
    "service unavailable",
    "internal server error",
    "bad gateway",
    "gateway timeout",
    "error performing list request",
    "invalid access key",
    "account must be specified",
)
"""Parts of messages that say that storage cannot be reached, so that its table may well be sound.

A message about a failed listing is among them: a missing bucket or container cannot be listed.
"""
_WRITABLE_HINT = f"the state must be writable for whoever runs the project; {_NOTHING_CHANGED}"
_WRITE_HINTS = (
    (
        ("function not implemented", "operation not supported"),
        f"its file system has no hard links (Databricks volumes): take a bucket or a catalog; {_NOTHING_CHANGED}",
    ),
    (("no space left", "file too large", "quota"), f"free some space and start again; {_NOTHING_CHANGED}"),
    (("permission denied", "access denied", "accessdenied", "forbidden"), _WRITABLE_HINT),
    (_OUT_OF_REACH, "the store does not respond; start again once it does: committed entries are kept"),
)
"""Parts of messages about failed writes, and what to do then."""


def unreachable_error(uri: str, error: BaseException) -> StateError:
    """The error for a folder, bucket or network that refuses access."""
    return StateError(
        f"the state {uri} cannot be reached: {reason(error)}",
        hint="check the path, the permissions and the credentials",
        topic="state-unreachable",
    )


def absent_error(uri: str) -> StateError:
    """The error for a state that does not exist yet."""
    return StateError(f"no state in {uri}", hint="`sparkassets run` creates it", topic="no-state")


def removed_error(uri: str) -> StateError:
    """The error for a state that was removed after this process had opened it."""
    return StateError(
        f"the state {uri} was removed while this process used it",
        hint="restore it from a backup and start again; without a backup, `sparkassets run` creates a new state",
        topic="lost-state",
    )


def damaged_error(table: str, why: str, *, repair: str | None = None) -> StateError:
    """The error for missing or broken files of a table; ``repair`` is the advice, by default to restore a backup."""
    return StateError(
        f"the table {table} is damaged: {why}", hint=f"{repair or 'restore it from a backup'}; {_NOTHING_CHANGED}"
    )


def torn_error(table: str, name: str) -> StateError:
    """The error for an incomplete end of a log, which can be put aside: its commits were never confirmed."""
    why = (
        f"its {name} names a missing checkpoint"
        if name == LAST_CHECKPOINT
        else f"its newest entry {name} is truncated, as after a power failure"
    )
    return StateError(
        f"the table {table} is damaged: {why}",
        hint=f"the next `sparkassets run` moves it aside and continues; {_NOTHING_CHANGED}",
    )


def behind_error(table: str, last_seq: int, snapshot_seq: int) -> StateError:
    """The error for a journal that lacks entries from which the snapshot was made."""
    return damaged_error(table, f"it ends at entry {last_seq}, but the snapshot is of entry {snapshot_seq}")


def unsettled_error(table: str, error: BaseException) -> StateError:
    """The error for a commit that the disk accepted but could not be made to keep."""
    return StateError(
        f"the disk lost writes to the table {table}: {reason(error)}",
        hint="check the disk, and start again; committed entries are kept",
        topic=NOT_WRITABLE,
    )


def unreadable_error(table: str, error: BaseException, *, repair: str | None = None) -> StateError:
    """The error for a table that cannot be read, by the text of the cause: newer, out of reach, or damaged."""
    text = reason(error)
    if "Unsupported" in text:
        return StateError(
            f"the table {table} needs a newer reader: {text}",
            hint=f"a newer release or another program changed its protocol: upgrade sparkassets; {_NOTHING_CHANGED}",
            topic=OTHER_RELEASE,
        )
    if any(sign in text.lower() for sign in _OUT_OF_REACH):
        return unreachable_error(table, error)
    return damaged_error(table, text, repair=repair)


def unwritable_error(table: str, error: BaseException) -> StateError:
    """The error for a commit that failed for another reason than a driver that was first."""
    text = reason(error)
    advice = next((hint for signs, hint in _WRITE_HINTS if any(sign in text.lower() for sign in signs)), _WRITABLE_HINT)
    return StateError(f"cannot write to the table {table}: {text}", hint=advice, topic=NOT_WRITABLE)


def busy_error(table: str) -> StateError:
    """The error for a table that something else keeps changing, so that no commit succeeds."""
    return StateError(
        f"cannot write to the table {table}: other programs keep changing it",
        hint="only sparkassets may write to its state; stop the other program and start again",
        topic=NOT_WRITABLE,
    )


@contextmanager
def translate_write_errors(table: str) -> Iterator[None]:
    """Turns errors of deltalake and the file system into the refusal of a write.

    Raises:
        StateError: The write failed.
    """
    from deltalake.exceptions import DeltaError

    try:
        yield
    except (DeltaError, OSError) as error:
        raise unwritable_error(table, error) from error


def check_format(table: str, properties: Mapping[str, str]) -> None:
    """Refuses a table that is not the state's or has a newer format than this release reads.

    Raises:
        StateError: With the reason; nothing was touched.
    """
    text = properties.get(FORMAT_PROPERTY)
    if text is None:
        raise StateError(
            f"{table} is a Delta table that sparkassets did not create: it has no property {FORMAT_PROPERTY}",
            hint=f"let `state` in project.yml name a new or empty folder; {_NOTHING_CHANGED}",
            topic=FOREIGN_STATE,
        )
    if not text.isdecimal():
        raise damaged_error(table, f"its property {FORMAT_PROPERTY} is {text!r}, expected a number")
    if int(text) > FORMAT:
        raise StateError(
            f"the state in {table} has format {text}, and this release reads formats up to {FORMAT}",
            hint=f"upgrade sparkassets; {_NOTHING_CHANGED}",
            topic=OTHER_RELEASE,
        )


def check_project(table: str, properties: Mapping[str, str], *, project: str) -> None:
    """Refuses the state of another project.

    Raises:
        StateError: With both names; nothing was touched.
    """
    owner = properties.get(PROJECT_PROPERTY)
    if owner != project:
        raise StateError(
            f"the state in {table} belongs to the project {owner!r}, not to {project!r}",
            hint=f"give each project its own `state`, or restore the old name in project.yml; {_NOTHING_CHANGED}",
            topic=FOREIGN_STATE,
        )


def check_journal(table: str, properties: Mapping[str, str], *, journal_id: str) -> None:
    """Refuses a snapshot that belongs to another journal, as after a restore of the journal alone.

    Raises:
        StateError: Says that the snapshot can be removed: it is rebuilt from the journal.
    """
    if properties.get(JOURNAL_PROPERTY) != journal_id:
        raise StateError(
            f"the table {table} is the snapshot of another journal",
            hint=f"remove it; it is rebuilt from the journal beside it; {_NOTHING_CHANGED}",
        )


def check_columns(table: str, found: Iterable[str], expected: Iterable[str]) -> None:
    """Refuses a table whose columns somebody changed.

    Raises:
        StateError: With the first column that is missing.
    """
    names = set(found)
    for name in expected:
        if name not in names:
            raise damaged_error(table, f"its column {name!r} is missing")


def check_append(rows: Sequence[JournalRow], *, last_seq: int) -> None:
    """Refuses rows that do not continue the journal without a gap.

    Raises:
        ValueError: There are no rows, or their numbers do not follow ``last_seq``: the caller has another journal.
    """
    if not rows:
        raise ValueError("a commit needs at least one row")
    for expected, row in enumerate(rows, start=last_seq + 1):
        if row.seq != expected:
            raise ValueError(f"row has seq {row.seq}, expected {expected}: the journal ends at {last_seq}")


def check_snapshot(rows: Sequence[SnapshotRow], *, seq: int, last_seq: int) -> None:
    """Refuses rows that do not all stand for entry ``seq``, or a ``seq`` that the journal has not reached.

    Raises:
        ValueError: With the number that is wrong.
    """
    if not 0 < seq <= last_seq:
        raise ValueError(f"a snapshot of seq {seq}, but the journal ends at {last_seq}")
    for row in rows:
        if row.seq != seq:
            raise ValueError(f"snapshot row has seq {row.seq}, expected {seq}")


def find_sequence_fault(tail: Sequence[JournalRow], seq: int) -> str | None:
    """The first gap or repetition in the ascending rows after ``seq``; None if each number is there exactly once."""
    for expected, row in enumerate(tail, start=seq + 1):
        if row.seq != expected:
            return f"entry {row.seq} exists twice" if row.seq < expected else f"entry {expected} is missing"
    return None


def check_base(rows: Sequence[SnapshotRow], *, seq: int, last_seq: int) -> None:
    """Refuses rows that do not all stand for entry ``seq``, and a ``seq`` that is the newest entry.

    At least one entry stays in the journal, so that its numbers go on.

    Raises:
        ValueError: With the number that is wrong.
    """
    check_snapshot(rows, seq=seq, last_seq=last_seq)
    if seq == last_seq:
        raise ValueError(f"the newest entry, {seq}, stays")


def conflict_error(*, found: int, after: int) -> JournalConflictError:
    """The error if another driver committed first, or the caller knows another journal."""
    return JournalConflictError(f"the journal is at commit {found}, not at {after}: another driver committed first")


@frozen
class StateCommitMark:
    """What a commit to one of the state's tables says of itself in its ``userMetadata``.

    Attributes:
        app: The transaction id whose version the number is.
        attempt: A unique id of the attempt.
    """

    app: str
    number: int
    attempt: str = ""

    def __str__(self) -> str:
        return json.dumps({"app": self.app, "number": self.number, "attempt": self.attempt})

    @classmethod
    def parse(cls, text: str | None, app: str) -> StateCommitMark | None:
        """Parses the ``userMetadata`` of a commit; None if it has no mark, or that of another transaction id ``app``.

        >>> StateCommitMark.parse(str(StateCommitMark("journal", 7)), "journal")
        StateCommitMark(app='journal', number=7, attempt='')
        >>> StateCommitMark.parse("by hand", "journal"), StateCommitMark.parse(None, "journal")
        (None, None)
        """
        try:
            fields = json.loads(text or "")
            return cls(app, int(fields["number"]), str(fields["attempt"])) if fields["app"] == app else None
        except (ValueError, KeyError, TypeError):
            return None
