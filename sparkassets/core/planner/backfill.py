"""A backfill: what is missing or stale in a stretch of time is computed, or all of it by force; nothing else moves."""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.core.planner.alignment import align_whole, groups
from sparkassets.core.planner.gates import gate, open_without_blocks
from sparkassets.core.planner.look import Look
from sparkassets.core.planner.partitioned import limit_of, pending
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.wording import plural
from sparkassets.core.spec.model import AssetSpec


def plan_backfill(look: Look, asset: AssetSpec, blocks: RangeSet, *, force: bool) -> Plan:
    """The runs that backfill ``blocks`` (whole partitions) of a partitioned asset, oldest first.

    Only the first can be claimed at a time; the others follow it.
    """
    partition, state = _partition(asset), look.state_of(asset)
    live = _live(look, state)
    if live is not None:
        return Plan(look.now, (), (Waiting(asset.name, live, None, blocks),))
    found = pending(look, asset, partition, state)
    over = look.over(partition)
    due = blocks.clip(None, over)
    waiting = []
    if blocks.clip(over, None):
        later = blocks.clip(over, None)
        waiting.append(Waiting(asset.name, f"not over before {look.when(later.last)}", later.last, later))
    if not force:
        current = due & (partition.inside(state.coverage) - found.all_stale)
        due = due - current
        if current:
            waiting.append(Waiting(asset.name, "up to date (--force computes it again)", None, current, quiet=True))
    gated = gate(look, asset, due)
    waiting += gated.waiting
    shared = groups(look, asset, partition, gated.ready)
    waiting += [wait for group in shared for wait in group.aligned.waiting]
    batches = [
        (batch, group.aligned)
        for group in shared
        if not group.aligned.waiting
        for batch in partition.split(group.blocks, limit_of(asset))
    ]
    runs = [
        PlannedRun(
            asset=asset.name,
            kind="backfill",
            strategy=asset.strategy.name if asset.strategy else "",
            write=asset.write or "",
            reason=", ".join([f"backfill of {plural(partition.count(batch), 'partition')}", *aligned.notes]),
            blocks=batch,
            schedule_date=look.now,
            interval=(batch.first, batch.last),
            pins={**look.pins(asset, state, batch), **aligned.pins},
            recovers=tuple(link.entry.run for link in state.chain),
        )
        for batch, aligned in batches
    ]
    return Plan(look.now, tuple(runs), tuple(waiting))


def plan_backfill_whole(look: Look, asset: AssetSpec, interval: tuple[int, int] | None) -> Plan:
    """The run that backfills an asset without partitions, for a data interval (epoch seconds)."""
    state = look.state_of(asset)
    live = _live(look, state)
    if live is not None:
        return Plan(look.now, (), (Waiting(asset.name, live),))
    aligned, gated = align_whole(look, asset, interval), open_without_blocks(look, asset, look.now)
    if aligned.waiting or gated.waiting:
        return Plan(look.now, (), (*gated.waiting, *aligned.waiting))
    over = f" of {look.when(interval[0])}..{look.when(interval[1])}" if interval is not None else ""
    run = PlannedRun(
        asset=asset.name,
        kind="backfill",
        strategy=asset.strategy.name if asset.strategy else "",
        write=asset.write or "",
        reason=", ".join([f"backfill{over}", *aligned.notes, *gated.notes]),
        blocks=None,
        schedule_date=look.now,
        interval=interval,
        pins={**look.pins(asset, state, None), **aligned.pins},
        recovers=tuple(link.entry.run for link in state.chain),
    )
    return Plan(look.now, (run,), ())


def _partition(asset: AssetSpec) -> TimePartition:
    if asset.partition is None:
        raise ValueError(f"{asset.name} has no partitions")
    return asset.partition


def _live(look: Look, state: AssetState) -> str | None:
    chain = look.chain(state)
    return f"running: {chain[-1].entry.run} since {look.when(chain[-1].at)}" if chain else None
