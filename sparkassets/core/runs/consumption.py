"""What a run uses up once it succeeds: events of datasets and ticks of a condition, and for which time."""

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
    """What a run uses up; a *key* is a dataset, a time leaf of the condition as it is written, or `TIMETABLE`.

    Attributes:
        consumes: Dataset to the number up to which its events are used.
        ticks: Time leaf to the instant up to which its ticks are used, Unix seconds.
        skips: Numbers of events up to there that it leaves: they failed, and have runs of their own.
        remaining: Key to the time for which its events or ticks are kept, although they are used for the rest.
    """

    consumes: Mapping[str, int] = field(default_factory=dict)
    ticks: Mapping[str, int] = field(default_factory=dict)
    skips: tuple[int, ...] = ()
    remaining: Mapping[str, PartitionSet] = field(default_factory=dict)

    def consumes_key(self, key: str) -> bool:
        """Whether anything of the key is used at all.

        >>> usage = RunConsumption({"x-a": 3})
        >>> usage.consumes_key("x-a"), usage.consumes_key("x-b")
        (True, False)
        """
        return key in self.consumes or key in self.ticks

    def consumed_partitions(self, key: str, blocks: PartitionSet) -> PartitionSet:
        """The part of a run's ``blocks`` for which it uses the key up."""
        if not self.consumes_key(key):
            return NOTHING  # its condition holds without the part that names it
        return blocks - self.remaining[key] if key in self.remaining else blocks

    def unanswered_partitions(self, key: str, rest: PartitionSet, number: int) -> PartitionSet:
        """What is left of ``rest``, the time that had still to answer that event or tick of the key.

        One that came after what the run has seen is left as it is: another run beside it may have told it apart.
        """
        if not self.consumes_key(key) or number > max(self.consumes.get(key, 0), self.ticks.get(key, 0)):
            return rest
        return rest & self.remaining[key] if key in self.remaining else NOTHING

    def leaves_event_unused(self, uri: str, number: int) -> bool:
        """Whether an event of the dataset is unused still: it came after what is used, or is left to a run of its own.

        >>> usage = RunConsumption({"x-a": 3}, skips=(2,))
        >>> [usage.leaves_event_unused("x-a", number) for number in (1, 2, 3, 4)]
        [False, True, False, True]
        """
        return number > self.consumes.get(uri, 0) or number in self.skips
