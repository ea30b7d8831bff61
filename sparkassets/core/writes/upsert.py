"""``upsert``: a run's rows replace those with the same keys; rows with new keys are added."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.core.instants import Duration
from sparkassets.frozen import frozen


@frozen
class HistoryColumns:
    """Names of the columns of a history table, which has a row for each state of a key and the time when it held.

    Attributes:
        valid_from: Column with the time from which the row holds, by the source's own time.
        valid_to: Column with the time of the key's next state or deletion; NULL while the row holds.
        current: Column that says whether the row still holds.
    """

    valid_from: str
    valid_to: str
    current: str


@frozen
class UpsertWrite:
    """A row replaces the row with the same keys; rows with new keys are added.

    Recomputed rows are merged again, which changes no newer row, below a watermark either.

    Attributes:
        keys: Columns whose values no two rows share.
        newest_by: Columns that decide which of several rows of a key counts; without any, a run has one row for a key.
        delete_when: SQL condition on the run's rows: a row that meets it deletes the row with its keys.
        keep_deletes: How long a deleted key is remembered, so that no late update restores it; None for ever.
        history: Columns of a history table; None keeps only the newest state of a key.
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
        """All options except ``keep_deletes``, which changes no rows."""
        columns = self.history
        options = {
            "keys": self.keys,
            "newest_by": self.newest_by,
            "delete_when": self.delete_when,
            "history": None if columns is None else [columns.valid_from, columns.valid_to, columns.current],
        }
        return {f"write.upsert.{name}": value for name, value in options.items() if value}


HIDDEN = "_"
"""Prefix of columns that only serve ``newest_by`` and ``delete_when`` and are not stored."""


def is_unstored_column(column: str) -> bool:
    """Whether an upsert leaves the column out of its table.

    >>> is_unstored_column("_lsn"), is_unstored_column("lsn")
    (True, False)
    """
    return column.startswith(HIDDEN)
