"""The fold: (state, entries) → state. What is pending follows from the journal's order alone, never from clocks.

An event is mapped to its consumers once, here. The success of a run that was claimed at n clears causes up to n
and no later one, so an update that arrives while a run computes is never lost (DESIGN section 8, "Pending, not
history"). The fold goes by the specs in the journal, not by the checkout's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import MappingProxyType

from sparkassets.core.instants import epoch
from sparkassets.core.journal.entries import (
    ClaimEntry,
    Entry,
    EventEntry,
    FailureEntry,
    ObservedEntry,
    PauseEntry,
    RenewEntry,
    SpecEntry,
    SuccessEntry,
    from_row,
)
from sparkassets.core.journal.rows import JournalRow
from sparkassets.core.journal.specs import FoldInlet, FoldSpec
from sparkassets.core.journal.state import (
    AssetState,
    ClaimState,
    DatasetState,
    EventRef,
    FailedBlocks,
    Instance,
    LastRun,
    State,
)
from sparkassets.core.partitions import RangeSet, StampedRanges

INSTANCES = 1000
"""Successes that an asset with aligned consumers remembers: more than Delta's log keeps of an hourly table."""


def fold(state: State, rows: Iterable[JournalRow], *, commit: int) -> State:
    """The state after ``rows`` (ascending by ``seq``), as of journal commit ``commit``.

    Raises:
        StateError: A row is damaged or of a newer format.
    """
    work = _Fold(state)
    for row in rows:
        work.apply(from_row(row), row)
    return work.result(commit)


class _Fold:
    """The mutable workspace of one call of `fold`; copies nothing that no entry touches."""

    def __init__(self, state: State) -> None:
        self._journal_id = state.journal_id
        self._seq = state.seq
        self._assets = dict(state.assets)
        self._datasets = dict(state.datasets)
        self._consumers = dict(state.consumers)
        self._fresh: dict[str, list[EventRef]] = {}  # events that are not in their dataset's tuple yet

    def result(self, commit: int) -> State:
        for uri in list(self._fresh):
            self._keep(uri)
        return State(self._journal_id, self._seq, commit, self._assets, self._datasets, self._consumers)

    def apply(self, entry: Entry, row: JournalRow) -> None:
        self._seq = row.seq
        match entry:
            case SpecEntry(asset, spec):
                self._spec(asset, spec, row)
            case EventEntry():
                self._publish(_ref(row, entry.ranges, entry.interval, entry.at), row)
            case ObservedEntry():
                self._observed(entry, row)
            case ClaimEntry():
                self._claim(entry, row)
            case RenewEntry(claims):
                for name, claim in claims:
                    self._renew(name, claim, row.seq)
            case SuccessEntry():
                self._success(entry, row)
            case FailureEntry():
                self._failure(entry)
            case PauseEntry(asset, paused):
                self._assets[asset] = replace(self._assets[asset], paused=paused)

    # ------------------------------------------------------------------ specs

    def _spec(self, name: str, spec: FoldSpec, row: JournalRow) -> None:
        old = self._assets.get(name)
        if old is None or old.spec.uri != spec.uri:
            # what was computed stands elsewhere: at the new place nothing is there yet
            asset = AssetState(name, spec, chain=old.chain if old else (), paused=bool(old and old.paused))
        else:
            asset = replace(old, spec=spec)
        if old is not None:
            self._listen(name, old.spec, present=False)
        self._listen(name, spec, present=True)
        kept = {inlet.name: asset.stale[inlet.name] for inlet in spec.inlets if inlet.name in asset.stale}
        partly = {uri: items for uri, items in asset.partly.items() if uri in spec.listens}
        self._assets[name] = replace(asset, stale=kept, partly=partly)
        for inlet in spec.inlets:
            if old is not None and _inlet(old.spec, inlet.name) is None and asset.coverage:
                # an inlet that came new: what was computed without it is out of date
                dataset = self._dataset(inlet.uri)
                if dataset.seq:
                    self._mark_stale(name, inlet, dataset.coverage, seq=row.seq, whole=inlet.mapping is None)

    def _listen(self, name: str, spec: FoldSpec, *, present: bool) -> None:
        for uri in spec.listens:
            others = tuple(pair for pair in self._consumers.get(uri, ()) if pair[0] != name)
            own = [(name, inlet) for inlet in spec.readers(uri)] if present else ()
            self._consumers[uri] = (*others, *own)

    # ------------------------------------------------------------------ events

    def _observed(self, entry: ObservedEntry, row: JournalRow) -> None:
        asset = self._assets.get(entry.asset)
        if asset is not None:
            position = {**asset.position, **entry.cursor}
            self._assets[entry.asset] = replace(
                asset,
                position={key: value for key, value in position.items() if value is not None},
                table_id=entry.table_id or asset.table_id,
                version=entry.version if entry.version is not None else asset.version,
            )
        if entry.is_event:
            self._publish(_ref(row, entry.changed), row, removed=entry.removed, whole=entry.whole)
        elif entry.version is not None:
            dataset = self._dataset(entry.uri)
            if dataset.seq:  # a move without a change, such as OPTIMIZE: readers may pin the newer version
                self._datasets[entry.uri] = replace(dataset, table_id=entry.table_id, version=entry.version)

    def _publish(self, ref: EventRef, row: JournalRow, *, removed: RangeSet | None = None, whole: bool = False) -> None:
        dataset = self._dataset(ref.uri)
        consumers = self._consumers.get(ref.uri, ())
        coverage = dataset.coverage | ref.ranges
        moved = row.table_id is not None
        touched = ref.ranges | removed if removed else ref.ranges
        self._datasets[ref.uri] = replace(
            dataset,
            coverage=coverage - removed if removed else coverage,
            seq=ref.seq,
            at=epoch(row.at),
            table_id=row.table_id if moved else dataset.table_id,
            version=row.version if moved else dataset.version,
            recent=dataset.recent if consumers else (),
            touched=self._unsettled(dataset.touched, consumers, touched, epoch(row.at)),
        )
        if consumers:
            self._fresh.setdefault(ref.uri, []).append(ref)
        else:
            self._fresh.pop(ref.uri, None)
        for name, inlet_name in consumers:
            inlet = _inlet(self._assets[name].spec, inlet_name)
            if inlet is not None:
                self._mark_stale(name, inlet, touched, seq=ref.seq, whole=whole and not touched)

    def _unsettled(
        self, touched: StampedRanges, consumers: Sequence[tuple[str, str]], changed: RangeSet, at: int
    ) -> StampedRanges:
        """When time of the dataset was last updated, as far back as some consumer's ``settle`` goes."""
        inlets = (_inlet(self._assets[name].spec, inlet_name) for name, inlet_name in consumers)
        settle = max((inlet.settle for inlet in inlets if inlet is not None), default=0)
        if not settle:
            return StampedRanges()
        return touched.clear(touched.ranges(), through=at - settle).overlay(changed, at)

    def _mark_stale(self, name: str, inlet: FoldInlet, changed: RangeSet, *, seq: int, whole: bool) -> None:
        """Overlays what ``changed`` of the inlet touches in the consumer with the cause ``seq``."""
        asset = self._assets[name]
        down = asset.spec.partition
        if down is None:
            return  # an asset without partitions compares the dataset's number with what it consumed
        computed = asset.coverage | _claimed(asset)
        if inlet.mapping is not None and inlet.partition is not None and changed and not whole:
            affected = inlet.mapping.down(changed, down=down, up=inlet.partition)
        else:
            affected = computed
        if inlet.on_update == "ignore":
            affected = affected - computed  # only a new cause for what failed
        if affected:
            marks = asset.stale.get(inlet.name, StampedRanges())
            self._assets[name] = replace(asset, stale={**asset.stale, inlet.name: marks.overlay(affected, seq)})

    # ------------------------------------------------------------------ runs

    def _claim(self, entry: ClaimEntry, row: JournalRow) -> None:
        asset = self._assets[entry.asset]
        claim = ClaimState(row.seq, entry, row.driver, epoch(row.at), row.seq)
        self._assets[entry.asset] = replace(asset, chain=(*asset.chain, claim))

    def _renew(self, name: str, claim: int, seq: int) -> None:
        asset = self._assets.get(name)
        if asset is not None:
            chain = tuple(replace(link, renewed=seq) if link.epoch == claim else link for link in asset.chain)
            self._assets[name] = replace(asset, chain=chain)

    def _success(self, entry: SuccessEntry, row: JournalRow) -> None:
        asset = self._assets[entry.asset]
        claim = next((link for link in asset.chain if link.epoch == entry.epoch), None)
        claimed = claim.entry if claim is not None else None
        blocks = entry.blocks
        changes: dict[str, object] = {}
        if blocks is not None:
            changes["coverage"] = asset.coverage | blocks
            kept = _unused(asset.spec, claimed)
            cleared = {
                name: marks if name in kept else marks.clear(blocks, through=entry.epoch)
                for name, marks in asset.stale.items()
            }
            changes["stale"] = {name: marks for name, marks in cleared.items() if marks}
            changes["partly"] = self._partly(asset, blocks, claimed)
        if claimed is not None and claimed.kind == "scheduled":
            changes["consumed"] = {**asset.consumed, **claimed.consumes}
            changes["ticks"] = {**asset.ticks, **claimed.ticks}
            changes["watermarks"] = {**asset.watermarks, **entry.watermarks}
            if claimed.cursor is not None:
                changes["cursor"] = max(claimed.cursor, asset.cursor or claimed.cursor)
        if entry.interval is not None and self._aligned(entry.uri, entry.asset):
            found = Instance(entry.interval[1], row.seq, entry.table_id, entry.version)
            others = [each for each in asset.instances if each.end != found.end]
            changes["instances"] = tuple(sorted([*others, found], key=lambda each: each.end)[-INSTANCES:])
        rows = entry.extra.get("rows")
        intervals = [asset.last.interval if asset.last else None, entry.interval]
        latest = max((each for each in intervals if each is not None), key=lambda each: each[1], default=None)
        self._assets[entry.asset] = replace(
            asset,
            done=max(asset.done, entry.epoch),
            table_id=entry.table_id,
            version=entry.version,
            chain=(),
            failed=_without(asset.failed, blocks),
            last=LastRun(
                run=entry.run,
                seq=row.seq,
                at=epoch(row.at),
                rows=rows if isinstance(rows, int) else None,
                interval=latest,
                invocation=claimed.invocation if claimed else "",
                planned=claimed.planned if claimed else 0,
            ),
            **changes,  # type: ignore[arg-type]  # keys are AssetState's own fields
        )
        self._publish(_ref(row, blocks or RangeSet(), entry.interval), row, whole=blocks is None)
        for uri in asset.spec.listens:
            self._forget(uri)

    def _partly(
        self, asset: AssetState, blocks: RangeSet, claim: ClaimEntry | None
    ) -> dict[str, tuple[tuple[int, RangeSet], ...]]:
        """What has still to answer events that the asset has used for some blocks only, now that ``blocks`` have."""
        found = {}
        for uri in asset.spec.listens:
            items = [(seq, ranges - blocks) for seq, ranges in asset.partly.get(uri, ())]
            if claim is not None and claim.kind == "scheduled" and claim.left:
                self._keep(uri)
                before, used = asset.consumed.get(uri, 0), claim.consumes.get(uri, 0)
                refs = (ref for ref in self._dataset(uri).recent if before < ref.seq <= used)
                items += [(ref.seq, _answering(asset.spec, ref, claim) - blocks) for ref in refs]
            rest = tuple((seq, ranges) for seq, ranges in items if ranges)
            if rest:
                found[uri] = rest
        return found

    def _aligned(self, uri: str, name: str) -> bool:
        """Whether some consumer is aligned to the runs of asset ``name``."""
        for consumer, inlet_name in self._consumers.get(uri, ()):
            inlet = _inlet(self._assets[consumer].spec, inlet_name)
            if inlet is not None and inlet.aligned and inlet.name == name:
                return True
        return False

    def _forget(self, uri: str) -> None:
        """Drops the events of a dataset that every consumer has used."""
        self._keep(uri)
        dataset = self._datasets.get(uri)
        if dataset is None or not dataset.recent:
            return
        consumers = [self._assets[name] for name, _ in self._consumers.get(uri, ())]
        used = min((asset.consumed.get(uri, 0) for asset in consumers), default=0)
        if dataset.recent[0].seq <= used:
            partly = {seq for asset in consumers for seq, _ in asset.partly.get(uri, ())}
            recent = tuple(ref for ref in dataset.recent if ref.seq > used or ref.seq in partly)
            self._datasets[uri] = replace(dataset, recent=recent)

    def _keep(self, uri: str) -> None:
        """Moves the events that were folded one by one to the others of their dataset."""
        fresh = self._fresh.pop(uri, None)
        if fresh:
            dataset = self._dataset(uri)
            self._datasets[uri] = replace(dataset, recent=(*dataset.recent, *fresh))

    def _failure(self, entry: FailureEntry) -> None:
        asset = self._assets[entry.asset]
        failed = FailedBlocks(entry.blocks, entry.epoch, entry.run, entry.cause, entry.error, entry.invocation)
        if entry.fenced:
            chain: tuple[ClaimState, ...] = ()
        else:
            newest = entry.epoch
            chain = tuple(replace(link, status="unfenced") if link.epoch == newest else link for link in asset.chain)
        self._assets[entry.asset] = replace(asset, chain=chain, failed=(*_without(asset.failed, entry.blocks), failed))

    def _dataset(self, uri: str) -> DatasetState:
        return self._datasets.get(uri) or DatasetState(uri)


def _inlet(spec: FoldSpec, name: str) -> FoldInlet | None:
    return next((inlet for inlet in spec.inlets if inlet.name == name), None)


def _unused(spec: FoldSpec, claim: ClaimEntry | None) -> set[str]:
    """The inlets whose updates a run leaves for another time: its condition holds without the part that names them."""
    if claim is None or claim.kind != "scheduled":
        return set()
    return {inlet.name for inlet in spec.inlets if inlet.uri not in claim.consumes}


def _answering(spec: FoldSpec, ref: EventRef, claim: ClaimEntry) -> RangeSet:
    """What the run left of the time that the event touches; of what nothing maps, only what was over by then."""
    down, blocks = spec.partition, RangeSet()
    if down is None:
        return blocks
    for name in spec.readers(ref.uri):
        inlet = _inlet(spec, name)
        if inlet is not None and inlet.mapping is not None and inlet.partition is not None and ref.ranges:
            blocks = blocks | (inlet.mapping.down(ref.ranges, down=down, up=inlet.partition) & claim.left)
        else:
            blocks = blocks | claim.left.clip(None, down.floor(claim.planned))
    return blocks


def _claimed(asset: AssetState) -> RangeSet:
    blocks = RangeSet()
    for link in asset.chain:
        blocks = blocks | (link.entry.blocks or RangeSet())
    return blocks


def _without(failed: tuple[FailedBlocks, ...], blocks: RangeSet | None) -> tuple[FailedBlocks, ...]:
    """What is still failed when ``blocks`` no longer are; None is the whole asset."""
    if blocks is None:
        return ()
    rest = []
    for item in failed:
        ranges = item.ranges - blocks if item.ranges is not None else None
        if ranges:
            rest.append(replace(item, ranges=ranges))
    return tuple(rest)


def _ref(row: JournalRow, ranges: RangeSet, interval: tuple[int, int] | None = None, at: int | None = None) -> EventRef:
    extra = MappingProxyType(json.loads(row.extra)) if row.extra else MappingProxyType({})
    when = epoch(row.at) if at is None else at
    return EventRef(row.seq, row.uri or "", row.asset, when, ranges, extra, row.run, interval)
