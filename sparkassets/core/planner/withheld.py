"""What is withheld of an asset, as its validations failed: what of it rests, what is tried again, and who waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from sparkassets.core.journal.questions import partition_options
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.withheld import Withheld
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.context import Barrier, Decision, PlanningContext
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.wording import labels
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance, FullRefresh
from sparkassets.core.validations import Verdict
from sparkassets.core.writes import Upsert
from sparkassets.frozen import frozen

Standing = Literal["resting", "accepted", "caused", "rejudged"]
"""What becomes of a record of an asset without partitions, by the attributes of `Held`."""


@frozen
class Held:
    """What was computed and is not published; everything stands for an asset without partitions.

    Attributes:
        resting: Those of which nothing is new, so that they are not due.
        accepted: Those that are published the next time, as somebody said so.
        caused: Those for which something came since.
        rejudged: Those that other rules or other code judged.
        records: What rests of each record, the oldest first; with the rules that these blocks fail.
        skips: The same of runs that were skipped, of which nothing was computed.
        unskipped: Those of `again` that were skipped before.
        tried: Of an asset without partitions: the records of runs that are done again, the oldest first, and why.
    """

    resting: PartitionSet = NOTHING
    accepted: PartitionSet = NOTHING
    caused: PartitionSet = NOTHING
    rejudged: PartitionSet = NOTHING
    records: tuple[tuple[Withheld, PartitionSet], ...] = ()
    skips: tuple[tuple[Withheld, PartitionSet], ...] = ()
    unskipped: PartitionSet = NOTHING
    tried: tuple[tuple[Withheld, Standing], ...] = ()

    @property
    def skipped(self) -> PartitionSet:
        """Those that rest as their run was skipped."""
        return PartitionSet.union(parts for _, parts in self.skips)

    @property
    def withheld(self) -> PartitionSet:
        """Those that rest as their validations failed."""
        return self.resting - self.skipped if self.skips else self.resting

    @property
    def again(self) -> PartitionSet:
        """What is to be computed again."""
        return self.accepted | self.caused | self.rejudged

    def to_name(self, parts: PartitionSet) -> PartitionSet:
        """Those of ``parts`` that rest, for a command that has to name them; nothing where no others rest."""
        resting = self.withheld & parts
        return NOTHING if resting == self.withheld else resting


NONE = Held()

MOST_APART = 100
"""Instances of one asset that may be withheld; later ones wait then."""

MOST_SPLIT = 8
"""Rules by which blocks of one record are told apart."""


def held(context: PlanningContext, asset: AssetSpec, state: AssetState) -> Held:
    """What is withheld of the asset, of the partitions that it has now and that are wanted."""
    if not state.withheld:
        return NONE
    of = _of_blocks if asset.partitioning.is_partitioned else _of_runs
    return of(context, asset, state)


def _of_blocks(context: PlanningContext, asset: AssetSpec, state: AssetState) -> Held:
    own, definition, accepted = _own(context, asset), context.project.judge_of(asset), state.accepted
    judged, caused, there, unskipped = NOTHING, NOTHING, NOTHING, NOTHING
    resting: list[tuple[Withheld, PartitionSet]] = []
    for each in state.withheld:
        rests = each.resting(definition)
        judged, caused, there = judged | rests, caused | each.caused, there | each.blocks
        resting += [(record, parts) for record, parts in _by_rules(each, own(rests - accepted)) if parts]
        if each.skipped:
            unskipped = unskipped | (each.blocks - rests)
    return Held(
        resting=PartitionSet.union(parts for _, parts in resting),
        accepted=own(judged & accepted),
        caused=own(caused),
        rejudged=own(there - judged - caused),
        records=tuple(found for found in resting if not found[0].skipped),
        skips=tuple(found for found in resting if found[0].skipped),
        unskipped=unskipped,
    )


def _of_runs(context: PlanningContext, asset: AssetSpec, state: AssetState) -> Held:
    """Of an asset without partitions, where each record is of the run of everything, or of an instance."""
    definition = context.project.judge_of(asset)
    found = [(each, _standing(each, definition, state)) for each in _counting(asset, state)]
    there = {standing: EVERYTHING for _, standing in found}
    return Held(
        resting=there.get("resting", NOTHING),
        accepted=there.get("accepted", NOTHING),
        caused=there.get("caused", NOTHING),
        rejudged=there.get("rejudged", NOTHING),
        records=tuple((each, EVERYTHING) for each, standing in found if standing == "resting"),
        tried=tuple((each, standing) for each, standing in found if standing != "resting"),
    )


def _counting(asset: AssetSpec, state: AssetState) -> Sequence[Withheld]:
    """The records of an asset without partitions; instances are nothing to one whose runs take the place of all now."""
    if not isinstance(asset.strategy, FullRefresh):
        return state.withheld
    return [each for each in state.withheld if not each.apart]


def _standing(record: Withheld, definition: str, state: AssetState) -> Standing:
    if record.caused:
        return "caused"
    if definition not in record.judges:
        return "rejudged"
    return "accepted" if (record.said if record.apart else state.accepted) else "resting"


def in_order(asset: AssetSpec) -> bool:
    """Whether an instance goes by what the ones before it left, so that it has to wait for one that is withheld.

    Rows of an ``append`` and iterations of ``publish`` stand beside each other. Of an ``upsert`` the row that was
    written last counts, unless ``newest_by`` tells.
    """
    return isinstance(asset.strategy, EveryInstance) and isinstance(asset.write, Upsert) and not asset.write.newest_by


def held_up(asset: AssetSpec, state: AssetState) -> str:
    """Why instances wait for those that are withheld; empty where they do not."""
    apart = [each for each in state.withheld if each.apart]
    if not apart:
        return ""
    if in_order(asset):
        return "waits for what is withheld: each of an upsert without 'newest_by' goes by what the ones before it left"
    return f"waits: {len(apart)} runs of it are withheld" if len(apart) >= MOST_APART else ""


def _by_rules(record: Withheld, parts: PartitionSet) -> list[tuple[Withheld, PartitionSet]]:
    """The blocks of a record, together those that fail the same rules; what fails with others has those of all.

    The rules tell of these blocks alone.
    """
    found: list[tuple[tuple[Verdict, ...], PartitionSet]] = [((), parts)] if parts else []
    for verdict in record.verdicts if len(record.verdicts) <= MOST_SPLIT else ():
        split = [((*failed, verdict), some & verdict.blocks) for failed, some in found]
        split += [(failed, some - verdict.blocks) for failed, some in found]
        found = [(failed, some) for failed, some in split if some]
    return [
        (within(replace(record, blocks=some, verdicts=failed), some) if failed else replace(record, blocks=some), some)
        for failed, some in found
    ]


def _own(context: PlanningContext, asset: AssetSpec) -> Callable[[PartitionSet], PartitionSet]:
    """The partitions of some that the asset has now."""
    allowed = context.allowed(asset)
    return lambda parts: asset.partitioning.inside(parts) & asset.partitioning.known & allowed


def quarantine_of(asset: AssetSpec) -> str:
    """Where the rows are that rules put into quarantine; empty where it is no one place."""
    return asset.storage.beside("_quarantine").shown if asset.storage is not None and not asset.outlets else ""


def waits(
    context: PlanningContext, asset: AssetSpec, state: AssetState, *, among: PartitionSet = EVERYTHING
) -> tuple[Waiting, ...]:
    """What rests of some blocks, and why."""
    found = held(context, asset, state)
    records = [(within(each, among), parts & among) for each, parts in found.records]
    skips = ((each, parts & among) for each, parts in found.skips)
    return (
        *(
            Waiting(asset.name, reason(context, state, each, named=found.to_name(parts)), None, parts)
            for each, parts in records
            if parts
        ),
        *(
            Waiting(asset.name, f"skipped by {each.run}: {each.skipped}", None, parts, quiet=True)
            for each, parts in skips
            if parts
        ),
    )


def within(record: Withheld, parts: PartitionSet) -> Withheld:
    """The record, whose rules tell of these blocks alone."""
    if parts.is_everything:
        return record
    own = tuple(each.within(parts) for each in record.verdicts if each.blocks.overlaps(parts))
    return replace(record, blocks=record.blocks & parts, verdicts=own or record.verdicts)


def reason(context: PlanningContext, state: AssetState, record: Withheld, *, named: PartitionSet) -> str:
    """Why blocks of a record are not published, and what publishes them: as of `accepting`."""
    which = f" ({span})" if (span := span_of(context, record)) else ""
    command = accepting(context, state, record, named=named)
    return f"withheld by {record.run}{which}: {record.text}; `{command}` publishes it"


def span_of(context: PlanningContext, record: Withheld) -> str:
    """The data interval of an instance, for people and for a command; empty where it is none, or has none."""
    if not record.apart or record.interval is None:
        return ""
    return "..".join(map(context.when, record.interval))


def accepting(context: PlanningContext, state: AssetState, record: Withheld, *, named: PartitionSet = NOTHING) -> str:
    """The command that accepts what the record tells; why is to be said by who gives it.

    It names the blocks of ``named``, which is nothing where no others are withheld.
    """
    which = ""
    if record.apart:
        alike = [each for each in state.withheld if each.apart and each.interval == record.interval]
        single = record.interval is not None and len(alike) == 1
        which = f" --interval {span_of(context, record)}" if single else f" --run {record.run}"
    if named:
        which = "".join(f" {each}" for each in partition_options(named, context.asset(state.name).partitioning))
    return f"sparkassets accept {state.name}{which} --reason …"


def told(context: PlanningContext, asset: AssetSpec, state: AssetState, decision: Decision) -> Decision:
    """The decision, with what its consumers wait for as it is withheld; not of what is computed again just now."""
    if not state.withheld:
        return decision
    found = []
    for record, parts in held(context, asset, state).records:
        left = parts - decision.coming if asset.partitioning.is_partitioned or not decision.coming else NOTHING
        if left:
            found.append(Barrier(left, _sentence(context, asset, within(record, left), left), withheld=True))
    return replace(decision, barriers=(*decision.barriers, *found))


def _sentence(context: PlanningContext, asset: AssetSpec, record: Withheld, parts: PartitionSet) -> str:
    which = labels(parts, asset.partitioning) or span_of(context, record)
    if not which:
        return f"{asset.name}, which is withheld ({record.text})"
    verb = "are" if asset.partitioning.is_partitioned and asset.partitioning.count(parts) > 1 else "is"
    return f"{asset.name}: {which} {verb} withheld ({record.text})"


def again(asset: AssetSpec, found: Held, blocks: PartitionSet) -> list[str]:
    """What is said of a run that computes withheld blocks again; those that are accepted tell it themselves."""
    told = {
        "skipped before": found.unskipped & blocks,
        "withheld before": (found.caused & blocks) - found.unskipped,
        "withheld by other rules or code": (found.rejudged & blocks) - found.unskipped,
    }
    return [f"{asset.partitioning.count(parts):,} {what}" for what, parts in told.items() if parts]
