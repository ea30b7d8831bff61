"""Plans the promotion of a branch: runs of the base that take over the branch's rows, and why the rest waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from sparkassets.core.branches.branch_project import base_uri
from sparkassets.core.journal.asset_records import promoted_from_branch
from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.batch.requested_runs import stored_time
from sparkassets.core.planner.due.outdated_code import outputs_of_other_code
from sparkassets.core.planner.due.pending_partitions import find_pending
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.run_slots import explain_obstacles
from sparkassets.core.runs import BranchPromotion, RunConsumption, RunRequest
from sparkassets.core.spec.column_changes import ColumnChanges
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import DateRange, FullRefresh, SegmentBatches
from sparkassets.frozen import frozen


@frozen
class PromotionOffer:
    """A branch as offered to its base for promotion.

    Attributes:
        context: The planner's view of the branch, with all that the base has recorded by now.
        computed_assets: Assets that the branch computes, upstream first.
        journal_id, seq: The branch's journal, and the sequence number as of which it is offered.
        successes: Sequence number and entry of each success in the branch, by asset, ascending.
        changed_sources: Sources that base and branch observe each for itself.
        column_changes: Changes of columns from base to branch, by asset whose columns differ.
    """

    branch: str
    context: PlanningContext
    computed_assets: Sequence[str]
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
    state, known = context.state_of(asset), offer.branch_asset_state(asset.name)
    if refused := _explain_refusal(context, asset, offer):
        return Plan(context.now, (), (Waiting(asset.name, refused, None, stuck=True),))
    current = _promotable_partitions(offer, asset, known)
    there = _computed_partitions(asset, known)
    blocked, ups = _find_diverged_partitions(context, asset, offer)
    same = find_identical_partitions(context, asset.name, offer)
    partitions = current - same - blocked
    waiting = [
        Waiting(asset.name, reason, None, some, quiet=quiet)
        for some, reason, quiet in (
            (there - current, f"stale in the branch; `sparkassets run --branch {offer.branch}` computes it", False),
            ((current - same) & blocked, f"made of {', '.join(ups)}, which the base has otherwise", False),
            (_computed_partitions(asset, state) - there, "not in the branch: it stays as it is", True),
            (current & same, "promoted already", True),
        )
        if some
    ]
    if not partitions:
        return Plan(context.now, (), tuple(waiting))
    misfits = _waiting_column_changes(context, asset, offer)
    if misfits and not rebuild:
        return Plan(context.now, (), (*waiting, *(replace(each, partitions=partitions) for each in misfits)))
    whole = bool(misfits) or state.former is not None
    if whole:
        partitions = current - blocked
        if left := _base_partitions(asset, state) - partitions:
            others = "columns" if misfits else "partitions"
            reason = f"its {others} are others than in the base, so all of it is promoted at once, when the rest can be"
            return Plan(context.now, (), (*waiting, Waiting(asset.name, reason, None, left)))
    if (before := explain_obstacles(context, asset, state, partitions, rebuilds=whole)) is not None:
        return before
    request = replace(_promotion_request(context, asset, offer, partitions), rebuilds=whole)
    run = PlannedRun.from_request(request, asset=asset, state=state)
    return Plan(context.now, (run,), tuple(waiting))


def _waiting_column_changes(context: PlanningContext, asset: AssetSpec, offer: PromotionOffer) -> list[Waiting]:
    """Why the branch's columns do not fit tables of the asset in the base; empty where they fit.

    Without partitions they always fit: a run replaces the whole table, its columns included.
    """
    if not asset.partitioning.is_partitioned:
        return []  # a run of the base takes the place of the whole table
    command = f"`sparkassets promote {offer.branch} --rebuild` promotes all of the table at once"
    found = ((context.asset(name), offer.column_changes.get(name)) for name in asset.written_assets)
    return [
        Waiting(each.name, reshaping.describe_conflict(each, command), stuck=True)
        for each, reshaping in found
        if reshaping is not None and not reshaping.is_allowed(each)
    ]


def find_identical_partitions(context: PlanningContext, name: str, offer: PromotionOffer) -> PartitionSet:
    """Partitions that are the same in base and branch: promoted, and computed in neither since."""
    asset = context.asset(name)
    state = context.state_of(context.asset(asset.maker or name))
    taken = promoted_from_branch(state.taken, offer.journal_id)
    same = PartitionSet.union(each.partitions - offer.computed_since(state.name, each.seq) for each in taken)
    known = context.state_of(asset)
    touched = PartitionSet.union(commit.partitions for commit in known.foreign)
    return (same & _computed_partitions(asset, known)) - touched


def _promotion_request(
    context: PlanningContext, asset: AssetSpec, offer: PromotionOffer, partitions: PartitionSet
) -> RunRequest:
    """The request of the promotion; for an asset without partitions it uses up all events that a run would."""
    state = context.state_of(asset)
    partitioned = asset.partitioning.is_partitioned
    used = {} if partitioned else {uri: context.state.dataset(uri).seq for uri in state.spec.listens}
    newest = offer.successes[asset.name][-1][1]
    return RunRequest(
        asset=asset.name,
        kind="backfill",
        partitions=partitions,
        schedule_date=context.now,
        reason=f"promoted from branch {offer.branch}",
        interval=asset.partitioning.interval(partitions) if partitioned else newest.interval,
        pins=context.pins(asset, state, partitions),
        consumption=RunConsumption({uri: seq for uri, seq in used.items() if seq}),
        promotes=BranchPromotion(offer.branch, offer.journal_id, offer.seq, dict(_branch_tables(asset, offer))),
    )


def _branch_tables(asset: AssetSpec, offer: PromotionOffer) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yields (asset, (table id, version)) for each of the asset's tables in the branch, which the run reads."""
    for name in asset.written_assets:
        known = offer.branch_asset_state(name)
        if known.table_id is not None and known.version is not None:
            yield name, (known.table_id, known.version)


def _explain_refusal(context: PlanningContext, asset: AssetSpec, offer: PromotionOffer) -> str | None:
    """Why nothing of the asset can be promoted; None where some of it may be.

    Its strategy or write mode does not allow it, or other code than the branch's has computed it in the base since the
    branch began.
    """
    written = [context.asset(name) for name in asset.written_assets]
    if other := next((each.write for each in written if each.write and not each.write.is_promotable), None):
        return f"a branch's rows cannot be promoted where they are written by {other.name!r}; backfill it in the base"
    if not isinstance(asset.strategy, DateRange | SegmentBatches | FullRefresh):
        name = asset.strategy.name if asset.strategy is not None else ""
        return f"a branch's rows cannot be promoted under {name!r}; backfill it in the base"
    known = offer.branch_asset_state(asset.name)
    began = offer.context.state.dataset(base_uri(asset.name)).recent.newest
    if began is None:
        return None
    ours = {each.definition.id for each in known.made}
    since = int(began.extra.get("seq", 0))
    theirs = [
        each
        for each in context.state_of(asset).made
        if each.since > since and each.partitions and each.definition.id not in ours
    ]
    if theirs:
        run = theirs[-1].run
        return (
            f"other code than the branch's has made it since the branch began, in {run}: take that into this checkout, "
            f"then drop the branch and run it again"
        )
    return None


def _computed_partitions(asset: AssetSpec, known: AssetState) -> PartitionSet:
    """The asset's computed partitions; for an asset without partitions everything, or nothing before its first run."""
    if asset.partitioning.is_partitioned:
        return asset.partitioning.inside(known.coverage)
    return EVERYTHING if known.last is not None and known.loss is None else NOTHING


def _base_partitions(asset: AssetSpec, state: AssetState) -> PartitionSet:
    """The partitions of which the base's table has rows; everything for an asset without partitions."""
    return (
        asset.partitioning.inside(stored_time(state))
        if asset.partitioning.is_partitioned
        else _computed_partitions(asset, state)
    )


def _promotable_partitions(offer: PromotionOffer, asset: AssetSpec, known: AssetState) -> PartitionSet:
    """The branch's partitions that a new run of it would leave as they are.

    These are not stale, not withheld, and not changed by others or by other code.
    """
    own, there = offer.context.asset(asset.name), _computed_partitions(asset, known)
    written = [known, *(offer.branch_asset_state(name) for name in asset.outlets)]
    other = [made.partitions for made in outputs_of_other_code(own, known)]
    other += [record.partitions for record in known.withheld]
    other += [commit.partitions for each in written for commit in each.foreign]
    if asset.partitioning.is_partitioned:
        other.append(find_pending(offer.context, own, known).all_stale)
    elif not _has_read_all(offer, own):
        return NOTHING
    return there - PartitionSet.union(other)


def _has_read_all(offer: PromotionOffer, own: AssetSpec) -> bool:
    """Whether the branch's newest run of an asset without partitions has read the newest updates of its inlets."""
    newest = next((entry for _, entry in reversed(offer.successes.get(own.name, ()))), None)
    if newest is None:
        return False
    rerun = [inlet for inlet in own.inlets.values() if inlet.on_update == "rerun" and inlet.name in newest.pins]
    return all(offer.context.dataset(inlet).seq <= newest.pins[inlet.name].seq for inlet in rerun)


def _source_position(context: PlanningContext, source: str) -> tuple[object, ...]:
    """What was observed of a source last: its table, version and position; equal if both sides saw the same."""
    known = context.state_of(context.asset(source))
    return known.table_id, known.version, dict(known.position)


def _find_diverged_partitions(
    context: PlanningContext, asset: AssetSpec, offer: PromotionOffer
) -> tuple[PartitionSet, list[str]]:
    """Partitions of the asset that are made of inputs that differ between base and branch, and names of these inlets.

    Such partitions are not promoted: a run of the base would compute other rows. Everything where an inlet is read as a
    whole, or a changed source was observed differently.
    """
    found, ups = NOTHING, list[str]()
    for inlet in asset.inlets.values():
        if inlet.name in offer.changed_sources and _source_position(context, inlet.name) != _source_position(
            offer.context, inlet.name
        ):
            return EVERYTHING, [inlet.name]
        if inlet.name not in offer.computed_assets:
            continue
        up = context.asset(inlet.name)
        there = _computed_partitions(up, context.state_of(up)) | _computed_partitions(
            up, offer.branch_asset_state(up.name)
        )
        if not (other := there - find_identical_partitions(context, up.name, offer)):
            continue
        needed = context.project.dependency(asset, inlet)
        if not needed.is_mapped:
            return EVERYTHING, [inlet.name]
        if needed.goes_by_newest:
            needed = needed.with_available(there)
        found = found | needed.affected_partitions(other)
        ups.append(inlet.name)
    return found, ups
