"""Assigns parallel runs of one asset to run slots, and says what waits for a run that is not settled yet.

The rules were model-checked (`tests/model`): a claim goes into a slot without unsettled claims, or into the one whose
claims it overlaps, which it takes over; what overlaps a live run, or several slots, waits; a run of the whole table
overlaps everything. To settle a claim is to find out whether its run committed, and to record that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

from sparkassets.core.journal.state import AssetState, ClaimState
from sparkassets.core.partitions import NOTHING, Partitioning, PartitionSet
from sparkassets.core.phrases import FEW, few
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.wording import listing
from sparkassets.core.runs import RunRequest
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance
from sparkassets.frozen import replace


def allows_parallel_runs(asset: AssetSpec) -> bool:
    """Whether each partition of the asset is a run of its own, and several of these runs may go at once."""
    return isinstance(asset.strategy, EveryInstance) and asset.partitioning.is_partitioned


def exclusive_reason(asset: AssetSpec, state: AssetState) -> str:
    """Why an asset with parallel runs must run them one at a time for now; empty where it need not."""
    if state.table_id is None:
        return "one at a time until its table exists"
    if asset.writes_itself:
        return "one at a time, because its code writes the table itself"
    if asset.write is not None and not asset.write.side_by_side:
        return f"one at a time, because each {asset.write.name} builds on the previous one"
    if asset.publishes and not asset.partitioning.has_columns:
        return "one at a time, because the partition has no column and each run replaces the previous one"
    if asset.schema != "strict":
        return f"one at a time, because each may change the columns ('schema: {asset.schema}')"
    return ""


def claims_whole_table(claim: ClaimState, state: AssetState) -> bool:
    """Whether a claim excludes all others: a rebuild, a claim without partitions, or one made before the table moved.

    Partitions of a claim for an earlier location or layout cannot be compared with those of now.
    """
    return claim.entry.request.rebuilds or claim.entry.partitions.is_everything or claim.token < state.placed_since


def busy_partitions(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PartitionSet:
    """Partitions that live parallel runs compute.

    Empty for an asset whose runs go one at a time: while one is live, `describe_live_runs` makes the whole asset wait.
    """
    if not allows_parallel_runs(asset):
        return NOTHING
    live_slots = {link.run_slot for link in context.live_claims(state)}
    partitions = PartitionSet.union(link.entry.partitions for link in state.chain if link.run_slot in live_slots)
    return asset.partitioning.resolve_known_whole(partitions)


def can_run_beside(context: PlanningContext, asset: AssetSpec, state: AssetState) -> bool:
    """Whether more runs of the asset may start beside its live runs."""
    is_table_claimed = any(claims_whole_table(link, state) for link in context.live_claims(state))
    return allows_parallel_runs(asset) and not is_table_claimed and not exclusive_reason(asset, state)


def describe_live_runs(context: PlanningContext, asset: AssetSpec, state: AssetState) -> list[Waiting]:
    """Waiting reasons for the live runs of an asset, one for each driver; empty without live runs."""
    by_driver: dict[str, list[ClaimState]] = {}
    for claim in context.live_claims(state):
        by_driver.setdefault(claim.driver, []).append(claim)
    return [_describe_driver_runs(context, asset, driver, links) for driver, links in by_driver.items()]


def _describe_driver_runs(context: PlanningContext, asset: AssetSpec, driver: str, claims: list[ClaimState]) -> Waiting:
    """The waiting reason for the live claims of one driver: its oldest run, and how many more it has."""
    oldest = min(claims, key=lambda claim: claim.at)
    more_text = f" and {len(claims) - 1} more" if claims[1:] else ""
    reason = f"running: {oldest.entry.run}{more_text} since {context.format_instant(oldest.at)} by {driver}"
    return Waiting(asset.name, reason, None, PartitionSet.union(claim.entry.partitions for claim in claims))


def find_held_slots(context: PlanningContext, state: AssetState) -> set[int]:
    """Slots that no run may take over now.

    They have a live run, or a run that failed in this invocation without a fence. Such a run may still commit, so
    another run in its place could write the same rows twice.
    """
    failed = {item.token for item in state.failed if item.invocation == context.invocation}
    unfenced = {slot for slot, chain in state.chains.items() if chain[-1].token in failed}
    return unfenced | {link.run_slot for link in context.live_claims(state)}


def abandoned_partitions(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PartitionSet:
    """Partitions that unfinished parallel runs were to compute and that still exist, so that they are computed again.

    Left out are partitions that a person marked as done or skipped since the claim, claims of the whole table, whose
    partitions cannot be compared with those of now, and, for an asset that appends, present partitions: their rows
    would be there twice.
    """
    held_slots = find_held_slots(context, state)
    newest = [chain[-1] for slot, chain in state.chains.items() if slot not in held_slots]
    unsettled = (
        link.entry.partitions - state.settled_partitions_since(link.token)
        for link in newest
        if not claims_whole_table(link, state)
    )
    partitions = asset.partitioning.resolve_known_whole(PartitionSet.union(unsettled))
    computed = NOTHING if not asset.appends else state.coverage
    return (asset.partitioning.cover(partitions) & asset.partitioning.known_partitions) - computed


class RunSlotAssigner:
    """Assigns a slot to each run of a plan.

    Attributes:
        partitioning: The asset's current partitioning.
        held: Slots that no run may take over.
        taken: Slots that runs of this plan use already.
    """

    def __init__(self, partitioning: Partitioning, state: AssetState, held: set[int]) -> None:
        self.partitioning, self.state, self.held = partitioning, state, held
        self.taken: set[int] = set()
        # slot 0 belongs to runs that go one at a time
        self._free_slots = (slot for slot in count(1) if slot not in state.chains)

    def assign_slot(self, partitions: PartitionSet) -> int | None:
        """Returns the slot for a run of ``partitions``, and marks it as taken; None where the run has to wait.

        A run takes over the one slot whose unfinished claims overlap its partitions, or else a new slot. It waits if
        several slots overlap, or if the one is held or taken.
        """
        slots = [slot for slot, chain in self.state.chains.items() if self._claims_overlap(chain, partitions)]
        if len(slots) > 1 or (slots and slots[0] in self.held | self.taken):
            return None
        slot = slots[0] if slots else next(self._free_slots)
        self.taken.add(slot)
        return slot

    def explain_wait(self, partitions: PartitionSet) -> str:
        """Why a run of ``partitions`` got no slot: a live run may compute them, or lost runs must be settled first."""
        chains = [chain for chain in self.state.chains.values() if self._claims_overlap(chain, partitions)]
        runs = _name_runs([link for chain in chains for link in chain])
        is_live = any(chain[-1].run_slot in self.held and chain[-1].status == "open" for chain in chains)
        return (
            f"waits for {runs}, which may compute it"
            if is_live
            else f"waits for the recovery of {runs}, which never ended"
        )

    def unused_open_slots(self) -> list[int]:
        """Slots of unfinished runs that no run of the plan takes over."""
        return [slot for slot in self.state.chains if slot not in self.held | self.taken]

    def _claims_overlap(self, chain: Iterable[ClaimState], partitions: PartitionSet) -> bool:
        """Whether a claim of the chain may have computed some of the partitions."""
        return any(
            claims_whole_table(link, self.state) or self.partitioning.may_overlap(link.entry.partitions, partitions)
            for link in chain
        )


def build_settling_runs(
    context: PlanningContext, asset: AssetSpec, state: AssetState, slots: Iterable[int]
) -> list[PlannedRun]:
    """Builds a run for each slot that computes nothing and only settles the slot's unfinished claims."""
    return [_build_settling_run(context, asset, state, slot) for slot in slots]


def _build_settling_run(context: PlanningContext, asset: AssetSpec, state: AssetState, slot: int) -> PlannedRun:
    """A run of the slot that computes nothing: it finds out what became of the slot's claims and records it.

    It keeps the kind of the newest claim.
    """
    chain = state.chains[slot]
    request = RunRequest(
        asset=asset.name,
        kind=chain[-1].entry.kind,
        partitions=NOTHING,
        schedule_date=context.now,
        reason=describe_takeover(chain),
        pins=context.pins(asset, state, NOTHING),
        run_slot=slot,
    )
    return PlannedRun.from_request(request, asset=asset, state=state)


def explain_obstacles(
    context: PlanningContext, asset: AssetSpec, state: AssetState, partitions: PartitionSet, *, rebuilds: bool = False
) -> Plan | None:
    """Plan of what must come before a backfill of ``partitions``; None where nothing must.

    The plan waits for live runs, or settles unfinished ones. A table with another partitioning than the asset's waits
    for a rebuild. ``rebuilds`` says that the backfill is such a rebuild, which has to be the only run.
    """
    if waiting := _explain_backfill_wait(context, asset, state, partitions, rebuilds=rebuilds):
        return Plan(context.now, (), waiting)
    # no other run may be left beside a rebuild; slot 0 is its own, whose claims it takes over
    leftover = [slot for slot in state.chains if slot] if rebuilds else leftover_slots(context, asset, state)
    return Plan(context.now, tuple(build_settling_runs(context, asset, state, leftover))) if leftover else None


def _explain_backfill_wait(
    context: PlanningContext, asset: AssetSpec, state: AssetState, partitions: PartitionSet, *, rebuilds: bool
) -> tuple[Waiting, ...]:
    """Why a backfill waits: live runs, or a table that must be rebuilt because the partitioning changed."""
    live = describe_live_runs(context, asset, state)
    if live and (rebuilds or not can_run_beside(context, asset, state)):
        return tuple(replace(item, partitions=partitions) for item in live)
    partition_change = None if rebuilds else explain_partition_change(asset, state)
    return (
        (Waiting(asset.name, partition_change, None, partitions, stuck=True),) if partition_change is not None else ()
    )


def explain_partition_change(asset: AssetSpec, state: AssetState) -> str | None:
    """Why a table with another partitioning than the asset's is not written, and what to do; None where both agree.

    An asset that writes its own table is free to keep both, so it is never refused.
    """
    if state.former is None or not asset.partitioning.is_partitioned or asset.writes_itself:
        return None
    before = state.former.partitioning.description_with_columns or "as a whole"
    rebuild = f"`sparkassets backfill {asset.written_by or asset.name} --rebuild` recomputes it"
    if asset.segment_params is not None:  # no one run has the params of all segments
        rebuild = "drop the table, and the next runs recompute it"
    now = asset.partitioning.description_with_columns
    return f"its table was computed {before}, but is now partitioned {now}: {rebuild}"


def leftover_slots(context: PlanningContext, asset: AssetSpec, state: AssetState) -> list[int]:
    """Slots with unfinished claims from when the asset had parallel runs; empty while it has parallel runs.

    Slot 0 is left out: it belongs to runs that go one at a time.
    """
    if not state.chain or allows_parallel_runs(asset):
        return []
    parallel_slots = [slot for slot in state.chains if slot]
    held = find_held_slots(context, state) if parallel_slots else set()
    return [slot for slot in parallel_slots if slot not in held]


def describe_takeover(chain: Iterable[ClaimState]) -> str:
    """Reason of a run that takes over unfinished runs; empty without any."""
    links = [*chain]
    return f"takes over {_name_runs(links)}, which never ended" if links else ""


def _name_runs(links: Sequence[ClaimState]) -> str:
    """The runs of these claims, only the first few of many: while a table cannot be reached, each attempt adds one."""
    runs = [link.entry.run for link in links]
    return few(runs) if len(runs) > FEW else listing(runs)
