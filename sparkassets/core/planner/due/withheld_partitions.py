"""Withheld partitions and runs of an asset: which rest, which are retried, and which consumers wait.

They rest while a run would come to the same result: inputs, rules and code are as they were, and nobody accepted them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.withheld_records import WithheldPartitions
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.partitions.command_options import partition_options
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import AssetDecision, PlanningContext, UpstreamBlocker
from sparkassets.core.planner.wording import label_partitions
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance, FullRefresh
from sparkassets.core.validations import RuleVerdict
from sparkassets.frozen import frozen, replace

WithheldStanding = Literal["resting", "accepted", "caused", "rejudged"]
"""Status of one withheld record of an asset without partitions; `WithheldStatus` describes each under its name."""


@frozen
class WithheldStatus:
    """Partitions that were computed and not published; everything stands for an asset without partitions.

    Attributes:
        resting: Withheld without a new cause, so that they are not due.
        accepted: A person accepted them, so that the next run publishes them.
        caused: An input changed since they were withheld.
        rejudged: Withheld by other rules or other code than the present ones.
        records: Resting partitions of each record, oldest first, with the rules that they fail.
        skips: Resting partitions of each skipped run, which computed nothing.
        unskipped: Partitions of `retried_partitions` that were skipped before.
        tried: Records of an asset without partitions whose runs are retried, oldest first, with the cause of the retry.
    """

    resting: PartitionSet = NOTHING
    accepted: PartitionSet = NOTHING
    caused: PartitionSet = NOTHING
    rejudged: PartitionSet = NOTHING
    records: tuple[tuple[WithheldPartitions, PartitionSet], ...] = ()
    skips: tuple[tuple[WithheldPartitions, PartitionSet], ...] = ()
    unskipped: PartitionSet = NOTHING
    tried: tuple[tuple[WithheldPartitions, WithheldStanding], ...] = ()

    @property
    def skipped_partitions(self) -> PartitionSet:
        """Resting partitions whose run was skipped."""
        return PartitionSet.union(parts for _, parts in self.skips)

    @property
    def withheld_partitions(self) -> PartitionSet:
        """Resting partitions whose validations failed."""
        return self.resting - self.skipped_partitions if self.skips else self.resting

    @property
    def retried_partitions(self) -> PartitionSet:
        """Partitions to be computed again."""
        return self.accepted | self.caused | self.rejudged

    def partitions_to_name(self, parts: PartitionSet) -> PartitionSet:
        """Resting partitions of ``parts`` that a command has to name.

        Nothing where no others rest: then the command may leave them out and mean all.
        """
        resting = self.withheld_partitions & parts
        return NOTHING if resting == self.withheld_partitions else resting


NOTHING_WITHHELD = WithheldStatus()

MOST_WITHHELD_RUNS = 100
"""Withheld instances of one asset from which on later instances wait."""

MOST_SPLIT = 8
"""Most failed rules of one record by which its partitions are still split: they make up to 2 ** 8 groups."""


def find_withheld(context: PlanningContext, asset: AssetSpec, state: AssetState) -> WithheldStatus:
    """Returns the withheld status of the asset's current and wanted partitions."""
    if not state.withheld:
        return NOTHING_WITHHELD
    find_status = _withheld_of_partitions if asset.partitioning.is_partitioned else _withheld_of_runs
    return find_status(context, asset, state)


def _withheld_of_partitions(context: PlanningContext, asset: AssetSpec, state: AssetState) -> WithheldStatus:
    """Status of a partitioned asset: its withheld partitions rest, are accepted, have a new cause or are rejudged.

    Rejudged are partitions whose record names other rules or code than the asset's present ones.
    """
    limit_to_current = _current_partitions(context, asset)
    definition = context.project.judge_of(asset)
    accepted = state.accepted_partitions
    # judged by the present rules and code; with a new cause; withheld at all; skipped, and due again
    judged, caused, withheld, unskipped = NOTHING, NOTHING, NOTHING, NOTHING
    resting: list[tuple[WithheldPartitions, PartitionSet]] = []
    for each in state.withheld:
        record_resting = each.resting_partitions(definition)
        judged, caused, withheld = judged | record_resting, caused | each.retried_partitions, withheld | each.partitions
        resting += [
            (record, parts)
            for record, parts in _split_by_rules(each, limit_to_current(record_resting - accepted))
            if parts
        ]
        if each.skipped:
            unskipped = unskipped | (each.partitions - record_resting)
    return WithheldStatus(
        resting=PartitionSet.union(parts for _, parts in resting),
        accepted=limit_to_current(judged & accepted),
        caused=limit_to_current(caused),
        rejudged=limit_to_current(withheld - judged - caused),
        records=tuple(found for found in resting if not found[0].skipped),
        skips=tuple(found for found in resting if found[0].skipped),
        unskipped=unskipped,
    )


def _withheld_of_runs(context: PlanningContext, asset: AssetSpec, state: AssetState) -> WithheldStatus:
    """Status of an asset without partitions, where a record stands for a run of everything or for one instance.

    A status holds for everything as soon as one record has it; ``tried`` and ``records`` tell the records apart.
    """
    definition = context.project.judge_of(asset)
    standings = [(each, _find_standing(each, definition, state)) for each in _counting_records(asset, state)]
    withheld_by_standing = {standing: EVERYTHING for _, standing in standings}
    return WithheldStatus(
        resting=withheld_by_standing.get("resting", NOTHING),
        accepted=withheld_by_standing.get("accepted", NOTHING),
        caused=withheld_by_standing.get("caused", NOTHING),
        rejudged=withheld_by_standing.get("rejudged", NOTHING),
        records=tuple((each, EVERYTHING) for each, standing in standings if standing == "resting"),
        tried=tuple((each, standing) for each, standing in standings if standing != "resting"),
    )


def _counting_records(asset: AssetSpec, state: AssetState) -> Sequence[WithheldPartitions]:
    """The withheld records that still matter.

    Under ``full_refresh`` without those of instances: since the strategy changed, each run replaces the whole table.
    """
    if not isinstance(asset.strategy, FullRefresh):
        return state.withheld
    return [each for each in state.withheld if not each.is_instance]


def _find_standing(record: WithheldPartitions, definition: str, state: AssetState) -> WithheldStanding:
    """The status of one record; a new cause counts before changed rules, and these before a person's acceptance."""
    if record.retried_partitions:
        return "caused"
    if definition not in record.judges:
        return "rejudged"
    return "accepted" if (record.acceptance if record.is_instance else state.accepted_partitions) else "resting"


def runs_in_order(asset: AssetSpec) -> bool:
    """Whether an instance builds on the instances before it, so that it waits for a withheld one.

    Rows of an ``append`` and iterations of ``publish`` are independent. In an ``upsert`` the row that was written last
    counts, unless ``newest_by`` decides.
    """
    return isinstance(asset.strategy, EveryInstance) and asset.write is not None and asset.write.last_run_wins


def explain_held_instances(asset: AssetSpec, state: AssetState) -> str:
    """Why further instances wait for withheld ones; empty where they do not.

    Each builds on the one before it, or too many are withheld.
    """
    instances = [each for each in state.withheld if each.is_instance]
    if not instances:
        return ""
    if runs_in_order(asset):
        return "waits for a withheld run: upserts without 'newest_by' must be applied in order"
    return (
        f"waits for a decision: {len(instances)} of its runs are withheld"
        if len(instances) >= MOST_WITHHELD_RUNS
        else ""
    )


def _split_by_rules(record: WithheldPartitions, parts: PartitionSet) -> list[tuple[WithheldPartitions, PartitionSet]]:
    """Splits a record into groups of partitions that fail the same rules, as (record of the group, its partitions).

    Each rule splits every group in two, so a record with more than `MOST_SPLIT` failed rules stays whole.
    """
    groups: list[tuple[tuple[RuleVerdict, ...], PartitionSet]] = [((), parts)] if parts else []
    for verdict in record.verdicts if len(record.verdicts) <= MOST_SPLIT else ():
        next_groups = [((*failed, verdict), group & verdict.partitions) for failed, group in groups]
        next_groups += [(failed, group - verdict.partitions) for failed, group in groups]
        groups = [(failed, group) for failed, group in next_groups if group]
    return [
        (
            restrict_record(replace(record, partitions=group, verdicts=failed), group)
            if failed
            else replace(record, partitions=group),
            group,
        )
        for failed, group in groups
    ]


def _current_partitions(context: PlanningContext, asset: AssetSpec) -> Callable[[PartitionSet], PartitionSet]:
    """Returns a function that reduces partitions to those that the asset has now, within its declared bounds."""
    allowed = context.allowed_partitions(asset)
    return lambda parts: asset.partitioning.inside(parts) & asset.partitioning.known_partitions & allowed


def quarantine_path(asset: AssetSpec) -> str:
    """The location of quarantined rows; empty for several outlets, which have no single one."""
    return (
        asset.storage.with_suffix("_quarantine").display_text if asset.storage is not None and not asset.outlets else ""
    )


def explain_withheld(
    context: PlanningContext, asset: AssetSpec, state: AssetState, *, among: PartitionSet = EVERYTHING
) -> tuple[Waiting, ...]:
    """The waiting reasons of withheld and skipped partitions in ``among`` without a new cause; skipped ones quietly."""
    withheld = find_withheld(context, asset, state)
    records = [(restrict_record(each, among), parts & among) for each, parts in withheld.records]
    skips = ((each, parts & among) for each, parts in withheld.skips)
    return (
        *(
            Waiting(
                asset.name, withheld_reason(context, state, each, named=withheld.partitions_to_name(parts)), None, parts
            )
            for each, parts in records
            if parts
        ),
        *(
            Waiting(asset.name, f"skipped by {each.run}: {each.skipped}", None, parts, quiet=True)
            for each, parts in skips
            if parts
        ),
    )


def restrict_record(record: WithheldPartitions, parts: PartitionSet) -> WithheldPartitions:
    """The record limited to ``parts``, with the verdicts on these alone."""
    if parts.is_everything:
        return record
    verdicts = tuple(each.restrict_to(parts) for each in record.verdicts if each.partitions.overlaps(parts))
    return replace(record, partitions=record.partitions & parts, verdicts=verdicts or record.verdicts)


def withheld_reason(
    context: PlanningContext, state: AssetState, record: WithheldPartitions, *, named: PartitionSet
) -> str:
    """Why partitions of a record are not published, with the command that publishes them.

    ``named`` are the partitions that the command must name; empty where it may publish all that is withheld.
    """
    span_text = f" ({span})" if (span := instance_span(context, record)) else ""
    command = accept_command(context, state, record, named=named)
    return f"withheld by {record.run}{span_text}: {record.text}; `{command}` publishes it"


def instance_span(context: PlanningContext, record: WithheldPartitions) -> str:
    """The data interval of an instance, for people and for a command; empty without one."""
    if not record.is_instance or record.interval is None:
        return ""
    return "..".join(map(context.format_instant, record.interval))


def accept_command(
    context: PlanningContext, state: AssetState, record: WithheldPartitions, *, named: PartitionSet = NOTHING
) -> str:
    """The command that accepts the record; its ``--reason`` is left for the person to write.

    It names the partitions of ``named``, which is empty where no others are withheld. An instance is named by its data
    interval, or by its run where several have that interval.
    """
    options = ""
    if record.is_instance:
        same_interval = [each for each in state.withheld if each.is_instance and each.interval == record.interval]
        single = record.interval is not None and len(same_interval) == 1
        options = f" --interval {instance_span(context, record)}" if single else f" --run {record.run}"
    if named:
        options = "".join(f" {each}" for each in partition_options(named, context.asset(state.name).partitioning))
    return f"sparkassets accept {state.name}{options} --reason …"


def add_withheld_blockers(
    context: PlanningContext, asset: AssetSpec, state: AssetState, decision: AssetDecision
) -> AssetDecision:
    """Adds blockers for withheld partitions to the decision; those that are computed again now get none.

    By these blockers consumers learn what is withheld: `gates/upstream_waits.py` reads them. An asset without
    partitions that runs now brings all of its data anew, so it gets none.
    """
    if not state.withheld:
        return decision
    blockers = []
    for record, parts in find_withheld(context, asset, state).records:
        not_expected = (
            parts - decision.expected if asset.partitioning.is_partitioned or not decision.expected else NOTHING
        )
        if not_expected:
            blockers.append(
                UpstreamBlocker(
                    not_expected,
                    _describe_for_consumer(context, asset, restrict_record(record, not_expected), not_expected),
                    withheld=True,
                )
            )
    return replace(decision, blockers=(*decision.blockers, *blockers))


def _describe_for_consumer(
    context: PlanningContext, asset: AssetSpec, record: WithheldPartitions, parts: PartitionSet
) -> str:
    """Clause on withheld partitions for a consumer that waits for them: asset, partitions, failed rules."""
    labels = label_partitions(parts, asset.partitioning) or instance_span(context, record)
    if not labels:
        return f"{asset.name}, which is withheld ({record.text})"
    verb = "are" if asset.partitioning.is_partitioned and asset.partitioning.count(parts) > 1 else "is"
    return f"{asset.name}: {labels} {verb} withheld ({record.text})"


def describe_retry(asset: AssetSpec, withheld: WithheldStatus, partitions: PartitionSet) -> list[str]:
    """Counts with reasons, such as ``2 withheld before``, for a run that computes withheld or skipped partitions again.

    Accepted partitions are left out: the run states their reason elsewhere.
    """
    reasons = {
        "skipped before": withheld.unskipped & partitions,
        "withheld before": (withheld.caused & partitions) - withheld.unskipped,
        "withheld before its rules or code changed": (withheld.rejudged & partitions) - withheld.unskipped,
    }
    return [f"{asset.partitioning.count(parts):,} {reason}" for reason, parts in reasons.items() if parts]
