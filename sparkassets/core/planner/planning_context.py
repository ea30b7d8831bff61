"""What the planner knows while it goes through the assets, upstream first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sparkassets.core.conditions import UpdateLeaf
from sparkassets.core.instants import format_zoned, from_unix
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.journal.iterations import sole_visible_iteration
from sparkassets.core.journal.known_segments import with_known_segments
from sparkassets.core.journal.recent_events import RecentEvents
from sparkassets.core.journal.state import AssetState, ClaimState, DatasetState, EventRef, State
from sparkassets.core.partitions import EVERYTHING, NOTHING, Dependency, NewestMapping, Partitioning, PartitionSet
from sparkassets.core.planner.partition_bounds import partitions_in_bounds, possible_partitions
from sparkassets.core.planner.plan import AssetNote, PlannedRun, Waiting
from sparkassets.core.runs import ChangeAvailability, InletPin, InletVolume, TablePosition
from sparkassets.core.spec.model import AssetSpec, InletSpec, ProjectSpec, ReadAfter
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from sparkassets.core.derivation.asset_columns import StoredColumns

EstimateVolume = Callable[[AssetSpec, InletPin, AssetState], InletVolume]
"""What reading a pin of an inlet takes, always the same; the inlet's own state tells which of its files were seen."""

CheckAvailability = Callable[[AssetSpec, TablePosition, int], ChangeAvailability]
"""What the log of an asset's table tells of its changes, from a position, exclusive, to a version, inclusive."""


@frozen
class UpstreamBarrier:
    """Blocks that cannot come, because they, or something before them, failed or are withheld.

    Attributes:
        reason: What consumers wait for.
        withheld: Whether validations hold the blocks back: whoever does not require each of them goes on without.
    """

    blocks: PartitionSet
    reason: str
    withheld: bool = False


@frozen
class AssetDecision:
    """What was decided for one asset.

    Attributes:
        runs: In order; only the first can be claimed now.
        coming: What it will publish in this invocation if all goes well: consumers of that wait for it.
        barriers: What cannot come.
        notes: What is to be known of its table.
    """

    runs: tuple[PlannedRun, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    coming: PartitionSet = NOTHING
    barriers: tuple[UpstreamBarrier, ...] = ()
    notes: tuple[AssetNote, ...] = ()

    @property
    def blocked_partitions(self) -> PartitionSet:
        """All that cannot come."""
        return PartitionSet.union(each.blocks for each in self.barriers)


@dataclass(slots=True, eq=False, repr=False)
class PlanningContext:
    """The planner's view of one moment.

    Attributes:
        project: With the segments that are known by now.
        now: The planner's time, Unix seconds.
        clock: The real time, by which ``settle`` goes; Unix seconds.
        invocation: Whose failures are not tried again; None tries all of them.
        gone: Fence tokens of claims whose driver is known to be gone, or whose lease is over.
        select: Assets that may run; None means all.
        faults: Sources and targets that cannot be looked at, with what is wrong.
        notes: Sources of which people should know something.
        unseen: What a Spark session alone can look at, which is not there, with why.
        reserved: Asset to the blocks that a backfill in this invocation computes, which the schedule leaves to it.
        weigh: Tells how much a run reads; None where nobody asks what runs cost.
        over_budget: Whether runs that are over their budget run.
        told: Tells whether the changes that a run would read can be told; None where nobody asks their tables.
        stored: Tells the columns of an asset's table as it is, as far as they are known; None where nobody asks.
        decided: By asset, filled as the planner goes.
    """

    project: ProjectSpec
    state: State
    now: int
    clock: int
    invocation: str | None = None
    gone_claims: Collection[int] = ()
    select: Collection[str] | None = None
    faults: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    unseen: Mapping[str, str] = field(default_factory=dict)
    reserved_partitions: Mapping[str, PartitionSet] = field(default_factory=dict)
    estimate_volume: EstimateVolume | None = None
    over_budget: bool = False
    check_availability: CheckAvailability | None = None
    stored_columns: StoredColumns | None = None
    decisions: dict[str, AssetDecision] = field(default_factory=dict)
    _over: dict[Partitioning, PartitionSet] = field(default_factory=dict)
    _rollovers: dict[Partitioning, int | None] = field(default_factory=dict)
    _possible: Mapping[str, PartitionSet] | None = None
    _waived: Mapping[str, PartitionSet] | None = None

    def __post_init__(self) -> None:
        self.project = with_known_segments(self.project, self.state)

    def is_selected(self, asset: AssetSpec) -> bool:
        """Whether the asset may run."""
        return self.select is None or asset.name in self.select

    def format_instant(self, unix: int) -> str:
        """An instant of a sentence, on the project's clock."""
        return format_zoned(from_unix(unix), self.project.timezone)

    def asset(self, name: str) -> AssetSpec:
        """The asset of that name, with the segments that are known by now."""
        return self.project.assets[name]

    def finished_partitions(self, partitioning: Partitioning) -> PartitionSet:
        """All partitions that are over now."""
        found = self._over.get(partitioning)
        if found is None:
            found = self._over[partitioning] = partitioning.finished_partitions(self.now)
        return found

    def next_rollover(self, partitioning: Partitioning) -> int | None:
        """When `over` changes next, Unix seconds; None for never."""
        if partitioning not in self._rollovers:
            self._rollovers[partitioning] = partitioning.next_rollover(self.now)
        return self._rollovers[partitioning]

    def possible_partitions(self, asset: str) -> PartitionSet:
        """The partitions that an asset can ever have, by all declared bounds; everything where nothing bounds it.

        What is skipped and is not there it cannot have either, nor what is made of nothing else.
        """
        if self._possible is None:
            self._possible = possible_partitions(self.project, self.waived_partitions)
        return self._possible.get(asset, EVERYTHING)

    @property
    def waived_partitions(self) -> Mapping[str, PartitionSet]:
        """By asset, what is skipped and is not there, so that nobody waits for it."""
        if self._waived is None:
            marked = (state for state in self.state.assets.values() if state.marks or state.withheld)
            found = {state.name: self._skipped(state) for state in marked if state.name in self.project.assets}
            self._waived = {name: parts for name, parts in found.items() if parts}
        return self._waived

    def _skipped(self, state: AssetState) -> PartitionSet:
        """What a person skipped of an asset, or one of its runs, until there is a new cause; without what is there."""
        judge, skips = self.project.judge_of(self.project.assets[state.name]), NOTHING
        for record in state.withheld:
            if record.skipped:
                skips = skips | (record.resting_partitions(judge) - state.accepted_partitions)
        return (state.skipped_partitions | skips) - self.state.dataset(state.spec.uri).coverage

    def inherited_skips(self, asset: AssetSpec) -> PartitionSet:
        """What an asset cannot have, as all that it is made of is skipped before it, as far as it can be told."""
        if not self.waived_partitions:
            return NOTHING
        declared = possible_partitions(self.project).get(asset.name, EVERYTHING)
        found = declared - self.possible_partitions(asset.name) - self.waived_partitions.get(asset.name, NOTHING)
        return found if asset.partitioning.can_list(found) else self._limit_to_known(asset, found)

    def _limit_to_known(self, asset: AssetSpec, parts: PartitionSet) -> PartitionSet:
        """Of partitions that are open in time those about which something of the asset or its inlets is known."""
        uris = (asset.uri, *(inlet.uri for inlet in asset.inlets.values()))
        extents = [extent for uri in uris if (extent := self.state.dataset(uri).ever_present.extent) is not None]
        if not extents:
            return NOTHING
        low, high = min(low for low, _ in extents), max(high for _, high in extents)
        return asset.partitioning.inside(parts.clip(low, high))

    def allowed_partitions(self, asset: AssetSpec) -> PartitionSet:
        """The partitions that the asset's own bounds allow and nobody skipped."""
        skipped = self.state_of(asset).skipped_partitions
        return partitions_in_bounds(asset) - skipped if skipped else partitions_in_bounds(asset)

    def state_of(self, asset: AssetSpec) -> AssetState:
        """What is known of the asset; of one that the journal does not know yet, nothing."""
        return self.state.assets.get(asset.name) or AssetState(asset.name, build_fold_spec(asset, self.project))

    def dataset(self, inlet: InletSpec) -> DatasetState:
        """The inlet's dataset."""
        return self.state.dataset(inlet.uri)

    def uri(self, asset: str, leaf: UpdateLeaf) -> str:
        """The dataset of a leaf of that asset's condition."""
        return self.project.listened_uri(asset, leaf)

    def live_claims(self, asset: AssetState) -> tuple[ClaimState, ...]:
        """The newest claim of each slot whose driver lives."""
        newest = (chain[-1] for chain in asset.chains.values()) if asset.chain else ()
        return tuple(link for link in newest if link.status == "open" and link.token not in self.gone_claims)

    def dependency(self, asset: AssetSpec, inlet: InletSpec, *, also: PartitionSet = NOTHING) -> Dependency:
        """How the asset's blocks depend on the inlet's partitions, by those that are there or ``also`` will be."""
        needed = self.project.dependency(asset, inlet)
        if not isinstance(inlet.mapping, NewestMapping):
            return needed
        return needed.with_available(self.dataset(inlet).coverage | also)

    def partitioning(self, inlet: InletSpec) -> Partitioning:
        """The partitions that the inlet is mapped by."""
        return self.project.partitioning(inlet)

    def possible_inlet_partitions(self, inlet: InletSpec) -> PartitionSet:
        """The partitions that the inlet can ever have; of values nothing is declared."""
        return self.possible_partitions(inlet.name) if inlet.view is None else EVERYTHING

    def pins(
        self, asset: AssetSpec, state: AssetState, blocks: PartitionSet, *, anew: bool = False
    ) -> dict[str, InletPin]:
        """What a run of ``blocks`` reads of each inlet, at the newest version.

        ``anew`` also what is below a watermark, where that can be written again.
        """
        pins, anew = {}, anew and asset.write is not None and asset.write.recomputable
        for inlet in asset.inlets.values():
            needed = self.dependency(asset, inlet)
            parts = needed.required_partitions(blocks) if needed.is_mapped else EVERYTHING
            low = state.watermarks.get(inlet.name) if inlet.read is not None and not anew else None
            pins[inlet.name] = self.pin(inlet, parts, low)
        return pins

    def pin(self, inlet: InletSpec, parts: PartitionSet, low: str | None = None) -> InletPin:
        """The inlet at its newest version; others that share its URI have tables of their own."""
        table = self.state.assets.get(inlet.name)
        table_id, version = (table.table_id, table.version) if table is not None else (None, None)
        iteration = (
            sole_visible_iteration(table.iterations, version) if table is not None and parts.is_everything else ""
        )
        column = inlet.read.column if isinstance(inlet.read, ReadAfter) else ""
        return InletPin(inlet.uri, self.dataset(inlet).seq, table_id, version, parts, low, iteration, column=column)

    def answered_events(
        self, asset: AssetSpec, state: AssetState, used: Mapping[str, PartitionSet]
    ) -> tuple[EventRef, ...]:
        """The events that a run answers, ascending; ``used`` is dataset to the blocks for which it uses them."""
        found: dict[int, EventRef] = {}
        for uri, blocks in used.items():
            number, partly = state.consumed.get(uri, 0), dict(state.partly.get(uri, ()))
            needed = self._needed_partitions(asset, uri, blocks)
            recent = self.state.dataset(uri).recent if blocks else RecentEvents[EventRef]()
            open_for = {seq for seq, parts in partly.items() if seq <= number and parts.overlaps(blocks)}
            found |= {ref.seq: ref for ref in recent.between(number) if needed.overlaps(ref.parts)}
            found |= {ref.seq: ref for ref in recent.with_numbers(open_for)}
        return tuple(found[seq] for seq in sorted(found))

    def _needed_partitions(self, asset: AssetSpec, uri: str, blocks: PartitionSet) -> PartitionSet:
        """The partitions of a dataset that these blocks need; all of what no inlet reads."""
        reading = [self.dependency(asset, inlet) for inlet in asset.inlets.values() if inlet.uri == uri]
        return PartitionSet.union(each.required_partitions(blocks) for each in reading) if reading else EVERYTHING

    def unused_events(self, state: AssetState, uris: Iterable[str]) -> tuple[EventRef, ...]:
        """The events of these datasets that the asset has not used, or not for everything, ascending."""
        found: dict[int, EventRef] = {}
        for uri in uris:
            used, partly = state.consumed.get(uri, 0), {number for number, _ in state.partly.get(uri, ())}
            recent = self.state.dataset(uri).recent
            found |= {ref.seq: ref for each in (recent.between(used), recent.with_numbers(partly)) for ref in each}
        return tuple(found[seq] for seq in sorted(found))

    def events_by_number(self, state: AssetState, numbers: Iterable[int]) -> tuple[EventRef, ...]:
        """The events of these numbers among those that the asset's datasets keep, ascending."""
        wanted = set(numbers)
        uris = {*state.spec.listens, *state.parted} if wanted else set[str]()
        found = (ref for uri in uris for ref in self.state.dataset(uri).recent.with_numbers(wanted))
        return tuple(sorted(found, key=lambda ref: ref.seq))

    def interval_of_events(self, events: tuple[EventRef, ...]) -> tuple[int, int] | None:
        """The data interval of a run caused by events; None where they tell none."""
        intervals = [ref.interval for ref in events if ref.interval is not None]
        if intervals:
            return min(start for start, _ in intervals), max(end for _, end in intervals)
        return None
