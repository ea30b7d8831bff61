"""Traces partitions back to the runs that computed them, and to the inlet versions and partitions these runs read.

The journal is read from its newest entry back, only as far as necessary: a partition holds the rows of the newest run
that computed it. A run read what was recorded before its claim, so its inlets are looked up as of its claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Literal

from sparkassets.core.instants import to_unix
from sparkassets.core.journal.entries import (
    EventEntry,
    NumberedEntry,
    ObservedEntry,
    OutletEntry,
    PublishedEntry,
    SuccessEntry,
)
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.journal.state import State
from sparkassets.core.journal.table_findings import TargetEntry
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.runs import InletPin
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.frozen import frozen, replace

KINDS = ("success", "outlet", "mark", "target", "observed", "event")
"""The kinds of entries that record where data came from."""

EntryHistory = Callable[[str], Iterator[NumberedEntry]]
"""Yields the entries of `KINDS` for a dataset, newest first, and reads each only when it is asked for."""

OriginKind = Literal["run", "mark", "source", "event", "lost", "missing", "unknown"]


@frozen
class InletRead:
    """What a run read of one inlet, for the partitions that are traced.

    Attributes:
        asset: The inlet's name.
        table_id, version: Position in a Delta table; None for files.
        parts: Partitions that it read for the partitions in question; everything for the whole inlet.
        before: Sequence number from which on entries came too late for the run.
        low: The watermark above which it read; None where it read all.
        origins: Origins of ``parts``; empty where the trace does not go that far.
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
    """Where some partitions of an asset came from: one run, or another entry of the journal.

    Attributes:
        kind: ``run`` computed them, a ``mark`` accepted them, a ``source`` or an ``event`` brought them; they are
            ``lost``, ``missing`` (never present), or ``unknown`` to the journal.
        partitions: Everything for an asset without partitions.
        seq: Sequence number of the entry that records the origin; None where there is none.
        at: When it was recorded, Unix seconds; None likewise.
        definition: Id of the definition that computed them.
        table_id, version: Position in the asset's own table.
        note: Further details for people: the reason of a loss or mark, the number of files.
        changed: Later changes by other writers in the table, one phrase each.
        reads: One for each inlet of the run.
        again: The same origin stands elsewhere in the tree already, with its own reads.
    """

    asset: str
    kind: OriginKind
    partitions: PartitionSet
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
        origins: Newest first, one for each run or other entry.
    """

    asset: str
    partitions: PartitionSet
    origins: tuple[PartitionOrigin, ...]


def trace_lineage(
    project: ProjectSpec,
    state: State,
    history: EntryHistory,
    *,
    asset: AssetSpec,
    partitions: PartitionSet,
    depth: int | None = None,
) -> PartitionLineage:
    """Traces ``partitions`` of an asset; where these are open in time, only the present ones.

    Args:
        project: Has the assets.
        state: The present state.
        history: The journal, by dataset.
        asset: Asset of the partitions.
        partitions: Whole partitions; everything for an asset without.
        depth: How many runs to go back; None to go up to the sources.
    """
    if not asset.partitioning.can_list(partitions):
        partitions = partitions & _present_partitions(asset, state)
    return PartitionLineage(
        asset.name, partitions, _LineageTracer(project, state, history).trace_present(asset, partitions, depth)
    )


def newest_origins(
    project: ProjectSpec, state: State, history: EntryHistory, *, asset: AssetSpec
) -> Iterator[PartitionOrigin]:
    """Yields the origins of an asset's present partitions, newest first, without what the runs read.

    Partitions that no entry of ``history`` records have no origin.
    """
    partitions = _present_partitions(asset, state)
    state_of_asset = state.assets.get(asset.name)
    query = _LineageQuery(partitions, table_id=state_of_asset.table_id if state_of_asset is not None else None)
    for numbered in _LineageTracer(project, state, history).relevant_entries(asset, query) if partitions else ():
        if entry_partitions := _partitions_of_entry(numbered) & partitions:
            yield replace(_build_origin(asset.name, numbered, entry_partitions), partitions=entry_partitions)
            partitions = partitions - entry_partitions  # an older entry of these is no longer their origin
            if not partitions:
                return


def _present_partitions(asset: AssetSpec, state: State) -> PartitionSet:
    """The partitions that the asset holds now."""
    asset_state = state.assets.get(asset.name)
    if asset.source is not None or asset_state is None:
        return state.dataset(asset.uri).coverage
    return asset_state.coverage


@frozen
class _LineageQuery:
    """The partitions of one asset to trace, and as of when.

    Attributes:
        before: Only entries with a smaller sequence number count; by default all do.
        table_id, version: Position in the table at which it was read; None where that is unknown.
        depth: How many runs to go back from here; None for no limit.
    """

    partitions: PartitionSet
    before: int = 1 << 62
    table_id: str | None = None
    version: int | None = None
    depth: int | None = None


@frozen
class _LineageTracer:
    """Traces partitions through the journal, one asset at a time.

    Attributes:
        project: Has the assets and their inlets.
        state: The present state.
        history: The journal, by dataset.
        visited: (asset, sequence number, partitions) of the runs whose reads are in the tree already.
    """

    project: ProjectSpec
    state: State
    history: EntryHistory
    visited: set[tuple[str, int, PartitionSet]] = field(default_factory=set)

    def trace_present(
        self, asset: AssetSpec, partitions: PartitionSet, depth: int | None
    ) -> tuple[PartitionOrigin, ...]:
        """The origins of present ``partitions``, and one origin of the kind ``missing`` for absent ones."""
        asset_state = self.state.assets.get(asset.name)
        # a whole asset has no absent partitions; `_untraced_origins` says whether it was ever present
        missing = partitions - _present_partitions(asset, self.state) if asset.partitioning.is_partitioned else NOTHING
        table_id = asset_state.table_id if asset_state is not None else None
        origins = (
            self._trace_query(asset, _LineageQuery(partitions - missing, table_id=table_id, depth=depth))
            if partitions - missing
            else ()
        )
        return (*origins, *([PartitionOrigin(asset.name, "missing", missing)] if missing else []))

    def _trace_query(self, asset: AssetSpec, query: _LineageQuery) -> tuple[PartitionOrigin, ...]:
        """The origins of the query's partitions, newest first, one for each entry that records some of them.

        Where the partitions are open in time, only those that were ever present are traced.
        """
        is_open, origins = not asset.partitioning.can_list(query.partitions), list[PartitionOrigin]()
        untraced = query.partitions & self.state.dataset(asset.uri).ever_present if is_open else query.partitions
        foreign_changes = list[tuple[PartitionSet, str]]()
        for numbered in self.relevant_entries(asset, query) if untraced else ():
            foreign_changes += _foreign_changes(numbered)
            if entry_partitions := _partitions_of_entry(numbered) & untraced:
                origins.append(
                    self._trace_entry(
                        asset,
                        numbered,
                        query,
                        partitions=entry_partitions,
                        changed=tuple(phrase for parts, phrase in foreign_changes if parts.overlaps(entry_partitions)),
                    )
                )
                untraced = untraced - entry_partitions
                if not untraced:
                    return tuple(origins)
        return (*origins, *([] if is_open else self._untraced_origins(asset, untraced)))

    def _untraced_origins(self, asset: AssetSpec, untraced: PartitionSet) -> Iterator[PartitionOrigin]:
        """Yields the origins of partitions that no entry records: ``missing`` if never present, else ``unknown``.

        The entry of an unknown one has expired.
        """
        dataset = self.state.dataset(asset.uri)
        never_present = untraced if not dataset.seq else NOTHING
        if asset.partitioning.is_partitioned:
            never_present = untraced - dataset.ever_present
        if untraced - never_present:
            yield PartitionOrigin(asset.name, "unknown", untraced - never_present)
        if never_present:
            yield PartitionOrigin(asset.name, "missing", never_present)

    def relevant_entries(self, asset: AssetSpec, query: _LineageQuery) -> Iterator[NumberedEntry]:
        """Yields the entries that may be origins for the query, newest first."""
        entries = (each for each in self.history(asset.uri) if each.seq < query.before)
        return _visible_entries((each for each in entries if _is_relevant(asset, each, query)), query.version)

    def _trace_entry(
        self,
        asset: AssetSpec,
        numbered: NumberedEntry,
        query: _LineageQuery,
        *,
        partitions: PartitionSet,
        changed: tuple[str, ...],
    ) -> PartitionOrigin:
        """The origin that an entry records for ``partitions``; that of a run comes with what it read.

        ``changed`` are phrases for later changes by other writers.
        """
        origin = replace(_build_origin(asset.name, numbered, partitions), partitions=partitions, changed=changed)
        entry = numbered.entry
        return self._with_reads(asset, entry, origin, query) if isinstance(entry, PublishedEntry) else origin

    def _with_reads(
        self, asset: AssetSpec, entry: PublishedEntry, origin: PartitionOrigin, query: _LineageQuery
    ) -> PartitionOrigin:
        """Adds the run's reads to its origin.

        Where the tree has them already, the origin only says so (``again``), or a diamond would repeat them.
        """
        key = (asset.name, origin.seq or 0, origin.partitions)  # the same partitions of the same run
        if key in self.visited:
            return replace(origin, again=True)
        self.visited.add(key)
        asset = self.project.assets.get(asset.written_by, asset)
        reads = (self._read_of_inlet(asset, name, pin, entry, origin.partitions) for name, pin in entry.pins.items())
        return replace(origin, reads=tuple(self._with_origins(read, query) for read in reads))

    def _read_of_inlet(
        self, asset: AssetSpec, name: str, pin: InletPin, entry: PublishedEntry, partitions: PartitionSet
    ) -> InletRead:
        """What the run read of an inlet to compute ``partitions`` of its partitions.

        An inlet that is mapped by values in its rows counts as read whole, as these may stand in any partition.
        """
        upstream, inlet, parts = self.project.assets.get(name), asset.inlets.get(name), pin.parts
        if upstream is not None and inlet is not None and inlet.view is not None:
            return InletRead(name, upstream.uri, EVERYTHING, entry.token, pin.table_id, pin.version)
        if upstream is not None and inlet is not None:
            dependency = self.project.dependency(asset, inlet)
            parts = parts & dependency.required_partitions(partitions) if dependency.is_mapped else parts
        # an aligned run may read an older version than the newest at its claim, so only entries up to the pin count
        before = pin.seq + 1 if inlet is not None and inlet.aligned else entry.token
        return InletRead(name, pin.uri, parts, before, pin.table_id, pin.version, pin.low)

    def _with_origins(self, read: InletRead, query: _LineageQuery) -> InletRead:
        """The read with the origins of what it read, as far back as the query's depth allows.

        Without origins where the project no longer has the inlet under the same URI.
        """
        upstream = self.project.assets.get(read.asset)
        if upstream is None or upstream.uri != read.uri:
            return read
        partitions = read.parts if upstream.partitioning.is_partitioned else EVERYTHING
        depth = None if query.depth is None else query.depth - 1
        upstream_query = self._query_visible(
            upstream, _LineageQuery(partitions, read.before, read.table_id, read.version, depth)
        )
        origins = self._trace_query(upstream, upstream_query) if depth != 0 else ()
        if upstream.partitioning.can_list(read.parts):
            return replace(read, origins=origins)
        return replace(
            read, origins=origins, parts=PartitionSet.union(each.partitions for each in origins) or EVERYTHING
        )

    def _query_visible(self, asset: AssetSpec, query: _LineageQuery) -> _LineageQuery:
        """Restricts the query to the iterations that a reader saw, where no column of the rows names the partitions."""
        if not asset.publishes or asset.partitioning.has_columns:
            return query
        return replace(query, partitions=self._visible_partitions(asset, query))

    def _visible_partitions(self, asset: AssetSpec, query: _LineageQuery) -> PartitionSet:
        """The partitions of the iterations that a reader of the query's version saw.

        Where the columns of the rows name no partitions and one iteration has exactly that version, only that one was
        read.
        """
        # entries come newest first: an iteration is visible where no newer one has covered its place in the rows
        visible, covered, is_single = NOTHING, NOTHING, not asset.partitioning.by_columns.is_partitioned
        for numbered in self.relevant_entries(asset, query):
            entry = numbered.entry
            if not isinstance(entry, PublishedEntry) or not entry.iteration:
                continue
            if is_single and entry.version == query.version:
                return entry.published_partitions
            row_partitions = asset.partitioning.widen_to_rows(entry.published_partitions)
            visible = visible | entry.published_partitions if row_partitions - covered else visible
            covered = covered | row_partitions
        return visible


def _visible_entries(entries: Iterable[NumberedEntry], version: int | None) -> Iterator[NumberedEntry]:
    """Yields the entries whose rows readers saw, newest first: after a rollback, the run that was rolled back to.

    An iteration that was published beside the newest counts only for readers of exactly that ``version``.
    """
    # by run, the partitions that a later rollback to it made visible
    restored: dict[str, PartitionSet] = {}
    for numbered in entries:
        entry = numbered.entry
        if not isinstance(entry, PublishedEntry):
            yield numbered
        elif entry.restores:
            # a later rollback, which comes first here, has decided for its partitions
            restored_elsewhere = PartitionSet.union(restored.values())
            restored[entry.restores] = restored.get(entry.restores, NOTHING) | (entry.partitions - restored_elsewhere)
        elif visible := _visible_part(entry, restored, version):
            yield replace(numbered, entry=replace(entry, partitions=visible, withheld=NOTHING))


def _visible_part(entry: PublishedEntry, restored: Mapping[str, PartitionSet], version: int | None) -> PartitionSet:
    """The partitions of a run that readers saw; nothing where a rollback or a newer iteration hid all.

    ``restored`` has, by run, the partitions that later rollbacks made visible.
    """
    if entry.is_hidden_iteration and entry.version != version and entry.run not in restored:
        return NOTHING
    hidden = PartitionSet.union(partitions for run, partitions in restored.items() if run != entry.run)
    return entry.published_partitions - hidden if hidden else entry.published_partitions


def _build_origin(asset: str, numbered: NumberedEntry, partitions: PartitionSet) -> PartitionOrigin:
    """The origin that an entry records for ``partitions`` of its partitions."""
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
            note = _describe_files(entry, partitions)
            return replace(origin, kind="source", table_id=entry.table_id, version=entry.version, note=note)
        case EventEntry() as entry:
            return replace(origin, kind="event", run=entry.run, note=f"id {entry.id}" if entry.id is not None else "")
    raise TypeError(f"{numbered.entry!r} records no origin")


def _describe_files(entry: ObservedEntry, partitions: PartitionSet) -> str:
    """How many files an observation of a source found, for a note; empty where it counted none.

    It says "among" where it counted the files of further partitions, too.
    """
    files = entry.extra.get("files")
    if not isinstance(files, int):
        return ""
    text = f"{files:,} file{'' if files == 1 else 's'}"
    return text if partitions.covers(entry.changed) else f"among {text} that this look found"


def _foreign_changes(numbered: NumberedEntry) -> list[tuple[PartitionSet, str]]:
    """The changes by other writers that a look at the asset's table found, as (partitions, phrase); mostly none."""
    if not isinstance(numbered.entry, TargetEntry):
        return []
    commits = numbered.entry.found.commits
    return [(commit.partitions, f"{commit.operation} in version {commit.version}") for commit in commits]


def _is_relevant(asset: AssetSpec, numbered: NumberedEntry, query: _LineageQuery) -> bool:
    """Whether an entry may be an origin for the query: it fits the asset, its table and the version that was read."""
    entry = numbered.entry
    if getattr(entry, "asset", None) not in (asset.name, None):  # an event may name its dataset only by the URI
        return False
    if not isinstance(entry, PublishedEntry):
        return True
    if query.table_id is not None and entry.table_id not in (query.table_id, None):
        return False
    return query.version is None or entry.version is None or entry.version <= query.version


def _partitions_of_entry(numbered: NumberedEntry) -> PartitionSet:
    """The partitions whose origin an entry records; nothing for an entry that brings no data."""
    match numbered.entry:
        case SuccessEntry() | OutletEntry() as entry:
            return entry.published_partitions
        case MarkEntry() as entry:
            return entry.made_present
        case TargetEntry() as entry:
            return entry.found.lost
        case ObservedEntry() as entry:
            return EVERYTHING if entry.whole else entry.changed
        case EventEntry() as entry:
            return entry.parts
    return NOTHING
