"""Records which definition computed which partitions of an asset.

Definitions are ordered by their first appearance in the journal. One that comes back, from another checkout or after a
change was reverted, keeps its place. So drivers with different code agree on which definition is newer, and an older
checkout does not compute again, because of its code alone, what a newer one has computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.journal.fold_specs import FoldSpec
from sparkassets.core.journal.state import AssetState, DefinitionOutput
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet

MOST_WITH_PARTITIONS = 8
"""Definitions that keep partitions of their own; those of older ones count as computed by the oldest of these."""
MOST_KNOWN = 50
"""Definitions whose place in the order is remembered."""


def add_definition(asset: AssetState, seq: int) -> AssetState:
    """Adds the definition of the asset's spec to the known ones.

    Partitions that were computed before any definition was recorded count as computed by the first.
    """
    definition = asset.spec.definition
    if definition is None:
        return asset
    known = [each.definition.id for each in asset.made]
    if definition.id in known:
        at = known.index(definition.id)
        own = replace(asset.made[at], definition=definition)
        return replace(asset, made=_limit_outputs((*asset.made[:at], own, *asset.made[at + 1 :]), asset.spec))
    last = asset.last if not asset.made else None
    computed = asset.coverage if asset.spec.partitioning.is_partitioned else EVERYTHING if last else NOTHING
    newest = DefinitionOutput(
        definition, seq, NOTHING if asset.made else computed, last.run if last else "", last.at if last else 0
    )
    return replace(asset, made=_limit_outputs((*asset.made, newest), asset.spec))


def record_definition(before: AssetState, after: AssetState, entry: SuccessEntry, *, at: int) -> AssetState:
    """Records that the run's definition computed its partitions, and no other one did unless the asset only appends."""
    if not entry.definition and not after.made:
        return after
    outputs = {each.definition.id: each for each in after.made}
    # a definition that is not known any more was forgotten, so it is older than all
    own = outputs.pop(entry.definition, None) or DefinitionOutput(AssetDefinition(entry.definition), 0)
    others = list(
        outputs.values()
        if after.spec.appends
        else (_output_without(each, entry.published_partitions) for each in outputs.values())
    )
    if entry.definition:
        blocks = own.blocks | entry.published_partitions
        if not entry.blocks.is_everything:
            # in the usual case the coverage is reused: it may be huge, and uniting the same sets again is slow
            shared = _made_everything(own, before)
            blocks = after.coverage if shared else own.blocks | (entry.published_partitions & after.coverage)
        others.append(replace(own, blocks=blocks, run=entry.run, at=at))
    return replace(after, made=_limit_outputs(sorted(others, key=lambda each: each.since), after.spec))


def accept_definition(asset: AssetState, blocks: PartitionSet) -> AssetState:
    """Counts ``blocks``, which a person accepted as they are, as computed by the present definition."""
    own = asset.spec.definition.id if asset.spec.definition is not None else ""
    made = (
        replace(each, blocks=each.blocks | blocks) if each.definition.id == own else _output_without(each, blocks)
        for each in asset.made
    )
    return replace(asset, made=tuple(made))


def _made_everything(made: DefinitionOutput, asset: AssetState) -> bool:
    """Whether the definition is known to have computed the whole coverage: both are the same object, or empty.

    For equal but distinct sets the caller computes the same result more slowly.
    """
    return made.blocks is asset.coverage or not (made.blocks or asset.coverage)


def _output_without(made: DefinitionOutput, blocks: PartitionSet) -> DefinitionOutput:
    return replace(made, blocks=made.blocks - blocks) if made.blocks else made


def _limit_outputs(made: Sequence[DefinitionOutput], spec: FoldSpec) -> tuple[DefinitionOutput, ...]:
    """Limits the outputs: definitions without partitions lose their text, and the oldest of these are forgotten."""
    current = spec.definition.id if spec.definition is not None else ""
    outputs = [
        each
        if each.blocks or each.definition.id == current
        else replace(each, definition=AssetDefinition(each.definition.id))
        for each in _merge_older_outputs(made)
    ]
    spare = [each.definition.id for each in outputs if not each.blocks and each.definition.id != current]
    dropped = set(spare[: max(0, len(outputs) - MOST_KNOWN)])
    return tuple(each for each in outputs if each.definition.id not in dropped)


def _merge_older_outputs(made: Sequence[DefinitionOutput]) -> Sequence[DefinitionOutput]:
    """Gives the partitions of older definitions to the oldest of the `MOST_WITH_PARTITIONS` newest."""
    with_partitions = [each for each in made if each.blocks]
    if len(with_partitions) <= MOST_WITH_PARTITIONS:
        return made
    first = with_partitions[-MOST_WITH_PARTITIONS]
    older = PartitionSet.union(each.blocks for each in with_partitions[:-MOST_WITH_PARTITIONS])
    return [
        replace(each, blocks=first.blocks | older)
        if each is first
        else replace(each, blocks=NOTHING)
        if each.since < first.since
        else each
        for each in made
    ]
