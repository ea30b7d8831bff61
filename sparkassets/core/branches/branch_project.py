"""Builds the project of a branch, and decides which assets the branch computes itself, and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from sparkassets.core.branches.branch_locations import branch_state_location, branch_storage, branch_warehouse
from sparkassets.core.conditions import AnyOf, UpdateLeaf
from sparkassets.core.journal.fold_specs import FoldSpec, build_fold_spec
from sparkassets.core.journal.state import AssetState, State
from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.core.planner.due.outdated_code import outputs_of_other_code, own_definition_id, partitions_made_by
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.asset_graph import upstream_edges
from sparkassets.core.spec.model import AssetSpec, InletSpec, ProjectSpec, Schedule, SourceSpec
from sparkassets.core.strategies import DateRange, SegmentBatches
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

_BASE = "sparkassets:base/"


def base_uri(asset: str) -> str:
    """Reserved URI under which a branch records the code that the base had for an asset."""
    return f"{_BASE}{asset}"


@frozen
class BranchProject:
    """A branch, as a project.

    Attributes:
        base: The project that it is a branch of, with the branch's code.
        computed_assets: The assets that it computes, upstream first, with the reason.
        changed_sources: Sources that the base lacks or declares differently, with the reason; the branch observes these
            itself.
        reused_assets: The assets that it reads from the base.
        project: The project of all these assets.
    """

    name: str
    base: ProjectSpec
    computed_assets: Mapping[str, str]
    changed_sources: Mapping[str, str]
    reused_assets: tuple[str, ...]
    project: ProjectSpec


def build_branch_project(project: ProjectSpec, name: str, base: State, branch: State) -> BranchProject:
    """Builds the project of a branch from the present states of the base and the branch.

    Raises:
        InputError: The project's state cannot have branches.
    """
    context = PlanningContext(project, base, now=0, clock=0)
    computed = (each for each in project.assets.values() if not each.writes_itself)
    fresh = {each.name: why for each in computed if (why := _explain_divergence(each, project, context))}
    own = _find_computed_assets(project, branch, fresh)
    fresh = {each: why for each, why in fresh.items() if project.assets[each].source is not None}
    edges = upstream_edges(project.assets)
    read = dict.fromkeys(up for each in own for up in edges[each] if up not in own)
    assets = {
        each.name: replace(
            _as_computed_asset(each, project, name, own) if each.name in own else _as_read_asset(each, fresh),
            reach=_base_reach(each, context, own),
        )
        for each in project.assets.values()
        if each.name in own or each.name in read
    }
    made = replace(
        project,
        state=branch_state_location(project, name),
        warehouse=branch_warehouse(project, name),
        assets=assets,
        openlineage=False,
        retention=None,
    )
    reused = tuple(each for each in assets if each not in own and each not in fresh)
    return BranchProject(name, project, own, {each: fresh[each] for each in fresh if each in assets}, reused, made)


def _base_reach(asset: AssetSpec, base: PlanningContext, own: Collection[str]) -> PartitionSet:
    """The partitions that the base lets the asset have.

    An asset that the branch reads has lost its inlets, and with them the declared bounds and the skipped partitions of
    all assets before it; without these its consumers would wait for partitions that never come. An asset that the
    branch computes still has its inlets; it lacks only the marks of the base.
    """
    return (
        EVERYTHING - base.state_of(asset).skipped_partitions
        if asset.name in own
        else base.possible_partitions(asset.name)
    )


def _find_computed_assets(project: ProjectSpec, branch: State, unlike: Mapping[str, str]) -> dict[str, str]:
    """Assets that the branch computes, upstream first, with the reason; none that may write to the base's tables."""
    edges, found = upstream_edges(project.assets), dict[str, str]()
    for asset in project.assets.values():
        if asset.source is not None or asset.writes_itself:
            continue
        if asset.maker:
            if asset.maker in found:
                found[asset.name] = found[asset.maker]
            continue
        ups = [each for each in edges[asset.name] if each in found or each in unlike]
        if asset.name in unlike:
            found[asset.name] = unlike[asset.name]
        elif ups:
            found[asset.name] = f"it reads {', '.join(ups)}"
        elif branch.dataset(base_uri(asset.name)).seq:
            found[asset.name] = "the branch has computed it before"
    return found


def _explain_divergence(asset: AssetSpec, project: ProjectSpec, base: PlanningContext) -> str | None:
    """Why an asset differs from the base's asset of the same name; None where it does not, and for outlets."""
    if asset.maker:
        return None
    known, spec = base.state.assets.get(asset.name), build_fold_spec(asset, project)
    if known is None:
        return "the base does not have it"
    if asset.source is None and _has_other_code(base.asset(asset.name), known):
        return "its code is not the base's"
    if known.former is not None or _storage_signature(spec) != _storage_signature(known.spec.as_declared):
        return "its partitions, inlets or place are not the base's"
    return None


def _has_other_code(asset: AssetSpec, known: AssetState) -> bool:
    """Whether the base's table was computed by other code; where nothing was computed, whether the base knows other.

    What the base last heard of the code tells nothing of the rows: whoever runs anything on the base from a checkout
    tells it of all code there.
    """
    if any(partitions_made_by(asset, known, each) for each in known.made):
        last = max(known.made, key=lambda each: (each.at, each.since))
        stands = asset.on_code_change == "ignore" and last.definition.id == own_definition_id(asset)
        return not stands and bool(outputs_of_other_code(asset, known))
    before = known.spec.definition
    return own_definition_id(asset) != (before.id if before is not None else "")


def _storage_signature(spec: FoldSpec) -> tuple[object, ...]:
    """What of a spec says where rows are, and of what they are made."""
    inlets = tuple((each.name, each.uri, each.needs) for each in spec.inlets)
    return spec.uri, spec.partitioning, inlets, spec.storage, spec.appends, spec.outlets


def _as_computed_asset(asset: AssetSpec, project: ProjectSpec, branch: str, own: Collection[str]) -> AssetSpec:
    """An asset as the branch computes it: at a place of its own, by what it reads, and told to nobody."""
    for inlet in asset.inlets.values():
        if inlet.aligned and inlet.name not in own:
            message = f"{asset.name!r} reads {inlet.name!r} aligned to its runs, which a branch does not know"
            raise InputError(message, hint=f"change something of {inlet.name!r}, too, so that it runs in the branch")
    return replace(
        asset,
        storage=branch_storage(project, branch, asset),
        inlets={name: _drop_passed_gates(inlet) for name, inlet in asset.inlets.items()},
        schedule=_schedule_by_data(project.assets[asset.maker] if asset.maker else asset),
        on_code_change="backfill",
        sole_checkout=True,
        schema="evolve",
        deadlines=None,
        notify=(),
    )


def _drop_passed_gates(inlet: InletSpec) -> InletSpec:
    """The inlet without the gates that the base has passed already: it need be neither quiet nor fresh.

    ``tolerance`` stays: it decides which partitions a block goes without, not only when.
    """
    return replace(inlet, settle_seconds=0, fresh_within=None)


def _schedule_by_data(asset: AssetSpec) -> Schedule:
    """The schedule, where that says more than when: what goes by blocks, or by hand, goes by what it reads."""
    rerun = [name for name, inlet in asset.inlets.items() if inlet.on_update == "rerun"]
    clock = asset.schedule.timetable is not None
    if not rerun or asset.schedule.condition is not None:
        return asset.schedule
    if clock and not isinstance(asset.strategy, DateRange | SegmentBatches):
        return asset.schedule
    leaves = tuple(map(UpdateLeaf, rerun))
    return Schedule(None, leaves[0] if len(leaves) == 1 else AnyOf(leaves), " | ".join(rerun), default=True)


def _as_read_asset(asset: AssetSpec, fresh: Collection[str]) -> AssetSpec:
    """An asset that the branch reads: a source, which nobody looks at but the base."""
    if asset.source is not None:
        return asset if asset.name in fresh else replace(asset, source=replace(asset.source, settle_seconds=0))
    return AssetSpec(
        asset.name,
        asset.uri,
        asset.storage,
        asset.location,
        type=asset.type,
        columns=asset.columns,
        private=asset.private,
        source=SourceSpec("delta" if asset.storage is not None else "events"),
        partitioning=asset.partitioning,
        write=asset.write,
        timezone=asset.timezone,
        start=asset.start,
        end=asset.end,
    )
