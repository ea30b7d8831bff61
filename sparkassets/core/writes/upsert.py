"""``upsert``: a run's rows take the place of those with their keys; others come to what is there."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.core.instants import Duration
from sparkassets.frozen import frozen


@frozen
class HistoryColumns:
    """Columns of a table that keeps what was: a row for each state of a key, from when to when it held.

    Attributes:
        valid_from: When a row begins to hold, by the source's own time.
        valid_to: When the next state of the key begins, or the key was deleted; NULL while it holds.
        current: Whether it holds still.
    """

    valid_from: str
    valid_to: str
    current: str


@frozen
class UpsertWrite:
    """Rows go by their keys: one takes the place of the row with its keys; others come to what is there.

    What is computed again is merged again, which changes nothing that is newer: below a watermark too.

    Attributes:
        keys: Columns whose values no two rows share.
        newest_by: Columns that tell which of several rows of a key counts; without any a key comes once a run.
        delete_when: A condition on the run's rows, in SQL: who fulfils it deletes the row with its keys.
        keep_deletes: How long a deleted key is remembered, so that no late update brings it back; None for ever.
        history: None keeps the newest state of a key alone.
    """

    keys: tuple[str, ...]
    newest_by: tuple[str, ...] = ()
    delete_when: str | None = None
    keep_deletes: Duration | None = None
    history: HistoryColumns | None = None
    name = "upsert"
    recomputable = True
    only_adds = False
    by_keys = True
    takes_all = False
    side_by_side = False

    def why_not(self, strategy: str, *, partitioned: bool) -> str | None:
        """Why a strategy does not go with it."""
        del partitioned  # keys tell rows apart in any case
        return "what is not among the rows any more would stay" if strategy == "full_refresh" else None

    def parts(self) -> Mapping[str, object]:
        """All that the YAML says, but for how long deletions are remembered."""
        told = {"keys": self.keys, "newest_by": self.newest_by, "delete_when": self.delete_when}
        kept = self.history
        history = None if kept is None else [kept.valid_from, kept.valid_to, kept.current]
        return {f"write.upsert.{name}": value for name, value in {**told, "history": history}.items() if value}


HIDDEN = "_"
"""Columns whose names begin so are for ``newest_by`` and ``delete_when``; none is stored."""


def is_unstored_column(column: str) -> bool:
    """Whether an upsert stores no such column.

    >>> is_unstored_column("_lsn"), is_unstored_column("lsn")
    (True, False)
    """
    return column.startswith(HIDDEN)
