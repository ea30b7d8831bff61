"""What a backfill is asked to do, as the work of a driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparkassets.core.instants import epoch, parse_instant
from sparkassets.core.partitions import RangeSet
from sparkassets.core.planner.plan import Plan
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import InputError

if TYPE_CHECKING:
    from sparkassets.runtime.work import Backfill, Rebuild


@dataclass(frozen=True, slots=True)
class Backlog:
    """What a backfill is asked to do.

    Attributes:
        partition: Keys ``A..B`` or ``A``, inclusive; for an asset with partitions.
        interval: Instants ``A..B``; for an asset without.
        downstream: Afterwards run what reads it or waits for it, too.
        force: Compute what is up to date again.
        rebuild: Compute all of a table in one commit, whose columns take the place of the table's.
    """

    asset: str
    partition: str | None = None
    interval: str | None = None
    downstream: bool = False
    force: bool = False
    rebuild: bool = False


def backfill_of(asset: AssetSpec, backlog: Backlog) -> Backfill | Rebuild:
    """The work of a driver that computes the backlog of ``asset``.

    Raises:
        InputError: It makes no sense for that asset.
    """
    from sparkassets.runtime.work import Backfill

    if asset.source is not None:
        raise InputError(f"asset {asset.name!r} is a source: others write it, so there is nothing to backfill")
    if backlog.rebuild:
        return _rebuild_of(asset, backlog)
    if asset.partition is not None:
        if backlog.partition is None or backlog.interval is not None:
            raise InputError(f"asset {asset.name!r} has partitions: say which with --partition A..B")
        return Backfill(asset, blocks_of(asset, backlog.partition), force=backlog.force)
    if backlog.partition is not None:
        raise InputError(f"asset {asset.name!r} has no partitions: use --interval A..B, or nothing for all of it")
    interval = None
    if backlog.interval is not None:
        first, dots, last = backlog.interval.partition("..")
        start = parse_instant(first, zone=asset.local_zone)
        end = parse_instant(last, zone=asset.local_zone) if dots else start
        if end < start:
            raise InputError(f"the interval {backlog.interval!r} ends before it starts")
        interval = (epoch(start), epoch(end))
    return Backfill(asset, None, interval=interval, force=backlog.force)


def _rebuild_of(asset: AssetSpec, backlog: Backlog) -> Backfill | Rebuild:
    from sparkassets.runtime.work import Backfill, Rebuild

    if backlog.partition is not None or backlog.interval is not None:
        raise InputError("--rebuild computes all of the table: leave --partition and --interval out")
    if asset.write != "replace":
        raise InputError(
            f"asset {asset.name!r} appends: what it holds cannot be computed again, so there is no rebuild"
        )
    if asset.partition is None:
        return Backfill(asset, None, force=backlog.force)  # it takes the place of the whole table anyway
    return Rebuild(asset, asset.partition, force=backlog.force)


def refuse_without_run(plan: Plan) -> None:
    """Refuses a rebuild that would not happen.

    Raises:
        InputError: With the reason.
    """
    if not plan.runs:
        reasons = "; ".join(f"{wait.asset}: {wait.reason}" for wait in plan.waiting) or "there is nothing to compute"
        raise InputError(f"nothing is rebuilt: {reasons}")


def blocks_of(asset: AssetSpec, keys: str) -> RangeSet:
    """The blocks of the keys ``A..B`` or ``A``, inclusive.

    Raises:
        InputError: The asset has no partitions, or no such keys.
    """
    if asset.partition is None:
        raise InputError(f"asset {asset.name!r} has no partitions")
    return RangeSet.of([asset.partition.parse_keys(keys)])
