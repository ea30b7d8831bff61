"""Holds back runs whose rows surely have columns that a ``strict`` table may not get; a person has to act first.

New code of an asset adds a column, and so does new code of an inlet that the asset reads by ``SELECT *``. What waits
for such a run of an inlet is held before it: the columns that the inlet will have are derived.

Unsure cases are left to the run, which compares its result with the table: functions, tables that cannot be observed,
sources that get a column, and code that has computed a part of the table already.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.phrases import listing
from sparkassets.core.planner.batch.held_runs import HeldRun, plan_without_held_runs, remove_held_runs
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress
from sparkassets.core.planner.due.outdated_code import own_definition_id
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext, UpstreamBlocker
from sparkassets.core.planner.wording import name_partitions
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.column_changes import ColumnChanges, rebuild_command
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import frozen, replace

_COUNTED: Final = re.compile(r"\(\s*\*\s*\)")
"""A star that stands for no columns, as in ``count(*)``."""
_HELD_BY = "columns"
"""What holds the runs back, for the reason of consumers."""


def hold_schema_conflicts(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step that holds back runs whose columns do not fit the table, also those that wait for a run of an inlet."""
    conflicting = _find_conflicting_runs(case.context, case.asset, progress.runs)
    return _hold_awaiting(case, remove_held_runs(case, progress, conflicting, _HELD_BY))


def plan_within_schema(context: PlanningContext, asset: AssetSpec, plan: Plan) -> Plan:
    """The plan of one asset without the runs whose columns do not fit the table."""
    return plan_without_held_runs(plan, _find_conflicting_runs(context, asset, plan.runs))


def explain_schema_conflict(
    context: PlanningContext, asset: AssetSpec, state: AssetState, *, upcoming: bool = False
) -> str:
    """Why no run of a part of the table can write the columns that the query returns; empty without a known conflict.

    Only new columns are a conflict that is known before a run: those of the asset's own new code, or, where the journal
    has outputs of its present code, those of new code of an inlet. ``upcoming`` asks about the columns after those runs
    of inlets that come first.
    """
    since_by_definition = {each.definition.id: each.since for each in state.definition_outputs if each.partitions}
    if context.stored_columns is None or not since_by_definition or not _has_fixed_columns(asset):
        return ""
    conflicts = _SchemaConflicts(context, upcoming)
    if (since := since_by_definition.get(own_definition_id(asset))) is None:
        changes = conflicts.find_changes(asset)
        return changes.describe_conflict(asset, rebuild_command(asset)) if changes.added else ""
    inlets = conflicts.find_widened_inlets(asset, since)
    changes = conflicts.find_changes(asset) if inlets else ColumnChanges()
    return _describe_widened(asset, changes, inlets, upcoming=upcoming) if changes.added else ""


def _describe_widened(asset: AssetSpec, changes: ColumnChanges, inlets: Sequence[str], *, upcoming: bool) -> str:
    """The conflict with columns that inlets bring; with ``upcoming`` by runs that are still to come."""
    if upcoming:
        subject, rebuild = f"{listing(inlets)}, which runs first,", f"once it has run, {rebuild_command(asset)}"
        return changes.describe_conflict(asset, rebuild, subject=subject)
    return changes.describe_conflict(asset, rebuild_command(asset), subject=listing(inlets))


def _is_replaced_whole(asset: AssetSpec) -> bool:
    """Whether every run of the asset replaces its whole table."""
    return not asset.partitioning.is_partitioned and asset.write is not None and asset.write.takes_all


def _has_fixed_columns(asset: AssetSpec) -> bool:
    """Whether the asset's query tells its columns and no run may add one to its table."""
    return asset.schema == "strict" and not asset.writes_itself and isinstance(asset.body, SqlBody)


def _hold_awaiting(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Holds back partitions that wait for a run of an inlet, where their rows would not fit the table after it.

    They then wait for a person in place of the inlet's run, and no longer count as coming for consumers.
    """
    held = progress.expected & PartitionSet.union(each.partitions for each in progress.awaited)
    if not held or _replaces_table(case.asset, held):
        return progress
    reason = explain_schema_conflict(case.context, case.asset, case.state, upcoming=True)
    if not reason:
        return progress
    still_awaited = tuple(replace(each, partitions=each.partitions - held) for each in progress.awaited)
    others = [each for each in progress.waiting if each not in progress.awaited]
    failure = f"{name_partitions(case.asset.name, held, case.asset.partitioning)}, held by its {_HELD_BY}"
    return replace(
        progress,
        waiting=(
            *others,
            *(each for each in still_awaited if each.partitions),
            _waiting_for_person(case.asset, reason, held),
        ),
        expected=progress.expected - held,
        blockers=(*progress.blockers, UpstreamBlocker(held, failure)),
    )


def _find_conflicting_runs(context: PlanningContext, asset: AssetSpec, runs: Sequence[PlannedRun]) -> list[HeldRun]:
    """The runs whose columns do not fit the table, each with its waiting reason.

    A run that replaces the whole table brings its columns along, and a run that settles an older one must go on.
    """
    partial_runs = [
        run
        for run in runs
        if run.asset == asset.name
        and not (run.recovers or run.request.rebuilds or _replaces_table(asset, run.partitions))
    ]
    reason = explain_schema_conflict(context, asset, context.state_of(asset)) if partial_runs else ""
    return [HeldRun(run, _waiting_for_person(asset, reason, run.partitions)) for run in partial_runs] if reason else []


def _waiting_for_person(asset: AssetSpec, reason: str, partitions: PartitionSet) -> Waiting:
    """The waiting reason of partitions that no run computes before a person acts."""
    return Waiting(asset.name, reason, None, partitions, stuck=True)


def _replaces_table(asset: AssetSpec, partitions: PartitionSet) -> bool:
    """Whether a run of these partitions replaces the whole table, columns included."""
    return asset.write is not None and asset.write.takes_all and partitions.is_everything


@frozen
class _SchemaConflicts:
    """Compares the columns that queries return with those of tables.

    Attributes:
        upcoming: Whether inlets have the columns that they get by the runs that are planned.
    """

    context: PlanningContext
    upcoming: bool

    def find_changes(self, asset: AssetSpec) -> ColumnChanges:
        """What the query adds to the table's columns, and drops of them; nothing where it is not certain."""
        table, returned = self._stored_columns(asset), self._returned_columns(asset)
        return ColumnChanges.from_columns(table, returned) if table and returned else ColumnChanges()

    def find_widened_inlets(self, asset: AssetSpec, since: int) -> list[str]:
        """The inlets that have columns that the asset's table lacks and may give them to it.

        Only inlets whose columns come from code that the journal heard of after ``since``: others have what they had
        when the table was made.
        """
        changed = [name for name in _inlets_read_whole(asset) if self._is_of_new_code(name, since)]
        table = {name.casefold() for name in self._stored_columns(asset)} if changed else set()
        return [name for name in changed if table and self._has_other_columns(name, table)]

    def _has_other_columns(self, name: str, table: set[str]) -> bool:
        """Whether the inlet surely has a column that is not among ``table``, the table's columns in lower case."""
        columns = self._columns_of(name)
        return columns is not None and not {each.casefold() for each in columns} <= table

    def _is_of_new_code(self, name: str, since: int) -> bool:
        """Whether code newer than ``since`` computes the asset, or one from which it takes columns unnamed."""
        queue, seen = [name], {name}
        while queue:
            asset = self.context.asset(queue.pop())
            asset = self.context.asset(asset.written_by) if asset.written_by else asset
            outputs, own_id = self.context.state_of(asset).definition_outputs, own_definition_id(asset)
            if own_id and (
                any(each.since > since for each in outputs) or own_id not in {each.definition.id for each in outputs}
            ):
                return True
            unseen_inlets = [each for each in _inlets_read_whole(asset) if each not in seen]
            queue += unseen_inlets
            seen.update(unseen_inlets)
        return False

    def _columns_of(self, name: str) -> Sequence[str] | None:
        """The columns of an inlet; None where these are not certain.

        After a run of new code, a table that is not replaced as a whole keeps its columns beside those of the query.
        """
        inlet, stored = self.context.asset(name), self._stored_columns(self.context.asset(name))
        if inlet.source is not None:
            return stored or _declared_columns(inlet)
        returned = self._returned_columns(inlet) if self._runs_first(name) else None
        if not returned:
            return stored or None
        if _is_replaced_whole(inlet):
            return returned
        returned_names = {each.casefold() for each in returned}
        return (*returned, *(each for each in stored if each.casefold() not in returned_names))

    def _runs_first(self, name: str) -> bool:
        """Whether the columns after a run of the asset are asked for, and it is about to run."""
        decision = self.context.decisions.get(name)
        return self.upcoming and decision is not None and bool(decision.expected)

    def _returned_columns(self, asset: AssetSpec) -> Sequence[str] | None:
        """The columns that the query returns; None where these are not certain."""
        from sparkassets.core.derivation.asset_columns import derive_asset  # where code has changed

        derivation = derive_asset(asset, self._columns_of)
        return None if derivation is None else (*derivation.columns,)

    def _stored_columns(self, asset: AssetSpec) -> Sequence[str]:
        """The columns of a table as it is; empty where they are not known."""
        return (*((self.context.stored_columns(asset) if self.context.stored_columns is not None else None) or ()),)


def _declared_columns(source: AssetSpec) -> Sequence[str] | None:
    """The columns that a source is declared to have; None where it declares none."""
    return (*source.columns, *source.partitioning.columns) if source.columns else None


def _inlets_read_whole(asset: AssetSpec) -> list[str]:
    """The inlets of which the code may return every column: by ``SELECT *`` or in a function."""
    from sparkassets.core.definitions.differences import find_columns_read  # where code has changed

    template = asset.body.text if isinstance(asset.body, SqlBody) else None
    if template is not None and "*" not in _COUNTED.sub("", template):
        return []
    return [
        name
        for name, inlet in asset.inlets.items()
        if not inlet.waits_only and (template is None or find_columns_read(template, name) is None)
    ]
