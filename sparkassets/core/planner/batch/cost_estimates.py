"""Estimates the cost of planned runs: the bytes that they read, and seconds and rows from earlier runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.batch.run_batches import partition_limit
from sparkassets.core.planner.plan import CostEstimate, CostTotals, Plan
from sparkassets.core.planner.planning_context import EstimateVolume, PlanningContext
from sparkassets.core.run_costs import CostForecast, forecast_cost
from sparkassets.core.runs import InletPin
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import replace


def add_cost_estimates(plan: Plan, context: PlanningContext, estimate_volume: EstimateVolume) -> Plan:
    """Adds the estimated cost of each run, and the totals, to the plan."""
    runs = tuple(
        replace(
            run,
            estimate=estimate_cost(
                context, context.project.assets[run.asset], run.partitions, run.request.pins, estimate_volume
            ),
        )
        for run in plan.runs
    )
    return replace(plan, runs=runs, totals=sum_estimates(run.estimate for run in runs))


def estimate_cost(
    context: PlanningContext,
    asset: AssetSpec,
    partitions: PartitionSet,
    pins: Mapping[str, InletPin],
    estimate_volume: EstimateVolume,
) -> CostEstimate:
    """Estimates the cost of one run of ``partitions`` that reads ``pins``.

    If a figure is unknown for one inlet, it is unknown for the run: a sum without that inlet would be wrong.
    """
    volumes = {}
    for inlet in asset.inlets.values():
        if not inlet.waits_only:
            inlet_asset = context.project.inlet_with_mapping(asset, inlet.name)
            volumes[inlet.name] = estimate_volume(inlet_asset, pins[inlet.name], context.state_of(inlet_asset))
    size, files = (_sum_if_all_known(getattr(each, name) for each in volumes.values()) for name in ("bytes", "files"))
    unknown = tuple(f"{name}: {each.unknown}" for name, each in volumes.items() if each.unknown)
    forecast = forecast_run(asset, context.state_of(asset), partitions)
    if forecast is None:
        return CostEstimate(size, files, None, None, unknown=unknown)
    return CostEstimate(
        size, files, forecast.seconds, forecast.rows, (forecast.low, forecast.high), forecast.runs, unknown
    )


def forecast_run(asset: AssetSpec, state: AssetState, partitions: PartitionSet) -> CostForecast | None:
    """Forecasts the cost of computing ``partitions``; None without earlier runs, or if ``partitions`` are unbounded."""
    if not asset.partitioning.can_list(partitions):
        return None
    return forecast_cost(state.costs, max(1, asset.partitioning.count(partitions)))


def estimate_followers(
    context: PlanningContext, after: Mapping[str, PartitionSet], estimate_volume: EstimateVolume
) -> dict[str, tuple[CostEstimate, ...]]:
    """Estimates the runs that other runs will make due, by asset; ``after`` has the partitions of each asset.

    They are not planned yet, so the estimate assumes that they read the present versions.
    """
    estimates = {}
    for name, partitions in after.items():
        asset = context.project.assets[name]
        state = context.state_of(asset)
        chunks = (
            [partitions]
            if partitions.is_everything
            else asset.partitioning.split_into_chunks(partitions, partition_limit(asset))
        )
        estimates[name] = tuple(
            replace(
                estimate_cost(context, asset, chunk, context.pins(asset, state, chunk), estimate_volume), assumed=True
            )
            for chunk in chunks
        )
    return estimates


def sum_estimates(estimates: Iterable[CostEstimate | None]) -> CostTotals:
    """Sums the known figures, and counts for how many runs each is unknown; runs without an estimate are left out."""
    known = [estimate for estimate in estimates if estimate is not None]
    size, files, rows = ([getattr(estimate, name) for estimate in known] for name in ("bytes", "files", "rows"))
    seconds = [estimate.seconds for estimate in known]
    figures: dict[str, Sequence[float | None]] = {"bytes": size, "files": files, "seconds": seconds, "rows": rows}
    return CostTotals(
        runs=len(known),
        bytes=sum(filter(None, size)),
        files=sum(filter(None, files)),
        seconds=sum(filter(None, seconds)),
        rows=sum(filter(None, rows)),
        unknown={name: values.count(None) for name, values in figures.items() if None in values},
    )


def _sum_if_all_known(values: Iterable[int | None]) -> int | None:
    """The sum; None if one of the values is unknown, as a sum without it would be wrong."""
    known = list(values)
    return None if None in known else sum(value or 0 for value in known)
