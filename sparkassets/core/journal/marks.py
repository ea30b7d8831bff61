"""A person's marks of partitions and instances, and which of them still hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Literal

from sparkassets.core.instants import format_instant, from_unix
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.runs import RunConsumption
from sparkassets.frozen import frozen, replace

MarkKind = Literal["done", "missing", "skip", "accept"]

WORDS: Mapping[MarkKind, str] = {"done": "done", "missing": "missing", "skip": "skipped", "accept": "accepted"}
"""The word for marked partitions in a sentence."""

MOST_DONE = 100
"""How many ``done`` marks the state remembers for an asset, apart from those later than an unsettled claim.

An older ``done`` mark only explains why partitions count as computed, as its entry does. A mark after a claim decides:
the claimed run does not override it.
"""


@frozen(stored_names={"made_present": "came"})
class MarkEntry:
    """A person marked partitions, an instance or a whole asset.

    Attributes:
        partitions: Partitions that the mark changes; everything for an asset without partitions.
        by: The person.
        made_present: Partitions that become present for consumers by the mark.
        consumption, events, cursor: For an asset without partitions, the due causes, which are used up now.
        watermarks: For such an asset, from where it goes on in inlets that it reads by their changes.
        only_answers: It only answers the question of a claim (`RecoveryQuestion`).
        run: For ``every_instance``, the run whose withheld rows are accepted.
        instance: For ``every_instance``, the data interval of the only marked instance, Unix seconds.
    """

    asset: str
    uri: str
    kind: MarkKind
    partitions: PartitionSet
    reason: str
    by: str
    made_present: PartitionSet = NOTHING
    consumption: RunConsumption = field(default_factory=RunConsumption)
    events: tuple[int, ...] = ()
    cursor: tuple[int, int] | None = None
    watermarks: Mapping[str, str] = field(default_factory=dict)
    only_answers: bool = False
    run: str = ""
    instance: tuple[int, int] | None = None

    @property
    def extra(self) -> dict[str, Any]:
        """The extra of its event, for people."""
        extra = {"mark": self.kind, "reason": self.reason, "by": self.by}
        if self.instance is None:
            return extra
        return {**extra, "interval": "..".join(format_instant(from_unix(each)) for each in self.instance)}


@frozen(array_like=True)
class PartitionMark:
    """A mark of partitions that still holds.

    Attributes:
        partitions: Everything for an asset without partitions.
        seq: Sequence number of its entry.
        at: When it was recorded, Unix seconds.
    """

    kind: MarkKind
    partitions: PartitionSet
    reason: str
    by: str
    seq: int
    at: int

    @property
    def text(self) -> str:
        """Who marked the partitions as what, and why, for a sentence."""
        return _mark_text(self.kind, self.by, self.reason)


@frozen(array_like=True)
class InstanceMark:
    """A mark of one instance of an asset without partitions.

    Attributes:
        interval: Its data interval, Unix seconds.
        of_tick: Whether a tick of the timetable is its cause, else events.
        seq: Sequence number of its entry.
        at: When it was recorded, Unix seconds.
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
        """Who marked the instance as what, and why, for a sentence."""
        return _mark_text(self.kind, self.by, self.reason)

    def is_ahead(self, cursor: tuple[int, int] | None) -> bool:
        """Whether its tick comes after the newest one that ran, so that the mark alone keeps it from running."""
        # reversed, intervals compare by their end first, as cursors do
        return self.of_tick and (cursor is None or self.interval[::-1] > cursor[::-1])


@frozen
class MarkResult:
    """The result of a requested mark.

    Attributes:
        partitions: Partitions for which it was recorded; everything for an asset without partitions.
        unchanged: Partitions that had this status already.
        settled: Runs whose recovery question it answered completely.
        instance: The data interval of the only marked instance, Unix seconds.
    """

    asset: str
    kind: MarkKind
    reason: str
    by: str
    partitions: PartitionSet
    unchanged: PartitionSet
    settled: tuple[str, ...] = ()
    instance: tuple[int, int] | None = None


def _mark_text(kind: MarkKind, by: str, reason: str) -> str:
    """The clause that says how something was marked, by whom and why."""
    return f"marked as {WORDS[kind]} by {by}: {reason}"


def add_instance_mark(
    marks: Iterable[InstanceMark], mark: InstanceMark, cursor: tuple[int, int] | None
) -> tuple[InstanceMark, ...]:
    """The instance marks with a new one, which replaces an older one of its interval; ``missing`` only removes that.

    Marks ahead of the asset's cursor all stay, as they keep their instances from running; of others the newest
    `MOST_DONE`.
    """
    others = [each for each in marks if each.interval != mark.interval]
    kept = others if mark.kind == "missing" else [*others, mark]
    newest_passed = [each.seq for each in kept if not each.is_ahead(cursor)][-MOST_DONE:]
    return tuple(each for each in kept if each.is_ahead(cursor) or each.seq in newest_passed)


def add_mark(
    marks: Iterable[PartitionMark], mark: PartitionMark, *, claims: Iterable[int] = ()
) -> tuple[PartitionMark, ...]:
    """The marks with a new one, which replaces others of its partitions.

    ``claims`` are the fence tokens of unsettled claims: ``done`` marks since the oldest of them stay, whatever their
    number.
    """
    kept, oldest = [*_marks_outside(marks, mark.partitions), mark], min(claims, default=mark.seq + 1)
    done = [each.seq for each in kept if each.kind == "done"]
    # the record of a run asks which of its partitions were marked since its claim
    kept_since = min([oldest, *done[-MOST_DONE:]])
    return tuple(each for each in kept if each.kind != "done" or each.seq >= kept_since)


def marks_after_success(
    marks: tuple[PartitionMark, ...], partitions: PartitionSet, *, through: int
) -> tuple[PartitionMark, ...]:
    """The marks after a success of ``partitions``, whose run was claimed at ``through``.

    Older marks of these partitions no longer hold; a mark after the claim does, as the run did not know of it.
    """
    if not marks:
        return marks
    remaining = ((each,) if each.seq > through else _marks_outside([each], partitions) for each in marks)
    return tuple(mark for marks_left in remaining for mark in marks_left)


def _marks_outside(marks: Iterable[PartitionMark], partitions: PartitionSet) -> tuple[PartitionMark, ...]:
    """The marks without ``partitions``; empty ones are dropped."""
    remaining = (replace(each, partitions=each.partitions - partitions) for each in marks)
    return tuple(each for each in remaining if each.partitions)
