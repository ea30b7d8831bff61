"""The fold: (state, entries) → state. What is pending follows from the journal's order alone, never from clocks.

An event is mapped to its consumers once, here. The success of a run that was claimed at n clears causes up to n
and no later one, so an update that arrives while a run computes is never lost (DESIGN section 8, "Pending, not
history"). The fold goes by the specs in the journal, not by the checkout's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sparkassets.core.instants import unix
from sparkassets.core.journal.entries import (
    NOT_TRIED,
    ClaimEntry,
    EventEntry,
    FailureEntry,
    Numbered,
    ObservedEntry,
    PauseEntry,
    RenewEntry,
    SpecEntry,
    SuccessEntry,
)
from sparkassets.core.journal.found import TargetEntry
from sparkassets.core.journal.losses import after_look, after_success, replaced_under
from sparkassets.core.journal.removal import bereft, computed, restored
from sparkassets.core.journal.specs import FoldInlet, FoldSpec
from sparkassets.core.journal.state import (
    AssetState,
    ClaimState,
    DatasetState,
    EventRef,
    FailedBlocks,
    Instance,
    LastRun,
    Partly,
    State,
)
from sparkassets.core.partitions import RangeSet, StampedRanges
from sparkassets.core.partitions.growing import GrowingRanges, GrowingStamps
from sparkassets.core.runs import RunRequest

T = TypeVar("T")

INSTANCES = 1000
"""Successes that an asset with aligned consumers remembers: more than Delta's log keeps of an hourly table."""


def fold(state: State, entries: Iterable[Numbered], *, commit: int) -> State:
    """The state after ``entries`` (ascending by ``seq``), as of journal commit ``commit``."""
    work = _Fold(state)
    for numbered in entries:
        work.apply(numbered)
    return work.result(commit)


class _Fold:
    """The mutable workspace of one call of `fold`; copies nothing that no entry touches."""

    def __init__(self, state: State) -> None:
        self._journal_id = state.journal_id
        self._seq = state.seq
        self._assets = dict(state.assets)
        self._datasets = dict(state.datasets)
        self._consumers = dict(state.consumers)
        self._keepers = dict(state.keepers)
        self._fresh: dict[str, list[EventRef]] = {}  # events that are not in their dataset's tuple yet
        self._growing: dict[str, GrowingRanges] = {}  # coverage of datasets that is not in them yet
        self._marking: dict[str, dict[str, GrowingStamps]] = {}  # what is stale likewise, by asset and inlet

    def result(self, commit: int) -> State:
        for uri in list(self._fresh):
            self._keep(uri)
        for uri in list(self._growing):
            self._dataset(uri)
        for name in list(self._marking):
            self._marked(name)
        return State(self._journal_id, self._seq, commit, self._assets, self._datasets, self._consumers, self._keepers)

    def apply(self, numbered: Numbered) -> None:
        self._seq, entry = numbered.seq, numbered.entry
        match entry:
            case SpecEntry(asset, spec):
                self._spec(asset, spec, numbered)
            case EventEntry():
                self._publish(numbered)
            case ObservedEntry():
                self._observed(entry, numbered)
            case TargetEntry():
                self._found(entry, numbered)
                self._publish(numbered, whole=entry.whole)
            case ClaimEntry():
                self._claim(entry, numbered)
            case RenewEntry(claims):
                self._renew(claims, numbered.seq)
            case SuccessEntry():
                self._success(entry, numbered)
            case FailureEntry():
                self._failure(entry)
            case PauseEntry(asset, paused):
                self._assets[asset] = replace(self._assets[asset], paused=paused)

    # ------------------------------------------------------------------ specs

    def _spec(self, name: str, spec: FoldSpec, numbered: Numbered) -> None:
        old = self._marked(name)
        if old is None:
            asset = AssetState(name, spec)
        elif old.spec.storage != spec.storage or (spec.storage is None and old.spec.uri != spec.uri):
            # what was computed stands elsewhere: at the new place nothing is there yet
            asset = AssetState(name, spec, chain=old.chain, paused=old.paused, placed=numbered.seq)
            if not self._shared(spec.uri, name):
                self._datasets[spec.uri] = replace(self._dataset(spec.uri), coverage=RangeSet(), gone=RangeSet())
        else:
            if old.spec.uri != spec.uri:
                self._renamed(name, old.spec.uri, spec.uri)
            asset = replace(self._assets[name], spec=spec)
        asset = self._naming(asset, old.spec if old is not None else None)
        stale = {inlet.name: asset.stale[inlet.name] for inlet in spec.inlets if inlet.name in asset.stale}
        keeping = [inlet.name for inlet in spec.inlets if inlet.on_removed == "keep"]
        kept = {inlet: marks for inlet, marks in asset.kept.items() if inlet in keeping}
        self._assets[name] = replace(asset, stale=stale, kept=kept)
        for inlet in spec.inlets:
            if inlet.name in asset.kept and inlet.name not in kept:  # `rerun` now: what was removed counts after all
                self._overlay(name, inlet, asset.kept[inlet.name].ranges(), seq=numbered.seq)
        self._listen(name, old)
        for inlet in spec.inlets:
            if old is not None and _inlet(old.spec, inlet.name) is None and asset.coverage:
                # an inlet that came new: what was computed without it is out of date
                dataset = self._dataset(inlet.uri)
                if dataset.seq:
                    self._mark_stale(name, inlet, dataset.coverage, seq=numbered.seq, whole=inlet.mapping is None)

    def _naming(self, asset: AssetState, before: FoldSpec | None) -> AssetState:
        """With what it has not used of the datasets that its condition names no more, or names again, or anew.

        Of a dataset that it names no more it keeps what it has not used. Of one that it names anew the newest event is
        for it, whatever others have not used.
        """
        named, was = asset.spec.named, before.named if before is not None else ()
        for uri in (uri for uri in named if uri not in was):
            asset = self._settled(asset, uri, newest=True)
        parted = {uri: seq for uri, seq in asset.parted.items() if uri not in named}
        for uri in was:
            newest = self._dataset(uri).seq
            if uri not in named and (newest > asset.consumed.get(uri, 0) or uri in asset.partly):
                parted[uri] = newest
        listened = set(before.listens) if before is not None else set()
        gone = listened - set(asset.spec.listens) - parted.keys()
        partly = {key: items for key, items in asset.partly.items() if key not in gone}
        return replace(asset, parted=parted, partly=partly)

    def _settled(self, asset: AssetState, uri: str, *, newest: bool = False) -> AssetState:
        """With all events of a dataset used, but for those that are told one by one to be not.

        These are what it keeps of it, and with ``newest`` the last one if it came since.
        """
        self._keep(uri)
        dataset, items = self._dataset(uri), dict(asset.partly.get(uri, ()))
        used, until = asset.consumed.get(uri, 0), asset.parted.get(uri, 0)
        until = dataset.seq if not newest and uri in asset.spec.named else until
        for ref in dataset.recent:
            if used < ref.seq and (ref.seq <= until or (newest and ref is dataset.recent[-1])):
                items[ref.seq] = _answering(asset.spec, ref, RangeSet.always(), RangeSet.always())
        if not items and used >= dataset.seq:
            return asset
        consumed = {**asset.consumed, uri: max(used, dataset.seq)}
        return replace(asset, consumed=consumed, partly=_with(asset.partly, uri, items))

    def _listen(self, name: str, old: AssetState | None) -> None:
        """Notes who goes by which dataset, now that the asset changed."""
        new = self._assets[name]
        for uri in {*new.spec.listens, *(old.spec.listens if old is not None else ())}:
            others = tuple(pair for pair in self._consumers.get(uri, ()) if pair[0] != name)
            own = [(name, inlet) for inlet in new.spec.readers(uri)] if uri in new.spec.listens else ()
            _set(self._consumers, uri, tuple(sorted([*others, *own])))
        for uri in {*_kept(new), *(_kept(old) if old is not None else ())}:
            rest = tuple(keeper for keeper in self._keepers.get(uri, ()) if keeper != name)
            _set(self._keepers, uri, tuple(sorted([*rest, name])) if uri in _kept(new) else rest)

    def _renamed(self, name: str, old: str, new: str) -> None:
        """The dataset of an asset goes by another URI: its events, and what was used of them, go with it."""
        for uri in (old, new):
            self._keep(uri)
        shared = self._shared(old, name)
        dataset, there = self._dataset(old), self._dataset(new)
        moving = [replace(ref, uri=new) for ref in dataset.recent if not shared or ref.asset == name]
        for reader in {each for uri in (old, new) for each in (*self._keepers.get(uri, ()), *self._readers(uri))}:
            asset = self._settled(self._settled(self._assets[reader], old), new)
            numbers = {ref.seq for ref in moving}
            items = {n: rest for n, rest in asset.partly.get(old, ()) if n in numbers} | dict(asset.partly.get(new, ()))
            consumed = {**asset.consumed, new: max(asset.consumed.get(old, 0), asset.consumed.get(new, 0))}
            staying = {n: rest for n, rest in asset.partly.get(old, ()) if n not in numbers}
            partly = _with(_with(asset.partly, old, staying), new, items)
            parted = asset.parted
            if old in parted:
                parted = {**parted, new: parted[old]}
                self._keepers[new] = tuple(sorted({*self._keepers.get(new, ()), reader}))
            self._assets[reader] = replace(asset, consumed=consumed, partly=partly, parted=parted)
        kept = tuple(ref for ref in dataset.recent if shared and ref.asset != name)
        self._datasets[old] = replace(dataset, recent=kept)
        self._datasets[new] = replace(
            there,
            coverage=there.coverage | dataset.coverage,
            gone=(there.gone | dataset.gone) - (there.coverage | dataset.coverage),
            seq=max(there.seq, dataset.seq),
            at=max(there.at, dataset.at),
            recent=tuple(sorted([*there.recent, *moving], key=lambda ref: ref.seq)),
            touched=dataset.touched,
        )

    def _shared(self, uri: str, name: str) -> bool:
        """Whether an asset other than ``name`` has the URI."""
        return any(asset.spec.uri == uri for asset in self._assets.values() if asset.name != name)

    def _readers(self, uri: str) -> set[str]:
        return {name for name, _ in self._consumers.get(uri, ())}

    # ------------------------------------------------------------------ events

    def _observed(self, entry: ObservedEntry, numbered: Numbered) -> None:
        asset = self._assets.get(entry.asset)
        if asset is not None:
            position = {**asset.position, **entry.cursor}
            self._assets[entry.asset] = replace(
                asset,
                position={key: value for key, value in position.items() if value is not None},
                table_id=entry.table_id or asset.table_id,
                version=entry.version if entry.version is not None else asset.version,
            )
        self._publish(numbered, removed=entry.removed, whole=entry.whole)

    def _found(self, entry: TargetEntry, numbered: Numbered) -> None:
        self._marked(entry.asset)
        before = self._assets[entry.asset]
        after = self._assets[entry.asset] = after_look(before, entry, numbered.seq)
        gone = before.coverage - after.coverage
        if gone and not self._shared(entry.uri, entry.asset):  # else others may hold it; theirs are not lost
            dataset = self._dataset(entry.uri)
            self._datasets[entry.uri] = replace(dataset, coverage=dataset.coverage - gone)

    def _publish(self, numbered: Numbered, *, removed: RangeSet | None = None, whole: bool = False) -> None:
        """The event of an entry, if it tells of one, reaches its dataset and all that reads it."""
        ref = EventRef.of(numbered)
        if ref is None:
            return
        dataset = self._datasets.get(ref.uri) or DatasetState(ref.uri)
        consumers, keepers = self._consumers.get(ref.uri, ()), self._keepers.get(ref.uri, ())
        growing = self._growing.get(ref.uri) or GrowingRanges(dataset.coverage)
        self._growing[ref.uri] = growing
        growing.add(ref.ranges)
        changed = ref.ranges or growing.result()
        removed = removed or RangeSet()
        came = ref.ranges - removed
        growing.remove(removed)
        gone = (dataset.gone - came) | removed if removed or dataset.gone else dataset.gone
        self._datasets[ref.uri] = replace(
            dataset,
            gone=gone,
            seq=ref.seq,
            at=unix(numbered.at),
            recent=dataset.recent if keepers else (),
            touched=self._unsettled(dataset.touched, consumers, changed, unix(numbered.at)),
        )
        if not keepers:
            self._fresh[ref.uri] = [ref]
        else:
            self._fresh.setdefault(ref.uri, []).append(ref)
            if not any(ref.uri in self._assets[name].spec.named for name in keepers):
                self._forget(ref.uri)
        for name, inlet_name in consumers:
            inlet = _inlet(self._assets[name].spec, inlet_name)
            if inlet is not None:
                asset = restored(self._assets[name], inlet, came, gone=gone)
                known = asset.coverage | _claimed(asset) if removed else asset.coverage
                self._assets[name] = bereft(asset, inlet, removed, computed=known, seq=ref.seq)
                counts = came if inlet.on_removed == "keep" else ref.ranges
                if counts or not ref.ranges:
                    self._mark_stale(name, inlet, counts, seq=ref.seq, whole=whole and not ref.ranges)

    def _unsettled(
        self, touched: StampedRanges, consumers: Sequence[tuple[str, str]], changed: RangeSet, at: int
    ) -> StampedRanges:
        """When time of the dataset was last updated, as far back as some consumer's ``settle`` goes."""
        inlets = (_inlet(self._assets[name].spec, inlet_name) for name, inlet_name in consumers)
        settle = max((inlet.settle for inlet in inlets if inlet is not None), default=0)
        if not settle:
            return StampedRanges()
        return touched.since(at - settle).overlay(changed, at)

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
        self._overlay(name, inlet, affected, seq=seq)

    def _overlay(self, name: str, inlet: FoldInlet, blocks: RangeSet, *, seq: int) -> None:
        if blocks:
            marking = self._marking.setdefault(name, {})
            if inlet.name not in marking:
                marking[inlet.name] = GrowingStamps(self._assets[name].stale.get(inlet.name, StampedRanges()))
            marking[inlet.name].overlay(blocks, seq)

    def _marked(self, name: str) -> AssetState | None:
        """The asset with all marks of what is stale; None where there is no such asset."""
        asset, marking = self._assets.get(name), self._marking.pop(name, {})
        if asset is not None and marking:
            stale = {**asset.stale, **{inlet: marks.result() for inlet, marks in marking.items()}}
            asset = self._assets[name] = replace(asset, stale=stale)
        return asset

    # ------------------------------------------------------------------ runs

    def _claim(self, entry: ClaimEntry, numbered: Numbered) -> None:
        asset = self._assets[entry.asset]
        claim = ClaimState(numbered.seq, entry, numbered.driver, unix(numbered.at), numbered.seq)
        self._assets[entry.asset] = replace(asset, chain=(*asset.chain, claim))

    def _renew(self, claims: Sequence[tuple[str, int]], seq: int) -> None:
        for name, claim in claims:
            asset = self._assets.get(name)
            if asset is not None:
                chain = tuple(replace(link, renewed=seq) if link.token == claim else link for link in asset.chain)
                self._assets[name] = replace(asset, chain=chain)

    def _success(self, entry: SuccessEntry, numbered: Numbered) -> None:
        self._marked(entry.asset)
        asset = self._assets[entry.asset]
        if entry.token < asset.placed:  # it wrote where the asset was before
            self._assets[entry.asset] = replace(asset, chain=())
            return
        if (replaced := replaced_under(asset, entry)) is not None:
            self._found(replaced, numbered)
            asset = self._assets[entry.asset]
        claimed = next((link.entry for link in asset.chain if link.token == entry.token), None)
        blocks = entry.blocks
        changes: dict[str, object] = {}
        fits = (blocks is None) == (asset.spec.partition is None)
        scheduled = claimed if fits and claimed is not None and claimed.kind == "scheduled" else None
        using = scheduled.request.consumption if scheduled is not None else None
        failed = asset.failed if scheduled is not None else ()
        if blocks is not None:
            failed = _outside(asset.failed, blocks)
            changes["coverage"] = asset.coverage | blocks
            uris = {inlet.name: inlet.uri for inlet in asset.spec.inlets}
            cleared = {
                name: marks.clear(using.used(uris[name], blocks) if using is not None else blocks, through=entry.token)
                for name, marks in asset.stale.items()
            }
            changes["stale"] = {name: marks for name, marks in cleared.items() if marks}
            changes |= computed(asset, blocks, claimed.request if claimed else None, through=entry.token)
            changes["partly"] = self._partly(asset, blocks, scheduled)
        if fits and claimed is not None:
            changes |= self._uses(asset, claimed)
        if scheduled is not None:
            changes["ticks"] = {**asset.ticks, **scheduled.request.consumption.ticks}
            changes["watermarks"] = {**asset.watermarks, **entry.watermarks}
            if (cursor := scheduled.request.cursor) is not None:
                changes["cursor"] = max(cursor, asset.cursor or cursor, key=_by_end)
        if entry.interval is not None and self._aligned(entry.uri, entry.asset):
            found = Instance(*entry.interval, numbered.seq, entry.table_id, entry.version)
            others = [each for each in asset.instances if each.end != found.end]
            changes["instances"] = tuple(sorted([*others, found], key=lambda each: each.end)[-INSTANCES:])
        rows = entry.extra.get("rows")
        intervals = [asset.last.interval if asset.last else None, entry.interval]
        latest = max((each for each in intervals if each is not None), key=lambda each: each[1], default=None)
        self._assets[entry.asset] = replace(
            asset,
            done=max(asset.done, entry.token),
            chain=(),
            failed=failed,
            last=LastRun(
                run=entry.run,
                seq=numbered.seq,
                at=unix(numbered.at),
                rows=rows if isinstance(rows, int) else None,
                interval=latest,
                invocation=claimed.invocation if claimed else "",
                planned=claimed.planned if claimed else 0,
            ),
            **after_success(asset, entry, numbered.seq),
            **changes,  # type: ignore[arg-type]  # keys are AssetState's own fields
        )
        self._publish(numbered, whole=blocks is None)
        for uri in asset.spec.named:
            self._forget(uri)
        if blocks is None and self._assets[entry.asset].failed:
            self._tried_again(entry.asset)

    def _uses(self, asset: AssetState, claim: ClaimEntry) -> dict[str, object]:
        """The events that a success uses up; of a backfill those that it answers."""
        numbers = {uri: max(seq, asset.consumed.get(uri, 0)) for uri, seq in claim.request.consumption.consumes.items()}
        used: dict[str, object] = {"consumed": {**asset.consumed, **numbers}}
        return used if claim.blocks is not None else used | {"partly": self._skipped(asset, claim.request)}

    def _tried_again(self, name: str) -> None:
        """Forgets the failures for events that are used by now."""
        asset = self._assets[name]
        unused = {number for items in asset.partly.values() for number, _ in items}
        for uri in asset.spec.named:
            used = asset.consumed.get(uri, 0)
            unused.update(ref.seq for ref in self._dataset(uri).recent if ref.seq > used)
        failed = tuple(item for item in asset.failed if not unused.isdisjoint(item.events))
        self._assets[name] = replace(asset, failed=failed)

    def _partly(self, asset: AssetState, blocks: RangeSet, claim: ClaimEntry | None) -> dict[str, Partly]:
        """What has still to answer events and ticks that are used for some time only, now that ``blocks`` have.

        ``claim`` is None for a run that uses nothing up, but whose blocks answer all the same.
        """
        using = claim.request.consumption if claim is not None else None
        found = {
            key: [(n, using.kept(key, rest) if using is not None else rest - blocks) for n, rest in items]
            for key, items in asset.partly.items()
        }
        if claim is not None and using is not None and asset.spec.partition is not None:
            end = asset.spec.partition.floor(claim.planned)
            for key, left in using.remaining.items():
                over = left.clip(None, end)
                if key in using.ticks:
                    if using.ticks[key] > asset.ticks.get(key, asset.last.planned if asset.last else 0):
                        found.setdefault(key, []).append((using.ticks[key], over))
                    continue
                self._keep(key)
                before, used = asset.consumed.get(key, 0), using.consumes.get(key, 0)
                refs = (ref for ref in self._dataset(key).recent if before < ref.seq <= used)
                found.setdefault(key, []).extend((ref.seq, _answering(asset.spec, ref, left, over)) for ref in refs)
        kept = {key: tuple((number, ranges) for number, ranges in items if ranges) for key, items in found.items()}
        return {key: items for key, items in kept.items() if items}

    def _skipped(self, asset: AssetState, request: RunRequest) -> dict[str, Partly]:
        """The events that an asset without partitions went past, and has still to run for.

        One may be told by its number since the claim only, by a change of the condition: what the run read stays used.
        """
        found, using = {}, request.consumption
        for uri in {*asset.partly, *(using.consumes if using.skips else ())}:
            self._keep(uri)
            before, used = asset.consumed.get(uri, 0), using.consumes.get(uri, 0)
            refs = (ref for ref in self._dataset(uri).recent if before < ref.seq <= used and ref.seq in using.skips)
            told = (number for number, _ in asset.partly.get(uri, ()) if number not in request.events)
            numbers = [number for number in told if using.spares(uri, number)]
            numbers += [ref.seq for ref in refs]
            if numbers:
                found[uri] = tuple((number, RangeSet()) for number in sorted(numbers))
        return found

    def _aligned(self, uri: str, name: str) -> bool:
        """Whether some consumer is aligned to the runs of asset ``name``."""
        for consumer, inlet_name in self._consumers.get(uri, ()):
            inlet = _inlet(self._assets[consumer].spec, inlet_name)
            if inlet is not None and inlet.aligned and inlet.name == name:
                return True
        return False

    def _forget(self, uri: str) -> None:
        """Drops the events of a dataset that nobody will run for, but for the newest."""
        self._keep(uri)
        dataset = self._datasets.get(uri)
        if dataset is None or not dataset.recent[:-1]:
            return
        keepers = [self._assets[name] for name in self._keepers.get(uri, ())]
        used = min((each.consumed.get(uri, 0) for each in keepers if uri in each.spec.named), default=dataset.seq)
        if used < dataset.recent[0].seq:
            return
        partly = {number for each in keepers for number, _ in each.partly.get(uri, ())}
        parted = [range(each.consumed.get(uri, 0) + 1, each.parted[uri] + 1) for each in keepers if uri in each.parted]
        kept = [
            ref
            for ref in dataset.recent[:-1]
            if ref.seq > used or ref.seq in partly or any(ref.seq in numbers for numbers in parted)
        ]
        self._datasets[uri] = replace(dataset, recent=(*kept, dataset.recent[-1]))

    def _keep(self, uri: str) -> None:
        """Moves the events that were folded one by one to the others of their dataset."""
        fresh = self._fresh.pop(uri, None)
        if fresh:
            dataset = self._dataset(uri)
            self._datasets[uri] = replace(dataset, recent=(*dataset.recent, *fresh))

    def _failure(self, entry: FailureEntry) -> None:
        asset = self._assets[entry.asset]
        claim = next((link.entry for link in asset.chain if link.token == entry.token), None)
        planned, events = (claim.planned, claim.request.events) if claim is not None else (0, ())
        failed = FailedBlocks(
            entry.blocks, entry.token, entry.run, entry.cause, entry.error, entry.invocation, planned, events
        )
        if entry.fenced:
            chain: tuple[ClaimState, ...] = ()
        else:
            chain = tuple(
                replace(link, status="unfenced") if link.token == entry.token else link for link in asset.chain
            )
        if entry.cause in NOT_TRIED:
            self._assets[entry.asset] = replace(asset, chain=chain)
            return
        if entry.blocks is not None:
            others = _outside(asset.failed, entry.blocks)
        else:
            others = tuple(item for item in asset.failed if not set(item.events) <= set(events))
        self._assets[entry.asset] = replace(asset, chain=chain, failed=(*others, failed))

    def _dataset(self, uri: str) -> DatasetState:
        """The dataset with all that came, also when nothing is known of it."""
        dataset = self._datasets.get(uri) or DatasetState(uri)
        growing = self._growing.pop(uri, None)
        if growing is not None:
            dataset = self._datasets[uri] = replace(dataset, coverage=growing.result())
        return dataset


def _set(known: dict[str, tuple[T, ...]], uri: str, values: tuple[T, ...]) -> None:
    """Keeps no dataset with nobody."""
    if values:
        known[uri] = values
    else:
        known.pop(uri, None)


def _inlet(spec: FoldSpec, name: str) -> FoldInlet | None:
    return next((inlet for inlet in spec.inlets if inlet.name == name), None)


def _kept(asset: AssetState) -> set[str]:
    """The datasets whose events may run the asset."""
    return {*asset.spec.named, *asset.parted}


def _with(partly: Mapping[str, Partly], key: str, items: Mapping[int, RangeSet]) -> dict[str, Partly]:
    """``partly`` with these items of one dataset, or without it where there are none."""
    others = {each: kept for each, kept in partly.items() if each != key}
    return others | {key: tuple(sorted(items.items(), key=lambda item: item[0]))} if items else others


def _answering(spec: FoldSpec, ref: EventRef, left: RangeSet, over: RangeSet) -> RangeSet:
    """What a run left of the time that the event touches; of what nothing maps, only what was over by then."""
    if spec.partition is None:
        return RangeSet()
    blocks = RangeSet()
    for name in spec.readers(ref.uri):
        inlet = _inlet(spec, name)
        if inlet is not None and inlet.mapping is not None and inlet.partition is not None and ref.ranges:
            blocks = blocks | (inlet.mapping.down(ref.ranges, down=spec.partition, up=inlet.partition) & left)
        else:
            blocks = blocks | over
    return blocks


def _by_end(interval: tuple[int, int]) -> tuple[int, int]:
    return interval[1], interval[0]


def _claimed(asset: AssetState) -> RangeSet:
    return RangeSet.union(link.entry.blocks for link in asset.chain if link.entry.blocks)


def _outside(failed: tuple[FailedBlocks, ...], blocks: RangeSet) -> tuple[FailedBlocks, ...]:
    """What is still failed when ``blocks`` no longer are."""
    rest = []
    for item in failed:
        ranges = item.ranges - blocks if item.ranges is not None else None
        if ranges:
            rest.append(replace(item, ranges=ranges))
    return tuple(rest)
