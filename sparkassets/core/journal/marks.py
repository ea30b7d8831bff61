"""What a person says of an asset's blocks without running it: done, missing, skipped, accepted; what is kept of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any, Literal

from sparkassets.core.instants import format_instant, from_unix
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.runs import RunConsumption
from sparkassets.frozen import frozen

MarkKind = Literal["done", "missing", "skip", "accept"]

WORDS: Mapping[MarkKind, str] = {"done": "done", "missing": "missing", "skip": "skipped", "accept": "accepted"}
"""What blocks are after each mark, in a sentence."""

MOST_DONE = 100
"""Marks of what is done that are remembered of one asset once no run was claimed before them; the newest.

Those only tell why it counts as computed, as their entries do. The others decide: a run that was claimed before one of
them changes nothing of what it says.
"""


@frozen
class MarkEntry:
    """What was said of blocks.

    Attributes:
        blocks: Those for which it changes something; everything for an asset without partitions.
        by: Who said it.
        came: What is there now for those that read the asset, and was not before.
        consumption, events, cursor: Of an asset without partitions: what was due, which is used up now.
        watermarks: Of such an asset: from where it goes on in inlets that are read by their changes.
        only_answers: It tells what became of runs that nobody could look for, and nothing else.
        run: Of an asset whose instances are runs of their own: the run whose rows are accepted.
        instance: Of such an asset: the data interval of the only instance that it is about, Unix seconds.
    """

    asset: str
    uri: str
    kind: MarkKind
    blocks: PartitionSet
    reason: str
    by: str
    came: PartitionSet = NOTHING
    consumption: RunConsumption = field(default_factory=RunConsumption)
    events: tuple[int, ...] = ()
    cursor: tuple[int, int] | None = None
    watermarks: Mapping[str, str] = field(default_factory=dict)
    only_answers: bool = False
    run: str = ""
    instance: tuple[int, int] | None = None

    @property
    def extra(self) -> dict[str, Any]:
        """What its event tells people."""
        told = {"mark": self.kind, "reason": self.reason, "by": self.by}
        if self.instance is None:
            return told
        return {**told, "interval": "..".join(format_instant(from_unix(each)) for each in self.instance)}


@frozen(array_like=True)
class PartitionMark:
    """What was said of blocks and holds still.

    Attributes:
        blocks: Everything for an asset without partitions.
        seq: Number of the entry that says it.
        at: When, Unix seconds.
    """

    kind: MarkKind
    blocks: PartitionSet
    reason: str
    by: str
    seq: int
    at: int

    @property
    def text(self) -> str:
        """What was said, by whom and why, for a sentence."""
        return _mark_text(self.kind, self.by, self.reason)


@frozen(array_like=True)
class InstanceMark:
    """What was said of one instance of an asset without partitions.

    Attributes:
        interval: Its data interval, Unix seconds.
        of_tick: Whether a tick of the timetable brings it; else events have.
        seq: Number of the entry that says it.
        at: When, Unix seconds.
    """

    kind: MarkKind
    interval: tuple[int, int]
    of_tick: bool
    reason: str
    by: str
    seq: int
    at: int

    @property
    def text(self) -> str:
        """What was said, by whom and why, for a sentence."""
        return _mark_text(self.kind, self.by, self.reason)

    def is_ahead(self, cursor: tuple[int, int] | None) -> bool:
        """Whether its tick comes after the newest one that ran, so that the mark alone keeps it from running."""
        return self.of_tick and (cursor is None or self.interval[::-1] > cursor[::-1])


@frozen
class MarkResult:
    """What became of a mark that was asked for.

    Attributes:
        blocks: Those of which it was recorded; everything for an asset without partitions.
        unchanged: Those that were so already.
        settled: Runs that nobody could look for, and that it has told all of.
        instance: The data interval of the only instance that it is about, Unix seconds.
    """

    asset: str
    kind: MarkKind
    reason: str
    by: str
    blocks: PartitionSet
    unchanged: PartitionSet
    settled: tuple[str, ...] = ()
    instance: tuple[int, int] | None = None


def _mark_text(kind: MarkKind, by: str, reason: str) -> str:
    return f"marked as {WORDS[kind]} by {by}: {reason}"


def add_instance_mark(
    before: Iterable[InstanceMark], mark: InstanceMark, cursor: tuple[int, int] | None
) -> tuple[InstanceMark, ...]:
    """What was said of instances once that is: all that is ahead of the cursor, and the newest of the others."""
    others = [each for each in before if each.interval != mark.interval]
    kept = others if mark.kind == "missing" else [*others, mark]
    behind = [each.seq for each in kept if not each.is_ahead(cursor)][-MOST_DONE:]
    return tuple(each for each in kept if each.is_ahead(cursor) or each.seq in behind)


def add_mark(
    marks: Iterable[PartitionMark], mark: PartitionMark, *, claims: Iterable[int] = ()
) -> tuple[PartitionMark, ...]:
    """The marks once another one is made, which counts for its blocks; ``claims`` are those that are not settled."""
    kept, oldest = [*_marks_outside(marks, mark.blocks), mark], min(claims, default=mark.seq + 1)
    done = [each.seq for each in kept if each.kind == "done"]
    since = min([oldest, *done[-MOST_DONE:]])
    return tuple(each for each in kept if each.kind != "done" or each.seq >= since)


def marks_after_success(
    marks: tuple[PartitionMark, ...], blocks: PartitionSet, *, through: int
) -> tuple[PartitionMark, ...]:
    """What of the marks holds after a success of ``blocks``, whose run was claimed at ``through``: the later ones."""
    if not marks:
        return marks
    left = ((each,) if each.seq > through else _marks_outside([each], blocks) for each in marks)
    return tuple(mark for some in left for mark in some)


def _marks_outside(marks: Iterable[PartitionMark], blocks: PartitionSet) -> tuple[PartitionMark, ...]:
    left = (replace(each, blocks=each.blocks - blocks) for each in marks)
    return tuple(each for each in left if each.blocks)
