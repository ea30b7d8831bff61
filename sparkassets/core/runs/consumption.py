"""The events and ticks that a run uses up once it succeeds, and for which partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.frozen import frozen

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

    def consumed_partitions(self, key: str, blocks: PartitionSet) -> PartitionSet:
        """The partitions of a run's ``blocks`` for which it uses the key up."""
        if not self.consumes_key(key):
            return NOTHING  # the condition holds without the part that names the key
        return blocks - self.remaining[key] if key in self.remaining else blocks

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
