"""A run as a value: what it computes, reads, uses up and publishes; the same in plan, claim, record and report.

Division of a failed run: its partitions are retried in halves until the bad ones stand alone.

A run of many partitions fails as a whole for one bad partition. So they are retried in halves, the older one first: a
half that succeeds is published, one that fails is halved again. If one half succeeded, the other must be bad and is
halved at once; if it failed, nothing is known of the other, which is tried as a whole. One bad partition of n takes
about 2·log2 n further runs at most, and a division takes no more runs than `allowed_division_runs`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Final, Literal

from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.validations import RuleVerdict
from sparkassets.frozen import frozen


def app_id(journal: str, asset: str, slot: int = 0) -> str:
    """The application id, for Delta's idempotent writes, of an asset's runs in one slot.

    In a slot runs go one after another. Slot 0 is the asset's own; each run that goes parallel to others has another.

    >>> app_id("f3", "daily"), app_id("f3", "daily", 2)
    ('f3/daily', 'f3/daily/2')
    """
    return f"{journal}/{asset}/{slot}" if slot else f"{journal}/{asset}"


def asset_app(app: str) -> str:
    """The application id of an asset's slot 0, from that of any of its slots.

    >>> asset_app("f3/daily/2"), asset_app("f3/daily")
    ('f3/daily', 'f3/daily')
    """
    return "/".join(app.split("/")[:2])


TIMETABLE: Final = "timetable"
"""Stands for the asset's own timetable among the time leaves of conditions."""


@frozen
class RunConsumption:
    """Events and ticks that a run uses up; a *key* is a dataset, a time leaf as it is written, or `TIMETABLE`.

    Attributes:
        consumes: Sequence number up to which events are used, by dataset.
        ticks: Instant up to which ticks are used, by time leaf or `TIMETABLE`; Unix seconds.
        skips: Earlier events that it leaves unused, by number: they failed and have runs of their own.
        remaining: Partitions that have still to answer the events or ticks, by key.
    """

    consumes: Mapping[str, int] = field(default_factory=dict)
    ticks: Mapping[str, int] = field(default_factory=dict)
    skips: tuple[int, ...] = ()
    remaining: Mapping[str, PartitionSet] = field(default_factory=dict)

    def consumes_key(self, key: str) -> bool:
        """Whether events or ticks of the key are used at all.

        >>> usage = RunConsumption({"x-a": 3})
        >>> usage.consumes_key("x-a"), usage.consumes_key("x-b")
        (True, False)
        """
        return key in self.consumes or key in self.ticks

    def consumed_partitions(self, key: str, partitions: PartitionSet) -> PartitionSet:
        """The partitions of a run's ``partitions`` for which it uses the key up."""
        if not self.consumes_key(key):
            return NOTHING  # the condition was met without the part that names the key, whose updates stay unused
        return partitions - self.remaining[key] if key in self.remaining else partitions

    def unanswered_partitions(self, key: str, rest: PartitionSet, number: int) -> PartitionSet:
        """The partitions of ``rest`` that have still to answer an event or tick of the key after this run.

        An event or tick later than those that the run saw stays as it is: a parallel run may have recorded it.
        """
        if not self.consumes_key(key) or number > max(self.consumes.get(key, 0), self.ticks.get(key, 0)):
            return rest
        return rest & self.remaining[key] if key in self.remaining else NOTHING

    def leaves_event_unused(self, uri: str, number: int) -> bool:
        """Whether an event stays unused: it is later than those used, or is left to a run of its own.

        >>> usage = RunConsumption({"x-a": 3}, skips=(2,))
        >>> [usage.leaves_event_unused("x-a", number) for number in (1, 2, 3, 4)]
        [False, True, False, True]
        """
        return number > self.consumes.get(uri, 0) or number in self.skips


@frozen
class InletPin:
    """The state of an inlet that a run reads.

    Attributes:
        seq: Newest event of the inlet's dataset when the run was claimed.
        table_id, version: Position in a Delta inlet; None for files.
        parts: The partitions of the inlet that are read; everything reads all of it.
        low: Watermark of its ``read``, as text: the high value of a column, which Spark casts back, or the
            `TablePosition` after which changes are read. None before the first run, and where all is read again.
        iteration: Iteration of a publishing asset whose rows or files are read; empty reads the table.
        files: Identity of the files that are read, for a source of files.
        column: Column whose high value ``low`` is; empty where changes are read by version, or it is not recorded.
    """

    uri: str
    seq: int = 0
    table_id: str | None = None
    version: int | None = None
    parts: PartitionSet = EVERYTHING
    low: str | None = None
    iteration: str = ""
    files: str = ""
    column: str = ""


WAREHOUSE_FOLDER: Final = "_branches"
"""The folder of a warehouse that holds those of its branches."""


@frozen
class BranchPromotion:
    """Location of the rows that a promotion takes over.

    Attributes:
        branch: The branch's name.
        journal_id: Id of the branch's journal, which differs for an earlier branch of the same name.
        seq: Sequence number in that journal as of which the rows are taken.
        tables: Id and version of the branch's table, by written asset.
        watermarks: Up to where the branch has read, by inlet, for an asset whose rows continue earlier ones.
    """

    branch: str
    journal_id: str
    seq: int
    tables: Mapping[str, tuple[str, int]]
    watermarks: Mapping[str, str] = field(default_factory=dict)

    def table_path(self, warehouse: str, asset: str) -> str:
        """The place of the branch's table of an asset, given the base's ``warehouse``."""
        return f"{branch_warehouse(warehouse, self.branch)}/{asset}"


def branch_warehouse(warehouse: str, branch: str) -> str:
    """The folder of all tables of a branch, given the base's ``warehouse``."""
    return f"{warehouse.rstrip('/')}/{WAREHOUSE_FOLDER}/{branch}"


RunKind = Literal["scheduled", "backfill"]


@frozen(stored_names={"owed_lookback": "owes", "run_slot": "slot", "is_instance": "apart", "repeated_run": "again"})
class RunRequest:
    """The partitions of one run, the inputs that it reads, its reason, and the events and ticks that it uses up.

    Attributes:
        partitions: Partitions that it computes; everything for an asset without partitions.
        schedule_date: The earliest time at which it might start, Unix seconds.
        reason: Why it runs, for people.
        interval: Data interval, Unix seconds; None where there is none.
        cursor: The timetable's newest interval that it stands for, Unix seconds.
        pins: Pin of each inlet, by name.
        events: Sequence numbers of the events that triggered it, ascending.
        consumption: Events and ticks that it uses up once it succeeds.
        rebuilds: Whether it replaces the whole table and its columns. An unfinished rebuild leaves the old table, and
            nothing due.
        owed_lookback: Partitions before the gaps that it begins to fill, which another run computes again (lookback).
        gaps: These gaps, as they were before it.
        run_slot: Run slot of its claim, in which runs go one after another; 0, or one of its own for a parallel run.
        definition: Id of the definition that it is computed by; empty where unknown.
        restores: The run whose iteration it makes the newest again, instead of computing.
        judge: Id of the code and rules that judge it; empty where ``definition`` is that id.
        accepted: Partitions that a person wants published although their validations fail.
        promotes: Rows of a branch that it takes over, instead of computing.
        is_instance: Whether it is one instance of an asset without partitions, where each instance is a run of its own.
        repeated_run: The withheld run of the same instance that it repeats.
        unread_by: Assets that read no changed column of it, so that they stay current.
    """

    asset: str
    kind: RunKind
    partitions: PartitionSet
    schedule_date: int = 0
    reason: str = ""
    interval: tuple[int, int] | None = None
    cursor: tuple[int, int] | None = None
    pins: Mapping[str, InletPin] = field(default_factory=dict)
    events: tuple[int, ...] = ()
    consumption: RunConsumption = field(default_factory=RunConsumption)
    rebuilds: bool = False
    owed_lookback: PartitionSet = NOTHING
    gaps: PartitionSet = NOTHING
    run_slot: int = 0
    definition: str = ""
    restores: str = ""
    judge: str = ""
    accepted: PartitionSet = NOTHING
    promotes: BranchPromotion | None = None
    is_instance: bool = False
    repeated_run: str = ""
    unread_by: tuple[str, ...] = ()


@frozen
class RequestedRun:
    """Base of all descriptions of one run: its request, with shortcuts to the parts that reports show."""

    request: RunRequest

    @property
    def asset(self) -> str:
        """The name of the asset."""
        return self.request.asset

    @property
    def kind(self) -> RunKind:
        """Whether the schedule or a person asked for it."""
        return self.request.kind

    @property
    def partitions(self) -> PartitionSet:
        """The partitions that it computes; everything for an asset without partitions."""
        return self.request.partitions

    @property
    def run_slot(self) -> int:
        """The run slot of its claim."""
        return self.request.run_slot

    @property
    def interval(self) -> tuple[int, int] | None:
        """Data interval, Unix seconds."""
        return self.request.interval

    @property
    def reason(self) -> str:
        """Why it runs, for people."""
        return self.request.reason


@frozen(kw_only=True)
class ReportedRun(RequestedRun):
    """Base of what people are shown of one run: its request, and how it ended.

    Attributes:
        rows: Number of rows written, if the target reports it.
        error: First line of the cause, for people.
        hint: What to do about the error.
        details: Name of the file with the full error.
        adopted: Run of a dead driver whose commit was found in the target and recorded instead of computing.
        skipped: Reason that the asset's code gave for writing nothing; empty where it was not skipped.
        unchanged: Recomputed partitions with the same rows as before; consumers do not become stale.
        withheld: Partitions that are not published because validations failed.
        verdicts: What each validation decided.
        partition_keys: Keys ``A..B`` of its partitions; filled only by a `Project`.
    """

    rows: int | None = None
    version: int | None = None
    error: str = ""
    hint: str = ""
    details: str = ""
    adopted: str | None = None
    skipped: str = ""
    unchanged: PartitionSet = NOTHING
    withheld: PartitionSet = NOTHING
    verdicts: tuple[RuleVerdict, ...] = ()
    partition_keys: tuple[str, ...] = field(default=(), compare=False)


_TEXT: Final = r"version (\d+) of table (\S+)"


@frozen
class TablePosition:
    """A version of a Delta table up to which all changes were read; its text is the inlet's watermark.

    >>> str(TablePosition("8f3c", 7))
    'version 7 of table 8f3c'
    >>> TablePosition.parse("version 7 of table 8f3c"), TablePosition.parse("2025-01-02")
    (TablePosition(table_id='8f3c', version=7), None)
    """

    table_id: str
    version: int

    @classmethod
    def parse(cls, text: str) -> TablePosition | None:
        """Parses a watermark; None where it is the high value of a column."""
        found = re.fullmatch(_TEXT, text)
        return cls(found[2], int(found[1])) if found else None

    def __str__(self) -> str:
        return f"version {self.version} of table {self.table_id}"


@frozen
class ChangeAvailability:
    """Whether the log of a table holds the changes of some of its versions.

    Attributes:
        kind: ``available``; ``lost``: removed since, or never kept; ``unrecorded``: rows were changed or deleted and
            the table has no change feed; ``unreadable``: the log cannot be read now.
        reason: Why not all are available, as a clause for people.
    """

    kind: Literal["available", "lost", "unrecorded", "unreadable"] = "available"
    reason: str = ""


PartFinding = Literal["failed", "bad", "unknown"]
"""Finding about a part: it failed as one run; it is bad because the rest of a failed run succeeded; unknown."""


def allowed_division_runs(partitions: int, *, retries: int) -> int:
    """Most further runs of a division of ``partitions``: enough for one bad partition, and one for each retry.

    None with ``retries: 0``.

    >>> [allowed_division_runs(count, retries=1) for count in (365, 2, 1)], allowed_division_runs(365, retries=0)
    ([36, 4, 0], 0)
    """
    levels = (partitions - 1).bit_length()  # how often they can be halved: log2, rounded up
    return 2 * levels * (1 + retries) if retries else 0


@frozen(array_like=True)
class RunDivision:
    """One part of a division.

    Attributes:
        first: Fence token of the run that failed first, which all parts share.
        left: Number of further runs that all parts may take together.
        known: Finding about this part.
    """

    first: int
    left: int
    known: PartFinding = "failed"

    def next_count(self, partitions: int) -> int:
        """Number of the part's partitions, the oldest, that are tried next; 0 where the part stays failed.

        >>> RunDivision(1, 9).next_count(5), RunDivision(1, 9).next_count(1), RunDivision(1, 0).next_count(5)
        (3, 0, 0)
        >>> RunDivision(1, 9, "bad").next_count(1), RunDivision(1, 9, "unknown").next_count(5)
        (1, 5)
        """
        if not self.left or (self.known == "failed" and partitions == 1):
            return 0
        return partitions if self.known == "unknown" else (partitions + 1) // 2
