"""What people are told of an invocation: what failed, is withheld or late by then, and what is over.

It follows from what an asset was before each commit of this driver and after it: what other drivers committed in
between they tell themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sparkassets.core.instants import format_zoned, from_unix
from sparkassets.core.journal.entries import FailureEntry, LateEntry, NumberedEntry, SuccessEntry
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.withheld_records import describe_verdicts
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.wording import label_partitions
from sparkassets.core.spec.model import AssetSpec, NotifyOn, ProjectSpec
from sparkassets.frozen import frozen

_NUMBERS: Final = re.compile(r"\d+")


@frozen
class AssetNotice:
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


@frozen
class _AssetTrouble:
    """Blocks that failed, or that are withheld; ``token`` is that of the run.

    Attributes:
        is_instance: Whether it is of one instance, beside which others of the asset may be in trouble.
        interval: Data interval of such an instance, Unix seconds.
    """

    kind: NotifyOn
    blocks: PartitionSet
    token: int
    run: str
    text: str
    is_instance: bool = False
    interval: tuple[int, int] | None = None


_OVER: Final[Mapping[NotifyOn, str]] = {"failure": "computed again", "withheld": "published"}
"""How people are told that it is over."""


@dataclass(slots=True, eq=False)
class _FollowedAsset:
    """One asset through the commits of an invocation.

    Attributes:
        before: What was wrong before, and what others recorded in between.
        after: What is wrong by now.
    """

    before: list[_AssetTrouble]
    after: tuple[_AssetTrouble, ...]
    ran: bool = False
    late: LateEntry | None = None
    hints: dict[str, str] = field(default_factory=dict)


class NoticeCollector:
    """What one invocation committed, as it goes.

    Attributes:
        is_run: Whether anything of it is a driver's word; a person who marks or pauses knows.
    """

    def __init__(self) -> None:
        self.is_run = False
        self._assets: dict[str, _FollowedAsset] = {}

    def commit(
        self, entries: Sequence[NumberedEntry], *, before: Mapping[str, AssetState], after: Mapping[str, AssetState]
    ) -> None:
        """Takes in a commit: its entries, and the assets that they are about as they were and as they are."""
        ends = [each.entry for each in entries if isinstance(each.entry, SuccessEntry | FailureEntry | LateEntry)]
        self.is_run |= bool(ends)
        for name in dict.fromkeys(each.entry.asset for each in entries if hasattr(each.entry, "asset")):
            if name is not None and name in after:
                self._follow(name, _troubles(before[name]) if name in before else (), _troubles(after[name]))
        for entry in ends:
            known = self._assets[entry.asset]
            match entry:
                case SuccessEntry():
                    known.ran = True
                case FailureEntry(run=run, hint=hint):
                    known.hints[run] = hint
                case LateEntry():
                    known.late = entry

    def _follow(self, name: str, before: tuple[_AssetTrouble, ...], after: tuple[_AssetTrouble, ...]) -> None:
        known = self._assets.get(name)
        if known is None:
            self._assets[name] = _FollowedAsset(list(before), after)
            return
        ours = {(item.kind, item.token) for item in known.after}
        known.before += [item for item in before if (item.kind, item.token) not in ours]
        known.after = after

    def notices(self, project: ProjectSpec) -> list[AssetNotice]:
        """What is to be told of it all, in the order of the project; nothing of what is no asset any more."""
        found = ((asset, self._assets.get(name)) for name, asset in project.assets.items())
        return [
            each for asset, known in found if known is not None and not asset.maker for each in _notices(asset, known)
        ]


def _troubles(state: AssetState) -> tuple[_AssetTrouble, ...]:
    """What is wrong with an asset, as the journal has it."""
    failed = (_AssetTrouble("failure", each.blocks, each.token, each.run, each.error) for each in state.failed)
    held = (
        _AssetTrouble(
            "withheld", each.blocks, each.token, each.run, describe_verdicts(each.verdicts), each.apart, each.interval
        )
        for each in state.withheld
    )
    return (*failed, *held)


def _notices(asset: AssetSpec, known: _FollowedAsset) -> Iterator[AssetNotice]:
    for item in known.after:
        new = item.blocks - _union(each for each in known.before if _is_same_trouble(each, item))
        if new:
            hint, which = (
                known.hints.get(item.run, ""),
                label_partitions(new, asset.partitioning) or _interval_of(asset, item),
            )
            yield AssetNotice(item.kind, asset.name, which, item.text, hint, item.run, asset.owner)
    wrong = _union(known.after)
    for kind, text in _OVER.items() if known.ran else ():
        if over := _union(each for each in known.before if each.kind == kind) - wrong:
            yield AssetNotice(
                "recovery", asset.name, label_partitions(over, asset.partitioning), text, owner=asset.owner
            )
    if known.late is not None and asset.deadlines is not None:
        yield _lateness_notice(asset, known.late)


def _union(troubles: Iterable[_AssetTrouble]) -> PartitionSet:
    return PartitionSet.union(each.blocks for each in troubles)


def _lateness_notice(asset: AssetSpec, late: LateEntry) -> AssetNotice:
    which, by = label_partitions(late.blocks, asset.partitioning), format_zoned(from_unix(late.by), asset.timezone)
    if late.over:
        return AssetNotice("recovery", asset.name, which, "no longer late", owner=asset.owner)
    return AssetNotice("late", asset.name, which, f"expected by {by}", owner=asset.owner)


def _interval_of(asset: AssetSpec, item: _AssetTrouble) -> str:
    """Which instance it is, for people; empty where its asset has none, or nothing tells it."""
    if not item.is_instance or item.interval is None:
        return ""
    return "..".join(format_zoned(from_unix(at), asset.timezone) for at in item.interval)


def _is_same_trouble(one: _AssetTrouble, other: _AssetTrouble) -> bool:
    """Whether they are of the same, but for numbers: ports, times and counts are others every time."""
    if one.is_instance and (one.interval != other.interval or one.interval is None):
        return one.token == other.token
    return one.kind == other.kind and _NUMBERS.sub("", one.text) == _NUMBERS.sub("", other.text)
