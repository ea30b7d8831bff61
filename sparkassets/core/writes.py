"""The write modes, as values that say what each may do, and the rows that a commit wrote.

Code elsewhere asks a mode its questions (`WriteMode`), and never which mode it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Final, Protocol, runtime_checkable

from sparkassets.core.entry_points import EntryPointRegistry, Factory, RegisteredError
from sparkassets.core.instants import Duration
from sparkassets.core.phrases import kind_of, show_value
from sparkassets.errors import FileLocation
from sparkassets.frozen import frozen


class WriteMode:
    """How a run's rows get into its target, as data: the Spark layer has the code, by the mode's class.

    Attributes:
        name: As ``write`` has it.
        recomputable: Whether rows can be computed again, for lost rows and for a rebuild.
        only_adds: Whether a run leaves all earlier rows as they are, so that several assets may write one table.
        by_keys: Whether rows replace those with the same keys.
        takes_all: Whether a run of an asset without partitions replaces the whole table.
        side_by_side: Whether runs of different partitions may commit in parallel.
        combines: Whether the rows that are committed are made of a run's rows and of those in the table.
        is_of_code: Whether the asset's own code writes the target.
        kept_iterations: Least number of iterations that are kept, the newest by record; 0 where runs write none.
    """

    __slots__ = ()
    name: ClassVar[str] = ""
    recomputable: ClassVar[bool] = True
    only_adds: ClassVar[bool] = False
    by_keys: ClassVar[bool] = False
    takes_all: ClassVar[bool] = False
    side_by_side: ClassVar[bool] = True
    combines: ClassVar[bool] = False
    is_of_code: ClassVar[bool] = False

    @property
    def kept_iterations(self) -> int:
        """0: runs write no iterations."""
        return 0

    @property
    def unique_columns(self) -> tuple[str, ...]:
        """Columns whose values no two rows of the table share; empty where it promises nothing."""
        return ()

    @property
    def last_run_wins(self) -> bool:
        """Whether of rows with the same keys those written last count, so that runs must follow in order."""
        return False

    @property
    def added_columns(self) -> tuple[str, ...]:
        """Columns that the table has besides those of a run's rows."""
        return ()

    def stores_column(self, column: str) -> bool:
        """Whether the table has this column of a run's rows."""
        del column
        return True

    def condition_on_rows(self) -> tuple[str, FileLocation] | None:
        """The SQL condition on a run's rows that it has, with the place where it is written; None without one."""
        return None

    def why_not(self, strategy: str, *, partitioned: bool) -> str | None:
        """Why a strategy does not go with it, as it would destroy or double history; None where it does."""
        del strategy, partitioned
        return None

    def parts(self) -> Mapping[str, object]:
        """The options that decide which rows come out, by name; changing one counts as a change of the code."""
        return {}


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
            "full_refresh": "every run would append all rows again",
            "date_range": "recomputing a partition would duplicate its rows",
            "segments": "recomputing a segment would duplicate its rows",
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
        """The `keep` newest."""
        return self.keep

    def why_not(self, strategy: str, *, partitioned: bool) -> str | None:
        """Why a strategy does not go with it."""
        del partitioned  # an iteration stays in any case
        if strategy in ("date_range", "segments"):
            return "each run publishes one iteration, but computes many partitions; use 'strategy: every_instance'"
        return None


@frozen
class ReplaceWrite(WriteMode):
    """A run's rows replace those of its partitions, or all rows of an asset without partitions."""

    name = "replace"
    takes_all = True

    def why_not(self, strategy: str, *, partitioned: bool) -> str | None:
        """Why a strategy does not go with it."""
        if strategy == "latest_only":
            return "a run has only the new rows and would overwrite all others"
        if strategy == "every_instance" and not partitioned:
            return "every run would overwrite the rows of earlier runs"
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
        condition_place: Where ``delete_when`` is written; upserts that differ in it alone are equal.
    """

    keys: tuple[str, ...]
    newest_by: tuple[str, ...] = ()
    delete_when: str | None = None
    keep_deletes: Duration | None = None
    history: HistoryColumns | None = None
    condition_place: FileLocation = field(default=FileLocation(""), compare=False)
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
        """The columns that a history adds."""
        columns = self.history
        return () if columns is None else (columns.valid_from, columns.valid_to, columns.current)

    def stores_column(self, column: str) -> bool:
        """Whether it is stored: columns that only serve ``newest_by`` or ``delete_when`` are not."""
        return not is_unstored_column(column)

    def condition_on_rows(self) -> tuple[str, FileLocation] | None:
        """The SQL of ``delete_when`` with its place."""
        return (self.delete_when, self.condition_place) if self.delete_when else None

    def why_not(self, strategy: str, *, partitioned: bool) -> str | None:
        """Why a strategy does not go with it."""
        del partitioned  # keys tell rows apart in any case
        return "rows that a recomputation no longer returns would stay" if strategy == "full_refresh" else None

    def parts(self) -> Mapping[str, object]:
        """All options except ``keep_deletes``, which changes no rows."""
        options = {
            "keys": self.keys,
            "newest_by": self.newest_by,
            "delete_when": self.delete_when,
            "history": [*self.added_columns],
        }
        return {f"write.upsert.{name}": value for name, value in options.items() if value}


REGISTRY: Final = EntryPointRegistry(
    "write mode",
    "sparkassets.writes",
    "write",
    built_in={
        "append": "write: append",
        "publish": "write: {publish: {keep: 10}}",
        "replace": "write: replace",
        "self": "write: self",
        "upsert": "write: {upsert: {keys: [<column>]}}",
    },
)
"""Finds the write modes that packages register; knows the built-in names, which no package may take."""
RESERVED: Final = frozenset({"mode"})
"""Keys of ``write`` that are no parameters of a registered mode."""


@runtime_checkable
class RowCombiner(Protocol):
    """The object that an entry point of the group ``sparkassets.writes`` makes from its parameters, given by keyword.

    Attributes:
        repeatable: Whether rows that are combined once more change nothing, as rows that go by keys. Otherwise no run
            computes a partition again, as with ``append``.
    """

    repeatable: bool

    def combine(self, rows: Any, there: Any, /) -> Any:  # noqa: ANN401  of Spark, which is not known here
        """The rows that replace those of the run's partitions, or all of an asset without partitions.

        A function of its arguments, DataFrames of Spark, without effects: the driver stages, judges and commits what it
        returns. ``there`` is what the table holds of these partitions at the version upon which the run commits;
        without rows at the first run and at a rebuild.
        """


@frozen
class RegisteredWrite(WriteMode):
    """A mode that a package registered, with its parameters; its rows are committed as those of ``replace``.

    Attributes:
        name: As registered.
        parameters: As JSON.
        recomputable: As ``repeatable`` of `RowCombiner`.
    """

    name: str  # type: ignore[misc]  # those of the other modes are of their classes
    parameters: Mapping[str, object]
    recomputable: bool  # type: ignore[misc]
    side_by_side = False
    combines = True

    @property
    def last_run_wins(self) -> bool:
        """True: what a run combines with is what the runs before it left."""
        return True

    def why_not(self, strategy: str, *, partitioned: bool) -> str | None:
        """Why a strategy does not go with it."""
        del partitioned  # rows that are there are combined with, not lost
        if self.recomputable or strategy in ("latest_only", "every_instance"):
            return None
        return "recomputed rows would be combined again, and the mode is not 'repeatable'"

    def parts(self) -> Mapping[str, object]:
        """The parameters."""
        return {f"write.{self.name}": dict(self.parameters)} if self.parameters else {}


def build_registered_write(
    name: str, parameters: Mapping[str, object], *, installed: Mapping[str, Factory]
) -> RegisteredWrite:
    """The mode of that name with these parameters, as a value.

    Raises:
        RegisteredError: There is none of that name, its parameters are wrong, or it does not say if it is repeatable.
    """
    made = build_combiner(name, parameters, installed=installed)
    if not isinstance(made.repeatable, bool):
        raise RegisteredError(f"write mode '{name}' has 'repeatable' {show_value(made.repeatable)}; expected a boolean")
    return RegisteredWrite(name, dict(parameters), made.repeatable)


def build_combiner(name: str, parameters: Mapping[str, object], *, installed: Mapping[str, Factory]) -> RowCombiner:
    """The combiner of that name, for a run.

    Raises:
        RegisteredError: There is none of that name, or its parameters are wrong.
    """
    made = REGISTRY.make(name, parameters, installed=installed, reserved=RESERVED)
    if not isinstance(made, RowCombiner):
        raise RegisteredError(
            f"write mode '{name}' is {kind_of(made)}; expected an object with 'repeatable' and 'combine(rows, there)'"
        )
    return made


HIDDEN = "_"
"""Prefix of columns that only serve ``newest_by`` and ``delete_when`` and are not stored."""


def is_unstored_column(column: str) -> bool:
    """Whether an upsert leaves the column out of its table.

    >>> is_unstored_column("_lsn"), is_unstored_column("lsn")
    (True, False)
    """
    return column.startswith(HIDDEN)


ONE_WORD_WRITES: Final[Mapping[str, WriteMode]] = {
    write.name: write for write in (ReplaceWrite(), AppendWrite(), SelfWrite())
}
"""The built-in modes that are one word in YAML, by that word, the default first; the others are a map of options."""


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
"""Counts that are reported only where they are not 0: most runs delete and copy no rows."""


def row_counts(operation: str, metrics: Mapping[str, int]) -> dict[str, int]:
    """Counts to report for a run: ``rows`` are those that it wrote, never those that Delta copied along.

    The others are ``files`` and ``bytes``; ``inserted`` and ``updated`` of a merge; and ``deleted`` and ``copied``
    where there are any and Delta counted them (it does not count what leaves with a whole file's removal).

    Args:
        operation: ``WRITE``, ``MERGE`` or ``DELETE``, as Delta calls it.
        metrics: Delta's operation metrics; those of a merge if the driver has merged, in a ``WRITE``.

    >>> row_counts("WRITE", {"numOutputRows": 33, "numCopiedRows": 30, "numDeletedRows": 10, "numFiles": 3})
    {'rows': 3, 'deleted': 10, 'copied': 30, 'files': 3}
    >>> row_counts("MERGE", {"numTargetRowsInserted": 1, "numTargetRowsUpdated": 2, "numOutputRows": 9})
    {'rows': 3, 'inserted': 1, 'updated': 2}
    """
    if is_merge(operation, metrics):
        counts = _pick_metrics(metrics, _MERGE)
        return _drop_zero_counts({"rows": counts.get("inserted", 0) + counts.get("updated", 0), **counts})
    if operation == "DELETE":
        return _drop_zero_counts({"rows": 0, **_pick_metrics(metrics, _DELETE)})
    return _drop_zero_counts(_write_counts(metrics))


def is_merge(operation: str, metrics: Mapping[str, int]) -> bool:
    """Whether a commit merged rows by their keys: Delta's ``MERGE``, or the driver's ``WRITE`` with its metrics."""
    return operation == "MERGE" or not metrics.keys().isdisjoint(_MERGE)


def _write_counts(metrics: Mapping[str, int]) -> dict[str, int]:
    """The counts of a ``WRITE``, whose ``numOutputRows`` includes the rows that Delta copied from replaced files."""
    copied, sizes = metrics.get("numCopiedRows", 0), _pick_metrics(metrics, _SIZES)
    counts = {}
    if "numOutputRows" in metrics:
        counts["rows"] = metrics["numOutputRows"] - copied
    elif sizes.get("files") == 0:
        counts["rows"] = 0  # without files Delta does not count rows either: all were replaced by none
    return {**counts, "deleted": metrics.get("numDeletedRows", 0), "copied": copied, **sizes}


def _pick_metrics(metrics: Mapping[str, int], names: Mapping[str, str]) -> dict[str, int]:
    return {short: metrics[name] for name, short in names.items() if name in metrics}


def _drop_zero_counts(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count or name not in _SPARED}
