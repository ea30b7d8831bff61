"""The planner's read-only view of one moment, its decisions, and which partitions an asset can ever have.

A declared ``start`` or ``end`` carries on through the mappings: partitions that an asset can never have, by the bounds
of its upstream assets, are not required of it. Each of several inlets makes possible the partitions that it can feed.
Only declared bounds count; the first data that came waives no requirement
(docs/design/planning.md#what-a-declared-start-waives).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from sparkassets.core.conditions import UpdateLeaf
from sparkassets.core.instants import format_zoned, from_unix
from sparkassets.core.iterations import sole_visible_iteration
from sparkassets.core.journal.fold_specs import build_fold_spec
from sparkassets.core.journal.known_segments import with_known_segments
from sparkassets.core.journal.recent_events import RecentEvents
from sparkassets.core.journal.state import AssetState, ClaimState, DatasetState, EventRef, State
from sparkassets.core.partitions import EVERYTHING, NOTHING, Dependency, NewestMapping, Partitioning, PartitionSet
from sparkassets.core.partitions.segment_functions import IdentityKey
from sparkassets.core.planner.plan import AssetNote, PlannedRun, Waiting
from sparkassets.core.run_costs import InletVolume
from sparkassets.core.runs import ChangeAvailability, InletPin, TablePosition
from sparkassets.core.spec.model import AssetSpec, InletSpec, ReadAfter
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.frozen import frozen, mutable, replace

if TYPE_CHECKING:
    from sparkassets.core.derivation.asset_columns import StoredColumns


def partitions_in_bounds(asset: AssetSpec) -> PartitionSet:
    """The partitions that begin between the asset's own ``start`` (inclusive) and ``end`` (exclusive).

    Schedules follow the same rule: no interval begins before ``start``, and none at ``end`` or after.
    """
    return asset.partitioning.partitions_between(asset.start, asset.end) & asset.reach


def possible_partitions(
    project: ProjectSpec, without: Mapping[str, PartitionSet] = MappingProxyType({})
) -> Mapping[str, PartitionSet]:
    """The partitions that each bounded asset can ever have; an unbounded asset has no entry.

    Args:
        project: The assets with their declared bounds.
        without: By asset, further partitions that it will not have.
    """
    return _cached_possible_partitions(IdentityKey(project), tuple(sorted(without.items(), key=lambda item: item[0])))


def _possible_in_bounds(asset: AssetSpec) -> PartitionSet:
    """Partitions within the asset's own bounds, in any segment.

    Segments that runs discover are left open here: an unknown segment is no bound, as it may still be discovered.
    """
    return asset.partitioning.without_open_segments.partitions_between(asset.start, asset.end) & asset.reach


def _bringable_partitions(inlet: InletSpec, possible: Mapping[str, PartitionSet]) -> PartitionSet:
    """Partitions that the inlet can ever bring: everything for a view by values, about which nothing is declared."""
    return EVERYTHING if inlet.view is not None else possible.get(inlet.name, EVERYTHING)


@lru_cache(maxsize=4)
def _cached_possible_partitions(
    project_key: IdentityKey[ProjectSpec], without: tuple[tuple[str, PartitionSet], ...]
) -> Mapping[str, PartitionSet]:
    """Possible partitions by asset, upstream first, for the assets that have a bound.

    ``without`` holds the skipped partitions by asset. They are subtracted from the asset and carried on to consumers,
    except through an inlet that the consumer can do without.
    """
    possible: dict[str, PartitionSet] = {}
    skipped = dict(without)
    declared = _cached_possible_partitions(project_key, ()) if skipped else possible
    for asset in project_key.value.assets.values():
        asset_possible = _possible_in_bounds(asset) & possible.get(asset.written_by, EVERYTHING)
        dependencies = [project_key.value.dependency(asset, inlet) for inlet in asset.inlets.values()]
        fed_partitions = [
            dependency.affected_partitions(_bringable_partitions(inlet, declared if inlet.is_dispensable else possible))
            for inlet, dependency in zip(asset.inlets.values(), dependencies, strict=True)
            if dependency.is_mapped
        ]
        if fed_partitions:
            asset_possible = asset_possible & PartitionSet.union(fed_partitions)
        if asset.name in skipped:
            asset_possible = asset_possible - skipped[asset.name]
        if not asset_possible.is_everything:
            possible[asset.name] = asset_possible
    return possible


EstimateVolume = Callable[[AssetSpec, InletPin, AssetState], InletVolume]
"""Returns the volume of a pinned inlet; the asset's state says which of the inlet's files were read before."""

CheckAvailability = Callable[[AssetSpec, TablePosition, int], ChangeAvailability]
"""Says which changes the log of an asset's table still holds, from a position (exclusive) to a version (inclusive)."""


def may_skip_partitions(state: AssetState) -> bool:
    """Whether the asset may have skipped partitions, by a person's mark or a skipped run (recorded as withheld)."""
    return bool(state.marks or state.withheld)


@frozen
class UpstreamBlocker:
    """Partitions that cannot come because they, or some of their inlets, failed or are withheld.

    Attributes:
        reason: What consumers wait for, to follow "waits for".
        withheld: Whether validations hold the partitions back: a consumer that does not require all continues without.
    """

    partitions: PartitionSet
    reason: str
    withheld: bool = False


@frozen
class AssetDecision:
    """The decision for one asset.

    Attributes:
        runs: Due runs in order; of one slot only the first can be claimed now.
        waiting: Why the rest does not run.
        expected: Partitions that it publishes in this invocation unless a run fails; their consumers wait.
        blockers: Partitions that cannot come.
        notes: Remarks about its table.
        unread_by: By consumer, the partitions of ``expected`` that are no news for it.
    """

    runs: tuple[PlannedRun, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    expected: PartitionSet = NOTHING
    blockers: tuple[UpstreamBlocker, ...] = ()
    notes: tuple[AssetNote, ...] = ()
    unread_by: Mapping[str, PartitionSet] = field(default_factory=dict)

    @property
    def blocked_partitions(self) -> PartitionSet:
        """All partitions that cannot come."""
        return PartitionSet.union(blocker.partitions for blocker in self.blockers)

    def seen_by(self, consumer: str) -> AssetDecision:
        """The decision as far as it concerns a consumer: without what is expected and no news for it."""
        unread = self.unread_by.get(consumer)
        return self if unread is None else replace(self, expected=self.expected - unread)


@mutable
class PlanningContext:
    """The planner's view of one moment.

    Attributes:
        project: The project with the segments that are known by now.
        now: The planner's time, Unix seconds.
        clock: The real time, which ``settle`` uses; Unix seconds.
        invocation: The invocation whose failures are not retried; None retries all failures.
        gone_claims: Fence tokens of claims whose driver is known to be gone, or whose lease is over.
        select: Assets that may run; None means all.
        faults: Error by the name of a source or target that cannot be observed.
        notes: Remark for people by the name of a source.
        unseen: Reason by the name of an asset that only a Spark session, absent here, can observe.
        reserved_partitions: Partitions by asset that a backfill of this invocation computes and the schedule leaves.
        estimate_volume: Estimates how much a run reads, to hold back those that read too much; None holds none back.
        check_availability: Checks whether the changes that a run would read are still in the log; None skips it.
        stored_columns: Returns the known columns of an asset's table; None where tables are not inspected.
        decisions: Decision by asset, filled upstream first.
        marked: The assets of `may_skip_partitions`; None where nobody has searched for them yet.
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
    check_availability: CheckAvailability | None = None
    stored_columns: StoredColumns | None = None
    decisions: dict[str, AssetDecision] = field(default_factory=dict)
    marked: Collection[AssetState] | None = None
    _finished: dict[Partitioning, PartitionSet] = field(default_factory=dict)
    _rollovers: dict[Partitioning, int | None] = field(default_factory=dict)
    _possible: Mapping[str, PartitionSet] | None = None
    _waived: Mapping[str, PartitionSet] | None = None

    def __post_init__(self) -> None:
        self.project = with_known_segments(self.project, self.state)

    def is_selected(self, asset: AssetSpec) -> bool:
        """Whether the asset may run."""
        return self.select is None or asset.name in self.select

    def format_instant(self, unix: int) -> str:
        """Formats Unix seconds for a sentence, in the project's time zone."""
        return format_zoned(from_unix(unix), self.project.timezone)

    def asset(self, name: str) -> AssetSpec:
        """The asset of that name, with the segments that are known by now."""
        return self.project.assets[name]

    def finished_partitions(self, partitioning: Partitioning) -> PartitionSet:
        """All partitions whose interval is over now."""
        finished = self._finished.get(partitioning)
        if finished is None:
            finished = self._finished[partitioning] = partitioning.finished_partitions(self.now)
        return finished

    def next_rollover(self, partitioning: Partitioning) -> int | None:
        """When `finished_partitions` changes next, Unix seconds; None for never."""
        if partitioning not in self._rollovers:
            self._rollovers[partitioning] = partitioning.next_rollover(self.now)
        return self._rollovers[partitioning]

    def possible_partitions(self, asset: str) -> PartitionSet:
        """Partitions that an asset can ever have by the declared bounds; everything where nothing bounds it.

        Absent partitions that are skipped, and partitions whose every input is skipped, are not possible.
        """
        if self._possible is None:
            self._possible = possible_partitions(self.project, self.waived_partitions)
        return self._possible.get(asset, EVERYTHING)

    @property
    def waived_partitions(self) -> Mapping[str, PartitionSet]:
        """Partitions by asset that are skipped and absent, so that no consumer waits for them."""
        if self._waived is None:
            marked = self.marked
            if marked is None:
                marked = [state for state in self.state.assets.values() if may_skip_partitions(state)]
            found = {state.name: self._find_skipped(state) for state in marked if state.name in self.project.assets}
            self._waived = {name: parts for name, parts in found.items() if parts}
        return self._waived

    def _find_skipped(self, state: AssetState) -> PartitionSet:
        """Absent partitions that a person or a run skipped and for which nothing has changed since.

        A run's skip ends when a person accepts the partitions, as after other code or new input.
        """
        judge, skipped = self.project.judge_of(self.project.assets[state.name]), NOTHING
        for record in state.withheld:
            if record.skipped:
                skipped = skipped | (record.resting_partitions(judge) - state.accepted_partitions)
        return (state.skipped_partitions | skipped) - self.state.dataset(state.spec.uri).coverage

    def inherited_skips(self, asset: AssetSpec) -> PartitionSet:
        """Partitions that an asset cannot have because all of their inputs are skipped.

        Where these are open in time, only those in the time range that the asset or its inlets ever covered.
        """
        if not self.waived_partitions:
            return NOTHING
        declared_possible = possible_partitions(self.project).get(asset.name, EVERYTHING)
        skipped = (
            declared_possible - self.possible_partitions(asset.name) - self.waived_partitions.get(asset.name, NOTHING)
        )
        return skipped if asset.partitioning.can_list(skipped) else self._limit_to_covered_time(asset, skipped)

    def _limit_to_covered_time(self, asset: AssetSpec, parts: PartitionSet) -> PartitionSet:
        """Limits partitions that are open in time to the time range that the asset or its inlets ever covered."""
        uris = (asset.uri, *(inlet.uri for inlet in asset.inlets.values()))
        extents = [extent for uri in uris if (extent := self.state.dataset(uri).ever_present.extent) is not None]
        if not extents:
            return NOTHING
        low, high = min(low for low, _ in extents), max(high for _, high in extents)
        return asset.partitioning.inside(parts.clip(low, high))

    def allowed_partitions(self, asset: AssetSpec) -> PartitionSet:
        """The partitions that the asset's own bounds allow and no person skipped."""
        skipped = self.state_of(asset).skipped_partitions
        return partitions_in_bounds(asset) - skipped if skipped else partitions_in_bounds(asset)

    def state_of(self, asset: AssetSpec) -> AssetState:
        """The asset's state; an empty one if the journal has no entry for it."""
        return self.state.assets.get(asset.name) or AssetState(asset.name, build_fold_spec(asset, self.project))

    def dataset(self, inlet: InletSpec) -> DatasetState:
        """The inlet's dataset."""
        return self.state.dataset(inlet.uri)

    def uri(self, asset: str, leaf: UpdateLeaf) -> str:
        """The dataset of a leaf of that asset's condition."""
        return self.project.listened_uri(asset, leaf)

    def live_claims(self, asset: AssetState) -> tuple[ClaimState, ...]:
        """The open claims whose driver may still live: at most one for each run slot, the newest of its chain."""
        newest = (chain[-1] for chain in asset.chains.values()) if asset.chain else ()
        return tuple(link for link in newest if link.status == "open" and link.token not in self.gone_claims)

    def dependency(self, asset: AssetSpec, inlet: InletSpec, *, also: PartitionSet = NOTHING) -> Dependency:
        """How the asset's partitions depend on the inlet's partitions.

        A mapping to the newest partition depends on which ones are present; ``also`` are counted as present too.
        """
        dependency = self.project.dependency(asset, inlet)
        if not isinstance(inlet.mapping, NewestMapping):
            return dependency
        return dependency.with_available(self.dataset(inlet).coverage | also)

    def partitioning(self, inlet: InletSpec) -> Partitioning:
        """The partitions that the inlet is mapped by."""
        return self.project.partitioning(inlet)

    def possible_inlet_partitions(self, inlet: InletSpec) -> PartitionSet:
        """The partitions that the inlet can ever have; everything for a view by values, which declares no bounds."""
        return self.possible_partitions(inlet.name) if inlet.view is None else EVERYTHING

    def pins(
        self, asset: AssetSpec, state: AssetState, partitions: PartitionSet, *, again: bool = False
    ) -> dict[str, InletPin]:
        """The pins of a run of ``partitions`` by inlet name: the newest version and the partitions that the run reads.

        With ``again``, an inlet with a watermark is read from its beginning, if the asset can be recomputed: one that
        appends would append the earlier rows twice.
        """
        pins, again = {}, again and asset.is_recomputable
        for inlet in asset.inlets.values():
            dependency = self.dependency(asset, inlet)
            needed_partitions = dependency.required_partitions(partitions) if dependency.is_mapped else EVERYTHING
            watermark = state.watermarks.get(inlet.name) if inlet.read is not None and not again else None
            pins[inlet.name] = self.pin(inlet, needed_partitions, watermark)
        return pins

    def pin(self, inlet: InletSpec, parts: PartitionSet, low: str | None = None) -> InletPin:
        """The pin of the inlet's partitions ``parts`` at its newest version, read above the watermark ``low`` if any.

        Version and table id are those of the inlet's own table: assets with the same URI may have tables of their own.
        """
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
        """Events that a run uses up, ascending; ``used`` maps a dataset's URI to the run's partitions that use them.

        These are newer events about partitions that the run needs, and earlier events that were used only for other
        partitions.
        """
        answered: dict[int, EventRef] = {}
        for uri, partitions in used.items():
            # partly: by number of an earlier event, the partitions for which it is still unused
            consumed_seq, partly = state.consumed.get(uri, 0), dict(state.partly_used.get(uri, ()))
            needed_partitions = self._needed_partitions(asset, uri, partitions)
            recent = self.state.dataset(uri).recent if partitions else RecentEvents[EventRef]()
            partly_used_seqs = {
                seq for seq, parts in partly.items() if seq <= consumed_seq and parts.overlaps(partitions)
            }
            answered |= {ref.seq: ref for ref in recent.between(consumed_seq) if needed_partitions.overlaps(ref.parts)}
            answered |= {ref.seq: ref for ref in recent.with_numbers(partly_used_seqs)}
        return tuple(answered[seq] for seq in sorted(answered))

    def _needed_partitions(self, asset: AssetSpec, uri: str, partitions: PartitionSet) -> PartitionSet:
        """The partitions of a dataset that ``partitions`` need; everything if no inlet reads the dataset."""
        dependencies = [self.dependency(asset, inlet) for inlet in asset.inlets.values() if inlet.uri == uri]
        return (
            PartitionSet.union(each.required_partitions(partitions) for each in dependencies)
            if dependencies
            else EVERYTHING
        )

    def unused_events(self, state: AssetState, uris: Iterable[str]) -> tuple[EventRef, ...]:
        """Events of the datasets that the asset has not used yet for all of its partitions, ascending."""
        unused: dict[int, EventRef] = {}
        for uri in uris:
            consumed_seq = state.consumed.get(uri, 0)
            partly_used_seqs = {number for number, _ in state.partly_used.get(uri, ())}
            recent = self.state.dataset(uri).recent
            unused |= {
                ref.seq: ref
                for refs in (recent.between(consumed_seq), recent.with_numbers(partly_used_seqs))
                for ref in refs
            }
        return tuple(unused[seq] for seq in sorted(unused))

    def events_by_number(self, state: AssetState, numbers: Iterable[int]) -> tuple[EventRef, ...]:
        """The recent events with these sequence numbers, in the datasets that the asset follows; ascending."""
        wanted = set(numbers)
        uris = {*state.spec.listens, *state.former_triggers} if wanted else set[str]()
        events = (ref for uri in uris for ref in self.state.dataset(uri).recent.with_numbers(wanted))
        return tuple(sorted(events, key=lambda ref: ref.seq))

    def interval_of_events(self, events: tuple[EventRef, ...]) -> tuple[int, int] | None:
        """The data interval that spans the intervals of the events; None where no event has one."""
        intervals = [ref.interval for ref in events if ref.interval is not None]
        if intervals:
            return min(start for start, _ in intervals), max(end for _, end in intervals)
        return None
