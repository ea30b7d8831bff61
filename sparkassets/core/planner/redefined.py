"""What other code than its own has made of an asset: what of that is computed again, and what is told of the rest."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.definitions import Definition
from sparkassets.core.journal.state import AssetState, Made
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.bounds import within
from sparkassets.core.planner.context import Decision, PlanningContext
from sparkassets.core.planner.plan import Note
from sparkassets.core.spec.model import AssetSpec


def others(asset: AssetSpec, state: AssetState) -> tuple[Made, ...]:
    """What is there by each definition that is not the asset's, in the order in which these came; not what is skipped.

    Of what only is added to, nothing once a run with the asset's own has succeeded: the rest stays as it is.
    """
    own = own_id(asset)
    found = [each for each in state.made if each.definition.id != own]
    if not own or not found or (not _recomputable(asset) and _newest(state).definition.id == own):
        return ()
    there = (replace(each, blocks=there_of(asset, state, each) - state.skipped) for each in found)
    return tuple(each for each in there if each.blocks)


def there_of(asset: AssetSpec, state: AssetState, made: Made) -> PartitionSet:
    """The blocks of the asset that a definition made and that are there; everything without partitions."""
    partitioning = asset.partitioning
    if not partitioning.is_partitioned:
        return EVERYTHING if made.blocks and state.last is not None else NOTHING
    if not made.blocks:
        return NOTHING
    return partitioning.cover(made.blocks & state.coverage) & partitioning.known & within(asset)


def before_own(asset: AssetSpec, state: AssetState) -> tuple[Made, ...]:
    """Those of `others` that came before the asset's own definition; all where only one checkout computes it."""
    if asset.sole_checkout:
        return others(asset, state)
    since = _since(asset, state)
    return tuple(each for each in others(asset, state) if each.since < since)


def outdated(asset: AssetSpec, state: AssetState) -> PartitionSet:
    """What is to be computed again because of code alone; everything without partitions.

    What a newer definition made is not, but in a branch: then this is an older checkout, or a change was taken back,
    and two checkouts would compute against each other for ever.
    """
    if asset.on_code_change != "backfill" or not _recomputable(asset):
        return NOTHING
    return PartitionSet.union(each.blocks for each in before_own(asset, state))


def told(context: PlanningContext, asset: AssetSpec, state: AssetState, decision: Decision) -> Decision:
    """The decision, with what other code has made and no run of it computes again."""
    note = notice(context, asset, state)
    if note is None:
        return decision
    left = note.blocks - PartitionSet.union(run.blocks for run in decision.runs)
    return replace(decision, notes=(*decision.notes, replace(note, blocks=left))) if left else decision


def notice(context: PlanningContext, asset: AssetSpec, state: AssetState) -> Note | None:
    """What people are told of what other code has made; None where there is nothing, or they do not want to know."""
    if asset.on_code_change == "ignore":
        return None
    found = others(asset, state)
    if asset.on_code_change == "backfill" and _recomputable(asset):
        again = before_own(asset, state)
        found = tuple(each for each in found if each not in again)
    if not found:
        return None
    blocks = PartitionSet.union(each.blocks for each in found)
    return Note(asset.name, _sentence(context, asset, state, found), blocks)


def _sentence(context: PlanningContext, asset: AssetSpec, state: AssetState, found: tuple[Made, ...]) -> str:
    last = max(found, key=lambda each: (each.at, each.since))
    when = f"{last.run} at {context.when(last.at)}" if last.run else "it was computed"
    if all(each.since > _since(asset, state) for each in found):
        said = f"computed by newer code than this, in {when}: this is an older checkout, or a change was taken back"
    else:
        said = f"the code changed since {when}"
    if not _recomputable(asset):
        return f"{said}; what was appended stays as it is"
    again = f"it stays as it is until `sparkassets backfill {asset.name}"
    if not asset.partitioning.is_partitioned:
        return f"{said}; {again}`"
    if any(_reshaped(asset, each) for each in found):
        return f"{said}, and its columns with it; {again} --rebuild` makes the table anew"
    return f"{said}; {again} --all`"


def _reshaped(asset: AssetSpec, made: Made) -> bool:
    """Whether the query surely returns other columns now, which only a rebuild may write, and there is one."""
    was, now = _columns(made.definition), _columns(asset.definition)
    if not was or not now or asset.fan is not None:
        return False
    return not was <= now or (asset.schema == "strict" and was != now)


def _columns(definition: Definition | None) -> set[str]:
    """The columns that a query returns, in small letters; none where that is not sure."""
    from sparkassets.core.selects import columns_of  # where code has changed

    text = definition.text if definition is not None else ""
    return {name.casefold() for name in columns_of(text) or ()}


def _since(asset: AssetSpec, state: AssetState) -> int:
    """The place of the asset's own definition; before all where the journal has not heard of it."""
    return next((each.since for each in state.made if each.definition.id == own_id(asset)), 0)


def own_id(asset: AssetSpec) -> str:
    """The asset's own definition, as the journal has it; empty where it computes nothing."""
    return asset.definition.id if asset.definition is not None else ""


def _recomputable(asset: AssetSpec) -> bool:
    return asset.write is not None and asset.write.recomputable


def _newest(state: AssetState) -> Made:
    return max(state.made, key=lambda each: (each.at, each.since))
