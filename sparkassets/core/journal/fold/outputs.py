"""Folds what an asset's runs left: outputs by definition, and rows whose input was removed.

Definitions are ordered by their first appearance in the journal. One that comes back, from another checkout or after a
change was reverted, keeps its place. So drivers with different code agree on which definition is newer, and an older
checkout does not compute again, because of its code alone, what a newer one has computed.

Under ``on_removed: keep`` a partition whose input was removed keeps its rows: `AssetState.kept` records it, and since
when. It is kept until a run that was claimed later has computed it again, or all of its input is present again.
"""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.journal.asset_records import DefinitionOutput
from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.journal.fold_specs import FoldInlet, FoldSpec
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet, StampedPartitions
from sparkassets.core.runs import RunRequest
from sparkassets.frozen import replace

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
    known_ids = [each.definition.id for each in asset.definition_outputs]
    if definition.id in known_ids:
        index = known_ids.index(definition.id)  # it keeps its place, and has its text again (`_limit_outputs`)
        updated = replace(asset.definition_outputs[index], definition=definition)
        return replace(
            asset,
            definition_outputs=_limit_outputs(
                (*asset.definition_outputs[:index], updated, *asset.definition_outputs[index + 1 :]), asset.spec
            ),
        )
    # the first definition gets what was computed before; the newest run stands for that
    last_run = asset.last if not asset.definition_outputs else None
    computed = asset.coverage if asset.spec.partitioning.is_partitioned else EVERYTHING if last_run else NOTHING
    newest = DefinitionOutput(
        definition,
        seq,
        NOTHING if asset.definition_outputs else computed,
        last_run.run if last_run else "",
        last_run.at if last_run else 0,
    )
    return replace(asset, definition_outputs=_limit_outputs((*asset.definition_outputs, newest), asset.spec))


def record_definition(before: AssetState, after: AssetState, entry: SuccessEntry, *, at: int) -> AssetState:
    """Records that the run's definition computed its partitions.

    No other definition counts as having computed them any more, unless the asset appends and so holds rows of both.
    """
    if not entry.definition and not after.definition_outputs:
        return after
    outputs = {each.definition.id: each for each in after.definition_outputs}
    # a definition that is no longer known was forgotten, so it is older than all
    output = outputs.pop(entry.definition, None) or DefinitionOutput(AssetDefinition(entry.definition), 0)
    others = list(
        outputs.values()
        if after.spec.appends
        else (_output_without(each, entry.published_partitions) for each in outputs.values())
    )
    if entry.definition:
        partitions = output.partitions | entry.published_partitions
        if not entry.partitions.is_everything:
            # in the usual case the coverage is reused: it may be huge, and uniting the same sets again is slow
            computed_everything = _made_everything(output, before)
            partitions = (
                after.coverage
                if computed_everything
                else output.partitions | (entry.published_partitions & after.coverage)
            )
        others.append(replace(output, partitions=partitions, run=entry.run, at=at))
    return replace(after, definition_outputs=_limit_outputs(sorted(others, key=lambda each: each.since), after.spec))


def accept_definition(asset: AssetState, partitions: PartitionSet) -> AssetState:
    """Counts ``partitions`` as computed by the present definition: a person accepted them, or a run skipped them."""
    own_id = asset.spec.definition.id if asset.spec.definition is not None else ""
    outputs = (
        replace(each, partitions=each.partitions | partitions)
        if each.definition.id == own_id
        else _output_without(each, partitions)
        for each in asset.definition_outputs
    )
    return replace(asset, definition_outputs=tuple(outputs))


def _made_everything(made: DefinitionOutput, asset: AssetState) -> bool:
    """Whether the definition is known to have computed the whole coverage: both are the same object, or empty.

    For equal but distinct sets the caller computes the same result more slowly.
    """
    return made.partitions is asset.coverage or not (made.partitions or asset.coverage)


def _output_without(made: DefinitionOutput, partitions: PartitionSet) -> DefinitionOutput:
    """The output without these partitions."""
    return replace(made, partitions=made.partitions - partitions) if made.partitions else made


def _limit_outputs(made: Sequence[DefinitionOutput], spec: FoldSpec) -> tuple[DefinitionOutput, ...]:
    """Limits the outputs: definitions without partitions lose their text, and the oldest of these are forgotten."""
    current = spec.definition.id if spec.definition is not None else ""
    outputs = [
        each
        if each.partitions or each.definition.id == current
        else replace(each, definition=AssetDefinition(each.definition.id))
        for each in _merge_older_outputs(made)
    ]
    # oldest first; those with partitions and the current one always stay
    without_partitions = [
        each.definition.id for each in outputs if not each.partitions and each.definition.id != current
    ]
    dropped = set(without_partitions[: max(0, len(outputs) - MOST_KNOWN)])
    return tuple(each for each in outputs if each.definition.id not in dropped)


def _merge_older_outputs(made: Sequence[DefinitionOutput]) -> Sequence[DefinitionOutput]:
    """Limits how many definitions have partitions: the oldest one that is kept takes over those of older ones."""
    with_partitions = [each for each in made if each.partitions]
    if len(with_partitions) <= MOST_WITH_PARTITIONS:
        return made
    first = with_partitions[-MOST_WITH_PARTITIONS]  # the oldest that is kept
    older = PartitionSet.union(each.partitions for each in with_partitions[:-MOST_WITH_PARTITIONS])
    return [
        replace(each, partitions=first.partitions | older)
        if each is first
        else replace(each, partitions=NOTHING)
        if each.since < first.since
        else each
        for each in made
    ]


def keep_removed_rows(
    asset: AssetState, inlet: FoldInlet, removed: PartitionSet, *, computed: PartitionSet, seq: int
) -> AssetState:
    """The consumer after the inlet lost ``removed``: under ``on_removed: keep`` it records which rows it keeps.

    Kept are the ``computed`` partitions that depend on a removed one.
    """
    # without a mapping, nobody knows which partitions have the removed rows
    if inlet.on_removed != "keep" or not inlet.needs.is_mapped or not removed:
        return asset
    dependent = inlet.needs.affected_partitions(removed) & computed
    return _with_kept_partitions(
        asset, inlet.name, asset.kept.get(inlet.name, StampedPartitions()).overlay(dependent, seq)
    )


def forget_restored(asset: AssetState, inlet: FoldInlet, restored: PartitionSet, *, gone: PartitionSet) -> AssetState:
    """The consumer after the inlet has ``restored`` again: partitions whose input is complete count as kept no more."""
    stamps = asset.kept.get(inlet.name)
    if stamps is None or not inlet.needs.is_mapped or not restored:
        return asset
    dependent = inlet.needs.affected_partitions(restored) & stamps.stamped_partitions()
    # without those that need some partition which is still gone
    complete = dependent - inlet.needs.affected_partitions(inlet.needs.required_partitions(dependent) & gone)
    return _with_kept_partitions(asset, inlet.name, stamps.without_stamped(complete, through=_ANY_SEQ))


def clear_kept_and_owed(
    asset: AssetState, partitions: PartitionSet, request: RunRequest | None, *, through: int
) -> AssetState:
    """The asset after a success of ``partitions``, claimed at ``through``, with kept rows and lookback updated.

    ``request`` says which lookback the run leaves to later ones; None where its claim is unknown.
    """
    owes, gaps = (request.owed_lookback, request.gaps) if request is not None else (NOTHING, NOTHING)
    kept = {name: stamps.without_stamped(partitions, through=through) for name, stamps in asset.kept.items()}
    return replace(
        asset,
        kept={name: stamps for name, stamps in kept.items() if stamps},
        owed_lookback=(asset.owed_lookback - partitions) | owes,
        gaps=(asset.gaps | gaps) - asset.coverage - partitions,
    )


def _with_kept_partitions(asset: AssetState, name: str, stamps: StampedPartitions) -> AssetState:
    """The asset with these partitions as those that keep their rows although inlet ``name`` lost its own."""
    others = {each: kept for each, kept in asset.kept.items() if each != name}
    return replace(asset, kept=others | {name: stamps} if stamps else others)


_ANY_SEQ = 1 << 62
"""Later than any sequence number."""
"""Later than any sequence number."""
