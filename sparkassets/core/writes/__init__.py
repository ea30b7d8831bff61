"""The write modes, as values that say what each may do, and the rows that a commit wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sparkassets.core.instants import Duration
from sparkassets.core.writes.mode import WriteMode
from sparkassets.core.writes.registered import RegisteredWrite
from sparkassets.frozen import frozen


@frozen
class AppendWrite(WriteMode):
    """A run adds its rows to those in the target."""

    name = "append"
    recomputable = False
    only_adds = True

    def why_not(self, strategy: str, *, partitioned: bool) -> str | None:
        """Why a strategy does not go with it."""
        del partitioned  # earlier rows stay in any case
        return {
            "full_refresh": "every run would append all rows once more",
            "date_range": "a partition that is computed again would be there twice",
            "segments": "a segment that is computed again would be there twice",
        }.get(strategy)


@frozen
class PublishWrite(WriteMode):
    """Each run writes an iteration that no later run changes; the table shows the newest one of each partition.

    Attributes:
        keep: Least number of iterations that are kept.
    """

    keep: int
    name = "publish"
    takes_all = True

    @property
    def kept_iterations(self) -> int:
        """As `keep` says."""
        return self.keep

    def why_not(self, strategy: str, *, partitioned: bool) -> str | None:
        """Why a strategy does not go with it."""
        del partitioned  # an iteration stays in any case
        if strategy in ("date_range", "segments"):
            return "an iteration is of one run, which computes many; 'strategy: every_instance' has one for each"
        return None


@frozen
class ReplaceWrite(WriteMode):
    """A run's rows replace those of its partitions, or all rows of an asset without partitions."""

    name = "replace"
    takes_all = True
    is_promotable = True

    def why_not(self, strategy: str, *, partitioned: bool) -> str | None:
        """Why a strategy does not go with it."""
        if strategy == "latest_only":
            return "a run has only what is new and would destroy what is there"
        if strategy == "every_instance" and not partitioned:
            return "every run would destroy what the runs before it wrote"
        return None


@frozen
class SelfWrite(WriteMode):
    """The function or the statements of a run write the target; a run is repeated after a failure or a crash.

    What its code does to the rows that are there is for its author to say, so it goes with every strategy.
    """

    name = "self"
    side_by_side = False
    is_of_code = True


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
class UpsertWrite(WriteMode):
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
    by_keys = True
    side_by_side = False

    @property
    def unique_columns(self) -> tuple[str, ...]:
        """The keys; a history has a row for each state of a key."""
        return self.keys if self.history is None else ()

    @property
    def last_run_wins(self) -> bool:
        """Whether no column decides which row of a key counts."""
        return not self.newest_by

    @property
    def added_columns(self) -> tuple[str, ...]:
        """Those of a history."""
        columns = self.history
        return () if columns is None else (columns.valid_from, columns.valid_to, columns.current)

    def stores_column(self, column: str) -> bool:
        """Not one that only serves ``newest_by`` and ``delete_when``."""
        return not is_unstored_column(column)

    def why_not(self, strategy: str, *, partitioned: bool) -> str | None:
        """Why a strategy does not go with it."""
        del partitioned  # keys tell rows apart in any case
        return "what is not among the rows any more would stay" if strategy == "full_refresh" else None

    def parts(self) -> Mapping[str, object]:
        """All options except ``keep_deletes``, which changes no rows."""
        options = {
            "keys": self.keys,
            "newest_by": self.newest_by,
            "delete_when": self.delete_when,
            "history": [*self.added_columns],
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


WRITES: Final[Mapping[str, WriteMode]] = {write.name: write for write in (ReplaceWrite(), AppendWrite(), SelfWrite())}
"""The write modes that are one word in YAML, by that word, the default first. The others are a map of options."""

__all__ = [
    "WRITES",
    "AppendWrite",
    "HistoryColumns",
    "PublishWrite",
    "RegisteredWrite",
    "ReplaceWrite",
    "SelfWrite",
    "UpsertWrite",
    "WriteMode",
    "is_unstored_column",
]


_SIZES = {"numFiles": "files", "numOutputBytes": "bytes"}
_MERGE = {
    "numTargetRowsInserted": "inserted",
    "numTargetRowsUpdated": "updated",
    "numTargetRowsDeleted": "deleted",
    "numTargetRowsCopied": "copied",
    "numTargetFilesAdded": "files",
    "numTargetBytesAdded": "bytes",
}
_DELETE = {
    "numDeletedRows": "deleted",
    "numCopiedRows": "copied",
    "numAddedFiles": "files",
    "numAddedBytes": "bytes",
}
_SPARED = ("deleted", "copied")
"""Told only where there are any: most runs delete and copy none."""


def row_counts(operation: str, metrics: Mapping[str, int]) -> dict[str, int]:
    """Counts to report for a run: ``rows`` are those that it wrote, never those that Delta copied along.

    The others are ``files`` and ``bytes``; ``inserted`` and ``updated`` of a merge; and ``deleted`` and ``copied``
    where there are any and Delta counted them (it does not count what leaves with a whole file's removal).

    Args:
        operation: ``WRITE``, ``MERGE`` or ``DELETE``, as Delta calls it.
        metrics: Delta's operation metrics.

    >>> row_counts("WRITE", {"numOutputRows": 33, "numCopiedRows": 30, "numDeletedRows": 10, "numFiles": 3})
    {'rows': 3, 'deleted': 10, 'copied': 30, 'files': 3}
    >>> row_counts("MERGE", {"numTargetRowsInserted": 1, "numTargetRowsUpdated": 2, "numOutputRows": 9})
    {'rows': 3, 'inserted': 1, 'updated': 2}
    """
    match operation:
        case "MERGE":
            counts = _pick_metrics(metrics, _MERGE)
            rows = counts.get("inserted", 0) + counts.get("updated", 0)
            return _drop_zero_counts({"rows": rows, **counts})
        case "DELETE":
            return _drop_zero_counts({"rows": 0, **_pick_metrics(metrics, _DELETE)})
        case _:
            return _drop_zero_counts(_write_counts(metrics))


def _write_counts(metrics: Mapping[str, int]) -> dict[str, int]:
    copied, sizes = metrics.get("numCopiedRows", 0), _pick_metrics(metrics, _SIZES)
    counts = {}
    if "numOutputRows" in metrics:
        counts["rows"] = metrics["numOutputRows"] - copied
    elif sizes.get("files") == 0:
        counts["rows"] = 0  # Delta does not count the rows of a replacement by nothing
    return {**counts, "deleted": metrics.get("numDeletedRows", 0), "copied": copied, **sizes}


def _pick_metrics(metrics: Mapping[str, int], names: Mapping[str, str]) -> dict[str, int]:
    return {short: metrics[name] for name, short in names.items() if name in metrics}


def _drop_zero_counts(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count or name not in _SPARED}
