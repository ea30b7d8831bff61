"""What planned runs are to cost: the bytes that they read, and the seconds and rows that earlier runs tell of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.batch import limit_of
from sparkassets.core.planner.context import PlanningContext, Weigh
from sparkassets.core.planner.plan import Estimate, Plan, Totals
from sparkassets.core.runs import Pin, forecast
from sparkassets.core.spec.model import AssetSpec


def priced(plan: Plan, context: PlanningContext, weigh: Weigh) -> Plan:
    """The plan with what its runs are to cost, each and in all."""
    runs = tuple(
        replace(run, estimate=estimate(context, context.project.assets[run.asset], run.blocks, run.request.pins, weigh))
        for run in plan.runs
    )
    return replace(plan, runs=runs, totals=totals(run.estimate for run in runs))


def estimate(
    context: PlanningContext, asset: AssetSpec, blocks: PartitionSet, pins: Mapping[str, Pin], weigh: Weigh
) -> Estimate:
    """What one run of ``blocks`` costs that reads ``pins``.

    What cannot be told of one inlet is not told of the run: a sum without it would be a wrong figure.
    """
    volumes = {}
    for inlet in asset.inlets.values():
        if not inlet.waits_only:
            up = context.project.as_read(asset, inlet.name)
            volumes[inlet.name] = weigh(up, pins[inlet.name], context.state_of(up))
    size, files = (_sum(getattr(each, name) for each in volumes.values()) for name in ("bytes", "files"))
    unknown = tuple(f"{name}: {each.unknown}" for name, each in volumes.items() if each.unknown)
    found = forecast(context.state_of(asset).costs, max(1, asset.partitioning.count(blocks)))
    if found is None:
        return Estimate(size, files, None, None, unknown=unknown)
    return Estimate(size, files, found.seconds, found.rows, (found.low, found.high), found.runs, unknown)


def followers(
    context: PlanningContext, after: Mapping[str, PartitionSet], weigh: Weigh
) -> dict[str, tuple[Estimate, ...]]:
    """Of what other runs make due, by asset: its runs, as if they read what is there now."""
    found = {}
    for name, blocks in after.items():
        asset = context.project.assets[name]
        state = context.state_of(asset)
        chunks = [blocks] if blocks.is_everything else asset.partitioning.split(blocks, limit_of(asset))
        found[name] = tuple(
            replace(estimate(context, asset, chunk, context.pins(asset, state, chunk), weigh), assumed=True)
            for chunk in chunks
        )
    return found


def totals(estimates: Iterable[Estimate | None]) -> Totals:
    """The sums of what is known, and of how many runs it is not."""
    each = [estimate for estimate in estimates if estimate is not None]
    size, files, rows = ([getattr(one, name) for one in each] for name in ("bytes", "files", "rows"))
    seconds = [one.seconds for one in each]
    told: dict[str, Sequence[float | None]] = {"bytes": size, "files": files, "seconds": seconds, "rows": rows}
    return Totals(
        runs=len(each),
        bytes=sum(filter(None, size)),
        files=sum(filter(None, files)),
        seconds=sum(filter(None, seconds)),
        rows=sum(filter(None, rows)),
        unknown={name: values.count(None) for name, values in told.items() if None in values},
    )


def _sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value or 0 for value in known)
