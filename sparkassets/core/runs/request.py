"""The request of one run: the planner makes it, a claim records it, and every report of the run contains it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.runs.consumption import RunConsumption
from sparkassets.core.runs.pins import InletPin
from sparkassets.core.runs.promotion import BranchPromotion
from sparkassets.frozen import frozen

RunKind = Literal["scheduled", "backfill"]


@frozen
class RunRequest:
    """The partitions of one run, the inputs that it reads, its reason, and the events and ticks that it uses up.

    Attributes:
        blocks: Partitions that it computes; everything for an asset without partitions.
        schedule_date: The earliest time at which it might start, Unix seconds.
        reason: Why it runs, for people.
        interval: Data interval, Unix seconds; None where there is none.
        cursor: The timetable's newest interval that it stands for, Unix seconds.
        pins: Pin of each inlet, by name.
        events: Sequence numbers of the events that triggered it, ascending.
        consumption: Events and ticks that it uses up once it succeeds.
        rebuilds: Whether it replaces the whole table and its columns. An unfinished rebuild leaves the old table, and
            nothing due.
        owes: Partitions before the gaps that it begins to fill, which another run computes again (lookback).
        gaps: These gaps, as they were before it.
        slot: Run slot of its claim; 0 is the asset's own chain, parallel runs have one each.
        definition: Id of the definition that it is computed by; empty where unknown.
        restores: The run whose iteration it makes the newest again, instead of computing.
        judge: Id of the code and rules that judge it; empty where ``definition`` is that id.
        accepted: Partitions that a person wants published although their validations fail.
        promotes: Rows of a branch that it takes over, instead of computing.
        apart: Whether it is one instance of an asset without partitions, where each instance is a run of its own.
        again: The withheld run of the same instance that it repeats.
        unread_by: Assets that read no changed column of it, so that they stay current.
    """

    asset: str
    kind: RunKind
    blocks: PartitionSet
    schedule_date: int = 0
    reason: str = ""
    interval: tuple[int, int] | None = None
    cursor: tuple[int, int] | None = None
    pins: Mapping[str, InletPin] = field(default_factory=dict)
    events: tuple[int, ...] = ()
    consumption: RunConsumption = field(default_factory=RunConsumption)
    rebuilds: bool = False
    owes: PartitionSet = NOTHING
    gaps: PartitionSet = NOTHING
    slot: int = 0
    definition: str = ""
    restores: str = ""
    judge: str = ""
    accepted: PartitionSet = NOTHING
    promotes: BranchPromotion | None = None
    apart: bool = False
    again: str = ""
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
    def blocks(self) -> PartitionSet:
        """The partitions that it computes; everything for an asset without partitions."""
        return self.request.blocks

    @property
    def slot(self) -> int:
        """The run slot of its claim."""
        return self.request.slot

    @property
    def interval(self) -> tuple[int, int] | None:
        """Data interval, Unix seconds."""
        return self.request.interval

    @property
    def reason(self) -> str:
        """Why it runs, for people."""
        return self.request.reason
