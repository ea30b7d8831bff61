"""What is withheld of an asset, as its validations failed: what of it rests, what is tried again, and who waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.withheld import Withheld
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.context import Barrier, Decision, PlanningContext
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.wording import labels
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.core.validations import Verdict, digest_of
from sparkassets.frozen import frozen


@frozen
class Held:
    """What was computed and is not published; everything stands for an asset without partitions.

    Attributes:
        resting: Those of which nothing is new, so that they are not due.
        accepted: Those that are published the next time, as somebody said so.
        caused: Those for which something came since.
        rejudged: Those that other rules or other code judged.
        records: What rests of each record, the oldest first; with the rules that these blocks fail.
    """

    resting: PartitionSet = NOTHING
    accepted: PartitionSet = NOTHING
    caused: PartitionSet = NOTHING
    rejudged: PartitionSet = NOTHING
    records: tuple[tuple[Withheld, PartitionSet], ...] = ()

    @property
    def again(self) -> PartitionSet:
        """What is to be computed again."""
        return self.accepted | self.caused | self.rejudged


NONE = Held()

MOST_SPLIT = 8
"""Rules by which blocks of one record are told apart."""


def held(context: PlanningContext, asset: AssetSpec, state: AssetState) -> Held:
    """What is withheld of the asset, of the partitions that it has now and that are wanted."""
    if not state.withheld:
        return NONE
    own, definition, accepted = _own(context, asset), judge_of(context.project, asset), state.accepted
    resting = [told for each in state.withheld for told in _by_rules(each, own(each.resting(definition) - accepted))]
    judged = PartitionSet.union(each.resting(definition) for each in state.withheld)
    caused = PartitionSet.union(each.caused for each in state.withheld)
    there = PartitionSet.union(each.blocks for each in state.withheld)
    return Held(
        resting=PartitionSet.union(parts for _, parts in resting),
        accepted=own(judged & accepted),
        caused=own(caused),
        rejudged=own(there - judged - caused),
        records=tuple((each, parts) for each, parts in resting if parts),
    )


def _by_rules(record: Withheld, parts: PartitionSet) -> list[tuple[Withheld, PartitionSet]]:
    """The blocks of a record, together those that fail the same rules; what fails with others has those of all."""
    found: list[tuple[tuple[Verdict, ...], PartitionSet]] = [((), parts)] if parts else []
    for verdict in record.verdicts if len(record.verdicts) <= MOST_SPLIT else ():
        split = [((*failed, verdict), some & verdict.blocks) for failed, some in found]
        split += [(failed, some - verdict.blocks) for failed, some in found]
        found = [(failed, some) for failed, some in split if some]
    return [(replace(record, verdicts=failed or record.verdicts), some) for failed, some in found]


def judge_of(project: ProjectSpec, asset: AssetSpec) -> str:
    """What tells the code and the rules by which an asset's runs are judged, those of its outlets with them."""
    return "".join([asset.judged_by, *(digest_of(project.assets[name].rules) for name in asset.outlets)])


def _own(context: PlanningContext, asset: AssetSpec) -> Callable[[PartitionSet], PartitionSet]:
    """The partitions of some that the asset has now."""
    if not asset.partitioning.is_partitioned:
        return lambda parts: parts
    allowed = context.allowed(asset)
    return lambda parts: asset.partitioning.inside(parts) & asset.partitioning.known & allowed


def quarantine_of(asset: AssetSpec) -> str:
    """Where the rows are that rules put into quarantine; empty where it is no one place."""
    return asset.storage.beside("_quarantine").shown if asset.storage is not None and not asset.outlets else ""


def waits(
    context: PlanningContext, asset: AssetSpec, state: AssetState, *, among: PartitionSet = EVERYTHING
) -> tuple[Waiting, ...]:
    """What rests of some blocks, and why."""
    records = [(each, parts & among) for each, parts in held(context, asset, state).records]
    return tuple(Waiting(asset.name, reason(asset, each), None, parts) for each, parts in records if parts)


def reason(asset: AssetSpec, record: Withheld) -> str:
    """Why blocks of a record are not published, and what publishes them."""
    return f"withheld by {record.run}: {record.text}; `sparkassets accept {asset.maker or asset.name}` publishes it"


def told(context: PlanningContext, asset: AssetSpec, state: AssetState, decision: Decision) -> Decision:
    """The decision, with what its consumers wait for as it is withheld; not of what is computed again just now."""
    if not state.withheld:
        return decision
    found = []
    for record, parts in held(context, asset, state).records:
        left = parts - decision.coming if asset.partitioning.is_partitioned or not decision.coming else NOTHING
        if left:
            found.append(Barrier(left, _sentence(asset, record, left)))
    return replace(decision, barriers=(*decision.barriers, *found))


def _sentence(asset: AssetSpec, record: Withheld, parts: PartitionSet) -> str:
    which = labels(parts, asset.partitioning)
    if not which:
        return f"{asset.name}, which is withheld ({record.text})"
    verb = "are" if asset.partitioning.count(parts) > 1 else "is"
    return f"{asset.name}: {which} {verb} withheld ({record.text})"


def again(asset: AssetSpec, found: Held, blocks: PartitionSet) -> list[str]:
    """What is said of a run that computes withheld blocks again; those that are accepted tell it themselves."""
    told = {"withheld before": found.caused & blocks, "withheld by other rules or code": found.rejudged & blocks}
    count = asset.partitioning.count
    whole = not asset.partitioning.is_partitioned
    return [what if whole else f"{count(parts):,} {what}" for what, parts in told.items() if parts]
