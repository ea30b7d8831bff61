"""From what partitions were computed: by which run, of which versions and partitions of its inlets, up to the sources.

The journal is read from its newest entry back, and only as far as it has to be: what a block holds is what the newest
run that computed it wrote. A run read what was recorded before its claim, so its inlets are looked up as of then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Literal

from sparkassets.core.instants import to_unix
from sparkassets.core.journal.entries import EventEntry, NumberedEntry, ObservedEntry, OutletEntry, SuccessEntry
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.journal.state import State
from sparkassets.core.journal.table_findings import TargetEntry
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.runs import InletPin
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.core.writes import PublishWrite
from sparkassets.frozen import frozen

KINDS = ("success", "outlet", "mark", "target", "observed", "event")
"""The kinds of entries that tell where data came from."""

EntryHistory = Callable[[str], Iterator[NumberedEntry]]
"""Entries of `KINDS` of a dataset, the newest first; they are read as they are asked for."""

_Success = SuccessEntry | OutletEntry

OriginKind = Literal["run", "mark", "source", "event", "lost", "missing", "unknown"]


@frozen
class InletRead:
    """What a run read of one inlet.

    Attributes:
        table_id, version: Position in a Delta table; None for files.
        parts: What it read of it for the blocks in question; everything for all of it.
        before: What was recorded from there on came too late for it.
        low: The watermark from which it read on.
        origins: Where that came from; empty where it was not asked for.
    """

    asset: str
    uri: str
    parts: PartitionSet
    before: int
    table_id: str | None = None
    version: int | None = None
    low: str | None = None
    origins: tuple[PartitionOrigin, ...] = ()


@frozen
class PartitionOrigin:
    """Where some partitions of an asset came from.

    Attributes:
        kind: ``run`` computed them, a ``mark`` accepted them, a ``source`` or an ``event`` brought them; they are
            ``lost``, ``missing``, or ``unknown`` to the journal.
        blocks: Everything for an asset without partitions.
        seq: Number of the entry that tells it; None where there is none.
        at: When it was recorded, Unix seconds.
        definition: Id of the code that computed it.
        table_id, version: Of the asset's own table.
        note: What else is known, for people: why it is lost, what was said, the files.
        changed: What others changed in it since.
        reads: By inlet.
        again: It stands elsewhere in the tree already, with all that is before it.
    """

    asset: str
    kind: OriginKind
    blocks: PartitionSet
    seq: int | None = None
    at: int | None = None
    run: str | None = None
    definition: str = ""
    table_id: str | None = None
    version: int | None = None
    note: str = ""
    changed: tuple[str, ...] = ()
    reads: tuple[InletRead, ...] = ()
    again: bool = False


@frozen
class PartitionLineage:
    """Where partitions of an asset came from.

    Attributes:
        origins: Newest first; what one run computed together.
    """

    asset: str
    blocks: PartitionSet
    origins: tuple[PartitionOrigin, ...]


def trace_lineage(
    project: ProjectSpec,
    state: State,
    past: EntryHistory,
    *,
    asset: AssetSpec,
    blocks: PartitionSet,
    depth: int | None = None,
) -> PartitionLineage:
    """Where ``blocks`` of an asset came from; of what is open in time, what is there.

    Args:
        project: Its assets.
        state: What is known now.
        past: The journal.
        asset: Whose blocks.
        blocks: Whole partitions; everything for an asset without.
        depth: How many runs to go back; None for all the way up.
    """
    if not asset.partitioning.can_list(blocks):
        blocks = blocks & _present_partitions(asset, state)
    return PartitionLineage(
        asset.name, blocks, _LineageTracer(project, state, past).trace_present(asset, blocks, depth)
    )


def newest_origins(
    project: ProjectSpec, state: State, past: EntryHistory, *, asset: AssetSpec
) -> Iterator[PartitionOrigin]:
    """Which entries tell of what is there of an asset, newest first, without what these runs read.

    Of what no entry of ``past`` tells there is none.
    """
    blocks = _present_partitions(asset, state)
    known = state.assets.get(asset.name)
    asked = _LineageQuery(blocks, table_id=known.table_id if known is not None else None)
    for numbered in _LineageTracer(project, state, past).relevant_entries(asset, asked) if blocks else ():
        if own := _partitions_of_entry(numbered) & blocks:
            yield replace(_origin_of(asset.name, numbered, own), blocks=own)
            blocks = blocks - own
            if not blocks:
                return


def _present_partitions(asset: AssetSpec, state: State) -> PartitionSet:
    """What is there of the asset now."""
    known = state.assets.get(asset.name)
    if asset.source is not None or known is None:
        return state.dataset(asset.uri).coverage
    return known.coverage


@frozen
class _LineageQuery:
    """What is looked up.

    Attributes:
        before: Only entries of a smaller number count.
        table_id, version: The table as it was read, where that is known.
        depth: How many runs to go back from here.
    """

    blocks: PartitionSet
    before: int = 1 << 62
    table_id: str | None = None
    version: int | None = None
    depth: int | None = None


@frozen
class _LineageTracer:
    project: ProjectSpec
    state: State
    past: EntryHistory
    visited: set[tuple[str, int, PartitionSet]] = field(default_factory=set)

    def trace_present(self, asset: AssetSpec, blocks: PartitionSet, depth: int | None) -> tuple[PartitionOrigin, ...]:
        """Where the blocks came from that are there now; of the others that they are missing."""
        known = self.state.assets.get(asset.name)
        missing = blocks - _present_partitions(asset, self.state) if asset.partitioning.is_partitioned else NOTHING
        table_id = known.table_id if known is not None else None
        found = (
            self._trace_query(asset, _LineageQuery(blocks - missing, table_id=table_id, depth=depth))
            if blocks - missing
            else ()
        )
        return (*found, *([PartitionOrigin(asset.name, "missing", missing)] if missing else []))

    def _trace_query(self, asset: AssetSpec, asked: _LineageQuery) -> tuple[PartitionOrigin, ...]:
        """Where what was asked for came from; of what is open in time, where what is known of it did."""
        whole, found = not asset.partitioning.can_list(asked.blocks), list[PartitionOrigin]()
        rest = asked.blocks & self.state.dataset(asset.uri).ever_present if whole else asked.blocks
        changed = list[tuple[PartitionSet, str]]()
        for numbered in self.relevant_entries(asset, asked) if rest else ():
            changed += _foreign_changes(numbered)
            if own := _partitions_of_entry(numbered) & rest:
                found.append(
                    self._trace_entry(asset, numbered, asked, own=own, changed=_changes_touching(changed, own))
                )
                rest = rest - own
                if not rest:
                    return tuple(found)
        return (*found, *([] if whole else self._untraced_origins(asset, rest)))

    def _untraced_origins(self, asset: AssetSpec, rest: PartitionSet) -> Iterator[PartitionOrigin]:
        """What no entry tells of: it never was there, or the entry is not kept any more."""
        dataset = self.state.dataset(asset.uri)
        never = rest if not dataset.seq else NOTHING
        if asset.partitioning.is_partitioned:
            never = rest - dataset.ever_present
        if rest - never:
            yield PartitionOrigin(asset.name, "unknown", rest - never)
        if never:
            yield PartitionOrigin(asset.name, "missing", never)

    def relevant_entries(self, asset: AssetSpec, asked: _LineageQuery) -> Iterator[NumberedEntry]:
        """What may tell of it, newest first."""
        told = (each for each in self.past(asset.uri) if each.seq < asked.before and _is_relevant(asset, each, asked))
        return _visible_entries(told, asked.version)

    def _trace_entry(
        self,
        asset: AssetSpec,
        numbered: NumberedEntry,
        asked: _LineageQuery,
        *,
        own: PartitionSet,
        changed: tuple[str, ...],
    ) -> PartitionOrigin:
        origin, entry = replace(_origin_of(asset.name, numbered, own), blocks=own, changed=changed), numbered.entry
        return self._with_reads(asset, entry, origin, asked) if isinstance(entry, _Success) else origin

    def _with_reads(
        self, asset: AssetSpec, entry: _Success, origin: PartitionOrigin, asked: _LineageQuery
    ) -> PartitionOrigin:
        """The run with what it read for its blocks, unless that was told already."""
        key = (asset.name, origin.seq or 0, origin.blocks)
        if key in self.visited:
            return replace(origin, again=True)
        self.visited.add(key)
        asset = self.project.assets.get(asset.maker, asset)
        reads = (self._read_of_inlet(asset, name, pin, entry, origin.blocks) for name, pin in entry.pins.items())
        return replace(origin, reads=tuple(self._with_origins(read, asked) for read in reads))

    def _read_of_inlet(
        self, asset: AssetSpec, name: str, pin: InletPin, entry: _Success, own: PartitionSet
    ) -> InletRead:
        """What the run read of an inlet for ``own`` of its blocks."""
        up, inlet, parts = self.project.assets.get(name), asset.inlets.get(name), pin.parts
        if up is not None and inlet is not None and inlet.view is not None:  # rows of any of its partitions
            return InletRead(name, up.uri, EVERYTHING, entry.token, pin.table_id, pin.version)
        if up is not None and inlet is not None:
            needed = self.project.dependency(asset, inlet)
            parts = parts & needed.required_partitions(own) if needed.is_mapped else parts
        before = pin.seq + 1 if inlet is not None and inlet.aligned else entry.token
        return InletRead(name, pin.uri, parts, before, pin.table_id, pin.version, pin.low)

    def _with_origins(self, read: InletRead, asked: _LineageQuery) -> InletRead:
        """The read with where that came from, as far back as was asked."""
        up = self.project.assets.get(read.asset)
        if up is None or up.uri != read.uri:
            return read
        blocks = read.parts if up.partitioning.is_partitioned else EVERYTHING
        depth = None if asked.depth is None else asked.depth - 1
        asking = _LineageQuery(blocks, read.before, read.table_id, read.version, depth)
        asking = self._query_visible(up, asking)
        origins = self._trace_query(up, asking) if depth != 0 else ()
        if up.partitioning.can_list(read.parts):
            return replace(read, origins=origins)
        return replace(read, origins=origins, parts=PartitionSet.union(each.blocks for each in origins) or EVERYTHING)

    def _query_visible(self, asset: AssetSpec, asked: _LineageQuery) -> _LineageQuery:
        """Of what was published and no column tells, what a reader saw: the newest take the place of the others."""
        if not isinstance(asset.write, PublishWrite) or asset.partitioning.has_columns:
            return asked
        return replace(asked, blocks=self._visible_partitions(asset, asked))

    def _visible_partitions(self, asset: AssetSpec, asked: _LineageQuery) -> PartitionSet:
        """The partitions of these iterations; of one where just its version was read."""
        seen, covered, one = NOTHING, NOTHING, not asset.partitioning.by_columns.is_partitioned
        for numbered in self.relevant_entries(asset, asked):
            entry = numbered.entry
            if not isinstance(entry, SuccessEntry | OutletEntry) or not entry.iteration:
                continue
            if one and entry.version == asked.version:
                return entry.published_partitions
            place = asset.partitioning.in_rows(entry.published_partitions)
            seen, covered = (seen | entry.published_partitions if place - covered else seen), covered | place
        return seen


def _visible_entries(told: Iterable[NumberedEntry], version: int | None) -> Iterator[NumberedEntry]:
    """What tells where the rows came from that readers saw: of what was rolled back to, its own run.

    What was published beside the newest counts for who read just that ``version``.
    """
    sought: dict[str, PartitionSet] = {}
    for numbered in told:
        entry = numbered.entry
        if not isinstance(entry, SuccessEntry | OutletEntry):
            yield numbered
        elif entry.restores:
            others = PartitionSet.union(sought.values())
            sought[entry.restores] = sought.get(entry.restores, NOTHING) | (entry.blocks - others)
        elif left := _visible_part(entry, sought, version):
            yield replace(numbered, entry=replace(entry, blocks=left, withheld=NOTHING))


def _visible_part(
    entry: SuccessEntry | OutletEntry, sought: Mapping[str, PartitionSet], version: int | None
) -> PartitionSet:
    """What readers saw of a run's blocks; ``sought`` are those that an earlier run than it may have published."""
    if entry.beside and entry.version != version and entry.run not in sought:
        return NOTHING
    hidden = PartitionSet.union(blocks for run, blocks in sought.items() if run != entry.run)
    return entry.published_partitions - hidden if hidden else entry.published_partitions


def _origin_of(asset: str, numbered: NumberedEntry, own: PartitionSet) -> PartitionOrigin:
    """What an entry tells of ``own`` of its partitions."""
    origin = PartitionOrigin(asset, "unknown", NOTHING, numbered.seq, to_unix(numbered.at))
    match numbered.entry:
        case SuccessEntry() | OutletEntry() as entry:
            return replace(
                origin,
                kind="run",
                run=entry.run,
                definition=entry.definition,
                table_id=entry.table_id,
                version=entry.version,
            )
        case MarkEntry() as entry:
            return replace(origin, kind="mark", note=f"marked as done by {entry.by}: {entry.reason}")
        case TargetEntry() as entry:
            return replace(origin, kind="lost", note=entry.found.reason)
        case ObservedEntry() as entry:
            note = _describe_files(entry, own)
            return replace(origin, kind="source", table_id=entry.table_id, version=entry.version, note=note)
        case EventEntry() as entry:
            return replace(origin, kind="event", run=entry.run, note=f"id {entry.id}" if entry.id is not None else "")
    raise TypeError(f"{numbered.entry!r} brings nothing")


def _describe_files(entry: ObservedEntry, own: PartitionSet) -> str:
    """How many files a look found that tells of these partitions, maybe among others; empty where it counted none."""
    files = entry.extra.get("files")
    if not isinstance(files, int):
        return ""
    told = f"{files:,} file{'' if files == 1 else 's'}"
    return told if own.covers(entry.changed) else f"among {told} that this look found"


def _foreign_changes(numbered: NumberedEntry) -> list[tuple[PartitionSet, str]]:
    """What others changed in an asset's table, as a look at it found."""
    if not isinstance(numbered.entry, TargetEntry):
        return []
    commits = numbered.entry.found.commits
    return [(commit.blocks, f"{commit.operation} in version {commit.version}") for commit in commits]


def _changes_touching(changed: list[tuple[PartitionSet, str]], own: PartitionSet) -> tuple[str, ...]:
    return tuple(what for blocks, what in changed if blocks.overlaps(own))


def _is_relevant(asset: AssetSpec, numbered: NumberedEntry, asked: _LineageQuery) -> bool:
    """Whether an entry tells of the table as it was read."""
    entry = numbered.entry
    if getattr(entry, "asset", None) not in (asset.name, None):
        return False
    if not isinstance(entry, _Success):
        return True
    if asked.table_id is not None and entry.table_id not in (asked.table_id, None):
        return False
    return asked.version is None or entry.version is None or entry.version <= asked.version


def _partitions_of_entry(numbered: NumberedEntry) -> PartitionSet:
    """The partitions of which an entry says where they came from."""
    match numbered.entry:
        case SuccessEntry() | OutletEntry() as entry:
            return entry.published_partitions
        case MarkEntry() as entry:
            return entry.came
        case TargetEntry() as entry:
            return entry.found.lost
        case ObservedEntry() as entry:
            return EVERYTHING if entry.whole else entry.changed
        case EventEntry() as entry:
            return entry.parts
    return NOTHING
