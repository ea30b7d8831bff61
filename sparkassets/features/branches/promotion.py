"""Plans the promotion of a branch: runs of the base that take over the branch's rows, and why the rest waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from sparkassets.core.journal.asset_records import promoted_from_branch
from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.batch.requested_runs import stored_time
from sparkassets.core.planner.due.outdated_code import outputs_of_other_code, own_definition_id
from sparkassets.core.planner.due.pending_partitions import find_pending
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.run_slots import explain_obstacles
from sparkassets.core.runs import BranchPromotion, InletPin, RunConsumption, RunRequest, TablePosition
from sparkassets.core.spec.code_bodies import PythonBody
from sparkassets.core.spec.column_changes import ColumnChanges, rebuild_command
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import DateRange, FullRefresh, LatestOnly, SegmentBatches
from sparkassets.features.branches.branch_project import base_uri
from sparkassets.frozen import frozen


@frozen
class PromotionOffer:
    """A branch as offered to its base for promotion.

    Attributes:
        context: The planner's view of the branch, with all that the base has recorded by now.
        assets_to_compute: Assets that the branch computes, upstream first.
        journal_id, seq: The branch's journal, and the sequence number as of which it is offered.
        successes: Sequence number and entry of each success in the branch, by asset, ascending.
        changed_sources: Sources that base and branch observe each for itself.
        column_changes: Changes of columns from base to branch, by asset whose columns differ.
    """

    branch: str
    context: PlanningContext
    assets_to_compute: Sequence[str]
    journal_id: str
    seq: int
    successes: Mapping[str, Sequence[tuple[int, SuccessEntry]]] = field(default_factory=dict)
    changed_sources: Sequence[str] = ()
    column_changes: Mapping[str, ColumnChanges] = field(default_factory=dict)

    def computed_since(self, asset: str, seq: int) -> PartitionSet:
        """Partitions of an asset that the branch has published after its sequence number ``seq``."""
        return PartitionSet.union(each.published_partitions for at, each in self.successes.get(asset, ()) if at > seq)

    def branch_asset_state(self, asset: str) -> AssetState:
        """The branch's state of an asset."""
        return self.context.state_of(self.context.asset(asset))


def plan_promotion(context: PlanningContext, asset: AssetSpec, offer: PromotionOffer, *, rebuild: bool = False) -> Plan:
    """Plans the base's run of ``asset`` that takes over partitions from the branch, or says why there is none.

    ``context`` is the base's view with the branch's code. Columns that a run of the base may not change are promoted
    only by a ``rebuild``, which replaces the whole table at once.
    """
    state, branch_state = context.state_of(asset), offer.branch_asset_state(asset.name)
    if refusal := _explain_refusal(context, asset, offer):
        return Plan(context.now, (), (Waiting(asset.name, refusal, None, stuck=True),))
    promotable = _promotable_partitions(offer, asset, branch_state)
    branch_partitions = _computed_partitions(asset, branch_state)
    diverged, diverged_inlets = _find_diverged_partitions(context, asset, offer)
    identical = find_identical_partitions(context, asset.name, offer)
    partitions = promotable - identical - diverged
    stale, made_of_others = branch_partitions - promotable, (promotable - identical) & diverged
    not_in_branch = _computed_partitions(asset, state) - branch_partitions
    command = f"`sparkassets run --branch {offer.branch}`"
    reasons = [
        Waiting(asset.name, f"stale in the branch; {command} computes it", None, stale),
        Waiting(
            asset.name, f"computed from {', '.join(diverged_inlets)}, which differs in the base", None, made_of_others
        ),
        Waiting(asset.name, "not in the branch, so the base keeps it", None, not_in_branch, quiet=True),
        Waiting(asset.name, "promoted already", None, promotable & identical, quiet=True),
    ]
    waiting = [each for each in reasons if each.partitions]
    if not partitions:
        return Plan(context.now, (), tuple(waiting))
    conflicts = [*_waiting_column_changes(context, asset, offer), *_waiting_continued_rows(context, asset, offer)]
    if conflicts and not rebuild:
        return Plan(context.now, (), (*waiting, *(replace(each, partitions=partitions) for each in conflicts)))
    # the whole table at once: for a rebuild, where the base's rows have another partitioning (`former`), and where rows
    # continue earlier ones
    replaces_all = bool(conflicts) or state.former is not None or _continues_rows(context, asset)
    if replaces_all:
        partitions = promotable - diverged
        if not_promotable := _base_partitions(asset, state) - partitions:
            reason = _explain_promotion_at_once("rows" if conflicts else "partitions")
            return Plan(context.now, (), (*waiting, Waiting(asset.name, reason, None, not_promotable)))
    if (obstacle := explain_obstacles(context, asset, state, partitions, rebuilds=replaces_all)) is not None:
        return obstacle
    request = replace(_promotion_request(context, asset, offer, partitions), rebuilds=replaces_all)
    run = PlannedRun.from_request(request, asset=asset, state=state)
    return Plan(context.now, (run,), tuple(waiting))


def _explain_promotion_at_once(what_differs: str) -> str:
    """Why no part of an asset is promoted before the rest: its rows or partitions are others than in the base."""
    return f"its {what_differs} differ from the base, so it is promoted as a whole, once everything can be"


def _waiting_column_changes(context: PlanningContext, asset: AssetSpec, offer: PromotionOffer) -> list[Waiting]:
    """Why the branch's columns do not fit tables of the asset in the base; empty where they fit.

    Without partitions they always fit: a run replaces the whole table, its columns included.
    """
    if not asset.partitioning.is_partitioned:
        return []  # a run of the base takes the place of the whole table
    command = rebuild_command(asset, branch=offer.branch)
    changes = ((context.asset(name), offer.column_changes.get(name)) for name in asset.written_assets)
    return [
        Waiting(each.name, column_changes.describe_conflict(each, command), stuck=True)
        for each, column_changes in changes
        if column_changes is not None and not column_changes.is_allowed(each)
    ]


def _continues_rows(context: PlanningContext, asset: AssetSpec) -> bool:
    """Whether runs of the asset add to the rows of earlier runs, so that only its whole table means something."""
    written = map(context.asset, asset.written_assets)
    return any(each.write is not None and not each.write.takes_all for each in written)


def _waiting_continued_rows(context: PlanningContext, asset: AssetSpec, offer: PromotionOffer) -> list[Waiting]:
    """Why tables whose rows continue earlier ones wait for a person; empty where the base has none of them yet."""
    hint = f"`sparkassets promote {offer.branch} --rebuild` replaces it by the branch's"
    return [
        Waiting(each.name, f"its rows continue those in the table of the base; {hint}", stuck=True)
        for each in map(context.asset, asset.written_assets)
        if _continues_rows(context, each) and context.state_of(each).table_id is not None
    ]


def find_identical_partitions(context: PlanningContext, name: str, offer: PromotionOffer) -> PartitionSet:
    """Partitions that are the same in base and branch: promoted, and computed in neither since."""
    asset = context.asset(name)
    state = context.state_of(context.asset(asset.written_by or name))
    promoted = promoted_from_branch(state.promotions, offer.journal_id)
    unchanged = PartitionSet.union(each.partitions - offer.computed_since(state.name, each.seq) for each in promoted)
    own_state = context.state_of(asset)
    changed_by_others = PartitionSet.union(commit.partitions for commit in own_state.foreign_commits)
    return (unchanged & _computed_partitions(asset, own_state)) - changed_by_others


def _promotion_request(
    context: PlanningContext, asset: AssetSpec, offer: PromotionOffer, partitions: PartitionSet
) -> RunRequest:
    """The request of the promotion; for an asset without partitions it uses up all events that a run would."""
    state = context.state_of(asset)
    partitioned = asset.partitioning.is_partitioned
    consumed = {} if partitioned else {uri: context.state.dataset(uri).seq for uri in state.spec.listens}
    newest, pins = offer.successes[asset.name][-1][1], context.pins(asset, state, partitions)
    return RunRequest(
        asset=asset.name,
        kind="backfill",
        partitions=partitions,
        schedule_date=context.now,
        reason=f"promoted from branch {offer.branch}",
        interval=asset.partitioning.interval(partitions) if partitioned else newest.interval,
        pins=pins,
        consumption=RunConsumption({uri: seq for uri, seq in consumed.items() if seq}),
        promotes=BranchPromotion(
            offer.branch,
            offer.journal_id,
            offer.seq,
            dict(_branch_tables(asset, offer)),
            _watermarks_for_base(asset, offer, pins) if _continues_rows(context, asset) else {},
        ),
    )


def _watermarks_for_base(asset: AssetSpec, offer: PromotionOffer, pins: Mapping[str, InletPin]) -> dict[str, str]:
    """The watermarks of the branch, as the base goes on from them.

    A version of a table that the branch computes becomes the version of the base's table, which has the same rows by
    now.
    """
    watermarks = dict(offer.branch_asset_state(asset.name).watermarks)
    for name, watermark in watermarks.items():
        pin = pins.get(name)
        if name in offer.assets_to_compute and pin is not None and TablePosition.parse(watermark) is not None:
            watermarks[name] = str(TablePosition(pin.table_id or "", pin.version or 0))
    return watermarks


def _branch_tables(asset: AssetSpec, offer: PromotionOffer) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yields (asset, (table id, version)) for each of the asset's tables in the branch, which the run reads."""
    for name in asset.written_assets:
        branch_state = offer.branch_asset_state(name)
        if branch_state.table_id is not None and branch_state.version is not None:
            yield name, (branch_state.table_id, branch_state.version)


def _explain_refusal(context: PlanningContext, asset: AssetSpec, offer: PromotionOffer) -> str | None:
    """Why nothing of the asset can be promoted; None where some of it may be.

    Its strategy does not allow it, it publishes files or changes, the branch appended rows of older code, or other code
    than the branch's has computed it in the base since the branch began.
    """
    if asset.publishes and isinstance(asset.body, PythonBody):
        return "a function may have published files in the branch, which cannot be promoted; run it in the base"
    if asset.publishes and any(inlet.read is not None for inlet in asset.inlets.values()):
        return "each iteration holds only new rows of its inlets, so none can be promoted; run it in the base"
    is_newest = isinstance(asset.strategy, LatestOnly) and not asset.partitioning.is_partitioned
    if not is_newest and not isinstance(asset.strategy, DateRange | SegmentBatches | FullRefresh):
        name = asset.strategy.name if asset.strategy is not None else ""
        return f"rows cannot be promoted with strategy {name!r}; backfill it in the base"
    own_id = own_definition_id(offer.context.asset(asset.name))
    older = (each for each in offer.branch_asset_state(asset.name).definition_outputs if each.definition.id != own_id)
    if any(context.asset(name).appends for name in asset.written_assets) and any(each.partitions for each in older):
        return "the branch appended some of its rows with older code: drop the branch and run it again"
    return _explain_other_code(context, asset, offer)


def _explain_other_code(context: PlanningContext, asset: AssetSpec, offer: PromotionOffer) -> str | None:
    """Which run of the base computed the asset by other code than the branch's since the branch began; None without."""
    branch_state = offer.branch_asset_state(asset.name)
    base_event = offer.context.state.dataset(base_uri(asset.name)).recent.newest
    if base_event is None:
        return None
    branch_definitions = {each.definition.id for each in branch_state.definition_outputs}
    branch_began_at = int(base_event.extra.get("seq", 0))
    other_outputs = [
        each
        for each in context.state_of(asset).definition_outputs
        if each.since > branch_began_at and each.partitions and each.definition.id not in branch_definitions
    ]
    if other_outputs:
        run = other_outputs[-1].run
        return f"other code computed it in {run} after the branch began: merge it, drop the branch and run it again"
    return None


def _computed_partitions(asset: AssetSpec, state: AssetState) -> PartitionSet:
    """The asset's computed partitions; for an asset without partitions everything, or nothing before its first run."""
    if asset.partitioning.is_partitioned:
        return asset.partitioning.inside(state.coverage)
    return EVERYTHING if state.last is not None and state.loss is None else NOTHING


def _base_partitions(asset: AssetSpec, state: AssetState) -> PartitionSet:
    """The partitions of which the base's table has rows; everything for an asset without partitions."""
    return (
        asset.partitioning.inside(stored_time(state))
        if asset.partitioning.is_partitioned
        else _computed_partitions(asset, state)
    )


def _promotable_partitions(offer: PromotionOffer, asset: AssetSpec, branch_state: AssetState) -> PartitionSet:
    """The branch's partitions that a new run of it would leave as they are.

    These are not stale, not withheld, and not changed by others or by other code.
    """
    branch_asset, computed = offer.context.asset(asset.name), _computed_partitions(asset, branch_state)
    states = [branch_state, *(offer.branch_asset_state(name) for name in asset.outlets)]
    not_promotable = [made.partitions for made in outputs_of_other_code(branch_asset, branch_state)]
    not_promotable += [record.partitions for record in branch_state.withheld]
    not_promotable += [commit.partitions for each in states for commit in each.foreign_commits]
    if asset.partitioning.is_partitioned:
        not_promotable.append(find_pending(offer.context, branch_asset, branch_state).all_stale)
    elif not _has_read_all(offer, branch_asset):
        return NOTHING
    return computed - PartitionSet.union(not_promotable)


def _has_read_all(offer: PromotionOffer, asset: AssetSpec) -> bool:
    """Whether the branch's newest run of an asset without partitions has read the newest updates of its inlets."""
    newest = next((entry for _, entry in reversed(offer.successes.get(asset.name, ()))), None)
    if newest is None:
        return False
    rerun = [inlet for inlet in asset.inlets.values() if inlet.on_update == "rerun" and inlet.name in newest.pins]
    return all(offer.context.dataset(inlet).seq <= newest.pins[inlet.name].seq for inlet in rerun)


def _source_position(context: PlanningContext, source: str) -> tuple[object, ...]:
    """What was observed of a source last: its table, version and position; equal if both sides saw the same."""
    state = context.state_of(context.asset(source))
    return state.table_id, state.version, dict(state.position)


def _find_diverged_partitions(
    context: PlanningContext, asset: AssetSpec, offer: PromotionOffer
) -> tuple[PartitionSet, list[str]]:
    """Partitions of the asset that are made of inputs that differ between base and branch, and names of these inlets.

    Such partitions are not promoted: a run of the base would compute other rows. Everything where an inlet is read as a
    whole, or a changed source was observed differently.
    """
    diverged, inlet_names = NOTHING, list[str]()
    for inlet in asset.inlets.values():
        if inlet.name in offer.changed_sources and _source_position(context, inlet.name) != _source_position(
            offer.context, inlet.name
        ):
            return EVERYTHING, [inlet.name]
        if inlet.name not in offer.assets_to_compute:
            continue
        upstream = context.asset(inlet.name)
        upstream_partitions = _computed_partitions(upstream, context.state_of(upstream)) | _computed_partitions(
            upstream, offer.branch_asset_state(upstream.name)
        )
        if not (different := upstream_partitions - find_identical_partitions(context, upstream.name, offer)):
            continue
        dependency = context.project.dependency(asset, inlet)
        if not dependency.is_mapped:
            return EVERYTHING, [inlet.name]
        if dependency.goes_by_newest:  # which partition is the newest depends on those of both sides
            dependency = dependency.with_available(upstream_partitions)
        diverged = diverged | dependency.affected_partitions(different)
        inlet_names.append(inlet.name)
    return diverged, inlet_names
