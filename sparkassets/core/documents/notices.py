"""What people are told of an invocation: what failed, is withheld or late by then, and what is over.

It follows from what an asset was before each commit of this driver and after it: what other drivers committed in
between they tell themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sparkassets.core.instants import instant, zoned
from sparkassets.core.journal.entries import FailureEntry, LateEntry, Numbered, SuccessEntry
from sparkassets.core.journal.state import AssetState, FailedBlocks
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.wording import labels
from sparkassets.core.spec.model import AssetSpec, NotifyOn, ProjectSpec
from sparkassets.frozen import frozen

_NUMBERS: Final = re.compile(r"\d+")


@frozen
class Notice:
    """One thing that people are told of an asset.

    Attributes:
        kind: ``failure``, ``withheld``, ``late`` or ``recovery``.
        partitions: Which, for people, the first few of them; empty without partitions.
        text: What it is, without the asset's name.
        hint: What to do about it.
        run: Of a failure, the run that failed.
    """

    kind: NotifyOn
    asset: str
    partitions: str = ""
    text: str = ""
    hint: str = ""
    run: str = ""
    owner: str = ""


@dataclass(slots=True, eq=False)
class _Followed:
    """One asset through the commits of an invocation.

    Attributes:
        before: What had failed before, and what others recorded in between.
        after: What has failed by now.
    """

    before: list[FailedBlocks]
    after: tuple[FailedBlocks, ...]
    ran: bool = False
    late: LateEntry | None = None
    hints: dict[str, str] = field(default_factory=dict)


class Following:
    """What one invocation committed, as it goes.

    Attributes:
        is_run: Whether anything of it is a driver's word; a person who marks or pauses knows.
    """

    def __init__(self) -> None:
        self.is_run = False
        self._assets: dict[str, _Followed] = {}

    def commit(
        self, entries: Sequence[Numbered], *, before: Mapping[str, AssetState], after: Mapping[str, AssetState]
    ) -> None:
        """Takes in a commit: its entries, and the assets that they are about as they were and as they are."""
        told = [each.entry for each in entries if isinstance(each.entry, SuccessEntry | FailureEntry | LateEntry)]
        self.is_run |= bool(told)
        for name in dict.fromkeys(each.entry.asset for each in entries if hasattr(each.entry, "asset")):
            if name is not None and name in after:
                self._follow(name, before[name].failed if name in before else (), after[name].failed)
        for entry in told:
            known = self._assets[entry.asset]
            match entry:
                case SuccessEntry():
                    known.ran = True
                case FailureEntry(run=run, hint=hint):
                    known.hints[run] = hint
                case LateEntry():
                    known.late = entry

    def _follow(self, name: str, before: tuple[FailedBlocks, ...], after: tuple[FailedBlocks, ...]) -> None:
        known = self._assets.get(name)
        if known is None:
            self._assets[name] = _Followed(list(before), after)
            return
        ours = {item.token for item in known.after}
        known.before += [item for item in before if item.token not in ours]
        known.after = after

    def notices(self, project: ProjectSpec) -> list[Notice]:
        """What is to be told of it all, in the order of the project; nothing of what is no asset any more."""
        found = ((asset, self._assets.get(name)) for name, asset in project.assets.items())
        return [each for asset, known in found if known is not None for each in _notices(asset, known)]


def _notices(asset: AssetSpec, known: _Followed) -> Iterator[Notice]:
    for item in known.after:
        new = item.blocks - PartitionSet.union(each.blocks for each in known.before if _alike(each, item))
        if new:
            which = labels(new, asset.partitioning)
            yield Notice("failure", asset.name, which, item.error, known.hints.get(item.run, ""), item.run, asset.owner)
    before = PartitionSet.union(item.blocks for item in known.before)
    over = before - PartitionSet.union(item.blocks for item in known.after) if known.ran else NOTHING
    if over:
        yield Notice("recovery", asset.name, labels(over, asset.partitioning), "computed again", owner=asset.owner)
    if known.late is not None and asset.expect is not None:
        yield _of_late(asset, known.late)


def _of_late(asset: AssetSpec, late: LateEntry) -> Notice:
    which, by = labels(late.blocks, asset.partitioning), zoned(instant(late.by), asset.timezone)
    if late.over:
        return Notice("recovery", asset.name, which, "no longer late", owner=asset.owner)
    return Notice("late", asset.name, which, f"expected by {by}", owner=asset.owner)


def _alike(one: FailedBlocks, other: FailedBlocks) -> bool:
    """Whether they failed of the same, but for numbers: ports, times and addresses are others every time."""
    return _NUMBERS.sub("", one.error) == _NUMBERS.sub("", other.error)
