"""What is asked of one run: the planner makes it, a claim holds it, and all that is told of the run begins with it."""

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
    """What one run is to compute, from what, why, and what it uses up.

    Attributes:
        blocks: What is computed; everything for an asset without partitions.
        schedule_date: The earliest time that it might start, Unix seconds.
        reason: Why, for people.
        interval: Data interval, Unix seconds; None where there is none.
        cursor: The timetable's newest interval that it stands for, Unix seconds.
        pins: What it reads, by inlet.
        events: Numbers of the events that triggered it, ascending.
        rebuilds: It takes the place of the whole table, its columns with it, although it has blocks; one that never
            ended leaves the old table, and nothing due.
        owes: Blocks before the gaps that it begins to fill which another run has to compute again (lookback).
        gaps: These gaps, as they were before it.
        slot: Whose chain of claims it goes into; that of the asset is 0, runs side by side have one each.
        definition: What it is computed by; empty where nobody said.
        restores: The run whose iteration it makes the newest again, instead of computing any.
        judge: What tells the code and the rules by which it is judged; empty where ``definition`` does.
        accepted: Those of the blocks that somebody wants published although their validations fail.
        apart: It is one instance of an asset without partitions, each of which has a run of its own.
        again: The run of such an instance that was withheld, and is done again.
        promotes: The rows of a branch that it takes over, instead of computing any.
        unread_by: Assets that read nothing of what it changes, so that they stay current.
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
    """Anything that is known of one run: what was asked of it, and the parts of that which everybody tells."""

    request: RunRequest

    @property
    def asset(self) -> str:
        """Whose run it is."""
        return self.request.asset

    @property
    def kind(self) -> RunKind:
        """Whether the schedule or a person asked for it."""
        return self.request.kind

    @property
    def blocks(self) -> PartitionSet:
        """What is computed; everything for an asset without partitions."""
        return self.request.blocks

    @property
    def slot(self) -> int:
        """Whose chain of claims it goes into."""
        return self.request.slot

    @property
    def interval(self) -> tuple[int, int] | None:
        """Data interval, Unix seconds."""
        return self.request.interval

    @property
    def reason(self) -> str:
        """Why, for people."""
        return self.request.reason
