"""Segments come to be known, or are removed (``segments: runtime``): of an asset, and through it of all that reads it.

What an asset knows is what somebody added, what its events named or what came out of a run of all segments, and what
its inlets tell, without what somebody removed. Each change looks at the segments that it brings or takes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from sparkassets.core.journal import withheld
from sparkassets.core.journal.entries import Numbered, SegmentEntry, SuccessEntry
from sparkassets.core.journal.fold.removal import bereft
from sparkassets.core.journal.fold.requests import of_known
from sparkassets.core.journal.fold.workspace import Workspace
from sparkassets.core.journal.learned import added, has, without
from sparkassets.core.journal.specs import FoldInlet, FoldSpec
from sparkassets.core.journal.state import AssetState, EventRef, FailedBlocks, LearnedKeys, Partly
from sparkassets.core.partitions import NOTHING, Partitioning, PartitionSet, SegmentPartition, StampedPartitions
from sparkassets.core.partitions.lifting import Segment
from sparkassets.core.partitions.nearby import alike
from sparkassets.core.partitions.segments import WHOLE
from sparkassets.core.partitions.sets import united

_NONE = LearnedKeys()


def told(work: Workspace, entry: SegmentEntry, numbered: Numbered) -> None:
    """Somebody added or removed segments."""
    asset = work.assets.get(entry.asset)
    if asset is None:
        return
    own = _own(asset, entry.column)
    known = added(without(own.known, entry.removed), entry.added)
    removed = added(without(own.removed, entry.added), entry.removed)
    _keep(work, asset, {entry.column: LearnedKeys(known, removed)}, numbered.seq, computed=False)


def named(work: Workspace, ref: EventRef) -> None:
    """An event names segments: those of what others write are known from then on."""
    if not ref.parts.apart:
        return
    owners = [ref.asset] if ref.asset is not None else [each.name for each in work.assets.values()]
    for name in owners:
        asset = work.assets.get(name)
        if asset is not None and asset.spec.learns and asset.spec.uri == ref.uri:
            learn(work, name, asset.spec.partitioning.open_segments(ref.parts), ref.seq)
    for reader, inlet in list(work.readers(ref.uri)):
        if found := _by_values(work, inlet, ref.parts):
            learn(work, reader, found, ref.seq)


def _by_values(work: Workspace, inlet: FoldInlet, parts: PartitionSet) -> dict[str, set[str]]:
    """Column to the segments that values in rows of an inlet make known to its reader, which asks for these values."""
    owner = work.assets.get(inlet.name)
    if owner is None or owner.spec.uri == inlet.uri:
        return {}
    found = inlet.needs.inlet.open_segments(parts)
    pairs = [(ours, theirs) for ours, theirs in inlet.needs.telling if ours.is_open]
    return {ours.column: found[theirs.column] for ours, theirs in pairs if found.get(theirs.column)}


def learn(work: Workspace, name: str, keys: Mapping[str, Collection[str]], seq: int, *, computed: bool = False) -> None:
    """The asset knows these segments, by column, but for those that somebody removed.

    Args:
        work: What the fold works on.
        name: Of the asset.
        keys: Column to segments.
        seq: Of the entry that brings them.
        computed: A run of all segments brought them: what it computed was of these.
    """
    asset, found = work.assets[name], {}
    for column, some in keys.items():
        own = _own(asset, column)
        found[column] = replace(own, known=added(own.known, [key for key in some if not has(own.removed, key)]))
    _keep(work, asset, found, seq, computed=computed)


def respecified(work: Workspace, name: str, spec: FoldSpec) -> tuple[FoldSpec, dict[str, LearnedKeys]]:
    """A spec as the files say it, with the segments that are known; and those that the asset knows by itself.

    A dimension whose segments were listed until now knows those of which something is there.
    """
    inlets = []
    for inlet in spec.inlets:
        known = work.assets.get(inlet.name)
        same = known is not None and known.spec.partitioning.declared == inlet.needs.inlet
        inlets.append(inlet.reading(known.spec.partitioning) if known is not None and same else inlet)
    spec, old = replace(spec, inlets=tuple(inlets)), work.marked(name)
    if spec.maker:
        return spec.partitioned(_as_made(work, spec)), {}
    keys = {each.column.lower(): _before(work, old, spec, each) for each in spec.partitioning.segments if each.is_open}
    return spec.partitioned(_partitioning(spec, keys)), keys


def spread(work: Workspace, name: str, seq: int, *, computed: bool = False) -> None:
    """All that reads the asset goes by the partitions that it has now, and its outlets do."""
    asset = work.assets[name]
    for outlet, _ in asset.spec.outlets:
        _follow(work, outlet, seq, computed=computed)
    for reader, inlet in list(work.readers(asset.spec.uri)):
        same = inlet.needs.inlet.declared == asset.spec.partitioning.declared
        if inlet.name == name and same and inlet.needs.inlet is not asset.spec.partitioning:
            spec = work.assets[reader].spec
            read = tuple(inlet.reading(asset.spec.partitioning) if each is inlet else each for each in spec.inlets)
            work.assets[reader] = replace(work.assets[reader], spec=replace(spec, inlets=read))
            _derive(work, reader, seq, computed=False)


def listed_again(work: Workspace, name: str, listed: PartitionSet, seq: int) -> None:
    """What was computed, was not listed and is listed again is out of date: nothing told it of updates meanwhile."""
    asset = work.assets[name]
    back = listed & (asset.coverage | asset.claimed)
    if not back:
        return
    for inlet in asset.spec.inlets:
        asset = bereft(asset, inlet, work.dataset(inlet.uri).gone, computed=back, seq=seq)
    work.assets[name] = asset
    back = back - PartitionSet.union(marks.parts() for marks in asset.kept.values())
    telling = [inlet for inlet in asset.spec.inlets if inlet.on_update != "ignore"]
    for inlet in telling:
        work.mark(name, inlet, back, seq=seq)
    if not telling:  # nothing could make it stale, so it counts as missing
        work.assets[name] = replace(asset, coverage=asset.coverage - back)


def of_all(parts: PartitionSet) -> PartitionSet:
    """Those of ``parts`` that are the whole of a dimension, of which no segment was known."""
    return PartitionSet.by_segment({segment: time for segment, time in parts.apart if WHOLE in segment})


def counted(partitioning: Partitioning, blocks: PartitionSet) -> PartitionSet:
    """What a run has computed: the whole of a dimension is nothing more where its segments are known by now."""
    return blocks - of_all(blocks) if partitioning.is_open and not partitioning.has_whole else blocks


def came_out_late(work: Workspace, before: AssetState, entry: SuccessEntry) -> None:
    """A run of segments that nobody knew ended: what came meanwhile was told of those alone that were known.

    So whatever came makes all that came out of it stale. ``before`` is the asset before its success.
    """
    claim = before.claim(entry.token)
    if claim is None or entry.blocks.is_everything:
        return
    late = entry.blocks - claim.blocks
    if of_all(claim.blocks):
        late = NOTHING if before.spec.partitioning.has_whole else entry.blocks
    for inlet in before.spec.inlets:
        newest = work.dataset(inlet.uri).seq
        if late and inlet.on_update != "ignore" and newest > entry.token:
            work.mark(entry.asset, inlet, late, seq=newest)


# --------------------------------------------------------------------- of one asset


def _own(asset: AssetState, column: str) -> LearnedKeys:
    return asset.keys.get(column.lower(), _NONE)


def _keep(work: Workspace, asset: AssetState, found: Mapping[str, LearnedKeys], seq: int, *, computed: bool) -> None:
    changed = {column.lower(): own for column, own in found.items() if own != _own(asset, column)}
    if changed:
        work.assets[asset.name] = replace(asset, keys={**asset.keys, **changed})
        _derive(work, asset.name, seq, computed=computed)


def _before(work: Workspace, old: AssetState | None, spec: FoldSpec, dimension: SegmentPartition) -> LearnedKeys:
    """What the asset knows by itself of a dimension that it has from now on."""
    own = _kept(work, old, spec, dimension)
    seen = [_by_values(work, inlet, work.dataset(inlet.uri).coverage) for inlet in spec.inlets]
    read = {key for each in seen for key in each.get(dimension.column, ()) if not has(own.removed, key)}
    return replace(own, known=added(own.known, read)) if read else own


def _kept(work: Workspace, old: AssetState | None, spec: FoldSpec, dimension: SegmentPartition) -> LearnedKeys:
    """What the asset knew of the dimension, or what is there tells."""
    if old is not None and dimension.column.lower() in old.keys:
        return old.keys[dimension.column.lower()]
    there = work.dataset(spec.uri).coverage if spec.learns else NOTHING
    if old is not None and old.spec.partitioning.same_grid(spec.partitioning) and not _told(spec, dimension):
        there = there | old.coverage
    if not there.apart or (old is None and len(there.apart[0][0]) != len(spec.partitioning.segments)):
        return _NONE
    return LearnedKeys(tuple(sorted(spec.partitioning.open_segments(there)[dimension.column])))


def _derive(work: Workspace, name: str, seq: int, *, computed: bool) -> None:
    """The asset goes by the segments that it and its inlets know, and so does all that reads it."""
    asset = work.assets[name]
    before, after = asset.spec.partitioning, _partitioning(asset.spec, asset.keys)
    if after is before:
        return
    asset = work.marked(name) or asset
    asset = work.assets[name] = replace(asset, spec=asset.spec.partitioned(after))
    if after.has_whole:
        work.assets[name] = replace(asset, coverage=asset.coverage | _looked_through(before, after, asset.coverage))
    elif before.has_whole:
        work.assets[name] = _came_out(asset, computed=computed)
        _there(work, asset, work.assets[name])
    for fresh in _fresh(before, after) if not (before.has_whole and computed) else ():
        listed_again(work, name, fresh.known - of_all(fresh.known), seq)
    work.assets[name] = of_known(work.assets[name])
    spread(work, name, seq, computed=computed)


def _looked_through(before: Partitioning, after: Partitioning, coverage: PartitionSet) -> PartitionSet:
    """The whole of dimensions whose last segment was removed, for the time that was computed of it.

    Nothing is missing there, so that segments are discovered by the next run that something asks for.
    """
    pairs = zip(before.segments, after.segments, strict=True)
    lost = [old.keys if new.keys == (WHOLE,) else () for old, new in pairs]

    def whole(segment: Segment) -> Segment:
        return tuple(WHOLE if keys else key for key, keys in zip(segment, lost, strict=True))

    gone = ((whole(segment), ranges) for segment, ranges in coverage.apart if _holds_any(segment, lost))
    return PartitionSet.by_segment(united(gone))


def _holds_any(segment: Segment, lost: Sequence[Sequence[str]]) -> bool:
    """Whether the tuple is of a segment that was removed, in each dimension that lost its last one."""
    return any(lost) and all(key in keys for key, keys in zip(segment, lost, strict=True) if keys)


def _follow(work: Workspace, name: str, seq: int, *, computed: bool) -> None:
    """An outlet goes by the segments that its maker knows; what of it is to be computed anew is the maker's matter."""
    asset = work.marked(name)
    if asset is None:
        return
    before, after = asset.spec.partitioning, _as_made(work, asset.spec)
    if after is before:
        return
    known = work.assets[name] = replace(asset, spec=asset.spec.partitioned(after))
    if before.has_whole and not after.has_whole:
        work.assets[name] = _came_out(known, computed=computed)
        _there(work, known, work.assets[name])
    spread(work, name, seq)


def _as_made(work: Workspace, spec: FoldSpec) -> Partitioning:
    """The partitions of an outlet, with the segments that its maker knows."""
    maker = work.assets.get(spec.maker)
    if maker is None or not spec.partitioning.is_open or not spec.partitioning.same_grid(maker.spec.partitioning):
        return spec.partitioning
    known = {each.column: each.keys for each in maker.spec.partitioning.segments}
    return spec.partitioning.with_keys({each: known[each] for each in spec.partitioning.open_columns if each in known})


def _partitioning(spec: FoldSpec, keys: Mapping[str, LearnedKeys]) -> Partitioning:
    known = {each.column: _known(spec, keys, each) for each in spec.partitioning.segments if each.is_open}
    return spec.partitioning.with_keys(known)


def _known(spec: FoldSpec, keys: Mapping[str, LearnedKeys], dimension: SegmentPartition) -> tuple[str, ...]:
    """The segments of one open dimension; where nothing could tell any, the whole of it."""
    own, told_by = keys.get(dimension.column.lower(), _NONE), _told(spec, dimension)
    known: tuple[str, ...] = ()
    for some in (own.known, *(each.keys for each in told_by if each.keys != (WHOLE,))):
        known = added(known, some) if known else some
    known = without(known, own.removed)
    silent = not told_by and not spec.learns
    return (WHOLE,) if silent and not known else known


def _told(spec: FoldSpec, dimension: SegmentPartition) -> list[SegmentPartition]:
    """The dimensions of its inlets that tell which segments there are."""
    pairs = (pair for inlet in spec.inlets for pair in inlet.needs.telling)
    return [theirs for ours, theirs in pairs if ours.same_column(dimension)]


def _fresh(before: Partitioning, after: Partitioning) -> Iterator[Partitioning]:
    """The tuples that ``after`` knows and ``before`` does not, as products."""
    for i, (old, new) in enumerate(zip(before.segments, after.segments, strict=True)):
        more = _more(old.keys, new.keys)
        if more:
            dimensions = (*after.segments[:i], replace(new, keys=more), *after.segments[i + 1 :])
            yield replace(after, segments=dimensions)


def _more(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """What ``new`` has and ``old`` does not; takes hardly any time where both differ in one place."""
    if old is new:
        return ()
    start, end = alike(old, new)
    some = frozenset(old[start : len(old) - end])
    return tuple(key for key in new[start : len(new) - end] if key not in some)


def _came_out(asset: AssetState, *, computed: bool) -> AssetState:
    """The asset once the segments of what was the whole of a dimension are known: what was so of it is so of each.

    What was ``computed`` is so by a run of all segments; what somebody added later is computed for itself.
    """
    partitioning = asset.spec.partitioning
    keys = {each.column: each.keys for each in partitioning.segments}

    def each(parts: PartitionSet) -> PartitionSet:
        return partitioning.came_out(parts, keys)

    def there(parts: PartitionSet) -> PartitionSet:
        return each(parts) if computed else parts - of_all(parts)

    return replace(
        asset,
        coverage=there(asset.coverage),
        made=tuple(replace(made, blocks=there(made.blocks)) for made in asset.made),
        marks=tuple(replace(mark, blocks=each(mark.blocks)) for mark in asset.marks),
        stale=_marks(asset.stale, each),
        kept=_marks(asset.kept, each),
        owed=each(asset.owed),
        gaps=each(asset.gaps),
        partly={key: _answering(items, each) for key, items in asset.partly.items()},
        failed=_failed(asset.failed),
        withheld=withheld.without(asset.withheld, PartitionSet.union(of_all(item.blocks) for item in asset.withheld)),
        redo=tuple(replace(request, left=each(request.left)) for request in asset.redo),
    )


def _there(work: Workspace, before: AssetState, after: AssetState) -> None:
    """Those that read the asset's dataset find there, for the whole of a dimension, what became of it."""
    uri, whole = after.spec.uri, of_all(before.coverage)
    if whole and not work.has_others(uri, after.name):
        dataset = work.dataset(uri)
        coverage = (dataset.coverage - whole) | (after.coverage - before.coverage)
        work.datasets[uri] = replace(dataset, coverage=coverage)


def _failed(before: tuple[FailedBlocks, ...]) -> tuple[FailedBlocks, ...]:
    """Without what failed as the whole of a dimension."""
    failed = (replace(item, blocks=item.blocks - of_all(item.blocks)) for item in before)
    return tuple(item for item in failed if item.blocks)


def _marks(
    before: Mapping[str, StampedPartitions], each: Callable[[PartitionSet], PartitionSet]
) -> dict[str, StampedPartitions]:
    made = {}
    for name, marks in before.items():
        made[name] = StampedPartitions()
        for parts, stamp in marks.items():
            made[name] = made[name].overlay(each(parts), stamp)
    return made


def _answering(items: Partly, each: Callable[[PartitionSet], PartitionSet]) -> Partly:
    return tuple((number, each(parts)) for number, parts in items)
