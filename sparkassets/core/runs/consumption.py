"""What a run uses up once it succeeds: events of datasets and ticks of a condition, and for which time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.frozen import frozen


@frozen
class Consumption:
    """What a run uses up; a *key* is a dataset or a time leaf of the condition as it is written.

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

    def uses(self, key: str) -> bool:
        """Whether anything of the key is used at all.

        >>> Consumption({"x-a": 3}).uses("x-a"), Consumption({"x-a": 3}).uses("x-b")
        (True, False)
        """
        return key in self.consumes or key in self.ticks

    def used(self, key: str, blocks: PartitionSet) -> PartitionSet:
        """The part of a run's ``blocks`` for which it uses the key up."""
        if not self.uses(key):
            return NOTHING  # its condition holds without the part that names it
        return blocks - self.remaining[key] if key in self.remaining else blocks

    def kept(self, key: str, rest: PartitionSet) -> PartitionSet:
        """What is left of ``rest``, the time that had still to answer an event or a tick of the key."""
        if not self.uses(key):
            return rest
        return rest & self.remaining[key] if key in self.remaining else NOTHING

    def spares(self, uri: str, number: int) -> bool:
        """Whether an event of the dataset is unused still: it came after what is used, or is left to a run of its own.

        >>> [Consumption({"x-a": 3}, skips=(2,)).spares("x-a", number) for number in (1, 2, 3, 4)]
        [False, True, False, True]
        """
        return number > self.consumes.get(uri, 0) or number in self.skips
