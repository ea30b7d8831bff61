"""Notices of an invocation: what failed, is withheld or late at its end, and what has recovered.

They follow from the state of an asset before and after each commit of this driver: other drivers report their own
commits.
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
    """One notice about an asset.

    Attributes:
        kind: ``failure``, ``withheld``, ``late`` or ``recovery``.
        partitions: Labels of the first few partitions; empty for an asset without partitions.
        text: The message, without the asset's name.
        hint: What to do about it.
        run: The failed run of a failure; else empty.
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
    """Partitions that failed, or that are withheld; ``token`` is the fence token of the run.

    Attributes:
        is_instance: Whether it concerns one instance, so that other instances may be in trouble as well.
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
"""By kind of trouble, the text of its recovery."""


@dataclass(slots=True, eq=False)
class _FollowedAsset:
    """One asset through the commits of an invocation.

    Attributes:
        before: Troubles before the invocation, and those that other drivers recorded meanwhile.
        after: Troubles after the latest commit.
    """

    before: list[_AssetTrouble]
    after: tuple[_AssetTrouble, ...]
    ran: bool = False
    late: LateEntry | None = None
    hints: dict[str, str] = field(default_factory=dict)


class NoticeCollector:
    """Collects the commits of one invocation, and derives its notices.

    Attributes:
        is_run: Whether a driver recorded any end of a run or lateness; marks and pauses of a person notify nobody.
    """

    def __init__(self) -> None:
        self.is_run = False
        self._assets: dict[str, _FollowedAsset] = {}

    def commit(
        self, entries: Sequence[NumberedEntry], *, before: Mapping[str, AssetState], after: Mapping[str, AssetState]
    ) -> None:
        """Adds a commit: its entries, and the states of their assets before and after it."""
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
        """The notices, in the order of the project; none for assets that no longer exist."""
        found = ((asset, self._assets.get(name)) for name, asset in project.assets.items())
        return [
            each for asset, known in found if known is not None and not asset.maker for each in _notices(asset, known)
        ]


def _troubles(state: AssetState) -> tuple[_AssetTrouble, ...]:
    """The current troubles of an asset by its state."""
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
    """A label of the instance; empty where the asset has none, or its interval is unknown."""
    if not item.is_instance or item.interval is None:
        return ""
    return "..".join(format_zoned(from_unix(at), asset.timezone) for at in item.interval)


def _is_same_trouble(one: _AssetTrouble, other: _AssetTrouble) -> bool:
    """Whether they are of the same, but for numbers: ports, times and counts are others every time."""
    if one.is_instance and (one.interval != other.interval or one.interval is None):
        return one.token == other.token
    return one.kind == other.kind and _NUMBERS.sub("", one.text) == _NUMBERS.sub("", other.text)
