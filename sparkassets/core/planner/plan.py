"""A plan is data: what `explain` prints is the very list that `run` executes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sparkassets.core.instants import instant, zoned
from sparkassets.core.journal.entries import Pinned, RunKind
from sparkassets.core.journal.state import EventRef
from sparkassets.core.partitions import RangeSet
from sparkassets.core.phrases import few, joined


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run that is due.

    Attributes:
        blocks: Time that is computed; None for an asset without partitions.
        reason: Why, for people.
        interval: Data interval, Unix seconds; None where there is none.
        schedule_date: The earliest time that it might start, Unix seconds.
        cursor: The timetable's newest interval that it stands for, Unix seconds.
        events: What triggered it, ascending.
        consumes: Dataset to the number up to which it uses its events.
        ticks: Time leaf of the condition to the instant up to which it uses its ticks, Unix seconds.
        skips: Numbers of events up to there that it leaves: they failed, and have runs of their own.
        left: Dataset or time leaf to the time for which its events or ticks are kept, although they are used.
        rebuilds: It takes the place of the whole table, its columns with it, although it has blocks.
        owes: Time before the gaps that it begins to fill which another run has to compute again (lookback).
        gaps: These gaps, as they are now.
        recovers: Runs of drivers that are gone, whose outcome has to be settled first.
        partitions: Keys ``A..B`` of its blocks, where a `Project` gave it.
    """

    asset: str
    kind: RunKind
    strategy: str
    write: str
    reason: str
    blocks: RangeSet | None
    schedule_date: int
    interval: tuple[int, int] | None = None
    cursor: tuple[int, int] | None = None
    pins: Mapping[str, Pinned] = field(default_factory=dict)
    events: tuple[EventRef, ...] = ()
    consumes: Mapping[str, int] = field(default_factory=dict)
    ticks: Mapping[str, int] = field(default_factory=dict)
    skips: tuple[int, ...] = ()
    left: Mapping[str, RangeSet] = field(default_factory=dict)
    rebuilds: bool = False
    owes: RangeSet = field(default_factory=RangeSet)
    gaps: RangeSet = field(default_factory=RangeSet)
    recovers: tuple[str, ...] = ()
    partitions: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        return f"<run {joined(self.asset, few(self.partitions))}: {self.reason}>"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why an asset, or some of its partitions, does not run now.

    Attributes:
        until: When that changes by itself, Unix seconds; None when only an event can change it.
        blocks: The partitions it is about; None for the whole asset.
        quiet: Nothing is wanted: up to date, manual, or not yet time.
        partitions: Keys ``A..B`` of its blocks, where a `Project` gave it.
    """

    asset: str
    reason: str
    until: int | None = None
    blocks: RangeSet | None = None
    quiet: bool = False
    partitions: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        until = f" (until {zoned(instant(self.until), 'UTC')})" if self.until is not None else ""
        return f"<wait {joined(self.asset, few(self.partitions))}: {self.reason}{until}>"


@dataclass(frozen=True, slots=True)
class Note:
    """What people should know of an asset's table, whether it runs or not.

    Attributes:
        blocks: The partitions it is about; None for the whole asset.
        partitions: Keys ``A..B`` of its blocks, where a `Project` gave it.
    """

    asset: str
    text: str
    blocks: RangeSet | None = None
    partitions: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        return f"<note {joined(self.asset, few(self.partitions))}: {self.text}>"


@dataclass(frozen=True, slots=True)
class Plan:
    """What would run at ``at`` (Unix seconds), and why the rest would not; every asset is named."""

    at: int
    runs: tuple[PlannedRun, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        return "\n".join(
            [f"<plan at {zoned(instant(self.at), 'UTC')}>", *map(repr, (*self.runs, *self.waiting, *self.notes))]
        )
