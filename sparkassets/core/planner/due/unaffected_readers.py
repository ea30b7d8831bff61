"""Which consumers stay current although a run computes an asset again.

A run brings a consumer nothing new if it computes current rows again by other code and the consumer reads no column
that differs. What is not certain counts as read: a function, a `SELECT *`, a query whose values change from run to run.
"""

from __future__ import annotations

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.due.outdated_code import own_definition_id
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import AssetSpec, InletSpec


def find_unaffected_readers(context: PlanningContext, asset: AssetSpec, partitions: PartitionSet) -> tuple[str, ...]:
    """The consumers that stay current although ``partitions`` are computed again, ascending."""
    touched = _affected_columns(asset, _replaced_definitions(context, asset, partitions))
    if touched is None:
        return ()
    consumers = (each for each in context.project.assets.values() if asset.name in each.inlets)
    return tuple(sorted(each.name for each in consumers if not _may_read(each, asset, touched)))


def _replaced_definitions(
    context: PlanningContext, asset: AssetSpec, partitions: PartitionSet
) -> list[AssetDefinition]:
    """The definitions of other code that computed ``partitions``; empty if more than the code changed since."""
    outputs, own_id = context.state_of(asset).definition_outputs, own_definition_id(asset)
    others = [each for each in outputs if each.definition.id != own_id and each.partitions.overlaps(partitions)]
    if not others or not _is_only_code_changed(context, asset, partitions, since=min(each.since for each in others)):
        return []
    return [each.definition for each in others]


def _affected_columns(asset: AssetSpec, others: list[AssetDefinition]) -> frozenset[str] | None:
    """Columns whose values may differ from what the ``others`` definitions computed.

    None where any column, or which rows there are, may differ.
    """
    from sparkassets.core.definitions.differences import find_column_effect  # where code has changed; so the next
    from sparkassets.core.definitions.variation import is_steady

    definition = asset.definition
    if definition is None or not others or not all(map(is_steady, [definition, *others])):
        return None
    effects = [find_column_effect(each, definition) for each in others]
    return (
        None
        if any(each.affects_everything for each in effects)
        else frozenset[str]().union(*(each.affected_columns for each in effects))
    )


def _is_only_code_changed(context: PlanningContext, asset: AssetSpec, partitions: PartitionSet, *, since: int) -> bool:
    """Whether the code is all that changed since ``partitions`` were computed, so that a run reads the same input.

    ``since`` is the sequence number at which the oldest of the other code came. An ignored inlet makes nothing stale
    but is read again, so its updates count too. False where more than the code can change the rows: lost or withheld
    rows, other writers, and runs that do not replace what was there.
    """
    state = context.state_of(asset)
    if asset.outlets or asset.write is None or not asset.write.takes_all or asset.writes_itself:
        return False
    if state.loss is not None or state.foreign_commits or state.withheld or not _is_current(asset, state, partitions):
        return False
    return all(_is_read_as_before(context, asset, inlet, since) for inlet in asset.inlets.values())


def _is_read_as_before(context: PlanningContext, asset: AssetSpec, inlet: InletSpec, since: int) -> bool:
    """Whether a run would read the same data of the inlet as before, because the inlet was not updated since.

    Updates of an inlet with ``on_update: rerun`` make partitions stale, which `_is_current` has checked already. Of
    others, and for an asset without partitions, numbers of the journal say which came first.
    """
    if not inlet.reads_present_rows:
        return False
    updated_seq, last_run_seq = context.dataset(inlet).seq, context.state_of(asset).newest_token
    is_before_the_code = inlet.on_update == "rerun" or updated_seq < since
    is_before_the_run = asset.partitioning.is_partitioned or updated_seq < last_run_seq
    return is_before_the_code and is_before_the_run


def _is_current(asset: AssetSpec, state: AssetState, partitions: PartitionSet) -> bool:
    """Whether all of the partitions are present, and no inlet made any of them stale."""
    if not asset.partitioning.is_partitioned:
        return state.last is not None
    is_stale = any(stamps.stamped_partitions().overlaps(partitions) for stamps in state.stale.values())
    return not is_stale and not partitions - asset.partitioning.inside(state.coverage)


def _may_read(consumer: AssetSpec, asset: AssetSpec, touched: frozenset[str]) -> bool:
    """Whether the consumer may read a ``touched`` column, or runs on every update whatever it reads."""
    from sparkassets.core.definitions.differences import find_columns_read

    inlet = consumer.inlets[asset.name]
    runs_on_updates = consumer.schedule.condition is not None and not consumer.schedule.default
    if runs_on_updates or not isinstance(consumer.body, SqlBody) or not _is_read_plainly(inlet):
        return True
    columns = find_columns_read(consumer.body.text, asset.name)
    return columns is None or bool(columns & touched)


def _is_read_plainly(inlet: InletSpec) -> bool:
    """Whether only the query reads the inlet, so that the query tells which columns matter.

    Rules and foreign keys may read columns that the query does not name.
    """
    has_other_use = inlet.waits_only or inlet.is_foreign_key_only or inlet.rules
    return inlet.reads_present_rows and inlet.view is None and not has_other_use
