"""By which definition what of an asset was computed.

Definitions are told apart by their order: the newest is the one that came last, and one that comes back, from another
checkout or because a change was taken back, keeps the place that it had. So drivers with different code agree on which
is newer, and none computes again, because of code alone, what a newer one has made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.journal.fold_specs import FoldSpec
from sparkassets.core.journal.state import AssetState, DefinitionOutput
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet

MOST_TOLD = 8
"""Definitions of which the blocks are told apart; what older ones made is that of the oldest of these."""
MOST_KNOWN = 50
"""Definitions whose place is known."""


def add_definition(asset: AssetState, seq: int) -> AssetState:
    """The asset with the definition of its spec among those that are known.

    What was computed before any was told counts as computed by the first.
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
    there = asset.coverage if asset.spec.partitioning.is_partitioned else EVERYTHING if last else NOTHING
    first = DefinitionOutput(
        definition, seq, NOTHING if asset.made else there, last.run if last else "", last.at if last else 0
    )
    return replace(asset, made=_limit_outputs((*asset.made, first), asset.spec))


def record_definition(before: AssetState, after: AssetState, entry: SuccessEntry, *, at: int) -> AssetState:
    """The asset after a success: its blocks are of that definition, and of no other unless rows only were added."""
    if not entry.definition and not after.made:
        return after
    made = {each.definition.id: each for each in after.made}
    own = made.pop(entry.definition, None) or DefinitionOutput(
        AssetDefinition(entry.definition), 0
    )  # forgotten, so older than all
    others = list(
        made.values()
        if after.spec.appends
        else (_output_without(each, entry.published_partitions) for each in made.values())
    )
    if entry.definition:
        blocks = own.blocks | entry.published_partitions
        if not entry.blocks.is_everything:
            shared = _made_everything(
                own, before
            )  # as a rule, and it may be very much, so that nothing is united twice
            blocks = after.coverage if shared else own.blocks | (entry.published_partitions & after.coverage)
        others.append(replace(own, blocks=blocks, run=entry.run, at=at))
    return replace(after, made=_limit_outputs(sorted(others, key=lambda each: each.since), after.spec))


def accept_definition(asset: AssetState, blocks: PartitionSet) -> AssetState:
    """The asset after a person took ``blocks`` as they are, whatever made them: they count as the present code's."""
    own = asset.spec.definition.id if asset.spec.definition is not None else ""
    made = (
        replace(each, blocks=each.blocks | blocks) if each.definition.id == own else _output_without(each, blocks)
        for each in asset.made
    )
    return replace(asset, made=tuple(made))


def _made_everything(made: DefinitionOutput, asset: AssetState) -> bool:
    """Whether all that is there is known to be of the definition: the set is the same object.

    Where it is only an equal one the same comes out, at the price of looking.
    """
    return made.blocks is asset.coverage or not (made.blocks or asset.coverage)


def _output_without(made: DefinitionOutput, blocks: PartitionSet) -> DefinitionOutput:
    return replace(made, blocks=made.blocks - blocks) if made.blocks else made


def _limit_outputs(made: Sequence[DefinitionOutput], spec: FoldSpec) -> tuple[DefinitionOutput, ...]:
    """As much of it as is kept: the texts of those that made what is there, and the places of the others."""
    current = spec.definition.id if spec.definition is not None else ""
    told = [
        each
        if each.blocks or each.definition.id == current
        else replace(each, definition=AssetDefinition(each.definition.id))
        for each in _merge_older_outputs(made)
    ]
    spare = [each.definition.id for each in told if not each.blocks and each.definition.id != current]
    dropped = set(spare[: max(0, len(told) - MOST_KNOWN)])
    return tuple(each for each in told if each.definition.id not in dropped)


def _merge_older_outputs(made: Sequence[DefinitionOutput]) -> Sequence[DefinitionOutput]:
    """With the blocks of the newest definitions told apart, those of all before them with the first of these."""
    telling = [each for each in made if each.blocks]
    if len(telling) <= MOST_TOLD:
        return made
    first = telling[-MOST_TOLD]
    older = PartitionSet.union(each.blocks for each in telling[:-MOST_TOLD])
    return [
        replace(each, blocks=first.blocks | older)
        if each is first
        else replace(each, blocks=NOTHING)
        if each.since < first.since
        else each
        for each in made
    ]
